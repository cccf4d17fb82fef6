// Text in capitals, in ordinary case, as model/paper/letter_case.py puts it.

// A text is in capitals if this share of its words is.
const MOSTLY_CAPITALS = 0.75;

// Of Western and Central European languages, whose case is the same in every version of Unicode.
const LATIN = "A-Za-zÀ-ÖØ-öø-ž";
const CASED = new RegExp(`[${LATIN}]+(?:['’][${LATIN}]+)*`, "gu");
const SENTENCE_START = new RegExp(`((?:^|[.!?…]\\s+)[^${LATIN}0-9]*)([${LATIN}])`, "gu");

/** Whether a text has two Latin words in capitals or more, and few others. @type {(text: string) => boolean} */
export function isInCapitals(text) {
  const words = (text.match(CASED) ?? []).filter((each) => each.length > 1);
  // tHE and THE, but neither The, the, McCoy nor one eBay.
  const odd = words.filter((each) => each.slice(1) !== each.slice(1).toLowerCase() && !/\p{Ll}$/u.test(each));
  return odd.length > 1 && odd.length >= MOSTLY_CAPITALS * words.length;
}

/** Each word as a vocabulary knows it best, that is in the fewest pieces, and the first of a sentence with a capital.
 * @type {(text: string, pieces: (word: string) => number) => string} */
export function inOrdinaryCase(text, pieces) {
  const words = text.replace(CASED, (word) => {
    const capital = word[0].toUpperCase() + word.slice(1).toLowerCase();
    if (word.toUpperCase().split(/['’]/)[0] === "I") return capital;
    return [word.toLowerCase(), capital, word.toUpperCase()].reduce((best, each) => (pieces(each) < pieces(best) ? each : best));
  });
  return words.replace(SENTENCE_START, (_, before, letter) => before + letter.toUpperCase());
}
