import assert from "node:assert/strict";
import { test } from "node:test";

import { movedTo } from "./roving.js";

test("arrow keys move by one and stop at the ends", () => {
  assert.equal(movedTo("ArrowRight", 0, 3), 1);
  assert.equal(movedTo("ArrowDown", 2, 3), 2);
  assert.equal(movedTo("ArrowUp", 2, 3), 1);
  assert.equal(movedTo("ArrowLeft", 0, 3), 0);
});

test("Home and End go to the ends, other keys nowhere", () => {
  assert.equal(movedTo("Home", 2, 3), 0);
  assert.equal(movedTo("End", 0, 3), 2);
  assert.equal(movedTo("Enter", 1, 3), null);
});
