// A chart that Plotly draws, whose events are heard.

/** Streamlit adds the chart after our script, and replaces it with each new figure. */
export class HeardChart {
  key = "";
  /** @type {Chart | null} */
  chart = null;

  /**
   * @param {Record<string, Hearing>} heard - called for Plotly's events, by their names.
   * @param {(chart: Chart) => void} onFound - called with each new chart.
   */
  constructor(heard, onFound = () => {}) {
    this.heard = heard;
    this.onFound = onFound;
    this.observer = new MutationObserver(() => this._find());
    this.observer.observe(document.body, { childList: true, subtree: true });
  }

  /** Hears the chart with that key of Streamlit's from now on. @param {string} key */
  follow(key) {
    this.key = key;
    this._find();
  }

  dispose() {
    this.observer.disconnect();
    this._leave();
  }

  _find() {
    const chart = /** @type {Chart | null} */ (document.querySelector(`.st-key-${this.key} .js-plotly-plot`));
    // Plotly adds `on` when it draws.
    if (!chart?.on || chart === this.chart) return;
    this._leave();
    this.chart = chart;
    for (const [name, hear] of Object.entries(this.heard)) chart.on(name, hear);
    this.onFound(chart);
  }

  _leave() {
    for (const [name, hear] of Object.entries(this.heard)) this.chart?.removeListener?.(name, hear);
  }
}
