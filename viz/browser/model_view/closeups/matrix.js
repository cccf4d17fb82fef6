// A head's matrix, close up: its tokens, its numbers, and the lit row and column. Its cells are painted by the caller.

import constants from "../../../draw/constants.json" with { type: "json" };
import { rectangle } from "../../canvas/geometry.js";
import { signed } from "../../canvas/numbers.js";
import { STRONG } from "../../canvas/paint.js";
import { tr } from "../../canvas/wording.js";
import { exactRow } from "./numbers.js";
import { Pen, bounded, labelHasRoom, sheer } from "./pen.js";
import { drawLegend } from "./stripes.js";

const LEAST_NUMBERED = 26;
const LONGEST_TOKEN = 9;
/** In pixels, the smallest type of what is said of a masked cell. */
const LEAST_SAID = 8;

/** Labels around the rectangle of a head's cells, and numbers in them.
 * @type {(context: Context, room: Rectangle, data: MatrixData, inks: Inks) => Hot[]} */
export function paintMatrix(context, room, data, inks) {
  const { queries, keys, palette } = data;
  const [wide, high] = [room.width / keys.length, room.height / queries.length];
  const pen = new Pen(context, inks, data.em ?? bounded(Math.min(room.width, room.height) / 17, 12, 26));
  const numbered = wide >= LEAST_NUMBERED && high >= 14 && data.alphaNumbers > 0;
  context.save();
  context.globalAlpha *= data.alphaNumbers;
  if (numbered) drawNumbers(pen, room, data, palette);
  context.restore();
  drawLit(pen, room, data);
  const at = labelling(pen, room, data, wide, high);
  drawKeys(pen, room, data, wide, at);
  const hot = drawQueries(pen, room, data, high, at);
  if (at.top > room.top || at.left > room.left) return hot;
  return [...hot, ...drawTitles(pen, room, data, at)];
}

/** Where tokens are written, and how large: beside the matrix, or at the edge of the window where that begins outside of it.
 * @type {(pen: Pen, room: Rectangle, data: Pick<MatrixData, "queries" | "keys" | "within">, wide: number, high: number) => Labelling} */
function labelling(pen, room, { queries, keys, within }, wide, high) {
  const { em } = pen;
  const [across, down] = [bounded(wide * 0.5, pen.least, em), bounded(high * 0.62, pen.least, em)];
  const longest = Math.max(0, ...keys.map((text) => pen.wide(text, across)));
  const level = longest <= wide - 0.3 * across;
  const above = level ? 1.8 * across : Math.min(longest, LONGEST_TOKEN * across) * Math.SQRT1_2 + 1.3 * across;
  const widest = Math.max(0, ...queries.map((text) => pen.wide(text, down)));
  const before = Math.min(widest, LONGEST_TOKEN * down) + 0.6 * down;
  // What the longest token lacks by a letter is no edge.
  const edge = (/** @type {number} */ start, /** @type {number} */ least) => (least - start > em ? least : start);
  const [left, top] = within ? [edge(room.left, within.left + before), edge(room.top, within.top + above)] : [room.left, room.top];
  return { left, top, right: Math.min(room.right, within?.right ?? Infinity), bottom: Math.min(room.bottom, within?.bottom ?? Infinity), across, down, level, above, before };
}

/** Whether there is room to name every row and column.
 * @type {(context: Context, room: Rectangle, data: { queries: string[]; keys: string[]; em: number }, inks: Inks) => boolean} */
export function namesAll(context, room, { queries, keys, em }, inks) {
  const [wide, high] = [room.width / keys.length, room.height / queries.length];
  const at = labelling(new Pen(context, inks, em), room, { queries, keys }, wide, high);
  return everyKey(at, wide) === 1 && everyQuery(at, high) === 1;
}

/** Each how many-th column is named. @type {(at: Pick<Labelling, "across" | "level">, wide: number) => number} */
const everyKey = ({ across, level }, wide) => (level ? 1 : Math.max(1, Math.ceil((1.15 * across) / wide)));

/** Each how many-th row is named. @type {(at: Pick<Labelling, "down">, high: number) => number} */
const everyQuery = ({ down }, high) => Math.max(1, Math.ceil((1.05 * down) / high));

