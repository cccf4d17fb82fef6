// The numbers of close-ups, and how they are printed (as viz/heads/arithmetic.py prints them).

import { toDigits, signed } from "../../canvas/numbers.js";

// Most decimals of a printed sum; more than three only if its quotient needs them.
const MOST_DIGITS = 6;
// Rounding differs between kernels.
const WEIGHT_TOLERANCE = 2e-3;
/** Of the largest weight of a row, by which one in 8 bits errs at most (model/trace/rounded_weights.py). */
const ROUNDING = 0.02;

/** Decimals of a number in print: two, or as many as two significant digits need. @type {(value: number) => number} */
function digitsOf(value) {
  const size = Math.abs(value);
  if (size === 0 || size >= 1e6) return 0;
  if (size >= 0.01) return 2;
  const [digits, exponent] = size.toExponential(1).split("e");
  return Math.min(10, (digits.endsWith("0") ? 0 : 1) - Number(exponent));
}

/** A number with two decimals, or with two significant digits if it is small. @type {(value: number) => string} */
export function numberText(value) {
  return signed(value, digitsOf(value));
}

/** A weight in print: "0" where two decimals would be "0.00". @type {(weight: number) => string} */
export function weightText(weight) {
  return weight < 0.005 ? signed(0) : signed(weight, 2);
}

/** The sum of products and the score it leads to, in print, so that a reader can check both.
 * @type {(numbers: { gain: number; loss: number; dot: number; d: number; divisor: number; score: number }) => Printed} */
export function equations({ gain, loss, dot, d, divisor, score }) {
  const scaled = numberText(score);
  const tried = [digitsOf(dot), 3, 4, 5, MOST_DIGITS];
  const fitting = tried.find((digits) => numberText(toDigits(dot, digits) / divisor) === scaled);
  const digits = fitting ?? tried[0];
  const whole = (/** @type {number} */ value) => Math.round(toDigits(value, digits) * 10 ** digits);
  const adds = whole(gain) - whole(-loss) === whole(dot);
  const total = signed(dot, digits);
  const sum = `${signed(gain, digits)} − ${signed(-loss, digits)} ${adds ? "=" : "≈"} ${total}`;
  return { sum, quotient: `${total} ÷ √${d} ${fitting === undefined ? "≈" : "="} ${scaled}` };
}

/** Which keys a query may attend to. @type {(allowed: Uint8Array | null, query: number, keys: number) => boolean[]} */
function seenBy(allowed, query, keys) {
  return Array.from({ length: keys }, (_, key) => allowed === null || allowed[query * keys + key] > 0);
}

/** The softmax over a row's allowed scores; all 0 where no key is allowed. @type {(scores: ArrayLike<number>, seen: boolean[]) => Float64Array} */
function softmaxOf(scores, seen) {
  const most = Math.max(...seen.map((is, key) => (is ? scores[key] : -Infinity)));
  const powers = Float64Array.from(seen, (is, key) => (is ? Math.exp(scores[key] - most) : 0));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return total > 0 ? powers.map((power) => power / total) : powers;
}

/**
 * One row's weights, 0 to 1, which of its keys are allowed, and whether the weights are the softmax of the scores.
 *
 * Weights that were rounded are that softmax then, to the last digit.
 * @type {(data: HeadRows, query: number) => { weights: Float64Array; seen: boolean[]; complete: boolean }}
 */
export function exactRow({ keys: { length }, weights, rounded = false, allowed, head }, query) {
  const recorded = Float64Array.from(weights.subarray(query * length, (query + 1) * length));
  const seen = seenBy(allowed, query, length);
  if (!head) return { weights: recorded, seen, complete: false };
  const powers = softmaxOf(head.scores.subarray(query * length, (query + 1) * length), seen);
  const errs = WEIGHT_TOLERANCE + (rounded ? ROUNDING * Math.max(0, ...recorded) : 0);
  const complete = powers.every((power, key) => Math.abs(power - recorded[key]) <= errs);
  return { weights: rounded && complete ? powers : recorded, seen, complete };
}

/** The numbers between a query, a key and their weight.
 * @type {(data: Omit<HeadRows, "head" | "keys"> & { head: ModelAnswers["head"] }, query: number, key: number) => WeightNumbers} */
export function weightNumbers(data, query, key) {
  const { head } = data;
  const { d, dv, divisor } = head;
  const keys = head.k.length / d;
  const [asked, offered] = [head.q.subarray(query * d, (query + 1) * d), head.k.subarray(key * d, (key + 1) * d)];
  const products = Float64Array.from(asked, (value, place) => value * offered[place]);
  const gain = products.reduce((sum, value) => sum + Math.max(0, value), 0);
  const loss = products.reduce((sum, value) => sum + Math.min(0, value), 0);
  const scores = head.scores.subarray(query * keys, (query + 1) * keys);
  const { weights: row, seen, complete } = exactRow({ ...data, keys: { length: keys } }, query);
  const mix = new Float64Array(dv);
  row.forEach((weight, place) => mix.forEach((_, each) => (mix[each] += weight * head.v[place * dv + each])));
  const score = scores[key];
  const scaled = divisor !== null && (divisor !== 1 || d === 1);
  const sums = { gain, loss, dot: gain + loss, score };
  return {
    ...sums,
    query: asked,
    key: offered,
    products,
    divisor,
    allowed: seen[key],
    weight: row[key],
    scores,
    weights: row,
    seen,
    rank: seen[key] ? 1 + seen.filter((is, place) => is && scores[place] > score).length : null,
    complete,
    value: head.v.subarray(key * dv, (key + 1) * dv),
    mix,
    printed: divisor === null ? null : printedOf(sums, d, divisor, scaled),
  };
}

/** @type {(sums: { gain: number; loss: number; dot: number; score: number }, d: number, divisor: number, scaled: boolean) => Printed} */
function printedOf(sums, d, divisor, scaled) {
  const printed = equations({ ...sums, d, divisor });
  return scaled ? printed : { ...printed, quotient: "" };
}

/** At most `most` places of a row, in its own order: the largest, and `kept` among them.
 * @type {(sizes: ArrayLike<number>, most: number, kept?: number) => number[]} */
export function leadingPlaces(sizes, most, kept = -1) {
  const all = Array.from(sizes, (_, place) => place);
  const ranked = all.sort((one, other) => Number(other === kept) - Number(one === kept) || sizes[other] - sizes[one]);
  return ranked.slice(0, most).sort((one, other) => one - other);
}

/** The table of positions as waves: the angle that one position adds, for each drawn pair of sine and cosine (Vaswani et al. 2017,
 * section 3.5); null where the table holds other numbers. @type {(positions: FigurePositions, count: number) => number[] | null} */
export function wavesOf({ cells, dimensions, of, limit }, count) {
  const step = Math.max(1, Math.floor(of / 32));
  const turns = Array.from({ length: Math.floor(dimensions / 2) }, (_, pair) => 10000 ** ((-2 * step * pair) / of));
  const expected = (/** @type {number} */ turn, /** @type {number} */ place) => [Math.sin(turn * place), Math.cos(turn * place)];
  const fits = turns.every((turn, pair) =>
    Array.from({ length: count }, (_, place) => place).every((place) =>
      expected(turn, place).every((value, odd) => Math.abs((cells[place * dimensions + 2 * pair + odd] / 127.5 - 1) * limit - value) < 0.02),
    ),
  );
  return fits ? turns : null;
}
