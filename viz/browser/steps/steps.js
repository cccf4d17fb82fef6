// Plays a translation step by step without the server, which hears only where the player stops and which other token a
// person chooses.

import { element } from "../canvas/dom.js";
import { payloadId } from "../canvas/envelope.js";
import { plainKey, typing } from "../canvas/keys.js";
import { mounted } from "../canvas/mount.js";
import { movedTo } from "../canvas/roving.js";
import { ASK_EVENT, SHOWN_EVENT, pageTheme, pictureOf, roomWithin } from "../canvas/page.js";
import { Writing, keyAsked, shortest, spokenStep } from "./frame.js";
import { heed, lightWithin } from "../canvas/shared.js";
import { grouped, lit, now, sure } from "./tokens.js";
import { tr } from "../canvas/wording.js";

// Milliseconds per step: long enough to read the word and find its source.
const PACE = 1600;
const REPORT_PAUSE = 250;
// At this size, the end of a very long sentence may lie below the stage.
const LEAST_ZOOM = 0.4;
const SMALLER = 0.94;

/** @typedef {import("./frame.js").Candidate} Candidate */

class Steps {
  /** @type {Writing} */
  writing;
  /** @type {Reporter} */
  report;
  /** @type {Trigger} */
  trigger;
  step = 0;
  active = 0;
  reported = 0;
  /** @type {WordRange[] | null} */
  pointed = null;
  width = 0;
  /** @type {number | undefined} */
  playing;
  /** @type {number | undefined} */
  waiting;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const row = (/** @type {string} */ className, /** @type {string} */ label) => {
      const tokens = element("div", "tokens", { dir: "auto" });
      const name = element("p", "row-name");
      const made = element("section", `row ${className}`, { "aria-label": label }, name, tokens);
      return { made, name, tokens };
    };
    this.source = row("source", tr("Source sentence"));
    this.target = row("target", tr("Translation so far"));
    const likeliest = tr("The likeliest tokens; choose one to continue from it");
    this.candidates = element("div", "candidates", { role: "listbox", tabindex: "0", "aria-label": likeliest });
    this.candidates.addEventListener("keydown", (event) => this._among(event));
    this.other = element("p", "other", { hidden: "" });
    const button = (/** @type {string} */ className, /** @type {string} */ label, /** @type {() => void} */ onClick) => {
      const made = element("button", className, { type: "button", "aria-label": label, title: label });
      made.addEventListener("click", onClick);
      return made;
    };
    this.back = button("step-by", tr("Previous step (←)"), () => this._go(this.step - 1));
    this.back.textContent = "◀";
    this.forth = button("step-by", tr("Next step (→)"), () => this._go(this.step + 1));
    this.forth.textContent = "▶";
    this.play = button("play", tr("Play (K)"), () => this._toggle());
    this.slider = element("input", "slider", { type: "range", min: "1", step: "1", "aria-label": tr("Step") });
    this.slider.addEventListener("input", () => this._go(Number(this.slider.value) - 1));
    this.place = element("span", "place");
    this.controls = element("div", "controls", {}, this.play, this.slider, this.back, this.forth, this.place);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    const name = element("p", "row-name", {}, likeliest);
    const next = element("section", "next", { "aria-label": tr("Next token") }, name, this.candidates, this.other);
    const rows = element("div", "sentences", {}, this.source.made, this.target.made);
    this.root.replaceChildren(this.controls, element("div", "step", {}, rows, next), this.spoken);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    this.onAsk = () => this._tellFoot();
    // In the capture phase, ahead of the stage, which uses arrow keys too.
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener(ASK_EVENT, this.onAsk);
    this.unheed = heed("pointed", (/** @type {WordRange[] | null} */ pointed) => {
      this.pointed = pointed;
      lightWithin(this.root, pointed);
    });
    this.resized = new ResizeObserver(() => this.root.clientWidth !== this.width && this.onResize());
    this.resized.observe(root);
    this.onResize = () => {
      if (!this.writing) return;
      this._fit();
      this._draw();
    };
    window.addEventListener("resize", this.onResize);
  }

  dispose() {
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(ASK_EVENT, this.onAsk);
    this.unheed();
    clearTimeout(this.playing);
    clearTimeout(this.waiting);
  }

  /** @type {(bytes: Bytes, report: Reporter, trigger: Trigger) => void} */
  update(bytes, report, trigger) {
    [this.report, this.trigger] = [report, trigger];
    if (this.writing?.id !== payloadId(bytes)) {
      const before = this.writing;
      this.writing = new Writing(bytes);
      const { name, epoch, count, stage } = this.writing;
      this.root.classList.toggle("on-stage", stage);
      if (before?.name !== name || before.epoch !== epoch) {
        this._rest();
        this.step = this.reported = this.writing.step;
      }
      this.step = Math.min(this.step, count - 1);
      this.slider.max = String(count);
      this.slider.disabled = count === 1;
    }
    const theme = pageTheme(this.root, this.writing.themes);
    this.root.style.setProperty("--lit", theme.accent);
    this.root.style.setProperty("--text", theme.text);
    this.root.style.setProperty("--muted", theme.muted);
    this.root.style.setProperty("--line", theme.grid);
    // Keeps text readable on the strongest colour.
    this.root.style.setProperty("--fullest", theme.name === "dark" ? "32%" : "45%");
    this._fit();
    this._draw();
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  /** Reserves space for the whole translation, so nothing moves while it is written. */
  _fit() {
    const { cross, own, count, stage } = this.writing;
    const frame = this.writing.frame(count - 1);
    this.source.name.textContent = cross.name;
    this.target.name.textContent = tr("Translation so far, with the probability of each token. Colour: {name}", { name: own.name });
    this.source.tokens.replaceChildren(...grouped(frame.source, lit));
    this.target.tokens.style.minHeight = "";
    this.target.tokens.replaceChildren(...grouped(frame.target, (token) => sure(token, own.name)));
    this._list(frame.candidates);
    const picture = stage ? pictureOf(this.root) : null;
    const fits = () => !picture || this.root.getBoundingClientRect().height <= roomWithin(picture, this.root);
    // Smaller text wraps differently, so sizes are tried in turn.
    for (let zoom = 1; zoom > LEAST_ZOOM; zoom *= SMALLER) {
      this.root.style.zoom = String(zoom);
      if (fits()) break;
    }
    this.target.tokens.style.minHeight = `${this.target.tokens.clientHeight}px`;
    this.width = this.root.clientWidth;
  }

  _draw() {
    const { count, stage, own } = this.writing;
    const frame = this.writing.frame(this.step);
    this.source.tokens.replaceChildren(...grouped(frame.source, lit, "source"));
    const written = { ...frame.written, weight: 0, strength: 0, written: null };
    const note = frame.forced ? tr("given") : shortest(frame.probability);
    const made = (/** @type {typeof frame.target[number]} */ token) => (token === written ? now(token, note) : sure(token, own.name));
    this.target.tokens.replaceChildren(...grouped([...frame.target, written], made, "target", -1));
    lightWithin(this.root, this.pointed);
    this._list(frame.candidates);
    this.other.hidden = !frame.other;
    if (frame.other) {
      const { text: name, rank, probability } = frame.other;
      this.other.textContent = tr("Written: “{name}”, rank {rank}, {share}", { name, rank, share: shortest(probability) });
    }
    this.slider.value = String(this.step + 1);
    this.slider.setAttribute("aria-valuetext", tr("{step} of {count}", { step: this.step + 1, count }));
    this.place.textContent = tr("Step {step} of {count}", { step: this.step + 1, count });
    this.back.disabled = this.step === 0;
    this.forth.disabled = this.step === count - 1;
    if (!this.playing) this.spoken.textContent = spokenStep(frame, this.step, count);
    if (stage) this._tellFoot();
    this.root.dataset.step = String(this.step + 1);
    this.root.dataset.painted = this.writing.id;
  }

  /** Lists the candidates, which are one stop of the Tab key.
   * @type {(candidates: Candidate[]) => void} */
  _list(candidates) {
    while (this.candidates.children.length > candidates.length) this.candidates.lastChild?.remove();
    while (this.candidates.children.length < candidates.length) {
      const place = this.candidates.children.length;
      const option = element("div", "candidate", { role: "option", id: `candidate-${place}` });
      option.append(...["key", "text", "bar", "share"].map((name) => element("span", name)));
      option.addEventListener("click", () => this._take(place));
      this.candidates.append(option);
    }
    for (const [place, { text: name, probability, chosen, key }] of candidates.entries()) {
      const option = /** @type {HTMLElement} */ (this.candidates.children[place]);
      const [number, word, bar, share] = /** @type {HTMLElement[]} */ ([...option.children]);
      [number.textContent, word.textContent, share.textContent] = [key, name, shortest(probability)];
      bar.style.setProperty("--share", String(probability));
      option.classList.toggle("chosen", chosen);
      option.setAttribute("aria-selected", String(chosen));
      option.title = chosen ? tr("The model writes this one") : tr("Continue from this one");
    }
    this._activate(Math.max(0, candidates.findIndex(({ chosen }) => chosen)));
  }

  /** Marks the candidate that Enter takes. @type {(place: number) => void} */
  _activate(place) {
    this.active = place;
    this.candidates.setAttribute("aria-activedescendant", `candidate-${place}`);
    for (const [other, option] of [...this.candidates.children].entries()) option.classList.toggle("active", other === place);
  }

  _tellFoot() {
    if (!this.writing?.stage) return;
    const shown = `${tr("Step {step} of {count}", { step: this.step + 1, count: this.writing.count })} – ${this.writing.cross.name}`;
    document.dispatchEvent(new CustomEvent(SHOWN_EVENT, { detail: { text: shown, map: null } }));
  }

  // ---- moving -------------------------------------------------------------------------------------------------------

  /** @type {(step: number) => void} */
  _go(step) {
    this._rest();
    this._show(step);
    this._tell();
  }

  /** @type {(step: number) => void} */
  _show(step) {
    this.step = Math.min(Math.max(step, 0), this.writing.count - 1);
    this._draw();
  }

  _toggle() {
    if (this.playing) {
      this._rest();
      this._draw();
      this._tell();
      return;
    }
    this.play.setAttribute("aria-label", tr("Pause (K)"));
    this.root.classList.add("playing");
    // At the end, Play starts over.
    const again = this.step === this.writing.count - 1;
    this.playing = setTimeout(() => this._next(), PACE);
    if (again) this._show(0);
  }

  _next() {
    this._show(this.step + 1);
    if (this.step < this.writing.count - 1) this.playing = setTimeout(() => this._next(), PACE);
    else {
      this._rest();
      this._draw();
      this._tell();
    }
  }

  _rest() {
    clearTimeout(this.playing);
    this.playing = undefined;
    this.play.setAttribute("aria-label", tr("Play (K)"));
    this.root.classList.remove("playing");
  }

  /** Reports the step to Python once the player stops. */
  _tell() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      if (this.step === this.reported) return;
      this.reported = this.step;
      this.report({ name: this.writing.name, step: this.step });
    }, REPORT_PAUSE);
  }

  /** @type {(place: number) => void} */
  _take(place) {
    if (this.writing.steps[this.step].chosen === place) return;
    this._rest();
    this._draw();
    this.trigger("taken", { name: this.writing.name, step: this.step, place });
  }

  /** Up and down move among the candidates, Enter and Space take one. @type {(event: KeyboardEvent) => void} */
  _among(event) {
    const key = plainKey(event);
    const to = key && movedTo(key, this.active, this.candidates.children.length);
    if (key === "Enter" || key === " ") this._take(this.active);
    else if (typeof to === "number") this._activate(to);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const key = plainKey(event);
    const inside = event.composedPath().includes(this.root);
    if (!this.writing || !key || event.shiftKey || (!inside && (!this.writing.stage || typing(event)))) return;
    // Space presses a focused button; outside the player, space and digits move through a talk's scenes.
    if ((key === " " && event.composedPath()[0] !== this.slider) || (!inside && /^[ 0-9]$/.test(key))) return;
    const asked = keyAsked(key, this.step, this.writing.count, this.writing.steps[this.step].texts.length);
    if (!asked) return;
    event.preventDefault();
    event.stopPropagation();
    if (asked.plays) this._toggle();
    else if (asked.place !== undefined) this._take(asked.place);
    else if (asked.step !== undefined) this._go(asked.step);
  }
}

export default mounted(".decoding-steps", (root) => new Steps(root), "shown");
