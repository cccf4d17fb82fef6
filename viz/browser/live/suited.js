// Text that people read with ease and a model may not, as viz/shell/suited.py finds it.

import constants from "../../draw/constants.json" with { type: "json" };
import { withoutInvisible } from "../engine/invisible.js";

const { LONGEST_USUALLY } = constants;
/** @type {Record<string, number | undefined>} */
const LONGEST_WORD = constants.LONGEST_WORD;
const MOST_NAMED = 4;

const LINK = /(?:https?:\/\/|www\.)\S*[^\s.,;:!?)\]}”"']|\S+@[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)+/giu;
const MARKUP = /<\/?[a-z][^<>]*>|&(?:[a-z]+|#\d+|#x[\da-f]+);|(\*\*|__|`)(?=\S).+?(?<=\S)\1|\[[^\]]+\]\([^)]+\)/i;
const WORD = /\p{L}+(?:['’]\p{L}+)*/gu;
const EMOJI = /[\p{So}\p{Sk}]/gu;
const KEYCAP = "\u20e3";
const SENTENCE_END = new RegExp(constants.SENTENCE_END, "u");
const HIDDEN = /[\p{Co}\p{Cn}]/gu;

/** Whether a text has several sentences. @type {(text: string) => boolean} */
export const hasSeveral = (text) => SENTENCE_END.test(text);

/**
 * What in a text no model of sentences has learned to read: `says`, keys of the site's catalogues with their values, one
 * for each thing; and the text without it, as far as this matters to a guess of its language.
 *
 * `language` is the code of the language that the model reads.
 *
 * @type {(text: string, language: string) => { says: [key: string, values: Values][]; text: string }}
 */
export function unsuited(text, language) {
  /** @type {[key: string, values: Values][]} */
  const says = [];
  text = withoutInvisible(text);
  const hidden = [...new Set(text.match(HIDDEN))];
  if (hidden.length) {
    const names = hidden.slice(0, MOST_NAMED).map((each) => `U+${codePoint(each).toString(16).toUpperCase().padStart(4, "0")}`);
    says.push(["reads_hidden", { names: names.join(", ") + (hidden.length > MOST_NAMED ? " …" : "") }]);
    for (const each of hidden) text = text.replaceAll(each, "");
  }
  if ((text.match(EMOJI) ?? []).some((each) => codePoint(each) >= 0x2600)) {
    says.push(["has_emoji", {}]);
    text = text.replace(EMOJI, (each) => (codePoint(each) >= 0x2600 ? " " : each)).replaceAll(KEYCAP, "");
  }
  if (text.search(LINK) >= 0) {
    says.push(["has_addresses", {}]);
    text = text.replace(LINK, " ");
  }
  if (MARKUP.test(text)) {
    says.push(["has_markup", {}]);
    text = text.replace(/<[^<>]*>|&#?\w+;|[*_`]/g, " ");
  }
  const words = text.match(WORD) ?? [];
  if (words.length === 1 && words[0].length > (LONGEST_WORD[language] ?? LONGEST_USUALLY)) says.push(["has_long_word", {}]);
  return { says, text };
}

/** @type {(character: string) => number} */
function codePoint(character) {
  return character.codePointAt(0) ?? 0;
}
