// How our components are mounted by Streamlit.

/**
 * What a component's script exports: one drawing for each place where it is mounted.
 *
 * Streamlit calls it for every run of the page's script and for every change of theme, with the element of the first
 * time; the drawing stays, takes the new data, and goes when the component does.
 *
 * @param {string} selector - of the component's root.
 * @param {function} make - the drawing of a root, with `update(data, report, trigger)` and `dispose()`.
 * @param {string} state - the name under which Python is told what `report` is given; `trigger` is given the name of an
 *   event and its value.
 */
export function mounted(selector, make, state) {
  const drawings = new WeakMap();
  return ({ parentElement, data, setStateValue, setTriggerValue }) => {
    const root = parentElement.querySelector(selector);
    // The script may have come when its page was left: what is out of the document has no size to draw in.
    if (!root.isConnected) return () => {};
    if (!drawings.has(root)) drawings.set(root, make(root));
    const drawing = drawings.get(root);
    drawing.update(data, (value) => setStateValue(state, value), setTriggerValue);
    // Streamlit shows a component's HTML before it has loaded the script; until now nothing here heard a key.
    root.removeAttribute("aria-busy");
    return () => {
      drawing.dispose();
      drawings.delete(root);
    };
  };
}
