// A trace of the engine as the player of decoding steps takes it: the envelope that viz/decoding/payload.py packs.

import { PackedBody, sealed } from "./body.js";
import { isSpecial, meanWeights } from "./grouping.js";
import { CONTINUED, WORD_START, tokenText } from "./labels.js";

/**
 * The envelope of a decoding.
 *
 * @param {object} template - the header of an envelope of the same model.
 * @param {object} trace - of the engine.
 * @param {object} options - `name` of the decoding, `step` shown first, and how many tokens were `forced`.
 */
export function packedWriting(template, trace, { name, epoch = 0, step = 0, stage = false, forced = 0 }) {
  const body = new PackedBody();
  const { predictions, target, source, maps } = trace;
  const last = predictions.tokens.length - 1;
  const of = (kind) => meanWeights(maps.filter((map) => map.kind === kind)).weights;
  const header = {
    ...template,
    ...{ name, epoch, step, stage },
    source: joinedTexts(source.tokens),
    target: joinedTexts([...target.tokens, predictions.tokens[last]]),
    cross: { ...template.cross, start: body.add(of("cross")) },
    own: { ...template.own, start: body.add(of("decoder")) },
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
  };
  return sealed(header, body);
}

/** Texts, and whether each continues the token before it without a space. */
function joinedTexts(tokens) {
  return tokens.map((token, place) => {
    const text = tokenText(token);
    const joins = place > 0 && !token.startsWith(WORD_START) && !isSpecial(token) && !isSpecial(tokens[place - 1]);
    return { text: text.startsWith(CONTINUED) ? text.slice(CONTINUED.length) : text, joins };
  });
}
