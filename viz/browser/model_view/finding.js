// A search for tokens of a long text: it lights them in all heads, and moves the picture of one head from match to match.

import constants from "../../draw/constants.json" with { type: "json" };
import { element } from "../canvas/dom.js";
import { tr } from "../canvas/wording.js";

/** @import { HeadsView } from "./heads_view.js" */

/** An axis of fewer tokens has room to name each. */
const MANY_TOKENS = 48;
/** Tokens shown before and after a match. */
const SEEN_AROUND = 12;

/** The places of the tokens in which a text occurs; none of an empty one. @type {(texts: string[], wanted: string) => number[]} */
export function placesWith(texts, wanted) {
  const text = wanted.trim().toLowerCase();
  return text ? texts.flatMap((token, place) => (token.toLowerCase().includes(text) ? [place] : [])) : [];
}

export class Finding {
  /** The hit that one is at, counted from 0; -1 for none yet. */
  at = -1;
  shown = "";

  /** @param {HeadsView} heads */
  constructor(heads) {
    this.heads = heads;
    const name = tr("Find a token");
    this.field = element("input", "", { type: "search", "aria-label": name, placeholder: name, title: tr("Enter goes to the next match, Shift+Enter to the previous one") });
    this.count = element("span", "count", { "aria-live": "polite" });
    this.root = element("div", "finding", { hidden: "" }, this.field, this.count);
    this.field.addEventListener("input", () => {
      this._find();
      if (this.field.value) return;
      heads.see(null);
      heads.model.travel.go();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this._next(event.shiftKey ? -1 : 1);
    });
  }

  /** Takes what is shown. */
  show() {
    const { payload, state } = this.heads;
    const key = `${payload.id} ${state.attention}`;
    if (key === this.shown) return;
    this.shown = key;
    this.root.hidden = Math.max(...this._axes.map(({ length }) => length)) < MANY_TOKENS;
    if (this.root.hidden) this.field.value = "";
    this._find();
  }

  /** The texts of queries and of keys. */
  get _axes() {
    const { payload, state } = this.heads;
    const { queries, keys } = payload.kind(state.attention);
    return [payload.axis(queries), payload.axis(keys)];
  }

  _find() {
    const [queries, keys] = this._axes.map((texts) => placesWith(texts, this.field.value));
    const { travel } = this.heads.model;
    travel.near.pointing.found = { queries, keys };
    this.at = -1;
    this.heads.panel.overview.light(this.found);
    this._count();
    if (travel.space) travel.view.drawSoon();
  }

  /** The rows and columns that have what is looked for. */
  get found() {
    return this.heads.model.travel.near.pointing.found;
  }

  /** Where it is found: in rows, or else in columns. */
  get _hits() {
    return this.found.queries.length ? this.found.queries : this.found.keys;
  }

  _count() {
    const n = this._hits.length;
    const { at } = this;
    this.count.textContent = !this.field.value.trim() ? "" : at < 0 ? tr("{n} found", { n }) : tr("{at} of {n}", { at: at + 1, n });
  }

  /** Comes close to the next hit, or the one before. @param {number} step */
  _next(step) {
    const { _hits: hits, found } = this;
    if (!hits.length) return;
    this.at = (this.at < 0 && step < 0 ? hits.length - 1 : this.at + step + hits.length) % hits.length;
    this._count();
    const { payload, state, model } = this.heads;
    const { cells } = model.travel.showing.drawn(this.heads.headPlace)[0];
    const hit = hits[this.at];
    const isRow = found.queries.length > 0;
    const [queries, keys] = this._axes;
    // The cell of the token and itself, or its strongest one.
    const isSame = state.attention !== constants.JOINT && payload.kind(state.attention).queries === payload.kind(state.attention).keys;
    const count = isRow ? keys.length : queries.length;
    const weight = (/** @type {number} */ other) => cells.weights[isRow ? hit * cells.nKeys + other : other * cells.nKeys + hit];
    let other = isSame ? hit : 0;
    if (!isSame) for (let place = 1; place < count; place++) if (weight(place) > weight(other)) other = place;
    this._approach(isRow ? [hit, other] : [other, hit], cells);
  }

  /** @type {(cell: Cell, cells: Cells) => void} */
  _approach([query, key], { nQueries, nKeys }) {
    const { travel } = this.heads.model;
    const place = this.heads.headPlace;
    if (travel.showing.hasLines(place)) return;
    /** @type {(at: number, count: number) => [number, number]} */
    const around = (at, count) => {
      const first = Math.max(0, Math.min(at - SEEN_AROUND, count - 1 - 2 * SEEN_AROUND));
      return [first, Math.min(count - 1, first + 2 * SEEN_AROUND)];
    };
    this.heads.see([...around(query, nQueries), ...around(key, nKeys)]);
    travel.go(place, { lit: { query, key } });
  }
}
