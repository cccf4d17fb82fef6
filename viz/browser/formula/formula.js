// The formula of position encodings beside its picture, a Plotly heatmap, with the numbers of the cell pointed at there.

import { element } from "../canvas/dom.js";
import { HeardChart } from "../canvas/heard_chart.js";
import { mounted } from "../canvas/mount.js";
import { cellOf, written } from "./cell.js";

class Formula {
  base = 0;
  width = 0;
  /** @type {Cell | null} */
  cell = null;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.chart = new HeardChart({ plotly_hover: ({ points: [{ y, customdata }] }) => this._show([y, Number(customdata)]) });
  }

  /** @type {(given: { chart: string; base: number; width: number; length: number; cell: Cell }) => void} */
  update({ chart, base, width, length, cell }) {
    [this.base, this.width] = [base, width];
    this.chart.follow(chart);
    this._show(this.cell && this.cell[0] < length && this.cell[1] < width ? this.cell : cell);
  }

  dispose() {
    this.chart.dispose();
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
