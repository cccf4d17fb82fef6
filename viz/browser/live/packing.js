// A trace of the engine as the components take it: the values that viz/browser/trace_payload.py packs.

import constants from "../../draw/constants.json" with { type: "json" };
import { heldBy } from "../canvas/envelope.js";
import { headFacts, headNumbers } from "./facts.js";
import { axisTexts } from "./labels.js";
import { readTrace } from "./reading.js";
import { sealed } from "./sealed.js";
import { headWords } from "./sentences.js";

/** @typedef {ReturnType<typeof readTrace>} Seen */
/**
 * @typedef {{ effects?: EngineEffects | null, reading?: ReadingOf, epoch?: number, selection?: Spelling,
 *   stage?: boolean }} TraceOptions
 */

const COMPLETE = 0.999;
const ROWS_BY_PREDICTION = "A row shows where the decoder looks in the source to predict that token";
const BY_PREDICTION = { queryTitle: "Query: target token predicted", besideTitle: "Token just read", besideMark: "←" };

/** The envelope of a trace; a template may hold more than a trace. @type {(...given: Parameters<typeof packedValues>) => Bytes} */
export function packedTrace(...given) {
  return sealed(heldBy("trace", packedValues(...given)));
}

/**
 * The values of a trace.
 *
 * @template {TraceHeader} Template
 * @param {Template} template - the values of an envelope of the same model, for what does not depend on the sentence:
 *   names, titles, labels of heads.
 * @param {Pick<EngineTrace, "source" | "target" | "predictions"> & { maps: RecordedMap[] }} trace
 * @param {TraceOptions} options - `effects`, of the engine, once they are known; the `reading`; `epoch`, `selection` and `stage`
 *   of the payload.
 */
export function packedValues(template, trace, { effects = null, reading, epoch = 0, selection = {}, stage = false } = {}) {
  const seen = readTrace(trace, reading);
  /** @type {string[][]} */
  const axes = [];
  const axis = (/** @type {Pieces} */ labels) => {
    const texts = axisTexts(labels);
    const known = axes.findIndex((other) => other.join("\n") === texts.join("\n"));
    return known < 0 ? axes.push(texts) - 1 : known;
  };
  const losses = new Map((effects?.sites ?? []).map((site) => [`${site.kind}.${site.layer}`, lossOf(site)]));
  const measures = template.measures.map((measure) => readMeasure(measure, seen.reading));
  const kinds = template.kinds.map((kind) => {
    const maps = seen.maps.filter((map) => map.kind === kind.kind);
    const titled = kind.kind === "cross" && seen.byPrediction ? { ...kind, ...BY_PREDICTION } : kind;
    return {
      ...titled,
      queries: axis(maps[0].rows),
      keys: axis(maps[0].columns),
      beside: seen.beside[kind.kind] ? axis(seen.beside[kind.kind]) : null,
      words: wordsOf(kind.kind, seen),
      caption: captionOfMaps(titled, maps[0]),
      weights: maps.map(({ weights }) => weights),
      // They go nowhere: nothing is gained by fewer bits.
      scales: null,
      grain: null,
      allowed: maps.map(maskOf),
      facts: maps.map((map, layer) => factsOfMap(map, kind.facts[layer], { measures, onDemand: template.onDemand, seen, losses })),
    };
  });
  // One picture of all three kinds needs one target axis.
  const rowsOf = (/** @type {string} */ kind) => JSON.stringify(seen.maps.find((map) => map.kind === kind)?.rows);
  const joint = template.joint && rowsOf("decoder") === rowsOf("cross");
  return { ...template, epoch, selection, stage, axes, kinds, measures, notes: seen.notes, [constants.JOINT]: joint };
}

/** A measure as the reading names it. @type {(measure: Measure, reading: ReadingOf) => Measure} */
function readMeasure(measure, { words }) {
  return words ? { ...measure, name: measure.name.replace("token", "word"), unit: measure.unit.replace("token", "word") } : measure;
}

/** The mask of each head. @type {(map: Pick<ReadMap, "allowed">) => Uint8Array[]} */
function maskOf({ allowed: { bits, heads, queries, keys } }) {
  const size = queries * keys;
  return Array.from({ length: heads }, (_, head) => bits.subarray(head * size, (head + 1) * size));
}

/** The tokens of the headline that each row and each column stands for; a row stands for the one that it writes.
 * @type {(kind: string, seen: Seen) => Record<Axis, AxisWord[]>} */
function wordsOf(kind, { spans, besideSpans, byPrediction }) {
  // The decoder reads <s>, which is no token of the translation, and then each token that was predicted.
  const shift = spans.output.length ? 1 : 0;
  /** @type {(side: Side, by: number, all: TokenSpan[]) => [Side, number, number][]} */
  const moved = (side, by, all) => all.map(([first, end]) => [side, first - by, end - by]);
  const [source, read] = [moved("source", 0, spans.source), moved("target", shift, spans.input)];
  const written = kind === "cross" && byPrediction ? spans.output : besideSpans[kind];
  return {
    queries: kind === "encoder" ? source : written ? moved("target", 0, written) : read,
    keys: kind === "decoder" ? read : source,
  };
}

/** The loss of each head over all target tokens. @type {(site: EngineEffects["sites"][number]) => number[]} */
function lossOf({ losses, heads }) {
  const n = losses.length / heads;
  return Array.from({ length: heads }, (_, head) =>
    losses.slice(head * n, (head + 1) * n).reduce((sum, loss) => sum + loss, 0),
  );
}

/** @type {(kind: Kind, map: ReadMap) => string} */
function captionOfMaps(kind, { weights, allowed, keys, heads, queries }) {
  const row = kind.besideMark === BY_PREDICTION.besideMark ? ROWS_BY_PREDICTION : kind.caption.split(/[.;]/)[0];
  const sums = Array.from({ length: heads * queries }, (_, query) =>
    weights.subarray(query * keys, (query + 1) * keys).reduce((sum, weight) => sum + weight, 0),
  );
  const total = sums.every((sum) => sum > COMPLETE) ? "; it adds up to 1" : "";
  const hatched = allowed.bits.every(Boolean) ? "" : ". Hatched: not allowed";
  return `${row}${total}${hatched}`;
}

/** @type {(map: ReadMap, before: HeadFacts[], given: { measures: Measure[]; onDemand: string; seen: Seen; losses: Map<string, number[]> }) => object[]} */
function factsOfMap(map, before, { measures, onDemand, seen, losses }) {
  const size = map.queries * map.keys;
  return before.map(({ label, tendency, share, reason }, number) => {
    const head = {
      kind: map.kind,
      queries: map.queries,
      keys: map.keys,
      tokens: map.columns.tokens,
      weights: map.weights.subarray(number * size, (number + 1) * size),
      allowed: map.allowed.bits.subarray(map.allowed.heads > 1 ? number * size : 0).subarray(0, size),
    };
    const facts = headFacts(head);
    const effect = losses.get(`${map.kind}.${map.layer}`)?.[number] ?? NaN;
    /** @type {Facts} */
    const values = { ...facts, [onDemand]: effect };
    return {
      ...headWords(head, facts, seen.reading),
      numbers: headNumbers(map.kind, facts, measures),
      ...{ label, tendency, share, reason },
      measures: measures.map(({ key }) => (Number.isNaN(values[key]) ? null : values[key])),
    };
  });
}
