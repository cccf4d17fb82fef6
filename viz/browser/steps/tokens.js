// Tokens as elements, with the weights on them.

import { element } from "../canvas/dom.js";
import { percent } from "./frame.js";

/** Tokens as elements, those of one word together, so that a line ends between words. */
export function grouped(tokens, made) {
  const words = [];
  for (const token of tokens) {
    if (!token.joins || !words.length) words.push(element("span", "word"));
    words.at(-1).append(made(token));
  }
  return words;
}

/** A token with the weight on it: as its colour, as a line of that length, and as a number. */
export function lit({ text, weight, strength }) {
  const made = element("span", "token");
  made.append(element("span", "text", { dir: "auto" }, text), element("span", "line"), element("span", "weight", {}, percent(weight)));
  made.style.setProperty("--weight", weight.toFixed(4));
  made.style.setProperty("--strength", strength.toFixed(4));
  return made;
}

/** The token that is written now. */
export function now({ text, note }) {
  return element("span", "token written", {}, element("span", "text", { dir: "auto" }, text), element("span", "weight", {}, note));
}
