// Where places lie in the world, and which place a point of it means.

import constants from "../../draw/constants.json" with { type: "json" };
import { rectangle } from "../canvas/geometry.js";
import { blockAt } from "./places.js";

/** @import { ModelView } from "./view.js" */

/** From these sizes on, in pixels of the screen, a thing is large enough to be meant. */
const [LEAST_HEAD, LEAST_ROW, LEAST_CELL] = [12, 8, 26];
/** A row is meant in a head of this width: smaller, one means the head. */
const ROWS_FROM = 160;

/** @type {(rectangle: Rectangle | null | undefined, point: WorldPoint) => boolean} */
export const holds = (rectangle, { x, y }) => !!rectangle && x >= rectangle.left && x < rectangle.right && y >= rectangle.top && y < rectangle.bottom;

/**
 * Where a place lies; heads, rows and cells in their block's row of heads. The whole model for what is not drawn.
 *
 * @type {(place: Place, space: Space, figure: PlacedFigure) => Rectangle}
 */
export function rectOf(place, space, figure) {
  switch (place.at) {
    case "model":
      return space.model;
    case "stack":
      return space.stacks[place.stack] ?? space.model;
    case "positions":
      return space.positions[place.stack] ?? space.model;
    case "added":
      return space.added[`${place.stack}.${place.layer}`] ?? space.model;
    case "next":
      return space.next ?? space.model;
    default: {
      const name = `${place.kind}.${place.layer}`;
      if (place.kind === constants.JOINT) return space.stacks.decoder ?? space.model;
      const row = space.blocks[name];
      if (!row || place.at === "block") return row ?? space.model;
      const { width, height, gap } = space.heads[name];
      const left = row.left + place.head * (width + gap);
      const { queries = 1, keys = 1 } = blockAt(figure, place)?.block ?? {};
      if (place.at === "head") return rectangle(left, row.top, width, height);
      const top = row.top + (place.query * height) / queries;
      if (place.at === "row") return rectangle(left, top, width, height / queries);
      return rectangle(left + (place.key * width) / keys, top, width / keys, height / queries);
    }
  }
}

/**
 * The deepest place at a point of the world that is large enough on the screen to be meant.
 *
 * @type {(point: WorldPoint, space: Space, figure: PlacedFigure, scale: { across: number; up: number }) => Place}
 */
export function placeAt(point, space, figure, scale) {
  for (const { kind: stack, blocks, positions, added } of figure.stacks) {
    for (const block of blocks) {
      const layer = block.layers.find((each) => holds(space.blocks[`${block.kind}.${each}`], point));
      if (layer !== undefined) return withinBlock(point, space, block, layer, scale);
    }
    const layer = added ? blocks[0].layers.find((each) => holds(space.added[`${stack}.${each}`], point)) : undefined;
    if (layer !== undefined) return { at: "added", stack, layer };
    if (positions?.dimensions && holds(space.positions[stack], point)) return { at: "positions", stack };
  }
  if (figure.next && holds(space.next, point)) return { at: "next", step: space.step };
  const stack = figure.stacks.find(({ kind }) => holds(space.stacks[kind], point));
  return stack ? { at: "stack", stack: stack.kind } : { at: "model" };
}

/** @type {(point: WorldPoint, space: Space, block: PlacedBlock, layer: number, scale: { across: number; up: number }) => Place} */
function withinBlock({ x, y }, space, { kind, heads, queries, keys }, layer, { across, up }) {
  const row = space.blocks[`${kind}.${layer}`];
  const { width, height, gap } = space.heads[`${kind}.${layer}`];
  const [wide, high] = [width * across, height * up];
  if (Math.min(wide, high) < LEAST_HEAD) return { at: "block", kind, layer };
  const counted = (/** @type {number} */ share, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, Math.floor(share)));
  const head = counted((x - row.left) / (width + gap), heads);
  const left = x - row.left - head * (width + gap);
  const [query, key] = [counted(((y - row.top) / height) * queries, queries), counted((left / width) * keys, keys)];
  const place = { kind, layer, head };
  // Between two heads there is no row.
  if (wide < ROWS_FROM || left > width) return { at: "head", ...place };
  if (Math.min(wide / keys, high / queries) >= LEAST_CELL) return { at: "weight", ...place, query, key };
  return high / queries >= LEAST_ROW ? { at: "row", ...place, query } : { at: "head", ...place };
}

/** Where everything lies in the figure at rest, measured once for all frames. @type {(view: ModelView) => FigurePlaces} */
export function placesIn(view) {
  const within = (/** @type {HTMLElement} */ made) => view.within(made);
  const [written, read] = [view.headline.words, view.headline.sources].map((words) => words.map(({ made }) => within(made)));
  return {
    ...{ written, read },
    stacks: view.stacks.map(({ box, layers, chips, foot, made, table }) => ({
      ...{ box: within(box), chips: within(chips), foot: within(foot), made: within(made), table: table && within(table) },
      layers: layers.map(({ row, parts, blocks, added }) => ({
        ...{ row: within(row), blocks: blocks.map(within), parts: parts.map(({ cell }) => within(cell)), added: added && within(added) },
      })),
    })),
    next: view.next ? within(view.next.button) : null,
    writtenEnd: Math.max(...written.map(({ bottom }) => bottom), 0),
    readStart: Math.min(...read.map(({ top }) => top)),
  };
}

/** The world in which places lie: the figure at rest, so wide and high. @type {(view: ModelView, width: number, height: number) => Space} */
export function spaceOf({ places, stacks, next, tile, tileGap }, width, height) {
  /** @type {Space} */
  const space = {
    model: rectangle(0, 0, width, height),
    ...{ stacks: {}, blocks: {}, heads: {}, positions: {}, added: {} },
    next: places.next,
    step: next?.shown ?? 0,
  };
  stacks.forEach(({ stack }, number) => {
    const { made, box, chips, layers, table } = places.stacks[number];
    space.stacks[stack.kind] = { ...box, top: made.top, bottom: chips.bottom, height: chips.bottom - made.top };
    if (table) space.positions[stack.kind] = table;
    layers.forEach(({ parts, added }, layer) => {
      stack.blocks.forEach((block, part) => {
        const key = `${block.kind}.${block.layers[layer]}`;
        space.blocks[key] = parts[part];
        space.heads[key] = { ...tile, gap: tileGap };
      });
      if (added) space.added[`${stack.kind}.${stack.blocks[0].layers[layer]}`] = added;
    });
  });
  return space;
}
