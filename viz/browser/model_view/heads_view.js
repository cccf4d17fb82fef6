// All heads of a kind in a panel, and beside it the model's picture at the place of one of them. All weights are here, so
// selecting a head never waits for the server; Python hears the selection afterwards and updates the rest of the page.

import constants from "../../draw/constants.json" with { type: "json" };
import { said, zoomButtons } from "../canvas/controls.js";
import { element } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { payloadId } from "../canvas/envelope.js";
import { plainKey, typing } from "../canvas/keys.js";
import { ASK_EVENT, pageGround, pageTheme } from "../canvas/page.js";
import { Palette } from "../canvas/paint.js";
import { ALL_ON_EVENT, heed } from "../canvas/shared.js";
import { tr } from "../canvas/wording.js";
import { Finding } from "./finding.js";
import { altOf, captionOf } from "./head_words.js";
import { chosenOf, legalChosen } from "./panel/chosen.js";
import { HeadsPanel, compareHint } from "./panel/panel.js";
import { Telling } from "./panel/telling.js";
import { Figure } from "./payload.js";
import { outer, partOfJoint, samePlace, spelled } from "./places.js";
import { placesMeeting } from "./pointing.js";
import { ModelView } from "./view.js";

const HEIGHT_LEAST = 260;
const ROOM_AROUND_CAPTION = 24;

export class HeadsView {
  /** @type {Figure} */
  figure;
  /** @type {Palette} */
  palette;
  /** @type {Chosen} */
  state;
  size = "";
  /** Whether the panel leads the picture, which then need not tell it where it is. */
  leads = false;
  /** Whether tokens of the head go unnamed for want of room. */
  isCut = false;
  /** @type {Reporter} */
  report = () => {};
  /** @type {Trigger} */
  trigger = () => {};
  telling = new Telling(this);

  /**
   * @param {HTMLElement} root
   * @param {object} options
   * @param {ModelEngine | null} [options.engine] - of the page; else the payload says where to ask.
   * @param {boolean} [options.canAskPython] - whether Python is there.
   * @param {boolean} [options.canRun] - whether Python, or the page's own engine, can read the trace in another way and
   *   switch heads off.
   * @param {number | null} [options.height] - height in CSS pixels of a picture beside the overview; null ends it with the
   *   window. A notebook, whose cells scroll through the window, needs a fixed height.
   */
  constructor(root, { engine = null, canAskPython = true, canRun = canAskPython, height = null } = {}) {
    this.root = root;
    this.canAskPython = canAskPython;
    this.given = height;
    // In the capture phase, ahead of the model's picture and of the page, which use the same keys.
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    window.addEventListener("keydown", this.onKey, true);
    this.panel = new HeadsPanel(
      root,
      {
        change: (changes) => this.change(changes),
        activate: () => this.space.focus(),
        refuse: (text) => this._refuse(text),
        say: (text) => this._say(text),
        trigger: (event, value) => this.trigger(event, value),
      },
      { python: canAskPython, runs: canRun },
    );
    this.space = element("div", "model-view", { tabindex: "0", role: "application" });
    this.model = new ModelView(this.space, { engine, beside: this });
    this.showing = this.model.travel.showing;
    this.showing.hasGamma = true;
    this.showing.told = (how) => this._heard(how);
    this.finding = new Finding(this);
    this.panel.tools.unfolds.before(this.finding.root);
    this.hint = element("p", "hint", { hidden: "" });
    this.caption = element("p", "caption");
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    this.zooms = zoomButtons("picture", (step) => this.model.travel.zoomBy(step));
    this.mark = element("div", "cell picked", { hidden: "" });
    const seen = element("div", "seen", {}, this.space, this.mark);
    const right = element("section", "right", { "aria-label": tr("One head") }, this.hint, seen, this.zooms, this.caption);
    const { panel } = this;
    root.replaceChildren(panel.tools.root, element("div", "panes", {}, panel.root, right), panel.tooltip.element, this.spoken);
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
    this.onAsk = () => {
      if (this.figure?.stage) this.telling.foot();
    };
    this.onAllOn = () => this.change({ off: [] });
    document.addEventListener(ASK_EVENT, this.onAsk);
    document.addEventListener(ALL_ON_EVENT, this.onAllOn);
    this.unheed = heed("pointed", (/** @type {WordRange[] | null} */ words) => this._light(words));
    this.unescape = escapable(() => this._letGo());
  }

  /** Of the payload that is shown. */
  get epoch() {
    return this.figure.epoch;
  }

