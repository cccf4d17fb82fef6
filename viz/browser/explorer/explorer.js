// The heads of one trace: an overview, and one head as a matrix or as lines. All weights are here, so selecting a head
// never waits for the server; Python hears the selection afterwards and updates the rest of the page.

import constants from "../../draw/constants.json" with { type: "json" };
import { Choices, Tooltip, said, toggle, zoomButtons } from "../canvas/controls.js";
import { element, fitted } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { payloadId } from "../canvas/envelope.js";
import { plainKey, typing } from "../canvas/keys.js";
import { Matrix } from "../canvas/matrix.js";
import { signed } from "../canvas/numbers.js";
import { ASK_EVENT, SHOWN_EVENT, pageGround, pageTheme, pictureOf, roomWithin } from "../canvas/page.js";
import { Palette } from "../canvas/paint.js";
import { ALL_ON_EVENT, heed, meets, tell } from "../canvas/shared.js";
import { countOf, labelled, lowered, tr } from "../canvas/wording.js";
import { Lines } from "./lines.js";
import { Overview } from "./overview.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { READINGS, headsAt, isChanged, lacksJoint, measuresOf, shownHeads, withCompared } from "../model_view/how.js";
import { legal, spelled, unspelled, withAttention, withSwitched } from "./selection.js";
import { altOf, captionOf, cellName, cellValue, comparedOf, headName, ignoredOf, pairOf, summaryOf, titleOf, tokenOf } from "../model_view/head_words.js";
import { written } from "../model_view/written.js";

const compareHint = () => tr("Click more heads to compare them, up to eight in all.");
const letGoHint = () => tr("Escape, or a second click, deselects it.");
const REPORT_PAUSE = 120;
const HEIGHT_LEAST = 260;
// One head has half the screen.
const LARGEST_CELL = { width: 112, height: 96 };
const ROOM_AROUND_CAPTION = 24;

/** The options of a menu. @type {(entries: string[][]) => HTMLElement[]} */
const choices = (entries) => entries.map(([value, text]) => element("option", "", { value }, text));

export class Explorer {
  /** @type {TracePayload} */
  payload;
  /** @type {Palette} */
  palette;
  /** @type {Chosen} */
  state = {
    attention: "cross",
    layer: 0,
    head: 0,
    view: "heatmap",
    cell: null,
    compare: [],
    order: "",
    gamma: 1,
    only: null,
    off: [],
    reading: {},
  };
  /** @type {string | null} */
  reported = null;
  lastTold = -Infinity;
  /** @type {string | undefined} */
  toldOff;
  size = "";
  room = 0;
  /** @type {Partial<Record<Axis, number>> | null} */
  pointing = null;
  /** @type {Reporter} */
  report;
  /** @type {Trigger} */
  trigger = () => {};
  /** @type {number | undefined} */
  waiting;

