// Writing and small drawings on a canvas, in sizes that follow the room; the caller sets the context's font family and alpha.

import { rectangle } from "../../canvas/geometry.js";
import { Palette, hatchWithin } from "../../canvas/paint.js";

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
// So many times their size, slanted labels are long at most.
const LONGEST_SLANTED = 8;

/** Widths of texts at a size of 1, by their font. @type {Map<string, number>} */
const WIDTHS = new Map();
const MOST_WIDTHS = 5000;
const MEASURED_AT = 100;
/** So many sizes of type a pixel. */
const STEPS = 2;

/** @type {WeakMap<ShownTheme, string[]>} */
const SIGNED_COLORS = new WeakMap();

/** 256 colours from the most negative number to the most positive one. @type {(theme: ShownTheme) => string[]} */
function signedColors(theme) {
  const made = SIGNED_COLORS.get(theme) ?? new Palette({ ...theme, weights: theme.signed }, 1).steps.map((color) => `rgb(${color.join()})`);
  SIGNED_COLORS.set(theme, made);
  return made;
}

/** @type {(value: number, least: number, most: number) => number} */
export function bounded(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

/** A colour "#rrggbb", seen through. @type {(color: string, alpha: number) => string} */
export function sheer(color, alpha) {
  return color + Math.round(alpha * 255).toString(16).padStart(2, "0");
}

/** The largest number, by size. @type {(values: ArrayLike<number>) => number} */
export function mostOf(values) {
  return Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
}

/** Whether a label is written where each `every`-th has room, and the lit one comes first.
 * @type {(place: number, every: number, lit: number) => boolean} */
export function labelHasRoom(place, every, lit) {
  return place === lit || (place % every === 0 && (lit < 0 || lit % every === 0 || Math.abs(place - lit) >= every));
}

/** A theme's colours and a size of type, `em` in pixels. */
export class Pen {
  /** @param {Context} context @param {Inks} inks @param {number} em */
  constructor(context, { theme }, em) {
    this.context = context;
    // Else letters are hinted: small ones would be wider than in proportion, and a text wider than it was measured.
    context.textRendering = "geometricPrecision";
    this.theme = theme;
    this.em = em;
    // Where tokens are many, fewer are written rather than all of them too small.
    this.least = Math.max(11, 0.66 * em);
    this.family = context.font.replace(/^.*?\d(?:px|rem|em|pt)(?:\/\S+)? /, "");
    this.pale = theme.weights[theme.name === "dark" ? 5 : 4];
    this.signed = signedColors(theme);
  }

  /** Whether some of a box may be on the canvas. @type {(box: Rectangle) => boolean} */
  isSeen({ left, top, right, bottom }) {
    const { width, height } = this.context.canvas;
    return right > 0 && bottom > 0 && left < width && top < height;
  }

  /** @type {(size: number, weight?: number) => void} */
  _font(size, weight = 400) {
    // A size that grows with each frame would make the browser shape every text anew.
    this.context.font = `${weight} ${Math.floor(size * STEPS) / STEPS}px ${this.family}`;
  }

  /** A text's width. Letters grow with their size, so each text is measured once. @type {(text: string, size?: number, weight?: number) => number} */
  wide(text, size = this.em, weight = 400) {
    const key = `${weight} ${this.family} ${text}`;
    let width = WIDTHS.get(key);
    if (width === undefined) {
      if (WIDTHS.size >= MOST_WIDTHS) WIDTHS.clear();
      this._font(MEASURED_AT, weight);
      width = this.context.measureText(text).width / MEASURED_AT;
      WIDTHS.set(key, width);
    }
    return width * size;
  }

  /** A text that fits a width, ended by "…" if it is longer. @type {(text: string, width: number, size?: number, weight?: number) => string} */
  cut(text, width, size = this.em, weight = 400) {
    if (this.wide(text, size, weight) <= width) return text;
    const letters = [...GRAPHEMES.segment(text)].map(({ segment }) => segment);
    while (letters.length > 1 && this.wide(`${letters.join("")}…`, size, weight) > width) letters.pop();
    return `${letters.join("")}…`;
  }

  /** Writes a line around the height `y`; within a width, smaller first and then cut. Returns its width.
   * @type {(text: string, x: number, y: number, style?: WriteStyle) => number} */
  write(text, x, y, { size = this.em, weight = 400, color = this.theme.text, align = "left", width = Infinity } = {}) {
    const { context } = this;
    const small = bounded((size * width) / this.wide(text, size, weight), 0.8 * size, size);
    const shown = this.cut(text, width, small, weight);
    this._font(small, weight);
    context.fillStyle = color;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillText(shown, x, y);
    return this.wide(shown, small, weight);
  }

  /** A text in as many lines as a width needs; one word at least in each. @type {(text: string, width: number, size?: number) => string[]} */
  folded(text, width, size = this.em) {
    const lines = [""];
    for (const { segment } of WORDS.segment(text)) {
      const line = lines[lines.length - 1];
      const isOver = line && this.wide((line + segment).trimEnd(), size) > width && !/^[\p{P}\s]/u.test(segment);
      if (isOver) lines.push(segment);
      else lines[lines.length - 1] = line + segment;
    }
    return lines.map((line, place) => (place < lines.length - 1 ? line.trimEnd() : line));
  }

  /** Writes a text in as many lines as a box's width needs. @type {(text: string, box: Rectangle, style?: WriteStyle) => void} */
  lines(text, { left, top, width }, style = {}) {
    const { size = this.em } = style;
    this.folded(text, width, size).forEach((line, place) => this.write(line, left, top + (0.7 + 1.5 * place) * size, { ...style, width }));
  }

  /** Writes a text that climbs by 45°, from its start or up to its end. @type {(text: string, x: number, y: number, style?: WriteStyle) => void} */
  climb(text, x, y, style = {}) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate(-Math.PI / 4);
    this.write(text, 0, 0, style);
    this.context.restore();
  }

  /** How tokens are written below their columns, each so wide: level where they fit, else slanted, and each `every`-th.
   * @type {(tokens: string[], wide: number) => { size: number; level: boolean; every: number; height: number }} */
  axis(tokens, wide) {
    const longest = (/** @type {number} */ size) => Math.max(0, ...tokens.map((text) => this.wide(text, size)));
    const fitting = bounded((this.em * (0.92 * wide)) / Math.max(1, longest(this.em)), 0, this.em);
    if (fitting >= Math.max(this.least, 0.78 * this.em)) return { size: fitting, level: true, every: 1, height: 1.8 * fitting };
    const size = bounded(0.62 * wide, this.least, this.em);
    const height = Math.min(longest(size), LONGEST_SLANTED * size) * Math.SQRT1_2 + 1.2 * size;
    return { size, level: false, every: Math.max(1, Math.ceil((1.15 * size) / wide)), height };
  }

  /** Tokens below their columns; the chosen one is lit and keeps its place. @type {(tokens: string[], box: Rectangle, chosen: number) => void} */
  labels(tokens, box, chosen) {
    const wide = box.width / tokens.length;
    const { size, level, every } = this.axis(tokens, wide);
    tokens.forEach((text, place) => {
      const is = place === chosen;
      if (!labelHasRoom(place, every, chosen)) return;
      const style = { size, weight: is ? 700 : 400, color: is ? this.theme.now : this.theme.text };
      const x = box.left + (place + 0.5) * wide;
      if (level) this.write(text, x, box.top + size, { ...style, align: "center" });
      else this.climb(text, x + 0.3 * size, box.top + 0.6 * size, { ...style, align: "right", width: LONGEST_SLANTED * size });
    });
  }

  /** @type {(box: Rectangle, color: string, radius?: number) => void} */
  fill({ left, top, width, height }, color, radius = 0) {
    const { context } = this;
    context.fillStyle = color;
    context.beginPath();
    context.roundRect(left, top, Math.max(0, width), Math.max(0, height), radius);
    context.fill();
  }

  /** @type {(box: Rectangle, color: string, width: number) => void} */
  frame({ left, top, width, height }, color, thick) {
    this.context.strokeStyle = color;
    this.context.lineWidth = thick;
    this.context.strokeRect(left, top, width, height);
  }

  /** @type {(left: number, y: number, right: number, color?: string) => void} */
  rule(left, y, right, color = this.theme.grid) {
    this.fill(rectangle(left, Math.round(y) - 0.5, right - left, 1), color);
  }

  /** A box that is hatched as masked cells are. @type {(box: Rectangle) => void} */
  hatch(box) {
    const { context, theme } = this;
    this.fill(box, theme.forbidden);
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    hatchWithin(context, box, theme);
  }

  /** Numbers as bars up and down from a line in the middle. @type {(values: ArrayLike<number>, box: Rectangle, style: BarStyle) => void} */
  bars(values, box, { color, below = color, limit = mostOf(values), width = 1 }) {
    const { context } = this;
    const wide = box.width / values.length;
    const middle = box.top + box.height / 2;
    const gap = bounded(wide * 0.16, 0, 3);
    this.rule(box.left, middle, box.right);
    for (let place = 0; place < values.length; place++) {
      const tall = bounded(values[place] / limit, -1, 1) * (box.height / 2);
      context.fillStyle = tall < 0 ? below : color;
      const share = (wide - gap) * width;
      context.fillRect(box.left + place * wide + (wide - share) / 2, middle - Math.max(0, tall), Math.max(0.7, share), Math.max(0.5, Math.abs(tall)));
    }
  }

  /** A vector as coloured cells in as many lines as make them nearly square.
   * @type {(values: ArrayLike<number>, box: Rectangle, limit: number) => void} */
  cells(values, box, limit) {
    const { context, signed } = this;
    const lines = bounded(Math.round(Math.sqrt((values.length * box.height) / box.width)), 1, 8);
    const across = Math.ceil(values.length / lines);
    const [wide, high] = [box.width / across, box.height / lines];
    const gap = wide > 5 ? 1 : 0;
    for (let place = 0; place < values.length; place++) {
      const share = bounded(values[place] / limit, -1, 1) / 2 + 0.5;
      context.fillStyle = signed[Math.round(255 * share)];
      const left = box.left + (place % across) * wide;
      context.fillRect(left, box.top + Math.floor(place / across) * high, wide - gap + (gap ? 0 : 0.5), high - gap + (gap ? 0 : 0.5));
    }
  }
}
