// One head in words, as viz/browser/head_sentences.py says it.

import constants from "../../draw/constants.json" with { type: "json" };
import { PLACES, HeadRows, evenShares } from "./facts.js";

const { LEANS, EVEN, DIFFERENT, ALIKE, IN_ORDER, IGNORED, MOST_PAIRS, COUNT_NAMES } = constants.HEAD_SENTENCES;
const MOSTLY = 0.5;
/** @type {Record<string, string>} */
const PLACE_NAMES = constants.HEAD_SENTENCES.PLACE_NAMES;

/** What a head does on a sentence: a `sentence`, its strongest `pairs` and the keys `ignored`.
 * @type {(head: MeasuredHead, facts: Facts, reading: ReadingOf) => { sentence: string; pairs: Cell[]; ignored: number[] }} */
export function headWords(head, facts, { words, specials }) {
  const rows = new HeadRows(head);
  const sentence = sentenceOf(facts, evenShares(head), words ? "word" : "token");
  const isHidden = !specials && rows.sums.reduce((sum, each) => sum + each, 0) < 0.5 * rows.live.filter(Boolean).length;
  const hidden = `Most of its weight is on hidden special tokens; otherwise ${sentence[0].toLowerCase()}${sentence.slice(1)}`;
  return { sentence: isHidden ? hidden : sentence, pairs: pairsOf(rows), ignored: ignoredBy(rows) };
}

/** @type {(facts: Facts, even: Facts, noun: string) => string} */
function sentenceOf(facts, even, noun) {
  if (Number.isNaN(facts.entropy)) return "There is no row to describe.";
  if (Number.isNaN(facts.entropy_share)) return `A row has only one ${noun} to look at.`;
  if (facts.entropy_share >= EVEN) return `A row spreads its weight almost evenly over the ${noun}s it may look at.`;
  const count = Math.max(Math.round(2 ** facts.entropy), 1);
  return `A row looks at about ${COUNT_NAMES[count] ?? count} ${noun}${count === 1 ? "" : "s"}${manner(facts, even)}.`;
}

/** @type {(facts: Facts, even: Facts) => string} */
function manner(facts, even) {
  const above = Object.keys(PLACES)
    .filter((key) => key in even && !Number.isNaN(facts[key]))
    .map((key) => /** @type {const} */ ([key, even[key] < 1 ? (facts[key] - even[key]) / (1 - even[key]) : 0]));
  if (above.length) {
    const [place, lean] = above.reduce((best, each) => (each[1] > best[1] ? each : best));
    if (lean >= LEANS) return `, ${facts[place] >= MOSTLY ? "mostly" : "often"} at ${PLACE_NAMES[place]}`;
  }
  if (facts.pairing >= DIFFERENT) {
    return `; rows look at different ones${facts.diagonal >= IN_ORDER ? ", roughly in order" : ""}`;
  }
  return facts.pairing <= ALIKE ? "; all rows look at nearly the same ones" : "";
}

/** The rows that single out a key the most, as [query, key], the strongest first. @type {(rows: HeadRows) => Cell[]} */
function pairsOf(rows) {
  /** @type {[query: number, key: number, weight: number][]} */
  const singled = [];
  for (let query = 0; query < rows.queries; query += 1) {
    const own = rows.weights.subarray(query * rows.keys, (query + 1) * rows.keys);
    const key = own.indexOf(Math.max(...own));
    const even = 1 / Math.max(rows.choices[query], 2);
    if (rows.choices[query] >= 2 && (own[key] - even) / (1 - even) >= LEANS) singled.push([query, key, own[key]]);
  }
  singled.sort((one, other) => other[2] - one[2]);
  return singled.slice(0, MOST_PAIRS).map(([query, key]) => [query, key]);
}

/** The keys that get next to no weight, in their order. @type {(rows: HeadRows) => number[]} */
function ignoredBy(rows) {
  /** @type {number[]} */
  const ignored = [];
  for (let key = 0; key < rows.keys; key += 1) {
    let [even, counting, received] = [0, 0, 0];
    for (let query = 0; query < rows.queries; query += 1) {
      if (rows.choices[query] < 2) continue;
      const cell = query * rows.keys + key;
      received += rows.weights[cell];
      if (!rows.allowed[cell]) continue;
      even += 1 / rows.choices[query];
      counting += 1;
    }
    if (counting >= 2 && received < IGNORED * even) ignored.push(key);
  }
  return ignored;
}
