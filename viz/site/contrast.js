// Why one word and not another: the two of them, and what adds up to the lead of one (viz/effects/logit_waterfall.py).

import { element } from "../browser/canvas/dom.js";
import { signed } from "../browser/canvas/numbers.js";
import { WORD_START, axisTexts, tokenText } from "../browser/live/labels.js";
import { isSpecial } from "../browser/live/grouping.js";
import { shortest } from "../browser/steps/frame.js";
import { say } from "./words.js";

/** @import { Site } from "./site.js" */
/** @import { SiteHead } from "./view.js" */
/** @import { Terms } from "../browser/engine/terms.js" */
/** A token of the translation, and another one there; the rivals are named as an address has them.
 * @typedef {{ place: number, word: string, other: string, id: number, shares: [number, number], rivals: [name: string, text: string][] }} Pair */
/** @typedef {{ name: string, value: number, head?: SiteHead }} Term */

// Terms with a bar of their own; and the share of a head's term from which a source token is named beside it.
const [SHOWN_TERMS, HALF_OF_TERM] = [9, 0.5];

/** The place of the token of which the model was least sure. @type {(trace: EngineTrace) => number} */
export function leastCertain({ predictions, logProbs }) {
  const places = predictions.tokens.flatMap((token, place) => (isSpecial(token) ? [] : [place]));
  return places.reduce((least, place) => (logProbs[place] < logProbs[least] ? place : least), places[0] ?? 0);
}

/** The pair of a token with one of the likeliest others there, as the address names it, else with the likeliest; `isKnown` says
 * whether it is the one that is named. Null if it was given up.
 * @type {(talk: Site, trace: EngineTrace, place: number, name: string) => Promise<Pair & { isKnown: boolean } | null>} */
export async function pairIn(talk, { predictions, logProbs }, place, name) {
  const { ids, tokens } = predictions;
  /** @type {Awaited<ReturnType<import("../browser/engine/engine.js").Engine["next"]>> | null} */
  const next = await talk.asked("next", { step: place, ids });
  if (!next) return null;
  const others = [...next.ids.keys()].filter((rival) => next.ids[rival] !== ids[place]);
  const spelled = (/** @type {number} */ rival) => bareToken(next.tokens[rival]);
  const found = others.find((rival) => spelled(rival) === name);
  const chosen = found ?? others[0];
  return {
    ...{ place, word: bareToken(tokens[place]), other: spelled(chosen), id: next.ids[chosen] },
    ...{ shares: [Math.exp(logProbs[place]), next.shares[chosen]], isKnown: found !== undefined },
    rivals: others.map((rival) => [spelled(rival), `${tokenText(next.tokens[rival])} ${shortest(next.shares[rival])}`]),
  };
}

/** A token as an address has it. @type {(token: string) => string} */
function bareToken(token) {
  return (token.startsWith(WORD_START) && token.slice(WORD_START.length)) || token;
}

/** The terms by their size, the smallest as one, under their names. @type {(terms: Terms, source: string[]) => Term[]} */
function namedTerms({ embedding, biases, decoder, cross, feedForward }, source) {
  const headTerms = (/** @type {string} */ kind, /** @type {number} */ layer, /** @type {number[]} */ values) =>
    values.map((value, head) => ({ name: say("head_name", { kind: say(kind), layer, head }), value, head: { kind, layer, head } }));
  /** @type {Term[]} */
  const listed = [
    { name: say("written_last"), value: embedding },
    { name: say("biases"), value: biases },
    ...feedForward.map((value, layer) => ({ name: say("feed_forward", { layer }), value })),
    ...decoder.flatMap((values, layer) => headTerms("decoder", layer, values)),
    ...cross.flatMap((heads, layer) =>
      headTerms("cross", layer, heads.map((keys) => keys.reduce((sum, each) => sum + each, 0))).map((term) => {
        const keys = heads[term.head.head];
        const most = keys.reduce((best, each, key) => (Math.abs(each) > Math.abs(keys[best]) ? key : best), 0);
        const isMostly = term.value * keys[most] > 0 && Math.abs(keys[most]) >= HALF_OF_TERM * Math.abs(term.value);
        return isMostly ? { ...term, name: say("head_at", { name: term.name, token: tokenText(source[most]) }) } : term;
      }),
    ),
  ].sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const rest = listed.slice(SHOWN_TERMS);
  if (!rest.length) return listed;
  return [...listed.slice(0, SHOWN_TERMS), { name: say("n_others", { n: rest.length }), value: rest.reduce((sum, each) => sum + each.value, 0) }];
}

/** A bar for each term from where the last one ended; the last bar is the sum. A click opens a head.
 * @type {(terms: Terms, source: string[], open: (head: SiteHead) => void) => HTMLElement} */
export function waterfall(terms, source, open) {
  const listed = namedTerms(terms, source);
  let end = 0;
  const bars = listed.map((term) => ({ ...term, start: end, end: (end += term.value) }));
  bars.push({ name: say("all_together"), value: end, start: 0, end });
  return barList(bars, open, { lastIsSum: true });
}

/** How much of a lead goes without each source token. @type {(leads: number[], source: Pieces) => HTMLElement} */
export function withoutTokens([whole, ...leads], source) {
  const bars = axisTexts(source).map((name, place) => ({ name, value: whole - leads[place], start: 0, end: whole - leads[place] }));
  return barList(bars, () => {});
}

/** The lead that is left while heads go, one after another. @type {(leads: number[], heads: SiteHead[], open: (head: SiteHead) => void) => HTMLElement} */
export function withoutHeads([whole, ...leads], heads, open) {
  const named = heads.map((head, place) => ({ name: say("head_name", { ...head, kind: say(head.kind) }), head, value: leads[place] }));
  const bars = [{ name: say("all_heads"), value: whole }, ...named].map((bar) => ({ ...bar, start: 0, end: bar.value }));
  return barList(bars, open);
}

/** @type {(bars: (Term & { start: number, end: number })[], open: (head: SiteHead) => void, options?: { lastIsSum?: boolean }) => HTMLElement} */
function barList(bars, open, { lastIsSum = false } = {}) {
  const low = Math.min(0, ...bars.map((bar) => bar.end));
  const span = Math.max(0, ...bars.map((bar) => bar.end)) - low || 1;
  const rows = bars.map(({ name, value, head, start, end: stop }, place) => {
    const label = head ? element("button", "link", { type: "button" }, name) : element("span", "", {}, name);
    if (head) label.addEventListener("click", () => open(head));
    const bar = element("i", lastIsSum && place === bars.length - 1 ? "sum" : value > 0 ? "for" : "against");
    bar.style.setProperty("--from", String((Math.min(start, stop) - low) / span));
    bar.style.setProperty("--long", String(Math.abs(value) / span));
    return element("li", "", {}, label, element("span", "bar", {}, bar), element("b", "", {}, (value > 0 ? "+" : "") + signed(value, 2)));
  });
  return element("ol", "terms", {}, ...rows);
}
