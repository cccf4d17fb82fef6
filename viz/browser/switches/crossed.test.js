import assert from "node:assert/strict";
import test from "node:test";

import { crossed } from "./crossed.js";

const [A, B] = [
  ["cross", 0, 1],
  ["encoder", 2, 3],
];

test("a click adds a missing cross and removes an existing one", () => {
  assert.deepEqual(crossed([], [[1, ...A]]), [A]);
  assert.deepEqual(crossed([A], [[1, ...A]]), []);
  assert.deepEqual(crossed([A], [[1, ...B]]), [A, B]);
  assert.deepEqual(crossed([A], [[1, ...B], [2, ...A], [3, ...B]]), []);
});
