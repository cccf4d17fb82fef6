import assert from "node:assert/strict";
import { test } from "node:test";

import { Recent } from "./recent.js";

test("what was taken longest ago goes first, and what is asked for is made once", () => {
  const recent = new Recent(10);
  let count = 0;
  const take = (/** @type {string} */ name, size = 4) => recent.of(name, size, () => ++count);
  assert.deepEqual([take("a"), take("b"), take("a"), take("c")], [1, 2, 1, 3]);
  assert.deepEqual([take("a"), take("b")], [1, 4]);
  // Alone too large, it is given all the same.
  assert.deepEqual([take("large", 50), take("large", 50)], [5, 5]);
  assert.equal(recent.size, 50);
});
