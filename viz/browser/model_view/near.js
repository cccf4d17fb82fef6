// What opens when one comes near: tokens and numbers of a head, a row, a weight's arithmetic, positions, feed-forward, next words.

import { element, classed } from "../canvas/dom.js";
import { rectangle } from "../canvas/geometry.js";
import { tr } from "../canvas/wording.js";
import { come, smooth } from "./blocks.js";
import { fitting } from "./camera.js";
import { paintAdded } from "./closeups/added.js";
import { paintNext } from "./closeups/logits.js";
import { paintHeads } from "./closeups/heads.js";
import { paintMatrix } from "./closeups/matrix.js";
import { bounded } from "./closeups/pen.js";
import { paintRow } from "./closeups/row.js";
import { paintWaves } from "./closeups/waves.js";
import { paintWeight } from "./closeups/weight.js";
import { saidOf } from "./place_words.js";
import { blockAt, stackNamed } from "./places.js";
import { rectOf } from "./space.js";

/** @import { Travel } from "./travel.js" */

// Sizes on the screen, in CSS pixels, from which something appears, and at which it is there.
const TOKENS = [150, 250];
const ROW = [40, 64];
const CELL = [150, 300];
const PANEL = [90, 200];
const LETTERS = 9;
/** Where less is seen, a head has neither a title nor a label. */
const LOW = 400;
const MOST_CELL = { width: 150, height: 84 };