/** @type {(pen: Pen, room: Rectangle, data: MatrixData, palette: Palette) => void} */
function drawNumbers(pen, room, data, palette) {
  const { queries, keys, row } = data;
  const [wide, high] = [room.width / keys.length, room.height / queries.length];
  const size = bounded(Math.min(wide * 0.36, high * 0.5), 9, 1.2 * pen.em);
  queries.slice(0, data.rows).forEach((_, query) => {
    if (!pen.isSeen(rectangle(room.left, room.top + query * high, room.width, high))) return;
    const { weights, seen } = exactRow(data, query);
    const style = { size, align: /** @type {const} */ ("center"), weight: query === row || size > 18 ? 700 : 400 };
    weights.forEach((weight, key) => {
      if (weight < constants.LEAST_NUMBER || !seen[key]) return;
      const cell = rectangle(room.left + key * wide, room.top + query * high, wide, high);
      if (!pen.isSeen(cell)) return;
      const step = palette.stepOf(255 * weight);
      const [text, x, y] = [signed(weight, 2), cell.left + wide / 2, cell.top + high / 2];
      // On mid-tones, neither black nor white has a stage's contrast without a plate.
      const isPlated = Boolean(data.isStage) && palette.contrast(step) < STRONG;
      const plate = pen.wide(text, size, style.weight) + 0.6 * size;
      if (isPlated) pen.fill(rectangle(x - plate / 2, y - 0.6 * size, plate, 1.2 * size), pen.theme.ground, size / 4);
      pen.write(text, x, y, { ...style, color: isPlated ? pen.theme.text : palette.ink(step) });
    });
  });
}

/** Frames around the lit row and column, bands over words that are pointed at elsewhere, and what is said of a cell that is masked.
 * @type {(pen: Pen, room: Rectangle, data: MatrixData) => void} */
function drawLit(pen, room, { queries, keys, allowed, row, key, words }) {
  const [wide, high] = [room.width / keys.length, room.height / queries.length];
  const thick = bounded(pen.em / 7, 1.5, 4);
  const { now, ground } = pen.theme;
  for (const query of words?.queries ?? []) pen.fill(rectangle(room.left, room.top + query * high, room.width, Math.max(high, 1.5)), sheer(now, 0.3));
  for (const place of words?.keys ?? []) pen.fill(rectangle(room.left + place * wide, room.top, Math.max(wide, 1.5), room.height), sheer(now, 0.3));
  const across = rectangle(room.left, room.top + row * high, room.width, high);
  const down = rectangle(room.left + key * wide, room.top, wide, room.height);
  if (key >= 0) pen.frame(down, now, row >= 0 ? thick / 2 : thick);
  if (row >= 0) pen.frame(across, now, thick);
  if (row < 0 || key < 0 || allowed === null || allowed[row * keys.length + key]) return;
  const text = tr("not allowed");
  const usual = bounded(pen.em * 0.8, 12, 20);
  // Over masked cells alone: it hides no number.
  const isOpen = (/** @type {number} */ place) => place < 0 || place >= keys.length || Boolean(allowed[row * keys.length + place]);
  let [from, to] = [key, key + 1];
  while (!isOpen(from - 1)) from--;
  while (!isOpen(to)) to++;
  const free = (to - from) * wide;
  const size = Math.min(usual, (usual * free) / (pen.wide(text, usual, 600) + usual));
  if (size < LEAST_SAID) return;
  const width = pen.wide(text, size, 600) + size;
  const left = bounded(down.left + (wide - width) / 2, room.left + from * wide, room.left + to * wide - width);
  pen.fill(rectangle(left, across.top + high / 2 - 0.8 * size, width, 1.6 * size), ground, size / 3);
  pen.write(text, left + width / 2, across.top + high / 2, { size, weight: 600, align: "center", color: now });
}

