// Clicks on a chart that Plotly draws.

import { HeardChart } from "./heard_chart.js";

/**
 * Sends numbered clicks, each again until the server has answered it: a newer message can replace one that Python
 * has not read.
 */
export class ChartClicks {
  /** @type {[number: number, ...place: unknown[]][]} */
  open = [];
  number = 0;
  /** @type {Reporter} */
  report = () => {};

  /**
   * @param {(point: ChartPoint) => unknown[] | null} placeOf - maps Plotly's point to the list to send; null sends nothing.
   * @param {(chart: Chart | null) => void} onDrawn - called with the chart whenever it is drawn or clicked.
   */
  constructor(placeOf, onDrawn = () => {}) {
    this.onDrawn = onDrawn;
    const draw = () => onDrawn(this.heard.chart);
    this.heard = new HeardChart({ plotly_click: ({ points: [point] }) => this._click(placeOf(point)), plotly_afterplot: draw }, (chart) => {
      chart.addEventListener("pointerdown", lookAgain, true);
      draw();
    });
  }

  /** @type {(given: { chart: string; heard: number }, report: Reporter) => void} */
  update({ chart, heard }, report) {
    this.report = report;
    this.number = Math.max(this.number, heard);
    this.open = this.open.filter(([number]) => number > heard);
    this.heard.follow(chart);
    this.onDrawn(this.heard.chart);
  }

  dispose() {
    this.heard.dispose();
  }

  /** @type {(place: unknown[] | null) => void} */
  _click(place) {
    if (!place) return;
    this.number += 1;
    this.open = [...this.open, [this.number, ...place]];
    this.onDrawn(this.heard.chart);
    this.report(this.open);
  }
}

/**
 * Plotly looks for the point under the pointer once in 50 ms: a click that comes sooner would be one on the point before.
 * A pointer that comes in anew is looked for at once. A finger has no point before, and may only mean to scroll.
 * @type {(event: PointerEvent) => void}
 */
function lookAgain({ pointerType, target, clientX, clientY }) {
  if (pointerType === "touch") return;
  for (const type of ["mouseout", "mousemove"]) target?.dispatchEvent(new MouseEvent(type, { clientX, clientY }));
}
