// Several matrices in a row with one pointer and one zoom. One of them can be painted on.

import constants from "../../draw/constants.json" with { type: "json" };
import { Tooltip, said, zoomButtons } from "../canvas/controls.js";
import { element } from "../canvas/dom.js";
import { opened, payloadId } from "../canvas/envelope.js";
import { MATRIX_ZOOMS } from "../canvas/matrix.js";
import { mounted } from "../canvas/mount.js";
import { pageGround, pageTheme, pictureOf, roomWithin } from "../canvas/page.js";
import { axisWords, heed, placesLit, tell } from "../canvas/shared.js";
import { EditablePanel } from "./editable.js";
import { Panel, StepPalette, readPanel, signedNumber } from "./panel.js";
import { labelled, tr } from "../canvas/wording.js";

/** @import { Given, Sent } from "./panel.js" */
/** @typedef {{ panels: Sent[], stage: boolean, themes: Themes, height: number, abreast: number, epoch: number, name: string, help: string,
 *   example: [panel: number, query: number, key: number] | null }} Header */

/** The room of a panel's row labels, in columns. */
const LABELS_ROOM = 4;
/** In rem: the width from which on a panel may stand beside others. */
const ABREAST_FROM = 15;

class Matrices {
  id = "";
  /** @type {Header} */
  header;
  /** @type {Given[]} */
  given = [];
  /** @type {Panel[]} */
  panels = [];
  /** @type {EditablePanel | undefined} */
  editable;
  undo = element("button", "toggle", { type: "button", title: tr("Undo the last stroke (Ctrl+Z)") }, tr("Undo"));
  redo = element("button", "toggle", { type: "button", title: tr("Redo the stroke (Ctrl+Y)") }, tr("Redo"));
  size = "";
  ground = "";
  /** @type {Tokens | null} */
  tokens = null;
  /** The panel, the cell and the place of the pointer. @type {[number, Cell, Spot | undefined] | null} */
  pointed = null;
  pointing = false;
  /** The panel and the cell that the line reads. @type {Header["example"]} */
  read = null;
  /** @type {Reporter} */
  report;
  /** @type {number | undefined} */
  waiting;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.zoom = 0;
    this.row = element("div", "row");
    this.line = element("p", "line", { hidden: "" });
    this.legend = element("div", "keys");
    this.tools = element("div", "tools", { hidden: "" });
    this.tooltip = new Tooltip(root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    this.zooms = zoomButtons("matrices", (step) => this._zoomBy(step));
    this.foot = element("div", "foot", {}, this.legend, element("div", "controls", {}, this.tools, this.zooms));
    root.replaceChildren(this.row, this.line, this.foot, this.tooltip.element, this.spoken);
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
    this.ends = [
      heed("tokens", (/** @type {Tokens | null} */ tokens) => (this.tokens = tokens)),
      heed("pointed", (/** @type {WordRange[] | null} */ words) => this._light(words)),
    ];
  }

  dispose() {
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    for (const end of this.ends) end();
    clearTimeout(this.waiting);
  }

  /** Takes Python's message. @type {(bytes: Bytes, report: Reporter) => void} */
  update(bytes, report) {
    this.report = report;
    if (this.id === payloadId(bytes)) {
      if (this.ground !== pageGround(this.root)) this.draw();
      return;
    }
    const { id, values: header } = /** @type {{ id: string, values: Header }} */ (opened(bytes));
    const again = this.header?.epoch === header.epoch && this.header.name === header.name;
    this.id = id;
    this.header = header;
    this.given = header.panels.map(readPanel);
    this._build(again);
    // An answer to a stroke leaves the line where it was.
    if (!again || !this.read || !header.example) this.read = header.example;
    this.draw();
    this.root.dataset.payload = id;
  }

