// Describes heads: titles, captions, tooltips, alternative texts.

import constants from "../../draw/constants.json" with { type: "json" };
import { signed } from "../canvas/numbers.js";
import { weightAt } from "../canvas/paint.js";
import { written } from "./written.js";
import { countOf, labelled, lowered, tr } from "../canvas/wording.js";

/** @typedef {{ name: string, layer: number, head: number, facts: HeadFacts, kind: Kind }} Entry */
/** @typedef {{ name: string, facts: HeadFacts, label: string, said: string }} Described */

const MOST_IGNORED = 5;

// The lead in weight over every other compared head that lets a cell distinguish a head.
const APART = 0.2;

/** The picture's title. @type {(kind: Kind, state: Pick<Chosen, "layer" | "head" | "compare">) => string} */
export function titleOf(kind, { layer, head, compare }) {
  return compare.length > 1
    ? tr("{name}, {n} heads", { name: kind.name, n: compare.length })
    : tr("{name}, layer {layer}, head {head}", { name: kind.name, layer: kind.layers[layer], head });
}

/** @type {(kind: Kind, layer: number, head: number) => string} */
export function headName(kind, layer, head) {
  return tr("Layer {layer}, head {head}", { layer: kind.layers[layer], head });
}

/**
 * The picture's caption: how to read it.
 *
 * `isCut` is whether some tokens are not named, `canAskPython` whether Python can take a cell apart.
 *
 * @type {(payload: TracePayload, kind: Kind, read: Record<"lines" | "several" | "isCut" | "canAskPython", boolean>) => string}
 */
export function captionOf(payload, kind, { lines, several, isCut, canAskPython }) {
  const reading = lines
    ? tr("A line joins a query on the left with a key on the right; the thicker, the larger the weight. Weights below {least} are left out. Point at a token to see only its lines.", { least: constants.FAINTEST })
    : several
      ? tr("Each cell has one stripe for each head, in its colour; the stronger the colour, the larger the weight.")
      : tr("{text}.", { text: kind.caption });
  const hidden = isCut ? tr("Not every token is named; zoom in or point at a cell.") : "";
  const click = lines || several || !canAskPython ? "" : tr("Click a cell to look into it.");
  return [reading, ...payload.notes, hidden, click].filter(Boolean).join(" ");
}

/** The alternative text; for one head it equals Python's `alt_text`.
 * @type {(payload: TracePayload, kind: Kind, drawn: DrawnHead[]) => string} */
export function altOf(payload, kind, drawn) {
  const [queries, keys] = [payload.axis(kind.queries), payload.axis(kind.keys)];
  const sizes = tr("{rows} by {columns}", { rows: countOf(queries.length, kind.queryNoun), columns: countOf(keys.length, kind.keyNoun) });
  const heads = drawn.map(({ layer, head, cells }) => {
    let at = -1;
    for (let place = 0; place < cells.weights.length; place++) {
      const open = cells.allowed === null || cells.allowed[place];
      if (open && (at < 0 || cells.weights[place] > cells.weights[at])) at = place;
    }
    const name = labelled(`${headName(kind, layer, head)}, ${lowered(kind.name)}`, sizes);
    if (cells.rough) return `${name}.`;
    if (at < 0) return tr("{name}; no query may attend to any key.", { name });
    const [query, key] = [queries[Math.floor(at / keys.length)], keys[at % keys.length]];
    return tr("{name}; the largest weight is {weight}, from {query} to {key}.", { name, weight: signed(weightAt(cells, at), 2), query, key });
  });
  return heads.join(" ");
}

/** A head's name, label and description on this sentence.
 * @type {(payload: TracePayload, attention: string, layer: number, head: number) => string} */
export function summaryOf(payload, attention, layer, head) {
  const facts = payload.facts(attention, layer, head);
  const parts = (facts?.parts ?? []).map(([name, part]) => labelled(name, part.label ?? part.sentence));
  const name = headName(payload.kind(attention), layer, head);
  return [name, facts?.label, facts?.sentence, ...parts].flatMap((part) => part || []).reduce((one, other) => labelled(one, other));
}

/**
 * Descriptions of compared heads, no two alike: `{name, label, said, facts}`, in the order of the heads.
 *
 * Heads that share a label or a sentence are described by the cell that distinguishes them; if no cell does, `said` and
 * `label` are empty.
 *
 * @type {(payload: TracePayload, attention: string, heads: Omit<DrawnHead, "color" | "cells">[]) => Described[]}
 */
