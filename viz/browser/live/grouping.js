// Words made of tokens (model/trace/word_grouping.py), and weights between words.

import constants from "../../draw/constants.json" with { type: "json" };
import { charactersOf } from "../engine/utf8.js";
import { WORD_START, plainLabel } from "./labels.js";

/** Whether a token is no part of the text. @type {(token: string) => boolean} */
export function isSpecial(token) {
  return token === "<s>" || token === "</s>" || token === "<pad>";
}

/** Whether a token is all punctuation. @type {(token: string) => boolean} */
export function isPunctuation(token) {
  return /^▁?\p{P}+$/u.test(token);
}

/** The tokens of each word as [first, end). @type {(tokens: string[]) => TokenSpan[]} */
export function wordSpans(tokens) {
  /** @type {TokenSpan[]} */
  const spans = [];
  let first = 0;
  for (let place = 1; place <= tokens.length; place += 1) {
    const parted =
      place === tokens.length || isSpecial(tokens[place]) || isSpecial(tokens[place - 1]) || tokens[place].startsWith(WORD_START);
    if (!parted) continue;
    spans.push(...partsOf(tokens, first, place));
    first = place;
  }
  return spans;
}

/** The words between two spaces: each punctuation mark before the word, the word, each after.
 * @type {(tokens: string[], first: number, end: number) => TokenSpan[]} */
function partsOf(tokens, first, end) {
  let cuts = Array.from({ length: end - first + 1 }, (_, place) => first + place);
  if (end - first > 1 && tokens[first] === WORD_START) cuts.splice(1, 1);
  const marks = cuts.slice(1).map((right) => isPunctuation(tokens[right - 1]));
  if (!marks.every(Boolean)) {
    const [before, last] = [marks.indexOf(false), marks.lastIndexOf(false)];
    cuts = [...cuts.slice(0, before + 1), ...cuts.slice(last + 1)];
  }
  return cuts.slice(1).map((right, place) => [cuts[place], right]);
}

/** The words of a text as the picture of the model shows them: {text, tokens, first, joins, special}.
 * @type {(tokens: string[]) => TextWord[]} */
export function wordsOfText(tokens) {
  let spans = wordSpans(tokens);
  if (spans.length * constants.LETTERS <= addedBy(tokens).filter(Boolean).length) spans = tokens.map((_, place) => [place, place + 1]);
  return spans.map(([first, end]) => {
    const texts = tokens.slice(first, end);
    const added = addedBy(texts);
    const alone = isSpecial(texts[0]) || (first > 0 && isSpecial(tokens[first - 1])) || texts[0].startsWith(WORD_START);
    return {
      text: bare(added.join("")),
      // The space before a word that begins with a token of its own is drawn once.
      tokens: added.map((text) => (["", WORD_START].includes(text) && texts.length > 1 ? "" : bare(text))),
      first,
      joins: first > 0 && !alone,
      special: isSpecial(texts[0]),
    };
  });
}

/** The text of neighbouring tokens, whose bytes become characters; bytes that are none stay.
 * @type {(tokens: string[]) => string} */
export function textOfTokens(tokens) {
  return addedBy(tokens).join("");
}

/** What each of neighbouring tokens adds to their text: a character is its last byte's. @type {(tokens: string[]) => string[]} */
function addedBy(tokens) {
  const values = tokens.map((token) => /^<0x([0-9A-F]{2})>$/.exec(token)?.[1]);
  const added = tokens.map((token, place) => (values[place] ? "" : token));
  for (let place = 0; place < tokens.length; place += 1) {
    const end = values.indexOf(undefined, place);
    const bytes = Uint8Array.from(values.slice(place, end < 0 ? undefined : end), (value) => parseInt(value ?? "", 16));
    for (const [text, size] of charactersOf(bytes, (byte) => `<0x${byte.toString(16).toUpperCase()}>`)) {
      place += size;
      added[place - 1] = text;
    }
  }
  return added;
}

/** @type {(token: string) => string} */
function bare(token) {
  return token === WORD_START ? "\u00a0" : plainLabel(token.replaceAll(WORD_START, ""));
}

/** Weights (query, key) summed over a word's keys and averaged over its rows, (written word, read word).
 * @type {(rows: WeightRows, written: TextWord[], read: TextWord[], later: number) => Numbers} */
export function wordWeights({ weights, queries, keys }, written, read, later) {
  const all = new Float32Array(written.length * read.length);
  written.forEach(({ first, tokens }, place) => {
    const [from, to] = [first + later, Math.min(first + tokens.length + later, queries)];
    read.forEach((key, other) => {
      let sum = 0;
      for (let row = from; row < to; row += 1) {
        for (let cell = key.first; cell < key.first + key.tokens.length; cell += 1) sum += weights[row * keys + cell];
      }
      if (to > from) all[place * read.length + other] = sum / (to - from);
    });
  });
  return all;
}

/** One head's weights, or the mean over all heads of several maps of one shape, (query, key).
 * @type {(maps: WeightRows[]) => WeightRows & { heads: number }} */
export function meanWeights(maps) {
  const [{ queries, keys }] = maps;
  const size = queries * keys;
  const mean = new Float64Array(size);
  let heads = 0;
  for (const { weights } of maps) {
    heads += weights.length / size;
    for (let i = 0; i < weights.length; i += 1) mean[i % size] += weights[i];
  }
  return { weights: Float32Array.from(mean, (sum) => sum / heads), queries, keys, heads };
}
