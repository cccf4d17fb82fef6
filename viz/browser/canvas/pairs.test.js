import assert from "node:assert/strict";
import test from "node:test";

import { pairColumns } from "./pairs.js";

test("sines are drawn with their cosines, and the last pair may be half", () => {
  assert.deepEqual(pairColumns(12, 2), [0, 1, 4, 5, 8, 9]);
  assert.deepEqual(pairColumns(5, 2), [0, 1, 4]);
  assert.deepEqual(pairColumns(3, 1), [0, 1, 2]);
});
