// Buttons in a row or a column as one stop of the Tab key.

/** The step of an arrow key. @type {Record<string, number | undefined>} */
export const WAYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The index a key moves to among so many buttons, or null where it moves to none.
 * @type {(key: string, from: number, count: number) => number | null} */
export function movedTo(key, from, count) {
  const to = key === "Home" ? 0 : key === "End" ? count - 1 : from + (WAYS[key] ?? NaN);
  return isNaN(to) ? null : Math.min(Math.max(to, 0), count - 1);
}

/** Moves from the button that has the focus to another of them, which becomes the stop of the Tab key; `key` is null for none.
 * @type {(event: Event, buttons: HTMLElement[], key: string | null) => void} */
export function moveAmong(event, buttons, key) {
  const from = buttons.findIndex((button) => button === event.target);
  const to = key === null || from < 0 ? null : movedTo(key, from, buttons.length);
  if (to === null) return;
  event.preventDefault();
  event.stopPropagation();
  for (const each of buttons) each.tabIndex = each === buttons[to] ? 0 : -1;
  buttons[to].focus();
}

/** Makes buttons one stop of the Tab key, at first at the one of that index; the arrow keys, Home and End move among them.
 * @type {(buttons: HTMLElement[], current?: number) => void} */
export function roving(buttons, current = 0) {
  buttons.forEach((button, place) => {
    button.tabIndex = place === current ? 0 : -1;
    button.addEventListener("keydown", (event) => {
      moveAmong(event, buttons, event.ctrlKey || event.metaKey || event.altKey ? null : event.key);
    });
  });
}
