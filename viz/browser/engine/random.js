// The random numbers of NumPy's default generator, so that a seed draws the same samples as in Python.

const POOL = 4;
const SHIFT = 16;
// Of SeedSequence (numpy/random/bit_generator.pyx).
const [INIT_A, MULT_A, INIT_B, MULT_B] = [0x43b0d7e5, 0x931e8875, 0x8b51f9dd, 0x58f38ded];
const [MIX_LEFT, MIX_RIGHT] = [0xca01f9dd, 0x4973f715];
// Of PCG64 (O'Neill 2014, XSL-RR).
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const LOW = 0xffffffffn;

/** Hashes numbers of 32 bits, each with another constant.
 * @type {(start: number, multiplier: number) => (value: number) => number} */
function hasher(start, multiplier) {
  let constant = start;
  return (value) => {
    const mixed = value ^ constant;
    constant = Math.imul(constant, multiplier);
    const hashed = Math.imul(mixed, constant);
    return (hashed ^ (hashed >>> SHIFT)) >>> 0;
  };
}

/** @type {(one: number, other: number) => number} */
function mix(one, other) {
  const mixed = Math.imul(MIX_LEFT, one) - Math.imul(MIX_RIGHT, other);
  return (mixed ^ ((mixed >>> 0) >>> SHIFT)) >>> 0;
}

/** Eight numbers of 32 bits from at most four. @type {(entropy: number[]) => bigint[]} */
function seeded(entropy) {
  const hash = hasher(INIT_A, MULT_A);
  const pool = Array.from({ length: POOL }, (_, place) => hash(entropy[place] ?? 0));
  for (let from = 0; from < POOL; from += 1) {
    for (let to = 0; to < POOL; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  const last = hasher(INIT_B, MULT_B);
  return Array.from({ length: 2 * POOL }, (_, place) => BigInt(last(pool[place % POOL])));
}

/** A generator of numbers from 0 to below 1: numpy.random.default_rng of at most four whole numbers below 2 ** 32.
 * @type {(...seed: number[]) => () => number} */
export function randomOf(...seed) {
  const bits = bitsOf(seed);
  return () => Number(bits() >> 11n) / 2 ** 53;
}

/** The numbers from 0 to below n in an order of chance: `permutation(n)` of the same generator.
 * @type {(n: number, ...seed: number[]) => number[]} */
export function permutation(n, ...seed) {
  const bits = bitsOf(seed);
  /** @type {bigint[]} */
  const halves = [];
  const half = () => {
    if (!halves.length) {
      const whole = bits();
      halves.push(whole & LOW, whole >> 32n);
    }
    return /** @type {bigint} */ (halves.shift());
  };
  const order = Array.from({ length: n }, (_, place) => place);
  for (let last = n - 1; last > 0; last -= 1) {
    // Of numbers with as many binary digits, the first one that is small enough.
    const mask = 2 ** (32 - Math.clz32(last)) - 1;
    let other = n;
    while (other > last) other = Number(half()) & mask;
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

/** The generator's numbers of 64 bits. @type {(seed: number[]) => () => bigint} */
function bitsOf(seed) {
  const words = seeded(seed);
  const whole = (/** @type {number} */ first) => (words[first + 1] << 96n) | (words[first] << 64n) | (words[first + 3] << 32n) | words[first + 2];
  const added = BigInt.asUintN(128, (whole(4) << 1n) | 1n);
  const next = (/** @type {bigint} */ state) => BigInt.asUintN(128, state * MULTIPLIER + added);
  let state = next(BigInt.asUintN(128, added + whole(0)));
  return () => {
    state = next(state);
    const folded = BigInt.asUintN(64, (state >> 64n) ^ state);
    const turn = state >> 122n;
    return BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
  };
}
