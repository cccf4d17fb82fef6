// The words on the axes of the page's Plotly charts: what points at one there, and what lights it.

import { axisWords, heed, placesLit, tell } from "../canvas/shared.js";

/** A label as it is read: Plotly takes it as HTML, so Python escapes it. @type {(text: string) => string} */
function unescaped(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

export class Plots {
  /** @type {Map<Chart, Record<string, Hearing>>} */
  known = new Map();
  /** @type {WordRange[] | null} */
  pointed = null;
  /** @type {Tokens | null} */
  tokens = null;

  constructor() {
    this.unheed = heed("tokens", (/** @type {Tokens | null} */ tokens) => (this.tokens = tokens));
  }

  leave() {
    this.unheed();
    for (const chart of this.known.keys()) this._forget(chart);
  }

  /** Listens to the charts that the page has now. */
  find() {
    for (const chart of this.known.keys()) if (!chart.isConnected) this._forget(chart);
    for (const chart of /** @type {NodeListOf<Chart>} */ (document.querySelectorAll(".js-plotly-plot"))) {
      // Plotly adds `on` when it draws.
      if (this.known.has(chart) || !chart.on) continue;
      /** @type {Record<string, Hearing>} */
      const heard = {
        plotly_hover: ({ points: [point] }) => this._point(point),
        plotly_unhover: () => tell("pointed", null),
        plotly_afterplot: () => this._light(chart),
      };
      for (const [name, hear] of Object.entries(heard)) chart.on(name, hear);
      this.known.set(chart, heard);
    }
  }

  /** @type {(pointed: WordRange[] | null) => void} */
  light(pointed) {
    this.pointed = pointed;
    for (const chart of this.known.keys()) this._light(chart);
  }

  /** @type {(chart: Chart) => void} */
  _forget(chart) {
    for (const [name, hear] of Object.entries(this.known.get(chart) ?? {})) chart.removeListener?.(name, hear);
    this.known.delete(chart);
  }

  /** The words of an axis, by its places; a row is the word that it writes.
   * @type {(axis: ChartAxis) => (WordRange | null)[]} */
  _words({ ticktext, tickvals, _id }) {
    /** @type {string[]} */
    const texts = [];
    for (const [place, value] of (tickvals ?? []).entries()) texts[value] = unescaped(String(ticktext?.[place] ?? ""));
    return axisWords(texts, this.tokens, _id.startsWith("y"));
  }

  /** @type {(point: ChartPoint) => void} */
  _point({ x, y, xaxis, yaxis }) {
    /** @type {[ChartAxis | undefined, number][]} */
    const axes = [
      [xaxis, x],
      [yaxis, y],
    ];
    const words = axes.flatMap(([axis, place]) => (axis && Number.isInteger(place) ? (this._words(axis)[place] ?? []) : []));
    if (words.length) tell("pointed", words);
  }

  /** @type {(chart: Chart) => void} */
  _light(chart) {
    const layout = chart._fullLayout ?? {};
    for (const tick of chart.querySelectorAll("g[class*=tick]")) {
      const [, letter, number] = /([xy])(\d*)tick/.exec(tick.getAttribute("class") ?? "") ?? [];
      const axis = layout[`${letter}axis${number}`];
      const { __data__: datum } = /** @type {{ __data__?: { x: number } }} */ (/** @type {unknown} */ (tick));
      const isLit = axis && datum && placesLit(this._words(axis), this.pointed).includes(datum.x);
      tick.classList.toggle("word-lit", Boolean(isLit));
    }
  }
}
