// What keys, buttons and swipes ask of a talk.

// CSS pixels and milliseconds: what is shorter is a tap, and what takes longer a drag.
const SWIPE = { least: 60, most: 800 };

/** What a key asks for: the number of a scene, a step from the present one, or nothing. */
export function asked(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  // Some keyboards give digits only with shift; the place of the key is the same.
  const digit = /^[0-9]$/.test(event.key) ? event.key : /^Digit([0-9])$/.exec(event.code)?.[1];
  if (digit) return { number: Number(digit) || 10 };
  const step = { PageDown: 1, " ": 1, n: 1, PageUp: -1, b: -1 }[event.key];
  return step ? { step } : null;
}

/** The number of the scene that is asked for, as `asked` says it, from another on; null where there is none. */
export function sceneAsked({ number, step }, from, count) {
  const to = number ?? Math.min(Math.max(from + step, 1), count);
  const isThere = Number.isInteger(to) && to >= 1 && to <= count;
  return isThere && !(step && to === from) ? to : null;
}

/** Which scene a finger asks for that was put down and lifted, `{x, y, at}`: to the left the next, 1; or -1; or 0 for none. */
export function swiped(from, to) {
  const [across, down] = [to.x - from.x, to.y - from.y];
  const isSwipe = Math.abs(across) >= SWIPE.least && Math.abs(across) > 2 * Math.abs(down);
  if (!isSwipe || to.at - from.at > SWIPE.most) return 0;
  return across < 0 ? 1 : -1;
}

/** Asks the talk of this window for the scene before this one or the one after it, -1 or 1, or with 0 for this one again. */
export function askForScene(way) {
  window.dispatchEvent(new CustomEvent("headscope-step", { detail: way }));
}
