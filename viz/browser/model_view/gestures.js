// Pointer, wheel and touch as calls to a camera, and what keys mean to it.

import { typing } from "../canvas/keys.js";

const LINE = 16;
const MOST_WHEEL = 160;
/** A turn of so many pixels makes things e times as large: of a wheel, and of two fingers pinched on a trackpad. */
const [WHEEL, PINCH] = [420, 110];
/** Wheel events within so many milliseconds belong to one turn, its momentum included. */
const ONE_TURN = 250;
const SLACK = 5;
const SWIPE = { distance: 50, time: 350, straight: 2 };
const DOUBLE_TAP = { distance: 30, time: 350 };

/** How many times as close a wheel event leads; `page` is the height of what "a page" scrolls.
 * @type {(event: Pick<WheelEvent, "deltaY" | "deltaMode" | "ctrlKey">, page: number) => number} */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }, page) {
  const pixels = deltaY * [1, LINE, page][deltaMode];
  return Math.exp(-Math.max(-MOST_WHEEL, Math.min(MOST_WHEEL, pixels)) / (ctrlKey ? PINCH : WHEEL));
}

/** What two fingers do on their way from one pair of points to another.
 * @type {(before: [WorldPoint, WorldPoint], now: [WorldPoint, WorldPoint]) => { point: WorldPoint; factor: number; dx: number; dy: number }} */
export function pinched(before, now) {
  const apart = ([one, other] = before) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
  const middle = ([one, other] = before) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  const [from, to] = [middle(before), middle(now)];
  return { point: to, factor: apart(now) / apart(before), dx: to.x - from.x, dy: to.y - from.y };
}

/** Where a finger that went so far in so many milliseconds swiped: 1 to what comes next, by a way to the left, -1 back; 0 for no swipe.
 * @type {(dx: number, dy: number, time: number) => number} */
export function swiped(dx, dy, time) {
  const is = Math.abs(dx) >= SWIPE.distance && Math.abs(dx) >= SWIPE.straight * Math.abs(dy) && time <= SWIPE.time;
  return is ? -Math.sign(dx) : 0;
}

/** What a key means in the picture; null for other keys. @type {(key: string) => KeyMeaning | null} */
export function keyMeans(key) {
  if (key === "+" || key === "=") return { zoom: 1 };
  if (key === "-") return { zoom: -1 };
  if (key === "Home") return { whole: true };
  if (key === "Enter") return { enter: true };
  return /^Arrow(?:Left|Right|Up|Down)$/.test(key) ? { step: key } : null;
}

/** Hears what hands do over an element. At the whole model, the page keeps what scrolls it. */
export class Gestures {
  /** @type {Map<number, WorldPoint>} */
  pointers = new Map();
  /** @type {{ x: number; y: number; time: number } | null} */
  start = null;
  /** @type {{ x: number; y: number; time: number } | null} */
  tap = null;
  /** Whether what is under way is no click. */
  dragged = false;
  touched = false;
  turn = { time: -Infinity, taken: false };

  /** @param {HTMLElement} target @param {GestureCalls} on */
  constructor(target, on) {
    this.target = target;
    this.on = on;
    this.heard = new AbortController();
    const { signal } = this.heard;
    const hear = (/** @type {string} */ name, /** @type {(event: any) => void} */ listener, options = {}) => target.addEventListener(name, listener, { signal, ...options });
    hear("wheel", (event) => this._wheel(event), { passive: false });
    hear("pointerdown", (event) => this._down(event));
    hear("pointermove", (event) => this._move(event));
    hear("pointerup", (event) => this._up(event));
    hear("pointercancel", (event) => this._lift(event));
    hear("click", (event) => this._click(event), { capture: true });
    hear("dblclick", (event) => {
      if (!this.touched) on.enter(this._point(event));
    });
    this.update();
  }

  dispose() {
    this.heard.abort();
  }

