// What opens when one comes near: tokens and numbers of a head, a row, a weight's arithmetic, positions, feed-forward, next words.

import { tr } from "../canvas/wording.js";
import { come, smooth } from "./blocks.js";
import { filled } from "./camera.js";
import { paintAdded } from "./closeups/added.js";
import { paintNext } from "./closeups/logits.js";
import { paintHeads } from "./closeups/heads.js";
import { bounded } from "./closeups/pen.js";
import { paintWaves } from "./closeups/waves.js";
import { howSpelled } from "./how.js";
import { NearHead } from "./near_head.js";
import { blockAt, stackNamed } from "./places.js";
import { Pointing } from "./pointing.js";
import { rectOf } from "./space.js";

/** @import { Travel } from "./travel.js" */

// Sizes on the screen, in CSS pixels, from which something appears, and at which it is there.
const PANEL = [90, 200];
/** Where less is seen, a head has neither a title nor a label. */
const LOW = 400;

export class Near {
  /** @type {Hot[]} */
  hot = [];
  /** Room that the path takes at the top. */
  top = 0;
  /** The page's letters, asked for once a size: each look would make the browser style the page anew. */
  family = "";
  /** Room that the walk's bubble takes at the foot. */
  below = 0;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
    this.head = new NearHead(this);
    this.pointing = new Pointing(this);
  }

  get view() {
    return this.travel.view;
  }

  // ---- views ------------------------------------------------------------------------------------------------------

  /** Room at the foot, for the walk's bubble or, on a page, Save. */
  get foot() {
    return this.below || (this.view.figure.stage || this.view.beside ? 16 : 44);
  }

  /** The room for what stands around a place. @type {(place: Place) => Partial<Insets>} */
  margin(place) {
    const { top, foot: bottom } = this;
    const { narrow, figure } = this.view;
    if ("head" in place) return this.head.margin(place, { top, bottom });
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
    const view = "head" in place ? this.head.viewOf(place, rect, /** @type {Insets} */ (this.margin(place))) : null;
    if (view) return view;
    if (!["weight", "positions", "added", "next"].includes(place.at)) return null;
    const most = place.at === "weight" && !this.view.figure.stage ? 1240 : 1500;
    const side = this.view.narrow ? 8 : 40;
    const width = Math.min(most, viewport.width - 2 * side);
    const { top } = this;
    return filled(rect, viewport, { left: (viewport.width - width) / 2, top, width, height: viewport.height - top - this.foot });
  }

  /** @type {(place: { kind: string; layer: number }) => { block: FigureBlock, stack: FigureStack, at: number }} */
  block(place) {
    return /** @type {{ block: FigureBlock, stack: FigureStack, at: number }} */ (blockAt(this.view.figure, place));
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
    const waits = this.travel.moving?.isLate && !this.head.isOwn(place);
    if (!waits) this._paintPlace(context, place, end, rows);
    context.restore();
    context.globalAlpha = 1;
    const filled = this.travel.needs.state(place);
    const { dataset } = this.view.root;
    if (dataset.filled !== filled) dataset.filled = filled;
    if (this.travel.moving) return;
    this.travel.reach?.show(this.hot);
    this.view.beside?.drawn();
  }

  /** @type {(context: Context, place: Place, end: CameraView, rows: number) => void} */
  _paintPlace(context, place, end, rows) {
    if ("head" in place) this.hot.push(...this.head.paint(context, place, end, rows));
    else if (place.at === "block") this._paintBlock(context, place, end);
    else if (place.at === "positions" || place.at === "added" || place.at === "next") this._paintPanel(context, place, end);
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
    const { block, at } = this.block(place);
    context.globalAlpha = alpha;
    this.hot.push(...paintHeads(context, room, { labels: block.labels[at], wide: width * travel.camera.across, over: this.pointing.over }, view.inks));
  }

  /** @type {(context: Context, place: Extract<Place, { at: "positions" | "added" | "next" }>, end: CameraView) => void} */
  _paintPanel(context, place, end) {
    const { travel, view } = this;
    const { figure, inks } = view;
    const room = travel.onScreen(rectOf(place, travel.space, figure));
    const [wider, higher] = [end.across / travel.camera.across, end.up / travel.camera.up];
    const alpha = come(Math.min(room.width / 2, room.height), PANEL, Math.min((wider * room.width) / 2, higher * room.height));
    if (alpha <= 0) return;
    this.ground(context, room, alpha);
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
      this.hot.push(...paintWaves(context, room, { tokens: stack.tokens, positions, token: this.pointing.token }, inks));
      return;
    }
    const at = stack.blocks[0].layers.indexOf(place.layer);
    const count = stack.tokens.length;
    const shares = stack.added?.subarray(at * count, (at + 1) * count) ?? null;
    const data = { tokens: stack.tokens, norm: figure.norm, token: this.pointing.token, shares, answer: this.travel.needs.answer(place) };
    this.hot.push(...paintAdded(context, room, /** @type {AddedData} */ (data), inks));
  }

  /** @type {(context: Context, room: Rectangle, alpha: number) => void} */
  ground(context, { left, top, width, height }, alpha) {
    context.globalAlpha = alpha;
    context.fillStyle = this.view.inks.theme.ground;
    context.fillRect(left, top, width, height);
  }

  /** Whether a cell stands half open. */
  get isBetween() {
    const open = this.head.open(this.travel.place, this.travel.end);
    return open > 0 && open < 1;
  }

  // ---- ways on ----------------------------------------------------------------------------------------------------

  /** The pages on which a place is shown with more around it. @type {(place: Place) => { text: string; open: () => void }[]} */
  ways(place) {
    const { view } = this;
    /** @type {(page: string, text: string, selected: { [parameter: string]: string | number }) => { text: string; open: () => void }[]} */
    const way = (page, text, selected) => (view.figure.pages.includes(page) ? [{ text, open: () => view.open({ page, ...selected }) }] : []);
    if ("head" in place) {
      const { switched, showing } = this.travel;
      const { view: drawnAs, compare } = howSpelled(showing.how);
      const head = { attention: place.kind, layer: this.block(place).at, head: place.head, view: drawnAs, compare, off: switched.spelled };
      const open = way("heads", tr("Open in Heads"), place.at === "weight" ? { ...head, cell: `${place.query}.${place.key}` } : head);
      return this.travel.needs.can.without && !view.beside ? [...open, { text: switched.hasAll(place) ? tr("Switch on") : tr("Switch off"), open: () => switched.toggle(place) }] : open;
    }
    if (place.at === "block") return way("heads", tr("Open in Heads"), { attention: place.kind, layer: this.block(place).at });
    if (place.at === "positions") return way("positions", tr("Open in Positions"), {});
    if (place.at === "next") return way("decoding", tr("Open in Decoding"), { section: "steps", at: place.step + 1 });
    return [];
  }
}