  dispose() {
    this.resized.disconnect();
    this.panel.dispose();
    this.model.dispose();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(ASK_EVENT, this.onAsk);
    document.removeEventListener(ALL_ON_EVENT, this.onAllOn);
    this.unheed();
    this.unescape();
    this.telling.dispose();
  }

  /** The trace in the reading that is shown. @returns {TracePayload} */
  get payload() {
    return this.figure.reading ?? this.figure;
  }

  // ---- changing ---------------------------------------------------------------------------------------------------

  /** Takes Python's message; redraws only what differs. @type {(bytes: Bytes, report: Reporter, trigger?: Trigger) => void} */
  update(bytes, report, trigger) {
    this.report = report;
    if (trigger) this.trigger = trigger;
    const id = payloadId(bytes);
    if (this.figure?.id === id) {
      if (pageGround(this.root) !== this.palette.theme.ground) this._redraw();
      return;
    }
    const before = this.figure;
    const figure = new Figure(bytes);
    const asked = figure.epoch !== before?.epoch;
    this.figure = figure;
    for (const each of [figure, figure.reading]) if (each?.coming) each.coming.told = (refusal) => this._came(refusal);
    this.root.classList.toggle("on-stage", figure.stage);
    const chosen = chosenOf(figure.selection);
    const keeps = before?.key === figure.key && Boolean(before.reading) === Boolean(figure.reading);
    this.state = legalChosen(asked ? chosen : { ...this.state, ...(keeps ? {} : { cell: null }) }, this.payload);
    if (asked) this.telling.knows(chosen);
    this._draw(true);
    this._lead(asked ? this.headPlace : this._place);
    this.root.dataset.payload = id;
    // In a trace with fewer layers or heads, the selection may be another.
    this.telling.report();
  }

  /** @type {(changes: Partial<Chosen>) => void} */
  change(changes) {
    this._take(changes);
    this._lead();
    this.telling.report();
  }

  /** @type {(changes: Partial<Chosen>) => void} */
  _take(changes) {
    const before = this.state;
    this.state = legalChosen({ ...before, ...changes }, this.payload);
    const anew = /** @type {const} */ (["attention", "order", "gamma", "only", "off"]).some(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(this.state[name]),
    );
    this._draw(anew);
  }

  /** Selects a head, and a cell or null, from code; keeps the reader's other settings.
   * @type {(head: Pick<Chosen, "attention" | "layer" | "head" | "cell">) => void} */
  select({ attention, layer, head, cell }) {
    this.change({ attention, layer, head, cell, compare: [], only: null });
  }

  /** Shows what has come of the heads that were sent coarsely. @param {string} [refusal] */
  _came(refusal) {
    if (refusal) this._refuse(refusal);
    const { coming } = this.payload;
    if (coming) this.root.dataset.come = String(coming.came.size);
    this._draw(false);
    this._tellCaption(this.model.travel.place.at);
    this.model.drawSoon();
  }

  /** @param {string} refusal */
  _refuse(refusal) {
    const { left, bottom } = this.panel.scale.root.getBoundingClientRect();
    this.panel.tooltip.show({ clientX: left, clientY: bottom }, said("strong", refusal));
    this._say(refusal);
  }

  /** Lets go of one thing beside the head; whether there was any. */
  _letGo() {
    if (!this.root.clientWidth || !this.figure) return false;
    if (this.panel.tools.letGo()) return true;
    const { place } = this.model.travel;
    if (place.at === "row" || place.at === "weight") return this.model.travel.out();
    // What is presented stays as it is: there Escape leaves the stage, whose way back may come a moment earlier.
    if (this.figure.stage || document.querySelector(".st-key-stage-leave")) return false;
    if (place.at !== "head") this.model.travel.go(this.headPlace);
    else if (this.showing.pinned) return this.showing.letGo();
    else if (this.picked) this.pick(this.picked);
    else if (this.panel.letGo()) return true;
    else if (this.state.range) {
      this.see(null);
      this.model.travel.go();
    } else return this.model.travel.back();
    return true;
  }

  /** The cell that is marked in the picture. */
  get picked() {
    return this.state?.view === "lines" ? null : (this.state?.cell ?? null);
  }

  /** The rows and columns of the head that are shown; null for all. */
  get range() {
    return this.state?.range ?? null;
  }

  /** Marks a cell, or lets it go if it is marked. @type {Beside["pick"]} */
  pick(cell) {
    const same = this.state.cell?.join() === cell.join();
    this.change({ cell: same ? null : cell });
    if (same) this._say(tr("Cell deselected."));
  }

  // ---- the place --------------------------------------------------------------------------------------------------

