// What one sentence's trace shows: masks, how heads look along their rows, waves, and jumps across the source.

import { weightAt } from "../../canvas/paint.js";
import { tr } from "../../canvas/wording.js";

const MARK = /^<\/?s>$|^<pad>$/;
const UNREADABLE = /^(?:<unk>|(?:<0x[0-9A-F]{2}>)+)$/;
const WORDLIKE = /[\p{L}\p{N}]/u;
// A head follows a pattern if so many of its rows put so much weight there, and there are so many rows.
const [MOSTLY, HALF, LEAST_ROWS] = [0.8, 0.5, 3];
// The rest of a row with more on one token is too little to show.
export const NEARLY_ALL = 0.99;

/** Whether a token is a mark that nobody typed. @type {(text: string) => boolean} */
export function isMark(text) {
  return MARK.test(text);
}

/** How well a token can be quoted: 2 for one that begins a word, 1 for the rest of one, 0 for marks, bytes and punctuation.
 * @type {(text: string) => number} */
export function quotable(text) {
  if (MARK.test(text) || UNREADABLE.test(text) || !WORDLIKE.test(text)) return 0;
  return text.startsWith("…") ? 1 : 2;
}

/** What the rows of a block's heads may look at: everything, only what came before ("causal"), or something else.
 * @type {(figure: Walked, block: FigureBlock) => "all" | "causal" | "other"} */
export function maskOf(figure, block) {
  const [mask, ...others] = new Set(headsIn(block).map(({ place, head }) => maskOfHead(figure.cells(block, place, head))));
  return others.length ? "other" : mask;
}

/** @type {(cells: Cells) => "all" | "causal" | "other"} */
function maskOfHead({ allowed, nQueries, nKeys }) {
  if (!allowed || allowed.every(Boolean)) return "all";
  const causal = nQueries === nKeys && allowed.every((bit, cell) => Boolean(bit) === cell % nKeys <= Math.floor(cell / nKeys));
  return causal ? "causal" : "other";
}

/** Every head of a block. @type {(block: FigureBlock) => HeadInBlock[]} */
export function headsIn(block) {
  return block.layers.flatMap((_, place) => Array.from({ length: block.heads }, (__, head) => ({ block, place, head })));
}

/** The weights of a row, 0 to 1. @type {(cells: Cells, query: number) => number[]} */
export function sharesOf(cells, query) {
  return Array.from({ length: cells.nKeys }, (_, key) => weightAt(cells, query * cells.nKeys + key));
}

/** The place of the largest number. @type {(numbers: number[]) => number} */
export function peak(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}

/** The key that each row looks at most, with its weight; in one pass, for texts of many tokens. @type {(cells: Cells) => { key: number; weight: number }[]} */
function peaksOf(cells) {
  const { weights, nQueries, nKeys } = cells;
  return Array.from({ length: nQueries }, (_, query) => {
    const start = query * nKeys;
    let best = start;
    for (let cell = start + 1; cell < start + nKeys; cell++) if (weights[cell] > weights[best]) best = cell;
    return { key: best - start, weight: weightAt(cells, best) };
  });
}

/** For each pattern the key that a row has to look at, or -1 for a row that cannot show it.
 * @type {Record<HeadPattern["pattern"], (query: number, tokens: string[]) => number>} */
const PATTERNS = {
  previous: (query) => query - 1,
  next: (query, tokens) => (query + 1 < tokens.length ? query + 1 : -1),
  same: (query) => query,
  end: (query, tokens) => (query + 1 < tokens.length && tokens.at(-1) === "</s>" ? tokens.length - 1 : -1),
  start: (query) => (query ? 0 : -1),
};

export const PATTERN_ORDER = /** @type {HeadPattern["pattern"][]} */ (Object.keys(PATTERNS));

/** How a head of self-attention looks along its rows, if most of them follow one pattern. @type {(cells: Cells, tokens: string[]) => HeadPattern | null} */
export function patternOf(cells, tokens) {
  const peaks = peaksOf(cells);
  for (const pattern of PATTERN_ORDER) {
    const keys = tokens.map((_, query) => PATTERNS[pattern](query, tokens));
    const able = tokens.map((_, query) => query).filter((query) => keys[query] >= 0);
    const holding = able.filter((query) => peaks[query].key === keys[query] && peaks[query].weight >= HALF);
    // The first row of a decoder sees itself alone, which tells nothing.
    const [telling, holds] = [able, holding].map((some) => some.filter((query) => query || pattern !== "same").length);
    if (telling < LEAST_ROWS || holds < MOSTLY * telling) continue;
    const weight = (/** @type {number} */ query) => peaks[query].weight;
    const worth = (/** @type {number} */ query) => 10 * (quotable(tokens[query]) + quotable(tokens[keys[query]])) + (weight(query) < NEARLY_ALL ? 1 : 0) + weight(query);
    const query = holding.reduce((one, other) => (worth(other) > worth(one) ? other : one));
    const mean = holding.reduce((sum, each) => sum + weight(each), 0) / holding.length;
    return { pattern, rows: holding.length, of: tokens.length, mean, query, key: keys[query] };
  }
  return null;
}

