import { onReconnect } from "./connection.js";

// Tells Python when the reader switches between light and dark: Streamlit then recolours its own page but runs no
// script, and figures drawn in Python would keep their old colours.
// Also tells Python when the page reconnects, so that a restarted server runs its script.
export default function ({ parentElement, setTriggerValue }) {
  const probe = parentElement.querySelector("span");
  const ground = () => getComputedStyle(probe).backgroundColor;
  let seen = ground();
  // The probe's background changes with Streamlit's theme in a transition of one millisecond, whose end is an event.
  const report = () => {
    if (ground() === seen) return;
    seen = ground();
    setTriggerValue("changed", seen);
  };
  probe.addEventListener("transitionend", report);
  const stop = onReconnect(() => setTriggerValue("changed", "connected"));
  probe.removeAttribute("aria-busy");
  return () => {
    stop();
    probe.removeEventListener("transitionend", report);
  };
}
