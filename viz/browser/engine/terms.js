// What adds up to the difference of two logits (model/contrast/logit_terms.py), read backwards: the direction in which one
// token leads the other is carried down through every norm, with the scale it had, and each part's term is its product with it.

/** @import { Matrix } from "./products.js" */
/** @import { Transformer } from "./transformer.js" */

/** @typedef {{ gain: Numbers, shift: Numbers, width: number, eps: number }} Norm */
/**
 * Terms by layer: of heads of self-attention (head), of heads of cross-attention and source tokens (head, source), of
 * feed-forward layers; and of the embedding, and of all biases.
 *
 * @typedef {{ difference: number, embedding: number, biases: number, decoder: number[][], cross: number[][][], feedForward: number[] }} Terms
 */

/** @type {(one: ArrayLike<number>, other: ArrayLike<number>) => number} */
function dot(one, other) {
  let sum = 0;
  for (let i = 0; i < one.length; i += 1) sum += one[i] * other[i];
  return sum;
}

/**
 * The terms of the last token that a decoder read.
 *
 * @param {Transformer} model
 * @param {object} of
 * @param {[number, number]} of.pair - the ids of the two tokens.
 * @param {Numbers} of.embedded - what entered the decoder, (token, d_model).
 * @param {Numbers} of.hidden - what left it.
 * @param {Numbers[]} of.sums - what each residual connection added up to, three a layer.
 * @param {RecordedMap[]} of.maps - the attention of the pass.
 * @returns {Terms}
 */
export function termsOf(model, { pair, embedded, hidden, sums, maps }) {
  const { output, decoder, config } = model;
  const { d_model: width, norm: place, attention_bias: biased } = config;
  const last = (/** @type {Numbers} */ rows) => rows.subarray(rows.length - width);
  const rows = sums.map(last);
  const norms = decoder.layers.flatMap(({ selfResidual, crossing, feedForwardResidual }) =>
    place === "pre" ? [null, null, null] : [selfResidual.norm, crossing.crossResidual.norm, feedForwardResidual.norm],
  );
  /** What enters a residual connection. @param {number} number */
  const entering = (number) => (number ? (norms[number - 1]?.of(rows[number - 1]) ?? rows[number - 1]) : last(embedded));
  const [one, other] = pair.map((id) => Float64Array.from(output.row(id)));
  let direction = one.map((value, i) => value - other[i]);
  let biases = config.output_bias ? output.biases()[pair[0]] - output.biases()[pair[1]] : 0;
  /** @type {Terms} */
  const terms = { difference: dot(direction, last(hidden)) + biases, embedding: 0, biases: 0, decoder: [], cross: [], feedForward: [] };
  /** Carries the direction to before a norm of a row. @type {(norm: Norm | null, row: Numbers) => void} */
  const through = (norm, row) => {
    if (!norm) return;
    biases += dot(direction, norm.shift);
    const mean = row.reduce((sum, each) => sum + each, 0) / width;
    const scale = Math.sqrt(row.reduce((sum, each) => sum + (each - mean) ** 2, 0) / width + norm.eps);
    const scaled = direction.map((each, i) => (each * norm.gain[i]) / scale);
    const middle = scaled.reduce((sum, each) => sum + each, 0) / width;
    direction = scaled.map((each) => each - middle);
  };
  through(decoder.finalNorm, entering(rows.length));
  for (let number = decoder.layers.length - 1; number >= 0; number -= 1) {
    const { self, crossing } = decoder.layers[number];
    const map = (/** @type {string} */ kind) => /** @type {RecordedMap} */ (maps.find((each) => each.kind === kind && each.layer === number));
    const first = 3 * number;
    through(norms[first + 2], rows[first + 2]);
    const before = entering(first + 2);
    terms.feedForward.unshift(dot(direction, rows[first + 2].map((each, i) => each - before[i])));
    through(norms[first + 1], rows[first + 1]);
    terms.cross.unshift(byKey(map("cross"), crossing.cross.output, direction));
    if (biased) biases += dot(direction, crossing.cross.output.biases());
    through(norms[first], rows[first]);
    terms.decoder.unshift(byKey(map("decoder"), self.output, direction).map((keys) => keys.reduce((sum, each) => sum + each, 0)));
    if (biased) biases += dot(direction, self.output.biases());
  }
  return { ...terms, embedding: dot(direction, last(embedded)), biases };
}

/** What each head gives by key along a direction, at the last query: (head, key). @type {(map: RecordedMap, output: Matrix, direction: Float64Array) => number[][]} */
function byKey({ heads, queries, keys, weights, v }, output, direction) {
  const along = new Float64Array(output.columns);
  direction.forEach((share, row) => output.row(row).forEach((value, i) => (along[i] += share * value)));
  const width = output.columns / heads;
  return Array.from({ length: heads }, (_, head) =>
    Array.from({ length: keys }, (_value, key) => {
      const from = (key * heads + head) * width;
      return weights[(head * queries + queries - 1) * keys + key] * dot(v.subarray(from, from + width), along.subarray(head * width, (head + 1) * width));
    }),
  );
}
