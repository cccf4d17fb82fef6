// What the components of a page tell each other without the server; each of them is a script of its own.

const SHARED_EVENT = "headscope-shared";

// Asks the picture of all heads to switch every head on.
export const ALL_ON_EVENT = "headscope-all-on";

// Asks why the token in a place of the translation, from 1, was written and not another.
export const ASK_WHY_EVENT = "headscope-ask-why";

/** Tells the components of this page, also those that come later, the value of a topic.
 * @type {(topic: string, value: unknown) => void} */
export function tell(topic, value) {
  shared().set(topic, value);
  document.dispatchEvent(new CustomEvent(SHARED_EVENT, { detail: topic }));
}

/**
 * Has `hear` called with the value of a topic, now and whenever it is told; returns what ends that.
 *
 * @template Value
 * @param {string} topic
 * @param {(value: Value | null) => void} hear
 */
export function heed(topic, hear) {
  const known = () => /** @type {Value | null} */ (shared().get(topic) ?? null);
  const onTold = (/** @type {CustomEvent<string>} */ { detail }) => detail === topic && hear(known());
  document.addEventListener(SHARED_EVENT, onTold);
  hear(known());
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
 * @param {Tokens | null} tokens - `{source, target}`: the texts of the source and of what was written.
 * @param {boolean=} writes - whether a token that the decoder read stands for the one that it then wrote.
 * @returns {(WordRange | null)[]}
 */
export function axisWords(texts, tokens, writes = false) {
  const { source = [], target = [] } = tokens ?? {};
  /** @type {[Side, string[], number][]} */
  const kinds = [
    ["source", source, 0],
    ["target", target, 0],
    ["target", ["<s>", ...target.slice(0, -1)], writes ? 0 : -1],
  ];
  const alike = (/** @type {string[]} */ own) => texts.every((text, place) => text === (own[place] ?? "<pad>")) && texts.some(Boolean);
  const [side, own, shift] = kinds.find(([, each]) => each.length && alike(each)) ?? /** @type {const} */ (["source", [], 0]);
  const word = (/** @type {number} */ place) => ({ side, first: place + shift, end: place + shift + 1 });
  return Array.from(texts, (_, place) => (place < own.length ? word(place) : null));
}

/** The places of an axis whose words are pointed at.
 * @type {(words: (WordRange | null)[], pointed: WordRange[] | null) => number[]} */
export function placesLit(words, pointed) {
  return pointed ? words.flatMap((word, place) => (word && meets(word, pointed) ? [place] : [])) : [];
}

/** The word that the pointer is on. @type {Element | null} */
let under = null;

/** Makes an element the word of a range of tokens: pointing at it lights that word everywhere.
 * @type {(element: HTMLElement | SVGElement, range: WordRange) => void} */
export function pointable(element, range) {
  element.dataset.range = JSON.stringify(range);
  element.addEventListener("pointerenter", () => {
    under = element;
    document.addEventListener("pointermove", unpointGone, true);
    tell("pointed", [range]);
  });
  element.addEventListener("pointerleave", unpoint);
}

function unpoint() {
  under = null;
  document.removeEventListener("pointermove", unpointGone, true);
  tell("pointed", null);
}

/** A word that is drawn anew under the pointer hears of no leaving. */
function unpointGone() {
  if (!under?.isConnected) unpoint();
}

/** Lights the elements of a drawing whose words are pointed at.
 * @type {(root: ParentNode, pointed: WordRange[] | null) => void} */
export function lightWithin(root, pointed) {
  for (const element of root.querySelectorAll("[data-range]")) {
    const range = JSON.parse(element.getAttribute("data-range") ?? "");
    element.classList.toggle("lit", pointed !== null && meets(range, pointed));
  }
}

/** Whether a range of tokens, `{side, first, end}`, shares one with any of others.
 * @type {(range: WordRange, others: WordRange[]) => boolean} */
export function meets({ side, first, end }, others) {
  return others.some((other) => other.side === side && other.first < end && first < other.end);
}
