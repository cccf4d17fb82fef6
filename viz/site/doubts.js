// What there is to say against a sentence, as the app does (viz/shell/answer.py).

import { visibleCharacter } from "../browser/live/labels.js";
import { isForeign, isKnown } from "../browser/live/language.js";
import { hasSeveral, unsuited } from "../browser/live/suited.js";
import { languageName } from "./frame.js";
import { say } from "./words.js";

/** @import { Card } from "./files.js" */

// Characters that the vocabulary lacks, of which each is named.
const MOST_UNSEEN = 12;

/** The doubts about a text for a model, with its characters that the vocabulary lacks and the number of its tokens.
 * @type {(given: string, card: Pick<Card, "reads" | "well_read">, unseen: string[], tokens: number) => string[]} */
export function doubtsOf(given, { reads, well_read: limit }, unseen, tokens) {
  if (!isKnown(reads)) return [];
  const { says, text } = unsuited(given, reads);
  // A text in capitals is read in small letters.
  const readable = text.toLowerCase();
  const letters = unseen.filter((each) => readable.includes(each.toLowerCase())).slice(0, MOST_UNSEEN);
  // Each kept to itself, or letters that run to the left would change places.
  if (letters.length) says.push(["reads_bytes", { letters: letters.map((each) => `\u2068${visibleCharacter(each)}\u2069`).join(" ") }]);
  if (limit && tokens > limit && hasSeveral(given)) says.push(["has_several", { tokens, limit }]);
  if (isForeign(text, reads)) says.push(["reads_one_language", { language: languageName(reads) }]);
  return says.map(([key, values]) => say(key, values));
}
