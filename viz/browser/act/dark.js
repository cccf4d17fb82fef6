// All heads of a sentence, layer above layer, of which some go dark; and a number that follows, as a line.

import { penOf } from "../canvas/dom.js";
import { signed } from "../canvas/numbers.js";
import { Palette } from "../canvas/paint.js";

/** @import { ActCurve, ActKind, ActValues } from "./types.js" */

const [GAP, BETWEEN, NAME, SIDE] = [3, 28, 24, 26];
const [MOST_TILE, MOST_NARROW, CURVE_SHARE, MOST_CURVE] = [92, 26, 0.4, 190];
/** Narrower, the kinds stand below each other. */
export const NARROW = 620;
const DARK = 0.1;

export class Dark {
  /** @type {ShownTheme} */
  theme;
  /** Images of all heads of each kind, by the trace. @type {HTMLCanvasElement[][]} */
  images = [];

  /** @param {ActValues} act */
  constructor(act) {
    this.act = act;
  }

  /** Takes the colours. @param {ShownTheme} theme */
  take(theme) {
    if (theme.name === this.theme?.name) return;
    this.theme = theme;
    const { lookup } = new Palette(theme, 0.7);
    // Small weights are seen as on all pages.
    const steps = Uint32Array.from({ length: 256 }, (_, step) => lookup[Math.round(255 * (step / 255) ** 0.7)]);
    this.images = this.act.kinds.map((kind) => kind.weights.map((weights) => imageOf(kind, weights, steps)));
  }

  /** The height that it takes of some room. @type {(width: number, room: number) => number} */
  height(width, room) {
    return width < NARROW ? Math.max(room, this._tiles(width, Infinity).height + (this.act.curve ? 150 : 0)) : room;
  }

  /** Where heads lie: the size of a tile, and the corner of each kind. @type {(width: number, height: number) => { tile: number, corners: [x: number, y: number][], height: number }} */
  _tiles(width, height) {
    const { kinds } = this.act;
    const narrow = width < NARROW;
    const layers = Math.max(...kinds.map((kind) => kind.layers));
    const heads = kinds.map((kind) => kind.heads);
    const across = narrow ? Math.max(...heads) : heads.reduce((sum, each) => sum + each, 0);
    const columns = narrow ? 1 : kinds.length;
    const rows = narrow ? kinds.length : 1;
    const wide = (width - columns * SIDE - (columns - 1) * BETWEEN) / across;
    const high = (height - rows * (NAME + 8)) / (rows * layers);
    const tile = Math.max(8, Math.min(wide, high, narrow ? MOST_NARROW : MOST_TILE));
    const whole = columns * SIDE + (columns - 1) * BETWEEN + across * tile;
    let [x, y] = [Math.max(0, (width - whole) / 2) + SIDE, NAME];
    /** @type {[number, number][]} */
    const corners = kinds.map((kind) => {
      /** @type {[number, number]} */
      const corner = [x, y];
      if (narrow) y += kind.layers * tile + NAME + 8;
      else x += kind.heads * tile + BETWEEN + SIDE;
      return corner;
    });
    return { tile, corners, height: narrow ? y : layers * tile + NAME + 8 };
  }

  /** @type {(context: Context, width: number, height: number, at: number, come: number) => void} */
  draw(context, width, height, at, come) {
    const { act, theme } = this;
    const frame = act.frames[at];
    const before = act.frames[Math.max(0, at - 1)];
    const curve = act.curve && act.frames.length > 1 ? Math.min(MOST_CURVE, CURVE_SHARE * height) : 0;
    const { tile, corners, height: used } = this._tiles(width, height - curve);
    const size = Math.max(2, tile - GAP);
    context.textBaseline = "middle";
    act.kinds.forEach((kind, number) => {
      const [left, top] = corners[number];
      context.fillStyle = theme.muted;
      context.textAlign = "left";
      context.fillText(kind.name, left, top - 13);
      context.textAlign = "right";
      const off = new Map(frame.off.filter(([of]) => of === number).map(([, layer, head]) => [`${layer}.${head}`, 1]));
      const was = new Set(before.off.filter(([of]) => of === number).map(([, layer, head]) => `${layer}.${head}`));
      for (let layer = 0; layer < kind.layers; layer++) {
        // The lowest layer is below, as in Figure 1.
        const y = top + (kind.layers - 1 - layer) * tile;
        context.fillStyle = theme.muted;
        context.fillText(String(layer), left - 6, y + size / 2);
        for (let head = 0; head < kind.heads; head++) {
          const x = left + head * tile;
          const name = `${layer}.${head}`;
          const dark = off.has(name) ? (was.has(name) ? 1 : come) : 0;
          const paint = (/** @type {number} */ trace, /** @type {number} */ alpha) => {
            context.globalAlpha = alpha * (1 - (1 - DARK) * dark);
            context.drawImage(this.images[number][trace], head * kind.columns, layer * kind.rows, kind.columns, kind.rows, x, y, size, size);
          };
          context.imageSmoothingEnabled = kind.columns > size;
          if (frame.trace !== before.trace) paint(before.trace, 1);
          paint(frame.trace, frame.trace === before.trace ? 1 : come);
          context.globalAlpha = 1;
          context.strokeStyle = dark ? theme.now : theme.grid;
          context.lineWidth = dark && !was.has(name) ? 2 : 1;
          context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
          if (!dark) continue;
          context.globalAlpha = dark;
          context.beginPath();
          context.moveTo(x + 0.2 * size, y + 0.2 * size);
          context.lineTo(x + 0.8 * size, y + 0.8 * size);
          context.moveTo(x + 0.8 * size, y + 0.2 * size);
          context.lineTo(x + 0.2 * size, y + 0.8 * size);
          context.stroke();
          context.globalAlpha = 1;
        }
      }
    });
    if (curve && act.curve) this._curve(context, act.curve, [width, used, height - used], at, come);
  }

