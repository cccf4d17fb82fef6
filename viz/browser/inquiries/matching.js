// Which questions are meant by what somebody typed, best first.

// Words of questions, which tell none from another.
const COMMON = new Set("a an and are be can could did do does for from had has have head heads how i if in is it its me most of on one or show tell that the there they this to was were what when where which who why will with word words would".split(" "));

const EXACT = 4;
const BEGUN = 3;
const WITHIN = 1.5;
const MISTYPED = 1;
const KEYWORD = 0.7;
const COMMON_WORD = 0.1;

/** The words of a text: small letters and digits without accents. */
export function wordsOf(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}<>/]+/u)
    .filter(Boolean);
}

/** Whether one word becomes the other, or its beginning, by one letter more, less, changed or swapped. */
export function isMistyped(typed, word) {
  if (typed.length < 4) return false;
  const most = Math.max(typed.length, word.length);
  let before = Array.from({ length: word.length + 1 }, (_, place) => place);
  let earlier = null;
  for (let row = 1; row <= typed.length; row++) {
    const now = [row];
    for (let place = 1; place <= word.length; place++) {
      const changed = before[place - 1] + (typed[row - 1] === word[place - 1] ? 0 : 1);
      now[place] = Math.min(changed, before[place] + 1, now[place - 1] + 1);
      const swapped = earlier && typed[row - 1] === word[place - 2] && typed[row - 2] === word[place - 1];
      if (swapped) now[place] = Math.min(now[place], earlier[place - 2] + 1);
    }
    earlier = before;
    before = now;
  }
  // A long word that is still being typed ends anywhere.
  const fits = most - typed.length > 1 ? before.slice(typed.length - 1, typed.length + 2) : before.slice(-1);
  return Math.min(...fits) <= 1;
}

function likeness(typed, words) {
  let best = 0;
  for (const word of words) {
    if (word === typed) return EXACT;
    if (word.startsWith(typed)) best = Math.max(best, BEGUN);
    else if (typed.length > 2 && word.includes(typed)) best = Math.max(best, WITHIN);
    else if (best < MISTYPED && isMistyped(typed, word)) best = MISTYPED;
  }
  return best;
}

/**
 * The questions that fit what was typed, best first; all of them, as they stand, before anything is typed.
 *
 * Every word that is not common has to be in a question; where no question has them all, those with most of them fit.
 *
 * @param {string} typed - by a person.
 * @param {Array} questions - each a list of a key, a text and further words.
 */
export function matching(typed, questions) {
  const asked = wordsOf(typed);
  if (!asked.length) return questions;
  const scored = questions.map((question, place) => {
    const [text, further] = [wordsOf(question[1]), wordsOf(question[2])];
    let score = 0;
    let found = 0;
    for (const word of asked) {
      const own = Math.max(likeness(word, text), KEYWORD * likeness(word, further));
      const isCommon = COMMON.has(word);
      score += own * (isCommon ? COMMON_WORD : 1);
      if (own && !isCommon) found += 1;
    }
    return { question, place, score, found };
  });
  const needed = asked.filter((word) => !COMMON.has(word)).length;
  const most = Math.max(...scored.map(({ found }) => found), 0);
  if (needed && !most) return [];
  return scored
    .filter(({ score, found }) => score > 0 && found >= Math.min(needed, most))
    .sort((one, other) => other.score - one.score || one.place - other.place)
    .map(({ question }) => question);
}
