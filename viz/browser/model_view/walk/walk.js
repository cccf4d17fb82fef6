// The walk: a bar that leads from stop to stop, a bubble that says what is to be seen, and a button that invites to it.

import { element } from "../../canvas/dom.js";
import { plainKey, typing } from "../../canvas/keys.js";
import { tr } from "../../canvas/wording.js";
import { answered } from "./answers.js";
import { isOffered, stopsOf } from "./stops.js";

/** A minute's walk through the model with the visitor's own sentence. The page places `invitation`, `root` (the bar) and `bubble`. */
export class Walk {
  /** @type {Walked | null} */
  figure = null;
  /** @type {Stop[]} */
  stops = [];
  /** The stop that one is at, or where one left; from 1. */
  at = 1;
  walking = false;
  /** What was answered at each stop. @type {Map<StopName, string>} */
  answers = new Map();
  /** @type {AbortController | null} */
  asking = null;
  /** Ends a walk by itself. @type {(() => void) | null} */
  halt = null;

  /**
   * @param {object} on - what the page does.
   * @param {(place: Place, lit: Stop["lit"], stop: Stop) => void} on.go - goes there, lights a row or a cell, and puts the bubble beside it.
   * @param {(question: StopQuestion, options: { signal: AbortSignal }) => Promise<StopAnswer>} on.ask
   * @param {(text: string) => void} on.say - to a screen reader.
   * @param {(ended: boolean) => void} on.done - once the walk is left, or has come to its end.
   * @param {() => void} on.field - gives the field the focus, with its sentence selected.
   * @param {(act: string) => void} on.act - plays an act.
   * @param {Can} can - which questions the page answers.
   */
  constructor(on, can = { instead: true, without: true }) {
    this.on = on;
    this.can = can;
    this.invitation = element("button", "walk-invitation", { type: "button", hidden: "" });
    this.invitation.addEventListener("click", () => this._begin(this.at));
    this.acts = element("div", "walk-acts", { role: "group", "aria-label": tr("Acts"), hidden: "" });
    this.says = element("p", "walk-says");
    this.aside = element("p", "walk-aside");
    this.answer = element("p", "walk-answer", { hidden: "" });
    this.act = element("button", "walk-act", { type: "button", hidden: "" });
    this.act.addEventListener("click", () => this.ask());
    this.bubble = element("div", "walk-bubble", { role: "group", hidden: "" }, this.says, this.aside, this.act, this.answer);
    this.backward = element("button", "walk-back", { type: "button" }, tr("Back"));
    this.backward.addEventListener("click", () => this.back());
    this.dots = element("ol", "walk-dots");
    this.forward = element("button", "walk-next", { type: "button" });
    this.forward.addEventListener("click", () => this.next());
    const close = element("button", "walk-close", { type: "button", "aria-label": tr("Leave the walk"), title: tr("Leave the walk") }, "×");
    close.addEventListener("click", () => this.leave());
    this.root = element("div", "walk-bar", { role: "group", "aria-label": tr("The walk"), hidden: "" }, this.backward, this.dots, this.forward, close);
    for (const part of [this.root, this.bubble]) part.addEventListener("keydown", (event) => this.key(event) && event.stopPropagation());
  }

  get stop() {
    return this.stops[this.at - 1];
  }

  /** Whether the stop asks for something that nobody has done yet. */
  get isUnasked() {
    return Boolean(this.stop?.does) && !this.asking && !this.answers.has(this.stop.name);
  }

  /** Takes a picture, and offers to walk through it where enough can be said. @type {(figure: Walked) => void} */
  offer(figure) {
    const other = this.figure?.key !== figure.key;
    this.figure = figure;
    if (other) {
      if (this.walking) this.leave();
      const stops = stopsOf(figure, { can: this.can });
      this.stops = isOffered(stops) ? stops : [];
      this.answers.clear();
      this.at = 1;
      this.acts.hidden = true;
      this.acts.replaceChildren(...figure.acts.map(([name, title]) => {
        const made = element("button", "link", { type: "button" }, title);
        made.addEventListener("click", () => this.on.act(name));
        return made;
      }));
    }
    this._invite();
  }

  /** Begins at a stop, the last one if there are fewer. @type {(figure: Walked, at?: number) => void} */
  start(figure, at = 1) {
    this.offer(figure);
    if (this.stops.length) this._begin(Math.min(Math.max(1, at), this.stops.length));
  }

  /** @type {(at: number) => void} */
  _begin(at) {
    this.walking = true;
    this.root.hidden = false;
    this.bubble.hidden = false;
    this.dots.replaceChildren(
      ...this.stops.map(({ title }, place) => {
        const dot = element("button", "walk-dot", { type: "button", "aria-label": title, title });
        dot.addEventListener("click", () => this._show(place + 1));
        return element("li", "", {}, dot);
      }),
    );
    this._invite();
    this._show(at);
  }

