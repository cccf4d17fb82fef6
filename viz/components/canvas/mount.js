// How our components are mounted by Streamlit.

/**
 * What a component's script exports: one drawing for each place where it is mounted.
 *
 * Streamlit calls it for every run of the page's script and for every change of theme, with the element of the first
 * time; the drawing stays, takes the new data, and goes when the component does.
 *
 * @param {string} selector - of the component's root.
 * @param {function} make - the drawing of a root, with `update(data, report)` and `dispose()`.
 * @param {string} state - the name under which Python is told what `report` is given.
 */
function mounted(selector, make, state) {
  const drawings = new WeakMap();
  return ({ parentElement, data, setStateValue }) => {
    const root = parentElement.querySelector(selector);
    if (!drawings.has(root)) drawings.set(root, make(root));
    const drawing = drawings.get(root);
    drawing.update(data, (value) => setStateValue(state, value));
    return () => {
      drawing.dispose();
      drawings.delete(root);
    };
  };
}
