// A trace of the engine as the player of decoding steps takes it: the envelope that viz/decoding/payload.py packs.

import constants from "../../draw/constants.json" with { type: "json" };
import { isSpecial, meanWeights } from "./grouping.js";
import { CONTINUED, WORD_START, tokenText } from "./labels.js";
import { sealed } from "./sealed.js";

/** @typedef {{ cross: Mean, own: Mean, themes: Themes }} WritingTemplate */
/**
 * @typedef {{ name: string, epoch?: number, step?: number, stage?: boolean, forced?: number,
 *   heads?: (AttentionSite & { head: number })[] }} WritingOptions
 */

/**
 * The envelope of a decoding.
 *
 * @param {WritingTemplate} template - the values of an envelope of the same model.
 * @param {EngineTrace} trace
 * @param {WritingOptions} options - `name` of the decoding, `step` shown first, how many tokens were `forced`, and the `heads`
 *   whose attention is shown, {kind, layer, head} each; all of a kind where none of it is among them.
 */
export function packedWriting(template, trace, { name, epoch = 0, step = 0, stage = false, forced = 0, heads = [] }) {
  const { predictions, target, source, maps } = trace;
  const last = predictions.tokens.length - 1;
  return sealed({
    ...template,
    ...{ name, epoch, step, stage },
    source: joinedTexts(source.tokens),
    target: joinedTexts([...target.tokens, predictions.tokens[last]]),
    cross: meanOf(template.cross, maps.filter(({ kind }) => kind === "cross"), heads),
    own: meanOf(template.own, maps.filter(({ kind }) => kind === "decoder"), heads),
    steps: trace.steps.map(({ tokens, ids, probabilities, rank }, place) => {
      const chosen = ids.indexOf(predictions.ids[place]);
      return {
        texts: tokens.map(tokenText),
        ids,
        probabilities,
        chosen: chosen < 0 ? null : chosen,
        probability: Math.exp(trace.logProbs[place]),
        rank,
        forced: place < forced,
      };
    }),
  });
}

/** The mean of some heads of a kind, with a name, or of all (viz/decoding/attention.py).
 * @type {(every: Mean, maps: (WeightRows & AttentionSite & { heads: number })[], heads: (AttentionSite & { head: number })[]) => { name: string; weights: Numbers }} */
export function meanOf(every, maps, heads) {
  const own = heads.filter(({ kind }) => kind === maps[0].kind).sort((one, other) => one.layer - other.layer || one.head - other.head);
  const count = maps.reduce((sum, map) => sum + map.heads, 0);
  if (!own.length || own.length === count) return { ...every, weights: meanWeights(maps).weights };
  const parts = own.map(({ layer, head }) => {
    const { weights, queries, keys } = maps.find((map) => map.layer === layer) ?? maps[0];
    return { weights: weights.subarray(head * queries * keys, (head + 1) * queries * keys), queries, keys };
  });
  const [kind] = every.name.split(",");
  const listed = own.map(({ layer, head }) => `${layer}.${head}`).join(", ");
  const several = own.length <= constants.NAMED_HEADS ? `${kind}, mean of the heads ${listed}` : `${kind}, mean of ${own.length} heads`;
  const name = own.length === 1 ? `${kind}, layer ${own[0].layer}, head ${own[0].head}` : several;
  return { name, weights: meanWeights(parts).weights };
}

/** Texts, and whether each continues the token before it without a space. @type {(tokens: string[]) => Token[]} */
export function joinedTexts(tokens) {
  return tokens.map((token, place) => {
    const text = tokenText(token);
    const joins = place > 0 && !token.startsWith(WORD_START) && !isSpecial(token) && !isSpecial(tokens[place - 1]);
    return { text: text.startsWith(CONTINUED) ? text.slice(CONTINUED.length) : text, joins };
  });
}
