// What can be pressed in a close-up, without a pointer: a button over each region of the canvas, seen while it has the focus.

import { element } from "../canvas/dom.js";
import { tr } from "../canvas/wording.js";

export class Reach {
  shown = "";

  /** @param {{ act: (act: CloseUpAct) => void, lost: () => void }} on - `lost`: the button in focus has gone. */
  constructor(on) {
    this.on = on;
    this.root = element("div", "reach", { role: "group", "aria-label": tr("In this place"), hidden: "" });
  }

  /** Says what all of it is of, to a screen reader. @param {string} text */
  describe(text) {
    this.root.setAttribute("aria-description", text);
  }

  /** @param {Hot[]} hot */
  show(hot) {
    const shown = JSON.stringify(hot.map(({ act, label }) => [act, label]));
    if (shown !== this.shown) {
      this.shown = shown;
      const had = this.root.contains(/** @type {Document | ShadowRoot} */ (this.root.getRootNode()).activeElement);
      this.root.hidden = !hot.length;
      this.root.replaceChildren(...hot.map(({ act, label }) => {
        const made = element("button", "", { type: "button" }, label);
        made.addEventListener("click", () => this.on.act(act));
        return made;
      }));
      if (had) this.on.lost();
    }
    hot.forEach(({ left, top, width, height }, place) => {
      const { style } = /** @type {HTMLElement} */ (this.root.children[place]);
      for (const [name, value] of Object.entries({ left, top, width, height })) style.setProperty(name, `${value}px`);
    });
  }
}
