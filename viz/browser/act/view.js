// An act: frames of one picture, with the words above it and one sentence below, that play in ten seconds.

import { element, fitted } from "../canvas/dom.js";
import { plainKey, typing } from "../canvas/keys.js";
import { pageTheme, pictureOf, roomWithin, wantsNoMotion } from "../canvas/page.js";
import { opened, payloadId } from "../canvas/envelope.js";
import { tr } from "../canvas/wording.js";
import { Dark } from "./dark.js";
import { Crossing } from "./crossing.js";

/** @import { ActValues } from "./types.js" */

// The share of a frame's time in which its picture comes; the rest is for reading.
const COMES = 0.45;
const [LEAST_HEIGHT, MOST_HEIGHT] = [280, 560];

// Acts that have played: one that is seen again rests at its end.
/** @type {Set<string>} */
const PLAYED = new Set();

export class ActView {
  /** @type {ActValues} */
  act;
  id = "";
  /** How much of the act is over, 0 to 1. */
  share = 1;
  /** When it would have begun to have come so far; null while it rests. @type {number | null} */
  began = null;
  frame = 0;
  said = -1;
  /** @type {Dark | Crossing} */
  picture;
  /** @type {ShownTheme} */
  theme;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.written = element("p", "written", { dir: "auto" });
    this.read = element("p", "read", { dir: "auto" });
    this.canvas = element("canvas", "", { role: "img" });
    this.play = element("button", "play", { type: "button" });
    this.play.addEventListener("click", () => this._toggle());
    this.slider = element("input", "slider", { type: "range", min: "0", step: "1", "aria-label": tr("Step") });
    this.slider.addEventListener("input", () => this._rest(Number(this.slider.value)));
    this.place = element("span", "place");
    this.says = element("p", "says", { "aria-live": "polite" });
    const controls = element("div", "controls", {}, this.play, this.slider, this.place);
    root.replaceChildren(this.read, this.written, this.canvas, this.says, controls);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    // Ahead of the stage, which uses arrow keys too.
    window.addEventListener("keydown", this.onKey, true);
    this.resized = new ResizeObserver(() => this.act && this._draw());
    this.resized.observe(root);
    // What stands above it comes and goes.
    const page = document.querySelector('[data-testid="stMainBlockContainer"] > *, body > main');
    if (page) this.resized.observe(page);
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    window.removeEventListener("keydown", this.onKey, true);
    this.resized.disconnect();
  }

  /** Takes Python's message. @param {Bytes} bytes */
  update(bytes) {
    const isNew = this.id !== payloadId(bytes);
    if (isNew) {
      this.act = /** @type {ActValues} */ (opened(bytes).values);
      this.id = payloadId(bytes);
      this.root.classList.toggle("on-stage", this.act.stage);
      this.read.textContent = this.act.read;
      this.canvas.setAttribute("aria-label", this.act.alt);
      this.slider.max = String(this.act.frames.length - 1);
      this.picture = this.act.states ? new Crossing(this.act, this.act.states) : new Dark(this.act);
    }
    this.theme = pageTheme(this.root, this.act.themes);
    for (const [name, color] of Object.entries({ text: this.theme.text, muted: this.theme.muted, accent: this.theme.accent, now: this.theme.now, line: this.theme.grid })) {
      this.root.style.setProperty(`--${name}`, color);
    }
    this.picture.take(this.theme);
    if (isNew) {
      this.said = -1;
      const rests = wantsNoMotion() || !this.act.plays || PLAYED.has(this.act.key);
      PLAYED.add(this.act.key);
      this.share = rests ? 1 : 0;
      this._reserve();
      if (!rests) this._go();
    }
    this._draw();
  }

  /** Shows one share of the act, from 0 to 1, at rest. @param {number} share */
  show(share) {
    this._stop();
    this.share = share;
    this._draw();
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  /** The frame that is seen, and how much of it has come. */
  get moment() {
    const count = this.act.frames.length;
    const along = Math.min(this.share * count, count - 1e-9);
    const at = Math.floor(along);
    const come = this.share === 1 ? 1 : Math.min(1, (along - at) / COMES);
    return { at, come: at ? come : 1 };
  }

  _toggle() {
    if (this.began !== null) this._stop();
    else {
      if (this.share === 1) this.share = 0;
      this._go();
    }
    this._draw();
  }

  _go() {
    const length = 1000 * this.act.seconds;
    this.began = performance.now() - this.share * length;
    const next = () => {
      if (this.began === null) return;
      this.share = Math.min(1, (performance.now() - this.began) / length);
      if (this.share === 1) this.began = null;
      else this.frame = requestAnimationFrame(next);
      this._draw();
    };
    this.frame = requestAnimationFrame(next);
  }

  _stop() {
    cancelAnimationFrame(this.frame);
    this.began = null;
  }

  /** Rests at a frame, all of which has come. @param {number} at */
  _rest(at) {
    const count = this.act.frames.length;
    const within = Math.min(Math.max(at, 0), count - 1);
    this.show(within === count - 1 ? 1 : (within + COMES) / count);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (!this.act || (typing(event) && event.target !== this.slider)) return;
    const key = plainKey(event);
    if (key === "k") this._toggle();
    else if (key === "ArrowLeft" || key === "ArrowRight") this._rest(this.moment.at + (key === "ArrowRight" ? 1 : -1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Keeps room for the longest words and sentence, so that nothing moves while it plays. */
  _reserve() {
    for (const [made, texts] of /** @type {const} */ ([
      [this.written, this.act.frames.map(({ written }) => written.map(([text]) => text).join(""))],
      [this.says, this.act.frames.map(({ said }) => said)],
    ])) {
      made.style.minHeight = "";
      const heights = texts.map((text) => {
        made.textContent = text;
        return made.offsetHeight;
      });
      made.style.minHeight = `${Math.max(...heights)}px`;
    }
    this.said = -1;
  }

  _draw() {
    const { at, come } = this.moment;
    const { frames } = this.act;
    if (at !== this.said) {
      this.said = at;
      this.written.replaceChildren(...frames[at].written.map(([text, mark]) => element("span", mark, {}, text)));
      this.says.textContent = frames[at].said;
      this.place.textContent = frames[at].name;
      this.slider.value = String(at);
      this.slider.setAttribute("aria-valuetext", frames[at].name);
    }
    const label = this.began === null ? tr("Play (K)") : tr("Pause (K)");
    if (this.play.title !== label) {
      this.play.title = label;
      this.play.setAttribute("aria-label", label);
      this.root.classList.toggle("playing", this.began !== null);
    }
    const width = this.root.clientWidth;
    if (!width) return;
    const { context, density } = fitted(this.canvas, width, this._height(width));
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.font = `${this.act.stage ? 18 : 13}px ${getComputedStyle(this.root).fontFamily}`;
    this.picture.draw(context, width, this._height(width), at, come);
  }

  /** @param {number} width */
  _height(width) {
    const picture = this.act.stage ? pictureOf(this.root) : null;
    const below = this.says.offsetHeight + 70;
    const room = picture ? roomWithin(picture, this.canvas) - below : window.innerHeight - this.canvas.getBoundingClientRect().top - window.scrollY - below - 40;
    return this.picture.height(width, Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, room)));
  }
}
