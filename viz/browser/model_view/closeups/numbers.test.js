import assert from "node:assert/strict";
import test from "node:test";

import { equations, numberText, exactRow, leadingPlaces, wavesOf, weightNumbers, weightText } from "./numbers.js";

const near = (one, other, by = 2e-6) => assert.ok(Math.abs(one - other) <= by, `${one} is not ${other}`);

// What viz/heads/arithmetic.py prints of the same sums; it prints the smallest numbers with an exponent, a browser never.
const PRINTED = [
  [0.002368105, -0.008012745, 128, "0.00237 − 0.00801 = −0.00564", "−0.00564 ÷ √128 = −0.0005"],
  [0.00582162, -0.000941286, 4, "0.0058 − 0.0009 = 0.0049", "0.0049 ÷ √4 = 0.0024"],
  [0.002842012, -0.006485472, 64, "0.00284 − 0.00649 ≈ −0.00364", "−0.00364 ÷ √64 = −0.00046"],
  [0.004713097, -0.00773277, 64, "0.005 − 0.008 = −0.003", "−0.003 ÷ √64 = −0.00038"],
  [0.006509194, -0.000478383, 32, "0.007 − 0.000 ≈ 0.006", "0.006 ÷ √32 = 0.0011"],
  [0.825263175, -0.540434717, 64, "0.83 − 0.54 ≈ 0.28", "0.28 ÷ √64 = 0.04"],
  [0.689261704, -0.627498277, 4, "0.69 − 0.63 = 0.06", "0.06 ÷ √4 = 0.03"],
  [0.025628907, -0.134361235, 4, "0.026 − 0.134 ≈ −0.109", "−0.109 ÷ √4 = −0.05"],
  [0.416345523, -0.413673547, 128, "0.4163 − 0.4137 ≈ 0.0027", "0.0027 ÷ √128 = 0.00024"],
  [0.763355841, -0.766598441, 128, "0.76336 − 0.76660 = −0.00324", "−0.00324 ÷ √128 = −0.00029"],
  [57.210114564, -61.939236889, 32, "57.21 − 61.94 = −4.73", "−4.73 ÷ √32 = −0.84"],
  [48.249238346, -94.372595739, 64, "48.249 − 94.373 ≈ −46.123", "−46.123 ÷ √64 = −5.77"],
  [75.000955164, -99.275942447, 4, "75.001 − 99.276 = −24.275", "−24.275 ÷ √4 = −12.14"],
];

// A causal head with three tokens and four dimensions, and what viz/heads/arithmetic.py says of two of its cells.
const HEAD = {
  d: 4,
  dv: 2,
  divisor: 2,
  q: Float32Array.of(0.708539, 1.012755, 0.230397, 1.090165, -1.582665, -0.324567, 1.926368, -0.330012, 0.198445, 0.782073, 1.039108, -0.724511),
  k: Float32Array.of(-0.178193, -0.259499, -0.014488, -0.383891, -2.96617, -1.060555, -0.308996, 0.934288, 1.549619, 0.5989, -0.637668, -2.285819),
  v: Float32Array.of(1, 0, 0, 1, 2, -2),
  scores: Float32Array.of(-0.405454, -1.114197, -0.467166, 0.232512, 2.067553, -1.560473, 0.012385, -1.208018, 0.884696),
};
const WEIGHTS = Float32Array.of(1, 0, 0, 0.137639, 0.862361, 0, 0.271183, 0.080029, 0.648788);
const ALLOWED = Uint8Array.of(1, 0, 0, 1, 1, 0, 1, 1, 1);

test("an equation is printed as Python prints it: it holds with its digits, or says that it does not", () => {
  for (const [gain, loss, d, sum, quotient] of PRINTED) {
    const dot = gain + loss;
    assert.deepEqual(equations({ gain, loss, dot, d, divisor: Math.sqrt(d), score: dot / Math.sqrt(d) }), { sum, quotient });
  }
});

test("numbers have two decimals, or two significant digits", () => {
  assert.deepEqual([1, -0.5, 0.01, 0.0042, -0.00004, 0, 12345.678].map(numberText), ["1.00", "−0.50", "0.01", "0.0042", "−0.00004", "0", "12345.68"]);
  assert.deepEqual([0, 0.0049, 0.005, 0.996].map(weightText), ["0", "0", "0.01", "1.00"]);
});

