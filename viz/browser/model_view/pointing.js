// What a pointer is on, close up: what it lights, what is said of it, and what a press does.

import constants from "../../draw/constants.json" with { type: "json" };
import { said } from "../canvas/controls.js";
import { element, classed } from "../canvas/dom.js";
import { heed, meets, tell } from "../canvas/shared.js";
import { labelled, lowered, tr } from "../canvas/wording.js";
import { cellName, cellValue, headName } from "./head_words.js";
import { saidOf } from "./place_words.js";
import { partOfJoint, samePlace } from "./places.js";

/** @import { Near } from "./near.js" */

/** The rows and columns of a kind that stand for words. @type {(trace: TracePayload, kind: string, words: WordRange[]) => Places} */
export function placesMeeting(trace, kind, words) {
  const places = (/** @type {Axis} */ axis) => trace.words(kind, axis).flatMap((word, place) => (word && meets(word, words) ? [place] : []));
  return { queries: places("queries"), keys: places("keys") };
}

export class Pointing {
  /** What is lit in the head that one is near. @type {{ query: number, key: number }} */
  lit = { query: -1, key: -1 };
  /** As it was when one came to the place. */
  turned = this.lit;
  /** The token that is pointed at in a panel. */
  token = -1;
  /** The head that is pointed at in its layer. */
  over = -1;
  /** Words that are pointed at in other pictures of the page. @type {WordRange[] | null} */
  heard = null;
  /** Rows and columns that are looked for. @type {Places} */
  found = { queries: [], keys: [] };
  isTelling = false;
  /** Whether words that are pointed at here are lit in other pictures. */
  hasTold = false;

  /** @param {Near} near */
  constructor(near) {
    this.near = near;
    this.unheed = heed("pointed", (/** @type {WordRange[] | null} */ words) => {
      this.heard = this.isTelling ? null : words;
      if (!this.travel.isWhole) this.travel.view.drawSoon();
    });
    this.onLeave = () => this._left();
    this.travel.view.root.addEventListener("pointerleave", this.onLeave);
  }

  dispose() {
    this.unheed();
    this.travel.view.root.removeEventListener("pointerleave", this.onLeave);
  }

  get travel() {
    return this.near.travel;
  }

  /** Turns to a place, or to a row and a column in it. @type {(place: Place, lit?: { query?: number; key?: number }) => void} */
  turn(place, lit = {}) {
    this.lit = this.turned = { query: -1, key: -1, ...place, ...lit };
    this.token = this.over = -1;
    this._tell(null);
  }

  /** Lights what was lit before anything was pointed at. */
  _left() {
    this.lit = this.turned;
    this.token = this.over = -1;
    this.travel.showing.hovered = null;
    this._tell(null);
  }

  // ---- words ------------------------------------------------------------------------------------------------------

  /** The rows and columns of a head whose words are pointed at elsewhere. @type {(place: HeadPlace) => Places} */
  words({ kind }) {
    return this.heard ? placesMeeting(this.travel.showing.trace, kind, this.heard) : this.found;
  }

  /** Lets every picture of the page light the words of a row and a column; null for none. @type {(at: Partial<Record<Axis, number>> | null) => void} */
  _tell(at) {
    const { place, showing } = this.travel;
    const entries = /** @type {[Axis, number][]} */ ("kind" in place && at ? Object.entries(at) : []);
    const words = entries.flatMap(([axis, index]) => showing.trace.words(/** @type {HeadPlace} */ (place).kind, axis)[index] ?? []);
    if (!words.length && !this.hasTold) return;
    this.hasTold = words.length > 0;
    this.isTelling = true;
    tell("pointed", words.length ? words : null);
    this.isTelling = false;
  }

  // ---- pointing ---------------------------------------------------------------------------------------------------