export function comparedOf(payload, attention, heads) {
  /** @type {Entry[]} */
  const entries = heads.flatMap(({ layer, head }) => {
    const name = headName(payload.kind(attention), layer, head);
    const facts = payload.facts(attention, layer, head);
    if (!facts?.parts) return facts ? [{ name, layer, head, facts, kind: payload.kind(attention) }] : [];
    return facts.parts.map(([short, part]) => {
      const kind = payload.kinds.find((each) => each.short === short) ?? payload.kinds[0];
      return { name: `${name}, ${lowered(short)}`, layer, head, facts: part, kind };
    });
  });
  return entries.map((entry) => {
    const { name, facts } = entry;
    const others = entries.filter((each) => each !== entry && each.kind === entry.kind);
    const text = (/** @type {HeadFacts} */ { label, sentence }) => label ?? sentence;
    if (!others.some((other) => text(other.facts) === text(facts))) {
      return { name, facts, label: facts.label ?? "", said: facts.label ? "" : facts.sentence };
    }
    const said = apart(payload, entry, others);
    return { name, facts, said, label: said ? (facts.label ?? "") : "" };
  });
}

/** The cell in which a head differs most from others of its kind, in words; empty if it differs little.
 * @type {(payload: TracePayload, entry: Entry, others: Entry[]) => string} */
function apart(payload, { kind, layer, head }, others) {
  const cells = payload.cells(kind.kind, layer, head);
  const theirs = others.map((other) => payload.cells(kind.kind, other.layer, other.head));
  if ([cells, ...theirs].some(({ rough }) => rough)) return "";
  let [place, lead, next] = [-1, APART, 0];
  for (let at = 0; at < cells.weights.length; at++) {
    const most = Math.max(...theirs.map((other) => weightAt(other, at)));
    if (weightAt(cells, at) - most >= lead) [place, lead, next] = [at, weightAt(cells, at) - most, most];
  }
  if (place < 0) return "";
  const pair = pairOf(payload, kind, [Math.floor(place / cells.nKeys), place % cells.nKeys]);
  const rest = others.length > 1 ? tr("the others at most") : tr("the other");
  return `${pair} (${signed(weightAt(cells, place), 2)}; ${rest} ${signed(next, 2)})`;
}

/** Query and key in words; with cross-attention, also the token about to be written.
 * @type {(payload: TracePayload, kind: Kind, cell: Cell) => string} */
export function pairOf(payload, kind, [query, key]) {
  const next = kind.kind === "cross" && kind.besideMark === "→" ? payload.axis(kind.beside)?.[query] : null;
  const [read, seen] = [payload.named(kind.queries, query), payload.named(kind.keys, key)];
  return next ? tr("having read “{read}”, about to write “{next}”: looks at “{seen}”", { read, next, seen }) : `${read} → ${seen}`;
}

/** The ignored keys, in words. @type {(payload: TracePayload, kind: Kind, keys: number[]) => string} */
export function ignoredOf(payload, kind, keys) {
  if (!keys.length) return tr(`no ${kind.keyNoun}`);
  if (keys.length === payload.axis(kind.keys).length) return tr(`every ${kind.keyNoun} that is shown`);
  const more = keys.length - MOST_IGNORED;
  const shown = keys.slice(0, MOST_IGNORED).map((key) => payload.named(kind.keys, key));
  return shown.join(", ") + (more > 0 ? tr(" and {n} more", { n: more }) : "");
}

/** The tokens of a cell with their positions. @type {(payload: TracePayload, kind: Kind, cell: Cell) => string} */
export function cellName(payload, kind, [query, key]) {
  return tr("{query} ({row}) to {key} ({column})", { query: payload.axis(kind.queries)[query], row: query, key: payload.axis(kind.keys)[key], column: key });
}

/** A cell's content in words. @type {(cells: ExactCells, cell: Cell) => string} */
export function cellValue(cells, [query, key]) {
  const place = query * cells.nKeys + key;
  if (cells.allowed !== null && !cells.allowed[place]) return tr("not allowed");
  if (cells.rough) return tr("its weight is on the way");
  return tr("weight {weight}", { weight: written(cells.weights[place], cells.exact) });
}

/** The weight between a token, `{side, index}`, and one of the other side.
 * @type {(cells: Cells, token: SideToken, index: number) => number} */
export function weightBetween(cells, token, index) {
  const [query, key] = token.side === "query" ? [token.index, index] : [index, token.index];
  return weightAt(cells, query * cells.nKeys + key);
}

/** A token, `{side, index}`, and the three of the other side with most weight.
 * @type {(payload: TracePayload, kind: Kind, cells: Cells, token: SideToken) => string} */
export function tokenOf(payload, kind, cells, token) {
  const [own, other] = token.side === "query" ? [kind.queries, kind.keys] : [kind.keys, kind.queries];
  const weights = payload
    .axis(other)
    .map((text, index) => /** @type {const} */ ([text, weightBetween(cells, token, index)]))
    .sort((one, two) => two[1] - one[1])
    .slice(0, 3)
    .map(([text, weight]) => `${text} ${signed(weight, 2)}`);
  return labelled(payload.axis(own)[token.index], weights.join(", "));
}
