// A head as lines between two columns of tokens. Thickness and opacity show the weight and nothing else.

import constants from "../../draw/constants.json" with { type: "json" };
import { element, fitted, penOf } from "../canvas/dom.js";
import { signed } from "../canvas/numbers.js";
import { weightAt } from "../canvas/paint.js";
import { weightBetween } from "../model_view/head_words.js";

// In rem.
const LINE_MOST = 0.875;

export class Lines {
  /** @type {ExplorerPayload} */
  payload;
  /** @type {Kind} */
  kind;
  /** @type {Layer[]} */
  heads = [];
  /** @type {Palette} */
  palette;
  axes = "";
  /** @type {string[]} */
  queries = [];
  /** @type {string[]} */
  keys = [];
  heightGiven = 0;
  rem = 16;
  title = 0;
  step = 0;
  size = 0;
  width = 0;
  height = 0;
  left = 0;
  right = 0;
  thickest = 0;
  /** @type {SideToken | null} */
  pinned = null;
  /** @type {SideToken | null} */
  hovered = null;
  /** @type {Places} */
  lit = { queries: [], keys: [] };

  /**
   * @param {{ point(token: SideToken | null): void, pin(): void }} on - `pin` is called when another token is pinned, or
   *   none.
   */
  constructor(on) {
    this.on = on;
    // On a stage, rows and lines grow to fill the available space.
    this.fills = false;
    this.canvas = element("canvas", "lines", { tabindex: "0", role: "application" });
    this.root = element("div", "lines-scroll", {}, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerleave", () => this._hover(null));
    this.canvas.addEventListener("click", (event) => this._clicked(event));
    this.canvas.addEventListener("keydown", (event) => this._key(event));
  }

  /**
   * Shows heads of one kind of attention.
   *
   * @type {(payload: ExplorerPayload, kind: Kind, heads: Layer[], palette: Palette, height: number) => void}
   */
  show(payload, kind, heads, palette, height) {
    const axes = `${payload.id}/${kind.kind}`;
    if (this.axes !== axes && this.pinned) {
      this.pinned = null;
      this.on.pin();
    }
    Object.assign(this, { payload, kind, heads, palette, axes, heightGiven: height, hovered: null });
    this.queries = payload.axes[kind.queries];
    this.keys = payload.axes[kind.keys];
    this._arrange();
    this.paint();
  }

  _arrange() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.rem = rem;
    this.title = 1.7 * rem;
    const most = Math.max(this.queries.length, this.keys.length, 1);
    const fitting = (this.heightGiven - this.title - 8) / most;
    this.step = Math.max(0.9 * rem, this.fills ? fitting : Math.min(3.2 * rem, fitting));
    this.size = Math.min(1.05 * rem, Math.max(0.7 * rem, 0.72 * this.step));
    this.width = Math.max(Math.min(this.root.parentElement?.clientWidth ?? 0, (this.fills ? 100 : 56) * rem), 200);
    this.height = this.title + most * this.step + 8;
    this.root.style.maxHeight = `${this.heightGiven}px`;
    const context = penOf(this.canvas);
    context.font = `${this.size}px ${getComputedStyle(this.root).fontFamily}`;
    const widest = (/** @type {string[]} */ texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
    const column = (/** @type {string[]} */ texts) => Math.min(widest(texts) + 3.4 * rem, 0.36 * this.width);
    this.left = column(this.queries);
    this.right = this.width - column(this.keys);
  }

  /** Lights tokens, by their places, that are pointed at elsewhere. @type {(lit: Places) => void} */
  light(lit) {
    if (JSON.stringify(lit) === JSON.stringify(this.lit)) return;
    this.lit = lit;
    if (!this.root.hidden) this.paint();
  }

  get focus() {
    return this.hovered ?? this.pinned;
  }

  /** @type {(index: number) => number} */
  _y(index) {
    return this.title + (index + 0.5) * this.step;
  }

  paint() {
    if (!this.payload) return;
    const { context, density } = fitted(this.canvas, this.width, this.height);
    const { theme } = this.palette;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const focus = this.focus;
    // Side by side: one head's lines never hide another's.
    this.thickest = Math.min(LINE_MOST * this.rem, 0.5 * this.step, (0.9 * this.step) / this.heads.length);
    for (const [index, { cells, color }] of this.heads.entries()) {
      const shift = (index - (this.heads.length - 1) / 2) * this.thickest;
      context.strokeStyle = color ?? theme.accent;
      this._strokes(context, cells, shift, focus);
    }
    context.globalAlpha = 1;
    this._tokens(context, theme, focus);
  }

  /** @type {(context: Context, cells: Cells, shift: number, focus: SideToken | null) => void} */
  _strokes(context, cells, shift, focus) {
    const middle = (this.left + this.right) / 2;
    for (let query = 0; query < cells.nQueries; query++) {
      if (focus?.side === "query" && focus.index !== query) continue;
      for (let key = 0; key < cells.nKeys; key++) {
        if (focus?.side === "key" && focus.index !== key) continue;
        const weight = weightAt(cells, query * cells.nKeys + key);
        if (weight < constants.FAINTEST) continue;
        context.globalAlpha = weight;
        context.lineWidth = weight * this.thickest;
        context.beginPath();
        context.moveTo(this.left, this._y(query) + shift);
        context.bezierCurveTo(middle, this._y(query) + shift, middle, this._y(key) + shift, this.right, this._y(key) + shift);
        context.stroke();
      }
    }
  }

  /** @type {(context: Context, theme: Theme, focus: SideToken | null) => void} */
  _tokens(context, theme, focus) {
    const family = getComputedStyle(this.root).fontFamily;
    context.textBaseline = "middle";
    /** @type {(texts: string[], side: SideToken["side"], x: number, align: "left" | "right") => void} */
    const column = (texts, side, x, align) => {
      for (const [index, text] of texts.entries()) {
        const isLit = !focus && this.lit[side === "query" ? "queries" : "keys"].includes(index);
        const focused = isLit || (focus?.side === side && focus.index === index);
        const weights = focus && focus.side !== side ? this.heads.map(({ cells }) => weightBetween(cells, focus, index)) : [];
        const met = weights.some((weight) => weight >= constants.FAINTEST);
        context.font = `${focused ? "700 " : ""}${this.size}px ${family}`;
        context.fillStyle = isLit ? theme.now : focus && !focused && !met ? theme.muted : theme.text;
        context.textAlign = align;
        context.fillText(text, x, this._y(index));
        if (met && weights.length === 1) {
          context.font = `${0.85 * this.size}px ${family}`;
          context.fillStyle = theme.muted;
          context.textAlign = align === "right" ? "left" : "right";
          context.fillText(signed(weights[0], 2), align === "right" ? 2 : this.width - 2, this._y(index));
        }
      }
    };
    column(this.queries, "query", this.left - 8, "right");
    column(this.keys, "key", this.right + 8, "left");
    context.font = `${0.85 * this.rem}px ${family}`;
    context.fillStyle = theme.muted;
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillText(this.kind.queryTitle, 0, 1);
    context.textAlign = "right";
    context.fillText(this.kind.keyTitle, this.width, 1);
  }

  /** @type {(event: Spot) => SideToken | null} */
  _tokenAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const index = Math.floor((event.clientY - box.top - this.title) / this.step);
    const side = x < this.left + 12 ? "query" : x > this.right - 12 ? "key" : null;
    const count = side === "query" ? this.queries.length : this.keys.length;
    return side && index >= 0 && index < count ? { side, index } : null;
  }

