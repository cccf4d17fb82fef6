// One action of a person is one step of the browser's Back button.
//
// For a scene on another page, Streamlit adds two entries to the history: that page with the old query, then with the
// new one. Back would stop at the first, a view that nobody has seen.

const ACTS = ["pointerdown", "click", "keydown", "input", "change", "headscope-act"];

/**
 * From now on, an address written without a person's action since the last one replaces it. Each new address fires
 * "headscope-address".
 */
export function joinSteps() {
  if (window.headscopeSteps) return;
  window.headscopeSteps = true;
  let acted = false;
  const act = () => (acted = true);
  for (const name of ACTS) window.addEventListener(name, act, { capture: true, passive: true });
  const push = history.pushState;
  history.pushState = function (/** @type {Parameters<typeof push>} */ ...entry) {
    if (acted) push.apply(this, entry);
    else history.replaceState(...entry);
    acted = false;
    window.dispatchEvent(new Event("headscope-address"));
  };
}
