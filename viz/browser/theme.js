import { onReconnect } from "./connection.js";

// Tells Python when the reader changes between light and dark. Streamlit recolours its own page then,
// but runs no script, so a figure drawn in Python would keep the colours of the other theme.
// And when the page is reconnected, so that a server that does not know it runs it.
export default function ({ parentElement, setTriggerValue }) {
  const probe = parentElement.querySelector("span");
  const ground = () => getComputedStyle(probe).backgroundColor;
  let seen = ground();
  // The probe's background is Streamlit's and changes over a millisecond: the end of that is the event.
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
