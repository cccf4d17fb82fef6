// Mounts our components in Streamlit.

/**
 * The function that a component's script exports. It keeps one drawing per mounted root.
 *
 * Streamlit calls it with the same element on every run of the page's script and every change of theme; the drawing
 * takes the new data. The function it returns disposes of the drawing of a root that is no longer on the page:
 * Streamlit also calls it as soon as a newer call has begun, which goes on with the same drawing.
 *
 * @template Data
 * @param {string} selector - finds the component's root.
 * @param {(root: HTMLElement, page: { engine: ModelEngine | null, height: number | null }) => Drawing<Data>} make - makes a root's drawing,
 *   with the engine of a page that runs the model itself, and its height.
 * @param {string} [state] - the state that `report(value)` sets in Python; `trigger(event, value)` sends an event.
 */
export function mounted(selector, make, state = "") {
  /** @type {WeakMap<HTMLElement, Drawing<Data>>} */
  const drawings = new WeakMap();
  return (/** @type {Mounting<Data>} */ { parentElement, data, setStateValue, setTriggerValue, engine = null, height = null }) => {
    const root = /** @type {HTMLElement} */ (parentElement.querySelector(selector));
    // The reader may have left the page before the script loaded; a detached root has no size to draw in.
    if (!root.isConnected) return () => {};
    const drawing = drawings.get(root) ?? make(root, { engine, height });
    drawings.set(root, drawing);
    drawing.update(data, (value) => setStateValue(state, value), setTriggerValue);
    // Streamlit shows a component's HTML before its script: until now, keys had no effect.
    root.removeAttribute("aria-busy");
    return () => {
      if (root.isConnected || !drawings.delete(root)) return;
      drawing.dispose();
    };
  };
}
