// A picture left to itself in a hall: the walk goes over the examples, until someone touches it and once they have gone.

/** @import { Guide } from "./guide.js" */

// In milliseconds: for a stop of the walk, before it begins, without anyone there, for another sentence to come, and without a walk.
const [STOP_STAYS, BEGINS_AFTER, BACK_AFTER, COMES_WITHIN, SHOWN_FOR] = [6000, 1500, 60_000, 10_000, 20_000];
const TOUCHES = ["pointerdown", "keydown", "wheel"];

export class Kiosk {
  isOn = false;
  /** Whether someone is there. */
  visited = false;
  /** @type {number | undefined} */
  timer;
  /** Where it began, to which it comes back from another page. */
  home = "";

  /** @param {Guide} guide */
  constructor(guide) {
    this.guide = guide;
    this.onTouch = () => {
      this.visited = true;
      this._after(BACK_AFTER, () => this._alone());
    };
  }

  get view() {
    return this.guide.travel.view;
  }

  /** Takes another sentence, or whether it is left to itself. @type {(isOn: boolean) => void} */
  take(isOn) {
    if (isOn !== this.isOn) this._turn(isOn);
    if (!isOn || this.visited) return;
    const { playing, timeline } = this.view;
    this._after(BEGINS_AFTER + (playing ? timeline.duration : 0), () => this._begin());
  }

  /** @param {boolean} isOn */
  _turn(isOn) {
    this.isOn = isOn;
    if (isOn) {
      window.headscopeKiosk?.dispose();
      window.headscopeKiosk = this;
      this.home = location.href;
      for (const touch of TOUCHES) addEventListener(touch, this.onTouch, { capture: true, passive: true });
    } else this.dispose();
  }

  dispose() {
    clearTimeout(this.timer);
    for (const touch of TOUCHES) removeEventListener(touch, this.onTouch, true);
  }

  /** @param {number} pause @param {() => void} act */
  _after(pause, act) {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, pause);
  }

  _begin() {
    const { walk } = this.guide;
    walk.start(this.view.figure, 1);
    if (walk.walking) walk.autoplay(STOP_STAYS / 1000);
    else this._after(SHOWN_FOR, () => this._next());
  }

  /** Goes on once a walk has come to its end by itself. */
  ended() {
    if (this.isOn && !this.visited) this._next();
  }

  _alone() {
    this.visited = false;
    if (this.view.root.isConnected) this._next();
    else location.assign(this.home);
  }

  _next() {
    this.guide.walk.leave();
    this.view.trigger("example", true);
    // A model with a single example walks through that again.
    this._after(COMES_WITHIN, () => this._begin());
  }
}
