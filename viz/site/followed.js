// What a speaker's server found of the sentence on stage (followed.py), as this page's engine would have answered.

import { opened, weightsOfSteps } from "../browser/canvas/envelope.js";

/** A head's vectors in a map that has no others. */
const VECTORS = /** @type {const} */ (["q", "k", "v"]);

/**
 * The calls that are answered: a method of the engine, its text and options, and what it gives.
 *
 * @typedef {{ method: string, text: string, options: object, result: unknown }} Answered
 * @type {(bytes: Bytes) => { calls: Answered[], effects: EngineEffects | null, predictions: Pieces }}
 */
export function answersOf(bytes) {
  const found = /** @type {OnStage} */ (opened(bytes).values);
  const { sentence: text, target, own, unseen, without, forced, predictions } = found;
  const trace = traceOf(found);
  const heads = found.off.map(([kind, layer, head]) => ({ kind, layer, head, gate: 0 }));
  /** @type {[string, object, unknown][]} */
  const calls = [
    ["trace", tracing({ target }), trace],
    ["translate", { under: {} }, { text: own, unseen }],
  ];
  if (heads.length) {
    calls.push(["translate", { under: { heads } }, { text: without, unseen }]);
    calls.push(["trace", tracing({ heads, ids: predictions.ids }), { ...trace, logProbs: forced }]);
  }
  const effects = found.effects && /** @type {never} */ ({ sites: found.effects });
  return { calls: calls.map(([method, options, result]) => ({ method, text, options, result })), effects, predictions };
}

/** The options with which the engine is asked for a trace.
 * @type {(asked?: Under & { prefix?: number[], ids?: number[] | null, target?: string | null, search?: Search }) => object} */
export function tracing({ prefix = [], ids = null, target = null, search = {}, ...under } = {}) {
  return { search: { ...search, prefix }, ids, target, under };
}

/** Names a call of the engine. @type {(method: string, text: string, options: object) => string} */
export function keyOf(method, text, options) {
  return JSON.stringify([method, text, options], (_, value) => (ArrayBuffer.isView(value) ? String(value) : value));
}

/** @type {(text: string, predictions: Pieces) => string} */
export function keyOfEffects(text, { ids }) {
  return `effects ${text} ${ids}`;
}

/** @type {(found: OnStage) => EngineTrace} */
function traceOf({ sentence, target, text, source, read, predictions, logProbs, steps, maps, added, positions, unseen }) {
  return /** @type {EngineTrace} */ (
    /** @type {unknown} */ ({
      ...{ source, target: read, predictions, text, sourceText: sentence, logProbs, added, positions },
      steps: steps.map((step) => ({ ...step, probabilities: [...step.probabilities], normalizers: [...step.normalizers] })),
      maps: maps.map(mapOf),
      translation: target === null ? { text, predictions, unseen, candidates: [] } : null,
    })
  );
}

/** @type {(found: StageMap) => RecordedMap} */
function mapOf({ weights, scales, allowed, head, ...map }) {
  const { kind, layer, heads, queries, keys } = map;
  const size = queries * keys;
  const masks = Array.isArray(allowed) ? allowed : [allowed];
  const bits = new Uint8Array(masks.length * size).fill(1);
  masks.forEach((mask, place) => mask && bits.set(mask, place * size));
  const vectors = VECTORS.map((name) => [name, spread(map[name], name === "q" ? queries : keys, heads, head)]);
  const scores = new Float32Array(heads * size);
  if (head !== null && map.scores) scores.set(map.scores, head * size);
  return {
    ...{ kind, layer, heads, queries, keys, scores, only: head },
    ...Object.fromEntries(vectors),
    weights: scales ? weightsOfSteps(weights, scales, keys) : weights,
    allowed: { bits, heads: masks.length, queries, keys },
  };
}

/** One head's vectors (token, d) among those of all heads, (token, heads × d).
 * @type {(own: Numbers | null, tokens: number, heads: number, head: number | null) => Numbers} */
function spread(own, tokens, heads, head) {
  if (!own || head === null) return new Float32Array();
  const width = own.length / tokens;
  const all = new Float32Array(tokens * heads * width);
  for (let token = 0; token < tokens; token += 1) all.set(own.subarray(token * width, (token + 1) * width), (token * heads + head) * width);
  return all;
}
