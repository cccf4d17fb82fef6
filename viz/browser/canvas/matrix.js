// One matrix, large: tokens on both axes, the exact value under the pointer, and each row's prediction beside it.

import constants from "../../draw/constants.json" with { type: "json" };
import { cutToWidth, element, fitted, penOf } from "./dom.js";
import { cellAt } from "./geometry.js";
import { zoomedByWheel } from "./keys.js";
import { signed } from "./numbers.js";
import { STRONG, paintCells, weightAt } from "./paint.js";

const CELL_MOST = { width: 96, height: 60 };
const CELL_LEAST = 0.05;
// In rem: the smallest type of a label, to which it shrinks before one is cut or left out.
export const LABEL_LEAST = 0.62;
// The share of the width that labels may have where cells then still have room for theirs.
const LABELS_MOST = 0.35;
// Smallest cell with a number, in rem: numbers follow the reader's text size.
const NUMBERED = { width: 2.25, height: 1.125 };
// In rem: the padding and corner radius of a number's plate.
const PLATE = { width: 0.5, height: 0.3, radius: 0.2 };
export const MATRIX_ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16];
const LINES_BETWEEN_FROM = 9;

/** A title without its explanation: "Query" for "Query: target token just read". @type {(title: string) => string} */
function shortTitle(title) {
  return title.split(/\s*[:：]/)[0];
}

/** The large picture of a matrix. @template {MatrixCalls} [Calls=MatrixCalls] */
export class Matrix {
  // What is drawn.
  /** @type {Titles} */
  kind;
  /** @type {Cells} */
  cells;
  /** @type {Palette} */
  palette;
  /** @type {string[]} */
  queries;
  /** @type {string[]} */
  keys;
  /** @type {string[] | null} */
  beside = null;
  heightGiven = 0;
  /** The largest side of cells that are squares, in pixels; null for cells that fill the room. @type {number | null} */
  side = null;
  /** The height of the column labels, and the least that they take so that neighbours are level. */
  labels = 0;
  labelsLeast = 0;
  // How it is laid out, in CSS pixels.
  rem = 16;
  family = "";
  font = "";
  small = "";
  numbers = "";
  size = 0;
  keySize = 0;
  slope = 0;
  /** @type {number | null} */
  keyStep = null;
  left = 0;
  right = 0;
  top = 0;
  width = 0;
  height = 0;
  cellWidth = 0;
  cellHeight = 0;
  view = { width: 0, height: 0 };
  // Where the reader is.
  /** @type {Cell | null} */
  cursor = null;
  /** @type {Cell | null} */
  pickedCell = null;

  /** The room that slanted labels of the last columns need at their right. @type {((context: Context, room: number) => number) | undefined} */
  overhang;

  /** @param {Calls} on */
  constructor(on) {
    this.on = on;
    this.zoom = 0;
    // On a stage, cells grow to fill the available space.
    this.fills = false;
    this.canvas = element("canvas", "matrix", { tabindex: "0", role: "application" });
    this.row = element("div", "band", { hidden: "" });
    this.column = element("div", "band", { hidden: "" });
    this.cell = element("div", "cell", { hidden: "" });
    this.picked = element("div", "cell picked", { hidden: "" });
    this.lit = element("div", "lit-bands");
    const marks = element("div", "marks", {}, this.lit, this.row, this.column, this.picked, this.cell);
    this.stage = element("div", "stage", {}, this.canvas, marks);
    this.root = element("div", "matrix-scroll", {}, this.stage);
    this.root.addEventListener("scroll", () => this._scrolled());
    this.canvas.addEventListener("pointermove", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerleave", () => this._mark(null));
    this.canvas.addEventListener("keydown", (event) => this._key(event));
    this.canvas.addEventListener("blur", () => this._mark(null));
    zoomedByWheel(this.root, (step) => this.zoomBy(step));
  }

  /** Redraws with the given fields replaced. @type {(given: Partial<Matrix<Calls>>) => void} */
  draw(given) {
    Object.assign(this, given);
    this._arrange();
    this.paint();
    this._mark(null);
  }

  /** @type {(step: number) => void} */
  zoomBy(step) {
    this.zoom = Math.max(0, Math.min(MATRIX_ZOOMS.length - 1, this.zoom + step));
    this._arrange();
    this.paint();
    this.pick(this.pickedCell);
  }

  /** Marks the picked cell. @type {(cell: Cell | null) => void} */
  pick(cell) {
    this.pickedCell = cell && this.holds(cell) ? cell : null;
    this.picked.hidden = !this.pickedCell;
    if (cell && this.pickedCell) this._frame(this.picked, this._x(cell[1]), this._y(cell[0]), this.cellWidth, this.cellHeight);
  }

  /** Whether there is such a cell. @type {(cell: Cell) => boolean} */
  holds([query, key]) {
    return query < this.queries.length && key < this.keys.length;
  }

  /** Lights rows and columns, by their places. @type {(places: { queries: number[]; keys: number[] }) => void} */
  light({ queries, keys }) {
    if (!this.cells) return;
    const { scrollLeft, scrollTop } = this.root;
    const band = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) => {
      const made = element("div", "band lit");
      this._frame(made, x, y, width, height);
      return made;
    };
    this.lit.replaceChildren(
      ...queries.map((query) => band(scrollLeft, this._y(query), this.view.width, this.cellHeight)),
      ...keys.map((key) => band(this._x(key), scrollTop, this.cellWidth, this.view.height)),
    );
  }