export class Near {
  /** @type {Hot[]} */
  hot = [];
  /** What is lit in the head that one is near. @type {{ query: number, key: number }} */
  lit = { query: -1, key: -1 };
  /** The token that is pointed at in a panel. */
  token = -1;
  /** The head that is pointed at in its layer. */
  over = -1;
  /** Room that the path takes at the top. */
  top = 0;
  /** The page's letters, asked for once a size: each look would make the browser style the page anew. */
  family = "";
  /** Room that the walk's bubble takes at the foot. */
  below = 0;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
  }

  get view() {
    return this.travel.view;
  }

  /** Turns to a place, or to a row and a column in it. @type {(place: Place, lit?: { query?: number; key?: number }) => void} */
  turn(place, lit = {}) {
    this.lit = { query: -1, key: -1, ...place, ...lit };
    this.token = this.over = -1;
    this.travel.needs.ask(place);
  }

  // ---- views ------------------------------------------------------------------------------------------------------

  /** Room at the foot: on a page, Save stands there. */
  get _foot() {
    return this.view.figure.stage ? 16 : 44;
  }

  /** The room for what stands around a place. @type {(place: Place) => Partial<Insets>} */
  margin(place) {
    const { em, top, isLow } = this;
    const { narrow, figure } = this.view;
    const bottom = this.below || this._foot;
    if ("head" in place) {
      const { queries, keys, beside } = this._texts(place);
      const above = 1.3 * em + emsOf(keys) * Math.SQRT1_2 * em;
      const titled = place.at === "head" && !isLow ? 3.2 * em : 0.4 * em;
      return { top: top + above + titled, bottom, left: (emsOf(queries) + 2.4) * em, right: beside ? (emsOf(beside) + 2.6) * em : 2 * em };
    }
    const side = narrow ? 12 : figure.stage ? 60 : 40;
    return { top: top + ({ stack: 16, block: 40 }[/** @type {string} */ (place.at)] ?? 10), bottom, left: side, right: side };
  }

  /** The size of type around a head. */
  get em() {
    const { width, height } = this.travel.viewport;
    return bounded(Math.min(width, height) / 34, 12, 28);
  }

  get isLow() {
    return this.travel.viewport.height < LOW;
  }

  /** The view of a place whose shape changes on the way; null where it keeps its shape. @type {(place: Place, rect: Rectangle) => CameraView | null} */
  viewOf(place, rect) {
    const { viewport } = this.travel;
    const margin = this.margin(place);
    if (place.at === "head") {
      const { block } = this._block(place);
      return fitting(rect, viewport, { margin, stretch: { queries: block.queries, keys: block.keys } });
    }
    if (place.at === "row") {
      const { block } = this._block(place);
      const wide = viewport.width - (margin.left ?? 0) - (margin.right ?? 0);
      const cell = Math.min(MOST_CELL.width, wide / block.keys);
      return filled(rect, viewport, {
        left: (viewport.width - cell * block.keys) / 2,
        top: margin.top ?? 0,
        width: cell * block.keys,
        height: Math.min(MOST_CELL.height, Math.max(48, cell)),
      });
    }
    if (!["weight", "positions", "added", "next"].includes(place.at)) return null;
    const most = place.at === "weight" && !this.view.figure.stage ? 1240 : 1500;
    const side = this.view.narrow ? 8 : 40;
    const width = Math.min(most, viewport.width - 2 * side);
    const { top } = this;
    return filled(rect, viewport, { left: (viewport.width - width) / 2, top, width, height: viewport.height - top - (this.below || this._foot) });
  }

  /** @type {(place: { kind: string; layer: number }) => { block: FigureBlock, stack: FigureStack, at: number }} */
  _block(place) {
    return /** @type {{ block: FigureBlock, stack: FigureStack, at: number }} */ (blockAt(this.view.figure, place));
  }

  /** The tokens of a head's rows and columns. @type {(place: HeadPlace) => { queries: string[], keys: string[], beside: string[] | null, queryTitle: string, keyTitle: string }} */
  _texts({ kind }) {
    const { figure } = this.view;
    const { queries, keys, beside, queryTitle, keyTitle } = figure.sent(kind);
    return { queries: figure.axis(queries), keys: figure.axis(keys), beside: beside === null ? null : figure.axis(beside), queryTitle, keyTitle };
  }

  // ---- painting ---------------------------------------------------------------------------------------------------

  /** Paints what opens at the place on the way to `end`: of a stop's picture what has come, of a head so many computed rows.
   * @type {(context: Context, on: { end: CameraView, share: number, rows: number }) => void} */
  paint(context, { end, share, rows }) {
    const { place } = this.travel;
    this.hot = [];
    context.font = `16px ${this.family}`;
    context.save();
    if (share < 1 && place.at !== "block") this._clip(context, place, share);
    if ("head" in place) this._paintHead(context, place, end, rows);
    else if (place.at === "block") this._paintBlock(context, place, end);
    else if (place.at === "positions" || place.at === "added" || place.at === "next") this._paintPanel(context, place, end);
    context.restore();
    context.globalAlpha = 1;
    const filled = this.travel.needs.state(place);
    const { dataset } = this.view.root;
    if (dataset.filled !== filled) dataset.filled = filled;
    if (!this.travel.moving) this.travel.reach?.show(this.hot);
  }

  /** A head comes row by row, all else from left to right. @type {(context: Context, place: Place, share: number) => void} */
  _clip(context, place, share) {
    const { travel, view } = this;
    const { left, top, width, height } = travel.viewport;
    const room = place.at === "head" ? travel.onScreen(rectOf(place, travel.space, view.figure)) : null;
    context.beginPath();
    context.rect(left, top, room ? width : smooth(share) * width, room ? room.top + share * room.height - top : height);
    context.clip();
  }

  /** Names the heads of a layer. @type {(context: Context, place: Extract<Place, { at: "block" }>, end: CameraView) => void} */
  _paintBlock(context, place, end) {
    const { travel, view } = this;
    const { width, gap } = travel.space.heads[`${place.kind}.${place.layer}`];
    const room = travel.onScreen(rectOf(place, travel.space, view.figure));
    const alpha = come((width + gap) * travel.camera.across, [50, 100], (width + gap) * end.across);
    if (alpha <= 0) return;
    const { block, at } = this._block(place);
    context.globalAlpha = alpha;
    this.hot.push(...paintHeads(context, room, { labels: block.labels[at], wide: width * travel.camera.across, over: this.over }, view.inks));
  }

  /** @type {(context: Context, place: HeadPlace, end: CameraView, rows: number) => void} */
  _paintHead(context, place, end, rows) {
    const { travel, view } = this;
    const { figure, inks } = view;
    const { block, at } = this._block(place);
    const room = travel.onScreen(rectOf({ at: "head", kind: place.kind, layer: place.layer, head: place.head }, travel.space, figure));
    const high = room.height / block.queries;
    const [wider, higher] = [end.across / travel.camera.across, end.up / travel.camera.up];
    const { weights, allowed } = figure.cells(block, at, place.head);
    const texts = this._texts(place);
    const open = this._open(place, end);
    const alone = place.at === "row" ? come(high, ROW, higher * high) : 0;
    const alpha = come(room.width, TOKENS, wider * room.width) * (1 - open);
    const head = /** @type {ModelAnswers["head"] | null} */ (this.travel.needs.answer(place));
    const data = { ...texts, ...(this.isLow && { keyTitle: "" }), weights, allowed, head };
    const matrix = { ...data, row: this.lit.query, key: this.lit.key, palette: inks.usual, rows: Math.floor(rows), alphaNumbers: 1, label: "", em: this.em };
    if (alpha > alone) {
      if (place.at === "head") this._clear(context, place, room, 0.9 * alpha);
      context.globalAlpha = alpha - alone;
      const { label } = figure.facts(place.kind, at, place.head) ?? {};
      this.hot.push(...paintMatrix(context, room, { ...matrix, label: (place.at === "head" && !this.isLow && label) || "" }, inks));
    }
    if (place.at === "row" && alone > 0) this._paintRow(context, place, room, alone, data, matrix);
    if (open <= 0 || place.at !== "weight") return;
    const cell = travel.onScreen(rectOf(place, travel.space, figure));
    const { left, top, width, height } = travel.viewport;
    this._ground(context, rectangle(left, top, width, height), open);
    context.globalAlpha = open;
    this.hot.push(...paintWeight(context, cell, { ...data, row: place.query, key: place.key }, inks));
  }

  /** A row by itself, with its keys above it, and below it where its shares go.
   * @type {(context: Context, place: Extract<Place, { at: "row" }>, room: Rectangle, alpha: number, data: Omit<RowData, "row">, matrix: MatrixData) => void} */
  _paintRow(context, place, room, alpha, data, matrix) {
    const { travel, view } = this;
    const high = room.height / matrix.queries.length;
    const own = rectangle(room.left, room.top + place.query * high, room.width, high);
    const { left, width, top, height } = travel.viewport;
    const side = view.narrow ? 8 : 40;
    const under = own.bottom + 12;
    this._ground(context, rectangle(left, top, width, own.top - top), alpha);
    this._ground(context, rectangle(left, own.bottom, width, top + height - own.bottom), alpha);
    context.globalAlpha = alpha;
    const only = (/** @type {HeadWeights} */ cells) => cells.subarray(place.query * matrix.keys.length, (place.query + 1) * matrix.keys.length);
    this.hot.push(
      ...paintMatrix(
        context,
        own,
        {
          ...matrix,
          ...{ queries: [matrix.queries[place.query]], weights: only(matrix.weights), row: 0, rows: 1, head: null },
          allowed: matrix.allowed && /** @type {Uint8Array} */ (only(matrix.allowed)),
          beside: matrix.beside && [matrix.beside[place.query]],
          ...{ keyTitle: "", queryTitle: "" },
        },
        view.inks,
      ).map((each) => ({ ...each, act: { at: /** @type {const} */ ("row"), query: place.query } })),
    );
    const panel = rectangle(left + side, under, width - 2 * side, Math.max(200, top + height - (this.below || this._foot) - under));
    this.hot.push(...paintRow(context, panel, { ...data, row: place.query }, view.inks));
  }

  /** @type {(context: Context, place: Extract<Place, { at: "positions" | "added" | "next" }>, end: CameraView) => void} */
  _paintPanel(context, place, end) {
    const { travel, view } = this;
    const { figure, inks } = view;
    const room = travel.onScreen(rectOf(place, travel.space, figure));
    const [wider, higher] = [end.across / travel.camera.across, end.up / travel.camera.up];
    const alpha = come(Math.min(room.width / 2, room.height), PANEL, Math.min((wider * room.width) / 2, higher * room.height));
    if (alpha <= 0) return;
    this._ground(context, room, alpha);
    context.globalAlpha = alpha;
    if (place.at === "next") {
      const step = /** @type {NextTokens[]} */ (figure.next)[place.step];
      const { tokens = [] } = figure.decoder ?? {};
      const data = { step: place.step, after: tokens[place.step] ?? "", ...step, answer: this.travel.needs.answer(place) };
      this.hot.push(...paintNext(context, room, data, inks));
      return;
    }
    const stack = /** @type {FigureStack} */ (stackNamed(figure, place.stack));
    if (place.at === "positions") {
      const positions = /** @type {FigurePositions} */ (stack.positions);
      this.hot.push(...paintWaves(context, room, { tokens: stack.tokens, positions, token: this.token }, inks));
      return;
    }
    const at = stack.blocks[0].layers.indexOf(place.layer);
    const count = stack.tokens.length;
    const shares = stack.added?.subarray(at * count, (at + 1) * count) ?? null;
    const data = { tokens: stack.tokens, norm: figure.norm, token: this.token, shares, answer: this.travel.needs.answer(place) };
    this.hot.push(...paintAdded(context, room, /** @type {AddedData} */ (data), inks));
  }

  /** Pales what is seen around a head, where its tokens are written. @type {(context: Context, place: HeadPlace, room: Rectangle, alpha: number) => void} */
  _clear(context, place, room, alpha) {
    const { left = 0, right = 0 } = this.margin(place);
    const above = this.travel.viewport.top;
    context.globalAlpha = alpha;
    context.fillStyle = this.view.inks.theme.ground;
    context.beginPath();
    context.rect(room.left - left, above, left + room.width + right, room.bottom + this.em - above);
    context.rect(room.left, room.top, room.width, room.height);
    context.fill("evenodd");
  }

  /** @type {(context: Context, room: Rectangle, alpha: number) => void} */
  _ground(context, { left, top, width, height }, alpha) {
    context.globalAlpha = alpha;
    context.fillStyle = this.view.inks.theme.ground;
    context.fillRect(left, top, width, height);
  }

  /** Whether a cell stands half open. */
  get isBetween() {
    const { place, end } = this.travel;
    const open = this._open(place, end);
    return open > 0 && open < 1;
  }

  /** How far a weight's cell has opened, 0 to 1. @type {(place: Place, end: CameraView) => number} */
  _open(place, end) {
    if (place.at !== "weight") return 0;
    const { camera, space } = this.travel;
    const { block } = this._block(place);
    const { width, height } = space.heads[`${place.kind}.${place.layer}`];
    const size = (/** @type {CameraView} */ { across, up }) => Math.min((width * across) / block.keys, (1.6 * height * up) / block.queries);
    return come(size(camera), CELL, size(end));
  }

  // ---- pointing ---------------------------------------------------------------------------------------------------

  /** @type {(spot: Spot) => Hot | null} */
  hotAt({ clientX, clientY }) {
    const { left, top } = this.view.root.getBoundingClientRect();
    const [x, y] = [clientX - left, clientY - top];
    return this.hot.find((each) => each.left <= x && x < each.right && each.top <= y && y < each.bottom) ?? null;
  }

  /** Lights what the pointer is on, and says it. @type {(event: PointerEvent | null) => void} */
  point(event) {
    const { travel, view } = this;
    if (!event || travel.moving || event.pointerType !== "mouse") return;
    if (travel.isApart(event)) {
      view.tip.hidden = true;
      return;
    }
    const hot = this.hotAt(event);
    const place = travel.under(event);
    const under = "head" in place && "head" in travel.place && place.head === travel.place.head ? place : null;
    const own = travel.place;
    const lit = {
      query: under && "query" in under ? under.query : "query" in own ? own.query : -1,
      key: under && "key" in under ? under.key : "key" in own ? own.key : -1,
    };
    const token = hot && "at" in hot.act && hot.act.at === "token" ? hot.act.token : -1;
    const over = hot && "at" in hot.act && hot.act.at === "head" ? hot.act.head : -1;
    if (own.at === "row" || own.at === "weight") Object.assign(lit, { query: own.query });
    classed(view.root, "presses", Boolean(hot ?? (under && under.at !== own.at)));
    if (hot && token < 0) view.tell(event, element("span", "", {}, hot.label));
    else if (under?.at === "weight" && own.at !== "weight") view.tell(event, element("span", "", {}, saidOf(under, view.figure)));
    else view.tip.hidden = true;
    if (lit.query === this.lit.query && lit.key === this.lit.key && token === this.token && over === this.over) return;
    this.lit = own.at === "weight" ? this.lit : lit;
    Object.assign(this, { token, over });
    view.drawSoon();
  }

  /** Does what a press asks for. @type {(act: CloseUpAct) => void} */
  act(act) {
    const { travel, view } = this;
    const { place } = travel;
    if ("ask" in act) travel.needs.instead(act);
    else if (act.at === "token") {
      this.token = act.token;
      view.drawSoon();
    } else if (act.at === "head") travel.go({ .../** @type {Extract<Place, { at: "block" }>} */ (place), ...act });
    else if ("head" in place) travel.go({ ...place, ...act });
  }

  /** The pages on which a place is shown with more around it. @type {(place: Place) => { text: string; open: () => void }[]} */
  ways(place) {
    const { view } = this;
    /** @type {(page: string, text: string, selected: { [parameter: string]: string | number }) => { text: string; open: () => void }[]} */
    const way = (page, text, selected) => (view.figure.pages.includes(page) ? [{ text, open: () => view.open({ page, ...selected }) }] : []);
    if ("head" in place) {
      const { switched } = this.travel;
      const head = { attention: place.kind, layer: place.layer, head: place.head, off: switched.spelled };
      const open = way("heads", tr("Open in Heads"), place.at === "weight" ? { ...head, cell: `${place.query}.${place.key}` } : head);
      return this.travel.needs.can.without ? [...open, { text: switched.has(place) ? tr("Switch on") : tr("Switch off"), open: () => switched.toggle(place) }] : open;
    }
    if (place.at === "block") return way("heads", tr("Open in Heads"), { attention: place.kind, layer: place.layer });
    if (place.at === "positions") return way("positions", tr("Open in Positions"), {});
    if (place.at === "next") return way("decoding", tr("Open in Decoding"), { section: "steps", at: place.step + 1 });
    return [];
  }
}

/** How long the longest token is as it is written, in its size. @type {(texts: string[]) => number} */
function emsOf(texts) {
  const lengths = texts.map((text) => Array.from(text).reduce((sum, letter) => sum + (letter > "\u2e80" ? 1 : 0.58), 0));
  return Math.min(LETTERS, Math.max(0.6, ...lengths));
}

/** The view in which a rectangle of the figure lies exactly in a room of the viewport.
 * @type {(rect: Rectangle, viewport: { width: number; height: number }, room: { left: number; top: number; width: number; height: number }) => CameraView} */
function filled(rect, viewport, room) {
  const [across, up] = [room.width / rect.width, room.height / rect.height];
  return {
    x: rect.left + (viewport.width / 2 - room.left) / across,
    y: rect.top + (viewport.height / 2 - room.top) / up,
    ...{ across, up },
  };
}
