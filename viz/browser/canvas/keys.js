// Keys that work wherever the focus is.

/** Whether a key belongs to what has the focus: a field, a word that is moved, or a dialog. */
export function typing(event) {
  const path = event.composedPath();
  const [target] = path;
  const takesKeys = target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT", "LI"].includes(target.tagName);
  return takesKeys || path.some((node) => node.getAttribute?.("role") === "dialog");
}

/** The key of an event, letters small; "[" and "]" for Shift with the arrows; null with Ctrl, Alt or Meta. */
export function plainKey(event) {
  // On many keyboards "[" is written with AltGr, which counts as Ctrl and Alt.
  const written = event.getModifierState("AltGraph") || (!event.ctrlKey && !event.altKey);
  if (!written || event.metaKey) return null;
  if (event.shiftKey && event.key === "ArrowLeft") return "[";
  if (event.shiftKey && event.key === "ArrowRight") return "]";
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}
