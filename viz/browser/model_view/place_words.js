// Names of places for a path, and what each shows, for a screen reader.

import constants from "../../draw/constants.json" with { type: "json" };
import { signed } from "../canvas/numbers.js";
import { lowered, tr } from "../canvas/wording.js";
import { around, blockAt, weightsOfRow, stackNamed, strongestWeight } from "./places.js";

const LONGEST_WORD = 18;
/** Weights that differ by less are said to be equal. */
const ALIKE = 5e-4;

/** A token in quotation marks, shortened where it is very long; its number where its text is not known.
 * @type {(tokens: string[], place: number, count: number) => string} */
function quoted(tokens, place, count) {
  if (tokens.length !== count) return tr("token {token}", { token: place + 1 });
  const letters = Array.from(tokens[place]);
  const word = letters.length > LONGEST_WORD ? `${letters.slice(0, LONGEST_WORD - 1).join("")}…` : tokens[place];
  return tr("“{word}”", { word });
}

/** The query and the key of a place, in words. @type {(figure: PlacedFigure, place: { kind: string; layer: number }, query: number, key: number) => string[]} */
function wordsOf(figure, place, query, key) {
  const found = blockAt(figure, place);
  if (!found) return [];
  const { stack, block } = found;
  if (block.tokens) return [query, key].map((place) => quoted(block.tokens ?? [], place, block.queries));
  const read = figure.stacks.find(({ side }) => side === block.keySide);
  return [quoted(stack.tokens, query, block.queries), quoted((block.keySide === stack.side ? stack : read)?.tokens ?? [], key, block.keys)];
}

/** The way to a place, from the whole model: "Model › Cross-attention, layer 0 › Head 5 › “gekauft” › “bought”".
 * @type {(place: Place, figure: PlacedFigure) => { place: Place; name: string }[]} */
export function names(place, figure) {
  const inBlock = "kind" in place;
  // A kind of attention tells the stack.
  const way = around(place, figure).filter(({ at }) => !inBlock || at !== "stack");
  return way.map((each) => ({ place: each, name: nameOf(each, figure) }));
}

/** @type {(place: Place, figure: PlacedFigure) => string} */
function nameOf(place, figure) {
  switch (place.at) {
    case "model":
      return tr("Model");
    case "stack":
      return stackNamed(figure, place.stack)?.name ?? "";
    case "positions":
      return tr("Positions");
    case "added":
      return tr("{name}, layer {layer}", { name: tr("Feed-forward"), layer: place.layer });
    case "next":
      return tr("What comes next, step {step}", { step: place.step + 1 });
    case "block":
      return tr("{name}, layer {layer}", { name: blockAt(figure, place)?.block.name ?? "", layer: place.layer });
    case "head":
      if (place.kind !== constants.JOINT) return tr("Head {head}", { head: place.head });
      return tr("{name}, layer {layer}, head {head}", { ...place, name: tr("All three") });
    case "row":
      return wordsOf(figure, place, place.query, 0)[0];
    default:
      return wordsOf(figure, place, place.query, place.key)[1];
  }
}

/** What a place shows, in one sentence. @type {(place: Place, figure: PlacedFigure) => string} */
export function saidOf(place, figure) {
  switch (place.at) {
    case "model":
      return tr("The whole model: {parts}.", { parts: figure.stacks.map(({ name }) => name).join(", ") });
    case "stack": {
      const { name, blocks } = /** @type {PlacedStack} */ (stackNamed(figure, place.stack));
      const heads = blocks.map((block) => tr("{name} with {n} heads", { name: lowered(block.name), n: block.heads }, "{name} with {n} head")).join(", ");
      return tr("{name} of {n} layers: {heads}.", { name, n: blocks[0].layers.length, heads }, "{name} of {n} layer: {heads}.");
    }
    case "positions":
      return tr("{name}: the positions that are added to its tokens.", { name: stackNamed(figure, place.stack)?.name ?? "" });
    case "added":
      return addedSaid(place, figure);
    case "next": {
      const { texts, shares } = /** @type {NonNullable<PlacedFigure["next"]>} */ (figure.next)[place.step];
      const word = quoted(texts, shares.indexOf(Math.max(...shares)), texts.length);
      return tr("What comes next, step {step}: {word} is the likeliest token.", { step: place.step + 1, word });
    }
    case "block": {
      const { block } = /** @type {NonNullable<ReturnType<typeof blockAt>>} */ (blockAt(figure, place));
      return tr("{name}, layer {layer}, {n} heads.", { name: block.name, layer: place.layer, n: block.heads }, "{name}, layer {layer}, {n} head.");
    }
    default:
      return headSaid(place, figure);
  }
}

/** The model in words, in the place of its picture. @type {(figure: Figure) => string} */
export function modelSaid(figure) {
  const stacks = figure.stacks.map((stack) => {
    const heads = stack.blocks.map(({ name, heads }) => tr("{name} with {n} heads", { name: lowered(name), n: heads }, "{name} with {n} head")).join(", ");
    return tr("{name} of {n} layers: {heads}.", { name: stack.name, n: figure.depth(stack), heads }, "{name} of {n} layer: {heads}.");
  });
  return [...stacks, figure.said, figure.spoken(figure.arcs.frames - 1)].join(" ");
}

/** @type {(place: Extract<Place, { at: "added" }>, figure: PlacedFigure) => string} */
function addedSaid({ stack: kind, layer }, figure) {
  const { name, tokens, added, blocks } = /** @type {PlacedStack & { added: Float32Array }} */ (stackNamed(figure, kind));
  const start = blocks[0].layers.indexOf(layer) * tokens.length;
  const own = Array.from(added.subarray(start, start + tokens.length));
  const word = quoted(tokens, own.indexOf(Math.max(...own)), tokens.length);
  return tr("{name}, layer {layer}: the feed-forward block adds most to {word}.", { name, layer, word });
}

/** @type {(place: HeadPlace, figure: PlacedFigure) => string} */
function headSaid(place, figure) {
  const { kind, layer, head } = place;
  const { block, at } = /** @type {NonNullable<ReturnType<typeof blockAt>>} */ (blockAt(figure, place));
  const { allowed, rough } = figure.cells(block, at, head);
  if (rough) return tr("Head {head} of {name} in layer {layer}.", { head, name: lowered(block.name), layer });
  const { query, key } = place.at === "weight" ? place : strongestWeight(figure, place);
  const row = weightsOfRow(figure, { kind, layer, head, query });
  const [word, seen] = wordsOf(figure, place, query, key);
  const values = { head, name: lowered(block.name), layer, word, seen, weight: signed(row[key], 2) };
  if (place.at === "weight") {
    if (allowed && !allowed[query * block.keys + key]) return tr("Head {head} of {name} in layer {layer}: {word} may not look at {seen}.", values);
    return tr("Head {head} of {name} in layer {layer}: {word} looks at {seen} with a weight of {weight}.", values);
  }
  if (!row[key]) return tr("Head {head} of {name} in layer {layer}: {word} looks at no token.", values);
  const n = row.filter((weight) => row[key] - weight < ALIKE).length;
  if (n > 1) return tr("Head {head} of {name} in layer {layer}: {word} looks equally at {n} tokens, with {weight} each.", { ...values, n });
  return tr("Head {head} of {name} in layer {layer}: {word} looks most at {seen}, with {weight}.", values);
}
