// Reads the steps of a decoding from a payload of viz/decoding/payload.py.

import { Envelope } from "../canvas/envelope.js";
import { percent } from "../canvas/numbers.js";
import { tr } from "../canvas/wording.js";

/**
 * @typedef {object} Step
 * @property {string[]} texts - the likeliest tokens.
 * @property {number[]} probabilities
 * @property {number | null} chosen - the place of the token written among them.
 * @property {number} probability
 * @property {number} rank
 * @property {boolean} forced
 */
/**
 * @typedef {{ name: string, epoch: number, step: number, stage: boolean, themes: Themes, source: Token[], target: Token[],
 *   cross: Mean, own: Mean, steps: Step[] }} Header
 */
/** @typedef {{ text: string, place: number, probability: number, chosen: boolean, key: string }} Candidate */
/** @typedef {ReturnType<Writing["frame"]>} Frame */

/** A decoding: its steps with their attention weights. */
export class Writing extends /** @type {Opened<Header>} */ (Envelope) {
  /** @param {Bytes} bytes */
  constructor(bytes) {
    super(bytes);
    this.count = this.steps.length;
  }

  /** One step: both sentences with their weights, the token written, and the other candidates. @param {number} step */
  frame(step) {
    const { source, target, count } = this;
    const { texts, probabilities, chosen, probability, rank, forced } = this.steps[step];
    const row = (/** @type {Token[]} */ tokens, /** @type {Float32Array} */ weights, /** @type {number} */ width) =>
      weighted(tokens, weights.subarray(step * width, step * width + tokens.length));
    /** @type {Candidate[]} */
    const candidates = texts.map((text, place) => ({
      ...{ text, place, probability: probabilities[place], chosen: place === chosen },
      key: place < 10 ? String((place + 1) % 10) : "",
    }));
    const written = target[step + 1];
    return {
      source: row(source, this.cross.weights, source.length),
      // The decoder reads <s> first, which it did not write.
      target: row(target.slice(0, step + 1), this.own.weights, count).map((token, place) => ({
        ...token,
        written: place ? this.steps[place - 1].probability : null,
      })),
      written,
      candidates,
      // The token written, if it is not among the likeliest.
      other: chosen === null ? { text: written.text, probability, rank } : null,
      forced,
      probability,
    };
  }
}

/** Tokens with their weights, absolute and relative to the largest.
 * @type {(tokens: Token[], weights: Float32Array) => WeighedToken[]} */
export function weighted(tokens, weights) {
  // A fully masked row has only zeros.
  const most = Math.max(...weights) || 1;
  return tokens.map((token, place) => ({ ...token, weight: weights[place], strength: weights[place] / most }));
}

/** A probability or weight in percent, as short as possible without being wrong. @type {(share: number) => string} */
export function shortest(share) {
  if (share >= 0.995) return share === 1 ? percent(1) : percent(Math.floor(1000 * share) / 1000, 1);
  if (share < 0.0005) return share === 0 ? percent(0) : `< ${percent(0.001, 1)}`;
  return percent(share, share < 0.0995 ? 1 : 0);
}

/** A sentence about a step for screen readers. @type {(frame: Frame, step: number, count: number) => string} */
export function spokenStep(frame, step, count) {
  const most = frame.source.reduce((one, other) => (other.weight > one.weight ? other : one));
  const english = frame.forced
    ? "Step {step} of {count}: “{word}” is given ({share}); the model looks most at “{most}” ({weight})."
    : "Step {step} of {count}: “{word}” is chosen ({share}); the model looks most at “{most}” ({weight}).";
  return tr(english, {
    ...{ step: step + 1, count, word: frame.written.text, share: shortest(frame.probability) },
    ...{ most: most.text, weight: shortest(most.weight) },
  });
}

/** A key's command: a step to go to, a candidate's place, or play and pause; null for other keys.
 * @type {(key: string, step: number, count: number, nCandidates: number) => { step?: number; place?: number; plays?: boolean } | null} */
export function keyAsked(key, step, count, nCandidates) {
  /** @type {Record<string, number>} */
  const places = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: count - 1 };
  const to = places[key];
  if (to !== undefined) return { step: Math.min(Math.max(to, 0), count - 1) };
  if (key === "k" || key === " ") return { plays: true };
  if (!/^[0-9]$/.test(key)) return null;
  const place = (Number(key) + 9) % 10;
  return place < nCandidates ? { place } : null;
}
