// The places in the model's picture: how a link spells them, and which lies around, inside and beside which.

import constants from "../../draw/constants.json" with { type: "json" };

const SPELLING = /^[a-z.0-9-]{0,40}$/;
const COUNT = /^\d{1,3}$/;
/** The whole. @type {Place} */
export const MODEL = { at: "model" };

/** A place as a link has it: "cross.0.5"; the whole model is empty. @type {(place: Place) => string} */
export function spelled(place) {
  switch (place.at) {
    case "model":
      return "";
    case "stack":
      return place.stack;
    case "positions":
      return `positions.${place.stack}`;
    case "added":
      return `feed-forward.${place.stack}.${place.layer}`;
    case "next":
      return `next.${place.step}`;
    case "block":
      return `${place.kind}.${place.layer}`;
    case "head":
      return `${place.kind}.${place.layer}.${place.head}`;
    case "row":
      return `${place.kind}.${place.layer}.${place.head}.${place.query}`;
    default:
      return `${place.kind}.${place.layer}.${place.head}.${place.query}.${place.key}`;
  }
}

/** The place that a link spells, be it there or not; the whole model for what is no spelling. @type {(text: string) => Place} */
export function parsed(text) {
  if (!SPELLING.test(text)) return MODEL;
  const parts = text.split(".");
  const named = parts.findIndex((part) => COUNT.test(part));
  const words = named < 0 ? parts : parts.slice(0, named);
  const numbers = parts.slice(words.length);
  if (words.some((word) => !/^[a-z]+(?:-[a-z]+)*$/.test(word)) || !numbers.every((part) => COUNT.test(part))) return MODEL;
  const [layer, head, query, key] = numbers.map(Number);
  const [kind, stack] = words;
  switch (`${words.length}.${numbers.length}`) {
    case "1.0":
      return { at: "stack", stack: kind };
    case "2.0":
      return kind === "positions" ? { at: "positions", stack } : MODEL;
    case "2.1":
      return kind === "feed-forward" ? { at: "added", stack, layer } : MODEL;
    case "1.1":
      return kind === "next" ? { at: "next", step: layer } : { at: "block", kind, layer };
    case "1.2":
      return { at: "head", kind, layer, head };
    case "1.3":
      return { at: "row", kind, layer, head, query };
    case "1.4":
      return { at: "weight", kind, layer, head, query, key };
    default:
      return MODEL;
  }
}

/** Whether two places are one. @type {(one: Place, other: Place) => boolean} */
export const samePlace = (one, other) => spelled(one) === spelled(other);

/** A kind of attention with its stack, and a layer's index in it, -1 where it has none; null for a kind that is not drawn.
 * All three kinds in one picture lie in the decoder.
 * @type {(figure: PlacedFigure, place: { kind: string; layer: number }) => { stack: PlacedStack; block: PlacedBlock; at: number } | null} */
export function blockAt(figure, { kind, layer }) {
  for (const stack of figure.stacks) {
    const block = kind === constants.JOINT ? stack.joint : stack.blocks.find((each) => each.kind === kind);
    if (block) return { stack, block, at: block.layers.indexOf(layer) };
  }
  return null;
}

/** @type {(figure: PlacedFigure, name: string) => PlacedStack | null} */
export function stackNamed(figure, name) {
  return figure.stacks.find(({ kind }) => kind === name) ?? null;
}

/** One step out; null from the whole model. @type {(place: Place, figure: PlacedFigure) => Place | null} */
export function outer(place, figure) {
  switch (place.at) {
    case "model":
      return null;
    case "stack":
    case "next":
      return MODEL;
    case "positions":
    case "added":
      return { at: "stack", stack: place.stack };
    case "block": {
      const found = blockAt(figure, place);
      return found ? { at: "stack", stack: found.stack.kind } : MODEL;
    }
    case "head":
      return place.kind === constants.JOINT ? { at: "stack", stack: "decoder" } : { at: "block", kind: place.kind, layer: place.layer };
    case "row":
      return { at: "head", kind: place.kind, layer: place.layer, head: place.head };
    default:
      return { at: "row", kind: place.kind, layer: place.layer, head: place.head, query: place.query };
  }
}

/** A place with all that it lies in, from the whole model inwards. @type {(place: Place, figure: PlacedFigure) => Place[]} */
export function around(place, figure) {
  const out = outer(place, figure);
  return out ? [...around(out, figure), place] : [place];
}

