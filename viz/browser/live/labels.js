// Tokens made safe to show, as viz/draw/labels.py does it: nothing in them stays unseen.

import constants from "../../draw/constants.json" with { type: "json" };

export const CONTINUED = "…";
const SPACE_SIGN = "␣";
// SentencePiece's mark for a space before a token.
export const WORD_START = "▁";
const { LONGEST_LABEL } = constants;

// The last are languages, de_DE of mBART and deu_Latn of NLLB.
const SPECIAL = /^(?:<\/?s>|<pad>|<unk>|(?:<0x[0-9A-F]{2}>)+|[a-z]{2,3}_[A-Z](?:[A-Z]|[a-z]{3}))$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/u;
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** A token as a reader knows it: "▁cat" is "cat", "ze" is "…ze", and a space alone is "␣".
 * @type {(token: string) => string} */
export function tokenText(token) {
  if (SPECIAL.test(token)) return token;
  if (token.startsWith(WORD_START)) return plainLabel(token.slice(1) || SPACE_SIGN);
  return plainLabel(/^[\p{L}\p{N}\p{M}]/u.test(token) ? CONTINUED + token : token);
}

/** One plain text for each token or label; labels have an id below 0. @type {(labels: Pieces) => string[]} */
export function axisTexts({ tokens, ids }) {
  return tokens.map((token, place) => (ids[place] < 0 ? plainLabel(token) : tokenText(token)));
}

/** A label other than a token as short plain text. @type {(label: string) => string} */
export function plainLabel(label) {
  const spaced = label.replace(/[▁\p{Zs}]/gu, SPACE_SIGN);
  let shown = [...spaced].map(visibleCharacter).join("") || "∅";
  if (/^\p{M}/u.test(shown)) shown = `◌${shown}`;
  if ([...shown].length > LONGEST_LABEL) shown = `${[...shown].slice(0, LONGEST_LABEL - 1).join("")}…`;
  return RIGHT_TO_LEFT.test(shown) ? `\u2068${shown}\u2069` : shown;
}

/** A character, or a sign for it where nobody would see it. @type {(character: string) => string} */
export function visibleCharacter(character) {
  if (character === "\x7f") return "\u2421";
  if (character < " ") return String.fromCharCode(0x2400 + character.charCodeAt(0));
  if (!UNSEEN.test(character)) return character;
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
