// What the components of a page tell each other without the server; each of them is a script of its own.

const SHARED_EVENT = "headscope-shared";

// Asks the explorer to switch every head on.
export const ALL_ON_EVENT = "headscope-all-on";

/** Tells the components of this page, also those that come later, the value of a topic. */
export function tell(topic, value) {
  shared().set(topic, value);
  document.dispatchEvent(new CustomEvent(SHARED_EVENT, { detail: topic }));
}

/** Has `hear` called with the value of a topic, now and whenever it is told; returns what ends that. */
export function heed(topic, hear) {
  const onTold = ({ detail }) => detail === topic && hear(shared().get(topic) ?? null);
  document.addEventListener(SHARED_EVENT, onTold);
  hear(shared().get(topic) ?? null);
  return () => document.removeEventListener(SHARED_EVENT, onTold);
}

function shared() {
  document.headscopeShared ??= new Map();
  return document.headscopeShared;
}

/** Whether a range of tokens, `{side, first, end}`, shares one with any of others. */
export function meets({ side, first, end }, others) {
  return others.some((other) => other.side === side && other.first < end && first < other.end);
}
