// Crosses on the cells of a Plotly map, toggled by clicks.
// They are drawn on top of the map: a new figure would make Streamlit redraw the chart and lose clicks on the old one.

import { ChartClicks } from "../canvas/clicks.js";
import { mounted } from "../canvas/mount.js";
import { crossed } from "./crossed.js";

const SVG = "http://www.w3.org/2000/svg";
const ARM = 0.275;

class Switches {
  constructor() {
    this.off = [];
    this.clicks = new ChartClicks(cellOf, () => this._draw());
  }

  update({ chart, off, heard, colors }, report) {
    Object.assign(this, { off, colors });
    this.clicks.update({ chart, heard }, report);
  }

  dispose() {
    this.clicks.dispose();
    this.layer?.remove();
  }

  _draw() {
    const { map, open } = this.clicks;
    const { _fullData: traces, _fullLayout: layout } = map ?? {};
    if (!traces || !layout) return;
    const cells = crossed(this.off, open);
    this.layer?.remove();
    this.layer = made("g", { class: "switched-off", "pointer-events": "none" });
    this.layer.dataset.cells = cells.map((cell) => cell.join(".")).join("-");
    for (const [kind, layer, head] of cells) {
      const trace = traces.find(({ type, meta }) => type === "heatmap" && meta === kind);
      const color = this.colors[kind]?.[layer]?.[head];
      if (!trace || !color) continue;
      const x = along(layout[trace.xaxis.replace("x", "xaxis")], head);
      const y = along(layout[trace.yaxis.replace("y", "yaxis")], layer);
      if (x && y) this.layer.append(...cross(x, y, color));
    }
    map.querySelector(".main-svg").append(this.layer);
  }
}

/** The clicked cell of a heatmap: its `meta`, row and column. */
function cellOf({ data, x, y }) {
  return data.type === "heatmap" ? [data.meta, y, x] : null;
}

// A cell's bounds in pixels of the drawing; null if zooming has hidden it.
function along(axis, place) {
  const edges = [place - 0.5, place + 0.5].map((edge) => axis.c2p(edge)).sort((a, b) => a - b);
  if (edges[0] < -1 || edges[1] > axis._length + 1) return null;
  return edges.map((edge) => axis._offset + edge);
}

// A cross over the cell, hiding its number.
function cross([left, right], [top, bottom], [fill, stroke]) {
  const [x, y, arm] = [(left + right) / 2, (top + bottom) / 2, ARM * (bottom - top)];
  const ground = { x: left + 1, y: top + 1, width: right - left - 2, height: bottom - top - 2, fill };
  const arms = [-1, 1].map((side) => `M${x - arm},${y - side * arm}L${x + arm},${y + side * arm}`);
  return [made("rect", ground), made("path", { d: arms.join(""), stroke, "stroke-width": 3 })];
}

function made(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export default mounted("[aria-hidden]", () => new Switches(), "clicks");