  /** The line so far, above 0 or below it, among those of chance.
   * @type {(context: Context, curve: ActCurve, room: [width: number, top: number, height: number], at: number, come: number) => void} */
  _curve(context, { values, others, count, up, above, below, names }, [width, top, height], at, come) {
    const { theme, act } = this;
    const [left, right, roof, floor] = [64, width - 130, top + 14, top + height - 22];
    const high = Math.max(...values, ...others);
    // Room for the words below 0.
    const low = Math.min(...values, ...others, -0.22 * high);
    const x = (/** @type {number} */ place) => left + ((right - left) * place) / Math.max(1, values.length - 1);
    const y = (/** @type {number} */ value) => floor - ((floor - roof) * (value - low)) / Math.max(1e-9, high - low);
    const until = at - 1 + come;
    const line = (/** @type {ArrayLike<number>} */ of) => {
      context.beginPath();
      for (let place = 0; place <= Math.max(0, until) + 1e-9; place++) context.lineTo(x(place), y(of[place]));
      if (until > Math.floor(until)) {
        const from = Math.floor(until);
        context.lineTo(x(until), y(of[from] + (of[from + 1] - of[from]) * (until - from)));
      }
      context.stroke();
    };
    context.strokeStyle = context.fillStyle = theme.muted;
    context.lineWidth = 1;
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(left, y(0));
    context.lineTo(right, y(0));
    context.stroke();
    context.setLineDash([]);
    context.textAlign = "right";
    context.fillText("0", left - 8, y(0));
    context.fillText(signed(high, 1), left - 8, y(high));
    context.textAlign = "left";
    context.fillText(up, 2, roof - 16);
    context.fillText(`↑ ${above}`, left + 8, y(0) - 10);
    context.fillText(`↓ ${below}`, left + 8, y(0) + 11);
    context.textAlign = "center";
    act.frames.forEach((_, place) => {
      if (place === 0 || place === values.length - 1 || values.length < 12) context.fillText(String(place), x(place), floor + 14);
    });
    context.globalAlpha = 0.45;
    for (let set = 0; set < count; set++) line(others.slice(set * values.length, (set + 1) * values.length));
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = theme.now;
    context.lineWidth = 3;
    line(values);
    const end = Math.max(0, until);
    const [from, to] = [values[Math.floor(end)], values[Math.ceil(end)]];
    context.beginPath();
    context.arc(x(end), y(from + (to - from) * (end - Math.floor(end))), 5, 0, 7);
    context.fill();
    context.textAlign = "left";
    context.fillText(names[0], right + 8, y(values[values.length - 1]));
    context.fillStyle = theme.muted;
    const ends = Array.from({ length: count }, (_, set) => others[(set + 1) * values.length - 1]).sort((one, other) => one - other);
    if (count) context.fillText(names[1], right + 8, y(ends[count >> 1]));
  }
}

/** All heads of a kind in one image: layers below each other, heads side by side. @type {(kind: ActKind, weights: Uint8Array, colors: Uint32Array) => HTMLCanvasElement} */
function imageOf({ layers, heads, rows, columns }, weights, colors) {
  const made = document.createElement("canvas");
  [made.width, made.height] = [heads * columns, layers * rows];
  const image = new ImageData(made.width, made.height);
  const pixels = new Uint32Array(image.data.buffer);
  let at = 0;
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < rows; row++) {
        const start = (layer * rows + row) * made.width + head * columns;
        for (let column = 0; column < columns; column++) pixels[start + column] = colors[weights[at++]];
      }
    }
  }
  penOf(made).putImageData(image, 0, 0);
  return made;
}
