// The way through the model: where one is, and the camera that goes there.

import constants from "../../draw/constants.json" with { type: "json" };
import { classed } from "../canvas/dom.js";
import { typing } from "../canvas/keys.js";
import { wantsNoMotion } from "../canvas/page.js";
import { fitting, panned, path, scaleOf, toScreen, toWorld, zoomed } from "./camera.js";
import { Gestures, keyMeans } from "./gestures.js";
import { Near } from "./near.js";
import { Needs } from "./needs.js";
import { saidOf } from "./place_words.js";
import { MODEL, beside, inner, legal, outer, samePlace } from "./places.js";
import { Reach } from "./reach.js";
import { Scene } from "./scene.js";
import { Showing } from "./showing.js";
import { holds, placeAt, rectOf, spaceOf } from "./space.js";
import { Switched } from "./switched.js";
import { SmallMap, Trail } from "./trail.js";
import { Unguided } from "./unguided.js";
import { Way } from "./way.js";

/** @import { ModelView } from "./view.js" */

/** The place is reported to Python only after this rest: its answer redraws the page, which would slow the next way. */
const PLACE_PAUSE = 500;
/** Moved by hand, one is at what has opened: with so much of its size, it is still large enough to be meant. */
const OPENED = 0.2;
const CLOSEST = 900;
const [LEAST_ROOM, LEAST_TALL] = [400, 240];
const KEY_ZOOM = 1.5;

