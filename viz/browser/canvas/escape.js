// Escape lets go of what a picture holds, wherever the focus is.

import { plainKey, typing } from "./keys.js";

/**
 * Calls `letGo` for Escape; a key that let something go does nothing else.
 *
 * @param {() => boolean} letGo - lets go of what is held, one thing at a time; whether there was anything.
 * @returns {() => void} ends it.
 */
export function escapable(letGo) {
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const isTyping = typing(event) && /** @type {HTMLInputElement} */ (event.composedPath()[0]).type !== "range";
    if (event.defaultPrevented || plainKey(event) !== "Escape" || isTyping || !letGo()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  // In the capture phase, ahead of the stage, which leaves full screen.
  window.addEventListener("keydown", onKey, true);
  return () => window.removeEventListener("keydown", onKey, true);
}
