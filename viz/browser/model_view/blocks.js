// The blocks of Figure 1 as small canvases: attention heads, feed-forward layers, position tables.

import { fitted, penOf } from "../canvas/dom.js";
import { Palette, channels, packed, pooled } from "../canvas/paint.js";

/** @typedef {"empty" | "full" | "now"} State */

/** A theme's colours for the blocks. */
export class Inks {
  /** @param {ShownTheme} theme */
  constructor(theme) {
    this.theme = theme;
    this.usual = new Palette(theme, 0.7);
    this.now = new Palette({ ...theme, weights: [theme.weights[0], theme.now] }, 0.7);
    this.plain = new Palette(theme, 1);
    this.way = theme.weights[theme.name === "dark" ? 6 : 4];
  }
}

/** @type {(width: number, height: number) => HTMLCanvasElement} */
function offscreen(width, height) {
  const made = document.createElement("canvas");
  made.width = width;
  made.height = height;
  return made;
}

/** Paints steps from `pooled` with a palette, or in one colour for allowed and one for masked cells.
 * @type {(steps: Uint16Array, width: number, height: number, palette: Palette, empty?: [seen: number, hidden: number]) => ImageData} */
function painted(steps, width, height, palette, empty) {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const [seen, hidden] = empty ?? [null, palette.forbidden];
  for (let place = 0; place < pixels.length; place++) {
    pixels[place] = steps[place] > 255 ? hidden : (seen ?? palette.lookup[steps[place]]);
  }
  return image;
}

/** All heads of one attention layer, side by side; rows appear one after another. */
export class AttentionBlock {
  drawn = "";
  /** @type {TileSize} */
  tile = { width: 0, height: 0 };
  gap = 0;
  density = 1;
  /** @type {Context} */
  context;
  /** @type {Inks} */
  inks;
  /** @type {Uint16Array[]} */
  steps = [];
  /** @type {Record<string, HTMLCanvasElement>} */
  painted = {};

  /** @param {HTMLCanvasElement} canvas @param {Figure} figure @param {FigureBlock} block @param {number} place */
  constructor(canvas, figure, block, place) {
    this.canvas = canvas;
    this.figure = figure;
    this.block = block;
    this.place = place;
  }

  /** @type {(tile: TileSize, gap: number, inks: Inks) => void} */
  size(tile, gap, inks) {
    const { heads } = this.block;
    const fit = fitted(this.canvas, heads * (tile.width + gap) - gap, tile.height);
    Object.assign(this, { tile, gap, inks, drawn: "" }, fit);
    this.steps = [];
    this.painted = {};
  }

  /** All heads in one state, painted when first needed. @type {(state: State) => HTMLCanvasElement} */
  _layer(state) {
    return (this.painted[state] ??= this._paint(state));
  }

  /** @type {(state: State) => HTMLCanvasElement} */
  _paint(state) {
    const { canvas, block, density, inks, tile } = this;
    const [width, height] = [Math.round(tile.width * density), canvas.height];
    const layer = offscreen(canvas.width, height);
    const context = penOf(layer);
    const steps = (/** @type {number} */ head) => (this.steps[head] ??= pooled(this.figure.cells(block, this.place, head), width, height, inks.usual));
    /** @type {[number, number]} */
    const blank = [inks.usual.lookup[0], packed(channels(inks.theme.forbidden))];
    const empty = state === "empty" ? blank : undefined;
    for (let head = 0; head < block.heads; head++) {
      context.putImageData(painted(steps(head), width, height, inks[state === "now" ? "now" : "usual"], empty), this._left(head) * density, 0);
    }
    return layer;
  }

  /** @type {(head: number) => number} */
  _left(head) {
    return Math.round(head * (this.tile.width + this.gap) * this.density) / this.density;
  }

