// Clicks on a chart that Plotly draws.

/**
 * Sends clicks with their numbers until the server has answered them: a newer message may replace one that
 * nobody has read.
 *
 * @param {function} placeOf - what is told of Plotly's point, as a list; null for nothing.
 * @param {function} onDrawn - called with the chart when it stands, anew, or is clicked.
 */
export class ChartClicks {
  constructor(placeOf, onDrawn = () => {}) {
    Object.assign(this, { placeOf, onDrawn, open: [], number: 0 });
    // The chart comes after the script, and another one with every other figure.
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
    // Without `on`, Plotly has not drawn it yet.
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