  /** Builds the panels; the painted one keeps its strokes as long as Python sends the same epoch.
   * @type {(again: boolean) => void} */
  _build(again) {
    const old = this.editable;
    const same =
      this.panels.length === this.given.length &&
      this.given.every(({ base }, index) => (base === null) === !(this.panels[index] instanceof EditablePanel));
    if (!same) {
      this.panels = this.given.map((given, index) => {
        /** @type {ConstructorParameters<typeof Panel>[0]} */
        const on = {
          point: (cell, place, spoken) => this._point(index, cell, place, spoken),
          scrolled: (left, top) => this._scrolled(index, left, top),
          zoomed: (step) => this._zoomBy(step),
          stroked: () => this._marked(),
          edited: () => this._edited(),
        };
        return given.base === null ? new Panel(on, given) : new EditablePanel(on, given);
      });
      this.row.replaceChildren(...this.panels.map(({ frame }) => frame));
    }
    this.editable = this.panels.find((panel) => panel instanceof EditablePanel);
    this.tools.hidden = !this.editable;
    if (this.editable) {
      const given = this.given[this.panels.indexOf(this.editable)];
      if (!again || old !== this.editable || old.mask.allowed.length !== given.base?.length) {
        this.editable.start(given);
      }
      if (!this.tools.childElementCount) this._buildTools();
    }
  }

  _buildTools() {
    const reset = element("button", "toggle", { type: "button", title: tr("Back to the model's own mask") }, tr("Reset"));
    this.undo.addEventListener("click", () => this.editable?.undo());
    this.redo.addEventListener("click", () => this.editable?.redo());
    reset.addEventListener("click", () => this.editable?.reset());
    this.tools.append(this.undo, this.redo, reset);
  }

  /** @type {(step: number) => void} */
  _zoomBy(step) {
    this.zoom = Math.max(0, Math.min(MATRIX_ZOOMS.length - 1, this.zoom + step));
    this.draw();
  }

  /** @type {(index: number, left: number, top: number) => void} */
  _scrolled(index, left, top) {
    for (const [other, panel] of this.panels.entries()) {
      if (other === index || (panel.root.scrollLeft === left && panel.root.scrollTop === top)) continue;
      panel.root.scrollTo(left, top);
    }
  }

  _resize() {
    // A hidden or detached root has no width.
    if (!this.header || !this.root.clientWidth) return;
    if (this._size() !== this.size) this.draw();
  }

  /** What the layout depends on besides the content. */
  _size() {
    const rem = getComputedStyle(document.documentElement).fontSize;
    const height = this._picture()?.clientHeight ?? window.innerHeight;
    return [this.root.clientWidth, height, window.devicePixelRatio, rem].join();
  }

  draw() {
    this.size = this._size();
    this.ground = pageGround(this.root);
    const theme = pageTheme(this.root, this.header.themes);
    const name = theme.name;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    // Redrawing a panel clears its pointer; the neighbours ignore that.
    this.pointing = true;
    for (const [index, given] of this.given.entries()) {
      const panel = this.panels[index];
      panel.title.textContent = given.title;
      panel.note.textContent = given.note;
      panel.sign.textContent = given.sign;
      panel.sign.hidden = !given.sign;
    }
    this._drawLegend(theme, name);
    this.line.hidden = !this.read;
    this.root.classList.toggle("reads", Boolean(this.read));
    const height = this._height(rem);
    this._drawPanels(theme, name, height);
    // Beside each other, the cells of all panels have one size and begin level.
    if (this.read) {
      const side = Math.min(...this.panels.map(({ cellWidth }) => cellWidth));
      this._drawPanels(theme, name, height, side, Math.max(...this.panels.map(({ labels }) => labels)));
    }
    this.pointing = false;
    this.tooltip.show(null);
    this._drawTools();
    if (this.pointed) this.panels[this.pointed[0]]?.remark(this.pointed[1], this.pointed[2]);
    if (this.read) this._read(...this.read);
    this._marked();
  }

