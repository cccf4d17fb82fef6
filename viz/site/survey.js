// What a survey says of a model's heads over many sentences, and the sentences by words and by what a head does there
// (viz/site/corpus.py, model/survey/sentence_index.py).

import { opened } from "../browser/canvas/envelope.js";
import { percent, signed } from "../browser/canvas/numbers.js";
import { say } from "./words.js";

/** @typedef {[query: string, key: string, looked: number, met: number]} WordPair */
/** @typedef {{ kind: string, layer: number, head: number, label: string | null, reason: string, earned: boolean, measure: string | null,
 *   examples: [tenth: number, shown: number][], pairs: WordPair[] }} SurveyedHead */
/** @typedef {{ key: string, name: string, unit: string }} Quantity */
/** @typedef {{ sentences: number, trained: number, data: string, licence: string, quantities: [string, string, string][], heads: SurveyedHead[],
 *   values: (number | null)[], spreads: Float32Array, effects: (number | null)[], shown: string[] }} SurveyFile */
/** @typedef {{ sources: string[], rules: Record<string, string[]>, heads: [kind: string, layer: number, head: number][], does: Uint8Array }} SentencesFile */
/** A sentence's number, and how far a head follows a rule there. @typedef {[number: number, level: number]} Found */

// The 95% interval of a mean, by the normal approximation; and quantiles of a measure.
const [Z, SPREAD] = [1.959964, 3];
// How far a head follows a rule in a sentence.
export const FOLLOWS_MOSTLY = 2;
// Tokens of a sentence in which there is something to see and not too much to read.
const WORTH_READING = [8, 16];
const TOKEN = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu;

/** The heads of a survey by their places in it. */
export class Survey {
  /** @param {Bytes} bytes */
  constructor(bytes) {
    const { quantities, ...values } = /** @type {SurveyFile} */ (opened(bytes).values);
    this.file = values;
    this.heads = values.heads;
    /** @type {Map<string, Quantity & { column: number }>} */
    this.quantities = new Map(quantities.map(([key, name, unit], column) => [key, { key, name, unit, column }]));
  }

  /** The place of a head; −1 where there is none. @type {(head: { kind: string, layer: number, head: number } | undefined) => number} */
  placeOf(head) {
    return this.heads.findIndex(({ kind, layer, head: number }) => kind === head?.kind && layer === head.layer && number === head.head);
  }

  /** A head's value; null where it has none. @type {(place: number, key: string) => number | null} */
  value(place, key) {
    const quantity = this.quantities.get(key);
    return quantity ? this.file.values[place * this.quantities.size + quantity.column] : null;
  }

  /** The 10% quantile, the median and the 90% quantile of a head's measure over the sentences; null where there are none.
   * @type {(place: number, key: string) => number[] | null} */
  spread(place, key) {
    const start = (place * this.quantities.size + (this.quantities.get(key)?.column ?? 0)) * SPREAD;
    const found = [...this.file.spreads.subarray(start, start + SPREAD)];
    return isNaN(found[0]) ? null : found;
  }

  /** The heads that have a value, largest first. @type {(key: string) => [place: number, value: number][]} */
  ranked(key) {
    /** @type {[number, number][]} */
    const known = this.heads.flatMap((_, place) => {
      const value = this.value(place, key);
      return value === null ? [] : [[place, value]];
    });
    return known.sort(([, one], [, other]) => other - one);
  }

  /** What translations lose without a head, 0 where the sentences cannot tell it from nothing; null where it was not measured.
   * @type {(place: number) => { loss: number, sentences: number } | null} */
  effect(place) {
    const [mean, error, sentences] = this.file.effects.slice(3 * place, 3 * place + 3);
    if (mean === null || !sentences) return null;
    return { loss: error !== null && Math.abs(mean) <= Z * error ? 0 : mean, sentences };
  }

  /** A value with its unit. @type {(key: string, value: number) => string} */
  written(key, value) {
    const unit = this.quantities.get(key)?.unit;
    if (unit === "share") return percent(value);
    if (unit === "correlation") return signed(value, 2);
    return say(`in_${unit}`, { value: signed(value, unit === "tokens" ? 1 : 2) });
  }
}

/** The sentences of a survey. */
export class Sentences {
  /** @param {Bytes} bytes */
  constructor(bytes) {
    const { sources, rules, heads, does } = /** @type {SentencesFile} */ (opened(bytes).values);
    this.sources = sources;
    this.rules = rules;
    this.does = does;
    this.width = Math.ceil(sources.length / 8);
    /** Where what a head does begins. @type {Map<string, number>} */
    this.starts = new Map();
    let start = 0;
    for (const head of heads) {
      this.starts.set(head.join("."), start);
      start += 2 * this.width * rules[head[0]].length;
    }
    /** @type {Map<string, number>} */
    const openings = new Map();
    const tokens = sources.map((source) => source.match(TOKEN) ?? []);
    this.isOther = tokens.map(({ length }) => length + 1 < WORTH_READING[0] || length + 1 > WORTH_READING[1]);
    // A number for each first word; "Daß" begins like "Dass".
    this.openings = tokens.map(([first = ""]) => {
      const key = first.toLowerCase().replaceAll("ß", "ss");
      if (!openings.has(key)) openings.set(key, openings.size);
      return openings.get(key) ?? 0;
    });
  }

  /** How far a head follows a rule in each sentence. @type {(head: { kind: string, layer: number, head: number }, rule: string) => Uint8Array} */
  levels({ kind, layer, head }, rule) {
    const names = this.rules[kind];
    const start = (this.starts.get([kind, layer, head].join(".")) ?? 0) + names.indexOf(rule) * this.width;
    return Uint8Array.from(this.sources, (_, sentence) => {
      const at = start + (sentence >> 3);
      const bit = 7 - (sentence & 7);
      return ((this.does[at] >> bit) & 1) + ((this.does[at + names.length * this.width] >> bit) & 1);
    });
  }

  /**
   * The sentences that have all of some words, those in which the head follows the rule most first, if one is given.
   *
   * Of equal ones, those worth reading come first, and of each beginning one before a second.
   *
   * @type {(words: string, head?: { kind: string, layer: number, head: number } | null, rule?: string) => Found[]}
   */
  found(words, head = null, rule = "") {
    const searches = words.split(/\s+/).filter(Boolean).map(patternOf);
    const levels = head && rule ? this.levels(head, rule) : null;
    const places = [...this.sources.keys()].filter((place) => (levels?.[place] ?? FOLLOWS_MOSTLY) > 0 && searches.every((search) => search.test(this.sources[place])));
    /** @type {Map<string, number>} */
    const met = new Map();
    const keyed = places.map((place) => {
      const level = levels?.[place] ?? FOLLOWS_MOSTLY;
      const other = Number(this.isOther[place]);
      const kind = [level, other, this.openings[place]].join(" ");
      const since = met.get(kind) ?? 0;
      met.set(kind, since + 1);
      return { place, level, other, since };
    });
    keyed.sort((a, b) => b.level - a.level || a.other - b.other || a.since - b.since || a.place - b.place);
    return keyed.map(({ place, level }) => [place, level]);
  }
}

/** What finds a word as a whole, or the beginning of one before an asterisk. @type {(word: string) => RegExp} */
export function patternOf(word) {
  const stem = word.replace(/\*$/, "");
  const escaped = stem.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}${stem === word ? "(?![\\p{L}\\p{N}_])" : "[\\p{L}\\p{N}_]*"}`, "iu");
}
