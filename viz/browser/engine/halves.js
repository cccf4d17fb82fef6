// Numbers in half precision, by their 16 bits.

const COUNT = 2 ** 16;

/** @type {Float32Array | undefined} */
let table;

/** The number of these bits. @type {(bits: number) => number} */
export function fromHalf(bits) {
  table ??= Float32Array.from({ length: COUNT }, (_, each) => number(each));
  return table[bits];
}

/** @type {(bits: number) => number} */
function number(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** The bits of a finite number rounded to half precision, to the even one of two equally near.
 * @type {(number: number) => number} */
export function toHalf(number) {
  FLOAT[0] = number;
  const sign = (BITS[0] >>> 16) & 0x8000;
  const size = BITS[0] & 0x7fffffff;
  if (size < 0x38800000) {
    // Below the smallest normal half, halves are multiples of 2 ** -24, as floats around 0.75 are.
    FLOAT[0] = Math.abs(number) + 0.75;
    return sign | (BITS[0] - 0x3f400000);
  }
  return sign | Math.min(0x7c00, (size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13);
}
