// Translates keys, buttons and swipes into moves within a talk.

// Minimum CSS pixels and maximum milliseconds: a shorter movement is a tap, a slower one a drag.
const SWIPE = { least: 60, most: 800 };

/** @type {Record<string, number | undefined>} */
const SCENE_KEYS = { PageDown: 1, " ": 1, n: 1, PageUp: -1, b: -1 };

/** The move for a key: `{number}` of a scene, `{step}` from the current one, or null.
 * @type {(event: KeyboardEvent) => Wish | null} */
export function asked(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  // Some keyboards type digits with Shift; `code` names the key itself.
  const digit = /^[0-9]$/.test(event.key) ? event.key : /^Digit([0-9])$/.exec(event.code)?.[1];
  if (digit) return { number: Number(digit) || 10 };
  const step = SCENE_KEYS[event.key];
  return step ? { step } : null;
}

/** The number of the scene that a move leads to from scene `from`; null if there is none.
 * @type {(wish: Wish, from: number, count: number) => number | null} */
export function sceneAsked({ number, step = 0 }, from, count) {
  const to = number ?? Math.min(Math.max(from + step, 1), count);
  const isThere = Number.isInteger(to) && to >= 1 && to <= count;
  return isThere && !(step && to === from) ? to : null;
}

/** Where and when a finger touched, in CSS pixels and milliseconds. @typedef {{ x: number, y: number, at: number }} Touched */

/** The step of a finger's movement between two: 1 to the left, -1 to the right, 0 for no swipe.
 * @type {(from: Touched, to: Touched) => number} */
export function swiped(from, to) {
  const [across, down] = [to.x - from.x, to.y - from.y];
  const isSwipe = Math.abs(across) >= SWIPE.least && Math.abs(across) > 2 * Math.abs(down);
  if (!isSwipe || to.at - from.at > SWIPE.most) return 0;
  return across < 0 ? 1 : -1;
}

/** Asks this window's talk for the previous (-1) or next (1) scene, or for this one again (0).
 * @type {(way: number) => void} */
export function askForScene(way) {
  window.dispatchEvent(new CustomEvent("headscope-step", { detail: way }));
}
