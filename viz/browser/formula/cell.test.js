import assert from "node:assert/strict";
import { test } from "node:test";

import { cellOf, written } from "./cell.js";

const FORMULA = { base: 10000, width: 4 };

test("even dimensions are sines and odd ones cosines of the same angle", () => {
  const [sine, cosine] = [2, 3].map((dimension) => cellOf(7, dimension, FORMULA));
  assert.deepEqual([sine.name, cosine.name, sine.pair, cosine.pair], ["sin", "cos", 1, 1]);
  // 10000^(2/4) = 100.
  assert.deepEqual([sine.divisor, sine.angle, cosine.angle], [100, 0.07, 0.07]);
  assert.ok(Math.abs(sine.value ** 2 + cosine.value ** 2 - 1) < 1e-12);
});

test("the first position is 0 in every sine and 1 in every cosine", () => {
  assert.deepEqual([0, 1, 2, 3].map((dimension) => cellOf(0, dimension, FORMULA).value), [0, 1, 0, 1]);
});

test("numbers have four digits and a minus sign", () => {
  assert.deepEqual([10000, -0.565432, 1.15478, 0].map(written), ["10,000", "−0.5654", "1.155", "0"]);
});
