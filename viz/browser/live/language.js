// A guess whether a text is in the language that a model reads, as viz/shell/language.py guesses it with a larger table.

import languages from "./languages.json" with { type: "json" };

// How far another language must be ahead; of 800 English sentences none is, and of their German translations 784 are
// (python -m benchmarks.languages).
const AHEAD = 2;
const WEIGHT_STEP = 1 / 12;

/** @type {(text: string) => Bytes} */
const decoded = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** The weights of sequences of bytes, each byte spelled as one character; from py3langid (BSD licence). */
const gramWeights = (() => {
  const [{ length }, weights] = [languages.names, new Int8Array(decoded(languages.weights).buffer)];
  return new Map(atob(languages.grams).split("\0").map((gram, place) => [gram, weights.subarray(place * length, (place + 1) * length)]));
})();
const LONGEST_GRAM = Math.max(...[...gramWeights.keys()].map((gram) => gram.length));

/** Whether there are weights for a language. @type {(language: string) => boolean} */
export function isKnown(language) {
  return languages.names.includes(language);
}

/**
 * Whether a text is probably not in a language, guessed from its letters.
 *
 * A naive Bayes classifier over sequences of bytes (Lui and Baldwin 2012, langid.py).
 *
 * @param {string} text - any; a short one tells nothing.
 * @param {string} language - its code; nothing is foreign to one that the table lacks.
 */
export function isForeign(text, language) {
  const own = languages.names.indexOf(language);
  if (own < 0) return false;
  const spelled = text === text.toUpperCase() ? text.toLowerCase() : text;
  const bytes = String.fromCharCode(...new TextEncoder().encode(spelled.normalize("NFC")));
  const counts = new Map();
  for (let start = 0; start < bytes.length; start += 1) {
    for (let length = 1; length <= LONGEST_GRAM && start + length <= bytes.length; length += 1) {
      const gram = bytes.slice(start, start + length);
      if (gramWeights.has(gram)) counts.set(gram, (counts.get(gram) ?? 0) + 1);
    }
  }
  const scores = languages.names.map(() => 0);
  for (const [gram, count] of counts) gramWeights.get(gram)?.forEach((weight, place) => (scores[place] += Math.log1p(count) * weight * WEIGHT_STEP));
  const others = scores.filter((_, place) => place !== own);
  return (Math.max(...others) - scores[own]) / Math.sqrt(bytes.length || 1) > AHEAD;
}
