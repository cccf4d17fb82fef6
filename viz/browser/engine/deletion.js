// What becomes of a translation without each token of its source (model/explain/deletion.py), and two estimates of that
// (model/explain/attribution_methods.py).

import { Masks } from "./masks.js";

/** @import { Transformer } from "./transformer.js" */

/** What is made of the decoder's output, first as it is, then without each source token, which no layer sees then.
 * @type {<Made>(model: Transformer, source: number[], read: number[], make: (hidden: Numbers) => Made, turn?: Turn) => Promise<Made[]>} */
export async function withoutEach(model, source, read, make, turn = async () => {}) {
  const made = [];
  for (const gone of [-1, ...source.keys()]) {
    await turn();
    const pass = { masks: gone < 0 ? null : new Masks(hiding(gone, source.length, read.length), { exact: true }) };
    made.push(make(model.decode(read, model.encode(source, pass), pass)));
  }
  return made;
}

/** Masks under which nothing looks at a source token, but itself in the encoder: a row needs a key.
 * @type {(gone: number, nSource: number, nTarget: number) => MaskEdit[]} */
function hiding(gone, nSource, nTarget) {
  const without = (/** @type {string} */ kind, /** @type {number} */ queries) => {
    const bits = new Uint8Array(queries * nSource).fill(1);
    for (let query = 0; query < queries; query += 1) bits[query * nSource + gone] = Number(kind === "encoder" && query === gone);
    return { kind, allowed: { bits, heads: 1, queries, keys: nSource } };
  };
  return [without("encoder", nSource), without("cross", nTarget)];
}

/** Means over layers of cross-attention, (target, source): of the weights of all heads, and of the length of what all heads
 * together add from a source token, through their values and W_O (Kobayashi et al. 2020, section 3).
 * @type {(model: Transformer, maps: RecordedMap[]) => { weights: Numbers, norms: Numbers }} */
export function estimates(model, maps) {
  const layers = maps.filter(({ kind }) => kind === "cross");
  const [{ queries, keys }] = layers;
  const [weights, norms] = [new Float32Array(queries * keys), new Float32Array(queries * keys)];
  for (const map of layers) {
    const { output, heads, valueWidth } = model.decoder.layers[map.layer].crossing.cross;
    const width = heads * valueWidth;
    const biases = output.product(new Float32Array(width));
    for (let cell = 0; cell < queries * keys; cell += 1) {
      const key = cell % keys;
      const mixed = Float32Array.from({ length: width }, (_, place) => {
        const head = Math.floor(place / valueWidth);
        return map.weights[head * queries * keys + cell] * map.v[key * width + place];
      });
      const added = output.product(mixed).map((value, place) => value - biases[place]);
      norms[cell] += Math.hypot(...added) / layers.length;
      for (let head = 0; head < heads; head += 1) weights[cell] += map.weights[head * queries * keys + cell] / heads / layers.length;
    }
  }
  return { weights, norms };
}