export class Travel {
  /** @type {Place} */
  place = MODEL;
  /** Where one was when a finger or a button went down. @type {Place} */
  grasped = MODEL;
  /** @type {CameraView} */
  camera = { x: 0, y: 0, across: 1, up: 1 };
  /** The part of the component that is on the screen, in it. */
  viewport = { left: 0, top: 0, width: 1, height: 1 };
  /** @type {Space} */
  space;
  size = { width: 1, height: 1 };
  /** @type {Way | null} */
  moving = null;
  frame = 0;
  /** @type {number | undefined} */
  waiting;
  /** The place as Python knows it. @type {Place} */
  told = MODEL;
  /** The walk's stop as Python knows it. */
  toldStop = 0;
  /** Whether one has moved by hand to where one is. */
  isByHand = false;
  /** What was asked for before there was room. @type {(() => void) | null} */
  later = null;

  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.needs = new Needs(this);
    this.showing = new Showing(this);
    this.near = new Near(this);
    this.switched = new Switched(this);
    this.scene = new Scene(this);
    /** @type {Guiding} */
    this.guide = view.guides?.(this) ?? new Unguided();
    this.gestures = new Gestures(view.root, {
      isOut: () => this.isWhole,
      isRead: () => Boolean(view.beside) && !view.figure?.stage,
      isLed: () => Boolean(view.beside && view.figure?.stage),
      grasp: () => {
        this.grasped = this.place;
      },
      zoom: (point, factor) => this.zoom(point, factor),
      pan: (dx, dy) => this.pan(dx, dy),
      enter: (point) => this.enterAt(point),
      swipe: (direction) => this._swipe(direction),
    });
    this.onClick = (/** @type {MouseEvent} */ event) => this._click(event);
    this.onMove = (/** @type {PointerEvent} */ event) => this.near.pointing.point(this.isWhole ? null : event);
    view.root.addEventListener("click", this.onClick);
    view.root.addEventListener("pointermove", this.onMove);
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.waiting);
    this.gestures.dispose();
    this.needs.dispose();
    this.near.pointing.dispose();
    this.guide.dispose();
    this.view.root.removeEventListener("click", this.onClick);
    this.view.root.removeEventListener("pointermove", this.onMove);
  }

  /** Whether the whole model is seen, at rest. */
  get isWhole() {
    return !this.moving && this.place.at === "model" && scaleOf(this.camera) === this._least;
  }

  /** The scale at which the whole model is seen. */
  get _least() {
    return this.view.beside && this.space ? scaleOf(this._whole()) : 1;
  }

  get isMoving() {
    return Boolean(this.moving);
  }

  build() {
    this.trail = new Trail({ go: (place) => this.go(place) });
    this.map = new SmallMap({ go: (point) => this.go(this._placeAt(point)) });
    this.trail.root.append(this.map.root);
    this.reach = new Reach({ act: (act) => this.near.pointing.act(act), lost: () => this.trail?.focus() });
    return [this.trail.root, ...this.guide.parts, this.reach.root];
  }

  // ---- where things are -------------------------------------------------------------------------------------------

  /** Takes the measures of the figure at rest, and of the room in which it is seen. @type {(width: number, height: number, room: Viewport) => void} */
  measure(width, height, room) {
    const { view } = this;
    this.space = spaceOf(view, width, height);
    this.near.family = getComputedStyle(view.root).fontFamily;
    this.size = room;
    this.scene.measure(room.width, room.height);
    this.look();
    this.guide.measure();
    if (this.place.at === "model" && !this.near.below) this._rest();
    else {
      this.place = legal(this.place, view.figure);
      this.dress();
      this.camera = this._viewOf(this.place);
      this.moving = null;
    }
    this.later?.();
  }

  /** Leaves the whole model, of which enough has to be on the screen: else the page scrolls, and the camera sets out from where it was. */
  leave() {
    if (!this.isWhole) return;
    const { root, beside } = this.view;
    if (beside) return;
    const { top } = root.getBoundingClientRect();
    if (this.look() < LEAST_ROOM) root.scrollIntoView({ block: "start", behavior: "instant" });
    this.look();
    this.camera = this._whole();
    this.camera.y += root.getBoundingClientRect().top - top;
  }

  /** Takes the part of the component that is on the screen, whose height it gives. */
  look() {
    const { beside, root } = this.view;
    // What scrolls by beside a panel stays as it is.
    if (beside) return this._see({ left: 0, top: 0, ...this.size });
    const { left, top, width, height } = root.getBoundingClientRect();
    const head = document.querySelector('[data-testid="stHeader"]')?.getBoundingClientRect().bottom ?? 0;
    const [from, to] = [Math.max(top, head, 0), Math.min(top + height, window.innerHeight)];
    const tall = Math.min(height, Math.max(to - from, LEAST_TALL));
    return this._see({ left: Math.max(0, -left), top: Math.min(Math.max(0, from - top), height - tall), width: width - this.guide.beside, height: tall });
  }

  /** @param {Travel["viewport"]} viewport */
  _see(viewport) {
    this.viewport = viewport;
    const seen = Object.entries(viewport).map(([name, value]) => [`--seen-${name}`, `${value}px`]);
    const { style } = this.view.root;
    // Each that is set makes the browser style all within the component anew.
    for (const [name, value] of seen) if (style.getPropertyValue(name) !== value) style.setProperty(name, value);
    return viewport.height;
  }

  /** The view that shows the whole model where it lies, or as far away as it takes beside a panel. @type {() => CameraView} */
  _whole() {
    if (this.view.beside) return fitting(this.space.model, this.viewport, { margin: { top: 0, right: 0, bottom: 0, left: 0 } });
    const { left, top, width, height } = this.viewport;
    return { x: left + width / 2, y: top + height / 2, across: 1, up: 1 };
  }

  /** The view of where one is, or goes. */
  get end() {
    return this.moving?.path.at(1) ?? this._viewOf(this.place);
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
    if ("kind" in this.place && this.place.kind === constants.JOINT && holds(this.space.stacks.decoder, point)) return this.place;
    return placeAt(point, this.space, this.view.figure, { across: share * across, up: share * up });
  }

  /** The place under a point of the window. @type {(spot: Spot) => Place} */
  under(spot) {
    return this._placeAt(toWorld(this.camera, this.viewport, this._inViewport(spot)));
  }

  // ---- going ------------------------------------------------------------------------------------------------------

  /** Takes the place and the walk's stop that Python or a link asks for. @type {(place: Place, stop: number, how: { isNew: boolean }) => void} */
  asked(place, stop, { isNew }) {
    this.later = null;
    // Without room, nothing can be gone to.
    if (!this.view.places) {
      this.later = () => this.asked(place, stop, { isNew });
      return;
    }
    const to = legal(place, this.view.figure);
    Object.assign(this, { told: to, toldStop: stop });
    if (isNew) {
      this.place = to;
      this.turn(to);
      this.measure(this.space.model.width, this.space.model.height, this.size);
      this.dress();
    }
    this.guide.take(stop);
    if (!isNew && !stop && !samePlace(to, this.place)) this.go(to);
  }

  /** Takes a place as the one where one is: what is lit there, and what it needs. @type {(place: Place, lit?: { query?: number; key?: number }) => void} */
  turn(place, lit) {
    this.near.pointing.turn(place, lit);
    this.needs.ask(place);
  }

  /** Goes to a place, by default to the present one again, along one smooth way. `lit` are a row and a column there; `comes` is called on
   * arrival. With `atOnce`, there is no way, and one stands there.
   * @type {(place?: Place, how?: { lit?: { query?: number; key?: number }; comes?: (() => void) | null; atOnce?: boolean }) => void} */
  go(place = this.place, { lit, comes = null, atOnce = false } = {}) {
    this.leave();
    clearTimeout(this.waiting);
    this.isByHand = false;
    // What it says is of the place before.
    if (this.view.tip) this.view.tip.hidden = true;
    this.place = place;
    this.turn(place, lit);
    this.dress();
    const to = this._viewOf(place);
    const way = path(this.camera, to, this.viewport);
    if (!way.duration || atOnce || wantsNoMotion()) {
      cancelAnimationFrame(this.frame);
      this.camera = to;
      this.moving = null;
      if (way.duration && !atOnce) this._fade();
      this._arrived();
      comes?.();
      this.view.draw();
      return;
    }
    this.moving = new Way(way, comes);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame((now) => this._move(now));
  }

  /** Stands at a share of a way, as in a frame of a film. @type {(way: CameraPath, share: number) => void} */
  hold(way, share) {
    cancelAnimationFrame(this.frame);
    this.moving = share < 1 ? new Way(way) : null;
    this.camera = way.at(share);
  }

  /** Says beside the path, and to a screen reader, what came of a question. @param {string} text */
  tell(text) {
    this.trail?.tell(text);
    this.view.say(text);
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
    const { moving } = this;
    if (!moving) return;
    const share = moving.step(now);
    this.camera = moving.path.at(share);
    if (share >= 1) {
      this.moving = null;
      this._arrived();
      moving.comes?.();
    } else this.frame = requestAnimationFrame((next) => this._move(next));
    // What plays draws each frame by itself.
    if (!this.view.playing) this.view.draw();
  }

  _arrived() {
    if (this.place.at === "model" && !this.near.below) this._rest();
    this.gestures.update();
    this._settled();
  }

  /** Says where one is, once it stays so. */
  _settled() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const { view, place } = this;
      const { stop } = this.guide;
      if (this.isByHand) view.beside?.rested();
      if (this.near.isBetween) {
        this.go(place);
        return;
      }
      // The panel has said what it has selected.
      if (!stop && !(view.beside && place.at === "head")) view.say(place.at === "head" && !this.showing.isPlain(place) ? this.showing.said(place) : saidOf(place, view.figure));
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
  dress() {
    const { view, place } = this;
    const whole = place.at === "model";
    classed(view.root, "zoomed", !whole);
    view.root.dataset.place = place.at;
    view.world.inert = !whole;
    this.trail?.show(place, view.figure, [...this.near.ways(place), ...this.guide.ways]);
    this.trail?.tell(this.needs.refusal(place));
    this.reach?.describe(place.at === "head" ? this.showing.said(place) : saidOf(place, view.figure));
    // Beside a panel, that names the head.
    const isNamed = Boolean(view.beside) && place.at === "head";
    this.trail?.root.classList.toggle("named", isNamed);
    this.near.top = isNamed ? 0 : (this.trail?.height(view.narrow) ?? 0);
    this.gestures.update();
    view.beside?.moved(place);
  }

  /** One step out; whether there was one. */
  out() {
    if (this.showing.letGo()) return true;
    return this._goTo(this.view.root.clientWidth ? outer(this.place, this.view.figure) : null);
  }

  /** Goes to a place, if there is one; whether there was. @param {Place | null} to */
  _goTo(to) {
    if (to) this.go(to);
    return Boolean(to);
  }

  /** Back to where the whole of a place is seen; whether it was seen otherwise. */
  back() {
    const [seen, whole] = [this.camera, this.end].map((each) => JSON.stringify(each));
    if (seen === whole) return false;
    this.go();
    return true;
  }

  /** One step in. */
  into() {
    return this._goTo(inner(this.place, this.view.figure));
  }

  /** Where an arrow key leads. @type {(key: string) => boolean} */
  step(key) {
    return this._goTo(beside(this.place, key, this.view.figure));
  }

  /** @type {(point: WorldPoint) => void} */
  enterAt({ x, y }) {
    // Close up, the first click has gone there already.
    if (!this.isWhole) return;
    const { left, top } = this.viewport;
    const to = this._placeAt(toWorld(this.camera, this.viewport, { x: x - left, y: y - top }));
    if (to.at !== "model") this.go(to);
  }

  /** @param {number} direction */
  _swipe(direction) {
    // The finger has moved the picture, and so the place.
    this.place = this.grasped;
    if (!this.guide.swiped(direction) && !this.step(direction > 0 ? "ArrowRight" : "ArrowLeft")) this.go();
  }

  /** @type {(event: KeyboardEvent, key: string, at: { isHere: boolean, target: HTMLElement }) => boolean} */
  key(event, key, { isHere, target }) {
    if (this.guide.key(event)) return true;
    const isControl = target.closest?.("button, input, [role=option], [role=listbox]");
    if (key === "x" && !this.view.beside && "head" in this.place && this.needs.can.without && !typing(event)) {
      this.switched.toggle(this.place);
      return true;
    }
    if ((isHere || this.view.figure.stage) && this.showing.key(event)) return true;
    const means = keyMeans(event.key);
    if (!means || (!isHere && !this.view.figure.stage)) return false;
    if (means.zoom) {
      this.zoomBy(means.zoom);
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

  /** Comes closer to a point of the component, or of the viewport where not `isInRoot`. @type {(point: WorldPoint, factor: number, isInRoot?: boolean) => void} */
  zoom(point, factor, isInRoot = true) {
    if (this.isWhole) {
      if (factor < 1) return;
      this.look();
      this.camera = this._whole();
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

  /** Comes closer to the middle of what is seen by a step of 1, or further away by one of -1. @param {number} step */
  zoomBy(step) {
    const { width, height } = this.viewport;
    this.zoom({ x: width / 2, y: height / 2 }, KEY_ZOOM ** step, false);
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
    const under = scaleOf(this.camera) <= this._least ? MODEL : this._placeAt(middle, OPENED);
    // On the way from a head to its cells, no row opens.
    const place = under.at === "row" ? /** @type {Place} */ ({ at: "head", kind: under.kind, layer: under.layer, head: under.head }) : under;
    const changed = !samePlace(place, this.place);
    this.place = place;
    if (changed) {
      this.turn(place);
      this.dress();
    }
    this.isByHand = true;
    this._settled();
    this.view.drawSoon();
  }

  /** Whether something happened in the HTML, the path or the walk, and not over the picture. @type {(event: Event) => boolean} */
  isApart(event) {
    const apart = [this.view.world, this.trail?.root, this.reach?.root, ...this.guide.parts];
    return event.composedPath().some((node) => apart.includes(/** @type {HTMLElement} */ (node)));
  }

  /** @type {(event: MouseEvent) => void} */
  _click(event) {
    // The second click of a double click would lead on from where the first one led.
    if (this.isWhole || this.moving || event.detail > 1) return;
    if (this.isApart(event)) return;
    this.near.pointing.click(event);
  }
}