/** Whether this model and sentence have a place. @type {(place: Place, figure: PlacedFigure) => boolean} */
function exists(place, figure) {
  switch (place.at) {
    case "model":
      return true;
    case "stack":
      return !!stackNamed(figure, place.stack);
    case "next":
      return place.step >= 0 && place.step < (figure.next?.length ?? 0);
    case "positions":
      return !!stackNamed(figure, place.stack)?.positions?.dimensions;
    case "added": {
      const stack = stackNamed(figure, place.stack);
      return !!stack?.added && stack.blocks[0].layers.includes(place.layer);
    }
    default: {
      const found = blockAt(figure, place);
      if (!found || found.at < 0) return false;
      const within = (/** @type {number} */ number, /** @type {number} */ count) => number >= 0 && number < count;
      if (place.at === "block") return place.kind !== constants.JOINT;
      if (!within(place.head, found.block.heads)) return false;
      if (place.at === "head" || place.kind === constants.JOINT) return place.at === "head";
      return within(place.query, found.block.queries) && (place.at === "row" || within(place.key, found.block.keys));
    }
  }
}

/** The place, or the nearest around it that this model and sentence have; of the next tokens, the last step.
 * @type {(place: Place, figure: PlacedFigure) => Place} */
export function legal(place, figure) {
  if (exists(place, figure)) return place;
  if (place.at === "next" && figure.next?.length) return { at: "next", step: figure.next.length - 1 };
  return legal(outer(place, figure) ?? MODEL, figure);
}

/** Which kind of attention has a cell of all three in one picture, and where; a row after the source is one of cross-attention. Null for
 * a cell of none. @type {(figure: PlacedFigure, query: number, key: number | null) => { kind: string; query: number; key: number | null } | null} */
export function partOfJoint(figure, query, key) {
  const border = stackNamed(figure, "encoder")?.tokens.length ?? 0;
  if (query < border) return key === null || key < border ? { kind: "encoder", query, key } : null;
  if (key === null || key < border) return { kind: "cross", query: query - border, key };
  return { kind: "decoder", query: query - border, key: key - border };
}

/** The index of the largest, the first of equals. @type {(values: ArrayLike<number>) => number} */
const largestOf = (values) => Array.from(values).reduce((best, value, place, all) => (value > all[best] ? place : best), 0);

/** A row's weights, from 0 to 1. @type {(figure: PlacedFigure, place: { kind: string; layer: number; head: number; query: number }) => number[]} */
export function weightsOfRow(figure, { kind, layer, head, query }) {
  const found = blockAt(figure, { kind, layer });
  if (!found) return [];
  const { weights, scale, nKeys } = figure.cells(found.block, found.at, head);
  return Array.from(weights.subarray(query * nKeys, (query + 1) * nKeys), (weight) => (weight * scale) / 255);
}

/** The strongest weight of a row, or of a head's rows. @type {(figure: PlacedFigure, place: HeadPlace) => Extract<Place, { at: "weight" }>} */
export function strongestWeight(figure, place) {
  const { kind, layer, head } = place;
  const row = (/** @type {number} */ query) => weightsOfRow(figure, { kind, layer, head, query });
  const all = Array.from({ length: "query" in place ? 0 : (blockAt(figure, place)?.block.queries ?? 0) }, (_, query) => Math.max(...row(query)));
  const query = "query" in place ? place.query : largestOf(all);
  return { at: "weight", kind, layer, head, query, key: largestOf(row(query)) };
}

/**
 * One step in, without a pointer: `towards` a place inside this one; else to the head whose arcs are drawn, and in a head to its strongestWeight
 * weight. Null where nothing lies inside.
 *
 * @type {(place: Place, figure: PlacedFigure, towards?: Place | null) => Place | null}
 */
