// Weights in a safetensors file: a JSON header, then the numbers of each tensor. Matrices may be in
// eight bits, with a scale for each row (model/checkpoints/eight_bits.py).

import { fromHalf, toHalf } from "./halves.js";

const SCALE = "_scale";

/** Tensors of a file by name. @type {(file: Bytes) => Map<string, Tensor>} */
export function readSafetensors(file) {
  // Node's buffers are not sliced as other arrays are.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
  if (8 + length > bytes.length) throw new Error("The weights are damaged: they are not a safetensors file.");
  /** @type {Record<string, { dtype: string, shape: number[], data_offsets: [number, number] }>} */
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  /** @type {Map<string, Tensor>} */
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(header).filter(isTensor)) {
    tensors.set(name, new Tensor(name, dtype, shape, bytes.subarray(8 + length + start, 8 + length + end)));
  }
  for (const [name, tensor] of tensors) {
    tensor.scale = tensors.get(name + SCALE) ?? null;
  }
  return new Map([...tensors].filter(([name]) => !name.endsWith(SCALE)));
}

/** @type {(entry: [name: string, value: unknown]) => boolean} */
function isTensor([name]) {
  return name !== "__metadata__";
}

export class Tensor {
  /** Of the rows, where they are in eight bits. @type {Tensor | null} */
  scale = null;

  /** @param {string} name @param {string} dtype @param {number[]} shape @param {Bytes} data */
  constructor(name, dtype, shape, data) {
    if (!(dtype in READERS)) throw new Error(`${name} is stored as ${dtype}; this page reads F32, F16 and I8.`);
    const count = shape.reduce((product, size) => product * size, 1);
    if (data.length !== count * READERS[dtype].bytes) throw new Error(`The weights are damaged: ${name} is cut.`);
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.data = data;
  }

  get rows() {
    return this.shape.length > 1 ? this.shape[0] : 1;
  }

  get columns() {
    return this.shape[this.shape.length - 1];
  }

  /** Whether all numbers are halves; eight bits times their scale are rounded to such. */
  get half() {
    return READERS[this.dtype].half;
  }

  /** One row, as Uint16Array of halves or as Float32Array. @type {(index: number) => Uint16Array | Float32Array} */
  row(index) {
    const { bytes, half, read } = READERS[this.dtype];
    const width = this.columns * bytes;
    const row = half ? new Uint16Array(this.columns) : new Float32Array(this.columns);
    read(this.data.subarray(index * width, (index + 1) * width), row, this.scale ? this.scale.number(index) : 1);
    return row;
  }

  /** All numbers of a vector, or of one row. @returns {Float32Array} */
  vector(index = 0) {
    const row = this.row(index);
    return row instanceof Float32Array ? row : Float32Array.from(row, (bits) => fromHalf(bits));
  }

  /** @type {(place: number) => number} */
  number(place) {
    return new DataView(this.data.buffer, this.data.byteOffset).getFloat32(4 * place, true);
  }
}

/** @typedef {(data: Bytes, into: Uint16Array | Float32Array, scale: number) => void} Read */
/** @type {Record<string, { bytes: number, half: boolean, read: Read }>} */
const READERS = {
  F32: {
    bytes: 4,
    half: false,
    read(data, into) {
      into.set(new Float32Array(data.slice().buffer));
    },
  },
  F16: {
    bytes: 2,
    half: true,
    read(data, into) {
      into.set(new Uint16Array(data.slice().buffer));
    },
  },
  I8: {
    bytes: 1,
    half: true,
    read(data, into, scale) {
      for (let i = 0; i < into.length; i += 1) into[i] = toHalf(Math.fround(((data[i] << 24) >> 24) * scale));
    },
  },
};