  /** Draws every panel, with cells of at most `most` pixels below labels of at least `labels`.
   * @type {(theme: ShownTheme, name: "light" | "dark", height: number, most?: number, labels?: number) => void} */
  _drawPanels(theme, name, height, most = Infinity, labels = 0) {
    for (const [index, given] of this.given.entries()) {
      const panel = this.panels[index];
      panel.side = this.read ? most / MATRIX_ZOOMS[this.zoom] : null;
      panel.labelsLeast = labels;
      const colors = given.scale === "category" ? given.colors[name] : theme[given.scale];
      const palette = new StepPalette(theme, colors, given.scale === "category");
      panel.given = given;
      if (panel === this.editable) this.editable.recolor();
      panel.update(given, palette, height, this.zoom);
      const help = panel === this.editable ? this.header.help : tr("Arrow keys move among cells.");
      panel.canvas.setAttribute("aria-label", `${given.alt} ${help}`);
    }
  }

  /** The stage's picture area; null elsewhere. */
  _picture() {
    return this.header.stage ? pictureOf(this.root) : null;
  }

  /** The height of each matrix in pixels: as Python says, or on a stage what titles and legend leave.
   * @type {(rem: number) => number} */
  _height(rem) {
    const { stage, height } = this.header;
    this.root.classList.toggle("on-stage", stage);
    // On a phone in portrait, one below the other.
    const columns = this.root.clientWidth < constants.NARROW ? 1 : this.header.abreast;
    const stacked = Math.ceil(this.panels.length / columns);
    this.row.style.setProperty("--columns", String(columns));
    // The panel with more columns gets more room, since all cells have one size.
    const rooms = this.given.map(({ keys }) => `minmax(0, ${LABELS_ROOM + keys.length}fr)`);
    const isWide = this.root.clientWidth >= ABREAST_FROM * rooms.length * rem;
    this.row.style.gridTemplateColumns = this.read && columns >= rooms.length && isWide ? rooms.join(" ") : "";
    for (const panel of this.panels) panel.fills = stage;
    const picture = this._picture();
    if (!picture) return height ? height * rem : Math.max(300, 0.55 * window.innerHeight);
    const titled = Math.max(...this.panels.map(({ frame, room }) => room.offsetTop - frame.offsetTop));
    const room = roomWithin(picture, this.row) - this.foot.offsetHeight - this.line.offsetHeight - 0.3 * rem;
    return room / stacked - titled - 0.35 * rem;
  }

  _drawTools() {
    this.undo.disabled = !this.editable?.mask.done.length;
    this.redo.disabled = !this.editable?.mask.undone.length;
  }

  /** @type {(theme: Theme, name: "light" | "dark") => void} */
  _drawLegend(theme, name) {
    const shown = new Map();
    const categories = this.given.filter(({ scale }) => scale === "category");
    // By legend and category, so that the order is the same whichever panel has it first.
    const legends = [...new Set(categories.map(({ legend }) => legend.join()))];
    for (const [text, place, legend] of legends.flatMap((joined) => {
      const { legend } = /** @type {Given} */ (categories.find((given) => given.legend.join() === joined));
      return legend.map((text, place) => /** @type {[string, number, string]} */ ([text, place, joined]));
    })) {
      for (const given of categories) {
        const { weights, allowed } = given.cells;
        if (given.legend.join() !== legend) continue;
        if (!weights.includes(place) && (given.base === null || place !== given.byEdit)) continue;
        const isHatched = allowed !== null && weights.every((/** @type {number} */ each, /** @type {number} */ cell) => each !== place || !allowed[cell]);
        shown.set(text, () => this._swatch(isHatched && place !== given.byEdit ? null : given.colors[name][place], text));
      }
    }
    for (const given of this.given) {
      if (given.scale === "category") continue;
      const key = [given.scale, given.low, given.high, given.unit].join();
      shown.set(key, () => this._bar(theme, given));
      if (given.cells.allowed !== null) {
        shown.set("taken out", () => element("span", "key", {}, element("span", "hatched"), tr("removed by the mask")));
      }
    }
    this.legend.replaceChildren(...[...shown.values()].map((make) => make()));
  }

  /** A colour of the legend, or null for the hatching of cells that are not allowed.
   * @type {(color: string | null, text: string) => HTMLElement} */
  _swatch(color, text) {
    const swatch = element("span", color ? "swatch" : "hatched", { "aria-hidden": "true" });
    if (color) swatch.style.background = color;
    return element("span", "key", {}, swatch, text);
  }

