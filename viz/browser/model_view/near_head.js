// A head, a row or a weight, close up: whose tokens and cells are drawn, and in which way.

import constants from "../../draw/constants.json" with { type: "json" };
import { rectangle } from "../canvas/geometry.js";
import { crossOut } from "../canvas/paint.js";
import { tr } from "../canvas/wording.js";
import { come } from "./blocks.js";
import { filled, fitting } from "./camera.js";
import { paintLines } from "./closeups/lines.js";
import { namesAll, paintMatrix } from "./closeups/matrix.js";
import { paintRow } from "./closeups/row.js";
import { LEGEND_LINE, legendLines, paintStripes } from "./closeups/stripes.js";
import { paintWeight } from "./closeups/weight.js";
import { headName, tokenOf } from "./head_words.js";
import { rectOf } from "./space.js";

/** @import { Near } from "./near.js" */

// Sizes on the screen, in CSS pixels, from which something appears, and at which it is there.
const TOKENS = [150, 250];
const ROW = [40, 64];
const CELL = [150, 300];
const LETTERS = 9;
const MOST_CELL = { width: 150, height: 84 };
/** Lines between tokens: the greatest height of a row, in the size of type. */
const LINE_STEP = 3.2;
/** A pointer so many pixels from a cell still means it. */
const CLOSE_BY = 3;
/** How much is hidden of what is seen around a head. */
const PALED = 0.9;
const NO_MARKS = { rows: null, columns: null, head: -1, over: -1 };

export class NearHead {
  /** Whether a whole head is drawn with too little room to name every token. */
  isCut = false;

  /** @param {Near} near */
  constructor(near) {
    this.near = near;
  }

  get travel() {
    return this.near.travel;
  }

  /** The tokens of a head's rows and columns. @type {(place: HeadPlace) => { queries: string[], keys: string[], beside: string[] | null, queryTitle: string, keyTitle: string }} */
  _texts(place) {
    const trace = place.at === "head" ? this.travel.showing.trace : this.travel.view.figure;
    const { queries, keys, beside, queryTitle, keyTitle } = trace.kind(place.kind);
    return { queries: trace.axis(queries), keys: trace.axis(keys), beside: beside === null ? null : trace.axis(beside), queryTitle, keyTitle };
  }

  /** @type {(drawn: DrawnHead[], place: HeadPlace) => CompareName[]} */
  _compared(drawn, place) {
    const kind = this.travel.showing.kind(place);
    return drawn.flatMap(({ layer, head, color }) =>
      color ? [{ layer, head, color, name: tr("L{layer} H{head}", { layer: kind.layers[layer], head }), whole: headName(kind, layer, head) }] : [],
    );
  }

  // ---- views ------------------------------------------------------------------------------------------------------

  /** The room for the tokens around a head. @type {(place: HeadPlace, room: { top: number, bottom: number }) => Insets} */
  margin(place, { top, bottom }) {
    const { em, isLow } = this.near;
    const { showing, viewport } = this.travel;
    const { queries, keys, beside } = this._texts(place);
    const hasLines = showing.hasLines(place);
    const [left, right] = hasLines
      ? [(emsOf(queries) + 3.6) * em, (emsOf(keys) + 3.6) * em]
      : [(emsOf(queries) + 2.4) * em, beside ? (emsOf(beside) + 2.6) * em : 2 * em];
    const names = this._compared(showing.drawn(place), place).map(({ name }) => name);
    const legend = names.length ? LEGEND_LINE * em * legendLines(names, (viewport.width - left - right) / em).length : 0;
    const above = hasLines ? 1.8 * em : 1.3 * em + emsOf(keys) * Math.SQRT1_2 * em;
    const isNamed = Boolean(legend || this.travel.view.beside);
    const titled = place.at !== "head" || isLow ? 0.4 * em : hasLines ? em : (isNamed ? 1.6 : 3.2) * em;
    return { top: top + above + titled + legend, bottom, left, right };
  }

