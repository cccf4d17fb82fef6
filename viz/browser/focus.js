// Moves keyboard focus to a widget that a click has just added.

import { mounted } from "./canvas/mount.js";

const PATIENCE = 5000;

class Focus {
  turn = -1;
  /** @type {MutationObserver | undefined} */
  seen;
  /** @type {number | undefined} */
  waiting;

  /** @type {(given: { key: string; turn: number }) => void} */
  update({ key, turn }) {
    if (turn === this.turn) return;
    this.turn = turn;
    this.dispose();
    if (this._found(key)) return;
    // Streamlit may add it later in the same run.
    this.seen = new MutationObserver(() => this._found(key) && this.dispose());
    this.seen.observe(document.body, { childList: true, subtree: true });
    this.waiting = setTimeout(() => this.dispose(), PATIENCE);
  }

  /** @type {(key: string) => HTMLElement | null} */
  _found(key) {
    const found = /** @type {HTMLElement | null} */ (document.querySelector(`.st-key-${CSS.escape(key)} :is(input, textarea, button)`));
    found?.focus();
    return found;
  }

  dispose() {
    this.seen?.disconnect();
    clearTimeout(this.waiting);
  }
}

export default mounted("[aria-hidden]", () => new Focus());
