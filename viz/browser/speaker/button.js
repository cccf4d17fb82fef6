// Asks the talk to open the notes during the click: browsers open windows only then.

import { mounted } from "../canvas/mount.js";

class NotesButton {
  /** @param {HTMLElement} button */
  constructor(button) {
    const said = /** @type {HTMLElement} */ (button.nextElementSibling);
    button.onclick = () => {
      /** @type {{ blocked?: boolean }} */
      const detail = {};
      window.dispatchEvent(new CustomEvent("headscope-notes", { detail }));
      said.hidden = detail.blocked === false;
      said.textContent = "The browser blocked the window; allow pop-up windows for this address.";
    };
  }

  update() {}

  dispose() {}
}

export default mounted("button", (button) => new NotesButton(button));
