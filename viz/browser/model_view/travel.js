// The way through the model: where one is, the camera that goes there, and what the canvas shows on the way.

import { fitted, classed } from "../canvas/dom.js";
import { wantsNoMotion } from "../canvas/page.js";
import { paintBars, smooth } from "./blocks.js";
import { fitting, panned, path, scaleOf, seenIn, toScreen, toWorld, zoomed } from "./camera.js";
import { Gestures, keyMeans } from "./gestures.js";
import { Guide } from "./guide.js";
import { Near } from "./near.js";
import { saidOf } from "./place_words.js";
import { MODEL, beside, inner, legal, outer, samePlace } from "./places.js";
import { placeAt, rectOf } from "./space.js";
import { SmallMap, Trail } from "./trail.js";

/** @import { ModelView } from "./view.js" */

const PLACE_PAUSE = 300;
// How much closer, as a power of two, the HTML begins to fade, and is gone.
const [FADES_FROM, GONE_AT] = [1.3, 2];
// The width of a head on the screen from which those around it pale, and are palest.
const [PALES_FROM, PALEST_AT] = [110, 300];
const [PALE, PALEST] = [0.35, 0.14];
const CLOSEST = 900;
const LEAST_ROOM = 360;
const KEY_ZOOM = 1.5;

export class Travel {
  /** @type {Place} */
  place = MODEL;
  /** @type {CameraView} */
  camera = { x: 0, y: 0, across: 1, up: 1 };
  /** What the HTML was last drawn at. */
  drawn = { across: 1, up: 1 };
  /** The part of the component that is on the screen, in it. */
  viewport = { left: 0, top: 0, width: 1, height: 1 };
  /** @type {Space} */
  space;
  size = { width: 1, height: 1 };
  /** @type {{ way: CameraPath, began: number | null, comes: (() => void) | null } | null} */
  moving = null;
  /** @type {{ context: Context, density: number } | null} */
  canvas = null;
  frame = 0;
  /** @type {number | undefined} */
  waiting;
  /** The place as Python knows it. @type {Place} */
  told = MODEL;
  /** The walk's stop as Python knows it. */
  toldStop = 0;

  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.near = new Near(this);
    this.guide = new Guide(this);
    this.gestures = new Gestures(view.root, {
      isOut: () => this.isWhole,
      zoom: (point, factor) => this.zoom(point, factor),
      pan: (dx, dy) => this.pan(dx, dy),
      enter: (point) => this.enterAt(point),
      swipe: (direction) => this._swipe(direction),
    });
    this.onClick = (/** @type {MouseEvent} */ event) => this._click(event);
    this.onMove = (/** @type {PointerEvent} */ event) => this.near.point(this.isWhole ? null : event);
    view.root.addEventListener("click", this.onClick);
    view.root.addEventListener("pointermove", this.onMove);
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.waiting);
    this.gestures.dispose();
    this.near.dispose();
    this.guide.dispose();
    this.view.root.removeEventListener("click", this.onClick);
    this.view.root.removeEventListener("pointermove", this.onMove);
  }

  /** Whether the whole model is seen, at rest. */
  get isWhole() {
    return !this.moving && this.place.at === "model" && scaleOf(this.camera) === 1;
  }

  get isMoving() {
    return Boolean(this.moving);
  }

  /** How much of the HTML is to be seen, 0 to 1. */
  get worldAlpha() {
    return 1 - smooth((Math.log2(scaleOf(this.camera)) - FADES_FROM) / (GONE_AT - FADES_FROM));
  }

  get showsWorld() {
    return this.worldAlpha > 0;
  }

  build() {
    this.trail = new Trail({ go: (place) => this.go(place) });
    this.map = new SmallMap({ go: (point) => this.go(this._placeAt(point)) });
    this.trail.root.append(this.map.root);
    return [this.trail.root, ...this.guide.parts];
  }

  // ---- where things are -------------------------------------------------------------------------------------------

  /** Takes the measures of the figure at rest. @type {(width: number, height: number) => void} */
  measure(width, height) {
    const { view } = this;
    const { places, figure, tile, tileGap } = view;
    /** @type {Space} */
    const space = {
      model: { left: 0, top: 0, width, height, right: width, bottom: height },
      ...{ stacks: {}, blocks: {}, heads: {}, positions: {}, added: {} },
      next: places.next,
      step: view.next?.shown ?? 0,
    };
    view.stacks.forEach(({ stack }, number) => {
      const { made, layers, table } = places.stacks[number];
      space.stacks[stack.kind] = made;
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
    this.space = space;
    this.size = { width, height };
    this.canvas = fitted(view.canvas, width, height);
    this.guide.measure();
    if (this.place.at === "model" && !this.near.below) this._rest();
    else {
      this.place = legal(this.place, figure);
      this._look();
      this.camera = this._viewOf(this.place);
      this.moving = null;
    }
  }

  /** Takes the part of the component that is on the screen. */
  _look() {
    const { left, top, width, height } = this.view.root.getBoundingClientRect();
    const head = document.querySelector('[data-testid="stHeader"]')?.getBoundingClientRect().bottom ?? 0;
    const [from, to] = [Math.max(top, head, 0), Math.min(top + height, window.innerHeight)];
    const tall = Math.min(height, Math.max(to - from, LEAST_ROOM));
    this.viewport = { left: Math.max(0, -left), top: Math.min(Math.max(0, from - top), height - tall), width, height: tall };
  }

  /** The view that shows the whole model where it lies. @type {() => CameraView} */
  _whole() {
    const { left, top, width, height } = this.viewport;
    return { x: left + width / 2, y: top + height / 2, across: 1, up: 1 };
  }

  /** The view of a place. @type {(place: Place) => CameraView} */
  _viewOf(place) {
    if (place.at === "model" && !this.near.below) return this._whole();
    const rect = rectOf(place, this.space, this.view.figure);
    return this.near.viewOf(place, rect) ?? fitting(rect, this.viewport, { margin: this.near.margin(place) });
  }

  /** A rectangle of the figure on the screen, within the component. @type {(rect: Rectangle) => Rectangle} */
  onScreen(rect) {
    const { left, top } = this.viewport;
    const seen = toScreen(this.camera, this.viewport, rect);
    return { ...seen, left: seen.left + left, right: seen.right + left, top: seen.top + top, bottom: seen.bottom + top };
  }

  /** A point of the window, in the viewport. @type {(spot: Spot) => WorldPoint} */
  _inViewport({ clientX, clientY }) {
    const { left, top } = this.view.root.getBoundingClientRect();
    return { x: clientX - left - this.viewport.left, y: clientY - top - this.viewport.top };
  }

  /** The place at a point of the figure, as far as it is large enough to be meant; `share` of its size counts.
   * @type {(point: WorldPoint, share?: number) => Place} */
  _placeAt(point, share = 1) {
    const { across, up } = this.camera;
    return placeAt(point, this.space, this.view.figure, { across: share * across, up: share * up });
  }

  /** The place under a point of the window. @type {(spot: Spot) => Place} */
  under(spot) {
    return this._placeAt(toWorld(this.camera, this.viewport, this._inViewport(spot)));
  }

  // ---- going ------------------------------------------------------------------------------------------------------

  /** Takes the place and the walk's stop that Python or a link asks for. @type {(place: Place, stop: number, how: { isNew: boolean }) => void} */
  asked(place, stop, { isNew }) {
    const to = legal(place, this.view.figure);
    Object.assign(this, { told: to, toldStop: stop });
    if (isNew) {
      this.place = to;
      this.near.ask(to);
      this.measure(this.size.width, this.size.height);
      this._dress();
    }
    this.guide.take(stop);
    if (!isNew && !stop && !samePlace(to, this.place)) this.go(to);
  }

  /** Goes to a place by one smooth way; `lit` are a row and a column there, and `comes` is called on arrival.
   * @type {(place: Place, how?: { lit?: { query?: number; key?: number }; comes?: (() => void) | null }) => void} */
  go(place, { lit, comes = null } = {}) {
    if (this.isWhole) this._look();
    this.place = place;
    this.near.ask(place, lit);
    const to = this._viewOf(place);
    const way = path(this.camera, to, this.viewport);
    this._dress();
    if (!way.duration || wantsNoMotion()) {
      this.camera = to;
      this.moving = null;
      if (way.duration) this._fade();
      this._arrived();
      comes?.();
      this.view.draw();
      return;
    }
    this.moving = { way, began: null, comes };
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame((now) => this._move(now));
  }

  /** Goes to where one is, after the room for it has changed. */
  again() {
    this.go(this.place);
  }

  /** Says by a short fade that the place has changed. */
  _fade() {
    const { classList } = this.view.root;
    classList.remove("arrives");
    void this.view.root.offsetWidth;
    classList.add("arrives");
  }

  /** @type {(now: number) => void} */
  _move(now) {
    if (!this.moving) return;
    const { way } = this.moving;
    this.moving.began ??= now;
    const share = Math.min(1, (now - this.moving.began) / way.duration);
    this.camera = way.at(share);
    if (share >= 1) {
      const { comes } = this.moving;
      this.moving = null;
      this._arrived();
      comes?.();
    } else this.frame = requestAnimationFrame((next) => this._move(next));
    // What plays draws each frame by itself.
    if (!this.view.playing) this.view.draw();
  }

  _arrived() {
    if (this.place.at === "model" && !this.near.below) this._rest();
    this._dress();
    this._settled();
  }

  /** Says where one is, once it stays so. */
  _settled() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const { view, place } = this;
      const { stop } = this.guide;
      if (!stop) view.say(saidOf(place, view.figure));
      if (samePlace(place, this.told) && stop === this.toldStop) return;
      Object.assign(this, { told: place, toldStop: stop });
      view.tellPlace();
    }, PLACE_PAUSE);
  }

  _rest() {
    this.camera = this._whole();
    this.moving = null;
  }

  /** Shows the path of names and takes the HTML out of reach, or not. */
  _dress() {
    const { view, place } = this;
    const whole = place.at === "model";
    classed(view.root, "zoomed", !whole);
    view.root.dataset.place = place.at;
    view.world.inert = !whole;
    this.trail?.show(place, view.figure, this.near.ways(place));
    this.gestures.update();
    const { left, top, width, height } = this.viewport;
    for (const [name, value] of Object.entries({ left, top, width, height })) view.root.style.setProperty(`--seen-${name}`, `${value}px`);
  }

  /** One step out; whether there was one. */
  out() {
    const to = this.view.root.clientWidth ? outer(this.place, this.view.figure) : null;
    if (!to) return false;
    this.go(to);
    return true;
  }

  /** One step in. */
  into() {
    const to = inner(this.place, this.view.figure);
    if (to) this.go(to);
    return Boolean(to);
  }

  /** Where an arrow key leads. @type {(key: string) => boolean} */
  step(key) {
    const to = beside(this.place, key, this.view.figure);
    if (to) this.go(to);
    return Boolean(to);
  }

  /** @type {(point: WorldPoint) => void} */
  enterAt({ x, y }) {
    const { left, top } = this.viewport;
    const to = this._placeAt(toWorld(this.camera, this.viewport, { x: x - left, y: y - top }));
    // The clicks of a double click have gone there already.
    if (!this.moving && to.at !== "model" && !samePlace(to, this.place)) this.go(to);
  }

  /** @param {number} direction */
  _swipe(direction) {
    const { walk } = this.guide;
    if (!walk.walking) this.step(direction > 0 ? "ArrowRight" : "ArrowLeft");
    else if (direction > 0) walk.next();
    else walk.back();
  }

  /** @type {(event: KeyboardEvent, key: string, at: { inside: boolean, target: HTMLElement }) => boolean} */
  key(event, key, { inside, target }) {
    if (this.guide.key(event)) return true;
    const isControl = target.closest?.("button, input, [role=option], [role=listbox]");
    const means = keyMeans(event.key);
    if (!means || (!inside && target !== document.body && !this.view.figure.stage)) return false;
    if (means.zoom) {
      this.zoom({ x: this.viewport.width / 2, y: this.viewport.height / 2 }, means.zoom > 0 ? KEY_ZOOM : 1 / KEY_ZOOM, false);
      return true;
    }
    if (this.place.at === "model" || (isControl && !this.view.root.classList.contains("zoomed"))) return false;
    if (means.whole) this.go(MODEL);
    else if (means.step) return this.step(means.step) || true;
    else if (means.enter && !isControl) return this.into();
    else return false;
    return true;
  }

  // ---- by hand ----------------------------------------------------------------------------------------------------

  /** Comes closer to a point of the viewport, or the component where `isFree`. @type {(point: WorldPoint, factor: number, isInRoot?: boolean) => void} */
  zoom(point, factor, isInRoot = true) {
    if (this.isWhole) {
      if (factor < 1) return;
      this._look();
    }
    this.moving = null;
    const { left, top } = this.viewport;
    const at = isInRoot ? { x: point.x - left, y: point.y - top } : point;
    const target = this._placeAt(toWorld(this.camera, this.viewport, at));
    this.camera = zoomed(this.camera, this.viewport, at, factor, {
      whole: this._whole(),
      world: this.space.model,
      most: CLOSEST,
      near: target.at === "model" ? null : this._viewOf(target),
    });
    this._free();
  }

  /** @type {(dx: number, dy: number) => void} */
  pan(dx, dy) {
    this.moving = null;
    this.camera = panned(this.camera, dx, dy, { whole: this._whole(), world: this.space.model, most: CLOSEST });
    this._free();
  }

  /** After a move by hand, one is where the middle of the screen is. */
  _free() {
    const middle = { x: this.camera.x, y: this.camera.y };
    const place = scaleOf(this.camera) <= 1 ? MODEL : this._placeAt(middle, 0.5);
    const changed = !samePlace(place, this.place);
    this.place = place;
    if (changed) {
      this.near.ask(place);
      this._dress();
      this._settled();
    }
    this.view.drawSoon();
  }

  /** Whether something happened in the HTML, the path or the walk, and not over the picture. @type {(event: Event) => boolean} */
  isApart(event) {
    const apart = [this.view.world, this.trail?.root, ...this.guide.parts];
    return event.composedPath().some((node) => apart.includes(/** @type {HTMLElement} */ (node)));
  }

  /** @type {(event: MouseEvent) => void} */
  _click(event) {
    if (this.isWhole || this.moving) return;
    if (this.isApart(event)) return;
    const hot = this.near.hotAt(event);
    if (hot) {
      this.near.act(hot.act);
      return;
    }
    const to = this.under(event);
    if (to.at !== "model" && !samePlace(to, this.place)) this.go(to);
  }

  // ---- painting ---------------------------------------------------------------------------------------------------

  /** @type {(moment: Moment, done: boolean) => void} */
  paint(moment, done) {
    const { view, canvas, camera } = this;
    if (!canvas || !this.space) return;
    const { context, density } = canvas;
    this._place(camera);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, view.canvas.width, view.canvas.height);
    context.setTransform(density, 0, 0, density, 0, 0);
    const focus = this._focus();
    for (const stack of view.stacks) {
      const current = stack.current(moment, done);
      stack.layers.forEach(({ parts, added }, layer) => {
        const rows = stack.rowsOf(moment, layer);
        for (const drawn of parts) this._paintHeads(context, density, stack, drawn, { rows, current, focus });
        if (added) this._paintAdded(context, stack, layer, { rows, current, alpha: focus.pale });
      });
      this._paintTable(context, stack, focus.pale);
    }
    this.near.paint(context, focus, this.guide.share);
    this.map?.draw(this.place, this.space, view.figure, seenIn(camera, this.viewport), view.inks.theme);
  }

  /** Moves the HTML with the camera. @type {(camera: CameraView) => void} */
  _place({ x, y, across, up }) {
    const { world } = this.view;
    const { left, top, width, height } = this.viewport;
    const whole = this.isWhole;
    const transform = whole ? "" : `translate(${left + width / 2 - x * across}px, ${top + height / 2 - y * up}px) scale(${across}, ${up})`;
    if (world.style.transform !== transform) world.style.transform = transform;
    const alpha = whole ? 1 : this.worldAlpha;
    const opacity = alpha >= 1 ? "" : alpha.toFixed(3);
    if (world.style.opacity !== opacity) world.style.opacity = opacity;
    const visibility = alpha > 0 ? "" : "hidden";
    if (world.style.visibility !== visibility) world.style.visibility = visibility;
    this.drawn = whole ? { across: 1, up: 1 } : { across, up };
  }

  /** The head that one is near, and how pale all others are. */
  _focus() {
    const { place, space } = this;
    if (!("kind" in place)) return { head: -1, pale: 1, wide: 0 };
    const tile = space.heads[`${place.kind}.${place.layer}`];
    const wide = tile.width * this.camera.across;
    const [from, to, palest] = place.at === "block" ? [50, 100, PALE] : [PALES_FROM, PALEST_AT, PALEST];
    return { head: "head" in place ? place.head : -1, pale: 1 - (1 - palest) * smooth((wide - from) / (to - from)), wide };
  }

  /** Whether a block is the place, or has it within. @type {(block: FigureBlock, at: number) => boolean} */
  _isHere({ kind, layers }, at) {
    const { place } = this;
    return "kind" in place && place.kind === kind && place.layer === layers[at];
  }

  /** @type {(rect: Rectangle) => boolean} */
  _isSeen({ left, right, top, bottom }) {
    return right > 0 && bottom > 0 && left < this.size.width && top < this.size.height;
  }

  /** @type {(context: Context, density: number, stack: import("./stacks.js").Stack, drawn: import("./stacks.js").DrawnBlock, how: { rows: number; current: number; focus: ReturnType<Travel["_focus"]> }) => void} */
  _paintHeads(context, density, stack, drawn, { rows, current, focus }) {
    const { view, space } = this;
    const { block, place } = drawn;
    const key = `${block.kind}.${block.layers[place]}`;
    const { left, top } = space.blocks[key];
    const { width, height, gap } = space.heads[key];
    if (!this._isSeen(this.onScreen(space.blocks[key]))) return;
    const isHere = this._isHere(block, place);
    const come = isHere ? Math.min(rows, this.guide.share * block.queries) : rows;
    const rooms = Array.from({ length: block.heads }, (_, head) => {
      const from = left + head * (width + gap);
      const room = this.onScreen({ left: from, top, width, height, right: from + width, bottom: top + height });
      return this._isSeen(room) ? room : null;
    });
    const alphas = rooms.map((_, head) => (isHere && (focus.head < 0 || head === focus.head) ? 1 : focus.pale));
    const marks = this.showsWorld ? view.marksOf(stack, drawn) : { rows: null, columns: null, head: -1, over: -1 };
    const tiles = /** @type {import("./blocks.js").HeadTiles} */ (view.tiles.get(drawn));
    tiles.paint({ context, density, inks: view.inks, rooms, alphas, rows: come, current, marks });
  }

  /** @type {(context: Context, stack: import("./stacks.js").Stack, layer: number, how: { rows: number; current: number; alpha: number }) => void} */
  _paintAdded(context, { stack }, layer, { rows, current, alpha }) {
    const { view, space } = this;
    const room = this.onScreen(space.added[`${stack.kind}.${stack.blocks[0].layers[layer]}`]);
    if (!this._isSeen(room)) return;
    context.globalAlpha = alpha;
    paintBars(context, room, view.figure.added(stack, layer), rows, current, null, view.inks);
    context.globalAlpha = 1;
  }

  /** @type {(context: Context, stack: import("./stacks.js").Stack, alpha: number) => void} */
  _paintTable(context, stack, alpha) {
    const image = this.view.tables.get(stack);
    const room = image && this.onScreen(this.space.positions[stack.stack.kind]);
    if (!image || !room || !this._isSeen(room)) return;
    context.globalAlpha = alpha;
    context.imageSmoothingEnabled = false;
    context.drawImage(image, room.left, room.top, room.width, room.height);
    context.globalAlpha = 1;
  }
}
