// What the components of a page tell each other without the server; each of them is a script of its own.

const SHARED_EVENT = "headscope-shared";

// Asks the explorer to switch every head on.
export const ALL_ON_EVENT = "headscope-all-on";

// Asks why the token in a place of the translation, from 1, was written and not another.
export const ASK_WHY_EVENT = "headscope-ask-why";

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

/**
 * The tokens of the sentence that labels of an axis stand for, `{side, first, end}` or null each.
 *
 * An axis is known by its texts: all of them are those of the source, of what was written, or of what the decoder read.
 *
 * @param {string[]} texts - of the axis, with holes where a label is left out.
 * @param {object|null} tokens - `{source, target}`: the texts of the source and of what was written.
 * @param {boolean} writes - whether a token that the decoder read stands for the one that it then wrote.
 */
export function axisWords(texts, tokens, writes = false) {
  const { source = [], target = [] } = tokens ?? {};
  const kinds = [
    ["source", source, 0],
    ["target", target, 0],
    ["target", ["<s>", ...target.slice(0, -1)], writes ? 0 : -1],
  ];
  const alike = (own) => texts.every((text, place) => text === (own[place] ?? "<pad>")) && texts.some(Boolean);
  const [side, own, shift] = kinds.find(([, each]) => each.length && alike(each)) ?? [];
  const word = (place) => ({ side, first: place + shift, end: place + shift + 1 });
  return Array.from(texts, (_, place) => (own && place < own.length ? word(place) : null));
}

/** The places of an axis whose words are pointed at. */
export function placesLit(words, pointed) {
  return pointed ? words.flatMap((word, place) => (word && meets(word, pointed) ? [place] : [])) : [];
}

/** Makes an element the word of a range of tokens: pointing at it lights that word everywhere. */
export function pointable(element, range) {
  element.dataset.range = JSON.stringify(range);
  element.addEventListener("pointerenter", () => tell("pointed", [range]));
  element.addEventListener("pointerleave", () => tell("pointed", null));
}

/** Lights the elements of a drawing whose words are pointed at. */
export function lightWithin(root, pointed) {
  for (const element of root.querySelectorAll("[data-range]")) {
    element.classList.toggle("lit", Boolean(pointed) && meets(JSON.parse(element.dataset.range), pointed));
  }
}

/** Whether a range of tokens, `{side, first, end}`, shares one with any of others. */
export function meets({ side, first, end }, others) {
  return others.some((other) => other.side === side && other.first < end && first < other.end);
}
