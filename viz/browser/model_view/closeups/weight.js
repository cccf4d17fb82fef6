// The arithmetic of one weight: query, key, their products and sum, the softmax over the row, and the value that is passed on.

import { rectangle } from "../../canvas/geometry.js";
import { signed } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { numberText, exactRow, leadingPlaces, weightNumbers, weightText } from "./numbers.js";
import { Pen, bounded, mostOf, sheer } from "./pen.js";

const MOST_SCORES = 12;
// Squeezed to less of the height that it needs, a part says nothing.
const LEAST_SQUEEZED = 0.85;

/** @typedef {{ need: number; grows: number; rank: number; draw: (box: Rectangle) => void }} Part */
/** @typedef {{ text: string; score: number | null; weight: number; seen: boolean; lit: boolean }} ScoreColumn */
/** @typedef {Record<"wide" | "size" | "base" | "up" | "labels" | "down" | "low" | "span", number> & { slanted: boolean }} ScoreLayout */

/** How one weight comes about. @type {(context: Context, room: Rectangle, data: WeightData, inks: Inks) => Hot[]} */
export function paintWeight(context, room, data, inks) {
  const beside = room.width >= 640 && room.width > 1.15 * room.height;
  const [across, down] = beside ? [52, 25] : [27, 44];
  const em = bounded(Math.min(room.width / across, room.height / down), 11.5, 30);
  const pen = new Pen(context, inks, em);
  const inner = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  /** @type {Hot[]} */
  const hot = [];
  const numbers = data.head && weightNumbers({ ...data, head: data.head }, data.row, data.key);
  const pair = { need: data.isKnown === false ? 4.4 : 2.6, grows: 0, rank: 4, draw: (/** @type {Rectangle} */ box) => drawPair(pen, box, data) };
  const made = numbers ? productParts(pen, data, numbers) : [pair];
  const softmax = { need: 10.5, grows: 4, rank: 5, draw: (/** @type {Rectangle} */ box) => hot.push(...drawSoftmax(pen, box, data, numbers)) };
  const used = [softmax, ...(numbers ? valueParts(pen, numbers) : [])];
  if (beside && numbers) {
    const width = (inner.width - 3 * em) / 2;
    drawStacked(pen, rectangle(inner.left, inner.top, width, inner.height), made);
    drawStacked(pen, rectangle(inner.right - width, inner.top, width, inner.height), used);
  } else drawStacked(pen, inner, [...made, ...used]);
  return hot;
}

/** Parts below each other, which share the height that is left; where it is too little, those of the lowest rank are left out.
 * @type {(pen: Pen, box: Rectangle, parts: Part[]) => void} */
function drawStacked({ em }, box, parts) {
  let shown = parts;
  const needed = () => shown.reduce((sum, { need }) => sum + need * em, 0);
  while (shown.length > 1 && needed() * LEAST_SQUEEZED > box.height) {
    const least = Math.min(...shown.map(({ rank }) => rank));
    shown = shown.filter(({ rank }) => rank > least);
  }
  const squeezed = Math.min(1, box.height / needed());
  const grows = shown.reduce((sum, part) => sum + part.grows, 0);
  const more = grows ? Math.min(4 * em, Math.max(0, box.height - needed()) / grows) : 0;
  let { top } = box;
  for (const { need, grows: times, draw } of shown) {
    const height = need * em * squeezed + more * times;
    draw(rectangle(box.left, top, box.width, height));
    top += height;
  }
}

/** A heading with what it means at the right; returns the room below.
 * @type {(pen: Pen, box: Rectangle, text: string, aside: string, color?: string) => Rectangle} */
function drawHeading(pen, box, text, aside, color = pen.theme.text) {
  const { em, theme } = pen;
  const y = box.top + 0.7 * em;
  const small = Math.max(11, 0.78 * em);
  const width = aside ? pen.write(aside, box.right, y, { size: small, color: theme.muted, align: "right", width: 0.5 * box.width }) : 0;
  pen.write(text, box.left, y, { size: 1.12 * em, weight: 700, color, width: box.width - width - 0.5 * em });
  return rectangle(box.left, box.top + 1.6 * em, box.width, box.height - 2.3 * em);
}

/** @type {(pen: Pen, box: Rectangle, data: WeightData) => void} */
function drawPair(pen, box, { queries, keys, row, key, isKnown = true }) {
  const below = drawHeading(pen, box, tr("“{query}” and “{key}”", { query: queries[row], key: keys[key] }), "");
  if (!isKnown) pen.lines(tr("Only its weights are known here, not the queries and keys that make them."), below, { color: pen.theme.muted });
}

