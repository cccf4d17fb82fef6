// A head as lines between two columns of tokens. Thickness and opacity show the weight and nothing else.

import constants from "../../../draw/constants.json" with { type: "json" };
import { rectangle } from "../../canvas/geometry.js";
import { signed } from "../../canvas/numbers.js";
import { weightAt } from "../../canvas/paint.js";
import { tr } from "../../canvas/wording.js";
import { weightBetween } from "../head_words.js";
import { Pen, bounded } from "./pen.js";
import { drawLegend } from "./stripes.js";

const LONGEST_LINE_TOKEN = 9;
/** At most so many lines are drawn for a head: the strongest. */
const MOST_LINES = 2000;
/** Of the height of a row, a line's greatest thickness. */
const THICKEST = 0.5;

/** Queries at the left of a room, keys at its right, and between them a line for each weight.
 * @type {(context: Context, room: Rectangle, data: LinesData, inks: Inks) => Hot[]} */
export function paintLines(context, room, data, inks) {
  const { queries, keys, heads, focus, em } = data;
  const pen = new Pen(context, inks, em);
  const step = room.height / Math.max(queries.length, keys.length, 1);
  const size = bounded(0.72 * step, pen.least, em);
  const whole = context.globalAlpha;
  const y = (/** @type {number} */ index) => room.top + (index + 0.5) * step;
  // Side by side: one head's lines never hide another's.
  const thickest = Math.min(0.9 * em, THICKEST * step, (0.9 * step) / heads.length);
  let [drawn, all] = [0, 0];
  heads.forEach(({ cells, color }, index) => {
    const { lines, most } = linesOf(cells, focus);
    [drawn, all] = [drawn + lines.length, all + most];
    const shift = (index - (heads.length - 1) / 2) * thickest;
    context.strokeStyle = color ?? inks.theme.accent;
    for (const { query, key, weight } of lines) {
      context.globalAlpha = whole * weight;
      context.lineWidth = weight * thickest;
      const [from, to, middle] = [y(query) + shift, y(key) + shift, (room.left + room.right) / 2];
      context.beginPath();
      context.moveTo(room.left, from);
      context.bezierCurveTo(middle, from, middle, to, room.right, to);
      context.stroke();
    }
  });
  context.globalAlpha = whole;
  const every = Math.max(1, Math.ceil((1.05 * size) / step));
  const column = (/** @type {SideToken["side"]} */ side) => drawEnds(pen, room, data, { side, size, step, every });
  drawLineTitles(pen, room, data);
  if (drawn < all) {
    const small = bounded(0.7 * em, 11, 18);
    const said = tr("The strongest {drawn} of {all} lines.", { drawn, all });
    pen.write(said, (room.left + room.right) / 2, room.bottom + 0.7 * small, { size: small, color: inks.theme.muted, align: "center" });
  }
  const legend = drawLegend(pen, { left: room.left, bottom: room.top - 1.8 * em, width: room.width }, data);
  return [...column("query"), ...column("key"), ...legend];
}

/** The lines of a head, or of one token, at most the MOST_LINES strongest; and how many there would be without that limit.
 * @type {(cells: Cells, focus: SideToken | null) => { lines: { query: number; key: number; weight: number }[]; most: number }} */
function linesOf(cells, focus) {
  const lines = [];
  for (let query = 0; query < cells.nQueries; query++) {
    for (let key = 0; key < cells.nKeys; key++) {
      if (focus && focus.index !== (focus.side === "query" ? query : key)) continue;
      const weight = weightAt(cells, query * cells.nKeys + key);
      if (weight >= constants.FAINTEST) lines.push({ query, key, weight });
    }
  }
  if (lines.length <= MOST_LINES) return { lines, most: lines.length };
  const [least] = Float32Array.from(lines, ({ weight }) => weight).sort().subarray(-MOST_LINES);
  return { lines: lines.filter(({ weight }) => weight >= least), most: lines.length };
}

/** Which tokens of a column are named: all, or one in `every`; at the other end of a token's lines, those with the most weight.
 * @type {(weights: number[], every: number, count: number) => Set<number>} */
function namedEnds(weights, every, count) {
  const places = Array.from({ length: count }, (_, place) => place);
  if (every === 1) return new Set(places);
  if (!weights.length) return new Set(places.filter((place) => place % every === 0));
  const strongest = places.filter((place) => weights[place] >= constants.FAINTEST).sort((one, other) => weights[other] - weights[one]);
  /** @type {Set<number>} */
  const named = new Set();
  for (const place of strongest) if ([...named].every((other) => Math.abs(other - place) >= every)) named.add(place);
  return named;
}

/** One column of tokens, with the weights of the one that is looked at.
 * @type {(pen: Pen, room: Rectangle, data: LinesData, column: { side: SideToken["side"]; size: number; step: number; every: number }) => Hot[]} */
function drawEnds(pen, room, { queries, keys, heads, focus, words, said }, { side, size, step, every }) {
  const { theme } = pen;
  const isQuery = side === "query";
  const texts = isQuery ? queries : keys;
  // What is short can be pressed as far as what is long.
  const widest = Math.min(LONGEST_LINE_TOKEN * size, Math.max(...texts.map((text) => pen.wide(text, size)))) + 1.2 * size;
  const from = focus && focus.side !== side ? focus : null;
  const met = texts.map((_, index) => (from ? heads.map(({ cells }) => weightBetween(cells, from, index)) : []));
  const named = namedEnds(from ? met.map((weights) => Math.max(...weights)) : [], every, texts.length);
  return texts.flatMap((text, index) => {
    const isLit = !focus && words[isQuery ? "queries" : "keys"].includes(index);
    const is = isLit || (focus?.side === side && focus.index === index);
    if (!named.has(index) && !is) return [];
    const y = room.top + (index + 0.5) * step;
    const weights = met[index];
    const isMet = weights.some((weight) => weight >= constants.FAINTEST);
    const color = isLit ? theme.now : focus && !is && !isMet ? theme.muted : theme.text;
    const shown = isMet && weights.length === 1 ? [text, signed(weights[0], 2)] : [text];
    const x = isQuery ? room.left - 0.6 * size : room.right + 0.6 * size;
    const style = { size, weight: is ? 700 : 400, color, align: /** @type {CanvasTextAlign} */ (isQuery ? "right" : "left"), width: LONGEST_LINE_TOKEN * size };
    pen.write((isQuery ? shown.toReversed() : shown).join("  "), x, y, style);
    const tall = Math.max(step, size);
    const box = rectangle(isQuery ? room.left - widest : room.right, y - tall / 2, widest, tall);
    return [{ ...box, act: { at: /** @type {const} */ ("end"), side, index }, label: said({ side, index }) }];
  });
}

/** @type {(pen: Pen, room: Rectangle, data: LinesData) => void} */
function drawLineTitles(pen, room, { queryTitle, keyTitle, within }) {
  const size = bounded(0.8 * pen.em, 11, 20);
  // As near to their columns as both have room.
  const most = (within.right - within.left) / 2 - size;
  const before = Math.max(0, Math.min(pen.wide(queryTitle, size), most) - room.width / 2 + size);
  const after = Math.max(0, Math.min(pen.wide(keyTitle, size), most) - room.width / 2 + size);
  const style = { size, color: pen.theme.muted, width: most };
  pen.write(queryTitle, Math.max(within.left, room.left - before), room.top - size, style);
  pen.write(keyTitle, Math.min(within.right, room.right + after), room.top - size, { ...style, align: "right" });
}
