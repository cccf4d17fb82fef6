// Matrix products and softmax sums over one block of float32 numbers: in WebAssembly with SIMD, or
// in plain JavaScript where a page's policy or an old browser refuses WebAssembly.

import { fromHalf } from "./halves.js";
import products from "./products.json" with { type: "json" };

const TOGETHER = 64;
const ROWS_TOGETHER = 4;

const COLUMN_UNIT = 8;
const ROW_UNIT = 4;

const PAGE_NUMBERS = 65536 / 4;

/** The first multiple of `unit` that is no smaller than `count`. @type {(count: number, unit: number) => number} */
function roundedUp(count, unit) {
  return Math.ceil(count / unit) * unit;
}

/** Room in the block for a matrix, with the rows and columns that pad it.
 * @type {(rows: number, columns: number) => number} */
export function roomFor(rows, columns) {
  return roundedUp(rows, ROW_UNIT) * roundedUp(columns, COLUMN_UNIT);
}

/**
 * The functions of products.wat; addresses and widths are in bytes.
 *
 * @typedef {object} Kernels
 * @property {Float32Array<ArrayBuffer>} numbers
 * @property {Uint16Array<ArrayBuffer>} halves
 * @property {boolean} wasm
 * @property {(x: number, fours: number, w: number, outputs: number, width: number, bias: number, y: number, half: boolean, wide: number) => void} product
 * @property {(y: number, count: number) => number} largest
 * @property {(y: number, count: number, most: number) => number} sumOfPowers
 */
/** @typedef {{ start: number, rows: number, columns: number, stride: number, bias: number, half: boolean }} Shape */

/** A block of numbers with the functions that compute on it.
 *
 * `room` is how many numbers the matrices take, padding included; `widest` and `tallest` are the
 * most columns and rows of one of them. In WebAssembly, matrices of half-precision numbers stay such:
 * decoding reads every weight for a handful of rows, and half as many bytes take half as long. */
export class Products {
  numbers = new Float32Array();
  halves = new Uint16Array();
  wasm = false;
  free = 0;
  inputs = 0;
  outputs = 0;
  wide = 0;
  zeros = 0;
  /** @type {Kernels["product"]} */
  product;
  /** @type {Kernels["largest"]} */
  largest;
  /** @type {Kernels["sumOfPowers"]} */
  sumOfPowers;

  /** @param {{ room: number, widest: number, tallest: number, wasm?: boolean }} given */
  static async open({ room, widest, tallest, wasm = true }) {
    const width = roundedUp(widest, COLUMN_UNIT);
    const height = roundedUp(tallest, ROW_UNIT);
    const size = room + TOGETHER * (width + height) + 2 * width + height;
    const made = new Products();
    Object.assign(made, (wasm && (await assembled(size))) || scalar(size));
    made.inputs = made.reserved(TOGETHER * width);
    made.outputs = made.reserved(TOGETHER * height);
    made.wide = made.reserved(2 * width);
    made.zeros = made.reserved(height);
    return made;
  }

  /** The place of so many zeros. @type {(count: number) => number} */
  reserved(count) {
    const start = this.free;
    this.free += roundedUp(count, 4);
    if (this.free > this.numbers.length) throw new Error("The matrices take more room than they were given.");
    return start;
  }

  /** A matrix of zeros with a bias of zeros, to be filled; `half` if all its numbers are halves.
   * @type {(rows: number, columns: number, options?: { bias?: boolean; half?: boolean }) => Matrix} */
  matrix(rows, columns, { bias = false, half = false } = {}) {
    const stride = roundedUp(columns, COLUMN_UNIT);
    const room = roomFor(rows, columns);
    const halved = half && this.wasm;
    const start = this.reserved(halved ? room / 2 : room);
    const biasStart = bias ? this.reserved(roundedUp(rows, ROW_UNIT)) : this.zeros;
    return new Matrix(this, { start, rows, columns, stride, bias: biasStart, half: halved });
  }
}

/** W (row, column) with a bias b (row): a linear layer y = xWᵀ + b, or a table of embeddings. */
export class Matrix {
  /** @param {Products} block @param {Shape} shape */
  constructor(block, { start, rows, columns, stride, bias, half }) {
    this.block = block;
    this.start = start;
    this.rows = rows;
    this.columns = columns;
    this.stride = stride;
    this.bias = bias;
    this.half = half;
  }

  /** One row, (column). @type {(index: number) => Numbers} */
  row(index) {
    const first = index * this.stride;
    if (!this.half) return this.block.numbers.slice(this.start + first, this.start + first + this.columns);
    const start = 2 * this.start + first;
    return Float32Array.from(this.block.halves.subarray(start, start + this.columns), (bits) => fromHalf(bits));
  }

  /** Writes one row, of Float32Array, or of Uint16Array for half-precision numbers.
   * @type {(index: number, row: Float32Array | Uint16Array) => void} */
  write(index, row) {
    const first = index * this.stride;
    if (this.half) this.block.halves.set(row, 2 * this.start + first);
    else if (row instanceof Uint16Array) this.block.numbers.set(Float32Array.from(row, (bits) => fromHalf(bits)), this.start + first);
    else this.block.numbers.set(row, this.start + first);
  }

