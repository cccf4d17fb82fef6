// A row of words to drag with the pointer or move with the arrow keys.

import { aimed, element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { wordAfter } from "../canvas/sorting.js";

class WordOrder {
  turn = 0;
  /** @type {string[]} */
  texts = [];
  /** @type {number[]} */
  order = [];
  shown = "";
  /** @type {HTMLElement | null} */
  taken = null;
  list = element("ol", "", { "aria-label": "Words; the left and right arrow keys move the one in focus" });
  spoken = element("div", "spoken", { "aria-live": "polite" });
  /** @type {number | undefined} */
  waiting;
  /** @type {Reporter} */
  report;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    root.replaceChildren(this.list, this.spoken);
    this.list.addEventListener("pointerdown", (event) => this._take(event));
    this.list.addEventListener("pointermove", (event) => this._drag(event));
    this.list.addEventListener("pointerup", () => this._drop());
    this.list.addEventListener("pointercancel", () => this._drop());
    this.list.addEventListener("keydown", (event) => this._key(event));
  }

  dispose() {
    clearTimeout(this.waiting);
  }

  /** @type {(given: { texts: string[]; order: number[]; turn: number }, report: Reporter) => void} */
  update({ texts, order, turn }, report) {
    this.report = report;
    const other = JSON.stringify(texts) !== JSON.stringify(this.texts);
    // Python does not know the last move yet and would undo it.
    if (!other && (this.taken || turn < this.turn)) return;
    this.turn = Math.max(this.turn, turn);
    this.texts = texts;
    // A dragged word is already in place and keeps the focus.
    if (JSON.stringify([texts, order]) === this.shown) return;
    clearTimeout(this.waiting);
    this.taken = null;
    this.order = [...order];
    this._draw();
  }

  _draw() {
    this.shown = JSON.stringify([this.texts, this.order]);
    this.list.replaceChildren(
      ...this.order.map((word) => element("li", "", { tabindex: "0", "data-word": String(word) }, this.texts[word])),
    );
    this._number();
  }

  _number() {
    for (const [place, item] of this._items().entries()) {
      const moved = Number(item.dataset.word) !== place;
      item.classList.toggle("moved", moved);
      const from = moved ? `, was ${Number(item.dataset.word) + 1}` : "";
      item.setAttribute("aria-label", `${item.textContent}, place ${place + 1}${from}`);
    }
    this.root.dataset.order = this.order.join();
  }

  _items() {
    return /** @type {HTMLElement[]} */ ([...this.list.children]);
  }

  _standing() {
    return this._items().map((item) => Number(item.dataset.word));
  }

  /** @type {(wait: number) => void} */
  _moved(wait) {
    this.turn += 1;
    this.order = this._standing();
    this.shown = JSON.stringify([this.texts, this.order]);
    this._number();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.report({ places: this.order, turn: this.turn }), wait);
  }

  /** @type {(item: HTMLElement) => void} */
  _say(item) {
    this.spoken.textContent = item.getAttribute("aria-label");
  }

  /** @type {(event: PointerEvent) => void} */
  _take(event) {
    const item = aimed(event, "li");
    if (!item || event.button !== 0) return;
    this.taken = item;
    item.classList.add("taken");
    this.list.setPointerCapture(event.pointerId);
  }

  /** @type {(event: PointerEvent) => void} */
  _drag(event) {
    if (!this.taken) return;
    const words = this._items();
    const boxes = words.map((word) => word.getBoundingClientRect());
    const after = words[wordAfter(boxes, words.indexOf(this.taken), event.clientX, event.clientY)];
    if (after !== this.taken.nextElementSibling) this.list.insertBefore(this.taken, after ?? null);
  }

  _drop() {
    if (!this.taken) return;
    const item = this.taken;
    item.classList.remove("taken");
    this.taken = null;
    if (this._standing().join() === this.order.join()) return;
    this._moved(0);
    this._say(item);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const item = aimed(event, "li");
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!item || !step) return;
    event.preventDefault();
    const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    this.list.insertBefore(item, step < 0 ? other : other.nextElementSibling);
    item.focus();
    // Several key presses make one move.
    this._moved(300);
    this._say(item);
  }
}

export default mounted(".word-order", (root) => new WordOrder(root), "order");
