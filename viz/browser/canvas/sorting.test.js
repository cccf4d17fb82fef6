import assert from "node:assert/strict";
import { test } from "node:test";

import { moved, rowUnder, wordAfter } from "./sorting.js";

test("moving an item keeps the order of the others", () => {
  assert.deepEqual(moved([..."abcd"], 0, 2), [..."bcad"]);
  assert.deepEqual(moved([..."abcd"], 3, 1), [..."adbc"]);
  assert.deepEqual(moved([..."abcd"], 1, 1), [..."abcd"]);
});

test("a row is dropped after those whose middle is above the pointer", () => {
  const rows = [0, 30, 60, 110].map((top) => ({ top, height: top === 60 ? 50 : 30 }));
  for (const [from, y, to] of [[0, 5, 0], [0, 46, 1], [0, 84, 1], [0, 86, 2], [0, 500, 3], [3, 40, 1], [3, 10, 0], [2, 46, 2]]) {
    assert.equal(rowUnder(rows, from, y), to, `${from} at ${y}`);
  }
});

test("a word is dropped before the first word of the pointer's line whose middle is to the right", () => {
  // Two lines of words, 40 pixels wide and 20 high.
  const words = [[0, 0], [50, 0], [100, 0], [0, 30], [50, 30]];
  const boxes = words.map(([left, top]) => ({ left, top, width: 40, bottom: top + 20 }));
  for (const [taken, x, y, before] of [
    [3, 10, 10, 0],
    [3, 30, 10, 1],
    [0, 30, 10, 1],
    // Behind the end of the first line, and between the lines.
    [0, 145, 10, 3],
    [0, 60, 25, 3],
    [0, 60, 35, 4],
    [0, 80, 35, -1],
    [4, 80, 60, -1],
  ]) {
    assert.equal(wordAfter(boxes, taken, x, y), before, `${taken} at ${x}, ${y}`);
  }
});