  /** A point of the window, in the component. @type {(spot: Spot) => [x: number, y: number]} */
  _inRoot({ clientX, clientY }) {
    const { left, top } = this.travel.view.root.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  /** @type {(spot: Spot) => Hot | null} */
  hotAt(spot) {
    const [x, y] = this._inRoot(spot);
    return this.near.hot.find((each) => each.left <= x && x < each.right && each.top <= y && y < each.bottom) ?? null;
  }

  /** The cell that is drawn at a point of the window, at the place of a head. @type {(spot: Spot) => Cell | null} */
  _cellAt(spot) {
    const { place } = this.travel;
    return place.at === "head" ? this.near.head.cellAt(place, ...this._inRoot(spot)) : null;
  }

  /** The row or the column whose tokens are written at a point of the window, at the place of a head. @type {(spot: Spot) => Partial<Record<Axis, number>> | null} */
  _labelAt(spot) {
    const { place } = this.travel;
    return place.at === "head" ? this.near.head.labelAt(place, ...this._inRoot(spot)) : null;
  }

  /** Lights what the pointer is on, and says it. @type {(event: PointerEvent | null) => void} */
  point(event) {
    const { travel } = this;
    const { view } = travel;
    if (!event || travel.moving || event.pointerType !== "mouse") return;
    if (travel.isApart(event)) {
      view.tip.hidden = true;
      return;
    }
    const hot = this.hotAt(event);
    const cell = this._cellAt(event);
    const { place: own } = travel;
    const place = travel.under(event);
    const under = "head" in place && "head" in own && place.head === own.head ? place : null;
    const label = cell ? null : this._labelAt(event);
    const lit = {
      query: cell ? cell[0] : "query" in own ? own.query : (label?.queries ?? -1),
      key: cell ? cell[1] : under && "key" in under ? under.key : "key" in own ? own.key : (label?.keys ?? -1),
    };
    const act = hot && "at" in hot.act ? hot.act : null;
    const token = act?.at === "token" ? act.token : -1;
    const over = act?.at === "head" ? act.head : -1;
    const end = act?.at === "end" ? act : null;
    classed(view.root, "presses", Boolean(hot ?? cell ?? (under && under.at !== own.at)));
    if (hot && token < 0 && !end) view.tell(event, element("span", "", {}, hot.label));
    else if (cell && own.at === "head") view.tell(event, ...this._cellLines(own, cell));
    else if (under?.at === "weight" && own.at !== "weight") view.tell(event, element("span", "", {}, saidOf(under, view.figure)));
    else view.tip.hidden = true;
    const { showing } = travel;
    const isSame = lit.query === this.lit.query && lit.key === this.lit.key && token === this.token && over === this.over;
    if (isSame && showing.hovered?.side === end?.side && showing.hovered?.index === end?.index) return;
    this.lit = own.at === "weight" ? this.lit : lit;
    Object.assign(this, { token, over });
    showing.hovered = end && { side: end.side, index: end.index };
    if (cell) this._tell({ queries: cell[0], keys: cell[1] });
    else this._tell(label ?? (end && { [end.side === "query" ? "queries" : "keys"]: end.index }));
    view.drawSoon();
  }

  /** What is said of a cell: its tokens, each drawn head's weight, and what comes next. @type {(place: HeadPlace, cell: Cell) => HTMLElement[]} */
  _cellLines(place, cell) {
    const { showing } = this.travel;
    const kind = showing.kind(place);
    const drawn = showing.drawn(place);
    const lines = drawn.map(({ layer, head, color, cells }) => {
      const value = cellValue(cells, cell);
      const line = said("", color ? labelled(headName(kind, layer, head), value) : value);
      if (color) {
        const swatch = element("span", "swatch");
        swatch.style.background = color;
        line.prepend(swatch);
      }
      return line;
    });
    const beside = kind.beside === null ? "" : showing.trace.axis(kind.beside)[cell[0]];
    if (beside) lines.push(said("beside", labelled(lowered(kind.besideTitle ?? ""), beside)));
    return [said("strong", cellName(showing.trace, kind, cell)), ...lines];
  }

  // ---- pressing ---------------------------------------------------------------------------------------------------

  /** Does what a click asks for: with Shift, Ctrl or while heads are compared, another head joins them. @param {MouseEvent} event */
  click(event) {
    const { travel } = this;
    const { place, showing } = travel;
    const adds = event.shiftKey || event.ctrlKey || event.metaKey;
    const hot = this.hotAt(event);
    if (hot) {
      this.act(hot.act, adds);
      return;
    }
    const cell = this._cellAt(event);
    const { beside } = travel.view;
    if (!cell && beside && place.at === "head") {
      // Around it, nothing is seen that could be meant.
      if (showing.pinned) showing.letGo();
      else if (beside.picked) beside.pick(beside.picked);
      return;
    }
    const to = travel.under(event);
    const isOther = "head" in to && !("head" in place && place.kind === to.kind && place.layer === to.layer && place.head === to.head);
    if (isOther && (adds || (showing.isComparing && place.at === "head"))) showing.compare(to);
    // Cells that are not the tile's own, or that are too small to be places, are met by what is drawn.
    else if (cell && place.at === "head" && !isOther && (beside || to.at === "head" || !showing.isPlain(place, showing.drawn(place).slice(0, 1)))) this._open(...cell);
    else if (showing.hasLines(place) && !isOther) showing.letGo();
    else if (to.at !== "model" && !samePlace(to, place)) travel.go(to);
  }

  /** Does what a press asks for; `adds` a head to those that are compared. @type {(act: CloseUpAct, adds?: boolean) => void} */
  act(act, adds = false) {
    const { travel } = this;
    const { place, showing } = travel;
    if ("ask" in act) travel.needs.instead(act);
    else if (act.at === "token") {
      this.token = act.token;
      travel.view.drawSoon();
    } else if (act.at === "end") showing.pin({ side: act.side, index: act.index });
    else if (act.at === "compared") showing.compare({ .../** @type {HeadPlace} */ (place), layer: showing.kind(/** @type {HeadPlace} */ (place)).layers[act.layer], head: act.head });
    else if (act.at === "head") {
      const to = { .../** @type {Extract<Place, { at: "block" }>} */ (place), ...act };
      if (adds) showing.compare(to);
      else travel.go(to);
    } else if (place.at === "head") this._open(act.query, "key" in act ? act.key : null);
    else if ("head" in place) travel.go({ ...place, ...act });
  }

  /** Opens a row of the head that one is at, or a weight in it. @type {(query: number, key: number | null) => void} */
  _open(query, key) {
    const { travel } = this;
    const { figure } = travel.view;
    const place = /** @type {HeadPlace} */ (travel.place);
    if (figure.reading) {
      if (key !== null) travel.view.beside?.pick([query, key]);
      travel.tell(tr("A weight opens where tokens are shown as they were recorded."));
      return;
    }
    const { layer, head } = place;
    const to = place.kind === constants.JOINT ? partOfJoint(figure, query, key) : { kind: place.kind, query, key };
    if (!to) return;
    const row = { kind: to.kind, layer, head, query: to.query };
    travel.go(to.key === null ? { at: "row", ...row } : { at: "weight", ...row, key: to.key });
  }
}
