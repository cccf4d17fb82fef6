// How one translation turns into another, word by word.

/**
 * A word of a translation, with its tokens.
 *
 * @typedef {{ text: string, joins: boolean, first: number, end: number, doubtful?: boolean, said?: string,
 *   isNew?: boolean }} Word
 */
/** @typedef {"same" | "gone" | "new"} Fate */

/**
 * What becomes of the words of two texts, in reading order: `[fate, word]`, where fate is "same", "gone" or "new".
 *
 * What both share is a longest common subsequence; of a word that stays, the one of the second text is given.
 * @type {(before: Word[], after: Word[]) => [Fate, Word][]}
 */
export function turned(before, after) {
  const key = (/** @type {Word} */ { text, joins }) => `${joins ? "" : " "}${text}`;
  const [old, next] = [before.map(key), after.map(key)];
  // common[i][j]: how much the rest of one shares with the rest of the other.
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = next.length - 1; j >= 0; j--) {
      common[i][j] = old[i] === next[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  /** @type {[Fate, Word][]} */
  const fates = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      fates.push(["same", after[j]]);
      [i, j] = [i + 1, j + 1];
    } else if (i < old.length && (j === next.length || common[i + 1][j] >= common[i][j + 1])) fates.push(["gone", before[i++]]);
    else fates.push(["new", after[j++]]);
  }
  return fates;
}

/** The words of a text, each with whether another text has it too. @type {(words: Word[], before: Word[]) => Word[]} */
export function marked(words, before) {
  return turned(before, words)
    .filter(([fate]) => fate !== "gone")
    .map(([fate, word]) => ({ ...word, isNew: fate === "new" }));
}

/** Heads as an address has them, in words: the names of one or two, or how many they are.
 * @type {(off: string) => string} */
export function headNames(off) {
  const heads = off.split("-");
  if (heads.length > 2) return `${heads.length} heads`;
  return heads
    .map((head) => head.split("."))
    .map(([kind, layer, number]) => `${kind[0].toUpperCase()}${kind.slice(1)} ${layer}.${number}`)
    .join(" and ");
}