  /** @type {(theme: Theme, given: Given) => HTMLElement} */
  _bar(theme, given) {
    const bar = element("span", "gradient", { "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right, ${(given.scale === "signed" ? theme.signed : theme.weights).join(", ")})`;
    const [low, high] = [given.low, given.high].map((end) => signedNumber(end, Number.isInteger(end) ? 0 : given.digits));
    return element("span", "key", {}, labelled(given.unit, low), bar, high);
  }

  /** Shows the pointer in every panel with axes of the same length.
   * @type {(index: number, cell: Cell | null, place?: Spot, spoken?: boolean) => void} */
  _point(index, cell, place, spoken) {
    if (this.pointing) return;
    this.pointing = true;
    const own = this.panels[index];
    /** @type {HTMLElement[]} */
    const lines = [];
    for (const panel of this.panels) {
      const alike = panel.isLike(own);
      if (panel !== own) panel._mark(own.leads(panel) ? cell : null);
      if (cell && alike) lines.push(said("", labelled(panel.given.title, panel.says(...cell))));
    }
    this._pointAt(own, cell);
    this.pointing = false;
    this.pointed = cell && [index, cell, own.event];
    if (!cell) {
      this.tooltip.show(null);
      return;
    }
    if (this.read) {
      this.read = [index, ...cell];
      this._read(...this.read);
      if (spoken) this.spoken.textContent = this.line.textContent;
      return;
    }
    const heading = own.named(...cell);
    this.tooltip.show(place ?? null, said("strong", heading), ...lines);
    if (spoken) this.spoken.textContent = [heading, ...lines.map((line) => line.textContent)].join(", ");
  }

  /** Reads a cell in the line below the pictures, where it stays marked.
   * @type {(index: number, query: number, key: number) => void} */
  _read(index, query, key) {
    const own = this.panels[index];
    if (!own?.holds([query, key])) return;
    for (const panel of this.panels) panel.pick(panel === own || own.leads(panel) ? [query, key] : null);
    // Where pictures stand one below the other, below the one that is read.
    if (this.root.clientWidth < constants.NARROW) own.frame.after(this.line);
    else this.row.after(this.line);
    const alike = this.panels.filter((panel) => panel.isLike(own));
    const reader = own.given.reads.length ? own : (alike.find(({ given }) => given.reads.length) ?? own);
    this.line.replaceChildren(...reader.reads(query, key, alike));
  }

  /** Lets every picture of the page light the words of a cell; null for none.
   * @type {(panel: Panel, cell: Cell | null) => void} */
  _pointAt(panel, cell) {
    const words = cell
      ? [axisWords(panel.queries, this.tokens)[cell[0]], axisWords(panel.keys, this.tokens)[cell[1]]].filter(Boolean)
      : [];
    tell("pointed", words.length ? words : null);
  }

  /** Lights the words that are pointed at elsewhere. @type {(words: WordRange[] | null) => void} */
  _light(words) {
    for (const panel of this.panels) {
      if (!panel.queries) continue;
      const places = (/** @type {string[]} */ texts) => (this.pointing ? [] : placesLit(axisWords(texts, this.tokens), words));
      panel.light({ queries: places(panel.queries), keys: places(panel.keys) });
    }
  }

  _marked() {
    this.root.dataset.painted = JSON.stringify({ id: this.id, edits: this.editable?.mask.done.length ?? 0 });
  }

  _edited() {
    this._drawTools();
    this._marked();
    clearTimeout(this.waiting);
    // After the paint, and only once for quick strokes.
    this.waiting = setTimeout(() => {
      if (!this.editable) return;
      const { mask, queries, keys } = this.editable;
      this.report({ name: this.header.name, rows: queries.length, columns: keys.length, bits: mask.bits() });
    }, 60);
  }
}

export default mounted(".matrices", (root) => new Matrices(root), "edit");
