// How heads are shown, beside the place where one is: as the address spells it, and as far as a trace allows it.

import constants from "../../draw/constants.json" with { type: "json" };

// The ways to read a trace, for Python or the page's own engine: key, label, explanation.
export const READINGS = [
  [
    "words",
    "Whole words",
    "Join the pieces of a word: add the weights of its columns, average its rows",
  ],
  ["specials", "Special tokens", "Show <s> and </s>, which are not part of the text"],
  [
    "renormalise",
    "Rows add up to 1",
    "With special tokens hidden, divide each row by its sum; this inflates rows that looked mostly there",
  ],
  [
    "predicted",
    "Name rows by prediction",
    "Name a row of cross-attention by the token it predicts instead of the token just read (Chen et al. 2020)",
  ],
];

/** As heads are shown at first. @type {How} */
export const USUAL_HOW = { view: "heatmap", compare: [], order: "", gamma: 1, only: null, reading: { words: false, specials: true, renormalise: false, predicted: false } };

/** As the address spells it; Python knows no other spelling. @type {(how: How) => Spelling} */
export function howSpelled({ view, compare, order, gamma, only, reading }) {
  return {
    ...Object.fromEntries(READINGS.map(([name]) => [name, reading[name] ? "1" : "0"])),
    view,
    compare: compare.map((pair) => pair.join(".")).join("-"),
    order,
    faint: String(constants.GAMMAS.indexOf(gamma)),
    only: only === null ? "" : "layer" in only ? `layer.${only.layer}` : `head.${only.head}`,
  };
}

/** From a spelling that Python has checked. @type {(spelling: Spelling) => How} */
export function howOf({ view, compare, order, faint, only, ...flags }) {
  const pair = (/** @type {string} */ text) => /** @type {Pair} */ (text.split(".").map(Number));
  const [what, which] = only ? only.split(".") : [];
  return {
    view,
    compare: compare ? compare.split("-").map(pair) : [],
    order,
    gamma: constants.GAMMAS[Number(faint)],
    only: only ? { [what]: Number(which) } : null,
    reading: Object.fromEntries(READINGS.map(([name]) => [name, flags[name] === "1"])),
  };
}

/** Whether heads are read or drawn otherwise than at first. @type {(how: How) => boolean} */
export function isChanged({ reading, order, gamma, only }) {
  const { words, specials, renormalise, predicted } = reading;
  return words || specials === false || renormalise || predicted || order !== "" || gamma !== 1 || only !== null;
}

/** With anything that a kind of the trace lacks left out; a comparison without the selected head ends.
 * @type {(how: How, payload: Pick<TracePayload, "measures">, kind: Pick<Kind, "layers" | "heads">, selected: Pair) => How} */
export function legalHow(how, { measures }, kind, [layer, head]) {
  const there = (/** @type {Pair} */ [one, other]) => one < kind.layers.length && other < kind.heads;
  const compare = how.compare.filter(there);
  return {
    ...how,
    view: how.view === "lines" ? "lines" : "heatmap",
    compare: compare.some(([one, other]) => one === layer && other === head) ? compare : [],
    order: measures.some(({ key }) => key === how.order) ? how.order : "",
    gamma: constants.GAMMAS.includes(how.gamma) ? how.gamma : 1,
    only: how.only === null || there([how.only.layer ?? 0, how.only.head ?? 0]) ? how.only : null,
  };
}

/** The heads in a place of the overview, as an address has them: one, or one of each kind in the joint picture.
 * @type {(payload: TracePayload, attention: string, layer: number, head: number) => string[]} */
export function headsAt(payload, attention, layer, head) {
  const kinds = attention === constants.JOINT ? payload.kinds : [payload.kind(attention)];
  return kinds
    .filter(({ layers, heads }) => layer < layers.length && head < heads)
    .map(({ kind, layers }) => `${kind}.${layers[layer]}.${head}`);
}

/** Whether a trace with three kinds of attention cannot show them in one picture, because rows are named by prediction.
 * @type {(payload: { attentions: string[] }) => boolean} */
export function lacksJoint({ attentions }) {
  const kinds = ["encoder", "decoder", "cross"];
  return kinds.every((kind) => attentions.includes(kind)) && !attentions.includes(constants.JOINT);
}

/** The changes that add a head to the comparison or remove it; null if the comparison is full.
 * @type {(state: Compared, layer: number, head: number) => Compared | null} */
export function withCompared(state, layer, head) {
  /** @type {Pair[]} */
  const shown = state.compare.length ? state.compare : [[state.layer, state.head]];
  const rest = shown.filter(([one, other]) => one !== layer || other !== head);
  if (rest.length < shown.length && rest.length) {
    const [[firstLayer, firstHead]] = rest;
    return { layer: firstLayer, head: firstHead, compare: rest };
  }
  return shown.length >= constants.MOST_COMPARED ? null : { layer, head, compare: [...rest, [layer, head]] };
}

/** The heads in the large picture, with their layers: the compared ones, or else the selected one. @type {(state: Compared) => Pair[]} */
export function shownHeads({ layer, head, compare }) {
  return compare.length > 1 ? compare : [[layer, head]];
}

/**
 * The measures by which heads of a kind can be ordered: those that apply to at least one of them, and the one that
 * Python computes only when it is chosen.
 *
 * @type {(payload: TracePayload, kind: Kind) => Measure[]}
 */
export function measuresOf(payload, kind) {
  const heads = kind.facts.flat();
  return payload.measures.filter(
    ({ key }, index) =>
      (key === payload.onDemand && kind.kind !== constants.JOINT) ||
      heads.some(({ measures }) => (measures[index] ?? null) !== null),
  );
}

/** The heads in the overview, in order: by layer and head, or by a measure, largest first.
 * @type {(payload: TracePayload, state: Pick<Chosen, "attention" | "order" | "only">) => { layer: number; head: number; value?: number | null }[]} */
export function headsShown(payload, { attention, order, only }) {
  const kind = payload.kind(attention);
  const places = kind.layers.flatMap((_, layer) => Array.from({ length: kind.heads }, (_, head) => ({ layer, head })));
  const heads = places.filter((each) => (only?.layer ?? each.layer) === each.layer && (only?.head ?? each.head) === each.head);
  const measure = payload.measures.findIndex(({ key }) => key === order);
  if (measure < 0) return heads;
  return heads
    .map(({ layer, head }) => ({ layer, head, value: payload.facts(attention, layer, head)?.measures[measure] }))
    .sort((one, other) => (other.value ?? -Infinity) - (one.value ?? -Infinity));
}
