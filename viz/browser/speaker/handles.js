// Handles beside Streamlit's rows of scenes: drag a handle, or press the arrow keys on it, to move its scene.

import { aimed, drawn, element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { moved, rowUnder } from "../canvas/sorting.js";

/** Six dots, hidden from screen readers. */
function dots() {
  const circles = [1, 5, 9].flatMap((cy) => [1, 5].map((cx) => drawn("circle", { cx, cy, r: 1 })));
  return drawn("svg", { viewBox: "0 0 6 10", "aria-hidden": "true" }, ...circles);
}

class Handles {
  /** @type {string[]} */
  titles = [];
  heard = 0;
  /** Scenes moved, from and to, that Python has not confirmed. @type {[from: number, to: number][]} */
  moves = [];
  /** @type {string[]} */
  order = [];
  /** @type {number | undefined} */
  from;
  to = 0;
  line = element("div", "line", { hidden: "" });
  spoken = element("div", "spoken", { "aria-live": "polite" });
  buttons = element("div", "");
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    root.replaceChildren(this.buttons, this.line, this.spoken);
    root.addEventListener("pointerdown", (event) => this._take(event));
    root.addEventListener("pointermove", (event) => this._drag(event));
    root.addEventListener("pointerup", () => this._drop(true));
    root.addEventListener("pointercancel", () => this._drop(false));
    root.addEventListener("keydown", (event) => this._key(event));
    // Rows appear after the handles, and a long title makes its row taller.
    this.resized = new ResizeObserver(() => this._place());
  }

  dispose() {
    this.resized.disconnect();
  }

  /** @type {(given: { titles: string[]; heard: number }, _: Reporter, tell: Trigger) => void} */
  update({ titles, heard }, _, tell) {
    this.tell = tell;
    const isChanged = JSON.stringify(titles) !== JSON.stringify(this.titles);
    // Other runs of the page do not interrupt a drag.
    if (isChanged) this._drop(false);
    this.titles = titles;
    while (this.buttons.children.length > titles.length) this.buttons.lastChild?.remove();
    while (this.buttons.children.length < titles.length) {
      this.buttons.append(element("button", "", { type: "button" }, dots()));
    }
    for (const [index, button] of this._buttons().entries()) {
      const label = `Move scene ${index + 1}, ${titles[index]}: drag, or arrow up and down`;
      button.setAttribute("aria-label", label);
      button.title = "Drag to move, or press the arrow keys";
    }
    this.resized.disconnect();
    const list = document.querySelector(".st-key-talks-list");
    if (list) this.resized.observe(list);
    this._place();
    if (heard !== this.heard) {
      // Python gets the next move only after it has confirmed this one, from which the next one starts.
      this.heard = heard;
      this.moves.shift();
      if (this.moves.length) this.tell("moved", this.moves[0]);
    }
    if (!this.moves.length) this.order = [...titles];
  }

  _buttons() {
    return /** @type {HTMLElement[]} */ ([...this.buttons.children]);
  }

  _rows() {
    return this.titles.map((_, index) => document.querySelector(`.st-key-talks-row-${index + 1}`));
  }

  _place() {
    const { top } = this.root.getBoundingClientRect();
    for (const [index, row] of this._rows().entries()) {
      if (!row) continue;
      const box = row.getBoundingClientRect();
      Object.assign(this._buttons()[index].style, { top: `${box.top - top}px`, height: `${box.height}px` });
    }
  }

  /** @type {(event: PointerEvent) => void} */
  _take(event) {
    const button = aimed(event, "button");
    if (!button || event.button !== 0) return;
    this.from = this._buttons().indexOf(button);
    this.to = this.from;
    button.classList.add("taken");
    this.root.setPointerCapture(event.pointerId);
  }

  /** @type {(event: PointerEvent) => void} */
  _drag(event) {
    if (this.from === undefined) return;
    const rows = this._rows();
    const boxes = rows.map((row) => row?.getBoundingClientRect() ?? new DOMRect());
    this.to = rowUnder(boxes, this.from, event.clientY);
    const moves = this.to !== this.from;
    this.line.hidden = !moves;
    if (!moves) return;
    const beside = boxes[this.to];
    const edge = this.to > this.from ? beside.bottom : beside.top;
    const { top, left } = this.root.getBoundingClientRect();
    Object.assign(this.line.style, { top: `${edge - top - 1}px`, width: `${beside.right - left}px` });
    rows[this.to]?.scrollIntoView({ block: "nearest" });
  }

  /** @type {(moves: boolean) => void} */
  _drop(moves) {
    if (this.from === undefined) return;
    const { from, to } = this;
    this.from = undefined;
    this.line.hidden = true;
    this.buttons.children[from]?.classList.remove("taken");
    if (moves) this._move(from, to);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    const button = aimed(event, "button");
    if (event.key === "Escape") this._drop(false);
    if (!step || !button) return;
    event.preventDefault();
    const from = this._buttons().indexOf(button);
    this._move(from, from + step);
  }

  /** @type {(from: number, to: number) => void} */
  _move(from, to) {
    if (from === to || to < 0 || to >= this.titles.length) return;
    this.moves.push([from + 1, to + 1]);
    if (this.moves.length === 1) this.tell("moved", this.moves[0]);
    // Focus follows the scene: the next key moves the same one.
    this._buttons()[to].focus();
    this.order = moved(this.order, from, to);
    this.spoken.textContent = `${this.order[to]}: now scene ${to + 1} of ${this.titles.length}`;
  }
}

export default mounted(".handles", (root) => new Handles(root));
