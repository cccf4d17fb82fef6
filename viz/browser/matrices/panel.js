// One matrix among several: categories or numbers, with axes that neighbours may share.

import { element } from "../canvas/dom.js";
import { LABEL_LEAST, Matrix } from "../canvas/matrix.js";
import { signed } from "../canvas/numbers.js";
import { Palette, channels, packed } from "../canvas/paint.js";
import { labelled, tr } from "../canvas/wording.js";

/**
 * A panel as matrices.py sends it.
 *
 * @typedef {{ queries: string[], keys: string[], beside: string[] | null, values: Uint8Array | Float32Array, shown: Uint8Array | null,
 *   base: Uint8Array | null, reasons: Uint8Array | null, start: Uint8Array | null, scale: "category" | "weights" | "signed",
 *   low: number, high: number, digits: number, least: number | null, unit: string, names: string[], legend: string[],
 *   colors: { light: string[], dark: string[] }, byEdit: number, hatched: number | null, reads: string[][], title: string, note: string, sign: string, alt: string,
 *   pointed: string, queryTitle: string, keyTitle: string, besideTitle: string }} Sent
 */
/** @typedef {Cells & { values: Uint8Array | Float32Array }} PanelCells */
/** @typedef {ReturnType<typeof readPanel>} Given */

/**
 * @typedef {object} Own
 * @property {(left: number, top: number) => void} scrolled
 * @property {(step: number) => void} zoomed
 * @property {() => void} stroked
 * @property {() => void} edited
 */
/** @typedef {MatrixCalls & Own} Calls */

/** Of the size of type, the width of a column from which on its label may be slanted. */
const SLANTED = 1.25;

/** The colours of a panel's cells, one per step. */
export class StepPalette extends Palette {
  /** @param {ShownTheme} theme @param {string[]} colors @param {boolean} isCategory */
  constructor(theme, colors, isCategory) {
    super({ ...theme, weights: colors.length > 1 ? colors : [...colors, ...colors] }, 1);
    if (!isCategory) return;
    this.steps = colors.map(channels);
    this.lookup = Uint32Array.from(this.steps, packed);
  }

  /** @type {(cells: Cells, index: number) => number} */
  step(cells, index) {
    return cells.weights[index];
  }
}

/** @extends {Matrix<Calls>} */
export class Panel extends Matrix {
  title = element("h4", "title");
  note = element("p", "shape");
  sign = element("span", "sign", { "aria-hidden": "true" });
  room = element("div", "room");
  frame = element("section", "panel");
  slope = 0;
  /** @type {Spot | undefined} */
  event;

  /** Slanted labels of the last columns stand out at the right. @type {(context: Context, room: number) => number} */
  overhang = (context, room) => {
    const across = Math.min(room / Math.max(1, this.keys.length), this.side ?? 0);
    if (across < SLANTED * this.size) return 0;
    const ends = this.keys.map((key, place) => context.measureText(key).width / Math.SQRT2 - (this.keys.length - place - 0.5) * across);
    return Math.max(0, ...ends) + 0.5 * this.size;
  };

  /** @param {Calls} on @param {Given} given */
  constructor(on, given) {
    super(on);
    this.given = given;
    this.room.append(this.root);
    this.frame.append(element("div", "heading", {}, this.sign, this.title), this.note, this.room);
    this.root.addEventListener("scroll", () => on.scrolled(this.root.scrollLeft, this.root.scrollTop));
  }

  get isCategory() {
    return this.given.scale === "category";
  }

  /** Zooms all panels together. @type {(step: number) => void} */
  zoomBy(step) {
    this.on.zoomed(step);
  }

  /** Restores the mark after a redraw: the cursor survives a new answer. @type {(cell: Cell, event?: Spot) => void} */
  remark(cell, event) {
    if (this.holds(cell)) this._mark(cell, event);
  }

  /** @type {(cell: Cell | null, event?: Spot) => void} */
  _mark(cell, event) {
    this.event = event;
    super._mark(cell, event);
  }

  /** Rows are lower than in a single picture: labels shrink before one is left out. */
  _fonts() {
    super._fonts();
    const room = (this.heightGiven - 6 * this.rem) / Math.max(1, this.queries.length);
    this.size = Math.max(LABEL_LEAST * this.rem, Math.min(this.rem, room / 1.05));
    this.font = `${this.size}px ${this.family}`;
  }