  /** The bias, a view. */
  biases() {
    return this.block.numbers.subarray(this.bias, this.bias + this.rows);
  }

  /** The layer of some of its outputs, from `first` on. @type {(first: number, rows: number) => Matrix} */
  part(first, rows) {
    const bias = this.bias === this.block.zeros ? this.bias : this.bias + first;
    const start = this.start + (first * this.stride) / (this.half ? 2 : 1);
    return new Matrix(this.block, { ...this, start, rows, bias });
  }

  /** xWᵀ + b, (token, row), for x (token, column). @type {(x: Numbers) => Numbers} */
  product(x) {
    const count = x.length / this.columns;
    const out = new Float32Array(count * this.rows);
    this.eachBlock(x, (first, n, outputs, width) => {
      for (let i = 0; i < n; i += 1) {
        out.set(outputs.subarray(i * width, i * width + this.rows), (first + i) * this.rows);
      }
    });
    return out;
  }

  /** Softmax statistics of xWᵀ + b: calls `visit(token, logits, largest, log of the sum of powers)`.
   *
   * log softmax = logit - largest - log. `logits` is a view that lasts for the call. */
  /** @type {(x: Numbers, visit: (token: number, logits: Numbers, largest: number, log: number) => void) => void} */
  eachSoftmax(x, visit) {
    const { block } = this;
    this.eachBlock(x, (first, n, outputs, width) => {
      for (let i = 0; i < n; i += 1) {
        const row = outputs.subarray(i * width, (i + 1) * width);
        row.fill(-Infinity, this.rows);
        const start = 4 * (block.outputs + i * width);
        const largest = block.largest(start, width);
        const log = Math.log(block.sumOfPowers(start, width, largest));
        visit(first + i, row.subarray(0, this.rows), largest, log);
      }
    });
  }

  /** Calls `visit(first token, tokens, outputs, numbers in a row of outputs)` for 64 at a time.
   * @type {(x: Numbers, visit: (first: number, tokens: number, outputs: Numbers, width: number) => void) => void} */
  eachBlock(x, visit) {
    const { block, columns, stride } = this;
    const count = x.length / columns;
    const width = roundedUp(this.rows, ROW_UNIT);
    for (let first = 0; first < count; first += TOGETHER) {
      const n = Math.min(TOGETHER, count - first);
      for (let i = 0; i < n; i += 1) {
        const start = block.inputs + i * stride;
        block.numbers.set(x.subarray((first + i) * columns, (first + i + 1) * columns), start);
        block.numbers.fill(0, start + columns, start + stride);
      }
      // Rows beyond the last have numbers of an earlier product; nobody reads what they give.
      const places = [block.inputs, this.start, this.bias, block.outputs, block.wide].map((place) => 4 * place);
      const [inputs, start, bias, outputs, wide] = places;
      const fours = Math.ceil(n / ROWS_TOGETHER);
      block.product(inputs, fours, start, width, 4 * stride, bias, outputs, this.half, wide);
      visit(first, n, block.numbers.subarray(block.outputs, block.outputs + n * width), width);
    }
  }
}

/** @type {(size: number) => Promise<Kernels | null>} */
async function assembled(size) {
  if (typeof WebAssembly === "undefined") return null;
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(size / PAGE_NUMBERS) });
    const bytes = Uint8Array.from(atob(products), (character) => character.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes, { engine: { memory } });
    const { product, largest, sumOfPowers } = /** @type {Kernels} */ (/** @type {unknown} */ (instance.exports));
    const [numbers, halves] = [new Float32Array(memory.buffer), new Uint16Array(memory.buffer)];
    return { numbers, halves, product, largest, sumOfPowers, wasm: true };
  } catch {
    return null;
  }
}

/** The same in plain JavaScript. @type {(size: number) => Kernels} */
function scalar(size) {
  const numbers = new Float32Array(size);

  /** @type {Kernels["product"]} */
  function product(x, fours, w, outputs, width, bias, y) {
    const columns = width / 4;
    for (let row = 0; row < 4 * fours; row += 1) {
      const from = x / 4 + row * columns;
      const to = y / 4 + row * outputs;
      for (let o = 0; o < outputs; o += 1) {
        const weights = w / 4 + o * columns;
        let [a, b, c, d] = [0, 0, 0, 0];
        for (let k = 0; k < columns; k += 4) {
          a += numbers[from + k] * numbers[weights + k];
          b += numbers[from + k + 1] * numbers[weights + k + 1];
          c += numbers[from + k + 2] * numbers[weights + k + 2];
          d += numbers[from + k + 3] * numbers[weights + k + 3];
        }
        numbers[to + o] = a + b + c + d + numbers[bias / 4 + o];
      }
    }
  }

  /** @type {Kernels["largest"]} */
  function largest(y, count) {
    let most = -Infinity;
    for (let i = y / 4; i < y / 4 + count; i += 1) most = Math.max(most, numbers[i]);
    return most;
  }

  /** @type {Kernels["sumOfPowers"]} */
  function sumOfPowers(y, count, most) {
    let sum = 0;
    for (let i = y / 4; i < y / 4 + count; i += 1) sum += Math.exp(numbers[i] - most);
    return sum;
  }

  return { numbers, halves: new Uint16Array(), product, largest, sumOfPowers, wasm: false };
}
