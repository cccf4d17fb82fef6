// The heads of two runs as viz/compare/payload.py sends them, and one of them large: first, second and their difference.

import { Tooltip, said, toggle } from "../canvas/controls.js";
import { element } from "../canvas/dom.js";
import { labelled, tr } from "../canvas/wording.js";
import { Panel, StepPalette, readPanel, signedNumber } from "../matrices/panel.js";

/** @import { Given, Sent } from "../matrices/panel.js" */

/**
 * @typedef {object} SentHead
 * @property {string} part - the head as the address names it.
 * @property {string} name - the head in short.
 * @property {string} full - and in full.
 * @property {string} said - the head with how much of its weight differs.
 * @property {string} share - how much of its weight differs.
 * @property {number} layer - its row.
 * @property {number} number
 * @property {[Uint8Array | Float32Array, Uint8Array | Float32Array]} weights - in both runs.
 * @property {[Uint8Array | null, Uint8Array | null]} allowed - in both runs.
 */
/** @typedef {{ queries: string[], keys: string[] }} Axes */
/**
 * @typedef {object} SentKind
 * @property {string} name
 * @property {number[]} layers
 * @property {number} columns
 * @property {string} queryTitle
 * @property {string} keyTitle
 * @property {[Axes, Axes, Axes]} axes - of both runs, and of what both have.
 * @property {[[number, number][], [number, number][]]} aligned - the queries and the keys that both have, by their places in both.
 * @property {SentHead[]} heads
 */
/** @typedef {SentHead & { difference: Given }} PairedHead */
/** @typedef {Omit<SentKind, "heads"> & { heads: PairedHead[] }} PairedKind */

/** Weights between 0 and 1. @type {(sent: Uint8Array | Float32Array) => Float32Array} */
export function weightsOf(sent) {
  return sent instanceof Float32Array ? sent : Float32Array.from(sent, (step) => step / 255);
}

/** The second weight less the first between tokens that both runs have.
 * @type {(kind: Pick<SentKind, "axes" | "aligned">, first: Float32Array, second: Float32Array) => Float32Array} */
export function differenceOf({ axes, aligned: [queries, keys] }, first, second) {
  const [one, other] = axes;
  return Float32Array.from(
    queries.flatMap(([i, j]) => keys.map(([k, l]) => second[j * other.keys.length + l] - first[i * one.keys.length + k])),
  );
}

/** @type {(kind: SentKind, run: 0 | 1 | 2, title: string, values: Float32Array, shown: Uint8Array | null, limit: number) => Given} */
function panelOf({ axes, queryTitle, keyTitle }, run, title, values, shown, limit) {
  /** @type {Sent} */
  const sent = {
    ...axes[run],
    ...{ title, queryTitle, keyTitle, values, shown, beside: null, besideTitle: "", note: "", sign: "", alt: title },
    ...{ scale: run === 2 ? "signed" : "weights", low: run === 2 ? -limit : 0, high: run === 2 ? limit : 1 },
    ...{ base: null, reasons: null, start: null, digits: 2, least: null, unit: "", names: [], legend: [], byEdit: 0, pointed: "", hatched: null, reads: [] },
    colors: { light: [], dark: [] },
  };
  return readPanel(sent);
}

/** The kinds with every head's difference, which is at most `limit`. @type {(kinds: SentKind[], limit: number) => PairedKind[]} */
export function readKinds(kinds, limit) {
  return kinds.map((kind) => ({
    ...kind,
    heads: kind.heads.map((head) => {
      const [first, second] = head.weights.map(weightsOf);
      return { ...head, difference: panelOf(kind, 2, tr("Second − first"), differenceOf(kind, first, second), null, limit) };
    }),
  }));
}

/** Labels of neighbours stand alike: upright if one of them has no room for others. */
class PairPanel extends Panel {
  upright = false;

  /** @type {(context: Context, across: number) => number} */
  _fitKeys(context, across) {
    const widest = super._fitKeys(context, across);
    if (!this.upright) return widest;
    this.slope = 90;
    this.keySize = Math.min(this.size, across / 1.15);
    return Math.min(this._widestKey(context, this.keySize), 9 * this.rem);
  }
}

/** One head in both runs, and the difference: beside them where there is room, else in their place. */
export class LargePair {
  /** @type {PairedKind} */
  kind;
  /** @type {PairedHead} */
  head;
  /** @type {Given[]} */
  given = [];
  pointing = false;
  differs = false;