  /** The view of a head, or of a row in it; null for a weight. @type {(place: HeadPlace, rect: Rectangle, margin: Insets) => CameraView | null} */
  viewOf(place, rect, margin) {
    const { viewport, showing } = this.travel;
    const { em } = this.near;
    const { queries, keys } = this._texts(place);
    const wide = viewport.width - margin.left - margin.right;
    if (showing.hasLines(place)) {
      const most = Math.max(queries.length, keys.length) * LINE_STEP * em;
      const height = Math.min(viewport.height - margin.top - margin.bottom, most);
      const width = this.travel.view.figure.stage ? wide : Math.min(wide, 44 * em);
      return filled(rect, viewport, { left: margin.left + (wide - width) / 2, top: margin.top, width, height });
    }
    if (place.at === "head") {
      const { beside, figure } = this.travel.view;
      if (beside?.range) return this._viewOfRange(place, rect, margin, beside.range);
      const view = fitting(rect, viewport, { margin, stretch: { queries: queries.length, keys: keys.length } });
      // It begins where a panel beside it begins, or one above it ends.
      const spare = beside && !figure.stage ? viewport.height - margin.top - margin.bottom - rect.height * view.up : 0;
      return { ...view, y: view.y + spare / 2 / view.up };
    }
    if (place.at !== "row") return null;
    const cell = Math.min(MOST_CELL.width, wide / keys.length);
    return filled(rect, viewport, {
      left: (viewport.width - cell * keys.length) / 2,
      top: margin.top,
      width: cell * keys.length,
      height: Math.min(MOST_CELL.height, Math.max(48, cell)),
    });
  }

  /** The view of some rows and columns of a head. @type {(place: HeadPlace, rect: Rectangle, margin: Insets, range: CellRange) => CameraView} */
  _viewOfRange(place, { left, top, width, height }, margin, [first, last, from, to]) {
    const { nQueries, nKeys } = this.travel.showing.drawn(place)[0].cells;
    const [queries, keys] = [last + 1 - first, to + 1 - from];
    const [wide, high] = [width / nKeys, height / nQueries];
    const seen = rectangle(left + from * wide, top + first * high, keys * wide, queries * high);
    return fitting(seen, this.travel.viewport, { margin, stretch: { queries, keys } });
  }

  /** The rows and columns of a head that are seen beside their tokens; null where all are, or none is. @type {(place: HeadPlace) => CellRange | null} */
  seen(place) {
    const { viewport, showing } = this.travel;
    const { nQueries, nKeys } = showing.drawn(place)[0].cells;
    const { left, top, width, height } = this.room(place);
    const margin = /** @type {Insets} */ (this.near.margin(place));
    /** The first and the last of so many cells whose middle is seen. @type {(count: number, start: number, size: number, from: number, to: number) => [number, number]} */
    const within = (count, start, size, from, to) => [
      Math.max(0, Math.ceil(((from - start) * count) / size - 0.5)),
      Math.min(count - 1, Math.floor(((to - start) * count) / size - 0.5)),
    ];
    const rows = within(nQueries, top, height, viewport.top + margin.top, viewport.top + viewport.height - margin.bottom);
    const columns = within(nKeys, left, width, viewport.left + margin.left, viewport.left + viewport.width - margin.right);
    const [nRows, nColumns] = [rows, columns].map(([first, last]) => last + 1 - first);
    return nRows < 1 || nColumns < 1 || nRows * nColumns === nQueries * nKeys ? null : [...rows, ...columns];
  }

  // ---- painting ---------------------------------------------------------------------------------------------------

  /** Whether a place is drawn otherwise than as the tile of its head. @type {(place: Place) => boolean} */
  isOwn(place) {
    const { showing } = this.travel;
    return "head" in place && (showing.hasLines(place) || !showing.isPlain(place));
  }

