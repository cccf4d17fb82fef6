// What the stage and the phones show alike of a question to the hall.

import { element } from "../canvas/dom.js";

/** The word from which a head looks. @type {(poll: HallPoll) => string} */
export const askedFrom = ({ choices, context, at }) => (context.length ? context[at] : choices[at]);

/** What is asked about, and the words around it. @type {(poll: HallPoll, named: string) => HTMLElement[]} */
export function contextOf({ about, context, at }, named) {
  const words = context.map((word, place) => element("span", place === at ? "at" : "", { dir: "auto" }, word));
  if (about === "word") words.push(element("span", "at", {}, "…"));
  return [element("span", "named", { dir: "auto" }, named), ...words];
}

/** The class of a choice: the word that asks, and the right one once the question is closed. @type {(poll: HallPoll, choice: number) => string} */
export function markOf({ about, context, at, closed }, choice) {
  const own = about === "key" && !context.length && choice === at;
  return [own && "own", closed?.best === choice && "best"].filter(Boolean).join(" ");
}

/** How many phones have answered. @type {(guesses: number[]) => number} */
export const allOf = (guesses) => guesses.reduce((sum, count) => sum + count, 0);
