// What is seen from where the camera stands: the HTML, moved and faded, and over it the heads, positions and feed-forward layers.

import constants from "../../draw/constants.json" with { type: "json" };
import { classed, fitted } from "../canvas/dom.js";
import { crossOut } from "../canvas/paint.js";
import { come, paintBars } from "./blocks.js";
import { scaleOf, seenIn } from "./camera.js";

/** @import { HeadTiles } from "./blocks.js" */
/** @import { DrawnBlock, Stack } from "./stacks.js" */
/** @import { Travel } from "./travel.js" */

// How much closer, as a power of two, the HTML begins to fade, and is gone.
const [FADES_FROM, GONE_AT] = [1.3, 2];
// The width of a head on the screen from which those around it pale, and are palest.
const [PALES_FROM, PALEST_AT] = [110, 300];
const [PALE, PALEST] = [0.35, 0.14];

export class Scene {
  /** What the HTML was last drawn at. */
  drawn = { across: 1, up: 1 };
  /** @type {{ context: Context, density: number } | null} */
  canvas = null;
  /** The view to which the camera goes. @type {CameraView} */
  end = { x: 0, y: 0, across: 1, up: 1 };

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
  }

  /** Takes the size of the figure at rest. @type {(width: number, height: number) => void} */
  measure(width, height) {
    this.canvas = fitted(this.travel.view.canvas, width, height);
  }

  /** How much of the HTML is to be seen, 0 to 1. */
  get worldAlpha() {
    const { camera, place, moving, view } = this.travel;
    // Beside a panel, a head is all that is to be seen.
    if (view.beside && !moving && "head" in place) return 0;
    const isHtml = place.at === "model" || place.at === "stack";
    return 1 - come(Math.log2(scaleOf(camera)), [FADES_FROM, GONE_AT], isHtml ? GONE_AT : Math.max(0.1, Math.log2(scaleOf(this.end))));
  }

  get showsWorld() {
    return this.worldAlpha > 0;
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  paint(moment, done) {
    const { canvas, travel } = this;
    const { view, camera } = travel;
    if (!canvas || !travel.space) return;
    const { context, density } = canvas;
    this.end = travel.end;
    this._place(camera);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, view.canvas.width, view.canvas.height);
    context.setTransform(density, 0, 0, density, 0, 0);
    const focus = this._focus(moment);
    for (const stack of view.stacks) {
      const current = stack.current(moment, done);
      stack.layers.forEach(({ parts, added }, layer) => {
        const rows = stack.rowsOf(moment, layer);
        for (const drawn of parts) this._paintHeads(context, density, stack, drawn, { rows, current, focus });
        if (added) this._paintAdded(context, stack, layer, { rows, current, alpha: focus.pale });
      });
      this._paintTable(context, stack, focus.pale);
    }
    travel.near.paint(context, { end: this.end, share: travel.guide.share, rows: focus.rows });
    travel.map?.draw(travel.place, travel.space, view.figure, seenIn(camera, travel.viewport), view.inks.theme);
  }

  /** Moves the HTML with the camera. @type {(camera: CameraView) => void} */
  _place({ x, y, across, up }) {
    const { isMoving, view, viewport } = this.travel;
    const { world } = view;
    const whole = this.travel.isWhole && !view.beside;
    const { left, top, width, height } = viewport;
    const transform = whole ? "" : `translate(${left + width / 2 - x * across}px, ${top + height / 2 - y * up}px) scale(${across}, ${up})`;
    if (world.style.transform !== transform) world.style.transform = transform;
    const alpha = whole ? 1 : this.worldAlpha;
    const opacity = alpha >= 1 ? "" : alpha.toFixed(3);
    if (world.style.opacity !== opacity) world.style.opacity = opacity;
    const visibility = alpha > 0 ? "" : "hidden";
    if (world.style.visibility !== visibility) world.style.visibility = visibility;
    classed(view.root, "moves", isMoving);
    this.drawn = whole ? { across: 1, up: 1 } : { across, up };
  }

  /** The head that one is near, how many of its rows are computed, and how pale all others are. @param {Moment} moment */
  _focus(moment) {
    const { place, space, camera, view } = this.travel;
    if (!("kind" in place)) return { head: -1, pale: 1, rows: 0 };
    if (place.kind === constants.JOINT) return { head: -1, pale: view.beside ? 0 : PALEST, rows: 0 };
    const stack = view.stacks.find(({ stack: { blocks } }) => blocks.some(({ kind }) => kind === place.kind));
    const rows = stack?.rowsOf(moment, stack.stack.blocks[0].layers.indexOf(place.layer)) ?? 0;
    const tile = space.heads[`${place.kind}.${place.layer}`];
    // Beside a panel, that has all other heads.
    const palest = place.at === "block" ? PALE : view.beside ? 0 : PALEST;
    const share = come(tile.width * camera.across, place.at === "block" ? [50, 100] : [PALES_FROM, PALEST_AT], tile.width * this.end.across);
    return { head: "head" in place ? place.head : -1, pale: 1 - (1 - palest) * share, rows };
  }

  /** Whether a block is the place, or has it within. @type {(block: FigureBlock, at: number) => boolean} */
  _isHere({ kind, layers }, at) {
    const { place } = this.travel;
    return "kind" in place && place.kind === kind && place.layer === layers[at];
  }

  /** @type {(rect: Rectangle) => boolean} */
  _isSeen({ left, right, top, bottom }) {
    return right > 0 && bottom > 0 && left < this.travel.size.width && top < this.travel.size.height;
  }

  /** @type {(context: Context, density: number, stack: Stack, drawn: DrawnBlock, how: { rows: number; current: number; focus: ReturnType<Scene["_focus"]> }) => void} */
  _paintHeads(context, density, stack, drawn, { rows, current, focus }) {
    const { view, space, guide } = this.travel;
    const { block, place } = drawn;
    const key = `${block.kind}.${block.layers[place]}`;
    const { left, top } = space.blocks[key];
    const { width, height, gap } = space.heads[key];
    if (!this._isSeen(this.travel.onScreen(space.blocks[key]))) return;
    const isHere = this._isHere(block, place);
    const shown = isHere ? Math.min(rows, guide.share * block.queries) : rows;
    const rooms = Array.from({ length: block.heads }, (_, head) => {
      const from = left + head * (width + gap);
      const room = this.travel.onScreen({ left: from, top, width, height, right: from + width, bottom: top + height });
      return this._isSeen(room) ? room : null;
    });
    const alphas = rooms.map((_, head) => (isHere && (focus.head < 0 || head === focus.head) ? 1 : focus.pale));
    const marks = this.showsWorld ? view.marksOf(stack, drawn) : { rows: null, columns: null, head: -1, over: -1 };
    const tiles = /** @type {HeadTiles} */ (view.tiles.get(drawn));
    const sharp = isHere && !this.travel.isMoving ? focus.head : -1;
    tiles.paint({ context, density, inks: view.inks, rooms, alphas, rows: shown, current, marks, sharp });
    const { switched } = this.travel;
    if (!switched.off.size) return;
    rooms.forEach((room, head) => {
      if (room && switched.has([block.kind, block.layers[place], head])) crossOut(context, room, view.inks.theme);
    });
  }

  /** @type {(context: Context, stack: Stack, layer: number, how: { rows: number; current: number; alpha: number }) => void} */
  _paintAdded(context, drawn, layer, { rows, current, alpha }) {
    const { view, space } = this.travel;
    const { stack } = drawn;
    const room = this.travel.onScreen(space.added[`${stack.kind}.${stack.blocks[0].layers[layer]}`]);
    if (!this._isSeen(room)) return;
    context.globalAlpha = alpha;
    paintBars(context, room, view.figure.added(stack, layer), rows, current, drawn.band(), view.inks);
    context.globalAlpha = 1;
  }

  /** @type {(context: Context, stack: Stack, alpha: number) => void} */
  _paintTable(context, stack, alpha) {
    const { view, space } = this.travel;
    const image = view.tables.get(stack);
    const room = image && this.travel.onScreen(space.positions[stack.stack.kind]);
    if (!image || !room || !this._isSeen(room)) return;
    context.globalAlpha = alpha;
    context.imageSmoothingEnabled = false;
    context.drawImage(image, room.left, room.top, room.width, room.height);
    context.globalAlpha = 1;
  }
}