  /** Paints what opens in a head on the way to `end`, so many of whose rows are computed.
   * @type {(context: Context, place: HeadPlace, end: CameraView, rows: number) => Hot[]} */
  paint(context, place, end, rows) {
    const { near, travel } = this;
    const { figure, inks } = travel.view;
    const room = this.room(place);
    const wider = end.across / travel.camera.across;
    const open = this.open(place, end);
    const alpha = come(room.width, TOKENS, wider * room.width) * (1 - open);
    if (place.at === "head") return alpha > 0 ? this._paintWhole(context, place, room, alpha, rows) : [];
    const texts = this._texts(place);
    const high = room.height / texts.queries.length;
    const alone = place.at === "row" ? come(high, ROW, (end.up / travel.camera.up) * high) : 0;
    const { block, at } = near.block(place);
    const { weights, exact, rough, allowed } = figure.cells(block, at, place.head);
    // Its tile is seen meanwhile.
    if (rough) return [];
    const head = /** @type {ModelAnswers["head"] | null} */ (travel.needs.answer(place));
    const data = { ...texts, ...(near.isLow && { keyTitle: "" }), weights, rounded: !exact, allowed, head, within: this._window, image: figure.image };
    const matrix = { ...data, row: near.pointing.lit.query, key: near.pointing.lit.key, palette: inks.usual, rows: Math.floor(rows), alphaNumbers: 1, label: "", em: near.em, isStage: figure.stage };
    /** @type {Hot[]} */
    const hot = [];
    if (alpha > alone) {
      context.globalAlpha = alpha - alone;
      hot.push(...paintMatrix(context, room, matrix, inks));
    }
    if (place.at === "row" && alone > 0) hot.push(...this._paintRow(context, place, room, alone, data, matrix));
    if (open <= 0 || place.at !== "weight") return hot;
    const cell = travel.onScreen(rectOf(place, travel.space, figure));
    const { left, top, width, height } = travel.viewport;
    near.ground(context, rectangle(left, top, width, height), open);
    context.globalAlpha = open;
    const isKnown = travel.needs.state(place) !== "no";
    return [...hot, ...paintWeight(context, cell, { ...data, row: place.query, key: place.key, isKnown }, inks)];
  }

  /** A whole head, or several in one picture. @type {(context: Context, place: HeadPlace, room: Rectangle, alpha: number, rows: number) => Hot[]} */
  _paintWhole(context, place, room, alpha, rows) {
    const { near, travel } = this;
    const { showing, view } = travel;
    const { inks } = view;
    const drawn = showing.drawn(place);
    const compared = this._compared(drawn, place);
    const texts = {
      ...{ ...this._texts(place), ...(near.isLow && { keyTitle: "", queryTitle: "" }) },
      ...{ compared, isStage: view.figure.stage, words: near.pointing.words(place), within: this._window },
    };
    this._clear(context, place, room, alpha);
    // Only what has come to rest is described.
    if (!travel.isMoving) this.isCut = !showing.hasLines(place) && !namesAll(context, room, { ...texts, em: near.em }, inks);
    if (showing.hasLines(place)) {
      this._hide(context, room, alpha);
      if (drawn.some(({ cells }) => cells.rough)) return [];
      const kind = showing.kind(place);
      const said = (/** @type {SideToken} */ token) => tokenOf(showing.trace, kind, drawn[0].cells, token);
      const hot = paintLines(context, room, { ...texts, heads: drawn, focus: showing.focus, said, em: near.em }, inks);
      this._crossOut(context, place, room, alpha);
      return hot;
    }
    const isPlain = showing.isPlain(place, drawn);
    if (!isPlain) {
      this._paintCells(context, place, room, alpha, drawn);
      this._crossOut(context, place, room, alpha);
    }
    context.globalAlpha = alpha;
    const [{ cells }] = drawn;
    const head = isPlain ? /** @type {ModelAnswers["head"] | null} */ (travel.needs.answer(place)) : null;
    const hasTitle = !near.isLow && !view.beside;
    const { label, tendency } = (compared.length ? null : showing.trace.facts(place.kind, drawn[0].layer, place.head)) ?? {};
    return paintMatrix(
      context,
      room,
      {
        ...texts,
        ...{ weights: cells.weights, rounded: !cells.exact, allowed: cells.allowed, head, palette: inks.usual, em: near.em, isStage: view.figure.stage },
        ...{ row: near.pointing.lit.query, key: near.pointing.lit.key },
        ...(isPlain && { rows: Math.floor(rows) }),
        alphaNumbers: compared.length || cells.rough ? 0 : 1,
        label: (hasTitle && label) || "",
        tendency: (hasTitle && tendency) || "",
      },
      inks,
    );
  }

