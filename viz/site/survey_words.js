// What a survey says, in words and tables.

import { element } from "../browser/canvas/dom.js";
import { worded } from "../browser/canvas/wording.js";
import { say } from "./words.js";

/** @import { Survey, SurveyedHead } from "./survey.js" */

/** What a head does, as its label says it. @type {(head: SurveyedHead) => string} */
export function doesText({ label, reason }) {
  if (label === null) return say("unlabelled");
  return [label, reason].map((said) => worded({ said }).said).filter(Boolean).join(". ").replace(/^\p{L}/u, (letter) => letter.toUpperCase());
}

/** What a survey is of. @type {(survey: Survey) => string} */
export function sampleOf({ file: { sentences, trained, data, licence } }) {
  const of = say("survey_sample", { n: sentences, data, licence });
  return trained ? `${of} ${say("survey_trained", { n: trained })}` : of;
}

/** A table; the first cell of each row names it. @type {(titles: string[], rows: (Node | string | (Node | string)[])[][]) => HTMLElement} */
export function tableOf(titles, rows) {
  const cellOf = (/** @type {Node | string | (Node | string)[]} */ held, /** @type {number} */ column) =>
    column ? element("td", "", {}, ...[held].flat()) : element("th", "", { scope: "row" }, ...[held].flat());
  return element(
    "table",
    "",
    {},
    element("thead", "", {}, element("tr", "", {}, ...titles.map((title) => element("th", "", { scope: "col" }, title)))),
    element("tbody", "", {}, ...rows.map((cells) => element("tr", "", {}, ...cells.map(cellOf)))),
  );
}

/** A sentence with what was searched for marked. @type {(sentence: string, searches: RegExp[]) => (Node | string)[]} */
export function marked(sentence, searches) {
  const held = searches.flatMap((search) => [...sentence.matchAll(new RegExp(search, "giu"))].map((match) => [match.index, match.index + match[0].length]));
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const [start, end] of held.sort(([one], [other]) => one - other)) {
    if (start < at || end === start) continue;
    parts.push(sentence.slice(at, start), element("mark", "", {}, sentence.slice(start, end)));
    at = end;
  }
  return [...parts, sentence.slice(at)];
}