test("the numbers lead from the vectors to the weight", () => {
  const found = weightNumbers({ head: HEAD, weights: WEIGHTS, allowed: ALLOWED }, 2, 0);
  [found.gain, found.loss, found.dot, found.score, found.weight].forEach((value, place) => near(value, [0.278133, -0.253363, 0.02477, 0.012385, 0.271183][place]));
  assert.deepEqual([found.rank, found.complete, found.allowed], [2, true, true]);
  assert.deepEqual(found.printed, { sum: "0.28 − 0.25 ≈ 0.02", quotient: "0.02 ÷ √4 = 0.01" });
  near(found.mix[0], 0.271183 + 2 * 0.648788);
  near(found.mix[1], 0.080029 - 2 * 0.648788);
});

test("a masked key has a score, no rank and no weight", () => {
  const found = weightNumbers({ head: HEAD, weights: WEIGHTS, allowed: ALLOWED }, 1, 2);
  assert.deepEqual([found.allowed, found.rank, found.weight, found.complete], [false, null, 0, true]);
  assert.deepEqual(found.printed, { sum: "0.75 − 3.88 ≈ −3.12", quotient: "−3.12 ÷ √4 = −1.56" });
});

test("a row in which nothing is allowed has weights of 0", () => {
  const found = weightNumbers({ head: HEAD, weights: new Float32Array(9), allowed: new Uint8Array(9) }, 1, 1);
  assert.deepEqual([found.complete, found.weight, [...found.mix]], [true, 0, [0, 0]]);
});

test("weights that were rounded become exact where they are the softmax of the scores, and stay where they are not", () => {
  const rounded = Float32Array.from(WEIGHTS, (weight) => Math.round(50 * weight) / 50);
  const rows = { head: HEAD, weights: rounded, rounded: true, allowed: ALLOWED };
  near(weightNumbers(rows, 2, 0).weight, 0.271183);
  assert.equal(weightNumbers({ ...rows, rounded: false }, 2, 0).complete, false);
  const other = weightNumbers({ ...rows, weights: Float32Array.of(...rounded.subarray(0, 6), 0.8, 0.1, 0.1) }, 2, 0);
  assert.equal(other.complete, false);
  near(other.weight, 0.8);
});

test("which keys a row sees is known without scores, and whether it is their softmax is not", () => {
  const rows = { keys: ["a", "b", "c"], weights: WEIGHTS, allowed: ALLOWED, head: null };
  assert.deepEqual(exactRow(rows, 0).seen, [true, false, false]);
  assert.deepEqual(exactRow({ ...rows, allowed: null }, 0).seen, [true, true, true]);
  assert.equal(exactRow(rows, 1).complete, false);
});

test("scores that are not scaled have no quotient, those that are no products no equation", () => {
  const plain = { ...HEAD, divisor: 1, scores: HEAD.scores.map((score) => 2 * score) };
  assert.deepEqual(weightNumbers({ head: plain, weights: WEIGHTS, allowed: ALLOWED }, 2, 0).printed, { sum: "0.28 − 0.25 ≈ 0.02", quotient: "" });
  assert.equal(weightNumbers({ head: { ...HEAD, divisor: null }, weights: WEIGHTS, allowed: ALLOWED }, 2, 0).printed, null);
});

test("the strongest places keep their order, and the one that is pointed at is among them", () => {
  assert.deepEqual(leadingPlaces([1, 5, 3, 4], 2), [1, 3]);
  assert.deepEqual(leadingPlaces([1, 5, 3, 4], 2, 0), [0, 1]);
  assert.deepEqual(leadingPlaces([1], 12, 0), [0]);
});

test("a table of sines is known by its numbers, any other is not", () => {
  const table = (turn) => Array.from({ length: 6 }, (_, place) => [0, 1].flatMap((pair) => [Math.sin, Math.cos].map((of) => of(turn(pair) * place)))).flat();
  const positions = (values) => ({ cells: Uint8Array.from(values, (value) => Math.round((value + 1) * 127.5)), dimensions: 4, of: 4, limit: 1 });
  const turns = wavesOf(positions(table((pair) => 10000 ** ((-2 * pair) / 4))), 6);
  assert.deepEqual(turns, [1, 0.01]);
  assert.equal(wavesOf(positions(table((pair) => 0.3 + pair)), 6), null);
});
