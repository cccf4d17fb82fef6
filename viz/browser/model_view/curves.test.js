import assert from "node:assert/strict";
import { test } from "node:test";

import { below, between, partOf, strength } from "./curves.js";

const curve = between([10, 0], [90, 100]);

test("an arc goes from word to word, and leaves and reaches them upright", () => {
  assert.deepEqual([curve[0], curve[3]], [[10, 0], [90, 100]]);
  assert.equal(curve[1][0], 10);
  assert.equal(curve[2][0], 90);
});

test("below one row, longer arcs hang deeper, up to a limit", () => {
  const depth = (far) => below([0, 0], [far, 0], 100)[1][1];
  assert.ok(depth(20) < depth(100));
  assert.ok(depth(5000) <= 130);
});

test("part of a curve starts at its start, and the whole curve is unchanged", () => {
  assert.deepEqual(partOf(curve, 1), curve);
  assert.deepEqual(partOf(curve, 0.3)[0], curve[0]);
  assert.deepEqual(partOf(curve, 0)[3], curve[0]);
});

test("a part of a curve lies on it", () => {
  const at = ([a, b, c, d], t) => [0, 1].map((axis) => (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis]);
  const end = at(curve, 0.4);
  partOf(curve, 0.4)[3].forEach((value, axis) => assert.ok(Math.abs(value - end[axis]) < 1e-9));
});

test("more weight is wider and stronger", () => {
  assert.ok(strength(0.9, 8).width > strength(0.2, 8).width);
  assert.ok(strength(0.9, 8).alpha > strength(0.2, 8).alpha);
  assert.equal(strength(1, 8).width, 8);
});