  /** Where the selected head lies in the model. @returns {Extract<Place, { at: "head" }>} */
  get headPlace() {
    const { attention, layer, head } = this.state;
    return { at: "head", kind: attention, layer: this.payload.kind(attention).layers[layer], head };
  }

  /** Where the marked cell lies; null where none is, or where it has no place of its own. @returns {Place | null} */
  get _weight() {
    const { figure, headPlace } = this;
    if (!this.state.cell || figure.reading) return null;
    const [query, key] = this.state.cell;
    const part = headPlace.kind === constants.JOINT ? partOfJoint(figure, query, key) : { kind: headPlace.kind, query, key };
    return part && part.key !== null ? { at: "weight", kind: part.kind, layer: headPlace.layer, head: headPlace.head, query: part.query, key: part.key } : null;
  }

  /** Where what is selected is seen: in a cell, another one too is seen from within. @returns {Place} */
  get _place() {
    return (this.model.travel.place.at === "weight" && this._weight) || this.headPlace;
  }

  height() {
    const top = this.space.getBoundingClientRect().top + this._scrolled;
    const screen = this.given ?? window.innerHeight;
    const room = screen - top - this.caption.offsetHeight - ROOM_AROUND_CAPTION;
    // Below the panel, it need not be higher than wide.
    return room < HEIGHT_LEAST ? Math.max(HEIGHT_LEAST, Math.min(0.65 * screen, 1.1 * this.space.clientWidth)) : room;
  }

  /** How far the page, or what holds a notebook's cell, lies above the window. */
  get _scrolled() {
    if (this.given) return -this.root.getBoundingClientRect().top;
    const { host } = /** @type {Partial<ShadowRoot>} */ (this.root.getRootNode());
    return host?.closest('[data-testid="stMain"]')?.scrollTop ?? window.scrollY;
  }

  /** Selects the head at a place to which one has come by hand. @type {Beside["moved"]} */
  moved(place) {
    this.mark.hidden = true;
    if (this.leads || !this.state) return;
    if ("head" in place) {
      const layer = this.payload.kind(place.kind).layers.indexOf(place.layer);
      const kept = place.kind === this.state.attention ? this.state.cell : null;
      const cell = place.at === "weight" ? /** @type {Cell} */ ([place.query, place.key]) : kept;
      this._heard({ ...this.showing.how, attention: place.kind, layer, head: place.head, cell, range: this.range });
    } else this._tellCaption(place.at);
  }

  /** Takes the rows and columns of the head to which one has moved. */
  rested() {
    const { place, near } = this.model.travel;
    if (place.at === "head" && !this.showing.hasLines(place)) this.see(near.head.seen(place));
  }

  /** Takes some rows and columns as what is to be seen of a head, or all of them. @param {CellRange | null} range */
  see(range) {
    this.state = { ...this.state, range };
    this.telling.report();
  }

  /** Tells where the cells of the head lie, beside what is painted. */
  drawn() {
    const { travel } = this.model;
    const { place } = travel;
    if (place.at === "head") {
      const { left, top, width, height } = travel.near.head.room(place);
      const [{ cells }] = this.panel.drawn;
      this.model.canvas.dataset.cells = JSON.stringify([left, top, width, height, cells.nQueries, cells.nKeys]);
      this._mark({ left, top, width: width / cells.nKeys, height: height / cells.nQueries });
      if (travel.near.head.isCut !== this.isCut) {
        this.isCut = !this.isCut;
        this._tellCaption("head");
      }
    }
    const { attention, layer, head, view } = this.state;
    const painted = JSON.stringify({ id: this.figure.id, attention, layer, head, view });
    // What a pointer lights is painted anew, and tells of nothing.
    if (painted !== this.root.dataset.painted) this.root.dataset.painted = painted;
  }

  /** Marks the picked cell. @param {Pick<Rectangle, "left" | "top" | "width" | "height">} first - where the first cell lies. */
  _mark({ left, top, width, height }) {
    const { mark, picked } = this;
    mark.hidden = !picked;
    if (!picked) return;
    const [query, key] = picked;
    mark.dataset.cell = picked.join(".");
    mark.style.transform = `translate(${left + key * width}px, ${top + query * height}px)`;
    Object.assign(mark.style, { width: `${width}px`, height: `${height}px` });
  }

  /** Takes what was chosen in the picture. @param {Partial<Chosen>} changes */
  _heard(changes) {
    if (this.leads) return;
    this._take(changes);
    this._tellCaption(this.model.travel.place.at);
    this.telling.report();
  }

