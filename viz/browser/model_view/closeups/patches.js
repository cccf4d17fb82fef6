// A row of a head over the patches of an image, drawn where the patches lie.

import { rectangle } from "../../canvas/geometry.js";
import { signed } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { weightText } from "./numbers.js";
import { bounded } from "./pen.js";

/** @import { Pen } from "./pen.js" */

const PATCH = /^(\d+),(\d+)$/;
const PRINTED_FROM = 34;
/** How much is hidden of an image where nothing of a row's weight lies. */
const MOST_VEILED = 0.88;

/** Where the patches of an image lie among tokens that hs.Tokens.grid named, row by row; null if there are none.
 * @type {(texts: string[]) => PatchGrid | null} */
export function gridOf(texts) {
  const first = texts.indexOf("0,0");
  if (first < 0) return null;
  const places = texts.slice(first).map((text) => PATCH.exec(text)?.slice(1).map(Number));
  const count = places.findIndex((place) => !place);
  const patches = /** @type {number[][]} */ (count < 0 ? places : places.slice(0, count));
  const columns = 1 + Math.max(...patches.map(([, column]) => column));
  const isWhole = patches.every(([row, column], at) => row * columns + column === at) && patches.length % columns === 0;
  return isWhole && columns > 1 && patches.length > columns ? { first, columns, rows: patches.length / columns } : null;
}

/** Draws what a query gives to each patch, its own patch framed, and what it gives to other tokens below.
 * @type {(pen: Pen, box: Rectangle, data: Omit<RowData, "weights"> & { weights: ArrayLike<number>, palette: Palette }, grid: PatchGrid) => Hot[]} */
export function paintPatches(pen, box, { queries, keys, row, weights, palette, image = null }, { first, columns, rows }) {
  const { context, em, theme } = pen;
  const end = first + rows * columns;
  const elsewhere = Array.from(weights).reduce((sum, weight, key) => sum + (key < first || key >= end ? weight : 0), 0);
  const others = elsewhere > 0 ? tr("Other tokens: {weight}", { weight: weightText(elsewhere) }) : "";
  const said = [image && tr("The larger the weight, the more is seen of the image."), others].filter(Boolean).join(" ");
  const foot = said ? 1.8 * em : 0;
  const side = Math.min(box.width / columns, (box.height - foot - 1.4 * em) / rows);
  const [left, top] = [box.left + 1.6 * em, box.top + 1.2 * em];
  const size = bounded(0.3 * side, 9, em);
  const every = Math.max(1, Math.ceil((1.6 * em) / side));
  for (let at = 0; at < Math.max(rows, columns); at += every) {
    const style = { size: 0.8 * em, color: theme.muted };
    if (at < columns) pen.write(String(at), left + (at + 0.5) * side, top - 0.7 * em, { ...style, align: "center" });
    if (at < rows) pen.write(String(at), left - 0.4 * em, top + (at + 0.5) * side, { ...style, align: "right" });
  }
  if (image) context.drawImage(image, left, top, columns * side, rows * side);
  const alpha = context.globalAlpha;
  const most = Math.max(...Array.from(weights).slice(first, end), Number.MIN_VALUE);
  const hot = Array.from({ length: rows * columns }, (_, patch) => {
    const key = first + patch;
    const room = rectangle(left + (patch % columns) * side, top + Math.floor(patch / columns) * side, side, side);
    const step = palette.stepOf(255 * weights[key]);
    // As on a stage, what is not looked at lies in the dark.
    context.fillStyle = image ? "#000" : `rgb(${palette.steps[step].join()})`;
    context.globalAlpha = image ? alpha * MOST_VEILED * (1 - Math.sqrt(weights[key] / most)) : alpha;
    const [x, y] = [Math.round(room.left), Math.round(room.top)];
    context.fillRect(x, y, Math.round(room.right) - x, Math.round(room.bottom) - y);
    context.globalAlpha = alpha;
    const isNumbered = !image && side >= PRINTED_FROM && weights[key] >= 0.005;
    if (isNumbered) pen.write(signed(weights[key], 2), room.left + side / 2, room.top + side / 2, { size, align: "center", color: palette.ink(step) });
    const label = tr("The weight of “{token}”: {weight}", { token: keys[key], weight: weightText(weights[key]) });
    return { ...room, act: { at: /** @type {const} */ ("weight"), query: row, key }, label };
  });
  pen.frame(rectangle(left, top, columns * side, rows * side), theme.grid, 1);
  const own = keys.indexOf(queries[row], first) - first;
  if (own >= 0 && own < rows * columns) pen.frame(hot[own], theme.now, bounded(em / 6, 2, 4));
  if (foot) pen.write(said, left, top + rows * side + em, { size: 0.9 * em, color: theme.muted });
  return hot;
}
