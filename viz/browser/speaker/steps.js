// One thing that a person does is one step back.
//
// For a scene on another page Streamlit writes two entries into the browser's history: that page with the query as it was,
// then the final query. Going back would stop at the first, which nobody has ever seen.

const ACTS = ["pointerdown", "click", "keydown", "input", "change", "headscope-act"];

/**
 * From now on, an address that is written without anything done since the last one takes its place; and whoever listens
 * to "headscope-address" hears of each.
 */
export function joinSteps() {
  if (window.headscopeSteps) return;
  window.headscopeSteps = true;
  let acted = false;
  const act = () => (acted = true);
  for (const name of ACTS) window.addEventListener(name, act, { capture: true, passive: true });
  const push = history.pushState;
  history.pushState = function (...entry) {
    if (acted) push.apply(this, entry);
    else history.replaceState(...entry);
    acted = false;
    window.dispatchEvent(new Event("headscope-address"));
  };
}
