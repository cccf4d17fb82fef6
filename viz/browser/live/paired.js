// Two runs as their component takes them: the envelope that viz/compare/payload.py packs.

import { tokenText } from "./labels.js";
import { sealed } from "./sealed.js";

/** The places of tokens that two sequences have. @typedef {[one: number, other: number][]} Shared */
/** @typedef {[change: "same" | "removed" | "added", words: string][]} Changed */
/** @typedef {import("../exchange/pair.js").SentKind} SentKind */

/** Two sequences as runs that they share and do not share, by a longest common subsequence (model/trace/token_runs.py).
 * @type {(first: string[], second: string[]) => { same: boolean, one: [number, number], other: [number, number] }[]} */
function runsOf(first, second) {
  const left = Array.from({ length: first.length + 1 }, () => new Int32Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i -= 1) {
    for (let j = second.length - 1; j >= 0; j -= 1) {
      left[i][j] = Math.max(left[i][j + 1], left[i + 1][j], left[i + 1][j + 1] + Number(first[i] === second[j]));
    }
  }
  const isWithin = () => one < first.length && other < second.length;
  /** @type {ReturnType<typeof runsOf>} */
  const found = [];
  let [one, other] = [0, 0];
  /** @type {(same: boolean, from: [number, number]) => void} */
  const end = (same, [start, beside]) => {
    if (one > start || other > beside) found.push({ same, one: [start, one], other: [beside, other] });
  };
  while (one < first.length || other < second.length) {
    /** @type {[number, number]} */
    let from = [one, other];
    while (isWithin() && first[one] === second[other]) [one, other] = [one + 1, other + 1];
    end(true, from);
    from = [one, other];
    while (isWithin() && first[one] !== second[other]) {
      if (left[one + 1][other] >= left[one][other + 1]) one += 1;
      else other += 1;
    }
    if (!isWithin()) [one, other] = [first.length, second.length];
    end(false, from);
  }
  return found;
}

/** The places that both sequences have. @type {(first: string[], second: string[]) => Shared} */
export function sharedPlaces(first, second) {
  return runsOf(first, second).flatMap(({ one, other }) => {
    const count = Math.min(one[1] - one[0], other[1] - other[0]);
    return Array.from({ length: count }, (_, place) => /** @type {[number, number]} */ ([one[0] + place, other[0] + place]));
  });
}

/** The changes from one text to another, word by word, with punctuation apart. @type {(before: string, after: string) => Changed} */
export function wordChanges(before, after) {
  const [old, now] = [before, after].map((text) => text.split(/\s+/).filter(Boolean).flatMap(marksAndWord));
  const bare = (/** @type {string[]} */ words) => words.map((word) => word.trimStart());
  /** @type {Changed} */
  const changes = [];
  for (const { same, one, other } of runsOf(bare(old), bare(now))) {
    const [removed, added] = [old.slice(...one).join(""), now.slice(...other).join("")];
    if (same) changes.push(["same", added]);
    else changes.push(.../** @type {Changed} */ ([["removed", removed], ["added", added]]).filter(([, text]) => text));
  }
  if (changes.length) changes[0][1] = changes[0][1].trimStart();
  return changes;
}

/** A run between spaces, with the space before it: marks, the word, marks. @type {(chunk: string) => string[]} */
function marksAndWord(chunk) {
  const [, before, word, after] = /^(\p{P}*)(.*?)(\p{P}*)$/su.exec(chunk) ?? ["", "", chunk, ""];
  return [...before, word, ...after].filter(Boolean).map((part, place) => (place ? part : ` ${part}`));
}

/** Heads of one trace with their partners in another, and how far they differ on tokens that both have. */
export class PairedRuns {
  /** @param {EngineTrace} first @param {EngineTrace} second @param {{ matches?: boolean }} how - `matches` heads by what they look at. */
  constructor(first, second, { matches = false } = {}) {
    const source = sharedPlaces(first.source.tokens, second.source.tokens);
    const target = sharedPlaces(first.target.tokens, second.target.tokens);
    this.runs = [first, second];
    /** @type {Record<string, [Shared, Shared]>} */
    this.aligned = { encoder: [source, source], decoder: [target, target], cross: [target, source] };
    const heads = (/** @type {EngineTrace} */ { maps }) => maps.flatMap((map) => Array.from({ length: map.heads }, (_, head) => ({ map, head })));
    const [ones, others] = [heads(first), heads(second)];
    const all = ones.flatMap((one) =>
      others
        .filter(({ map, head }) => map.kind === one.map.kind && (matches || (map.layer === one.map.layer && head === one.head)))
        .map((other) => ({ one, other, moved: this.moved(one, other) })),
    );
    // The least apart first, each once.
    const taken = new Set();
    this.pairs = (matches ? all.sort((a, b) => a.moved - b.moved) : all).filter(({ one, other }) => {
      if (taken.has(one) || taken.has(other)) return false;
      taken.add(one).add(other);
      return true;
    });
    this.pairs.sort((a, b) => ones.indexOf(a.one) - ones.indexOf(b.one));
    this.most = this.pairs.reduce((most, pair) => (pair.moved > most.moved ? pair : most), this.pairs[0]);
  }

