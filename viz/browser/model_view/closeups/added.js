// A feed-forward block, close up: how much it adds to each token's vector, and one vector before, gained and after.

import { rectangle } from "../../canvas/geometry.js";
import { percent } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { leadingPlaces } from "./numbers.js";
import { Pen, bounded, mostOf } from "./pen.js";

/** @type {(values: Float32Array) => number} */
function lengthOf(values) {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

/** What a feed-forward block adds. @type {(context: Context, room: Rectangle, data: AddedData, inks: Inks) => Hot[]} */
export function paintAdded(context, room, data, inks) {
  const { tokens, answer } = data;
  const em = bounded(Math.min(room.width / 28, room.height / 27), 12, 28);
  const pen = new Pen(context, inks, em);
  const box = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  const size = answer?.size ?? 0;
  const row = (/** @type {Float32Array} */ table, /** @type {number} */ token) => table.subarray(token * size, (token + 1) * size);
  const shares = answer
    ? tokens.map((_, token) => lengthOf(row(answer.gains, token)) / (lengthOf(row(answer.into, token)) || 1))
    : Array.from(data.shares ?? []);
  if (!shares.length) return [];
  const chosen = data.token >= 0 ? data.token : shares.indexOf(Math.max(...shares));
  pen.write(tr("What this block adds to each token"), box.left, box.top + 0.8 * em, { size: 1.35 * em, weight: 700, width: box.width });
  pen.write(tr("in percent of its vector’s length"), box.left, box.top + 2.5 * em, { color: pen.theme.muted, width: box.width });
  const strips = answer ? bounded(0.46 * box.height, 9 * em, 16 * em) : 0;
  const hot = drawGains(pen, rectangle(box.left, box.top + 4 * em, box.width, box.height - 4 * em - strips), tokens, shares, chosen);
  const below = rectangle(box.left, box.bottom - strips + 1.2 * em, box.width, strips - 1.2 * em);
  if (answer) drawVectors(pen, below, data, row(answer.into, chosen), row(answer.gains, chosen), chosen);
  return hot;
}

/** @type {(pen: Pen, box: Rectangle, tokens: string[], shares: number[], chosen: number) => Hot[]} */
function drawGains(pen, box, tokens, shares, chosen) {
  const { em, theme } = pen;
  const wide = box.width / tokens.length;
  const { size, height } = pen.axis(tokens, wide);
  const base = box.bottom - height;
  const tall = base - box.top - 1.4 * em;
  const limit = mostOf(shares);
  const numbered = wide > 2.6 * size;
  const named = new Set(leadingPlaces(shares, numbered ? tokens.length : 1, chosen));
  const thick = bounded(0.66 * wide, 1.5, 4 * em);
  pen.rule(box.left, base, box.right);
  pen.labels(tokens, rectangle(box.left, base, box.width, height), chosen);
  return tokens.map((text, token) => {
    const is = token === chosen;
    const x = box.left + (token + 0.5) * wide;
    const high = Math.max(1, (tall * shares[token]) / limit);
    pen.fill(rectangle(x - thick / 2, base - high, thick, high), is ? theme.now : pen.pale, Math.min(3, thick / 6));
    const top = base - (numbered ? high : tall) - 0.75 * size;
    const share = percent(shares[token]);
    const style = is ? { size: 1.15 * size, weight: 700, color: theme.now } : { size: 0.9 * size, color: theme.muted };
    const inside = bounded(x, box.left + 1.4 * size, box.right - 1.4 * size);
    if (named.has(token)) pen.write(share, inside, top, { ...style, align: "center" });
    const label = tr("“{token}” gains {share}", { token: text, share });
    return { ...rectangle(x - wide / 2, box.top, wide, box.height), act: { at: "token", token }, label };
  });
}

/** @type {(pen: Pen, box: Rectangle, data: AddedData, into: Float32Array, gains: Float32Array, token: number) => void} */
function drawVectors(pen, box, { tokens, norm }, into, gains, token) {
  const { em, theme } = pen;
  const after = into.map((value, place) => value + gains[place]);
  const limit = Math.max(mostOf(into), mostOf(after)) * 0.7;
  const names = [tr("before"), tr("gained"), norm === "post" ? tr("sum") : tr("after")];
  const n = into.length;
  pen.write(tr("“{token}”", { token: tokens[token] }), box.left, box.top + 0.4 * em, { weight: 700, color: theme.now, width: 0.5 * box.width });
  const aside = tr("{n} numbers each", { n }, "{n} number each");
  pen.write(aside, box.right, box.top + 0.4 * em, { size: 0.78 * em, color: theme.muted, align: "right", width: 0.45 * box.width });
  const top = box.top + 1.5 * em;
  const high = (box.bottom - top) / 3;
  const signs = ["", "+", "="];
  const side = Math.min(0.3 * box.width, Math.max(...names.map((text) => pen.wide(text, 0.9 * em))) + 1.6 * em);
  [into, gains, after].forEach((values, line) => {
    const y = top + line * high;
    pen.write(signs[line], box.left, y + high / 2, { size: 1.1 * em, weight: 700 });
    pen.write(names[line], box.left + 1.1 * em, y + high / 2, { size: 0.9 * em, width: side - 1.4 * em });
    pen.cells(values, rectangle(box.left + side, y + 0.12 * high, box.width - side, 0.76 * high), limit);
  });
}
