// What a stop answers, once the visitor has taken another token or switched a head off.

import { tr } from "../../canvas/wording.js";

// Of a longer text, only what changed is told.
const MOST_WORDS = 11;

/** One sentence on what the visitor did, true of this answer. @type {(stop: Stop, answer: StopAnswer, figure: Walked) => string} */
export function answered(stop, answer, figure) {
  const [before, now] = [figure.written, answer.words].map((words) => words.filter(({ special }) => !special));
  const same = before.length === now.length && before.every(({ text }, place) => text === now[place].text);
  const off = stop.does?.ask === "without";
  if (stop.place.at === "stack") return withoutCross(now, same);
  if (!now.length) return off ? tr("Without this head, the model writes nothing.") : tr("Now the model writes nothing.");
  if (same && !off) return tr("Even so, it ends up writing the same words.");
  if (same) return headCount(figure) > 1 ? tr("The words stay the same: the other heads are enough.") : tr("The words stay the same without it.");
  const words = excerpt(before, now);
  return off ? tr("Without this head, it writes: “{words}”", { words }) : tr("Now it writes: “{words}”", { words });
}

/** @type {(now: FigureWord[], same: boolean) => string} */
function withoutCross(now, same) {
  if (!now.length) return tr("Without cross-attention, the model writes nothing.");
  if (same) return tr("Even without cross-attention, the words stay the same.");
  return tr("Without it, the model writes: “{words}”", { words: excerpt([], now) });
}

/** @type {(figure: Walked) => number} */
function headCount({ stacks }) {
  return stacks.flatMap(({ blocks }) => blocks).reduce((sum, { heads, layers }) => sum + heads * layers.length, 0);
}

/** The words as a text; of many, those from where they differ on. @type {(before: FigureWord[], now: FigureWord[]) => string} */
function excerpt(before, now) {
  if (now.length <= MOST_WORDS) return joinedWords(now);
  const differs = now.findIndex(({ text }, place) => text !== before[place]?.text);
  // A text that merely ends earlier is told by its end.
  const start = Math.min(differs < 0 ? now.length : Math.max(0, differs - 1), now.length - MOST_WORDS);
  const end = start + MOST_WORDS;
  return `${start ? "… " : ""}${joinedWords(now.slice(start, end))}${end < now.length ? " …" : ""}`;
}

/** @type {(words: FigureWord[]) => string} */
function joinedWords(words) {
  return words.map(({ text, joins }, place) => (place && !joins ? ` ${text}` : text)).join("").trim();
}