  /** @type {(at: number) => void} */
  _show(at) {
    this.asking?.abort();
    this.asking = null;
    this.at = at;
    const { stop } = this;
    this.bubble.setAttribute("aria-label", stop.title);
    this.says.textContent = stop.says;
    this.aside.textContent = stop.aside;
    this.aside.hidden = !stop.aside;
    this._answer(this.answers.get(stop.name) ?? "");
    this.backward.disabled = at === 1;
    [...this.dots.querySelectorAll("button")].forEach((dot, place) => {
      if (place + 1 === at) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    });
    this.on.go(stop.place, stop.lit, stop);
    this.on.say([tr("Stop {at} of {count}: {title}.", { at, count: this.stops.length, title: stop.title }), stop.says, stop.aside].filter(Boolean).join(" "));
    if (!this.halt) this.forward.focus({ preventScroll: true });
  }

  /** Goes on; what the stop asks for comes first, so that who only goes on has seen it too. */
  next() {
    if (this.isUnasked) this.ask();
    else if (this.at < this.stops.length) this._show(this.at + 1);
    else {
      this._close(true);
      this.on.field();
    }
  }

  back() {
    if (this.at > 1) this._show(this.at - 1);
  }

  /** Leaves the walk; its invitation leads back to this stop. */
  leave() {
    if (this.walking) this._close(false);
  }

  /** @type {(ended: boolean) => void} */
  _close(ended) {
    this.asking?.abort();
    this.asking = null;
    this.halt?.();
    this.walking = false;
    this.root.hidden = true;
    this.bubble.hidden = true;
    if (ended) this.at = 1;
    // Who has seen the whole model is offered what it can do.
    if (ended) this.acts.hidden = !this.acts.children.length;
    this._invite();
    this.on.done(ended);
    if (!ended) this.invitation.focus({ preventScroll: true });
  }

  _invite() {
    this.invitation.hidden = !this.stops.length;
    // It keeps its room meanwhile, or all below would move under the walk.
    this.invitation.style.visibility = this.walking ? "hidden" : "";
    if (!this.walking) this.invitation.textContent = this.at > 1 ? tr("Go on with the walk") : tr("Walk through it · 1 minute");
  }

  /** Does what the stop asks for, and says what came of it. */
  async ask() {
    const { stop, figure } = this;
    if (!stop?.does || !figure || this.asking) return;
    const asking = new AbortController();
    this.asking = asking;
    this.act.setAttribute("aria-busy", "true");
    /** @type {string} */
    let text;
    try {
      text = answered(stop, await this.on.ask(stop.does, { signal: asking.signal }), figure);
    } catch (error) {
      text = error instanceof Error ? error.message : String(error);
    }
    // One may have gone on meanwhile.
    if (this.asking !== asking) return;
    this.asking = null;
    this.answers.set(stop.name, text);
    this._answer(text);
    this.on.say(text);
    if (!this.halt) this.forward.focus({ preventScroll: true });
  }

  /** @type {(text: string) => void} */
  _answer(text) {
    this.act.removeAttribute("aria-busy");
    this.act.textContent = this.stop.act;
    this.act.hidden = !this.stop.does || Boolean(text);
    this.answer.textContent = text;
    this.answer.hidden = !text;
    this.forward.textContent = this.at === this.stops.length && !this.isUnasked ? tr("Your turn") : tr("Next");
  }

  /** Whether a key is one of the walk's, which it then follows. @type {(event: KeyboardEvent) => boolean} */
  key(event) {
    if (!this.walking || typing(event)) return false;
    const key = plainKey(event);
    // A focused button presses itself.
    if (key === " " && /** @type {Element} */ (event.composedPath()[0]).closest("button")) return false;
    if (key === "ArrowRight" || key === " ") this.next();
    else if (key === "ArrowLeft") this.back();
    else if (key === "Escape") this.leave();
    else return false;
    event.preventDefault();
    return true;
  }

  /** Walks by itself, so many seconds a stop, and asks what stops ask; until its end, or until someone touches it.
   * @type {(seconds: number) => void} */
  autoplay(seconds) {
    this.halt?.();
    const turn = () => {
      if (this.asking) return;
      if (this.isUnasked || this.at < this.stops.length) this.next();
      else this._close(true);
    };
    const timer = setInterval(turn, 1000 * seconds);
    const touches = ["pointerdown", "keydown", "wheel"];
    this.halt = () => {
      clearInterval(timer);
      for (const touch of touches) removeEventListener(touch, halt, true);
      this.halt = null;
    };
    const { halt } = this;
    for (const touch of touches) addEventListener(touch, halt, { capture: true, passive: true });
  }
}
