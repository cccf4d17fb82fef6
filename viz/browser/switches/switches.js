// Crosses on the cells of a Plotly map, toggled by clicks.
// They are drawn on top of the map: a new figure would make Streamlit redraw the chart and lose clicks on the old one.

import { ChartClicks } from "../canvas/clicks.js";
import { drawn, part } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { crossed } from "./crossed.js";

const ARM = 0.275;

class Switches {
  /** @type {Head[]} */
  off = [];
  /** @type {Record<string, [fill: string, stroke: string][][]>} */
  colors = {};
  /** @type {SVGElement | undefined} */
  layer;

  constructor() {
    this.clicks = new ChartClicks(cellOf, () => this._draw());
  }

  /** @type {(given: { chart: string; off: Head[]; heard: number; colors: Switches["colors"] }, report: Reporter) => void} */
  update({ chart, off, heard, colors }, report) {
    this.off = off;
    this.colors = colors;
    this.clicks.update({ chart, heard }, report);
  }

  dispose() {
    this.clicks.dispose();
    this.layer?.remove();
  }

  _draw() {
    const { open } = this.clicks;
    const map = this.clicks.heard.chart;
    const { _fullData: traces, _fullLayout: layout } = map ?? {};
    if (!map || !traces || !layout) return;
    const cells = crossed(this.off, /** @type {[number, ...Head][]} */ (open));
    this.layer?.remove();
    this.layer = drawn("g", { class: "switched-off", "pointer-events": "none" });
    this.layer.dataset.cells = cells.map((cell) => cell.join(".")).join("-");
    for (const [kind, layer, head] of cells) {
      const trace = traces.find(({ type, meta }) => type === "heatmap" && meta === kind);
      const color = this.colors[kind]?.[layer]?.[head];
      if (!trace || !color) continue;
      const x = along(layout[trace.xaxis.replace("x", "xaxis")], head);
      const y = along(layout[trace.yaxis.replace("y", "yaxis")], layer);
      if (x && y) this.layer.append(...cross(x, y, color));
    }
    part(map, ".main-svg").append(this.layer);
  }
}

/** The clicked cell of a heatmap: its `meta`, row and column. @type {(point: ChartPoint) => Head | null} */
function cellOf({ data, x, y }) {
  return data.type === "heatmap" ? [data.meta, y, x] : null;
}

// A cell's bounds in pixels of the drawing; null if zooming has hidden it.
/** @type {(axis: ChartAxis | undefined, place: number) => [number, number] | null} */
function along(axis, place) {
  if (!axis) return null;
  const edges = [place - 0.5, place + 0.5].map((edge) => axis.c2p(edge)).sort((a, b) => a - b);
  if (edges[0] < -1 || edges[1] > axis._length + 1) return null;
  return [axis._offset + edges[0], axis._offset + edges[1]];
}

// A cross over the cell, hiding its number.
/** @type {(across: [number, number], down: [number, number], colors: [string, string]) => SVGElement[]} */
function cross([left, right], [top, bottom], [fill, stroke]) {
  const [x, y, arm] = [(left + right) / 2, (top + bottom) / 2, ARM * Math.min(right - left, bottom - top)];
  const ground = { x: left + 1, y: top + 1, width: right - left - 2, height: bottom - top - 2, fill };
  const arms = [-1, 1].map((side) => `M${x - arm},${y - side * arm}L${x + arm},${y + side * arm}`);
  return [drawn("rect", ground), drawn("path", { d: arms.join(""), stroke, "stroke-width": 3 })];
}

export default mounted("[aria-hidden]", () => new Switches(), "clicks");
