// The explorer's selection: how the address spells it, and which heads a trace has.

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

/** The state as the address spells it; Python knows no other spelling. @type {(state: Chosen) => Spelling} */
export function spelled({ attention, layer, head, view, cell, compare, order, gamma, only, off, reading }) {
  return {
    ...Object.fromEntries(READINGS.map(([name]) => [name, reading[name] ? "1" : "0"])),
    attention,
    layer: String(layer),
    head: String(head),
    view,
    cell: cell ? cell.join(".") : "",
    compare: compare.map((pair) => pair.join(".")).join("-"),
    order,
    faint: String(constants.GAMMAS.indexOf(gamma)),
    only: only === null ? "" : "layer" in only ? `layer.${only.layer}` : `head.${only.head}`,
    off: off.join("-"),
  };
}

/** The state from a spelling that Python has checked. @type {(spelling: Spelling) => Chosen} */
export function unspelled({ attention, layer, head, view, cell, compare, order, faint, only, off, ...flags }) {
  const pair = (/** @type {string} */ text) => /** @type {[number, number]} */ (text.split(".").map(Number));
  const [what, which] = only ? only.split(".") : [];
  return {
    attention,
    layer: Number(layer),
    head: Number(head),
    view,
    cell: cell ? pair(cell) : null,
    compare: compare ? compare.split("-").map(pair) : [],
    order,
    gamma: constants.GAMMAS[Number(faint)],
    only: only ? { [what]: Number(which) } : null,
    off: off ? off.split("-") : [],
    reading: Object.fromEntries(READINGS.map(([name]) => [name, flags[name] === "1"])),
  };
}

/** Whether the heads are read or drawn otherwise than at first. @type {(state: Chosen) => boolean} */
export function isChanged({ reading, order, gamma, only }) {
  const { words, specials, renormalise, predicted } = reading;
  return words || specials === false || renormalise || predicted || order !== "" || gamma !== 1 || only !== null;
}

/** The state with anything the trace lacks replaced by the nearest it has.
 * @type {(state: Chosen, payload: ExplorerPayload) => Chosen} */
export function legal(state, payload) {
  const { attentions } = payload;
  const attention = attentions.includes(state.attention) ? state.attention : attentions[attentions.length - 1];
  const kind = payload.kind(attention);
  const within = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value));
  const [layer, head] = [within(state.layer, kind.layers.length), within(state.head, kind.heads)];
  const there = (/** @type {Pair} */ [one, other]) => one < kind.layers.length && other < kind.heads;
  const compare = state.compare.filter(there);
  const selected = compare.some(([one, other]) => one === layer && other === head);
  const [nQueries, nKeys] = [payload.axis(kind.queries).length, payload.axis(kind.keys).length];
  const cell = state.cell && state.cell[0] < nQueries && state.cell[1] < nKeys ? state.cell : null;
  const only = state.only === null || there([state.only.layer ?? 0, state.only.head ?? 0]) ? state.only : null;
  const order = payload.measures.some(({ key }) => key === state.order) ? state.order : "";
  const gamma = constants.GAMMAS.includes(state.gamma) ? state.gamma : 1;
  const view = state.view === "lines" ? "lines" : "heatmap";
  const places = new Set(payload.attentions.filter((name) => name !== constants.JOINT).flatMap((name) => placesOf(payload, name)));
  const off = payload.canSwitchOff ? state.off.filter((place) => places.has(place)) : [];
  return { ...state, attention, layer, head, view, cell, compare: selected ? compare : [], order, gamma, only, off };
}

/** Every head of a kind as an address has it. @type {(payload: ExplorerPayload, attention: string) => string[]} */
function placesOf(payload, attention) {
  const { layers, heads } = payload.kind(attention);
  return layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => `${attention}.${layer}.${head}`));
}

/** The heads in a place of the overview, as an address has them: one, or one of each kind in the joint picture.
 * @type {(payload: ExplorerPayload, attention: string, layer: number, head: number) => string[]} */
export function headsAt(payload, attention, layer, head) {
  const kinds = attention === constants.JOINT ? payload.kinds : [payload.kind(attention)];
  return kinds
    .filter(({ layers, heads }) => layer < layers.length && head < heads)
    .map(({ kind, layers }) => `${kind}.${layers[layer]}.${head}`);
}

/** What is switched off once these heads are: all of them, or none where all were off already.
 * @type {(off: string[], heads: string[]) => string[]} */
export function withSwitched(off, heads) {
  const rest = off.filter((each) => !heads.includes(each));
  return rest.length + heads.length === off.length ? rest : [...rest, ...heads];
}

/** Whether a trace with three kinds of attention cannot show them in one picture, because rows are named by prediction.
 * @type {(payload: { attentions: string[] }) => boolean} */
export function lacksJoint({ attentions }) {
  const kinds = ["encoder", "decoder", "cross"];
  return kinds.every((kind) => attentions.includes(kind)) && !attentions.includes(constants.JOINT);
}

/** The changes that go with another kind of attention, where the same layer and head is a different head.
 * @type {(state: Chosen, attention: string, payload: ExplorerPayload) => Partial<Chosen>} */
export function withAttention(state, attention, payload) {
  const joins = [attention, state.attention].includes(constants.JOINT);
  const [layer, head] = joins ? [state.layer, state.head] : payload.sent(attention).opening;
  const changes = attention === state.attention ? {} : { layer, head, compare: [] };
  return { attention, cell: null, ...changes };
}

/** The changes that add a head to the comparison or remove it; null if the comparison is full.
 * @type {(state: Chosen, layer: number, head: number) => Partial<Chosen> | null} */
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

/** The heads in the large picture, with their layers: the compared ones, or else the selected one.
 * @type {(state: Pick<Chosen, "layer" | "head" | "compare">) => Pair[]} */
export function shownHeads({ layer, head, compare }) {
  return compare.length > 1 ? compare : [[layer, head]];
}

/**
 * The measures by which heads of a kind can be ordered: those that apply to at least one of them, and the one that
 * Python computes only when it is chosen.
 *
 * @type {(payload: ExplorerPayload, kind: Kind) => Measure[]}
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
 * @type {(payload: ExplorerPayload, state: Chosen) => { layer: number; head: number; value?: number | null }[]} */
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
