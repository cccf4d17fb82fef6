// Weights in a safetensors file: a JSON header, then the numbers of each tensor. Matrices may be in
// eight bits, with a scale for each row (model/checkpoints/eight_bits.py).

import { fromHalf, toHalf } from "./halves.js";

const SCALE = "_scale";

/** Tensors of a file by name. */
export function readSafetensors(file) {
  // Node's buffers are not sliced as other arrays are.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
  if (8 + length > bytes.length) throw new Error("The weights are damaged: they are not a safetensors file.");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(header).filter(isTensor)) {
    tensors.set(name, new Tensor(name, dtype, shape, bytes.subarray(8 + length + start, 8 + length + end)));
  }
  for (const [name, tensor] of tensors) {
    tensor.scale = tensors.get(name + SCALE) ?? null;
  }
  return new Map([...tensors].filter(([name]) => !name.endsWith(SCALE)));
}

function isTensor([name]) {
  return name !== "__metadata__";
}

class Tensor {
  constructor(name, dtype, shape, data) {
    if (!(dtype in READERS)) throw new Error(`${name} is stored as ${dtype}; this page reads F32, F16 and I8.`);
    const count = shape.reduce((product, size) => product * size, 1);
    if (data.length !== count * READERS[dtype].bytes) throw new Error(`The weights are damaged: ${name} is cut.`);
    Object.assign(this, { name, dtype, shape, data, scale: null });
  }

  get rows() {
    return this.shape.length > 1 ? this.shape[0] : 1;
  }

  get columns() {
    return this.shape.at(-1);
  }

  /** Whether all numbers are halves; eight bits times their scale are rounded to such. */
  get half() {
    return READERS[this.dtype].half;
  }

  /** One row, as Uint16Array of halves or as Float32Array. */
  row(index) {
    const { bytes, half, read } = READERS[this.dtype];
    const width = this.columns * bytes;
    const row = half ? new Uint16Array(this.columns) : new Float32Array(this.columns);
    read(this.data.subarray(index * width, (index + 1) * width), row, this.scale ? this.scale.number(index) : 1);
    return row;
  }

  /** All numbers of a vector, or of one row. */
  vector(index = 0) {
    const row = this.row(index);
    return this.half ? Float32Array.from(row, (bits) => fromHalf(bits)) : row;
  }

  number(place) {
    return new DataView(this.data.buffer, this.data.byteOffset).getFloat32(4 * place, true);
  }
}

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