/** From the two vectors to the score. @type {(pen: Pen, data: WeightData, numbers: WeightNumbers) => Part[]} */
function productParts(pen, { queries, keys, row, key }, numbers) {
  const { theme } = pen;
  const n = numbers.query.length;
  const limit = Math.max(mostOf(numbers.query), mostOf(numbers.key));
  const largest = leadingPlaces(numbers.products.map(Math.abs), 1)[0];
  const plain = numbers.divisor !== null;
  // The largest product, and the two numbers that it is made of.
  /** @type {(box: Rectangle) => void} */
  const band = ({ left, top, width, height }) => {
    if (plain && n > 1) pen.fill(rectangle(left + (largest * width) / n, top, width / n, height), sheer(theme.hatch, 0.28));
  };
  /** @type {(text: string, aside: string, values: ArrayLike<number>, color: string) => Part} */
  const vector = (text, aside, values, color) => ({
    need: 4.7,
    grows: 1,
    rank: 3,
    draw: (box) => {
      const below = drawHeading(pen, box, text, aside, color);
      band(below);
      pen.bars(values, below, { color, limit });
    },
  });
  const parts = [
    vector(tr("“{token}” asks", { token: queries[row] }), tr("query · {n} numbers", { n }, "query · {n} number"), numbers.query, theme.now),
    vector(tr("“{token}” offers", { token: keys[key] }), tr("key · {n} numbers", { n }, "key · {n} number"), numbers.key, theme.accent),
  ];
  if (plain) {
    parts.push({
      need: 4.7,
      grows: 1,
      rank: 2,
      draw: (box) => {
        const below = drawHeading(pen, box, tr("multiplied, one by one"), "");
        band(below);
        pen.bars(numbers.products, below, { color: theme.heads[2], below: theme.hatch });
      },
    });
  }
  return [...parts, { need: 4.4, grows: 0, rank: 4, draw: (box) => drawScore(pen, box, numbers) }];
}

/** What the products add up to, and the score. @type {(pen: Pen, box: Rectangle, numbers: WeightNumbers) => void} */
function drawScore(pen, box, { printed, score: found }) {
  const { em, theme } = pen;
  const [one, two] = [box.top + 0.8 * em, box.top + 2.6 * em];
  if (!printed) {
    pen.write(tr("not a plain product of the two"), box.left, one, { width: box.width, color: theme.muted });
    const width = pen.write(tr("score"), box.left, two, { color: theme.muted });
    pen.write(numberText(found), box.left + width + 0.6 * em, two, { size: 1.7 * em, weight: 700 });
    return;
  }
  const left = box.left + pen.write(tr("they add up:"), box.left, one, { color: theme.muted, width: 0.4 * box.width }) + 0.5 * em;
  pen.write(printed.sum, left, one, { width: box.right - left });
  const [before, after] = printed.quotient ? splitLast(printed.quotient) : [tr("not scaled; the score is"), numberText(found)];
  const width = pen.write(before, box.left, two, { size: 1.15 * em, width: 0.75 * box.width });
  pen.write(after, box.left + width + 0.4 * em, two, { size: 1.7 * em, weight: 700 });
}

/** An equation, and what is behind its sign. @type {(text: string) => [string, string]} */
function splitLast(text) {
  const place = text.lastIndexOf(" ");
  return [text.slice(0, place), text.slice(place + 1)];
}

/** What is said of the row above its bars.
 * @type {(data: WeightData, numbers: WeightNumbers | null, seen: boolean[]) => [text: string, warns: boolean]} */
function rowHeading({ key }, numbers, seen) {
  if (!seen.some(Boolean)) return [tr("All masked: every weight is 0"), true];
  if (!seen[key]) return [tr("The mask forbids it: its weight is 0"), true];
  if (numbers && !numbers.complete) return [tr("Weights (no plain softmax)"), false];
  return [numbers ? tr("Softmax: against every other token") : tr("Weights of this row"), false];
}

/** Scores above the tokens, the weights that they become below.
 * @type {(pen: Pen, box: Rectangle, data: WeightData, numbers: WeightNumbers | null) => Hot[]} */