/** The keys above. @type {(pen: Pen, room: Rectangle, data: MatrixData, wide: number, at: Labelling) => void} */
function drawKeys(pen, room, { keys, key }, wide, { left, top, right, across: size, level, above }) {
  const { theme } = pen;
  // To the window's edge, which lies a little beyond where something is written.
  if (top > room.top) pen.fill(rectangle(left, top - above - pen.em, right - left + pen.em, above + pen.em), theme.ground);
  const every = everyKey({ across: size, level }, wide);
  keys.forEach((text, place) => {
    const is = place === key;
    const x = room.left + (place + 0.5) * wide;
    if (x < left || x > right || !labelHasRoom(place, every, key)) return;
    const style = { size, weight: is ? 700 : 400, color: is ? theme.now : theme.text };
    if (level) pen.write(text, x, top - 0.9 * size, { ...style, align: "center" });
    else pen.climb(text, x, top - 0.6 * size, { ...style, width: LONGEST_TOKEN * size });
  });
}

/** What is above and beside the tokens, within `data.within`. @type {(pen: Pen, room: Rectangle, data: MatrixData, at: Labelling) => Hot[]} */
function drawTitles(pen, room, { label, tendency = "", compared = [], isStage, keyTitle, queryTitle, within = room }, { above, before }) {
  const { em, theme } = pen;
  const small = bounded(0.72 * em, 11, 20);
  let y = room.top - above - 0.6 * small;
  // What is longer than the matrix begins before it.
  const fitted = (/** @type {string} */ text, /** @type {number} */ size, /** @type {number} */ weight) => {
    const left = Math.max(within.left, Math.min(room.left, within.right - pen.wide(text, size, weight)));
    return { left, width: within.right - left };
  };
  if (keyTitle) {
    const { left, width } = fitted(keyTitle, small, 400);
    pen.write(keyTitle, left, y, { size: small, color: theme.muted, width });
  }
  y -= 1.1 * small + 0.4 * em;
  if (label) {
    const { left, width } = fitted(label, 1.15 * em, 650);
    pen.write(label, left, y, { size: 1.15 * em, weight: 650, width });
  } else if (tendency) {
    const size = bounded(0.85 * em, 11, 22);
    const { left, width } = fitted(tendency, size, 400);
    const high = 1.5 * size * pen.folded(tendency, width, size).length;
    pen.lines(tendency, rectangle(left, y + 0.8 * size - high, width, high), { size, color: theme.muted });
  }
  const box = { left: room.left, bottom: y + 0.6 * em, width: within.right - room.left };
  const hot = drawLegend(pen, box, { compared, isStage });
  if (!queryTitle) return hot;
  const { context } = pen;
  context.save();
  context.translate(room.left - before - small, room.top);
  context.rotate(-Math.PI / 2);
  pen.write(queryTitle, 0, 0, { size: small, color: theme.muted, align: "right" });
  context.restore();
  return hot;
}

/** The queries at the left, and what comes next at the right.
 * @type {(pen: Pen, room: Rectangle, data: MatrixData, high: number, at: Labelling) => Hot[]} */
function drawQueries(pen, room, { queries, beside, row }, high, { left, top, bottom, down: size, above, before }) {
  const { theme } = pen;
  const isAtEdge = left > room.left;
  if (isAtEdge) pen.fill(rectangle(left - before - pen.em, top - above - pen.em, before + pen.em, bottom - top + above + 2 * pen.em), theme.ground);
  const every = everyQuery({ down: size }, high);
  /** @type {Hot[]} */
  const hot = [];
  queries.forEach((text, query) => {
    const is = query === row;
    const y = room.top + (query + 0.5) * high;
    if (y < top || y > bottom || !labelHasRoom(query, every, row)) return;
    const style = { size, weight: is ? 700 : 400, width: LONGEST_TOKEN * size };
    const width = pen.write(text, left - 0.6 * size, y, { ...style, align: "right", color: is ? theme.now : theme.text });
    const tall = Math.max(high, size);
    const at = rectangle(left - 0.6 * size - width, y - tall / 2, width, tall);
    hot.push({ ...at, act: { at: "row", query }, label: tr("The row of “{token}”", { token: text }) });
    const next = { ...style, size: 0.9 * size, color: is ? theme.now : theme.accent };
    if (beside?.[query]) pen.write(`→ ${beside[query]}`, room.right + 0.6 * size, y, next);
  });
  return hot;
}
