// One matrix among several: categories or numbers, on the axes that its neighbours may share.

import constants from "../../draw/constants.json" with { type: "json" };
import { floats } from "../canvas/envelope.js";
import { Matrix } from "../canvas/matrix.js";
import { signed } from "../canvas/numbers.js";
import { Palette, channels, packed } from "../canvas/paint.js";

/** The colours of a panel's cells, one a step. */
export class StepPalette extends Palette {
  constructor(theme, colors, isCategory) {
    super({ ...theme, weights: colors.length > 1 ? colors : [...colors, ...colors] }, 1);
    if (!isCategory) return;
    this.steps = colors.map(channels);
    this.lookup = Uint32Array.from(this.steps, packed);
  }

  step(cells, index) {
    return cells.weights[index];
  }
}

export class Panel extends Matrix {
  /**
   * @param {object} on - as for Matrix, and `scrolled(left, top)` and `zoomed(step)`.
   * @param {object} given - a panel as matrices.py describes it.
   */
  constructor(on, given) {
    super(on);
    this.given = given;
    // Beside several matrices even a narrow one has what stands beside its rows: its neighbours have it as well.
    this.keepsBeside = true;
    this.root.addEventListener("scroll", () => on.scrolled?.(this.root.scrollLeft, this.root.scrollTop));
  }

  get isCategory() {
    return this.given.scale === "category";
  }

  /** One zoom for all panels. */
  zoomBy(step) {
    this.on.zoomed(step);
  }

  /** Marks again what was marked before the cells were drawn anew, so that a cursor outlives a new answer. */
  remark(cell, event) {
    const inside = cell && cell[0] < this.queries.length && cell[1] < this.keys.length;
    if (inside) this._mark(cell, event);
  }

  _mark(cell, event) {
    this.event = event;
    super._mark(cell, event);
  }

  /** Rows are lower than in a picture of its own: their labels are written smaller before one is left out. */
  _fonts() {
    super._fonts();
    const room = (this.heightGiven - 6 * this.rem) / Math.max(1, this.queries.length);
    this.size = Math.max(0.72 * this.rem, Math.min(this.rem, room / 1.05));
    this.font = `${this.size}px ${this.family}`;
  }

  /**
   * Labels stand upright, since the last slanted one would be cut; they are written smaller before one is left out.
   * Numbers lie flat, and round ones are written where not all have room.
   */
  _fitKeys(context, across) {
    const widest = super._fitKeys(context, across);
    this.keyStep = null;
    if (this.keys.length > 1 && this.keys.every((key, place) => key === String(place))) {
      this.slope = 0;
      this.keySize = Math.max(0.8 * this.rem, Math.min(this.size, 0.9 * this.rem));
      context.font = `${this.keySize}px ${this.family}`;
      this.keyStep = roundStep((context.measureText(this.keys.at(-1)).width + 0.8 * this.rem) / across);
      return this.keySize;
    }
    if (this.slope === 0) return widest;
    this.slope = 90;
    this.keySize = Math.max(0.72 * this.rem, Math.min(this.size, across / 1.15));
    return Math.min(this._widestKey(context, this.keySize), 9 * this.rem);
  }

  /** Draws the panel's cells; `palette` is that of its scale. */
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
      heads: [{ cells: given.cells, color: null }],
      palette,
      heightGiven: height,
      queries: given.queries,
      keys: given.keys,
      beside: given.beside,
    });
  }

  /** What a cell holds, in words. */
  says(query, key) {
    const place = query * this.keys.length + key;
    const { cells, names, digits } = this.given;
    if (this.isCategory) return names[cells.weights[place]];
    if (cells.allowed !== null && !cells.allowed[place]) return "taken out";
    return signedNumber(cells.values[place], digits + 2);
  }

  _number(cells, place) {
    if (this.isCategory) return "";
    return Math.abs(cells.values[place]) < constants.LEAST_NUMBER ? "" : signedNumber(cells.values[place], this.given.digits);
  }
}

/** The least of 1, 2, 5, 10, 20, 50 … that is not below `least`. */
export function roundStep(least) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].find((factor) => factor * power >= least) * power;
}

export function signedNumber(value, digits) {
  return Number.isNaN(value) ? "not a number" : signed(value, digits);
}

/** A panel as matrices.py describes it, with its cells. */
export function readPanel(panel, body) {
  const [nQueries, nKeys] = [panel.queries.length, panel.keys.length];
  const size = nQueries * nKeys;
  const bytes = (start) => (start === null ? null : body.slice(start, start + size));
  const cells = { scale: 1, exact: true, nQueries, nKeys, allowed: bytes(panel.shown) };
  if (panel.scale === "category") cells.weights = bytes(panel.values);
  else {
    cells.values = floats(body, panel.values, size);
    const reach = panel.high - panel.low || 1;
    if (panel.scale === "signed") cells.middle = 127.5;
    cells.weights = Uint8Array.from(cells.values, (value) =>
      Math.round((255 * Math.max(0, Math.min(reach, value - panel.low))) / reach),
    );
  }
  return { ...panel, cells, base: bytes(panel.base), start: bytes(panel.start) };
}
