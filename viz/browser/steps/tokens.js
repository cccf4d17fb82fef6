// Elements for tokens and their weights.

import { element } from "../canvas/dom.js";
import { pointable } from "../canvas/shared.js";
import { labelled } from "../canvas/wording.js";
import { shortest } from "./frame.js";

/**
 * Elements for tokens, grouped by word so that lines break between words.
 *
 * @template {Token} T
 * @param {T[]} tokens
 * @param {(token: T) => HTMLElement} made
 * @param {Side | ""} side - of the sentence that they are, so that pointing at one lights its word; "" for none.
 * @param {number} start - the position of the first of them on that side.
 */
export function grouped(tokens, made, side = "", start = 0) {
  /** @type {HTMLElement[]} */
  const words = [];
  for (const [place, token] of tokens.entries()) {
    if (!token.joins || !words.length) words.push(element("span", "word"));
    const each = made(token);
    if (side) pointable(each, { side, first: start + place, end: start + place + 1 });
    words.at(-1)?.append(each);
  }
  return words;
}

/** A token with its weight as a colour, as the length of a line, and as a number.
 * @type {(token: WeighedToken) => HTMLElement} */
export function lit({ text, weight, strength }) {
  const made = element("span", "token");
  made.append(element("span", "text", { dir: "auto" }, text), element("span", "line"), element("span", "weight", {}, shortest(weight)));
  made.style.setProperty("--weight", weight.toFixed(4));
  made.style.setProperty("--strength", strength.toFixed(4));
  return made;
}

/** A token that was written, with its probability as the length of a line and as a number; the colour is its weight, with a name.
 * @type {(token: WeighedToken & { written: number | null }, name: string) => HTMLElement} */
export function sure({ text, weight, strength, written }, name) {
  const made = lit({ text, joins: false, weight: written ?? 0, strength });
  made.title = labelled(name, shortest(weight));
  if (written === null) for (const part of made.querySelectorAll(".line, .weight")) part.classList.add("unwritten");
  return made;
}

/** The token being written. @type {(token: Token, note: string) => HTMLElement} */
export function now({ text }, note) {
  return element("span", "token written", {}, element("span", "text", { dir: "auto" }, text), element("span", "weight", {}, note));
}
