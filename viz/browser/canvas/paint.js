// Cells into pixels: one colour scale for every head, hatching where attending is not allowed.

const HATCH_PERIOD = 5;

// The contrast that a text has on a stage at least, by WCAG 2.
const STRONG = 7;

function channels(color) {
  return [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
}

function packed([red, green, blue]) {
  // Little-endian, as every machine that runs a browser is: alpha is the highest byte.
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The relative luminance of [red, green, blue], 0 to 1, as WCAG 2 defines it. */
function luminance(color) {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The colours of one theme: the weights' colours as 256 steps, and the gamma that leads a weight to its step. */
class Palette {
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

  step(cells, index) {
    return this.stepOf(cells.weights[index] * cells.scale);
  }

  /** The step of a weight that is given as 0 to 255, with fractions: gamma must find what rounding would lose. */
  stepOf(scaled) {
    const raised = this.gamma === 1 ? scaled : 255 * (scaled / 255) ** this.gamma;
    return Math.max(0, Math.min(255, Math.round(raised)));
  }

  /** Black or white: the one in which a number stands out on the cell of that step. */
  ink(step) {
    return luminance(this.steps[step]) > 0.179 ? "#000000" : "#ffffff";
  }

  /** The contrast of that ink on the step's colour, by WCAG 2. */
  contrast(step) {
    const ground = luminance(this.steps[step]) + 0.05;
    return this.ink(step) === "#000000" ? ground / 0.05 : 1.05 / ground;
  }
}

/** Where each of `size` pixels falls among `count` cells. */
function edges(size, count) {
  const starts = new Int32Array(size + 1);
  for (let pixel = 0; pixel <= size; pixel++) starts[pixel] = Math.floor((pixel * count) / size);
  return starts;
}

/**
 * The steps of a matrix as width × height pixels; a pixel above several cells takes the largest weight of them, so that
 * a thin diagonal stays seen, or where numbers have a sign that which is farthest from the middle. 256 says that nothing
 * under the pixel is allowed.
 */
function pooled(cells, width, height, palette) {
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

/** Paints steps as `pooled` gives them into 32-bit pixels that are `stride` wide, cut off at the edges. */
function paintSteps(pixels, stride, rowsInAll, steps, left, top, width, height, palette) {
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

/** Fits a canvas to its size in CSS pixels on this screen; gives its 2D context and device pixels a CSS pixel. */
function fitted(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  // Setting a size clears the canvas, which is seen as a flicker.
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return { context: canvas.getContext("2d"), density };
}

function element(tag, className, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A weight as a reader wants it: exact to four digits, or as near as one byte tells. */
function written(weight, exact) {
  if (!exact) return `about ${(weight / 255).toFixed(2)}`;
  if (weight === 0 || weight === 1) return String(weight);
  return weight < 0.0001 ? weight.toExponential(2) : weight.toPrecision(4);
}