/** The strongest look of one token at another in some heads; null where each looks at itself alone.
 * @type {(figure: Walked, heads: HeadInBlock[], tokens: string[]) => (HeadInBlock & { query: number; key: number }) | null} */
export function strongestLook(figure, heads, tokens) {
  const named = tokens.map(quotable);
  let best = null;
  let most = 0;
  for (const each of heads) {
    const cells = figure.cells(each.block, each.place, each.head);
    peaksOf(cells).forEach(({ key, weight }, query) => {
      // Marks are named only where there is nothing else.
      const worth = weight * (1 + named[query]) * (1 + named[key]) * (tokens[query] === tokens[key] ? 0.5 : 1);
      if (key !== query && worth > most) [most, best] = [worth, { ...each, query, key }];
    });
  }
  return best;
}

/** Whether rows of positions are sine and cosine in pairs (Vaswani et al. 2017, section 3.5): their squares add up to 1.
 * @type {(positions: FigurePositions) => boolean} */
export function areWaves({ cells, dimensions, limit }) {
  const number = (/** @type {number} */ cell) => (cells[cell] / 127.5 - 1) * limit;
  const pairs = Array.from({ length: Math.floor(cells.length / 2) }, (_, pair) => [number(2 * pair), number(2 * pair + 1)]);
  return dimensions % 2 === 0 && pairs.length > 0 && pairs.every(([sine, cosine]) => Math.abs(sine ** 2 + cosine ** 2 - 1) < 0.05);
}

/** The head of cross-attention that tells most, and whether it looks once a word is written (1) or before (0).
 * @type {(figure: Walked, block: FigureBlock) => HeadInBlock & { later: number }} */
export function crossHead(figure, block) {
  const heads = headsIn(block);
  const { head: known } = figure;
  const measured = known && heads.find(({ place, head }) => known[0] === block.kind && block.layers[place] === known[1] && head === known[2]);
  if (measured) return { ...measured, later: figure.later };
  const labelled = (/** @type {string} */ label) => heads.find(({ place, head }) => block.labels[place]?.[head] === label);
  const before = labelled(tr("pairs the predicted token with its source"));
  if (before) return { ...before, later: 0 };
  const after = labelled(tr("pairs the token just read with its source"));
  if (after) return { ...after, later: figure.offset };
  const sharpness = heads.map(({ place, head }) => peaksOf(figure.cells(block, place, head)).reduce((sum, { weight }) => sum + weight, 0));
  const chosen = heads[peak(sharpness)];
  // Where tokens are copied, the rows that write them tell more than those that have read them.
  const copies = (/** @type {number} */ later) => looksOf(figure, { ...chosen, later }).filter(({ word, read }) => figure.written[word].text === figure.read[read].text).length;
  return { ...chosen, later: copies(0) > copies(figure.offset) ? 0 : figure.offset };
}

/** The source word that each written word's row looks at most, where so much of its weight goes there: by default, where it clearly does.
 * @type {(figure: Walked, head: HeadInBlock & { later: number }, least?: number) => Seen[]} */
export function looksOf(figure, { block, place, head, later }, least = HALF) {
  const cells = figure.cells(block, place, head);
  return figure.written.flatMap(({ first, tokens, special }, word) => {
    if (special) return [];
    // The row of its first token: where the word begins to be written, or has been.
    const rows = tokens.map((_, token) => first + token + later).filter((row) => row < cells.nQueries);
    const query = later ? rows.at(-1) : rows[0];
    if (query === undefined) return [];
    const row = sharesOf(cells, query);
    const key = peak(row);
    const read = figure.read.findIndex((each) => each.first <= key && key < each.first + each.tokens.length);
    return row[key] < least || read < 0 || figure.read[read].special ? [] : [{ word, read, query, key }];
  });
}