  /** The part of the component in which something may be written. @returns {Rectangle} */
  get _window() {
    const { left, top, width, height } = this.travel.viewport;
    return rectangle(left + 8, top + this.near.top + 4, width - 16, height - this.near.top - 8);
  }

  /** Hides a head's own tile, to the last pixel of its edge. @type {(context: Context, room: Rectangle, alpha: number) => void} */
  _hide(context, { left, top, width, height }, alpha) {
    this.near.ground(context, rectangle(left - 1, top - 1, width + 2, height + 2), alpha);
    context.globalAlpha = alpha;
  }

  /** Crosses out what is drawn in the place of a tile, where it is switched off. @type {(context: Context, place: HeadPlace, room: Rectangle, alpha: number) => void} */
  _crossOut(context, place, room, alpha) {
    if (this.travel.switched.hasAll(place) && alpha === 1) crossOut(context, room, this.travel.view.inks.theme);
  }

  /** Cells that are not those of the head's own tile. @type {(context: Context, place: HeadPlace, room: Rectangle, alpha: number, drawn: DrawnHead[]) => void} */
  _paintCells(context, place, room, alpha, drawn) {
    const { showing, scene, view } = this.travel;
    const { inks } = view;
    const tiles = showing.tiles(place, drawn[0]);
    this._hide(context, room, alpha);
    if (drawn.length > 1) {
      paintStripes(context, room, drawn, inks.usual);
      tiles.grid(context, room, 0, inks, alpha, inks.theme.grid);
    } else {
      const { density } = /** @type {{ density: number }} */ (scene.canvas);
      tiles.paint({ context, density, inks, rooms: [room], alphas: [alpha], rows: drawn[0].cells.nQueries, current: -1, marks: NO_MARKS, sharp: this.travel.isMoving ? -1 : 0 });
    }
    const { border } = showing.kind(place);
    if (border === undefined) return;
    context.globalAlpha = alpha;
    context.fillStyle = inks.theme.text;
    context.fillRect(room.left, room.top + (border * room.height) / drawn[0].cells.nQueries - 1, room.width, 2);
    context.fillRect(room.left + (border * room.width) / drawn[0].cells.nKeys - 1, room.top, 2, room.height);
  }

  /** A row by itself, with its keys above it, and below it where its shares go.
   * @type {(context: Context, place: Extract<Place, { at: "row" }>, room: Rectangle, alpha: number, data: Omit<RowData, "row">, matrix: MatrixData) => Hot[]} */
  _paintRow(context, place, room, alpha, data, matrix) {
    const { near, travel } = this;
    const high = room.height / matrix.queries.length;
    const own = rectangle(room.left, room.top + place.query * high, room.width, high);
    const { left, width, top, height } = travel.viewport;
    const side = travel.view.narrow ? 8 : 40;
    const under = own.bottom + 12;
    near.ground(context, rectangle(left, top, width, own.top - top), alpha);
    near.ground(context, rectangle(left, own.bottom, width, top + height - own.bottom), alpha);
    context.globalAlpha = alpha;
    const [from, to] = [place.query * matrix.keys.length, (place.query + 1) * matrix.keys.length];
    const hot = paintMatrix(
      context,
      own,
      {
        ...matrix,
        ...{ queries: [matrix.queries[place.query]], weights: matrix.weights.subarray(from, to), row: 0, rows: 1, head: null },
        allowed: matrix.allowed?.subarray(from, to) ?? null,
        beside: matrix.beside && [matrix.beside[place.query]],
        ...{ keyTitle: "", queryTitle: "", within: undefined },
      },
      travel.view.inks,
    ).map((each) => ({ ...each, act: { at: /** @type {const} */ ("row"), query: place.query } }));
    const panel = rectangle(left + side, under, width - 2 * side, Math.max(200, top + height - near.foot - under));
    return [...hot, ...paintRow(context, panel, { ...data, row: place.query }, travel.view.inks)];
  }

