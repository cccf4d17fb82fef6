// The words on the axes of the page's Plotly charts: what points at one there, and what lights it.

import { axisWords, heed, placesLit, tell } from "../canvas/shared.js";

/** A label as it is read: Plotly takes it as HTML, so Python escapes it. */
function unescaped(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

export class Plots {
  constructor() {
    this.known = new Map();
    this.pointed = null;
    this.unheed = heed("tokens", (tokens) => (this.tokens = tokens));
  }

  leave() {
    this.unheed();
    for (const chart of this.known.keys()) this._forget(chart);
  }

  /** Listens to the charts that the page has now. */
  find() {
    for (const chart of this.known.keys()) if (!chart.isConnected) this._forget(chart);
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
      // Plotly adds `on` when it draws.
      if (this.known.has(chart) || !chart.on) continue;
      const heard = {
        plotly_hover: ({ points: [point] }) => this._point(point),
        plotly_unhover: () => tell("pointed", null),
        plotly_afterplot: () => this._light(chart),
      };
      for (const [name, hear] of Object.entries(heard)) chart.on(name, hear);
      this.known.set(chart, heard);
    }
  }

  light(pointed) {
    this.pointed = pointed;
    for (const chart of this.known.keys()) this._light(chart);
  }

  _forget(chart) {
    for (const [name, hear] of Object.entries(this.known.get(chart))) chart.removeListener?.(name, hear);
    this.known.delete(chart);
  }

  /** The words of an axis, by its places; a row is the word that it writes. */
  _words({ ticktext, tickvals, _id }) {
    const texts = [];
    for (const [place, value] of (tickvals ?? []).entries()) texts[value] = unescaped(String(ticktext?.[place] ?? ""));
    return axisWords(texts, this.tokens, _id.startsWith("y"));
  }

  _point({ x, y, xaxis, yaxis }) {
    const words = [
      [xaxis, x],
      [yaxis, y],
    ].flatMap(([axis, place]) => (axis && Number.isInteger(place) ? (this._words(axis)[place] ?? []) : []));
    if (words.length) tell("pointed", words);
  }

  _light(chart) {
    const layout = chart._fullLayout ?? {};
    for (const tick of chart.querySelectorAll("g[class*=tick]")) {
      const [, letter, number] = /([xy])(\d*)tick/.exec(tick.getAttribute("class")) ?? [];
      const axis = layout[`${letter}axis${number}`];
      const isLit = axis && placesLit(this._words(axis), this.pointed).includes(tick.__data__?.x);
      tick.classList.toggle("word-lit", Boolean(isLit));
    }
  }
}
