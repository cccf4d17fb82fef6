// Clicks on a chart that Plotly draws.

/**
 * Sends numbered clicks, each again until the server has answered it: a newer message can replace one that Python
 * has not read.
 */
export class ChartClicks {
  /** @type {[number: number, ...place: unknown[]][]} */
  open = [];
  number = 0;
  /** @type {Hearing | undefined} */
  onClick;
  /** @type {(() => void) | undefined} */
  onPlot;
  chart = "";
  /** @type {Chart | null} */
  map = null;
  /** @type {Reporter} */
  report = () => {};

  /**
   * @param {(point: ChartPoint) => unknown[] | null} placeOf - maps Plotly's point to the list to send; null sends nothing.
   * @param {(chart: Chart | null) => void} onDrawn - called with the chart whenever it is drawn or clicked.
   */
  constructor(placeOf, onDrawn = () => {}) {
    this.placeOf = placeOf;
    this.onDrawn = onDrawn;
    // Streamlit adds the chart after this script and replaces it with each new figure.
    this.observer = new MutationObserver(() => this._find());
    this.observer.observe(document.body, { childList: true, subtree: true });
  }

  /** @type {(given: { chart: string; heard: number }, report: Reporter) => void} */
  update({ chart, heard }, report) {
    this.chart = chart;
    this.report = report;
    this.number = Math.max(this.number, heard);
    this.open = this.open.filter(([number]) => number > heard);
    this._find();
    this.onDrawn(this.map);
  }

  dispose() {
    this.observer.disconnect();
    this.map?.removeListener?.("plotly_click", this.onClick);
    this.map?.removeListener?.("plotly_afterplot", this.onPlot);
  }

  /** @type {() => void} */
  _find() {
    const map = /** @type {Chart | null} */ (document.querySelector(`.st-key-${this.chart} .js-plotly-plot`));
    // Plotly adds `on` when it draws.
    if (!map?.on || map === this.map) return;
    this.map = map;
    this.onClick = (/** @type {ChartEvent} */ { points: [point] }) => this._click(this.placeOf(point));
    this.onPlot = () => this.onDrawn(map);
    map.on("plotly_click", this.onClick);
    map.on("plotly_afterplot", this.onPlot);
    this.onDrawn(map);
  }

  /** @type {(place: unknown[] | null) => void} */
  _click(place) {
    if (!place) return;
    this.number += 1;
    this.open = [...this.open, [this.number, ...place]];
    this.onDrawn(this.map);
    this.report(this.open);
  }
}
