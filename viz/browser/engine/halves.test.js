import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHalf, toHalf } from "./halves.js";

test("every number of half precision is read and written", () => {
  const known = [[0x3c00, 1], [0xc000, -2], [0x0001, 2 ** -24], [0x8000, -0], [0x7bff, 65504], [0x0400, 2 ** -14]];
  for (const [bits, number] of known) assert.equal(fromHalf(bits), number);
  for (let bits = 0; bits < 2 ** 16; bits += 1) {
    if (Number.isFinite(fromHalf(bits))) assert.equal(toHalf(fromHalf(bits)), bits);
  }
});

test("rounding goes to the nearest, and to the even of two equally near numbers", () => {
  const rounded = (number) => fromHalf(toHalf(number));
  const step = 2 ** -10;
  assert.equal(rounded(1 + step / 2), 1);
  assert.equal(rounded(1 + (3 * step) / 2), 1 + 2 * step);
  assert.equal(rounded(-(1 + step * 0.6)), -(1 + step));
  assert.equal(rounded(1.5 * 2 ** -24), 2 ** -23);
  assert.equal(rounded(-0.4 * 2 ** -24), -0);
  assert.equal(rounded(2 ** -14 - 2 ** -26), 2 ** -14);
  assert.equal(rounded(2047.9), 2048);
  assert.equal(rounded(1e6), Infinity);
});
