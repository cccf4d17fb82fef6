// Plays the sentence through the model: the time, and the controls for it.

import { element, classed } from "../canvas/dom.js";
import { tr } from "../canvas/wording.js";
import { spokenMoment } from "./timeline.js";

/** @import { ModelView } from "./view.js" */

const REPORT_PAUSE = 300;
const LONGEST_WAIT = 500;

export class Player {
  time = 0;
  playing = false;
  /** The rest that Python knows of. */
  reported = 0;
  frame = 0;
  /** @type {number | undefined} */
  waiting;
  /** @type {number | null} */
  runsSince = null;
  /** @type {HTMLInputElement} */
  slider;
  /** @type {HTMLButtonElement} */
  button;
  /** @type {HTMLElement} */
  place;

  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
  }

  dispose() {
    this.rest();
    clearTimeout(this.waiting);
  }

  build() {
    const { timeline } = this.view;
    this.button = element("button", "play", { type: "button" });
    this.button.addEventListener("click", () => this.toggle());
    const slider = { type: "range", min: "0", max: String(timeline.duration), step: "1", "aria-label": tr("Moment") };
    this.slider = element("input", "moment", slider);
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.place = element("span", "place");
    return element("div", "controls", {}, this.button, this.slider, this.place, this.view.travel.guide.invitation, this.view.travel.guide.acts);
  }

  /** Stands where a link or Python says: at a rest, or at the beginning to play. @type {(moment: number, rests: boolean) => void} */
  stand(moment, rests) {
    const { timeline } = this.view;
    this.rest();
    this.reported = moment;
    this.time = moment > 0 ? timeline.timeOf(moment) : rests ? timeline.duration : 0;
    if (!rests) this.play();
  }

  toggle() {
    if (this.playing) {
      this.rest();
      this._tellRest();
    } else this.play();
    this.view.draw();
  }

  play() {
    const { view } = this;
    const { duration } = view.timeline;
    if (this.time >= duration - 1) this.time = 0;
    this.playing = true;
    /** @type {number | null} */
    let before = null;
    const step = (/** @type {number} */ now) => {
      if (!this.playing) return;
      if (this._waits(now)) {
        before = null;
        this.frame = requestAnimationFrame(step);
        return;
      }
      this.time = Math.min(duration, this.time + (before === null ? 0 : Math.min(100, now - before)));
      before = now;
      if (this.time >= duration) this.rest();
      else this.frame = requestAnimationFrame(step);
      view.draw();
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Whether frames wait because the page is running and needs the browser to itself, for LONGEST_WAIT at most.
   * @type {(now: number) => boolean} */
  _waits(now) {
    const page = /** @type {HTMLElement | null} */ (document.querySelector('[data-testid="stApp"]'));
    if (page?.dataset.testScriptState !== "running") this.runsSince = null;
    else this.runsSince ??= now;
    return this.runsSince !== null && now - this.runsSince < LONGEST_WAIT;
  }

  /** Goes to the end of what plays: paper has no later moment, at which half-grey words would be black. */
  end() {
    if (!this.playing) return;
    this.rest();
    this.time = this.view.timeline.duration;
    this.view.draw();
  }

  rest() {
    this.playing = false;
    cancelAnimationFrame(this.frame);
  }

  /** @type {(time: number) => void} */
  go(time) {
    this.rest();
    this.time = time;
    this.view.draw();
    this._tellRest();
  }

  /** Reports to Python where a person stopped. */
  _tellRest() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const { view } = this;
      const { timeline, figure } = view;
      view.say(spokenMoment(timeline.at(this.time), figure, timeline.rests.length));
      const rest = this.time >= timeline.duration - 1 ? 0 : timeline.restAt(this.time);
      if (rest === this.reported) return;
      this.reported = rest;
      view.tellPlace();
    }, REPORT_PAUSE);
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  draw(moment, done) {
    const { figure, timeline, root } = this.view;
    const says = this.playing ? tr("Pause (K)") : tr("Play (K)");
    if (this.button.getAttribute("aria-label") !== says) {
      this.button.setAttribute("aria-label", says);
      this.button.title = says;
    }
    classed(root, "playing", this.playing);
    // Only what stands there can be walked through.
    classed(root, "unwritten", !done);
    const { dataset } = root;
    const [state, rest] = [this.playing ? "playing" : "resting", String(done ? timeline.rests.length : timeline.restAt(this.time))];
    if (dataset.state !== state) dataset.state = state;
    if (dataset.moment !== rest) dataset.moment = rest;
    this.slider.value = String(this.time);
    const said = done ? (figure.offset ? tr("Written") : tr("Read")) : spokenMoment(moment, figure, timeline.rests.length);
    if (this.place.textContent !== said) {
      this.place.textContent = said;
      this.slider.setAttribute("aria-valuetext", said);
    }
  }
}