  _fonts() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const family = getComputedStyle(this.root).fontFamily;
    const most = Math.max(this.queries.length, this.keys.length, 1);
    this.size = Math.max(0.75 * rem, Math.min(rem, (0.75 * this.heightGiven) / most));
    this.family = family;
    this.rem = rem;
    this.font = `${this.size}px ${family}`;
    this.small = `${0.85 * rem}px ${family}`;
    this.numbers = `${0.8 * rem}px ${family}`;
  }

  _arrange() {
    this._fonts();
    const context = penOf(this.canvas);
    context.font = this.font;
    const widest = (/** @type {string[]} */ texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
    const room = Math.max(this.root.parentElement?.clientWidth ?? 0, 120);
    const narrow = room < 30 * this.rem;
    const title = 1.5 * this.rem;
    const sides = this.beside ? 2 : 1;
    const spare = (room - 1.25 * LABEL_LEAST * this.rem * this.keys.length) / sides - title - 8;
    const most = Math.max((narrow ? 0.22 : 0.2) * room, Math.min(LABELS_MOST * room, spare));
    const longest = widest(this.queries);
    if (longest > most) {
      this.size = Math.max(LABEL_LEAST * this.rem, (this.size * most) / longest);
      this.font = `${this.size}px ${this.family}`;
      context.font = this.font;
    }
    this.left = title + Math.min(widest(this.queries), most) + 8;
    const arrow = sides > 1 ? context.measureText(`${this.kind.besideMark} `).width : 0;
    this.right = sides > 1 ? title + Math.min(Math.ceil(arrow + widest(this.beside ?? [])), most) + 8 : 4 + (this.overhang?.(context, room - this.left) ?? 0);
    const fit = (room - this.left - this.right) / Math.max(1, this.keys.length);
    const limit = this.fills ? { width: Infinity, height: Infinity } : CELL_MOST;
    const across = Math.min(fit, limit.width, this.side ?? Infinity) * MATRIX_ZOOMS[this.zoom];
    const keysWidest = this._fitKeys(context, across);
    this.labels = this._labelHeight(keysWidest);
    this.top = title + 10 + Math.max(this.labels, this.labelsLeast);
    const tall = (this.heightGiven - this.top - 4) / Math.max(1, this.queries.length);
    const scale = MATRIX_ZOOMS[this.zoom];
    const side = (/** @type {number} */ space, /** @type {number} */ most) => Math.max(CELL_LEAST, Math.min(space, most)) * scale;
    // Flatter in a low window, as high as a stage, and never so low that rows lose their labels.
    const squares = this.side === null ? null : Math.min(fit, this.side, Math.max(tall, 0.5 * fit));
    this.cellWidth = side(squares ?? fit, limit.width);
    this.cellHeight = side(squares === null || this.fills ? tall : Math.min(tall, Math.max(squares, 1.05 * LABEL_LEAST * this.rem)), limit.height);
    this.size = Math.min(this.size, Math.max(LABEL_LEAST * this.rem, this.cellHeight / 1.05));
    this.font = `${this.size}px ${this.family}`;
    this.width = this.left + this.cellWidth * this.keys.length + this.right;
    // A rotated title is never cut: if there are few rows, it extends below them.
    context.font = this.small;
    const titles = [shortTitle(this.kind.queryTitle), ...(this._hasBeside() ? [this.kind.besideTitle ?? ""] : [])];
    const rows = Math.max(this.cellHeight * this.queries.length, widest(titles));
    this.height = this.top + rows + 4;
    this.stage.style.width = `${this.width}px`;
    this.stage.style.height = `${this.height}px`;
    const scrolls = this.zoom > 0;
    this.root.style.height = `${Math.ceil(scrolls ? this.heightGiven : this.height)}px`;
    this.root.style.overflow = scrolls ? "auto" : "hidden";
    this.view = {
      width: Math.min(this.width, room),
      height: Math.min(this.height, scrolls ? this.heightGiven : this.height),
    };
  }

  /** The width of the longest column label at font size `size`, both in pixels.
   * @type {(context: Context, size: number) => number} */
  _widestKey(context, size) {
    context.font = `${size}px ${this.family}`;
    return Math.max(0, ...this.keys.map((text) => context.measureText(text).width));
  }

  /** Sizes the column labels: full size, slightly smaller, slanted, then upright; returns the widest.
   * @type {(context: Context, across: number) => number} */
  _fitKeys(context, across) {
    for (const share of [1, 0.9, 0.8]) {
      this.keySize = Math.max(0.72 * this.rem, share * this.size);
      const widest = this._widestKey(context, this.keySize);
      if (widest + 5 <= across) {
        this.slope = 0;
        return widest;
      }
    }
    this.slope = across >= 1.6 * this.size ? 45 : 90;
    this.keySize = Math.max(LABEL_LEAST * this.rem, Math.min(this.size, across / 1.2));
    return Math.min(this._widestKey(context, this.keySize), 9 * this.rem);
  }

  /** @type {(widest: number) => number} */
  _labelHeight(widest) {
    if (this.slope === 0) return this.keySize;
    return this.slope === 45 ? (widest + this.keySize) / Math.SQRT2 : widest;
  }

  /** Whether the rows show predictions. */
  _hasBeside() {
    return Boolean(this.beside) && this.right > 10;
  }

  /** @type {(key: number) => number} */
  _x(key) {
    return this.left + key * this.cellWidth;
  }

  /** @type {(query: number) => number} */
  _y(query) {
    return this.top + query * this.cellHeight;
  }

  _scrolled() {
    this.paint();
    this._mark(null);
  }

  paint() {
    if (!this.cells) return;
    const { context, density } = fitted(this.canvas, this.view.width, this.view.height);
    const [dx, dy] = [this.root.scrollLeft, this.root.scrollTop];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const shown = {
      left: this.left,
      top: this.top,
      right: this.view.width - this.right,
      bottom: Math.min(this.view.height, this.top + this.cellHeight * this.queries.length - dy),
    };
    if (this.queries.length && this.keys.length) this._values(context, density, dx, dy, shown);
    this._gaps(context, density, dx, dy, shown);
    context.setTransform(density, 0, 0, density, 0, 0);
    this._numbers(context, dx, dy, shown);
    this._labels(context, dx, dy, shown);
  }

  /** @type {(context: Context, density: number, dx: number, dy: number, shown: Box) => void} */
  _values(context, density, dx, dy, shown) {
    const width = Math.round(this.keys.length * this.cellWidth * density);
    const height = Math.round(this.queries.length * this.cellHeight * density);
    const [left, top] = [Math.round(this.left * density), Math.round(this.top * density)];
    const wide = Math.max(1, Math.min(width, Math.round((shown.right - shown.left) * density)));
    const high = Math.max(1, Math.round((shown.bottom - shown.top) * density));
    const image = context.createImageData(wide, high);
    const pixels = new Uint32Array(image.data.buffer);
    const [offX, offY] = [Math.round(dx * density), Math.round(dy * density)];
    paintCells(pixels, wide, high, this.cells, width, height, offX, offY, this.palette);
    context.putImageData(image, left, top);
  }

  /** Draws the lines between cells, on the exact pixels where one cell ends and the next begins.
   * @type {(context: Context, density: number, dx: number, dy: number, shown: Box) => void} */
  _gaps(context, density, dx, dy, shown) {
    const { theme } = this.palette;
    const whole = (/** @type {number} */ value) => Math.round(value * density);
    const [left, top] = [whole(this.left), whole(this.top)];
    const [wide, high] = [whole(this.keys.length * this.cellWidth), whole(this.queries.length * this.cellHeight)];
    const right = Math.min(whole(shown.right), left + wide - whole(dx));
    const bottom = Math.min(whole(shown.bottom), top + high - whole(dy));
    const column = (/** @type {number} */ key) => left + Math.ceil((key * wide) / this.keys.length) - whole(dx);
    const row = (/** @type {number} */ query) => top + Math.ceil((query * high) / this.queries.length) - whole(dy);
    const thin = Math.max(1, Math.round(density));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.ground;
    if (Math.min(this.cellWidth, this.cellHeight) >= LINES_BETWEEN_FROM) {
      for (let key = 1; key < this.keys.length; key++) {
        if (column(key) > left && column(key) < right) context.fillRect(column(key), top, thin, bottom - top);
      }
      for (let query = 1; query < this.queries.length; query++) {
        if (row(query) > top && row(query) < bottom) context.fillRect(left, row(query), right - left, thin);
      }
    }
    context.strokeStyle = theme.grid;
    context.lineWidth = thin;
    context.strokeRect(left - thin / 2, top - thin / 2, right - left + thin, bottom - top + thin);
  }

  /** @type {(context: Context, dx: number, dy: number, shown: Box) => void} */
  _numbers(context, dx, dy, shown) {
    const { theme } = this.palette;
    if (this.cellWidth < NUMBERED.width * this.rem || this.cellHeight < NUMBERED.height * this.rem) return;
    const { cells } = this;
    context.font = this.numbers;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let query = 0; query < cells.nQueries; query++) {
      const y = this._y(query) + this.cellHeight / 2 - dy;
      if (y < shown.top || y > shown.bottom) continue;
      for (let key = 0; key < cells.nKeys; key++) {
        const place = query * cells.nKeys + key;
        const x = this._x(key) + this.cellWidth / 2 - dx;
        if (x < shown.left || x > shown.right) continue;
        if (cells.allowed !== null && !cells.allowed[place]) continue;
        const text = this._number(cells, place);
        if (!text) continue;
        const step = this.palette.step(cells, place);
        context.fillStyle = this.palette.ink(step);
        if (this.fills && this.palette.contrast(step) < STRONG) {
          // On mid-tones, neither black nor white has enough contrast without a plate.
          this._plate(context, text, x, y);
          context.fillStyle = theme.text;
        }
        context.fillText(text, x, y);
      }
    }
  }

  /** Draws a plate in the page's colour behind a text centred on `x`, `y`.
   * @type {(context: Context, text: string, x: number, y: number) => void} */
  _plate(context, text, x, y) {
    const width = context.measureText(text).width + PLATE.width * this.rem;
    const height = (0.8 + PLATE.height) * this.rem;
    context.fillStyle = this.palette.theme.ground;
    context.beginPath();
    context.roundRect(x - width / 2, y - height / 2, width, height, PLATE.radius * this.rem);
    context.fill();
  }

  /** The number in a cell; empty if it would round to 0. @type {(cells: Cells, place: number) => string} */
  _number(cells, place) {
    const weight = weightAt(cells, place);
    return weight < constants.LEAST_NUMBER ? "" : signed(weight, 2);
  }

  /** @type {(context: Context, dx: number, dy: number, shown: Box) => void} */
  _labels(context, dx, dy, shown) {
    const { theme } = this.palette;
    const every = (/** @type {number} */ space, /** @type {number} */ needed) => Math.max(1, Math.ceil(needed / space));
    context.font = this.font;
    context.textBaseline = "middle";
    const down = every(this.cellHeight, 1.05 * this.size);
    const inside = (/** @type {number} */ low, /** @type {number} */ middle, /** @type {number} */ high) => middle >= low - 2 && middle <= high + 2;
    for (let query = 0; query < this.queries.length; query += down) {
      const y = this._y(query) + this.cellHeight / 2 - dy;
      if (!inside(shown.top, y, shown.bottom)) continue;
      context.textAlign = "right";
      context.fillStyle = theme.text;
      context.fillText(cutToWidth(context, this.queries[query], this.left - 1.5 * this.rem - 6), this.left - 7, y);
      if (this.beside?.[query] && this._hasBeside()) {
        context.textAlign = "left";
        context.fillStyle = theme.accent;
        const text = `${this.kind.besideMark} ${this.beside[query]}`.trim();
        context.fillText(cutToWidth(context, text, this.right - 1.5 * this.rem - 8), shown.right + 8, y);
      }
    }
    const across = this.keyStep ?? every(this.cellWidth, this.slope ? 1.15 * this.keySize : 1);
    context.font = `${this.keySize}px ${this.family}`;
    context.fillStyle = theme.text;
    for (let key = 0; key < this.keys.length; key += across) {
      const x = this._x(key) + this.cellWidth / 2 - dx;
      if (!inside(shown.left, x, shown.right)) continue;
      if (this.slope) {
        context.save();
        context.translate(this.slope === 45 ? x - 0.2 * this.keySize : x, this.top - 6);
        context.rotate((-this.slope * Math.PI) / 180);
        context.textAlign = "left";
        context.fillText(cutToWidth(context, this.keys[key], 9 * this.rem), 0, 0);
        context.restore();
      } else {
        context.textAlign = "center";
        context.fillText(this.keys[key], x, this.top - this.keySize / 2 - 6);
      }
    }
    this._titles(context, shown);
  }

  /** @type {(context: Context, shown: Box) => void} */
  _titles(context, shown) {
    const { theme } = this.palette;
    context.font = this.small;
    context.fillStyle = theme.muted;
    context.textAlign = "left";
    context.textBaseline = "top";
    const { keyTitle } = this.kind;
    const fits = context.measureText(keyTitle).width <= this.view.width - this.left;
    context.fillText(fits ? keyTitle : shortTitle(keyTitle), this.left, 1);
    const turned = (/** @type {string} */ title, /** @type {number} */ x, /** @type {string} */ color, /** @type {number} */ top) => {
      const length = (/** @type {string} */ text) => context.measureText(text).width;
      const text = length(title) <= shown.bottom - top ? title : shortTitle(title);
      context.save();
      // A long title may run beside the column labels, but not off the canvas.
      context.translate(x, Math.max(0, Math.min(top, this.view.height - length(text))));
      context.rotate(-Math.PI / 2);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillStyle = color;
      context.fillText(text, 0, 0);
      context.restore();
    };
    turned(this.kind.queryTitle, 0.55 * this.rem, theme.muted, shown.top);
    if (!this._hasBeside()) return;
    turned(this.kind.besideTitle ?? "", this.view.width - 0.55 * this.rem, theme.accent, shown.top);
  }

  /** @type {(event: Spot) => Cell | null} */
  _cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    if (x < this.left || y < this.top || x > this.view.width - this.right) return null;
    return cellAt(this, x + this.root.scrollLeft, y + this.root.scrollTop);
  }

  /** @type {(event: PointerEvent) => void} */
  _pointed(event) {
    this._mark(this._cellAt(event), event);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    /** @type {Record<string, Cell>} */
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key in steps) {
      const [query, key] = this.cursor ?? this.pickedCell ?? [0, 0];
      const [down, right] = this.cursor ? steps[event.key] : [0, 0];
      const clamp = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value));
      this._mark([clamp(query + down, this.queries.length), clamp(key + right, this.keys.length)]);
    } else if (event.key === "+" || event.key === "=") this.zoomBy(1);
    else if (event.key === "-") this.zoomBy(-1);
    else if (event.key === "Escape") this._mark(null);
    else return;
    event.preventDefault();
  }

  /** @type {(mark: HTMLElement, x: number, y: number, width: number, height: number) => void} */
  _frame(mark, x, y, width, height) {
    mark.style.transform = `translate(${x}px, ${y}px)`;
    mark.style.width = `${width}px`;
    mark.style.height = `${height}px`;
  }

  /** Marks a cell with its row and column, and reports it. @type {(cell: Cell | null, event?: Spot) => void} */
  _mark(cell, event) {
    this.cursor = cell;
    for (const mark of [this.row, this.column, this.cell]) mark.hidden = !cell;
    if (!cell) {
      this.on.point(null);
      return;
    }
    const [query, key] = cell;
    const [x, y] = [this._x(key), this._y(query)];
    const { scrollLeft, scrollTop } = this.root;
    this._frame(this.row, scrollLeft, y, this.view.width, this.cellHeight);
    this._frame(this.column, x, scrollTop, this.cellWidth, this.view.height);
    this._frame(this.cell, x, y, this.cellWidth, this.cellHeight);
    const box = this.canvas.getBoundingClientRect();
    const place = event ?? {
      clientX: box.left + x - scrollLeft + this.cellWidth,
      clientY: box.top + y - scrollTop + this.cellHeight,
    };
    this.on.point(cell, place, !event);
  }
}