  /**
   * Draws the state at one moment.
   *
   * @param {number} rows - rows computed so far, with a fraction.
   * @param {number} current - the row being computed; -1 for none.
   * @param {Marks} marks - followed `rows` and `columns`; `head` outlined, `over` under the pointer.
   */
  draw(rows, current, marks) {
    const { canvas, context, density, block, inks } = this;
    const state = JSON.stringify([Math.round(rows * 40), current, marks]);
    if (state === this.drawn) return;
    this.drawn = state;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this._layer("empty"), 0, 0);
    const edge = (/** @type {number} */ row) => Math.round((Math.min(Math.max(row, 0), block.queries) * canvas.height) / block.queries);
    const band = (/** @type {State} */ state, /** @type {number} */ from, /** @type {number} */ to) => {
      if (to > from) context.drawImage(this._layer(state), 0, from, canvas.width, to - from, 0, from, canvas.width, to - from);
    };
    band("full", 0, edge(rows));
    if (current >= 0 && current < rows) band("now", edge(current), Math.max(edge(Math.min(rows, current + 1)), edge(current) + 1));
    context.setTransform(density, 0, 0, density, 0, 0);
    context.strokeStyle = inks.theme.text;
    context.fillStyle = inks.theme.text;
    for (let head = 0; head < block.heads; head++) this._follow(head, marks);
    if (marks.head >= 0) this._outline(marks.head, inks.theme.now, 2);
    if (marks.over >= 0) this._outline(marks.over, inks.theme.text, 1.5);
  }

  /** @type {(head: number, color: string, width: number) => void} */
  _outline(head, color, width) {
    const { context, tile } = this;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.strokeRect(this._left(head) + width / 2, width / 2, tile.width - width, tile.height - width);
  }

  /** @type {(head: number, marks: Marks) => void} */
  _follow(head, { rows, columns }) {
    const { context, block, tile } = this;
    context.globalAlpha = 0.9;
    context.lineWidth = 1;
    const left = this._left(head);
    if (rows) {
      const [from, to] = rows.map((row) => (row * tile.height) / block.queries);
      context.strokeRect(left + 0.5, from + 0.5, tile.width - 1, Math.max(1, to - from - 1));
    }
    if (columns) {
      const [from, to] = columns.map((column) => (column * tile.width) / block.keys);
      context.strokeRect(left + from + 0.5, 0.5, Math.max(1, to - from - 1), tile.height - 1);
    }
    context.globalAlpha = 1;
  }

  /** The head and row at a point of the canvas. @type {(x: number, y: number) => { head: number; row: number }} */
  at(x, y) {
    const { block, tile, gap } = this;
    const head = Math.min(block.heads - 1, Math.max(0, Math.floor(x / (tile.width + gap))));
    const row = Math.min(block.queries - 1, Math.max(0, Math.floor((y / tile.height) * block.queries)));
    return { head, row };
  }
}

/** How much a feed-forward layer adds to each token, as bars. */
export class AddedBlock {
  drawn = "";
  density = 1;
  width = 0;
  height = 0;
  /** @type {Context} */
  context;
  /** @type {Inks} */
  inks;

  /** @param {HTMLCanvasElement} canvas @param {Float32Array} shares */
  constructor(canvas, shares) {
    this.canvas = canvas;
    this.shares = shares;
  }

  /** @type {(width: number, height: number, inks: Inks) => void} */
  size(width, height, inks) {
    Object.assign(this, { width, height, inks, drawn: "" }, fitted(this.canvas, width, height));
  }

  /** @type {(rows: number, current: number, followed: Span | null) => void} */
  draw(rows, current, followed) {
    const { context, density, shares, width, height, inks } = this;
    const state = JSON.stringify([Math.round(rows * 40), current, followed]);
    if (state === this.drawn) return;
    this.drawn = state;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const wide = width / shares.length;
    shares.forEach((share, token) => {
      const is = followed && followed[0] <= token && token < followed[1];
      context.fillStyle = token === current ? inks.theme.now : is ? inks.theme.text : inks.theme.weights[5];
      const tall = Math.max(1, share * (height - 2) * Math.min(1, Math.max(0, rows - token)));
      if (rows > token) context.fillRect(token * wide, height - tall, Math.max(0.8, wide - 1), tall);
    });
  }
}

/** A position table with one column per token.
 * @type {(canvas: HTMLCanvasElement, figure: Figure, stack: FigureStack, width: number, height: number, inks: Inks) => void} */
export function drawPositions(canvas, figure, stack, width, height, inks) {
  const { context } = fitted(canvas, width, height);
  const steps = pooled(figure.positionCells(stack), canvas.width, canvas.height, inks.plain);
  context.putImageData(painted(steps, canvas.width, canvas.height, inks.plain), 0, 0);
}
