// The arithmetic of one weight: query, key, their products and sum, the softmax over the row, and the value that is passed on.

import { signed } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { numberText, weightsOfRow, seenBy, strongest, weightNumbers, weightText } from "./numbers.js";
import { Pen, bounded, mostOf, rectangle, sheer } from "./pen.js";

const MOST_SCORES = 12;
// Below this many pixels a step of the arithmetic says nothing; the last steps go first.
const LEAST_SQUEEZED = 0.85;

/** @typedef {{ need: number; grows: number; draw: (box: Rectangle) => void }} Part */

/** How one weight comes about. @type {(context: Context, room: Rectangle, data: WeightData, inks: Inks) => Hot[]} */
export function paintWeight(context, room, data, inks) {
  const beside = room.width >= 640 && room.width > 1.15 * room.height;
  const em = beside ? bounded(Math.min(room.width / 52, room.height / 25), 12, 30) : bounded(Math.min(room.width / 27, room.height / 44), 11.5, 26);
  const pen = new Pen(context, inks, em);
  const inner = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  /** @type {Hot[]} */
  const hot = [];
  const numbers = data.head && weightNumbers(data.head, data.weights, data.allowed, data.row, data.key);
  const made = numbers ? productParts(pen, data, numbers) : [{ need: 2.6, grows: 0, draw: (/** @type {Rectangle} */ box) => drawPair(pen, box, data) }];
  const used = [{ need: 10.5, grows: 4, draw: (/** @type {Rectangle} */ box) => hot.push(...drawSoftmax(pen, box, data, numbers)) }, ...(numbers ? valueParts(pen, numbers) : [])];
  if (beside && numbers) {
    const width = (inner.width - 3 * em) / 2;
    drawStacked(pen, rectangle(inner.left, inner.top, width, inner.height), made);
    drawStacked(pen, rectangle(inner.right - width, inner.top, width, inner.height), used);
  } else drawStacked(pen, inner, [...made, ...used]);
  return hot;
}

/** Parts below each other, which share the height that is left. @type {(pen: Pen, box: Rectangle, parts: Part[]) => void} */
function drawStacked({ em }, box, parts) {
  const shown = [...parts];
  const needed = () => shown.reduce((sum, { need }) => sum + need * em, 0);
  while (shown.length > 1 && needed() * LEAST_SQUEEZED > box.height) shown.pop();
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

/** A heading with what it means at the right; returns the room below. @type {(pen: Pen, box: Rectangle, text: string, aside: string, color?: string) => Rectangle} */
function drawHeading(pen, box, text, aside, color = pen.theme.text) {
  const { em, theme } = pen;
  const y = box.top + 0.7 * em;
  const small = Math.max(11, 0.78 * em);
  const width = aside ? pen.write(aside, box.right, y, { size: small, color: theme.muted, align: "right", width: 0.5 * box.width }) : 0;
  pen.write(text, box.left, y, { size: 1.12 * em, weight: 700, color, width: box.width - width - 0.5 * em });
  return rectangle(box.left, box.top + 1.6 * em, box.width, box.height - 2.3 * em);
}

/** @type {(pen: Pen, box: Rectangle, data: WeightData) => void} */
function drawPair(pen, box, { queries, keys, row, key }) {
  drawHeading(pen, box, tr("“{query}” and “{key}”", { query: queries[row], key: keys[key] }), "");
}

/** From the two vectors to the score. @type {(pen: Pen, data: WeightData, numbers: WeightNumbers) => Part[]} */
function productParts(pen, { queries, keys, row, key }, numbers) {
  const { theme } = pen;
  const n = numbers.query.length;
  const limit = Math.max(mostOf(numbers.query), mostOf(numbers.key));
  const largest = strongest(numbers.products.map(Math.abs), 1)[0];
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
      draw: (box) => {
        const below = drawHeading(pen, box, tr("multiplied, one by one"), "");
        band(below);
        pen.bars(numbers.products, below, { color: theme.heads[2], below: theme.hatch });
      },
    });
  }
  return [...parts, { need: 4.4, grows: 0, draw: (box) => drawScore(pen, box, numbers) }];
}

