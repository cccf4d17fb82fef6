// A trace of the engine as the explorer takes it: the envelope that viz/heads/payload.py packs.

import { PackedBody, sealed } from "./body.js";
import { headFacts, headNumbers } from "./facts.js";
import { tokenText } from "./labels.js";
import { headWords } from "./sentences.js";

const EXACT_CELLS = 500_000;
const COMPLETE = 0.999;

/**
 * The envelope of a trace.
 *
 * @param {object} template - the header of an envelope of the same model, for what does not depend on the sentence:
 *   names, titles, labels of heads.
 * @param {object} trace - of the engine.
 * @param {object} options - `effects`, of the engine, once they are known; `epoch`, `selection` and `stage` of the payload.
 */
export function packedTrace(template, trace, { effects = null, epoch = 0, selection = {}, stage = false } = {}) {
  const body = new PackedBody();
  const axes = [];
  const axis = ({ tokens }) => {
    const texts = tokens.map(tokenText);
    const known = axes.findIndex((other) => other.join("\n") === texts.join("\n"));
    return known < 0 ? axes.push(texts) - 1 : known;
  };
  const cells = trace.maps.reduce((sum, { weights }) => sum + weights.length, 0);
  const exact = cells <= EXACT_CELLS;
  const losses = new Map((effects?.sites ?? []).map((site) => [`${site.kind}.${site.layer}`, lossOf(site)]));
  const kinds = template.kinds.map((kind) => {
    const maps = trace.maps.filter((map) => map.kind === kind.kind);
    const side = kind.kind === "encoder" ? trace.source : trace.target;
    const keys = kind.kind === "decoder" ? trace.target : trace.source;
    return {
      ...kind,
      queries: axis(side),
      keys: axis(keys),
      beside: kind.kind === "encoder" ? null : axis(trace.predictions),
      words: wordsOf(kind.kind, side.tokens.length, keys.tokens.length),
      caption: captionOfMaps(kind, maps[0]),
      exact,
      weights: weightsOf(maps, exact, body),
      allowed: maps.map((map) => body.addMasks(map)),
      facts: maps.map((map, layer) => factsOfMap(map, keys.tokens, kind.facts[layer], template, losses)),
    };
  });
  return sealed({ ...template, epoch, selection, stage, axes, kinds }, body);
}

/** Where the weights of a kind begin, layer after layer. */
function weightsOf(maps, exact, body) {
  const starts = maps.map(({ weights }) => (exact ? body.add(weights) : body.addShares(weights)));
  return starts[0] ?? body.length;
}

/** The tokens of the headline that each row, each column and each row's prediction stands for. */
function wordsOf(kind, nQueries, nKeys) {
  const source = (count) => Array.from({ length: count }, (_, place) => ["source", place, place + 1]);
  // The decoder reads <s>, which is no token of the translation, and then each token that was predicted.
  const read = (count) => Array.from({ length: count }, (_, place) => ["target", place - 1, place]);
  return {
    queries: kind === "encoder" ? source(nQueries) : read(nQueries),
    keys: kind === "decoder" ? read(nKeys) : source(nKeys),
    beside: kind === "encoder" ? [] : Array.from({ length: nQueries }, (_, place) => ["target", place, place + 1]),
  };
}

/** The loss of each head over all target tokens. */
function lossOf({ losses, heads }) {
  const n = losses.length / heads;
  return Array.from({ length: heads }, (_, head) =>
    losses.slice(head * n, (head + 1) * n).reduce((sum, loss) => sum + loss, 0),
  );
}

function captionOfMaps(kind, { weights, allowed, keys }) {
  const row = kind.caption.split(/[.;]/)[0];
  const sums = Array.from({ length: kind.heads * (weights.length / kind.heads / keys) }, (_, query) =>
    weights.subarray(query * keys, (query + 1) * keys).reduce((sum, weight) => sum + weight, 0),
  );
  const total = sums.every((sum) => sum > COMPLETE) ? "; it adds up to 1" : "";
  const hatched = allowed.bits.every(Boolean) ? "" : " Hatched: not allowed.";
  return `${row}${total}.${hatched} Layers and heads count from 0.`;
}

function factsOfMap(map, tokens, before, template, losses) {
  const size = map.queries * map.keys;
  return before.map(({ label, tendency, share, reason }, number) => {
    const head = {
      kind: map.kind,
      queries: map.queries,
      keys: map.keys,
      tokens,
      weights: map.weights.subarray(number * size, (number + 1) * size),
      allowed: map.allowed.bits.subarray(map.allowed.heads > 1 ? number * size : 0).subarray(0, size),
    };
    const facts = headFacts(head);
    const effect = losses.get(`${map.kind}.${map.layer}`)?.[number] ?? NaN;
    const values = { ...facts, [template.onDemand]: effect };
    return {
      ...headWords(head, facts),
      numbers: headNumbers(map.kind, facts, template.measures),
      ...{ label, tendency, share, reason },
      measures: template.measures.map(({ key }) => (Number.isNaN(values[key]) ? null : values[key])),
    };
  });
}
