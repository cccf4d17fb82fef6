// The blocks of Figure 1, painted at any size: attention heads, feed-forward layers, position tables.

import { penOf } from "../canvas/dom.js";
import { Palette, channels, hatchWithin, packed, pooled } from "../canvas/paint.js";
import { Recent } from "../canvas/recent.js";

/** @typedef {"empty" | "full" | "now"} State */
/** How the heads of a block are painted: where each lies on the screen in CSS pixels, if it is to be seen, and how opaque it is.
 * One head may be drawn to the last pixel, `sharp`, or −1: that takes its time.
 * @typedef {{ context: Context, density: number, inks: Inks, rooms: (Rectangle | null)[], alphas: number[], rows: number, current: number, marks: Marks, sharp?: number }} TilesShown */

const [GRID_FROM, GRID_TO] = [7, 22];
const HATCHED_FROM = 14;
/** So wide are heads side by side in one image at most, and so many pixels do images of a layer keep. */
const [WIDEST_STRIP, MOST_PIXELS] = [4096, 6_000_000];

/** A theme's colours for the blocks. */
export class Inks {
  /** @param {ShownTheme} theme @param {number} gamma */
  constructor(theme, gamma) {
    this.theme = theme;
    this.usual = new Palette(theme, gamma);
    this.now = new Palette({ ...theme, weights: [theme.weights[0], theme.now] }, gamma);
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

/** All heads of one attention layer; rows appear one after another. */
export class HeadTiles {
  /** Images of the heads, side by side where they have room, by state and size. @type {Recent<HTMLCanvasElement>} */
  images = new Recent(MOST_PIXELS);
  /** @type {Inks | null} */
  inks = null;

  /** @param {Pick<Figure, "cells" | "sketch" | "isRough">} figure @param {Pick<FigureBlock, "kind" | "heads" | "queries" | "keys">} block @param {number} place */
  constructor(figure, block, place) {
    this.figure = figure;
    this.block = block;
    this.place = place;
    this.size = [block.keys, block.queries];
  }

  /** Takes the size of a tile at rest, in device pixels, and the colours. @type {(width: number, height: number, inks: Inks) => void} */
  rest(width, height, inks) {
    const { keys, queries } = this.block;
    // Where cells are smaller than pixels, the largest weight under a pixel is seen.
    this.small = [Math.min(width, keys), Math.min(height, queries)];
    this.inks = inks;
    this.images = new Recent(MOST_PIXELS);
  }

  /** How many columns and rows a head that has so many pixels is painted with, of which each shows its largest weight: all of its cells
   * where there is room; as many as there are pixels where it is to be sharp; else of a few sizes, as it grows.
   * @type {(room: [width: number, height: number], isSharp: boolean) => [width: number, height: number]} */
  fit(room, isSharp) {
    const [width, height] = room.map((pixels, axis) => {
      const least = this.small?.[axis] ?? 1;
      let size = this.size[axis];
      if (isSharp) return Math.min(size, Math.max(least, pixels));
      while (size > pixels && size > least) size = Math.max(least, Math.ceil(size / 2));
      return size;
    });
    return [width, height];
  }

  /** An image with a head, and where in it the head begins. @type {(state: State, head: number, size: [width: number, height: number]) => { image: HTMLCanvasElement, from: number }} */
  _image(state, head, [width, height]) {
    const { heads } = this.block;
    const isStrip = heads * width <= WIDEST_STRIP;
    const shown = isStrip ? Array.from({ length: heads }, (_, each) => each) : [head];
    const isRough = this.figure.isRough(this.block.kind, this.place, head);
    const name = `${state} ${width} ${height} ${isStrip ? "" : head} ${isRough}`;
    const image = this.images.of(name, shown.length * width * height, () => this._paint(state, shown, width, height));
    return { image, from: isStrip ? head * width : 0 };
  }

  /** @type {(state: State, heads: number[], width: number, height: number) => HTMLCanvasElement} */
  _paint(state, heads, width, height) {
    const { block, figure, place } = this;
    const inks = /** @type {Inks} */ (this.inks);
    const image = offscreen(heads.length * width, height);
    const context = penOf(image);
    /** @type {[number, number]} */
    const blank = [inks.usual.lookup[0], packed(channels(inks.theme.forbidden))];
    heads.forEach((head, at) => {
      const steps = pooled(figure.sketch(block.kind, place, head, width, height), width, height, inks.usual);
      context.putImageData(painted(steps, width, height, state === "now" ? inks.now : inks.usual, state === "empty" ? blank : undefined), at * width, 0);
    });
    return image;
  }

  /** @param {TilesShown} shown */
  paint({ context, density, inks, rooms, alphas, rows, current, marks, sharp = -1 }) {
    const { block } = this;
    context.imageSmoothingEnabled = false;
    rooms.forEach((room, head) => {
      if (!room || alphas[head] <= 0.01) return;
      const [left, top] = [Math.round(room.left * density), Math.round(room.top * density)];
      const [width, height] = [Math.max(1, Math.round(room.right * density) - left), Math.max(1, Math.round(room.bottom * density) - top)];
      const size = this.fit([width, height], head === sharp);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.globalAlpha = alphas[head];
      const edge = (/** @type {number} */ row) => Math.round((Math.min(Math.max(row, 0), block.queries) * height) / block.queries);
      const band = (/** @type {State} */ state, /** @type {number} */ from, /** @type {number} */ to) => {
        if (to <= from) return;
        const { image, from: start } = this._image(state, head, size);
        const scale = size[1] / height;
        context.drawImage(image, start, from * scale, size[0], (to - from) * scale, left, top + from, width, to - from);
      };
      const done = edge(rows);
      band("full", 0, done);
      band("empty", done, height);
      if (current >= 0 && current < rows) band("now", edge(current), Math.max(edge(Math.min(rows, current + 1)), edge(current) + 1));
      context.setTransform(density, 0, 0, density, 0, 0);
      this.grid(context, room, head, inks, alphas[head]);
      this._follow(context, room, marks, inks);
      context.globalAlpha = alphas[head];
      if (marks.head === head) outlined(context, room, inks.theme.now, 2);
      if (marks.over === head) outlined(context, room, inks.theme.text, 1.5);
    });
    context.globalAlpha = 1;
  }

  /** What is seen from near: lines between cells, and hatching where nothing may look.
   * @type {(context: Context, room: Rectangle, head: number, inks: Inks, alpha: number, color?: string) => void} */
  grid(context, room, head, inks, alpha, color = inks.theme.ground) {
    const { queries, keys } = this.block;
    const [wide, high] = [room.width / keys, room.height / queries];
    const share = smooth((Math.min(wide, high) - GRID_FROM) / (GRID_TO - GRID_FROM));
    if (share <= 0) return;
    const { allowed } = this.figure.cells(this.block, this.place, head);
    if (allowed && high > HATCHED_FROM) {
      context.beginPath();
      for (let query = 0; query < queries; query++) {
        // Cells side by side are one rectangle.
        for (let key = 0, from = 0; key <= keys; key++) {
          if (key < keys && !allowed[query * keys + key]) continue;
          if (key > from) context.rect(room.left + from * wide, room.top + query * high, (key - from) * wide, high);
          from = key + 1;
        }
      }
      context.globalAlpha = alpha * share;
      hatchWithin(context, room, inks.theme);
    }
    context.globalAlpha = alpha * share;
    context.strokeStyle = color;
    context.lineWidth = Math.min(3, Math.max(1, 0.05 * Math.min(wide, high)));
    context.beginPath();
    for (let key = 1; key < keys; key++) {
      context.moveTo(room.left + key * wide, room.top);
      context.lineTo(room.left + key * wide, room.bottom);
    }
    for (let query = 1; query < queries; query++) {
      context.moveTo(room.left, room.top + query * high);
      context.lineTo(room.right, room.top + query * high);
    }
    context.stroke();
  }

  /** @type {(context: Context, room: Rectangle, marks: Marks, inks: Inks) => void} */
  _follow(context, room, { rows, columns }, inks) {
    const { queries, keys } = this.block;
    context.globalAlpha *= 0.9;
    context.strokeStyle = inks.theme.text;
    context.lineWidth = 1;
    if (rows) {
      const [from, to] = rows.map((row) => room.top + (row * room.height) / queries);
      context.strokeRect(room.left + 0.5, from + 0.5, room.width - 1, Math.max(1, to - from - 1));
    }
    if (columns) {
      const [from, to] = columns.map((column) => room.left + (column * room.width) / keys);
      context.strokeRect(from + 0.5, room.top + 0.5, Math.max(1, to - from - 1), room.height - 1);
    }
  }
}

/** From 0 to 1 without a corner at either end. @type {(share: number) => number} */
export function smooth(share) {
  const within = Math.min(1, Math.max(0, share));
  return within * within * (3 - 2 * within);
}

/** From 0 to 1 as a size goes over a range; where it will grow to `most` alone, all is there by then.
 * @type {(size: number, range: number[], most: number) => number} */
export function come(size, [from, to], most) {
  const end = Math.min(to, most);
  return smooth((size - (from * end) / to) / (end - (from * end) / to));
}

/** @type {(context: Context, room: Rectangle, color: string, width: number) => void} */
function outlined(context, room, color, width) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(room.left + width / 2, room.top + width / 2, room.width - width, room.height - width);
}

/** How much a feed-forward layer adds to each token, as bars.
 * @type {(context: Context, room: Rectangle, shares: Float32Array, rows: number, current: number, followed: Span | null, inks: Inks) => void} */
export function paintBars(context, room, shares, rows, current, followed, inks) {
  const wide = room.width / shares.length;
  const gap = Math.min(0.25 * wide, Math.max(1, 0.02 * room.width));
  shares.forEach((share, token) => {
    const is = followed && followed[0] <= token && token < followed[1];
    context.fillStyle = token === current ? inks.theme.now : is ? inks.theme.text : inks.theme.weights[5];
    const tall = Math.max(1, share * (room.height - 2) * Math.min(1, Math.max(0, rows - token)));
    if (rows > token) context.fillRect(room.left + token * wide, room.bottom - tall, Math.max(0.8, wide - gap), tall);
  });
}

/** A position table with one column per token, as an image of one pixel a cell. @type {(figure: Figure, stack: FigureStack, inks: Inks) => HTMLCanvasElement} */
export function positionsImage(figure, stack, inks) {
  const cells = figure.positionCells(stack);
  const [width, height] = [cells.nKeys, cells.nQueries];
  const image = offscreen(width, height);
  penOf(image).putImageData(painted(pooled(cells, width, height, inks.plain), width, height, inks.plain), 0, 0);
  return image;
}