  /** @type {(token: SideToken | null) => void} */
  _hover(token) {
    if (token?.side === this.hovered?.side && token?.index === this.hovered?.index) return;
    this.hovered = token;
    this.paint();
    this.on.point(this.focus);
  }

  /** @type {(event: PointerEvent) => void} */
  _pointed(event) {
    const token = this._tokenAt(event);
    this.canvas.style.cursor = token ? "pointer" : "default";
    this._hover(token);
  }

  /** @type {(token: SideToken | null) => void} */
  _pin(token) {
    const same = token && this.pinned?.side === token.side && this.pinned?.index === token.index;
    this.pinned = same ? null : token;
    this.hovered = null;
    this.paint();
    this.on.point(this.focus);
    this.on.pin();
  }

  /** Shows all lines again; whether a token was pinned. */
  letGo() {
    if (!this.pinned) return false;
    this._pin(null);
    return true;
  }

  /** @type {(event: MouseEvent) => void} */
  _clicked(event) {
    this._pin(this._tokenAt(event));
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    /** @type {SideToken} */
    const at = this.pinned ?? { side: "query", index: -1 };
    const count = (/** @type {SideToken["side"]} */ side) => (side === "query" ? this.queries.length : this.keys.length);
    /** @type {Record<string, number>} */
    const moved = { ArrowUp: at.index - 1, ArrowDown: at.index + 1 };
    if (event.key in moved) {
      const index = Math.max(0, Math.min(count(at.side) - 1, moved[event.key]));
      this.pinned = { side: at.side, index };
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const side = event.key === "ArrowLeft" ? "query" : "key";
      this.pinned = { side, index: Math.max(0, Math.min(count(side) - 1, at.index)) };
    } else return;
    event.preventDefault();
    this.paint();
    this.on.point(this.focus);
    this.on.pin();
  }
}
