// Keyboard shortcuts that work wherever the focus is, and the wheel with Ctrl or Meta.

/** Whether the focused element needs the key itself: a field, a word being moved, or a dialog.
 * @type {(event: Event) => boolean} */
export function typing(event) {
  const path = /** @type {HTMLElement[]} */ (event.composedPath());
  const [target] = path;
  const takesKeys = target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT", "LI"].includes(target.tagName);
  return takesKeys || path.some((node) => node.getAttribute?.("role") === "dialog");
}

/** The event's key, letters in lower case; "[" and "]" for Shift with an arrow; null with Ctrl, Alt or Meta.
 * @type {(event: KeyboardEvent) => string | null} */
export function plainKey(event) {
  // Many keyboards type "[" with AltGr, which reports Ctrl and Alt.
  const written = event.getModifierState("AltGraph") || (!event.ctrlKey && !event.altKey);
  if (!written || event.metaKey) return null;
  if (event.shiftKey && event.key === "ArrowLeft") return "[";
  if (event.shiftKey && event.key === "ArrowRight") return "]";
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/** Hears a wheel with Ctrl or Meta as steps closer, 1, or back, -1. @type {(root: HTMLElement, zoom: (step: number) => void) => void} */
export function zoomedByWheel(root, zoom) {
  const turned = (/** @type {WheelEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1 : -1);
  };
  root.addEventListener("wheel", turned, { passive: false });
}