  /** @param {HTMLElement} root - the component's. @param {() => void} onTurn - draws it again. */
  constructor(root, onTurn) {
    this.tooltip = new Tooltip(root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    this.title = element("h3", "");
    this.share = element("span", "");
    this.turn = toggle(tr("Difference"), tr("Show the second less the first"), () => {
      this.differs = !this.differs;
      onTurn();
    });
    this.top = element("div", "head", {}, this.title, this.share, this.turn);
    const nothing = () => {};
    const empty = panelOf({ axes: [none(), none(), none()], ...noHeads }, 0, "", new Float32Array(), null, 1);
    this.panels = [0, 1, 2].map((run) => {
      const point = (/** @type {Cell | null} */ cell, /** @type {Spot | undefined} */ place, /** @type {boolean | undefined} */ spoken) =>
        this._point(run, cell, place, spoken);
      return new PairPanel({ point, scrolled: nothing, zoomed: nothing, stroked: nothing, edited: nothing }, empty);
    });
    for (const panel of this.panels) panel.frame.replaceChildren(panel.title, panel.room);
  }

  /** @type {(kind: PairedKind, head: PairedHead, names: string[], limit: number, theme: ShownTheme, height: number, columns: number) => void} */
  draw(kind, head, names, limit, theme, height, columns) {
    Object.assign(this, { kind, head });
    this.title.textContent = head.full;
    this.share.textContent = head.share;
    this.turn.hidden = columns !== 2;
    this.turn.setAttribute("aria-pressed", String(this.differs));
    const only = columns === 2 && this.differs;
    const [first, second] = head.weights.map(weightsOf);
    this.given = [
      panelOf(kind, 0, names[0], first, head.allowed[0], limit),
      panelOf(kind, 1, names[1], second, head.allowed[1], limit),
      head.difference,
    ];
    this.pointing = true;
    for (const [run, panel] of this.panels.entries()) {
      panel.title.textContent = panel.title.title = this.given[run].title;
      panel.canvas.setAttribute("aria-label", tr("{name}: {head}. Arrow keys move among cells.", { name: this.given[run].title, head: head.full }));
      panel.frame.hidden = columns === 2 && (run === 2) !== only;
      panel.frame.style.gridColumn = only ? "1 / -1" : "";
    }
    const shown = this.panels.filter(({ frame }) => !frame.hidden);
    const draw = (/** @type {boolean} */ upright, /** @type {number} */ most) => {
      for (const panel of shown) {
        const run = this.panels.indexOf(panel);
        const above = Math.max(0, most - panel.top);
        panel.upright = upright;
        panel.room.style.paddingTop = `${above}px`;
        panel.update(this.given[run], new StepPalette(theme, run === 2 ? theme.signed : theme.weights, false), height - above, 0);
      }
    };
    draw(false, 0);
    if (columns > 1) {
      draw(new Set(shown.map(({ slope }) => slope)).size > 1, 0);
      // Rows of neighbours stand at one height.
      draw(shown[0].slope === 90, Math.max(...shown.map(({ top }) => top)));
    }
    this.pointing = false;
    this.tooltip.show(null);
  }

  /** The cell of each run that stands for one cell of a run; null where there is none.
   * @type {(run: number, cell: Cell) => (Cell | null)[]} */
  _cells(run, cell) {
    const [query, key] = this.kind.aligned.map((pairs, axis) => (run === 2 ? cell[axis] : pairs.findIndex((pair) => pair[run] === cell[axis])));
    const both = query >= 0 && key >= 0;
    return [0, 1, 2].map((other) => {
      if (other === run) return cell;
      if (!both) return null;
      return other === 2 ? [query, key] : [this.kind.aligned[0][query][other], this.kind.aligned[1][key][other]];
    });
  }

  /** @type {(run: number, cell: Cell | null, place?: Spot, spoken?: boolean) => void} */
  _point(run, cell, place, spoken) {
    if (this.pointing || !this.kind) return;
    this.pointing = true;
    const cells = cell ? this._cells(run, cell) : [null, null, null];
    const lines = this.panels.flatMap((panel, other) => {
      const own = cells[other];
      if (other !== run && !panel.frame.hidden) panel._mark(own);
      if (!own) return [];
      const value = this.given[other].cells.values[own[0] * this.given[other].keys.length + own[1]];
      const number = other === 2 ? `${value > 0 ? "+" : ""}${signedNumber(value, 2)}` : signedNumber(value, 2);
      return [said("", labelled([tr("First"), tr("Second"), tr("Second − first")][other], number))];
    });
    this.pointing = false;
    if (!cell) {
      this.tooltip.show(null);
      return;
    }
    const { queries, keys } = this.panels[run];
    const heading = tr("“{query}” to “{key}”", { query: queries[cell[0]], key: keys[cell[1]] });
    this.tooltip.show(place ?? null, said("strong", heading), ...lines);
    if (spoken) this.spoken.textContent = [heading, ...lines.map((line) => line.textContent)].join(", ");
  }
}

/** @type {() => Axes} */
function none() {
  return { queries: [], keys: [] };
}

/** @type {Omit<SentKind, "axes">} */
const noHeads = { name: "", layers: [], columns: 0, queryTitle: "", keyTitle: "", aligned: [[], []], heads: [] };
