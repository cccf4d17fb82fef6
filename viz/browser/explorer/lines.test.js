import assert from "node:assert/strict";
import { test } from "node:test";

import { weightBetween } from "./lines.js";

test("the weight between two tokens is the same from either side", () => {
  const cells = { weights: Float32Array.of(0.25, 0.75, 0.5, 0.5, 1, 0), scale: 255, nQueries: 3, nKeys: 2 };
  assert.equal(weightBetween(cells, { side: "query", index: 0 }, 1), 0.75);
  assert.equal(weightBetween(cells, { side: "key", index: 1 }, 0), 0.75);
  assert.equal(weightBetween(cells, { side: "key", index: 0 }, 2), 1);
  const coarse = { ...cells, weights: Uint8Array.of(0, 255, 51, 0, 0, 0), scale: 1 };
  assert.equal(weightBetween(coarse, { side: "query", index: 1 }, 0), 0.2);
});
