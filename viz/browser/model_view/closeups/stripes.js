// Several heads in one matrix: in each cell one stripe for each head, in its colour; and the legend that names them.

import { rectangle } from "../../canvas/geometry.js";
import { weightAt } from "../../canvas/paint.js";
import { tr } from "../../canvas/wording.js";

/** @import { Pen } from "./pen.js" */

const FAINTEST_STRIPE = 0.004;
/** The height of a line of the legend, in its size. */
export const LEGEND_LINE = 1.7;

/** Paints several heads' weights as the opacity of their stripes.
 * @type {(context: Context, room: Rectangle, heads: { cells: Cells; color: string | null }[], palette: Palette) => void} */
export function paintStripes(context, { left, top, width, height }, heads, { theme, gamma }) {
  const { nQueries, nKeys } = heads[0].cells;
  const [wide, high] = [width / nKeys, height / nQueries];
  const stripe = wide / heads.length;
  const whole = context.globalAlpha;
  heads.forEach(({ cells, color }, index) => {
    context.fillStyle = color ?? theme.text;
    for (let place = 0; place < cells.weights.length; place++) {
      const weight = weightAt(cells, place);
      if (weight < FAINTEST_STRIPE || (cells.allowed !== null && !cells.allowed[place])) continue;
      context.globalAlpha = whole * weight ** gamma;
      context.fillRect(left + (place % nKeys) * wide + index * stripe, top + Math.floor(place / nKeys) * high, stripe, high);
    }
  });
  context.globalAlpha = whole;
}

/** How wide a name is in the legend, in its size. @param {string} name */
const legendEms = (name) => 0.6 * name.length + 3.2;

/** The places of compared heads in lines of a width, in the size of their names. @type {(names: string[], ems: number) => number[][]} */
export function legendLines(names, ems) {
  /** @type {number[][]} */
  const lines = [[]];
  let used = 0;
  names.forEach((name, place) => {
    if (used && used + legendEms(name) > ems) {
      lines.push([]);
      used = 0;
    }
    lines[lines.length - 1].push(place);
    used += legendEms(name);
  });
  return lines;
}

/** The compared heads, each with a way out of the comparison but on a stage, in lines that end at `bottom`.
 * @type {(pen: Pen, box: { left: number; bottom: number; width: number }, data: { compared?: CompareName[]; isStage?: boolean }) => Hot[]} */
export function drawLegend(pen, { left, bottom, width }, { compared: heads = [], isStage = false }) {
  const { em, theme } = pen;
  const lines = legendLines(heads.map(({ name }) => name), width / em);
  return lines.flatMap((line, number) => {
    let x = left;
    const y = bottom - (lines.length - number - 0.5) * LEGEND_LINE * em;
    return line.flatMap((place) => {
      const { name, whole, color, layer, head } = heads[place];
      pen.fill(rectangle(x, y - 0.45 * em, 0.9 * em, 0.9 * em), color, 0.2 * em);
      const wide = pen.write(name, x + 1.2 * em, y);
      if (!isStage) pen.write("×", x + wide + 1.6 * em, y, { color: theme.muted });
      const own = rectangle(x, y - 0.8 * em, wide + 2.4 * em, 1.6 * em);
      x += legendEms(name) * em;
      return isStage ? [] : [{ ...own, act: { at: /** @type {const} */ ("compared"), layer, head }, label: tr("Remove {name} from the picture", { name: whole }) }];
    });
  });
}
