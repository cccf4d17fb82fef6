// The wave of the dimension that is pointed at in a table of positions, a Plotly heatmap; arrow keys choose one, too.

import { drawn, element } from "../canvas/dom.js";
import { opened, payloadId } from "../canvas/envelope.js";
import { HeardChart } from "../canvas/heard_chart.js";
import { mounted } from "../canvas/mount.js";
import { pageTheme } from "../canvas/page.js";
import { movedTo } from "../canvas/roving.js";

const HIGH = 112;
const EDGE = { left: 40, right: 16, top: 8, below: 22 };

/**
 * @typedef {object} Header
 * @property {string} chart - its key.
 * @property {string[]} names - of all dimensions.
 * @property {string[]} words - of the first positions.
 * @property {number} positions
 * @property {number} limit - the largest value.
 * @property {number} dimension - the one that is shown first.
 * @property {Float32Array} values - by position, then by dimension.
 * @property {Themes} themes
 */

class Wave {
  id = "";
  /** @type {Header} */
  header;
  dimension = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.said = element("p", "said");
    this.place = element("div", "");
    root.replaceChildren(this.said, this.place);
    root.addEventListener("keydown", (event) => this._key(event));
    this.chart = new HeardChart({ plotly_hover: ({ points: [{ customdata }] }) => this._show(Number(customdata)) });
    this.resized = new ResizeObserver(() => this._draw());
    this.resized.observe(root);
  }

  /** @type {(bytes: Bytes) => void} */
  update(bytes) {
    if (this.id !== payloadId(bytes)) {
      const { id, values } = /** @type {{ id: string, values: Header }} */ (opened(bytes));
      if (!this.header || this.dimension >= values.names.length) this.dimension = values.dimension;
      this.id = id;
      this.header = values;
    }
    this.chart.follow(this.header.chart);
    this._draw();
  }

  dispose() {
    this.chart.dispose();
    this.resized.disconnect();
  }

  /** @type {(dimension: number) => void} */
  _show(dimension) {
    if (!(dimension in this.header.names)) return;
    this.dimension = dimension;
    this._draw();
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = movedTo(event.key, this.dimension, this.header.names.length);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    this._show(to);
  }

  _draw() {
    if (!this.header || !this.root.clientWidth) return;
    const { names, words, positions, limit, values, themes } = this.header;
    this.root.style.setProperty("--word", pageTheme(this.root, themes).now);
    const said = `Dimension ${this.dimension}${names[this.dimension]}`;
    this.said.textContent = said;
    this.root.setAttribute("aria-label", `${said}. Arrow keys show the next.`);
    const width = this.root.clientWidth;
    const step = (width - EDGE.left - EDGE.right) / Math.max(1, positions - 1);
    const x = (/** @type {number} */ position) => EDGE.left + position * step;
    const y = (/** @type {number} */ value) => EDGE.top + (HIGH / 2) * (1 - value / limit);
    const at = (/** @type {number} */ position) => values[position * names.length + this.dimension];
    const places = [...Array(positions).keys()];
    const svg = drawn("svg", { width, height: EDGE.top + HIGH + EDGE.below, role: "img", "aria-hidden": "true" });
    const written = (/** @type {number} */ value) => value.toPrecision(2).replace("-", "−");
    svg.append(
      drawn("line", { class: "zero", x1: EDGE.left, x2: width - EDGE.right, y1: y(0), y2: y(0) }),
      ...[limit, -limit].map((value) => drawn("text", { x: EDGE.left - 8, y: y(value) + 5, "text-anchor": "end" }, written(value))),
      drawn("path", { d: `M${places.map((place) => `${x(place)},${y(at(place))}`).join("L")}` }),
      ...places.map((place) => drawn("circle", { class: place < words.length ? "word" : "", cx: x(place), cy: y(at(place)), r: place < words.length ? 5 : 2.5 })),
    );
    // Words where they have room, else numbers.
    const longest = Math.max(...words.map((word) => word.length), 0);
    const isNamed = longest * 7.5 < step;
    const every = Math.max(1, Math.ceil(30 / step));
    for (const place of places) {
      if (!(isNamed && place < words.length) && place % every) continue;
      svg.append(drawn("text", { x: x(place), y: EDGE.top + HIGH + 18, "text-anchor": "middle" }, isNamed ? (words[place] ?? place) : String(place)));
    }
    this.place.replaceChildren(svg);
  }
}

export default mounted(".wave", (root) => new Wave(root));
