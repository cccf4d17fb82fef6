// One row of a head: what a query shares out among its keys, as ribbons whose widths are the weights.

import { rectangle } from "../../canvas/geometry.js";
import { tr } from "../../canvas/wording.js";
import { exactRow, leadingPlaces, weightText } from "./numbers.js";
import { gridOf, paintPatches } from "./patches.js";
import { Pen, bounded, sheer } from "./pen.js";

const MOST_BRANCHES = 12;
// A row of attention adds up to 1, but for rounding to bytes.
const NEAR_ONE = 0.05;

/** @typedef {{ text: string; weight: number; key: number }} Branch */

/** How a query shares out its attention. @type {(context: Context, room: Rectangle, data: RowData, inks: Inks) => Hot[]} */
export function paintRow(context, room, data, inks) {
  const { queries, row } = data;
  const em = bounded(Math.min(room.width / 26, room.height / 24), 12, 32);
  const pen = new Pen(context, inks, em);
  const { weights, seen } = exactRow(data, row);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const box = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  const name = tr("“{token}”", { token: queries[row] });
  const width = pen.write(name, box.left, box.top + 0.9 * em, { size: 1.7 * em, weight: 700, color: pen.theme.now, width: 0.55 * box.width });
  const hidden = seen.filter((is) => !is).length;
  const shared = Math.abs(total - 1) < NEAR_ONE ? tr("shares out 1") : tr("gives out {total}", { total: weightText(total) });
  const said = hidden === seen.length ? tr("may see no token") : shared;
  pen.write(said, box.left + width + 0.6 * em, box.top + 1 * em, { size: 1.15 * em, width: box.width - width - 0.6 * em });
  const foot = hidden ? 1.8 * em : 0;
  if (hidden) {
    pen.hatch(rectangle(box.left, box.bottom - 0.9 * em, 0.9 * em, 0.9 * em));
    const style = { size: 0.85 * em, color: pen.theme.muted, width: box.width - 1.4 * em };
    pen.write(tr("{n} tokens not allowed", { n: hidden }, "{n} token not allowed"), box.left + 1.4 * em, box.bottom - 0.4 * em, style);
  }
  const below = rectangle(box.left, box.top + 2.8 * em, box.width, box.height - 2.8 * em - foot);
  const grid = gridOf(data.keys);
  if (total > 0 && grid) return paintPatches(pen, below, { ...data, weights, palette: inks.usual }, grid);
  return total > 0 ? drawRibbons(pen, below, branchesOf(data, weights, seen, below.height / (1.25 * em)), total, data) : [];
}

/** The keys in their order, at most as many as have room; the others as one.
 * @type {(data: RowData, weights: Float64Array, seen: boolean[], most: number) => Branch[]} */
function branchesOf({ keys }, weights, seen, most) {
  const places = keys.map((_, key) => key).filter((key) => seen[key]);
  const room = bounded(Math.floor(most), 2, MOST_BRANCHES);
  const count = places.length > room ? room - 1 : room;
  const shown = leadingPlaces(places.map((key) => weights[key]), count).map((place) => places[place]);
  const branches = shown.map((key) => ({ text: keys[key], weight: weights[key], key }));
  if (shown.length === places.length) return branches;
  const rest = places.filter((key) => !shown.includes(key));
  return [...branches, { text: tr("{n} more", { n: rest.length }), weight: rest.reduce((sum, key) => sum + weights[key], 0), key: -1 }];
}

/** @type {(pen: Pen, box: Rectangle, branches: Branch[], total: number, data: RowData) => Hot[]} */
function drawRibbons(pen, box, branches, total, { row }) {
  const { context, em, theme } = pen;
  const line = Math.min(1.5 * em, box.height / branches.length);
  const size = Math.min(em, line / 1.2);
  // Each key has a line of type at least; ribbons share what is left.
  const spare = Math.max(0, box.height - branches.length * line);
  const full = Math.min(spare, 0.62 * box.height);
  const heights = branches.map(({ weight }) => line + (full * weight) / total);
  const gap = (box.height - heights.reduce((sum, height) => sum + height, 0)) / Math.max(1, branches.length - 1);
  const step = Math.min(gap, 0.8 * em);
  const used = heights.reduce((sum, height) => sum + height, 0) + step * (branches.length - 1);
  const unit = (0.72 * used) / total;
  const source = rectangle(box.left, box.top + (used - unit * total) / 2, 0.7 * em, unit * total);
  const right = box.right - Math.min(0.42 * box.width, 12 * em);
  const most = Math.max(...branches.map(({ weight }) => weight));
  pen.fill(source, theme.now, 0.15 * em);
  let [from, to] = [source.top, box.top];
  const drawn = branches.map(({ text, weight, key }, place) => {
    const [thick, height] = [unit * weight, heights[place]];
    const end = Math.min(thick, height);
    const middle = to + height / 2;
    const ink = context.createLinearGradient(source.right, 0, right, 0);
    ink.addColorStop(0, sheer(theme.now, 0.5));
    ink.addColorStop(1, sheer(theme.accent, 0.55));
    context.fillStyle = ink;
    const [x, bend] = [source.right + 1, (source.right + right) / 2];
    const thin = Math.max(end, 0.75);
    context.beginPath();
    context.moveTo(x, from);
    context.bezierCurveTo(bend, from, bend, middle - thin / 2, right, middle - thin / 2);
    context.lineTo(right, middle + thin / 2);
    context.bezierCurveTo(bend, middle + thin / 2, bend, from + thick, x, from + thick);
    context.fill();
    const is = weight === most;
    const strong = is ? 1.35 * size : size;
    const style = { size: strong, weight: is ? 700 : 400 };
    const number = pen.write(weightText(weight), right + 0.5 * em, middle, { ...style, color: weight < 0.005 ? theme.muted : theme.accent });
    const left = right + 0.5 * em + Math.max(number, 2.4 * size) + 0.5 * em;
    pen.write(text, left, middle, { ...style, color: weight < 0.005 || key < 0 ? theme.muted : theme.text, width: box.right - left });
    /** @type {Hot} */
    const hot = {
      ...rectangle(right, to, box.right - right, height),
      act: { at: "weight", query: row, key },
      label: tr("The weight of “{token}”: {weight}", { token: text, weight: weightText(weight) }),
    };
    from += thick;
    to += height + step;
    return hot;
  });
  return drawn.filter((_, place) => branches[place].key >= 0);
}
