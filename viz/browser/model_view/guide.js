// The walk in the space: where its bar and its bubble stand, and what moves at a stop.

import { classed } from "../canvas/dom.js";
import { plainKey } from "../canvas/keys.js";
import { wantsNoMotion } from "../canvas/page.js";
import { Kiosk } from "./kiosk.js";
import { MODEL } from "./places.js";
import { noteOf } from "./walk/notes.js";
import { Walk } from "./walk/walk.js";

/** @import { Travel } from "./travel.js" */

/** The field of the sentence, in the app or on the site; null on a page without one. */
const fieldOfSentence = () => /** @type {HTMLInputElement | null} */ (document.querySelector(".st-key-sentence input, #sentence"));
// Lower than so many pixels, a window has no room below what is seen.
const [LEAST_BELOW, MOST_BESIDE] = [480, 330];
// For how long a stop's picture comes, in milliseconds.
const COMES = 1100;

export class Guide {
  /** When the picture of a stop began to come; null where nothing comes. @type {number | null} */
  began = null;
  frame = 0;
  /** How much has come, in a film. @type {number | null} */
  held = null;
  /** What comes there. @type {Stop["moves"] | null} */
  moves = null;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
    this.walk = new Walk({
      go: (place, lit, stop) => this._go(place, lit, stop),
      ask: (question, options) => this._ask(question, options),
      say: (text) => travel.view.say(text),
      done: (ended) => this._done(ended),
      field: () => {
        fieldOfSentence()?.focus();
        fieldOfSentence()?.select();
      },
      act: (act) => travel.view.open({ page: "model", act }),
    });
    this.kiosk = new Kiosk(this);
    this.step = (/** @type {CustomEvent<number>} */ { detail }) => (detail > 0 ? this.walk.next() : this.walk.back());
    window.addEventListener("headscope-walk-step", this.step);
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    this.walk.leave();
    // Who has gone to another page is waited for.
    if (!this.kiosk.visited) this.kiosk.dispose();
    window.removeEventListener("headscope-walk-step", this.step);
  }

  /** The button that begins the walk. */
  get invitation() {
    return this.walk.invitation;
  }

  /** The buttons of acts, offered at its end. */
  get acts() {
    return this.walk.acts;
  }

  get parts() {
    return [this.walk.bubble, this.walk.root];
  }

  /** The way back into a walk that was left close up, where its button is out of reach. @type {{ text: string, open: () => void }[]} */
  get ways() {
    const { invitation, at, walking } = this.walk;
    return invitation.hidden || walking || at === 1 ? [] : [{ text: invitation.textContent ?? "", open: () => invitation.click() }];
  }

  /** The stop at which one is; 0 where nobody walks. */
  get stop() {
    return this.walk.walking ? this.walk.at : 0;
  }

  /** Takes another sentence or model, and the stop that a link asks for. @type {(asked: number) => void} */
  take(asked) {
    const { figure } = this.travel.view;
    const { hidden } = this.walk.invitation;
    this.walk.can = this.travel.needs.can;
    // Beside a panel, one is at a head and not on a way.
    if (!this.travel.view.beside && figure.isWhole) this.walk.offer(figure);
    // The button needs room.
    if (this.walk.invitation.hidden !== hidden) this.travel.view.size();
    if (asked && asked !== this.stop && figure.isWhole) this.walk.start(figure, asked);
    else if (!asked && this.stop) this.walk.leave();
    this.kiosk.take(figure.kiosk);
  }

  /** Shows what has come of heads that were sent coarsely; a walk needs them all. @param {string} [refusal] */
  came(refusal) {
    const { view } = this.travel;
    if (refusal) this.travel.tell(refusal);
    if (view.figure.isWhole && !this.walk.walking) this.take(view.figure.walk);
    view.drawSoon();
  }

  /** Follows a key of the walk's; whether it was one. @type {(event: KeyboardEvent) => boolean} */
  key(event) {
    if (this.walk.walking) return this.walk.key(event);
    if (plainKey(event) !== "w" || this.walk.invitation.hidden) return false;
    this.walk.start(this.travel.view.figure, this.walk.at);
    return true;
  }

  /** Follows a finger that draws to a side; whether somebody walks. @param {number} direction */
  swiped(direction) {
    const { walk } = this;
    if (walk.walking) (direction > 0 ? walk.next() : walk.back());
    return walk.walking;
  }

  /** @type {(question: StopQuestion, options: { signal: AbortSignal }) => Promise<StopAnswer>} */
  _ask(question, options) {
    const { needs, switched, view } = this.travel;
    if (question.ask === "without") switched.cross(question.heads);
    view.draw();
    return needs.question(question, options);
  }

  /** @type {(place: Place, lit: Stop["lit"], stop: Stop) => void} */
  _go(place, lit, stop) {
    const { travel } = this;
    travel.view.player.end();
    travel.leave();
    this.measure();
    // The picture comes when one is there.
    this.began = null;
    this.moves = stop.moves;
    travel.switched.cross([]);
    travel.go(place, { lit, comes: () => this._come() });
    this._tellSpeaker();
  }

  /** What the speaker's notes show of the stop (speaker/talk.js). */
  _tellSpeaker() {
    const { walking, at, stops } = this.walk;
    const [now, next] = [stops[at - 1], stops[at]].map((stop) => stop && { title: stop.title, note: noteOf(stop) });
    window.headscopeWalk = walking ? { at, count: stops.length, ...now, next: next ?? null } : null;
    window.dispatchEvent(new Event("headscope-walk"));
  }

  /** How much of the width the walk takes where there is no room below what is seen, as on a phone on its side. */
  get beside() {
    return this.walk.walking && window.innerHeight < LEAST_BELOW ? Math.min(MOST_BESIDE, 0.4 * window.innerWidth) : 0;
  }

  /** Makes room for the bar and the bubble below what is seen. */
  measure() {
    const { travel, walk, beside } = this;
    classed(travel.view.root, "walk-beside", beside > 0);
    if (!walk.walking) return;
    const gap = 14;
    const [bar, bubble] = [walk.root.offsetHeight, walk.bubble.offsetHeight];
    walk.bubble.style.setProperty("--below", `${bar + gap}px`);
    walk.bubble.style.setProperty("--beside", `${beside}px`);
    travel.near.below = beside ? gap : bar + bubble + 2 * gap;
  }

  _come() {
    if (wantsNoMotion()) return;
    this.began = performance.now();
    const next = () => {
      if (this.began === null) return;
      if (performance.now() - this.began >= COMES) this.began = null;
      else this.frame = requestAnimationFrame(next);
      this.travel.view.draw();
    };
    this.frame = requestAnimationFrame(next);
  }

  /** Stands where so much of a stop's picture has come, as in a frame of a film. @type {(share: number) => void} */
  hold(share) {
    cancelAnimationFrame(this.frame);
    this.held = share;
    this.travel.view.isDrawn = false;
  }

  /** How much of a stop's picture has come, 0 to 1. */
  get share() {
    if (this.held !== null) return this.held;
    return this.began === null ? 1 : Math.min(1, (performance.now() - this.began) / COMES);
  }

  /** @param {boolean} ended */
  _done(ended) {
    const { travel } = this;
    cancelAnimationFrame(this.frame);
    this.began = null;
    travel.near.below = 0;
    this.measure();
    travel.look();
    this._tellSpeaker();
    if (ended) travel.go(MODEL);
    else travel.go();
    if (ended) this.kiosk.ended();
  }
}
