// What is chosen among all heads: how the address spells it, and which heads a trace has.

import constants from "../../../draw/constants.json" with { type: "json" };
import { howOf, howSpelled, legalHow } from "../how.js";

/** The state as the address spells it; Python knows no other spelling. @type {(state: Chosen) => Spelling} */
export function chosenSpelled(state) {
  const { attention, layer, head, cell, range, off } = state;
  const seen = range ? `${range[0]}-${range[1]}.${range[2]}-${range[3]}` : "";
  return { ...howSpelled(state), attention, layer: String(layer), head: String(head), cell: cell ? cell.join(".") : "", range: seen, off: off.join("-") };
}

/** The state from a spelling that Python has checked. @type {(spelling: Spelling) => Chosen} */
export function chosenOf({ attention, layer, head, cell, range, off, ...how }) {
  return {
    ...howOf(how),
    attention,
    layer: Number(layer),
    head: Number(head),
    cell: cell ? /** @type {Cell} */ (cell.split(".").map(Number)) : null,
    range: range ? /** @type {CellRange} */ (range.split(/[-.]/).map(Number)) : null,
    off: off ? off.split("-") : [],
  };
}

/** The state with anything the trace lacks replaced by the nearest it has.
 * @type {(state: Chosen, payload: TracePayload) => Chosen} */
export function legalChosen(state, payload) {
  const { attentions } = payload;
  const attention = attentions.includes(state.attention) ? state.attention : attentions[attentions.length - 1];
  const kind = payload.kind(attention);
  const within = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value));
  const [layer, head] = [within(state.layer, kind.layers.length), within(state.head, kind.heads)];
  const [nQueries, nKeys] = [payload.axis(kind.queries).length, payload.axis(kind.keys).length];
  const cell = state.cell && state.cell[0] < nQueries && state.cell[1] < nKeys ? state.cell : null;
  const range = state.range && isWithin(state.range, nQueries, nKeys) ? state.range : null;
  const places = new Set(payload.attentions.filter((name) => name !== constants.JOINT).flatMap((name) => placesOf(payload, name)));
  const off = payload.canSwitchOff ? state.off.filter((place) => places.has(place)) : [];
  return { ...state, ...legalHow(state, payload, kind, [layer, head]), attention, layer, head, cell, range, off };
}

/** Whether a head of that size has some rows and columns. @type {(range: CellRange, nQueries: number, nKeys: number) => boolean} */
function isWithin([first, last, left, right], nQueries, nKeys) {
  return first <= last && left <= right && last < nQueries && right < nKeys;
}

/** Every head of a kind as an address has it. @type {(payload: TracePayload, attention: string) => string[]} */
function placesOf(payload, attention) {
  const { layers, heads } = payload.kind(attention);
  return layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => `${attention}.${layer}.${head}`));
}

/** What is switched off once these heads are: all of them, or none where all were off already.
 * @type {(off: string[], heads: string[]) => string[]} */
export function withSwitched(off, heads) {
  const rest = off.filter((each) => !heads.includes(each));
  return rest.length + heads.length === off.length ? rest : [...rest, ...heads];
}

/** The changes that go with another kind of attention, where the same layer and head is a different head.
 * @type {(state: Chosen, attention: string, payload: TracePayload) => Partial<Chosen>} */
export function withAttention(state, attention, payload) {
  const joins = [attention, state.attention].includes(constants.JOINT);
  const [layer, head] = joins ? [state.layer, state.head] : payload.sent(attention).opening;
  const changes = attention === state.attention ? {} : { layer, head, compare: [] };
  return { attention, cell: null, range: null, ...changes };
}
