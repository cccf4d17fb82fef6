// Tells Python when the reader switches between light and dark: Streamlit then recolours its own page but runs no
// script, and figures drawn in Python would keep their old colours.
// Also tells Python when the page reconnects, so that a restarted server runs its script.

import { mounted } from "./canvas/mount.js";
import { onReconnect } from "./connection.js";

class Theme {
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} probe */
  constructor(probe) {
    const ground = () => getComputedStyle(probe).backgroundColor;
    let seen = ground();
    // The probe's background changes with Streamlit's theme in a transition of one millisecond, whose end is an event.
    probe.addEventListener("transitionend", () => {
      if (ground() === seen) return;
      seen = ground();
      this.tell("changed", seen);
    });
    this.dispose = onReconnect(() => this.tell("changed", "connected"));
  }

  /** @type {(data: unknown, report: Reporter, trigger: Trigger) => void} */
  update(data, report, trigger) {
    this.tell = trigger;
  }
}

export default mounted("span", (probe) => new Theme(probe));
