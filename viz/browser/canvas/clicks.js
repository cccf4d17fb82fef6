// Clicks on a chart that Plotly draws.

/**
 * Sends numbered clicks, each again until the server has answered it: a newer message can replace one that Python
 * has not read.
 *
 * @param {function} placeOf - maps Plotly's point to the list to send; null sends nothing.
 * @param {function} onDrawn - called with the chart whenever it is drawn or clicked.
 */
export class ChartClicks {
  constructor(placeOf, onDrawn = () => {}) {
    Object.assign(this, { placeOf, onDrawn, open: [], number: 0 });
    // Streamlit adds the chart after this script and replaces it with each new figure.
    this.observer = new MutationObserver(() => this._find());
    this.observer.observe(document.body, { childList: true, subtree: true });
  }

  update({ chart, heard }, report) {
    Object.assign(this, { chart, report });
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

  _find() {
    const map = document.querySelector(`.st-key-${this.chart} .js-plotly-plot`);
    // Plotly adds `on` when it draws.
    if (!map?.on || map === this.map) return;
    this.map = map;
    this.onClick = ({ points: [point] }) => this._click(this.placeOf(point));
    this.onPlot = () => this.onDrawn(map);
    map.on("plotly_click", this.onClick);
    map.on("plotly_afterplot", this.onPlot);
    this.onDrawn(map);
  }

  _click(place) {
    if (!place) return;
    this.number += 1;
    this.open = [...this.open, [this.number, ...place]];
    this.onDrawn(this.map);
    this.report(this.open);
  }
}