export function inner(place, figure, towards = null) {
  const way = around(towards ?? MODEL, figure);
  const depth = way.findIndex((each) => samePlace(each, place));
  if (depth >= 0 && depth + 1 < way.length) return way[depth + 1];
  const drawn = figure.head;
  switch (place.at) {
    case "model": {
      const stack = (drawn && blockAt(figure, { kind: drawn[0], layer: drawn[1] })?.stack) ?? figure.stacks.at(-1);
      return stack ? { at: "stack", stack: stack.kind } : null;
    }
    case "stack": {
      const blocks = stackNamed(figure, place.stack)?.blocks ?? [];
      const block = blocks.find(({ kind }) => kind === drawn?.[0]) ?? blocks.at(-1);
      if (!block) return null;
      const layer = block.kind === drawn?.[0] ? drawn[1] : block.layers[Math.floor(block.layers.length / 2)];
      return { at: "block", kind: block.kind, layer };
    }
    case "block": {
      const heads = blockAt(figure, place)?.block.heads ?? 1;
      const head = drawn && drawn[0] === place.kind && drawn[1] === place.layer ? drawn[2] : Math.floor((heads - 1) / 2);
      return { at: "head", kind: place.kind, layer: place.layer, head };
    }
    case "head": {
      const { query, key } = strongestWeight(figure, place);
      if (place.kind !== constants.JOINT) return { ...place, at: "row", query };
      const part = partOfJoint(figure, query, key);
      return part && { ...place, at: "row", kind: part.kind, query: part.query };
    }
    case "row":
      return strongestWeight(figure, place);
    default:
      return null;
  }
}

/**
 * Where an arrow key leads; null where nothing lies there.
 *
 * Left and right lead among stacks, the blocks of a layer, heads, a row's keys and the steps of the next tokens; up and down among layers,
 * as they are drawn, and rows. Below a stack's lowest layer lie its positions.
 *
 * @type {(place: Place, key: string, figure: PlacedFigure) => Place | null}
 */
export function beside(place, key, figure) {
  const [along, up] = [Number(key === "ArrowRight") - Number(key === "ArrowLeft"), Number(key === "ArrowUp") - Number(key === "ArrowDown")];
  const to = along || up ? step(place, along, up, figure) : null;
  return to && exists(to, figure) ? to : null;
}

/** @type {(place: Place, along: number, up: number, figure: PlacedFigure) => Place | null} */
function step(place, along, up, figure) {
  switch (place.at) {
    case "model":
      return null;
    case "stack": {
      const to = figure.stacks[figure.stacks.findIndex(({ kind }) => kind === place.stack) + along];
      if (up) return up < 0 ? { at: "positions", stack: place.stack } : null;
      return to ? { at: "stack", stack: to.kind } : along > 0 ? { at: "next", step: 0 } : null;
    }
    case "positions": {
      const at = figure.stacks.findIndex(({ kind }) => kind === place.stack);
      const to = figure.stacks[at + along];
      if (!up) return to ? { at: "positions", stack: to.kind } : null;
      const [block] = figure.stacks[at]?.blocks ?? [];
      return block && up > 0 ? { at: "block", kind: block.kind, layer: block.layers[0] } : null;
    }
    case "next":
      if (up) return null;
      return place.step + along < 0 ? { at: "stack", stack: figure.stacks.at(-1)?.kind ?? "" } : { at: "next", step: place.step + along };
    case "added": {
      const stack = stackNamed(figure, place.stack);
      return stack ? inLayer(stack, place.layer, stack.blocks.length + along, up) : null;
    }
    case "block": {
      const found = blockAt(figure, place);
      return found ? inLayer(found.stack, place.layer, found.stack.blocks.indexOf(found.block) + along, up) : null;
    }
    case "head":
      return along ? { ...place, head: place.head + along } : { ...place, layer: layerBy(place, up, figure) };
    case "row":
      return along ? { ...place, head: place.head + along } : { ...place, query: place.query - up };
    default:
      return along ? { ...place, key: place.key + along } : { ...place, query: place.query - up };
  }
}

/** The layer so many above, as it is numbered; -1 for none. @type {(place: { kind: string; layer: number }, up: number, figure: PlacedFigure) => number} */
function layerBy(place, up, figure) {
  const found = blockAt(figure, place);
  return found?.block.layers[found.at + up] ?? -1;
}

/** The block of a stack at an index along a layer, feed-forward last, `up` layers above; its positions below the lowest.
 * @type {(stack: PlacedStack, layer: number, index: number, up: number) => Place | null} */
function inLayer(stack, layer, index, up) {
  const { layers } = stack.blocks[0];
  const at = layers.indexOf(layer) + up;
  if (at < 0) return { at: "positions", stack: stack.kind };
  const block = stack.blocks[index];
  const to = layers[at] ?? -1;
  if (block) return { at: "block", kind: block.kind, layer: to };
  return index === stack.blocks.length ? { at: "added", stack: stack.kind, layer: to } : null;
}
