// A matrix to paint on.

/** @import { Place } from "./mask.js" */
/** @import { Calls, Given } from "./panel.js" */

import { nearestCell } from "../canvas/geometry.js";
import { PaintedMask } from "./mask.js";
import { Panel } from "./panel.js";

/** A panel whose cells a person allows or forbids, by cell, row, column or rectangle, with undo and redo. */
export class EditablePanel extends Panel {
  mask = new PaintedMask([], 0);
  paints = false;
  /** @type {Cell | null} */
  anchor = null;

  /** @param {Calls} on @param {Given} given */
  constructor(on, given) {
    super(on, given);
    this.canvas.classList.add("editable");
    this.canvas.addEventListener("pointerdown", (event) => this._begin(event));
    this.canvas.addEventListener("pointerup", () => this._end());
    this.canvas.addEventListener("pointercancel", () => this._end());
  }

  /** Starts from a panel's mask. @type {(given: Given) => void} */
  start({ start, keys }) {
    this.mask = new PaintedMask(start ?? [], keys.length);
  }

  /** The cells as categories. */
  recolor() {
    const { cells, reasons } = this.given;
    this.mask.reasons(cells.weights, reasons ?? []);
  }

  undo() {
    if (this.mask.undo()) this._changed();
  }

  redo() {
    if (this.mask.redo()) this._changed();
  }

  reset() {
    if (this.given.base) this.mask.reset(this.given.base);
    this._changed();
  }

  _changed() {
    this.recolor();
    this.paint();
    this.on.edited();
  }

  /** The cell nearest to the pointer, and whether the pointer is on a row or column label.
   * @type {(event: Spot) => { cell: Cell; onQueries: boolean; onKeys: boolean }} */
  _spotAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const cell = nearestCell(this, x + this.root.scrollLeft, y + this.root.scrollTop);
    return { cell, onQueries: x < this.left, onKeys: y < this.top };
  }

  /** @type {(event: PointerEvent) => void} */
  _begin(event) {
    const { cell, onQueries, onKeys } = this._spotAt(event);
    if (event.button !== 0 || (onQueries && onKeys)) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.paints = true;
    // A label selects its whole row or column.
    this.mask.begin([onKeys ? null : cell[0], onQueries ? null : cell[1]]);
    this._stroke(cell);
    super._pointed(event);
  }

  /** @type {(to: Cell) => void} */
  _stroke(to) {
    this.mask.stroke(to);
    this.recolor();
    this.paint();
    this.on.stroked();
  }

  _end() {
    if (!this.paints) return;
    this.paints = false;
    this.on.edited();
  }

  /** @type {(event: PointerEvent) => void} */
  _pointed(event) {
    if (this.paints) this._stroke(this._spotAt(event).cell);
    super._pointed(event);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const control = event.ctrlKey || event.metaKey;
    const turn = (/** @type {Place} */ from, /** @type {Place} */ to) => {
      this.mask.begin(from);
      this.mask.stroke(to);
      this._changed();
      this._mark(this.cursor);
    };
    if (control && event.key.toLowerCase() === "z") event.shiftKey ? this.redo() : this.undo();
    else if (control && event.key.toLowerCase() === "y") this.redo();
    else if ((event.key === " " || event.key === "Enter") && this.cursor) turn(this.anchor ?? this.cursor, this.cursor);
    else if (event.key === "r" && this.cursor) turn([this.cursor[0], null], [this.cursor[0], null]);
    else if (event.key === "c" && this.cursor) turn([null, this.cursor[1]], [null, this.cursor[1]]);
    else {
      // Shift with arrows spans a rectangle from the starting cell.
      if (event.key.startsWith("Arrow")) this.anchor = event.shiftKey ? (this.anchor ?? this.cursor) : null;
      super._key(event);
      return;
    }
    event.preventDefault();
  }
}