  // ---- keys -------------------------------------------------------------------------------------------------------

  /** Keys that act on the selected head: on a stage wherever the focus is. @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const key = plainKey(event);
    if (!this.figure || !key || event.shiftKey || typing(event)) return;
    const { stage } = this.figure;
    const path = event.composedPath();
    const isAtHead = this.model.travel.place.at === "head" && (stage || path.includes(this.space));
    const { panel, state } = this;
    /** @type {Record<string, [down: number, right: number]>} */
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const weight = key === "Enter" && isAtHead && this.picked ? this._weight : null;
    if (key in steps && isAtHead) panel.step(...steps[key]);
    else if (weight) this.model.travel.go(weight);
    else if (key === "x" && panel.canSwitchOff && (stage || path.includes(this.root))) panel.switchShown();
    else if (key === "v" && stage) this.change({ view: state.view === "lines" ? "heatmap" : "lines" });
    else if (key === "a" && stage) {
      const { attentions } = this.payload;
      panel.changeAttention(attentions[(attentions.indexOf(state.attention) + 1) % attentions.length]);
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  _resize() {
    // A hidden or detached root has no width.
    if (!this.figure || !this.root.clientWidth) return;
    if (this._size() !== this.size) this._redraw();
  }

  _redraw() {
    this._draw(true);
    this._lead();
  }

  /** What the layout depends on besides the content and the space for it. */
  _size() {
    const rem = getComputedStyle(document.documentElement).fontSize;
    return [this.root.clientWidth, this.given ?? window.innerHeight, window.devicePixelRatio, rem].join();
  }

  /** @param {boolean} anew - whether the overview shows something else than before. */
  _draw(anew) {
    const { payload, state, panel, figure } = this;
    if (!this.palette || anew) this.palette = new Palette(pageTheme(this.root, payload.themes), state.gamma);
    panel.take(payload, state, this.palette);
    if (figure.stage) this.telling.foot();
    else panel.show(anew ? (this.given ?? window.innerHeight) : null);
    this.finding.show();
    this.telling.off();
    this.size = this._size();
  }

  /** Has the picture show what is selected: another head at once, a weight by the way there. */
  _lead(to = this._place) {
    const { model, state, figure, showing } = this;
    const { travel } = model;
    this.leads = true;
    showing.take(state);
    // Ahead of the picture, which takes the room that it leaves.
    this._tellCaption(to.at);
    if (model.figure?.id !== figure.id || model.inks.theme.name !== this.palette.theme.name) {
      model.take(Object.assign(figure, { place: spelled(to) }), () => {}, this.trigger);
    } else if (to.at === "head" && !figure.stage && Math.abs(this.height() - model.room.height) > 1) model.size();
    const off = state.off.map((each) => each.split("."));
    travel.switched.cross(off.map(([kind, layer, head]) => [kind, Number(layer), Number(head)]));
    const { place } = travel;
    const isIn = place.at === "row" && samePlace(/** @type {Place} */ (outer(place, figure)), to);
    if (!isIn) travel.go(to, { atOnce: to.at === "head" && place.at === "head" });
    this.leads = false;
  }

  /** Says how the picture is read at such a place, and how to go on. @param {Place["at"]} at */
  _tellCaption(at) {
    const { payload, state, panel } = this;
    const kind = payload.kind(state.attention);
    const { drawn } = panel;
    const read = { lines: state.view === "lines", several: drawn.length > 1, isCut: this.isCut, canAskPython: !this.figure.reading };
    const told = this.showing.pinned || (this.picked && this.figure.reading) ? tr("Escape, or a second click, deselects it.") : captionOf(payload, kind, read);
    this.caption.textContent = at === "head" ? told : tr("Escape leads one step out.");
    this.space.setAttribute("aria-label", `${altOf(payload, kind, drawn)} ${tr("Arrow keys choose a head, Enter comes closer, plus and minus zoom.")}`);
    this.hint.hidden = !panel.adding;
    const isFull = drawn.length >= constants.MOST_COMPARED;
    this.hint.textContent = [...(isFull ? [] : [compareHint()]), tr("Escape ends the comparison.")].join(" ");
  }

  /** @type {(text: string) => void} */
  _say(text) {
    this.spoken.textContent = text;
  }

  /** Lights words, `{side, first, end}` each, that are pointed at on this page; null for none.
   * @type {(words: WordRange[] | null) => void} */
  _light(words) {
    if (!this.figure || this.figure.stage) return;
    this.panel.overview.light(words ? placesMeeting(this.payload, this.state.attention, words) : this.finding.found);
  }
}
