// Tells the translation above the page what it becomes without the heads that are switched off.

import { mounted } from "../canvas/mount.js";
import { tell } from "../canvas/shared.js";

class Without {
  /** @type {(given: { outcome: unknown }) => void} */
  update({ outcome }) {
    tell("without", outcome);
  }

  dispose() {
    tell("without", null);
    tell("off", null);
  }
}

export default mounted("[aria-hidden]", () => new Without());
