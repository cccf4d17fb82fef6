// Buttons in a row or a column as one stop of the Tab key.

const WAYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** The index a key moves to among so many buttons, or null where it moves to none. */
export function movedTo(key, from, count) {
  const to = { Home: 0, End: count - 1 }[key] ?? (key in WAYS ? from + WAYS[key] : null);
  return to === null ? null : Math.min(Math.max(to, 0), count - 1);
}

/** Moves from the button that has the focus to another of them, which becomes the stop of the Tab key; `key` is null for none. */
export function moveAmong(event, buttons, key) {
  const from = buttons.indexOf(event.target);
  const to = key === null || from < 0 ? null : movedTo(key, from, buttons.length);
  if (to === null) return;
  event.preventDefault();
  event.stopPropagation();
  for (const each of buttons) each.tabIndex = each === buttons[to] ? 0 : -1;
  buttons[to].focus();
}

/** Makes buttons one stop of the Tab key, at first at the one of that index; the arrow keys, Home and End move among them. */
export function roving(buttons, current = 0) {
  buttons.forEach((button, place) => {
    button.tabIndex = place === current ? 0 : -1;
    button.addEventListener("keydown", (event) => {
      moveAmong(event, buttons, event.ctrlKey || event.metaKey || event.altKey ? null : event.key);
    });
  });
}