function drawSoftmax(pen, box, data, numbers) {
  const { keys, key, row } = data;
  const { weights, seen } = exactRow(data, row);
  const [text, warns] = rowHeading(data, numbers, seen);
  const below = drawHeading(pen, box, text, "", warns ? pen.theme.now : pen.theme.text);
  const size = Math.max(11, 0.92 * pen.em);
  const most = bounded(Math.floor(below.width / (2.6 * size)), 2, MOST_SCORES);
  const ranked = numbers ? Array.from(numbers.scores, (score, place) => (seen[place] ? score : -Infinity)) : weights;
  const shown = leadingPlaces(ranked, keys.length > most ? most - 1 : most, key);
  /** @type {ScoreColumn[]} */
  const columns = shown.map((place) => ({
    text: keys[place],
    score: numbers && seen[place] ? numbers.scores[place] : null,
    weight: weights[place],
    seen: seen[place],
    lit: place === key,
  }));
  if (shown.length < keys.length) {
    const weight = weights.reduce((sum, each, place) => sum + (shown.includes(place) ? 0 : each), 0);
    columns.push({ text: tr("{n} more", { n: keys.length - shown.length }), score: null, weight, seen: true, lit: false });
  }
  const wide = below.width / columns.length;
  const longest = Math.max(...columns.map(({ text, lit }) => pen.wide(text, size, lit ? 700 : 400)));
  const slanted = longest > 1.2 * wide - 0.2 * size;
  const labels = slanted ? Math.min(longest, 6 * size) * Math.SQRT1_2 + 0.8 * size : 1.5 * size;
  const bars = below.height - labels - 3.2 * size;
  const up = numbers ? bars * 0.6 : 0;
  const base = below.top + (numbers ? 1.1 * size : 0) + up;
  const scores = columns.flatMap(({ score }) => (score === null ? [] : [score]));
  const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)];
  const layout = { wide, size, slanted, base, up, labels, down: bars - up, low, span: high - low || 1 };
  pen.rule(below.left, base, below.right);
  columns.forEach((column, place) => drawColumn(pen, below.left + place * wide, layout, column));
  return shown.map((place, column) => ({
    ...rectangle(below.left + column * wide, below.top, wide, below.height),
    act: { at: "weight", query: row, key: place },
    label: tr("The weight of “{token}”: {weight}", { token: keys[place], weight: weightText(weights[place]) }),
  }));
}

/** One key: its score as a bar upwards, its token, its weight as a bar downwards; a masked one is hatched.
 * @type {(pen: Pen, left: number, layout: ScoreLayout, column: ScoreColumn) => void} */
function drawColumn(pen, left, { wide, size, slanted, base, up, labels, down, low, span }, { text, score, weight, seen, lit }) {
  const { theme } = pen;
  const thick = bounded(0.62 * wide, 3, 3.2 * pen.em);
  const [middle, color] = [left + wide / 2, lit ? theme.accent : pen.pale];
  const bar = (/** @type {number} */ top, /** @type {number} */ tall) => rectangle(middle - thick / 2, top, thick, tall);
  const style = { size, weight: lit ? 700 : 400, align: /** @type {const} */ ("center") };
  if (score !== null) {
    const tall = up * (0.06 + (0.94 * (score - low)) / span);
    pen.fill(bar(base - tall, tall), color);
    const shown = { ...style, size: lit ? size : 0.85 * size, color: lit ? theme.text : theme.muted };
    pen.write(lit ? numberText(score) : signed(score, 1), middle, base - tall - 0.65 * size, shown);
  }
  const hatched = Math.max(0.8 * size, 0.25 * up);
  if (!seen) pen.hatch(bar(base - hatched, hatched));
  const named = { ...style, color: lit ? theme.accent : seen ? theme.text : theme.muted };
  if (slanted) pen.climb(text, middle + 0.3 * size, base + 0.6 * size, { ...named, align: "right", width: 6 * size });
  else pen.write(text, middle, base + 0.85 * size, { ...named, width: 1.2 * wide });
  const [top, tall] = [base + labels, Math.max(lit ? 2 : 1, down * weight)];
  pen.fill(bar(top, tall), color);
  const printed = { ...style, size: (lit ? 1.45 : 0.9) * size, color: lit ? theme.accent : theme.muted };
  pen.write(weightText(weight), middle, top + tall + (lit ? 0.95 : 0.8) * size, printed);
}

/** What the weight is for: its share of the value, and the sum over all keys. @type {(pen: Pen, numbers: WeightNumbers) => Part[]} */
function valueParts(pen, { value, mix, weight }) {
  const { theme } = pen;
  const limit = Math.max(mostOf(value), mostOf(mix));
  const n = value.length;
  return [
    {
      need: 4.7,
      grows: 1,
      rank: 1,
      draw: (box) => {
        const aside = tr("value · {n} numbers", { n }, "value · {n} number");
        const below = drawHeading(pen, box, tr("its value × {weight}", { weight: weightText(weight) }), aside);
        pen.bars(value, below, { color: sheer(theme.accent, 0.25), limit });
        pen.bars(Float32Array.from(value, (each) => each * weight), below, { color: theme.accent, limit });
      },
    },
    {
      need: 4.7,
      grows: 1,
      rank: 0,
      draw: (box) => pen.bars(mix, drawHeading(pen, box, tr("all values together: what the head passes on"), ""), { color: theme.now, limit }),
    },
  ];
}
