// The heads of one trace: an overview, and one head as a matrix or as lines. All weights are here, so selecting a head
// never waits for the server; Python hears the selection afterwards and updates the rest of the page.

import constants from "../../draw/constants.json" with { type: "json" };
import { said, zoomButtons } from "../canvas/controls.js";
import { element } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { payloadId } from "../canvas/envelope.js";
import { plainKey, typing } from "../canvas/keys.js";
import { Matrix } from "../canvas/matrix.js";
import { ASK_EVENT, pageGround, pageTheme, pictureOf, roomWithin } from "../canvas/page.js";
import { Palette } from "../canvas/paint.js";
import { ALL_ON_EVENT, heed, meets, tell } from "../canvas/shared.js";
import { labelled, lowered, tr } from "../canvas/wording.js";
import { HeadsPanel, compareHint } from "../model_view/panel/panel.js";
import { Telling } from "../model_view/panel/telling.js";
import { Lines } from "./lines.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { chosenOf, legalChosen } from "../model_view/panel/chosen.js";
import { altOf, captionOf, cellName, cellValue, headName, tokenOf } from "../model_view/head_words.js";
import { written } from "../model_view/written.js";

const letGoHint = () => tr("Escape, or a second click, deselects it.");
const HEIGHT_LEAST = 260;
// One head has half the screen.
const LARGEST_CELL = { width: 112, height: 96 };
const ROOM_AROUND_CAPTION = 24;

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
  size = "";
  room = 0;
  /** @type {Partial<Record<Axis, number>> | null} */
  pointing = null;
  /** @type {Reporter} */
  report;
  /** @type {Trigger} */
  trigger = () => {};
  telling = new Telling(this);

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
    this.height = height;
    this.panel = new HeadsPanel(
      root,
      {
        change: (changes) => this._change(changes),
        activate: () => this.large().canvas.focus(),
        refuse: (text) => this._refuse(text),
        say: (text) => this._say(text),
        trigger: (event, value) => this.trigger(event, value),
      },
      { python: canAskPython, runs: canRun },
    );
    this.matrix = new Matrix({
      point: (cell, place, spoken) => this._cellTip(cell, place, spoken),
      pick: (query, key) => this._pick([query, key]),
      beside: () => this.state.cell && this._pick(this.state.cell),
      label: (axis, place) => this._pointAt(axis && { [axis]: place }),
    });
    this.matrix.most = LARGEST_CELL;
    this.lines = new Lines({ point: (token) => this._tokenTip(token), pin: () => this._drawHint() });

    this.legend = element("ul", "legend", { hidden: "", "aria-label": tr("Heads in the picture") });
    this.hint = element("p", "hint", { hidden: "" });
    this.caption = element("p", "caption");
    this.inside = element("button", "inside", { type: "button", hidden: "" });
    this.inside.addEventListener("click", () => this.scrollHost()?.scrollIntoView({ behavior: "smooth" }));
    this.letGo = element("p", "let-go", { hidden: "" }, this.inside, " ", letGoHint());
    // In one place, so that a cell that is clicked stays where it is.
    this.foot = element("div", "foot", {}, this.caption, this.letGo);
    this.largeZoom = zoomButtons("picture", (step) => this.matrix.zoomBy(step));
    this.drawing = element("div", "drawing", {}, this.matrix.root, this.lines.root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });

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
    const { panel } = this;
    this.root.replaceChildren(panel.tools.root, element("div", "panes", {}, panel.root, right), panel.tooltip.element, this.spoken);
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    // Content above may appear or grow later; that moves the picture without resizing it.
    const page = this._host?.closest('[data-testid="stMainBlockContainer"]');
    if (page) this.resized.observe(page);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._stageKey(event);
    this.onAsk = () => {
      if (this.payload?.stage) this.telling.foot();
    };
    this.onAllOn = () => this._change({ off: [] });
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

  /** Of the payload that is shown. */
  get epoch() {
    return this.payload.epoch;
  }

  dispose() {
    this.resized.disconnect();
    this.panel.dispose();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(ASK_EVENT, this.onAsk);
    document.removeEventListener(ALL_ON_EVENT, this.onAllOn);
    this.unheed();
    this.unescape();
    this.telling.dispose();
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
      this.state = legalChosen(asked ? chosenOf(payload.selection) : { ...this.state, cell }, payload);
      if (asked) this.telling.knows(chosenOf(payload.selection));
      this.draw();
      this.root.dataset.payload = id;
      // In a trace with fewer layers or heads, the selection may be another.
      this.telling.report();
    } else this._retheme();
  }

  /** @type {(changes: Partial<Chosen>) => void} */
  _change(changes) {
    const before = this.state;
    this.state = legalChosen({ ...before, ...changes }, this.payload);
    const overview = /** @type {const} */ (["attention", "order", "gamma", "only", "off"]).some(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(this.state[name]),
    );
    this.draw(overview);
    this.telling.report();
  }

  /** Selects a head, and a cell or null, from code; keeps the reader's other settings.
   * @type {(head: Pick<Chosen, "attention" | "layer" | "head" | "cell">) => void} */
  select({ attention, layer, head, cell }) {
    this._change({ attention, layer, head, cell, compare: [], only: null });
  }

  /** @param {string} refusal */
  _refuse(refusal) {
    const { left, bottom } = this.legend.getBoundingClientRect();
    this.panel.tooltip.show({ clientX: left, clientY: bottom }, said("strong", refusal));
    this._say(refusal);
  }

  /** Selects a cell, or lets it go if it is the selected one. @type {(cell: Cell) => void} */
  _pick(cell) {
    const same = this.state.cell?.join() === cell.join();
    this._change({ cell: same ? null : cell });
    if (same) this._say(tr("Cell deselected."));
  }

  /** Lets go of one thing that is selected in addition to a head; whether there was any. */
  _letGo() {
    const { view, cell } = this.state;
    if (!this.root.clientWidth || !this.payload) return false;
    if (this.panel.tools.letGo()) return true;
    if (view === "lines" && this.lines.letGo()) {
      this._say(tr("All lines are shown."));
      return true;
    }
    // What is presented stays as it is: there Escape leaves the stage.
    if (this.payload.stage) return false;
    if (view === "lines" || !cell) return this.panel.letGo();
    this._pick(cell);
    return true;
  }

  /** Whether the page can show how a weight is computed. */
  _opensCells() {
    return this.canAskPython && this.payload.opensCells;
  }

  /** On a stage, arrow keys select a head without a click into the explorer first.
   * @type {(event: KeyboardEvent) => void} */
  _stageKey(event) {
    const key = plainKey(event);
    if (!this.payload?.stage || !key || event.shiftKey || typing(event)) return;
    const { attention, view } = this.state;
    const { panel } = this;
    /** @type {Record<string, [down: number, right: number]>} */
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (key in steps) panel.step(...steps[key]);
    else if (key === "v") this._change({ view: view === "lines" ? "heatmap" : "lines" });
    else if (key === "a") {
      const { attentions } = this.payload;
      panel.changeAttention(attentions[(attentions.indexOf(attention) + 1) % attentions.length]);
    } else if (key === "x" && panel.canSwitchOff) panel.switchShown();
    else return;
    event.preventDefault();
    event.stopPropagation();
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
    const { payload, state, panel } = this;
    const kind = payload.kind(state.attention);
    if (!this.palette || overview) this.palette = this._palette();
    panel.take(payload, state, this.palette);
    if (payload.stage) this.telling.foot();
    else panel.show(overview ? this._screen() : null);
    this._drawLarge(kind);
    this.telling.off();
    this.size = this._size();
    this.room = this._roomBelow();
    const { attention, layer, head, view } = state;
    this.root.dataset.painted = JSON.stringify({ id: payload.id, attention, layer, head, view });
  }

  /** @type {(kind: Kind) => void} */
  _drawLarge(kind) {
    const { payload, state, panel } = this;
    const { drawn } = panel;
    const lines = state.view === "lines";
    this.drawing.classList.toggle("is-off", panel.isOff);
    this._drawLegend(kind, drawn);
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
    const isFull = this.panel.drawn.length >= constants.MOST_COMPARED;
    this.hint.hidden = !this.panel.adding;
    this.hint.textContent = [...(isFull ? [] : [compareHint()]), tr("Escape ends the comparison.")].join(" ");
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
      button.addEventListener("click", () => this.panel.select(layer, head, true));
      this.legend.append(element("li", "", {}, swatch, name, button));
    }
  }

  // ---- tooltips ---------------------------------------------------------------------------------------------------

  /** @type {(text: string) => void} */
  _say(text) {
    this.spoken.textContent = text;
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
    if (!this.payload.stage) this.panel.overview.light(lit);
    this.matrix.light(isCell ? { queries: [], keys: [] } : lit);
    this.lines.light(lit);
  }

  /** @type {(cell: Cell | null, place?: Spot, spoken?: boolean) => void} */
  _cellTip(cell, place, spoken) {
    this._pointAt(cell && { queries: cell[0], keys: cell[1] });
    const { tooltip, drawn } = this.panel;
    if (!cell) {
      tooltip.show(null);
      return;
    }
    const kind = this.payload.kind(this.state.attention);
    const lines = [said("strong", cellName(this.payload, kind, cell))];
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
    tooltip.show(place ?? null, ...lines);
    if (spoken) this._say(lines.map((line) => line.textContent).join(", "));
  }

  /** @type {(token: SideToken | null) => void} */
  _tokenTip(token) {
    this._pointAt(token && { [token.side === "query" ? "queries" : "keys"]: token.index });
    if (!token) return;
    const kind = this.payload.kind(this.state.attention);
    this._say(tokenOf(this.payload, kind, this.panel.drawn[0].cells, token));
  }
}