  /** Pales what is seen around a head, where its tokens are written. @type {(context: Context, place: HeadPlace, room: Rectangle, alpha: number) => void} */
  _clear(context, place, room, alpha) {
    const { viewport, view } = this.travel;
    const { left = 0, right = 0 } = this.near.margin(place);
    // A whole stack is seen from so far away that what is around it could be read; beside a panel, that shows the other heads.
    const isAlone = place.kind === constants.JOINT || view.beside !== null;
    context.globalAlpha = isAlone ? alpha : PALED * alpha;
    context.fillStyle = this.travel.view.inks.theme.ground;
    context.beginPath();
    if (isAlone) context.rect(viewport.left, viewport.top, viewport.width, viewport.height);
    else context.rect(room.left - left, viewport.top, left + room.width + right, room.bottom + this.near.em - viewport.top);
    context.rect(room.left, room.top, room.width, room.height);
    context.fill("evenodd");
  }

  // ---- where things are -------------------------------------------------------------------------------------------

  /** Where the cells of a place's head lie on the screen. @type {(place: HeadPlace) => Rectangle} */
  room({ kind, layer, head }) {
    const { space, view } = this.travel;
    return this.travel.onScreen(rectOf({ at: "head", kind, layer, head }, space, view.figure));
  }

  /** The cell of a head's picture at a point of the component: of cells too small to be met, the one close by with the largest weight;
   * null outside, and where lines are drawn.
   * @type {(place: HeadPlace, x: number, y: number) => Cell | null} */
  cellAt(place, x, y) {
    const { showing } = this.travel;
    if (showing.hasLines(place)) return null;
    const { left, top, width, height } = this.room(place);
    const [{ cells }] = showing.drawn(place);
    const { nQueries, nKeys } = cells;
    const [query, key] = [Math.floor(((y - top) / height) * nQueries), Math.floor(((x - left) / width) * nKeys)];
    if (query < 0 || key < 0 || query >= nQueries || key >= nKeys) return null;
    const [down, across] = [height / nQueries, width / nKeys].map((size) => Math.floor(CLOSE_BY / size));
    /** @type {Cell} */
    let best = [query, key];
    for (let row = Math.max(0, query - down); row <= Math.min(nQueries - 1, query + down); row++) {
      for (let column = Math.max(0, key - across); column <= Math.min(nKeys - 1, key + across); column++) {
        if (cells.weights[row * nKeys + column] > cells.weights[best[0] * nKeys + best[1]]) best = [row, column];
      }
    }
    return best;
  }

  /** The row beside whose cells a point lies, where its tokens are written, or the column above whose cells it does; null for neither.
   * @type {(place: HeadPlace, x: number, y: number) => Partial<Record<Axis, number>> | null} */
  labelAt(place, x, y) {
    const room = this.room(place);
    const { left = 0, right = 0 } = this.near.margin(place);
    const isBeside = x >= room.left - left && x < room.right + right;
    const beside = isBeside && this.cellAt(place, room.left, y);
    const above = y < room.top && y >= this.travel.viewport.top && this.cellAt(place, x, room.top);
    return beside ? { queries: beside[0] } : above ? { keys: above[1] } : null;
  }

  /** How far a weight's cell has opened, 0 to 1. @type {(place: Place, end: CameraView) => number} */
  open(place, end) {
    if (place.at !== "weight") return 0;
    const { camera, space } = this.travel;
    const { block } = this.near.block(place);
    const { width, height } = space.heads[`${place.kind}.${place.layer}`];
    const size = (/** @type {CameraView} */ { across, up }) => Math.min((width * across) / block.keys, (1.6 * height * up) / block.queries);
    return come(size(camera), CELL, size(end));
  }
}

/** How long the longest token is as it is written, in its size. @type {(texts: string[]) => number} */
function emsOf(texts) {
  const lengths = texts.map((text) => Array.from(text).reduce((sum, letter) => sum + (letter > "\u2e80" ? 1 : 0.58), 0));
  return Math.min(LETTERS, Math.max(0.6, ...lengths));
}
