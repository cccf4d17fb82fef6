// The formula of position encodings beside its picture, a Plotly heatmap, with the numbers of the cell pointed at there.

import { element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { cellOf, written } from "./cell.js";

class Formula {
  key = "";
  base = 0;
  width = 0;
  /** @type {Cell | null} */
  cell = null;
  /** @type {Chart | null} */
  chart = null;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.onHover = (/** @type {ChartEvent} */ { points: [{ y, customdata }] }) => this._show([y, Number(customdata)]);
    // Streamlit adds the chart after this script and replaces it with each new figure.
    this.observer = new MutationObserver(() => this._find());
    this.observer.observe(document.body, { childList: true, subtree: true });
  }

  /** @type {(given: { chart: string; base: number; width: number; length: number; cell: Cell }) => void} */
  update({ chart, base, width, length, cell }) {
    [this.key, this.base, this.width] = [chart, base, width];
    this._find();
    this._show(this.cell && this.cell[0] < length && this.cell[1] < width ? this.cell : cell);
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
    chart.on("plotly_hover", this.onHover);
  }

  _leave() {
    this.chart?.removeListener?.("plotly_hover", this.onHover);
  }

  /** @type {(cell: Cell) => void} */
  _show(cell) {
    this.cell = cell;
    const { position, dimension, pair, name, divisor, angle, value } = cellOf(...cell, this);
    const power = (/** @type {string | number} */ exponent) => [written(this.base), element("sup", "", {}, `${exponent}/${this.width}`)];
    const line = (/** @type {(Node | string)[]} */ ...parts) => element("p", "", {}, ...parts);
    this.root.replaceChildren(
      line("PE(pos, 2i) = sin(pos / ", ...power("2i"), ")"),
      line("PE(pos, 2i + 1) = cos(pos / ", ...power("2i"), ")"),
      element("p", "cell", {}, `Position ${position}, dimension ${dimension}: i = ${pair}`),
      line(`PE(${position}, ${dimension}) = ${name}(${position} / `, ...power(2 * pair), ")"),
      line(`= ${name}(${position} / ${written(divisor)})`),
      line(`= ${name}(${written(angle)}) = `, element("strong", "", {}, written(value))),
    );
  }
}

export default mounted(".formula", (root) => new Formula(root));
