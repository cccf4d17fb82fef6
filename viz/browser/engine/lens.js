// The logit lens (nostalgebraist 2020): what the decoder would predict if it stopped after a layer (model/trace/logit_lens.py).

import { logProbability, unsayable } from "./decoding.js";

/** @import { Transformer } from "./transformer.js" */

/** One layer: the log-probability of each label and its rank among what can be written, and the likeliest token with its
 * log-probability, one a step. @typedef {{ logProbs: number[], ranks: number[], ids: number[], likeliest: number[] }} LayerLens */

/** The predictions of every layer's states, (step, d_model) each. @type {(model: Transformer, states: Numbers[], labels: number[]) => LayerLens[]} */
export function lensOf(model, states, labels) {
  const barred = unsayable(model.config);
  return states.map((state) => {
    /** @type {LayerLens} */
    const lens = { logProbs: [], ranks: [], ids: [], likeliest: [] };
    model.output.eachSoftmax(model.decoder.normed(state), (step, logits, largest, log) => {
      let [best, rank] = [-1, 1];
      for (let id = 0; id < logits.length; id += 1) {
        if (barred.has(id)) continue;
        if (best < 0 || logits[id] > logits[best]) best = id;
        if (logits[id] > logits[labels[step]]) rank += 1;
      }
      lens.logProbs.push(logProbability(logits[labels[step]], largest, log));
      lens.ranks.push(rank);
      lens.ids.push(best);
      lens.likeliest.push(logProbability(logits[best], largest, log));
    });
    return lens;
  });
}
