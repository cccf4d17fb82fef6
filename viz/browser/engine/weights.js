// The parameters of a model by name, moved from a file into the block of Products.

import { Products, roomFor } from "./products.js";

/** @import { Tensor } from "./safetensors.js" */

/** The parameters whose names begin alike; `within` goes one module deeper. */
export class Weights {
  /** @param {Products} block @param {Map<string, Tensor>} tensors @param {ModelConfig} config */
  constructor(block, tensors, config, prefix = "") {
    this.block = block;
    this.tensors = tensors;
    this.config = config;
    this.prefix = prefix;
  }

  /** @type {(tensors: Map<string, Tensor>, config: ModelConfig, options?: { wasm?: boolean }) => Promise<Weights>} */
  static async load(tensors, config, { wasm = true } = {}) {
    const all = [...tensors.values()];
    // A matrix may be stored in parts, each of which pads less alone than all of them together.
    const room = all.reduce((sum, { rows, columns }) => sum + roomFor(rows + 4, columns) + 8, 0);
    const widest = all.reduce((most, { columns, shape }) => (shape.length > 1 ? Math.max(most, columns) : most), 1);
    const tallest = Math.max(3 * widest, ...all.map(({ rows }) => rows));
    return new Weights(await Products.open({ room, widest, tallest, wasm }), tensors, config);
  }

  /** @type {(module: string | number) => Weights} */
  within(module) {
    return new Weights(this.block, this.tensors, this.config, `${this.prefix}${module}.`);
  }

  /** @type {(name: string) => Tensor} */
  tensor(name) {
    const tensor = this.tensors.get(this.prefix + name);
    if (!tensor) throw new Error(`The weights do not fit the model's configuration: ${this.prefix}${name} is missing.`);
    return tensor;
  }

  /** @type {(name: string) => Numbers} */
  vector(name) {
    return this.tensor(name).vector();
  }

  /** A matrix of the rows of one or several, in another order if `order` names them.
   * @type {(names: string[], options?: { biases?: string[]; order?: number[] | null }) => import("./products.js").Matrix} */
  matrix(names, { biases = [], order = null } = {}) {
    const parts = names.map((name) => this.tensor(name));
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const half = parts.every((part) => part.half);
    const matrix = this.block.matrix(rows, parts[0].columns, { bias: biases.length > 0, half });
    const all = parts.flatMap((part) => Array.from({ length: part.rows }, (_, row) => ({ part, row })));
    for (let row = 0; row < rows; row += 1) {
      const { part, row: own } = all[order ? order[row] : row];
      matrix.write(row, half ? part.row(own) : part.vector(own));
    }
    if (biases.length) {
      const joined = biases.flatMap((name) => [...this.vector(name)]);
      matrix.biases().forEach((_, row, into) => (into[row] = joined[order ? order[row] : row]));
    }
    return matrix;
  }

  /** The layer of one or several projections of an attention, with biases where it has them.
   * @type {(projections: string[], order?: number[] | null) => import("./products.js").Matrix} */
  layer(projections, order = null) {
    const names = projections.flatMap((projection) => this.byLayout(projection));
    const biases = this.config.attention_bias ? names.map((name) => `${name}.bias`) : [];
    return this.matrix(names.map((name) => `${name}.weight`), { biases, order });
  }

  /** The names of a projection: one, or one for each head where heads are modules of their own.
   * @type {(projection: string) => string[]} */
  byLayout(projection) {
    const apart = this.config.head_layout === "per_head" && projection !== "w_o";
    if (!apart) return [projection];
    return Array.from({ length: this.config.n_heads }, (_, head) => `heads.${head}.${projection}`);
  }

  /** The numbers of a parameter that each head has its own of, head after head. @type {(name: string) => number[]} */
  byHead(name) {
    return this.byLayout(name).flatMap((each) => {
      const tensor = this.tensor(each);
      return Array.from({ length: tensor.rows }, (_, row) => [...tensor.vector(row)]).flat();
    });
  }
}