  /**
   * Column labels are vertical where the last slanted one would be cut; they shrink before one is left out.
   * Numbers are horizontal; if not all fit, only round ones are printed.
   *
   * @type {(context: Context, across: number) => number}
   */
  _fitKeys(context, across) {
    const widest = super._fitKeys(context, across);
    this.keyStep = null;
    if (this.keys.length > 1 && this.keys.every((key, place) => key === String(place))) {
      this.slope = 0;
      this.keySize = Math.max(0.8 * this.rem, Math.min(this.size, 0.9 * this.rem));
      context.font = `${this.keySize}px ${this.family}`;
      this.keyStep = roundStep((context.measureText(this.keys[this.keys.length - 1]).width + 0.8 * this.rem) / across);
      return this.keySize;
    }
    if (this.slope === 0) return widest;
    this.slope = this.side !== null && across >= SLANTED * this.size ? 45 : 90;
    this.keySize = Math.max(LABEL_LEAST * this.rem, Math.min(this.size, across / (this.slope === 45 ? SLANTED : 1.15)));
    return Math.min(this._widestKey(context, this.keySize), 9 * this.rem);
  }

  /** Draws the panel's cells with the palette of its scale.
   * @type {(given: Given, palette: Palette, height: number, zoom: number) => void} */
  update(given, palette, height, zoom) {
    this.given = given;
    this.zoom = zoom;
    this.draw({
      kind: {
        queryTitle: given.queryTitle,
        keyTitle: given.keyTitle,
        besideTitle: given.besideTitle,
        besideMark: "",
      },
      cells: given.cells,
      palette,
      heightGiven: height,
      queries: given.queries,
      keys: given.keys,
      beside: given.beside,
    });
  }

  /** Whether the axes have the same lengths. @type {(other: Panel) => boolean} */
  isLike({ queries, keys }) {
    return queries.length === this.queries.length && keys.length === this.keys.length;
  }

  /** Whether another panel marks the cell that is pointed at here; panels with sentences of their own stand for themselves.
   * @type {(other: Panel) => boolean} */
  leads(other) {
    return this.isLike(other) && !(this.given.reads.length && other.given.reads.length);
  }

  /** @type {(query: number, key: number) => Record<string, string | number>} */
  _texts(query, key) {
    return { query: this.queries[query], row: query, key: this.keys[key], column: key };
  }

  /** A cell by its labels and places. @type {(query: number, key: number) => string} */
  named(query, key) {
    const labels = this._texts(query, key);
    return this.given.pointed.replace(/{(\w+)}/g, (_, name) => String(labels[name]));
  }

  /**
   * What the line below the pictures says of a cell: the sentence of its category, or what each of `alike` has there.
   *
   * @type {(query: number, key: number, alike: Panel[]) => Node[]} */
  reads(query, key, alike) {
    const { cells, reads } = this.given;
    if (!reads.length) {
      const values = alike.map((panel) => labelled(panel.given.title, panel.says(query, key)));
      return [element("strong", "", {}, this.named(query, key)), element("span", "why", {}, values.join(" · "))];
    }
    const labels = this._texts(query, key);
    const [sentence, why] = reads[cells.weights[query * this.keys.length + key]];
    const parts = sentence.split(/{(\w+)}/).map((part, place) => (place % 2 ? element("strong", "", {}, String(labels[part])) : part));
    return [element("span", "", {}, ...parts), element("span", "why", {}, why)];
  }

  /** A cell's content in words. @type {(query: number, key: number) => string} */
  says(query, key) {
    const place = query * this.keys.length + key;
    const { cells, names, digits } = this.given;
    if (this.isCategory) return names[cells.weights[place]];
    if (cells.allowed !== null && !cells.allowed[place]) return tr("taken out");
    return signedNumber(cells.values[place], digits + 2);
  }

  /** @type {(cells: Cells, place: number) => string} */
  _number(_, place) {
    if (this.isCategory) return "";
    const { digits, least, cells } = this.given;
    const { values } = cells;
    return Math.abs(values[place]) < (least ?? 0.5 * 10 ** -digits) ? "" : signedNumber(values[place], digits);
  }
}

/** The smallest of 1, 2, 5, 10, 20, 50 … that is at least `least`. @type {(least: number) => number} */
export function roundStep(least) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

/** @type {(value: number, digits: number) => string} */
export function signedNumber(value, digits) {
  return Number.isNaN(value) ? tr("not a number") : signed(value, digits);
}

/** A panel from matrices.py, with its cells. @param {Sent} panel */
export function readPanel(panel) {
  const { values } = panel;
  /** @type {PanelCells} */
  const cells = { scale: 1, nQueries: panel.queries.length, nKeys: panel.keys.length, allowed: panel.shown, values, weights: values.slice() };
  if (panel.hatched !== null) cells.allowed = Uint8Array.from(values, (value) => Number(value !== panel.hatched));
  if (panel.scale !== "category") {
    const reach = panel.high - panel.low || 1;
    if (panel.scale === "signed") cells.middle = 127.5;
    cells.weights = Uint8Array.from(values, (value) => Math.round((255 * Math.max(0, Math.min(reach, value - panel.low))) / reach));
  }
  const reasons = panel.reasons ?? panel.base?.map((reason) => reason || panel.byEdit);
  return { ...panel, cells, reasons };
}
