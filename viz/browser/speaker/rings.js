// A browser puts a ring around what a click has focused as soon as any key is pressed, even a shortcut of the page.

const LISTENING = "input, textarea, select, canvas, [contenteditable], [role]:not([role=button])";
const OF_FOCUS = ["Tab", "Enter", " "];
const MODIFIERS = ["Alt", "AltGraph", "Control", "Meta", "Shift"];

/** @type {HTMLElement | null} */
let clicked = null;

/** Remembers what a click has focused, without a ring; for every "pointerup". */
export function noteClick() {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  clicked = found?.matches(":focus-visible") ? null : /** @type {HTMLElement | null} */ (found);
}

/**
 * Takes the focus from what was clicked when a key is pressed that belongs to the page, before the browser draws a ring.
 * What hears letters itself keeps it, but not on the stage or on the way there, where all keys are the page's.
 * @type {(event: KeyboardEvent, isOnStage: boolean) => void}
 */
export function hideRing({ key }, isOnStage) {
  if (MODIFIERS.includes(key)) return;
  const isShortcut = key === "Escape" || (key.length === 1 && key !== " ");
  const isOfStage = isOnStage ? !OF_FOCUS.includes(key) : key.toLowerCase() === "p";
  if (isOfStage || (isShortcut && !clicked?.matches(LISTENING))) clicked?.blur();
  clicked = null;
}
