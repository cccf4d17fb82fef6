// How heads are shown at the place of one: several compared, as lines, all three kinds in one, faint weights brought out.

import constants from "../../draw/constants.json" with { type: "json" };
import { plainKey, typing } from "../canvas/keys.js";
import { tr } from "../canvas/wording.js";
import { HeadTiles, Inks } from "./blocks.js";
import { altOf } from "./head_words.js";
import { USUAL_HOW, headsAt, shownHeads, withCompared } from "./how.js";

/** @import { Travel } from "./travel.js" */

/** With how much of it weights are drawn where nothing lets a person choose. */
const GAMMA = 0.7;
/** A head alone is drawn with at least so many rows and columns, as far as it has them. */
const SMALLEST = 64;

export class Showing {
  how = USUAL_HOW;
  /** Whether a person can bring out faint weights. */
  hasGamma = false;
  /** The token whose lines alone are drawn, and one that is pointed at meanwhile. @type {SideToken | null} */
  pinned = null;
  /** @type {SideToken | null} */
  hovered = null;
  /** The cells of a head that is not drawn in its block. @type {{ key: string, tiles: HeadTiles } | null} */
  own = null;

  /** Called when a person has chosen another way, at the place. @type {((how: How) => void) | null} */
  told = null;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
  }

  /** The trace in the reading in which heads are drawn. @returns {TracePayload} */
  get trace() {
    const { figure } = this.travel.view;
    return figure.reading ?? figure;
  }

  /** The colours of a theme. @type {(theme: ShownTheme) => Inks} */
  inks(theme) {
    return new Inks(theme, this.hasGamma ? this.how.gamma : GAMMA);
  }

  /** Takes another way to show heads, which is drawn with the next frame. @param {How} how */
  take(how) {
    const { view } = this.travel;
    const { gamma, view: drawnAs } = this.how;
    this.how = how;
    if (how.view !== drawnAs) this.pinned = this.hovered = null;
    if (how.gamma !== gamma && view.inks) {
      view.inks = this.inks(view.inks.theme);
      view.size();
    }
  }

  /** Shows heads in another way. @type {(changes: Partial<How>) => void} */
  change(changes) {
    this.take({ ...this.how, ...changes });
    this.told?.(this.how);
    // What is drawn now may need more room, or less.
    this.travel.go();
  }

  /** A kind of attention as it is read. @type {(place: { kind: string }) => Kind} */
  kind({ kind }) {
    return this.trace.kind(kind);
  }

  /** A place's layer, counted from 0, and its head. @type {(place: { kind: string; layer: number; head: number }) => Compared} */
  _compared(place) {
    return { layer: this.kind(place).layers.indexOf(place.layer), head: place.head, compare: this.how.compare };
  }

  /** The heads that are drawn at a place, with their colours where they are several. @type {(place: HeadPlace) => DrawnHead[]} */
  drawn(place) {
    const at = this._compared(place);
    const { theme } = this.travel.view.inks;
    const isAmong = at.compare.some(([layer, head]) => layer === at.layer && head === at.head);
    const shown = place.at === "head" && isAmong ? shownHeads(at) : [/** @type {Pair} */ ([at.layer, at.head])];
    return shown.map(([layer, head], index) => ({
      layer,
      head,
      color: shown.length > 1 ? theme.heads[index % theme.heads.length] : null,
      cells: this.trace.cells(place.kind, layer, head),
    }));
  }

  /** The heads that are drawn at a place, each by its own kind. @type {(place: HeadPlace) => NamedHead[]} */
  named(place) {
    return this.drawn(place).flatMap(({ layer, head }) =>
      headsAt(this.trace, place.kind, layer, head).map((name) => {
        const [kind, ...numbers] = name.split(".");
        return /** @type {NamedHead} */ ([kind, ...numbers.map(Number)]);
      }),
    );
  }

  /** What is drawn at the place of a head, in one sentence for each. @type {(place: HeadPlace) => string} */
  said(place) {
    return altOf(this.trace, this.kind(place), this.drawn(place));
  }

  /** Whether a head is drawn as its tile is: alone, as a matrix of its own kind, and as it was recorded. @type {(place: HeadPlace, drawn?: DrawnHead[]) => boolean} */
  isPlain(place, drawn = this.drawn(place)) {
    return drawn.length === 1 && place.kind !== constants.JOINT && !this.travel.view.figure.reading;
  }

  /** @type {(place: Place) => boolean} */
  hasLines(place) {
    return place.at === "head" && this.how.view === "lines";
  }

  /** The token whose lines alone are drawn. */
  get focus() {
    return this.hovered ?? this.pinned;
  }

  /** One head's cells, large. @type {(place: HeadPlace, drawn: DrawnHead) => HeadTiles} */
  tiles(place, { layer, head, cells }) {
    const { id } = this.travel.view.figure;
    const key = [id, place.kind, layer, head, cells.rough].join();
    if (this.own?.key !== key) {
      const tiles = new HeadTiles({ cells: () => cells, sketch: () => cells, isRough: () => cells.rough }, { kind: place.kind, heads: 1, queries: cells.nQueries, keys: cells.nKeys }, 0);
      this.own = { key, tiles };
    }
    const { tiles } = this.own;
    if (tiles.inks !== this.travel.view.inks) tiles.rest(SMALLEST, SMALLEST, this.travel.view.inks);
    return tiles;
  }

  // ---- comparing --------------------------------------------------------------------------------------------------

  /** Whether a press on another head adds it to the picture. */
  get isComparing() {
    return this.how.compare.length > 0;
  }

  /** Adds a head to the picture of the place, or takes it out. @type {(place: { kind: string; layer: number; head: number }) => void} */
  compare(place) {
    const { travel } = this;
    const from = "head" in travel.place && travel.place.kind === place.kind ? travel.place : place;
    const { layer, head } = this._compared(place);
    const begins = !this.isComparing;
    const next = withCompared(this._compared(from), layer, head);
    if (!next) {
      travel.tell(tr("Up to {most} heads can be compared.", { most: constants.MOST_COMPARED }));
      return;
    }
    this.take({ ...this.how, compare: next.compare });
    travel.go({ at: "head", kind: place.kind, layer: this.kind(place).layers[next.layer], head: next.head });
    this.told?.(this.how);
    if (begins) travel.tell(`${tr("Click more heads to compare them, up to eight in all.")} ${tr("Escape ends the comparison.")}`);
  }

  /** Draws a token's lines alone, or all of them again. @param {SideToken} token */
  pin(token) {
    const { pinned } = this;
    this.pinned = pinned?.side === token.side && pinned.index === token.index ? null : token;
    this.hovered = null;
    this.told?.(this.how);
    this.travel.view.drawSoon();
  }

  /** Lets go of one thing that is chosen beside the place; whether there was any. */
  letGo() {
    const { travel } = this;
    if (travel.place.at !== "head") return false;
    if (this.pinned) {
      this.pinned = null;
      this.told?.(this.how);
      travel.view.say(tr("All lines are shown."));
      travel.view.drawSoon();
    } else if (this.isComparing) {
      this.change({ compare: [] });
      travel.view.say(tr("Comparison ended."));
    } else return false;
    return true;
  }

  /** Follows a key at the place of a head; whether it was one. @type {(event: KeyboardEvent) => boolean} */
  key(event) {
    const { place } = this.travel;
    if (place.at !== "head" || typing(event)) return false;
    const key = plainKey(event);
    if (key === "v") this.change({ view: this.how.view === "lines" ? "heatmap" : "lines" });
    else if (key === "c") this.compare(place);
    else return false;
    return true;
  }
}