  /** To be called when the whole model comes to be seen, or no longer is: one finger scrolls the page there, else the picture. */
  update() {
    const isOut = this.on.isOut();
    this.target.style.touchAction = isOut ? "pan-x pan-y" : this.on.isRead() || this.on.isLed() ? "pan-y" : "none";
    this.target.style.userSelect = isOut ? "" : "none";
  }

  /** @type {(event: Spot) => WorldPoint} */
  _point({ clientX, clientY }) {
    const { left, top } = this.target.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  /** @type {(event: WheelEvent) => void} */
  _wheel(event) {
    if (this.on.isRead() && !event.ctrlKey && !event.metaKey) return;
    const isOut = this.on.isOut();
    const along = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const idle = isOut && (along || event.deltaY >= 0);
    // What began as a scroll of the page stays one, and a turn that came out ends there.
    if (event.timeStamp - this.turn.time > ONE_TURN) this.turn.taken = !idle;
    this.turn.time = event.timeStamp;
    if (!this.turn.taken) return;
    event.preventDefault();
    if (idle) return;
    if (along) this.on.pan(-event.deltaX * [1, LINE, this.target.clientWidth][event.deltaMode], 0);
    else this.on.zoom(this._point(event), wheelFactor(event, this.target.clientHeight));
  }

  /** @type {(event: PointerEvent) => void} */
  _down(event) {
    this.touched = event.pointerType === "touch";
    if (event.isPrimary) {
      this.pointers.clear();
      this.on.grasp();
      this.dragged = false;
    }
    if (event.button || typing(event)) return;
    const point = this._point(event);
    this.pointers.set(event.pointerId, point);
    this.start = this.pointers.size === 1 ? { ...point, time: event.timeStamp } : null;
  }

  /** @type {(event: PointerEvent) => void} */
  _move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const point = this._point(event);
    if (this.pointers.size > 1) this._pinch(event.pointerId, point);
    else if (!this.on.isOut() && !(this.touched && this.on.isLed())) {
      const { x, y } = this.start ?? before;
      if (!this.dragged && this.start && Math.hypot(point.x - x, point.y - y) < SLACK) return;
      if (!this.dragged) this.target.setPointerCapture(event.pointerId);
      this.dragged = true;
      this.on.pan(point.x - before.x, point.y - before.y);
    }
    this.pointers.set(event.pointerId, point);
  }

  /** @type {(pointer: number, point: WorldPoint) => void} */
  _pinch(pointer, point) {
    const pair = [...this.pointers].slice(0, 2);
    const [[, one], [, other]] = pair;
    const [now, then] = pair.map(([id, old]) => (id === pointer ? point : old));
    const { point: middle, factor, dx, dy } = pinched([one, other], [now, then]);
    this.dragged = true;
    if (this.on.isOut() && factor <= 1) return;
    this.on.zoom(middle, factor);
    this.on.pan(dx, dy);
  }

  /** @type {(event: PointerEvent) => void} */
  _up(event) {
    if (!this.pointers.has(event.pointerId)) return;
    const { start } = this;
    this._lift(event);
    if (!start || event.pointerType === "mouse") return;
    const point = { ...this._point(event), time: event.timeStamp };
    const way = this.on.isOut() || this.on.isLed() ? 0 : swiped(point.x - start.x, point.y - start.y, point.time - start.time);
    if (way) this.on.swipe(way);
    else if (!this.dragged) this._tapped(point);
  }

  /** @type {(point: WorldPoint & { time: number }) => void} */
  _tapped({ x, y, time }) {
    const { tap } = this;
    const again = tap && time - tap.time <= DOUBLE_TAP.time && Math.hypot(x - tap.x, y - tap.y) <= DOUBLE_TAP.distance;
    this.tap = again ? null : { x, y, time };
    if (!again) return;
    this.dragged = true;
    this.on.enter({ x, y });
  }

  /** @type {(event: PointerEvent) => void} */
  _lift(event) {
    this.pointers.delete(event.pointerId);
    this.start = null;
  }

  /** A drag and a second tap end with a click, which nobody meant. @type {(event: MouseEvent) => void} */
  _click(event) {
    if (!this.dragged) return;
    this.dragged = false;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}