/** What the products add up to, and the score. @type {(pen: Pen, box: Rectangle, numbers: WeightNumbers) => void} */
function drawScore(pen, box, { printed, score: found }) {
  const { em, theme } = pen;
  const [one, two] = [box.top + 0.8 * em, box.top + 2.6 * em];
  if (!printed) {
    pen.write(tr("scored in another way, not by products"), box.left, one, { width: box.width, color: theme.muted });
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

/** What is said of the row above its bars. @type {(data: WeightData, numbers: WeightNumbers | null, seen: boolean[]) => [text: string, warns: boolean]} */
function rowHeading({ key }, numbers, seen) {
  if (!seen.some(Boolean)) return [tr("All masked: every weight is 0"), true];
  if (!seen[key]) return [tr("The mask forbids it: its weight is 0"), true];
  if (numbers && !numbers.complete) return [tr("Weights (no plain softmax)"), false];
  return [numbers ? tr("Softmax: against every other token") : tr("Weights of this row"), false];
}

/** Scores above the tokens, the weights that they become below. @type {(pen: Pen, box: Rectangle, data: WeightData, numbers: WeightNumbers | null) => Hot[]} */
function drawSoftmax(pen, box, data, numbers) {
  const { em, theme } = pen;
  const { keys, key, weights, allowed } = data;
  const seen = seenBy(allowed, data.row, keys.length);
  const shares = numbers?.weights ?? weightsOfRow(weights, data.row, keys.length);
  const [text, warns] = rowHeading(data, numbers, seen);
  const below = drawHeading(pen, box, text, "", warns ? theme.now : theme.text);
  const size = Math.max(11, 0.92 * em);
  const most = bounded(Math.floor(below.width / (2.6 * size)), 2, MOST_SCORES);
  const sizes = numbers ? Array.from(numbers.scores, (value, place) => (seen[place] ? value : -1e30)) : Array.from(shares);
  const shown = strongest(sizes, keys.length > most ? most - 1 : most, key);
  const rest = keys.length - shown.length;
  const wide = below.width / (shown.length + (rest ? 1 : 0));
  const slanted = shown.some((place) => pen.wide(keys[place], size, 600) > 1.2 * wide - 0.2 * size);
  const longest = Math.min(6 * size, Math.max(...shown.map((place) => pen.wide(keys[place], size, place === key ? 700 : 400))));
  const labels = slanted ? longest * Math.SQRT1_2 + 0.8 * size : 1.5 * size;
  const bars = below.height - labels - 3.2 * size;
  const up = numbers ? bars * 0.6 : 0;
  const down = bars - up;
  const base = below.top + (numbers ? 1.1 * size : 0) + up;
  const scores = shown.filter((place) => seen[place]).map((place) => sizes[place]);
  const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)];
  const level = (/** @type {number} */ value) => 0.06 + 0.94 * ((value - low) / (high - low || 1));
  pen.rule(below.left, base, below.right);
  const top = base + labels;
  const thick = bounded(wide * 0.62, 3, 3.2 * em);
  /** @type {(left: number, share: number, is: boolean) => void} */
  const share = (left, weight, is) => {
    const tall = Math.max(is ? 2 : 1, down * weight);
    pen.fill(rectangle(left + (wide - thick) / 2, top, thick, tall), is ? theme.accent : pen.pale);
    pen.write(weightText(weight), left + wide / 2, top + tall + (is ? 0.95 : 0.8) * size, { size: is ? 1.45 * size : 0.9 * size, weight: is ? 700 : 400, align: "center", color: is ? theme.accent : theme.muted });
  };
  shown.forEach((place, column) => {
    const [left, is] = [below.left + column * wide, place === key];
    const color = is ? theme.text : theme.muted;
    if (numbers && seen[place]) {
      const tall = up * level(sizes[place]);
      pen.fill(rectangle(left + (wide - thick) / 2, base - tall, thick, tall), is ? theme.accent : pen.pale);
      pen.write(is ? numberText(sizes[place]) : signed(sizes[place], 1), left + wide / 2, base - tall - 0.65 * size, { size: (is ? 1 : 0.85) * size, weight: is ? 700 : 400, align: "center", color });
    } else if (!seen[place]) pen.hatch(rectangle(left + (wide - thick) / 2, base - Math.max(0.8 * size, 0.25 * up), thick, Math.max(0.8 * size, 0.25 * up)));
    const style = { size, weight: is ? 700 : 400, color: is ? theme.accent : seen[place] ? theme.text : theme.muted };
    if (slanted) pen.climb(keys[place], left + wide / 2 + 0.3 * size, base + 0.6 * size, { ...style, align: "right", width: 6 * size });
    else pen.write(keys[place], left + wide / 2, base + 0.85 * size, { ...style, align: "center", width: 1.2 * wide });
    share(left, shares[place], is);
  });
  if (rest) {
    const left = below.left + shown.length * wide;
    const others = shares.reduce((sum, weight, place) => sum + (shown.includes(place) ? 0 : weight), 0);
    const more = tr("{n} more", { n: rest });
    if (slanted) pen.climb(more, left + wide / 2 + 0.3 * size, base + 0.6 * size, { size, align: "right", color: theme.muted });
    else pen.write(more, left + wide / 2, base + 0.85 * size, { size: 0.9 * size, align: "center", color: theme.muted, width: wide });
    share(left, others, false);
  }
  return shown.map((place, column) => ({
    ...rectangle(below.left + column * wide, below.top, wide, below.height),
    act: { at: "weight", query: data.row, key: place },
    label: tr("The weight of “{token}”: {weight}", { token: keys[place], weight: weightText(shares[place]) }),
  }));
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
      draw: (box) => {
        const below = drawHeading(pen, box, tr("its value × {weight}", { weight: weightText(weight) }), tr("value · {n} numbers", { n }, "value · {n} number"));
        pen.bars(value, below, { color: sheer(theme.accent, 0.25), limit });
        pen.bars(Float32Array.from(value, (each) => each * weight), below, { color: theme.accent, limit });
      },
    },
    {
      need: 4.7,
      grows: 1,
      draw: (box) => pen.bars(mix, drawHeading(pen, box, tr("all values together: what the head passes on"), ""), { color: theme.now, limit }),
    },
  ];
}
