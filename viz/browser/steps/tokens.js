// Elements for tokens and their weights.

import { element } from "../canvas/dom.js";
import { percent } from "./frame.js";

/** Elements for tokens, grouped by word so that lines break between words. */
export function grouped(tokens, made) {
  const words = [];
  for (const token of tokens) {
    if (!token.joins || !words.length) words.push(element("span", "word"));
    words.at(-1).append(made(token));
  }
  return words;
}

/** A token with its weight as a colour, as the length of a line, and as a number. */
export function lit({ text, weight, strength }) {
  const made = element("span", "token");
  made.append(element("span", "text", { dir: "auto" }, text), element("span", "line"), element("span", "weight", {}, percent(weight)));
  made.style.setProperty("--weight", weight.toFixed(4));
  made.style.setProperty("--strength", strength.toFixed(4));
  return made;
}

/** The token being written. */
export function now({ text, note }) {
  return element("span", "token written", {}, element("span", "text", { dir: "auto" }, text), element("span", "weight", {}, note));
}
