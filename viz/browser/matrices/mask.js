// A painted mask, (query, key), 1 = may attend: strokes with undo and redo.

const UNDO_MOST = 200;

/** A cell of a stroke; null for its whole column or row. @typedef {[query: number | null, key: number | null]} Place */

export class PaintedMask {
  /** @type {Uint8Array[]} */
  done = [];
  /** @type {Uint8Array[]} */
  undone = [];
  before = new Uint8Array();
  /** @type {Place} */
  from = [0, 0];
  allows = false;

  /** @param {ArrayLike<number>} allowed @param {number} nKeys */
  constructor(allowed, nKeys) {
    /** @type {Uint8Array} */
    this.allowed = Uint8Array.from(allowed);
    this.nKeys = nKeys;
  }

  /** Begins a stroke. @type {(from: Place) => void} */
  begin(from) {
    this._keep();
    this.before = this.allowed.slice();
    this.from = from;
    // A stroke inverts its first cell and sets all others to the same value.
    this.allows = !this.allowed[(from[0] ?? 0) * this.nKeys + (from[1] ?? 0)];
  }

  /** Extends the stroke: it now fills the rectangle from its start to here. @type {(to: Place) => void} */
  stroke(to) {
    // Starts from the mask before the stroke, because a rectangle can shrink.
    this.allowed.set(this.before);
    const span = (/** @type {0 | 1} */ side, /** @type {number} */ count) => {
      const [one, other] = [this.from[side], to[side]];
      return one === null || other === null ? [0, count - 1] : [Math.min(one, other), Math.max(one, other)];
    };
    const [top, bottom] = span(0, this.allowed.length / this.nKeys);
    const [left, right] = span(1, this.nKeys);
    for (let query = top; query <= bottom; query++) {
      this.allowed.fill(Number(this.allows), query * this.nKeys + left, query * this.nKeys + right + 1);
    }
  }

  /** Undoes the last stroke; returns whether there was one. */
  undo() {
    return this._swap(this.done, this.undone);
  }

  redo() {
    return this._swap(this.undone, this.done);
  }

  /** Returns to the model's mask; `base` holds its reasons for forbidding, 0 = allowed.
   * @type {(base: Uint8Array) => void} */
  reset(base) {
    this._keep();
    this.allowed = base.map((reason) => Number(reason === 0));
  }

  /** Writes into `cells` why each is forbidden, if it is, or 0.
   * @type {(cells: Cells["weights"], reasons: ArrayLike<number>) => void} */
  reasons(cells, reasons) {
    for (let place = 0; place < cells.length; place++) cells[place] = this.allowed[place] ? 0 : reasons[place];
  }

  /** The mask as bits in base64, first cell in the highest bit, for `read_edit` in matrices.py. */
  bits() {
    const bits = new Uint8Array(Math.ceil(this.allowed.length / 8));
    for (const [place, allowed] of this.allowed.entries()) bits[place >> 3] |= allowed << (7 - (place & 7));
    return btoa(Array.from(bits, (byte) => String.fromCharCode(byte)).join(""));
  }

  /** @type {(from: Uint8Array[], to: Uint8Array[]) => boolean} */
  _swap(from, to) {
    const mask = from.pop();
    if (!mask) return false;
    to.push(this.allowed);
    this.allowed = mask;
    return true;
  }

  _keep() {
    this.done.push(this.allowed.slice());
    if (this.done.length > UNDO_MOST) this.done.shift();
    this.undone = [];
  }
}