  /**
   * @param {HTMLElement} root
   * @param {object} options
   * @param {boolean} [options.canAskPython] - whether Python can take a cell apart.
   * @param {boolean} [options.canRun] - whether Python, or the page's own engine, can read the trace in another way and
   *   switch heads off.
   * @param {number | null} [options.height] - height in CSS pixels of a picture beside the overview; null ends it with the
   *   window. A notebook, whose cells scroll through the window, needs a fixed height.
   */
  constructor(root, { canAskPython = true, canRun = canAskPython, height = null } = {}) {
    this.root = root;
    this.canAskPython = canAskPython;
    this.canRun = canRun;
    this.height = height;
    this.attentions = new Choices(tr("Attention"), (attention) => this._changeAttention(attention));
    this.views = new Choices(tr("View"), (view) => this._change({ view }));
    this.compare = toggle(
      tr("Compare heads"),
      tr("Click heads to add them to the picture; at any time, Shift+click, Ctrl+click or C does the same"),
      () => this._setAdding(!this.adding()),
    );
    this.compare.classList.add("adds");
    this.readings = new Map(
      READINGS.map(([name, text, title]) => [
        name,
        toggle(tr(text), tr(title), () =>
          this._change({ reading: { ...this.state.reading, [name]: !this.state.reading[name] }, cell: null }),
        ),
      ]),
    );

    this.overview = new Overview({
      select: (layer, head, adds) => this._select(layer, head, adds || this.adding()),
      point: (tile, place, spoken) => this._tileTip(tile, place, spoken),
      only: (only) => this._change({ only }),
      activate: () => this.large().canvas.focus(),
    });
    this.matrix = new Matrix({
      point: (cell, place, spoken) => this._cellTip(cell, place, spoken),
      pick: (query, key) => this._pick([query, key]),
      beside: () => this.state.cell && this._pick(this.state.cell),
      label: (axis, place) => this._pointAt(axis && { [axis]: place }),
    });
    this.matrix.most = LARGEST_CELL;
    this.lines = new Lines({ point: (token) => this._tokenTip(token), pin: () => this._drawHint() });

    this.all = toggle(tr("Show all heads"), tr("Return to every layer and head"), () => this._change({ only: null }));
    this.all.removeAttribute("aria-pressed");
    this.order = element("select", "", { "aria-label": tr("Order of heads") });
    this.order.addEventListener("change", () => this._change({ order: this.order.value }));
    this.gamma = element("input", "", {
      type: "range",
      min: "0",
      max: String(constants.GAMMAS.length - 1),
      step: "1",
      "aria-label": tr("Bring out faint weights"),
      title: tr("Bring out faint weights"),
    });
    this.gamma.addEventListener("input", () => this._change({ gamma: constants.GAMMAS[Number(this.gamma.value)] }));
    this.only = element("select", "", { "aria-label": tr("Heads shown") });
    this.only.addEventListener("change", () => this._change({ only: this._onlyOf(this.only.value) }));
    const setting = (/** @type {string} */ name, /** @type {HTMLElement} */ field) => element("label", "setting", {}, `${name} `, field);
    const settings = [
      setting(tr("Order by"), this.order),
      setting(tr("Heads shown"), this.only),
      setting(tr("Faint weights"), this.gamma),
    ];
    const overviewZoom = zoomButtons("overview", (step) => this.overview.zoomBy(step));
    this.bar = element("canvas", "bar", { role: "img" });
    this.barNote = element("span", "note");

    this.heading = element("h3", "name");
    this.joiner = element("span");
    this.label = element("p", "label-earned");
    this.legend = element("ul", "legend", { hidden: "", "aria-label": tr("Heads in the picture") });
    this.hint = element("p", "hint", { hidden: "" });
    this.caption = element("p", "caption");
    this.words = element("dl", "words");
    this.numbers = element("p");
    this.off = toggle(tr("Switch off"), tr("Translate without this head, or without all compared heads (X)"), () => this._switchShown());
    this.corpus = element("button", "way", { type: "button" });
    this.corpus.textContent = tr("On other sentences");
    this.corpus.addEventListener("click", () => this.trigger("corpus", true));
    this.inModel = element("button", "way", { type: "button" });
    this.inModel.textContent = tr("In the model");
    this.inModel.addEventListener("click", () => this.trigger("model", this._placeInModel()));
    this.more = element("div", "numbers", { hidden: "" }, this.numbers);
    this.opener = element("button", "way", { type: "button", "aria-expanded": "false" });
    this.opener.textContent = tr("In numbers");
    this.opener.addEventListener("click", () => this._open(Boolean(this.more.hidden)));
    for (const way of [this.off, this.corpus, this.inModel, this.opener]) way.className = "way";
    this.told = element("div", "told", {}, this.heading, this.joiner, this.label);
    this.ways = element("div", "ways", {}, this.opener, this.corpus, this.inModel, this.off);
    this.about = element("section", "about-head", { "aria-label": tr("What this head does") }, this.told, this.ways, this.more);
    this.inside = element("button", "inside", { type: "button", hidden: "" });
    this.inside.addEventListener("click", () => this.scrollHost()?.scrollIntoView({ behavior: "smooth" }));
    this.letGo = element("p", "let-go", { hidden: "" }, this.inside, " ", letGoHint());
    // In one place, so that a cell that is clicked stays where it is.
    this.foot = element("div", "foot", {}, this.caption, this.letGo);
    this.largeZoom = zoomButtons("picture", (step) => this.matrix.zoomBy(step));
    this.drawing = element("div", "drawing", {}, this.matrix.root, this.lines.root);
    this.tooltip = new Tooltip(this.root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });

    const left = element(
      "section",
      "left",
      { "aria-label": tr("All heads") },
      element("div", "overview-room", {}, this.overview.root),
      element("div", "scale", {}, this.bar, this.barNote, this.all),
      this.about,
    );
    const right = element(
      "section",
      "right",
      { "aria-label": tr("One head") },
      this.hint,
      this.legend,
      this.drawing,
      this.largeZoom,
      this.foot,
    );
    const readings = this.canRun ? this.readings.values() : [];
    const toggles = element("div", "toggles", {}, this.compare, ...readings);
    this.options = element("div", "options", { role: "group", "aria-label": tr("Options"), hidden: "" }, this.views.root, toggles, ...settings, overviewZoom);
    this.unfold = element("button", "unfold", { type: "button", title: tr("How the heads are read and drawn"), "aria-expanded": "false" });
    this.unfold.textContent = tr("Options");
    this.unfold.addEventListener("click", () => this._unfold(Boolean(this.options.hidden)));
    const toolbar = element("div", "toolbar", {}, this.attentions.root, element("div", "unfolds", {}, this.unfold, this.options));
    this.root.replaceChildren(toolbar, element("div", "panes", {}, left, right), this.tooltip.element, this.spoken);
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    // Content above may appear or grow later; that moves the picture without resizing it.
    const page = this._host?.closest('[data-testid="stMainBlockContainer"]');
    if (page) this.resized.observe(page);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._stageKey(event);
    this.onAsk = () => this._tellFoot();
    this.onAllOn = () => this._change({ off: [] });
    this.onDown = (/** @type {Event} */ event) => {
      if (!event.composedPath().includes(/** @type {EventTarget} */ (this.options.parentNode))) this._unfold(false);
    };
    document.addEventListener("pointerdown", this.onDown, true);
    root.addEventListener("keydown", (event) => this._headKey(event));
    // In the capture phase, ahead of a focused canvas, which uses the arrow keys too.
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener(ASK_EVENT, this.onAsk);
    document.addEventListener(ALL_ON_EVENT, this.onAllOn);
    this.unheed = heed("pointed", (/** @type {WordRange[] | null} */ words) => this._light(words));
    this.unescape = escapable(() => this._letGo());
  }

  /** The component's element on the page; undefined outside the app. */
  get _host() {
    return /** @type {Partial<ShadowRoot>} */ (this.root.getRootNode()).host;
  }

  dispose() {
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener("pointerdown", this.onDown, true);
    document.removeEventListener(ASK_EVENT, this.onAsk);
    document.removeEventListener(ALL_ON_EVENT, this.onAllOn);
    this.unheed();
    this.unescape();
    clearTimeout(this.waiting);
  }

  // ---- changing -------------------------------------------------------------------------------------------------

  /** Takes Python's message; redraws only what differs. @type {(bytes: Bytes, report: Reporter, trigger?: Trigger) => void} */
  update(bytes, report, trigger) {
    this.report = report;
    if (trigger) this.trigger = trigger;
    const id = payloadId(bytes);
    if (this.payload?.id !== id) {
      const payload = new TracePayload(bytes);
      const asked = payload.epoch !== this.payload?.epoch;
      // Entering or leaving the stage moves the picture without changing it.
      const cell = payload.stage === this.payload?.stage ? null : this.state.cell;
      this.payload = payload;
      this.root.classList.toggle("on-stage", payload.stage);
      this.state = legal(asked ? unspelled(payload.selection) : { ...this.state, cell }, payload);
      if (asked) this.reported = JSON.stringify({ ...spelled(unspelled(payload.selection)), width: "wide" });
      this.draw();
      this.root.dataset.payload = id;
      // In a trace with fewer layers or heads, the selection may be another.
      this._tell();
    } else this._retheme();
  }

  /** @type {(changes: Partial<Chosen>) => void} */
  _change(changes) {
    const before = this.state;
    this.state = legal({ ...before, ...changes }, this.payload);
    const overview = /** @type {const} */ (["attention", "order", "gamma", "only", "off"]).some(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(this.state[name]),
    );
    this.draw(overview);
    this._tell();
  }

  /** Selects a head, and a cell or null, from code; keeps the reader's other settings.
   * @type {(head: Pick<Chosen, "attention" | "layer" | "head" | "cell">) => void} */
  select({ attention, layer, head, cell }) {
    this._change({ attention, layer, head, cell, compare: [], only: null });
  }

  /** @type {(attention: string) => void} */
  _changeAttention(attention) {
    this._change(withAttention(this.state, attention, this.payload));
  }

  /** Whether clicking a head adds it to the picture. */
  adding() {
    return this.state.compare.length > 0;
  }

  /** @type {(layer: number, head: number, adds: boolean) => void} */
  _select(layer, head, adds) {
    const changes = adds ? withCompared(this.state, layer, head) : { layer, head, compare: [] };
    if (!changes) {
      const refusal = tr("Up to {most} heads can be compared.", { most: constants.MOST_COMPARED });
      const { left, bottom } = this.legend.getBoundingClientRect();
      this.tooltip.show({ clientX: left, clientY: bottom }, said("strong", refusal));
      this._say(refusal);
      return;
    }
    this._change(changes);
    this._say(summaryOf(this.payload, this.state.attention, this.state.layer, this.state.head));
  }

  /** Selects a cell, or lets it go if it is the selected one. @type {(cell: Cell) => void} */
  _pick(cell) {
    const same = this.state.cell?.join() === cell.join();
    this._change({ cell: same ? null : cell });
    if (same) this._say(tr("Cell deselected."));
  }

  /** Lets go of one thing that is selected in addition to a head; whether there was any. */
  _letGo() {
    const { view, cell, only } = this.state;
    if (!this.root.clientWidth || !this.payload) return false;
    if (!this.options.hidden) {
      this._unfold(false);
      this.unfold.focus();
    } else if (view === "lines" && this.lines.letGo()) this._say(tr("All lines are shown."));
    // What is presented stays as it is: there Escape leaves the stage.
    else if (this.payload.stage) return false;
    else if (view !== "lines" && cell) this._pick(cell);
    else if (this.adding()) {
      this._change({ compare: [] });
      this._say(tr("Comparison ended."));
    } else if (only) {
      this._change({ only: null });
      this._say(tr("All heads are shown."));
    } else return false;
    return true;
  }

  /** Whether there is a model to run without a head. */
  _canSwitchOff() {
    return this.canRun && this.payload.canSwitchOff;
  }

  /** Whether the page can show how a weight is computed. */
  _opensCells() {
    return this.canAskPython && this.payload.opensCells;
  }

  /** Whether what the picture shows is switched off. */
  _isOff() {
    const { attention, off } = this.state;
    const shown = shownHeads(this.state).flatMap(([layer, head]) => headsAt(this.payload, attention, layer, head));
    return shown.every((each) => off.includes(each));
  }

  /** Switches the head, or the heads, in the picture off, or on again where all of them are off. */
  _switchShown() {
    const { attention, off } = this.state;
    const heads = shownHeads(this.state).flatMap(([layer, head]) => headsAt(this.payload, attention, layer, head));
    this._change({ off: withSwitched(off, heads) });
    const name = titleOf(this.payload.kind(attention), this.state);
    this._say(this._isOff() ? tr("{name}: switched off.", { name }) : tr("{name}: switched on again.", { name }));
  }

  /** Keys that act on the selected head, wherever in the explorer the focus is. @type {(event: KeyboardEvent) => void} */
  _headKey(event) {
    if (!this._canSwitchOff() || plainKey(event) !== "x" || typing(event)) return;
    this._switchShown();
    event.preventDefault();
  }

  /** On a stage, arrow keys select a head without a click into the explorer first.
   * @type {(event: KeyboardEvent) => void} */
  _stageKey(event) {
    const key = plainKey(event);
    if (!this.payload?.stage || !key || event.shiftKey || typing(event)) return;
    const { layer, head, attention, view } = this.state;
    /** @type {Record<string, [down: number, right: number]>} */
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (key in steps) {
      const [down, right] = steps[key];
      const kind = this.payload.kind(attention);
      const [toLayer, toHead] = [layer + down, head + right];
      const isThere = toLayer >= 0 && toHead >= 0 && toLayer < kind.layers.length && toHead < kind.heads;
      if (isThere) this._select(toLayer, toHead, false);
    } else if (key === "v") this._change({ view: view === "lines" ? "heatmap" : "lines" });
    else if (key === "a") {
      const { attentions } = this.payload;
      const next = attentions[(attentions.indexOf(attention) + 1) % attentions.length];
      this._changeAttention(next);
    } else if (key === "x" && this._canSwitchOff()) this._switchShown();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Tells the foot of the stage which heads are shown, and marks them on its map. */
  _tellFoot() {
    if (!this.payload?.stage) return;
    const { attention, layer, head, compare } = this.state;
    const kind = this.payload.kind(attention);
    const label = compare.length > 1 ? null : this.payload.facts(attention, layer, head)?.label;
    const at = shownHeads(this.state);
    const text = [titleOf(kind, this.state), label].filter(Boolean).join(" – ");
    const detail = { text, map: { layers: kind.layers.length, heads: kind.heads, at } };
    document.dispatchEvent(new CustomEvent(SHOWN_EVENT, { detail }));
  }

  /** Lets the translation above the page know which heads are off, before Python does. */
  _tellOff() {
    const off = this.state.off.join("-");
    if (this.canAskPython && off !== this.toldOff) tell("off", (this.toldOff = off));
  }

  /** @type {(adding: boolean) => void} */
  _setAdding(adding) {
    const { layer, head } = this.state;
    this._change({ compare: adding ? [[layer, head]] : [] });
    this._say(adding ? compareHint() : "");
    // The next thing is to choose a head.
    this._unfold(false);
    this.overview.canvas.focus();
  }

  _selection() {
    const room = this.root.clientWidth;
    const width = room < constants.NARROW ? "narrow" : room < constants.SIDE_BY_SIDE ? "middle" : "wide";
    return { ...spelled(this.state), width };
  }

  /** Reports the selection to Python after a pause: several quick steps make one report. */
  _tell() {
    const selection = this._selection();
    if (JSON.stringify(selection) === this.reported) return;
    const now = performance.now();
    const tell = () => {
      this.reported = JSON.stringify(this._selection());
      this.lastTold = performance.now();
      this.report({ ...this._selection(), epoch: this.payload.epoch });
    };
    clearTimeout(this.waiting);
    const pause = Math.max(0, this.lastTold + REPORT_PAUSE - now);
    // After the paint: the message must not delay the picture.
    this.waiting = setTimeout(tell, pause);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------

  large() {
    return this.state.view === "lines" ? this.lines : this.matrix;
  }

  _palette() {
    return new Palette(pageTheme(this.root, this.payload.themes), this.state.gamma);
  }

  _retheme() {
    if (this.palette && pageGround(this.root) !== this.palette.theme.ground) this.draw();
  }

  _resize() {
    // A hidden or detached root has no width.
    if (!this.payload || !this.root.clientWidth) return;
    // Scrolling moves the root by fractions of a pixel; rounding keeps that from counting as a new place.
    const isMoved = Math.abs(this._roomBelow() - this.room) > 2;
    if (isMoved || this._size() !== this.size) this.draw();
  }

  /** What the layout depends on besides the content and the space for it. */
  _size() {
    const rem = getComputedStyle(document.documentElement).fontSize;
    return [this.root.clientWidth, this._screen(), window.devicePixelRatio, rem].join();
  }

  /** The height of the visible part of the page. */
  _screen() {
    return this.height ?? window.innerHeight;
  }

  draw(overview = true) {
    const { payload, state } = this;
    const kind = payload.kind(state.attention);
    if (!this.palette || overview) this.palette = this._palette();
    this.views.show([["heatmap", tr("Heatmap")], ["lines", tr("Lines")]], state.view);
    this._drawReadings();
    if (payload.stage) this._tellFoot();
    else if (overview) {
      this._drawControls(kind);
      this.overview.show(payload, state, this.palette, this._screen());
      this._drawBar();
    } else {
      this.overview.state = state;
      this.overview.reveal();
    }
    this._drawLarge(kind);
    this._tellOff();
    this.size = this._size();
    this.room = this._roomBelow();
    const { attention, layer, head, view } = state;
    this.root.dataset.painted = JSON.stringify({ id: payload.id, attention, layer, head, view });
  }

  /** @type {(kind: Kind) => void} */
  _drawControls(kind) {
    const { payload, state } = this;
    /** @type {Parameters<Choices["show"]>[0]} */
    const options = payload.attentions.map((name) => [name, payload.kind(name).short]);
    if (lacksJoint(payload)) {
      options.push([constants.JOINT, tr("All three"), tr("Available when rows of cross-attention are named by the token just read")]);
    }
    this.attentions.root.title = payload.surveyed ? tr("Each kind opens with its most informative head") : "";
    this.attentions.show(options, state.attention);
    const orders = [
      ["", tr("layer and head")],
      ...measuresOf(payload, kind).map(({ key, name }) => [key, lowered(name)]),
    ];
    this.order.replaceChildren(...choices(orders));
    this.order.value = state.order;
    this.order.title = state.order && tr("Largest first");
    this.gamma.value = String(constants.GAMMAS.indexOf(state.gamma));
    this._offerOnly(kind);
    this.all.hidden = state.only === null;
    this.overview.canvas.setAttribute(
      "aria-label",
      tr("{name}: {layers} of {heads}. Arrow keys choose a head, Enter goes to its picture, c adds it to a comparison, {off}plus and minus zoom.", {
        ...{ name: kind.name, layers: countOf(kind.layers.length, "layer"), heads: countOf(kind.heads, "head") },
        off: this._canSwitchOff() ? tr("x switches it off, ") : "",
      }),
    );
  }

  /** Offers every layer, and every head of all layers, to be shown alone. @type {(kind: Kind) => void} */
  _offerOnly(kind) {
    const layers = kind.layers.map((layer, place) => [`layer.${place}`, tr("Layer {layer}", { layer })]);
    const heads = Array.from({ length: kind.heads }, (_, head) => [`head.${head}`, tr("Head {head}", { head })]);
    this.only.replaceChildren(...choices([["", tr("all of them")], ...layers, ...heads]));
    const { only } = this.state;
    this.only.value = only === null ? "" : Object.entries(only)[0].join(".");
  }

  /** What an option of the field shows alone. @type {(value: string) => Only | null} */
  _onlyOf(value) {
    const [what, which] = value.split(".");
    return value ? { [what]: Number(which) } : null;
  }

  /** Shows or hides what is seldom changed. @type {(unfolded: boolean) => void} */
  _unfold(unfolded) {
    this.options.hidden = !unfolded;
    this.unfold.setAttribute("aria-expanded", String(unfolded));
  }

  /** Shows or hides the numbers of the head. @type {(opened: boolean) => void} */
  _open(opened) {
    this.more.hidden = !opened;
    this.opener.setAttribute("aria-expanded", String(opened));
  }

  /** @type {(name: string) => HTMLButtonElement} */
  _reading(name) {
    return /** @type {HTMLButtonElement} */ (this.readings.get(name));
  }

  _drawReadings() {
    const { reading, attention } = this.state;
    this.unfold.classList.toggle("changed", isChanged(this.state));
    this.compare.setAttribute("aria-pressed", String(this.adding()));
    this.gamma.disabled = this.state.view === "lines";
    for (const [name, button] of this.readings) button.setAttribute("aria-pressed", String(Boolean(reading[name])));
    this._reading("renormalise").hidden = reading.specials !== false;
    // Rows without predictions cannot be named by them.
    this._reading("predicted").hidden = attention !== "cross" || this.payload.kind("cross").beside === null;
    this.off.hidden = !this._canSwitchOff();
    this.corpus.hidden = !this.canAskPython || !this.payload.inCorpus;
    this.inModel.hidden = !this.canRun || attention === constants.JOINT;
    const isOff = this._isOff();
    this.off.setAttribute("aria-pressed", String(isOff));
    this.off.textContent = isOff ? tr("Switched off") : tr("Switch off");
    this.drawing.classList.toggle("is-off", isOff);
  }

  /** Where the selected head lies in the picture of the model, or its selected cell (model_view/places.js). */
  _placeInModel() {
    const { attention, layer, head, cell, reading } = this.state;
    // A reading gives rows and columns other numbers.
    const isRead = reading.words || reading.predicted || reading.specials === false;
    return [attention, this.payload.kind(attention).layers[layer], head, ...(isRead ? [] : (cell ?? []))].join(".");
  }

  _drawBar() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const { theme, lookup, gamma } = this.palette;
    const [width, thick, height] = [12 * rem, 0.7 * rem, 2 * rem];
    const { context, density } = fitted(this.bar, width, height);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const [left, right] = [0.4 * rem, width - 1.2 * rem];
    for (let x = 0; x < right - left; x++) {
      const color = lookup[Math.round((255 * x) / (right - left))];
      context.fillStyle = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
      context.fillRect(left + x, 0, 1.5, thick);
    }
    context.strokeStyle = theme.grid;
    context.strokeRect(left, 0.5, right - left, thick - 1);
    context.fillStyle = theme.muted;
    context.font = `${0.8 * rem}px ${getComputedStyle(this.root).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    let last = -Infinity;
    for (const weight of [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]) {
      const place = left + weight ** gamma * (right - left);
      if (place - last < 1.9 * rem || (weight < 1 && right - place < 1.6 * rem)) continue;
      last = place;
      context.fillText(signed(weight), place, thick + 3);
    }
    this.bar.setAttribute("aria-label", tr("Colour bar: the weight, 0 to 1, the same for every head"));
    const note = (/** @type {string} */ mark, /** @type {string} */ text) => element("span", "note", {}, element("span", mark, { "aria-hidden": "true" }), text);
    this.barNote.replaceChildren(tr("weight, same scale for every head"));
    if (this._hasForbidden()) this.barNote.append(note("hatched", tr("not allowed")));
    if (this._hasLabels()) this.barNote.append(note("dot", tr("has a label")));
  }

  _hasForbidden() {
    const { allowed } = this.payload.cells(this.state.attention, this.state.layer, this.state.head);
    return allowed !== null && allowed.includes(0);
  }

  _hasLabels() {
    return this.payload.kind(this.state.attention).facts.some((layer) => layer.some(({ label }) => label));
  }

  /** @type {() => DrawnHead[]} */
  _drawn() {
    const { attention, layer, head, compare } = this.state;
    const { heads } = this.palette.theme;
    if (compare.length < 2) return [{ layer, head, color: null, cells: this.payload.cells(attention, layer, head) }];
    return compare.map(([one, other], index) => ({
      layer: one,
      head: other,
      color: heads[index % heads.length],
      cells: this.payload.cells(attention, one, other),
    }));
  }

  /** @type {(kind: Kind) => void} */
  _drawLarge(kind) {
    const { payload, state } = this;
    const drawn = this._drawn();
    const lines = state.view === "lines";
    const several = drawn.length > 1;
    const facts = payload.facts(state.attention, state.layer, state.head);
    this.heading.textContent = titleOf(kind, this.state);
    this.label.hidden = this.joiner.hidden = several || !facts || state.attention === constants.JOINT;
    const { label = "", share = "", sentence = "" } = facts ?? {};
    this.joiner.textContent = label ? " " : labelled("", "");
    this.label.replaceChildren(
      ...(label ? [element("strong", "", {}, label), share && tr(", in {share}", { share })] : [sentence]),
    );
    this.label.title = (label ? facts?.reason : facts?.numbers) ?? "";
    this._drawLegend(kind, drawn);
    this._drawWords(kind, drawn);
    this.matrix.root.hidden = lines;
    this.lines.root.hidden = !lines;
    this.largeZoom.hidden = lines;
    this._drawInside(kind, drawn);
    this._writeCaption(kind, drawn);
    // Ahead of the picture, which takes the room that the hint leaves.
    this._drawHint();
    const height = this._roomBelow();
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const rows = payload.axis(kind.queries).length;
    // Many rows may continue below the first screen, which keeps them legible.
    const most = payload.stage ? height : Math.min(0.9 * this._screen(), 0.75 * rem * rows);
    this.matrix.fills = this.lines.fills = payload.stage;
    if (lines) this.lines.show(payload, kind, drawn, this.palette, height);
    else this.matrix.show(payload, kind, drawn, this.palette, state.cell, Math.max(height, most));
    // Only a drawn picture knows whether it names every token.
    this._writeCaption(kind, drawn, !lines && !this.matrix.isComplete());
    const alt = altOf(payload, kind, drawn);
    const enter = this._opensCells() ? tr("Arrow keys move among cells, Enter looks into one.") : tr("Arrow keys move among cells, Enter marks one.");
    this.matrix.canvas.setAttribute("aria-label", `${alt} ${enter}`);
    this.lines.canvas.setAttribute("aria-label", `${alt} ${tr("Arrow keys move among tokens, Escape shows all lines again.")}`);
  }

  /** @type {(kind: Kind, drawn: DrawnHead[], isCut?: boolean) => void} */
  _writeCaption(kind, drawn, isCut = false) {
    const read = { lines: this.state.view === "lines", several: drawn.length > 1, isCut, canAskPython: this._opensCells() };
    this.caption.textContent = captionOf(this.payload, kind, read);
  }

  /** How to let go of what is selected, in the place of the caption, and how to go on comparing. */
  _drawHint() {
    const { view, cell } = this.state;
    const isPicked = Boolean(view === "lines" ? this.lines.pinned : cell);
    this.letGo.hidden = !isPicked;
    this.caption.classList.toggle("aside", isPicked);
    const isFull = this._drawn().length >= constants.MOST_COMPARED;
    this.hint.hidden = !this.adding();
    this.hint.textContent = [...(isFull ? [] : [compareHint()]), tr("Escape ends the comparison.")].join(" ");
  }

  /** Describes the selected head on this sentence, with the numbers behind it; compared heads in one line each.
   * @type {(kind: Kind, drawn: DrawnHead[]) => void} */
  _drawWords(kind, drawn) {
    const { payload, state } = this;
    /** @type {HTMLElement[]} */
    const rows = [];
    /** @type {string[]} */
    const numbers = [];
    const add = (/** @type {string} */ term, /** @type {(Node | string)[]} */ ...said) => rows.push(element("dt", "", {}, term), element("dd", "", {}, ...said));
    const short = (/** @type {string} */ name, /** @type {HeadFacts} */ facts) => {
      add(name, facts.label ? element("strong", "", {}, facts.label) : facts.sentence);
      numbers.push(labelled(name, tr("{text}.", { text: facts.numbers })));
    };
    const facts = payload.facts(state.attention, state.layer, state.head);
    if (drawn.length > 1) {
      for (const { name, facts, label, said } of comparedOf(payload, state.attention, drawn)) {
        if (label) add(name, element("strong", "", {}, label), said && `: ${said}`);
        else if (said) add(name, said);
        numbers.push(labelled(name, tr("{text}.", { text: facts.numbers })));
      }
    } else if (facts?.parts) for (const [name, part] of facts.parts) short(name, part);
    else if (facts) {
      // The line above has the label, or else what the head does here.
      if (facts.label) add(tr("On this sentence"), facts.sentence);
      else if (payload.surveyed) add(tr("On average"), facts.tendency ?? tr("earns no label"));
      const pairs = (facts.pairs ?? []).map((pair) => pairOf(payload, kind, pair));
      add(tr("Strongest"), pairs.join("; ") || tr("no pair stands out"));
      add(tr("Ignores"), ignoredOf(payload, kind, facts.ignored ?? []));
      const weights = (facts.pairs ?? []).map((pair) => `${pairOf(payload, kind, pair)} ${this._weight(...pair)}`);
      numbers.push(`${facts.numbers}.`, facts.reason, ...(weights.length ? [tr("Weights: {weights}.", { weights: weights.join("; ") })] : []));
      numbers.push(tr("A token is ignored if it gets less than a fifth of an even share of the weight."));
    }
    this.words.replaceChildren(...rows);
    if (drawn.length > 1 || facts?.parts) this.told.after(this.words);
    else this.more.prepend(this.words);
    this.told.classList.toggle("alone", !this.label.hidden);
    this.numbers.textContent = numbers.filter(Boolean).join(" ");
    this.told.title = this.words.title = this.numbers.textContent;
    this.opener.hidden = !numbers.length;
  }

  /** @type {(query: number, key: number) => string} */
  _weight(query, key) {
    const { attention, layer, head } = this.state;
    const cells = this.payload.cells(attention, layer, head);
    return written(cells.weights[query * cells.nKeys + key], cells.exact);
  }

  /** The link from a clicked cell to the section below that takes it apart.
   * @type {(kind: Kind, drawn: DrawnHead[]) => void} */
  _drawInside(kind, drawn) {
    const { cell } = this.state;
    this.inside.hidden = !cell || !this._opensCells() || drawn.length > 1 || this.state.view === "lines" || !this.scrollHost();
    if (this.inside.hidden || !cell) return;
    const [query, key] = cell;
    const { cells } = drawn[0];
    const weight = written(cells.weights[query * cells.nKeys + key], cells.exact);
    const [from, to] = [this.payload.axis(kind.queries)[query], this.payload.axis(kind.keys)[key]];
    this.inside.textContent = `See below how the weight ${weight} from ${from} to ${to} is computed.`;
  }

  /** The section below the picture, if the page has one. */
  scrollHost() {
    return document.querySelector(".st-key-heads-below");
  }

  /** The picture's height: beside the overview it ends on the first screen. */
  _roomBelow() {
    const picture = this.payload.stage ? pictureOf(this.root) : null;
    if (picture) return roomWithin(picture, this.drawing);
    const scroller = this._host?.closest('[data-testid="stMain"]');
    const above = this.height ? this.root.getBoundingClientRect().top : -(scroller?.scrollTop ?? window.scrollY);
    const top = this.drawing.getBoundingClientRect().top - above;
    const room = this._screen() - top;
    if (room < HEIGHT_LEAST) return 0.65 * this._screen();
    return Math.max(HEIGHT_LEAST, room - this.foot.offsetHeight - ROOM_AROUND_CAPTION);
  }

  /** @type {(kind: Kind, drawn: DrawnHead[]) => void} */
  _drawLegend(kind, drawn) {
    this.legend.hidden = drawn.length < 2;
    this.legend.replaceChildren();
    if (drawn.length < 2) return;
    for (const { layer, head, color } of drawn) {
      const name = headName(kind, layer, head);
      const swatch = element("span", "swatch", { "aria-hidden": "true" });
      swatch.style.background = color ?? "";
      const button = element("button", "", { type: "button", "aria-label": tr("Remove {name} from the picture", { name }) });
      button.textContent = "×";
      button.addEventListener("click", () => this._select(layer, head, true));
      this.legend.append(element("li", "", {}, swatch, name, button));
    }
  }

  // ---- tooltips ---------------------------------------------------------------------------------------------------

  /** @type {(text: string) => void} */
  _say(text) {
    this.spoken.textContent = text;
  }

  /** @type {(tile: import("./overview.js").Tile | undefined, place?: Spot, spoken?: boolean) => void} */
  _tileTip(tile, place, spoken) {
    if (!tile) {
      this.tooltip.show(null);
      return;
    }
    const kind = this.payload.kind(this.state.attention);
    const facts = this.payload.facts(this.state.attention, tile.layer, tile.head);
    const lines = [said("strong", headName(kind, tile.layer, tile.head))];
    if (facts?.label) lines.push(said("strong", facts.label));
    if (facts?.sentence) lines.push(said("", facts.sentence), said("beside", facts.numbers));
    for (const [name, part] of facts?.parts ?? []) lines.push(said("", labelled(name, part.label ?? part.sentence)));
    this.tooltip.show(place ?? null, ...lines);
    if (spoken) this._say(summaryOf(this.payload, this.state.attention, tile.layer, tile.head));
  }

  /** Lets every picture of the page light the words that are pointed at here; null for none.
   * @type {(at: Partial<Record<Axis, number>> | null) => void} */
  _pointAt(at) {
    const words = /** @type {[Axis, number][]} */ (Object.entries(at ?? {})).flatMap(([axis, place]) => this.payload.words(this.state.attention, axis)[place] ?? []);
    this.pointing = at;
    tell("pointed", words.length ? words : null);
    this.pointing = null;
  }

  /** Lights words, `{side, first, end}` each, that are pointed at on this page; null for none.
   * @type {(words: WordRange[] | null) => void} */
  _light(words) {
    if (!this.payload) return;
    const { attention } = this.state;
    // Of a cell that is pointed at here, the row and the column are known, and not only their words.
    const { queries, keys } = this.pointing ?? {};
    const isCell = queries !== undefined && keys !== undefined;
    const places = (/** @type {Axis} */ axis) => {
      if (isCell) return [axis === "queries" ? queries : keys];
      const there = this.payload.words(attention, axis);
      return there.flatMap((word, place) => (word && words && meets(word, words) ? [place] : []));
    };
    const lit = { queries: places("queries"), keys: places("keys") };
    if (!this.payload.stage) this.overview.light(lit);
    this.matrix.light(isCell ? { queries: [], keys: [] } : lit);
    this.lines.light(lit);
  }

  /** @type {(cell: Cell | null, place?: Spot, spoken?: boolean) => void} */
  _cellTip(cell, place, spoken) {
    this._pointAt(cell && { queries: cell[0], keys: cell[1] });
    if (!cell) {
      this.tooltip.show(null);
      return;
    }
    const kind = this.payload.kind(this.state.attention);
    const lines = [said("strong", cellName(this.payload, kind, cell))];
    const drawn = this._drawn();
    for (const { layer, head: number, cells, color } of drawn) {
      const value = cellValue(cells, cell);
      const line = said("", drawn.length > 1 ? labelled(headName(kind, layer, number), value) : value);
      if (color) {
        const swatch = element("span", "swatch");
        swatch.style.background = color;
        line.prepend(swatch);
      }
      lines.push(line);
    }
    const beside = this.payload.axis(kind.beside)?.[cell[0]];
    if (beside) lines.push(said("beside", labelled(lowered(kind.besideTitle ?? ""), beside)));
    this.tooltip.show(place ?? null, ...lines);
    if (spoken) this._say(lines.map((line) => line.textContent).join(", "));
  }

  /** @type {(token: SideToken | null) => void} */
  _tokenTip(token) {
    this._pointAt(token && { [token.side === "query" ? "queries" : "keys"]: token.index });
    if (!token) return;
    const kind = this.payload.kind(this.state.attention);
    this._say(tokenOf(this.payload, kind, this._drawn()[0].cells, token));
  }
}
