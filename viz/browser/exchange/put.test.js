import assert from "node:assert/strict";
import test from "node:test";

import { partsIn, stateAt, stepped } from "./put.js";

test("a move puts a part in or takes it out again", () => {
  assert.deepEqual(partsIn([], ["cross.1.2"]), ["cross.1.2"]);
  assert.deepEqual(partsIn(["cross.1.2"], ["cross.1.2"]), []);
  assert.deepEqual(partsIn(["cross.1.2"], ["encoder.output", "cross.1.2"]), ["encoder.output"]);
});

test("a token's states are named as in an address", () => {
  assert.equal(stateAt("embedding", 3), "encoder.embedding.at3");
  assert.equal(stateAt("2", 0), "encoder.2.at0");
});

test("arrow keys stay within the grid", () => {
  assert.deepEqual(stepped("ArrowDown", [0, 1], 2, 3), [1, 1]);
  assert.deepEqual(stepped("ArrowRight", [0, 1], 2, 3), [0, 2]);
  assert.equal(stepped("ArrowUp", [0, 1], 2, 3), null);
  assert.equal(stepped("ArrowRight", [0, 2], 2, 3), null);
  assert.equal(stepped("Enter", [0, 1], 2, 3), null);
});