  /** The share of a head's weight that lies on other tokens, mean over queries. @type {(one: HeadOf, other: HeadOf) => number} */
  moved(one, other) {
    const differences = this.differences(one, other);
    const rows = this.aligned[one.map.kind][0].length;
    return differences.reduce((sum, each) => sum + Math.abs(each), 0) / 2 / (rows || 1);
  }

  /** @type {(one: HeadOf, other: HeadOf) => number[]} */
  differences(one, other) {
    const [queries, keys] = this.aligned[one.map.kind];
    const at = (/** @type {HeadOf} */ { map, head }, /** @type {number} */ query, /** @type {number} */ key) => map.weights[(head * map.queries + query) * map.keys + key];
    return queries.flatMap(([i, j]) => keys.map(([k, l]) => at(other, j, l) - at(one, i, k)));
  }
}

/** @typedef {{ map: RecordedMap, head: number }} HeadOf */
/** What is said of a kind of attention and of a pair of heads. @typedef {{ kind(kind: string): Pick<SentKind, "name" | "queryTitle" | "keyTitle">, head(one: HeadOf, other: HeadOf, moved: number): { name: string, full: string, said: string, share: string } }} Saying */

/** The envelope of two runs; `shown` is the head that is large, as kind.layer.head.
 * @type {(paired: PairedRuns, given: { names: string[], lines: [string, Changed][], shown: string, themes: Themes, says: Saying, heard: number }) => Bytes} */
export function packedPair(paired, { names, lines, shown, themes, says, heard }) {
  const limit = Math.max(...paired.pairs.map(({ one, other }) => Math.max(0, ...paired.differences(one, other).map(Math.abs))), 1e-6);
  const kinds = ["encoder", "decoder", "cross"].flatMap((kind) => {
    const own = paired.pairs.filter(({ one }) => one.map.kind === kind);
    if (!own.length) return [];
    const layers = [...new Set(own.map(({ one }) => one.map.layer))];
    const tokens = (/** @type {EngineTrace} */ run) => [kind === "encoder" ? run.source : run.target, kind === "decoder" ? run.target : run.source].map((side) => side.tokens.map(tokenText));
    const [first, second] = paired.runs.map(tokens);
    const both = paired.aligned[kind].map((places, axis) => places.map(([i, j]) => (first[axis][i] === second[axis][j] ? first[axis][i] : `${first[axis][i]}/${second[axis][j]}`)));
    return [
      {
        ...{ ...says.kind(kind), layers, columns: Math.max(...own.map(({ one }) => one.map.heads)), aligned: paired.aligned[kind] },
        axes: [first, second, both].map(([queries, keys]) => ({ queries, keys })),
        heads: own.map(({ one, other, moved }) => ({
          ...{ part: `${kind}.${one.map.layer}.${one.head}`, layer: layers.indexOf(one.map.layer), number: one.head, ...says.head(one, other, moved) },
          weights: [one, other].map(({ map, head }) => map.weights.slice(head * map.queries * map.keys, (head + 1) * map.queries * map.keys)),
          allowed: [one, other].map(({ map, head }) => maskOfHead(map, head)),
        })),
      },
    ];
  });
  return sealed({ payload: "pair", names, lines, kinds, limit, shown, puts: false, parts: null, put: [], heard, themes });
}

/** @type {(map: RecordedMap, head: number) => Uint8Array} */
function maskOfHead({ allowed: { bits, heads, queries, keys } }, head) {
  const size = queries * keys;
  return bits.slice(heads > 1 ? head * size : 0, (heads > 1 ? head * size : 0) + size);
}
