// Paints cells as pixels: one colour scale for every head, hatching for masked cells.

import constants from "../../draw/constants.json" with { type: "json" };

export const HATCH_PERIOD = 5;

// Minimum contrast of text on a stage (WCAG 2).
export const STRONG = 7;

/** @type {(color: string) => Color} */
export function channels(color) {
  return [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
}

/** @type {(color: Color) => number} */
export function packed([red, green, blue]) {
  // Browsers run on little-endian machines: alpha is the highest byte.
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The relative luminance of [red, green, blue], 0 to 1 (WCAG 2). @type {(color: Color) => number} */
export function luminance(color) {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** One theme's colours: 256 steps for weights, and the gamma that maps a weight to a step. */
export class Palette {
  /** @param {ShownTheme} theme @param {number} gamma */
  constructor(theme, gamma) {
    this.theme = theme;
    this.gamma = gamma;
    const stops = theme.weights.map(channels);
    this.steps = Array.from({ length: 256 }, (_, step) => {
      const place = (step / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(place), stops.length - 2);
      const share = place - low;
      return stops[low].map((channel, index) => Math.round(channel + (stops[low + 1][index] - channel) * share));
    });
    this.lookup = Uint32Array.from(this.steps, packed);
    this.forbidden = packed(channels(theme.forbidden));
    this.hatch = packed(channels(theme.hatch));
    this.grid = packed(channels(theme.grid));
  }

  /** @type {(cells: Cells, index: number) => number} */
  step(cells, index) {
    return this.stepOf(cells.weights[index] * cells.scale);
  }

  /** The step of a weight between 0 and 255; unrounded, because gamma spreads small weights over several steps.
   * @type {(scaled: number) => number} */
  stepOf(scaled) {
    const raised = this.gamma === 1 ? scaled : 255 * (scaled / 255) ** this.gamma;
    return Math.max(0, Math.min(255, Math.round(raised)));
  }

  /** Black or white, whichever reads better on this step's colour. @type {(step: number) => string} */
  ink(step) {
    return luminance(this.steps[step]) > constants.INK_THRESHOLD ? "#000000" : "#ffffff";
  }

  /** The contrast of that ink on the step's colour (WCAG 2). @type {(step: number) => number} */
  contrast(step) {
    const ground = luminance(this.steps[step]) + 0.05;
    return this.ink(step) === "#000000" ? ground / 0.05 : 1.05 / ground;
  }
}

/** One cell's weight, 0 to 1. @type {(cells: Cells, place: number) => number} */
export function weightAt(cells, place) {
  return (cells.weights[place] * cells.scale) / 255;
}

/** The cell in which each of `size` pixels begins, among `count` cells.
 * @type {(size: number, count: number) => Int32Array} */
function edges(size, count) {
  const starts = new Int32Array(size + 1);
  for (let pixel = 0; pixel <= size; pixel++) starts[pixel] = Math.floor((pixel * count) / size);
  return starts;
}

/**
 * A matrix scaled to width × height pixels, as colour steps.
 *
 * A pixel over several cells shows the largest weight, which keeps thin diagonals visible; signed numbers show the one
 * farthest from the middle. 256 means every cell under the pixel is masked.
 * @type {(cells: Cells, width: number, height: number, palette: Palette) => Uint16Array}
 */
export function pooled(cells, width, height, palette) {
  const { weights, allowed, nKeys, nQueries, scale, middle = 0 } = cells;
  const out = new Uint16Array(width * height);
  const columns = edges(width, nKeys);
  const rows = edges(height, nQueries);
  for (let y = 0; y < height; y++) {
    const top = rows[y];
    const bottom = Math.max(rows[y + 1], top + 1);
    for (let x = 0; x < width; x++) {
      const left = columns[x];
      const right = Math.max(columns[x + 1], left + 1);
      let largest = -1;
      let farthest = -1;
      for (let query = top; query < bottom; query++) {
        const start = query * nKeys;
        for (let place = start + left; place < start + right; place++) {
          const size = Math.abs(weights[place] - middle);
          if (size > farthest && (allowed === null || allowed[place])) {
            farthest = size;
            largest = weights[place];
          }
        }
      }
      out[y * width + x] = largest < 0 ? 256 : palette.stepOf(largest * scale);
    }
  }
  return out;
}

/** Paints steps from `pooled` into 32-bit pixels, `stride` per row, clipped at the edges.
 * @type {(pixels: Uint32Array, stride: number, rowsInAll: number, steps: Uint16Array, left: number, top: number, width: number, height: number, palette: Palette) => void} */
export function paintSteps(pixels, stride, rowsInAll, steps, left, top, width, height, palette) {
  const from = Math.max(0, -left);
  const to = Math.min(width, stride - left);
  for (let y = Math.max(0, -top); y < Math.min(height, rowsInAll - top); y++) {
    let place = (top + y) * stride + left + from;
    for (let x = from; x < to; x++, place++) {
      const step = steps[y * width + x];
      pixels[place] =
        step < 256 ? palette.lookup[step] : (left + x + top + y) % HATCH_PERIOD === 0 ? palette.hatch : palette.forbidden;
    }
  }
}

/**
 * Paints one head's cells, (query, key), at width × height into 32-bit pixels that show `wide` × `high` of them from
 * (offX, offY) on. Where cells are smaller than pixels, the largest weight shows.
 * @type {(pixels: Uint32Array, wide: number, high: number, cells: Cells, width: number, height: number, offX: number, offY: number, palette: Palette) => void}
 */
export function paintCells(pixels, wide, high, cells, width, height, offX, offY, palette) {
  const { nKeys, nQueries, allowed } = cells;
  if (width < nKeys || height < nQueries) {
    paintSteps(pixels, wide, high, pooled(cells, width, height, palette), -offX, -offY, width, height, palette);
    return;
  }
  const steps = Uint8Array.from(cells.weights, (_, place) => palette.step(cells, place));
  const columns = new Int32Array(wide);
  for (let x = 0; x < wide; x++) columns[x] = Math.min(nKeys - 1, Math.floor(((x + offX) * nKeys) / width));
  for (let y = 0; y < high; y++) {
    const query = Math.min(nQueries - 1, Math.floor(((y + offY) * nQueries) / height));
    const start = query * nKeys;
    for (let x = 0; x < wide; x++) {
      const place = start + columns[x];
      pixels[y * wide + x] =
        allowed === null || allowed[place]
          ? palette.lookup[steps[place]]
          : (x + offX + y + offY) % (2 * HATCH_PERIOD) < 2
            ? palette.hatch
            : palette.forbidden;
    }
  }
}

/** Draws the lines of hatching within the context's path, in a room around it.
 * @type {(context: CanvasRenderingContext2D, room: { left: number; right: number; top: number; bottom: number; height: number }, theme: ShownTheme) => void} */
export function hatchWithin(context, { left, right, top, bottom, height }, theme) {
  const step = 2 * HATCH_PERIOD;
  // Of a room that begins far to the left, only what may be seen.
  const from = Math.max(left, -height);
  context.save();
  context.clip();
  context.strokeStyle = theme.hatch;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = from - (from % step); x < right + height; x += step) {
    context.moveTo(x, top);
    context.lineTo(x - height, bottom);
  }
  context.stroke();
  context.restore();
}

/** Dims and crosses out a head that is switched off, in the context's units.
 * @type {(context: CanvasRenderingContext2D, room: { left: number; top: number; width: number; height: number }, theme: ShownTheme) => void} */
export function crossOut(context, { left, top, width, height }, theme) {
  const thick = Math.min(4, Math.max(1.5, width / 120));
  context.globalAlpha = 0.75;
  context.fillStyle = theme.ground;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = theme.muted;
  context.lineWidth = thick;
  context.strokeRect(left + thick / 2, top + thick / 2, width - thick, height - thick);
  context.beginPath();
  context.moveTo(left + 1, top + height - 1);
  context.lineTo(left + width - 1, top + 1);
  context.stroke();
}
