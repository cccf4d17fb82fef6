import assert from "node:assert/strict";
import { test } from "node:test";

import { fixtures } from "../../../tests/kit/fixtures.js";
import { PaintedMask } from "./mask.js";

// Three queries, four keys.
const OPEN = new Array(12).fill(1);
const rows = ({ allowed }) => [0, 4, 8].map((start) => [...allowed.slice(start, start + 4)].join(""));

function painted(mask, from, ...to) {
  mask.begin(from);
  for (const cell of to) mask.stroke(cell);
  return rows(mask);
}

test("a stroke inverts its first cell and sets the others to the same value", () => {
  const mask = new PaintedMask(OPEN, 4);
  assert.deepEqual(painted(mask, [1, 1], [1, 1]), ["1111", "1011", "1111"]);
  assert.deepEqual(painted(mask, [0, 0], [1, 2]), ["0001", "0001", "1111"]);
  assert.deepEqual(painted(mask, [1, 1], [2, 1]), ["0001", "0101", "1111"]);
});

test("a rectangle follows the pointer in any direction and shrinks again", () => {
  const mask = new PaintedMask(OPEN, 4);
  assert.deepEqual(painted(mask, [2, 2], [0, 0], [1, 1]), ["1111", "1001", "1001"]);
});

test("a label paints its whole row or column", () => {
  assert.deepEqual(painted(new PaintedMask(OPEN, 4), [1, null], [1, 2]), ["1111", "0000", "1111"]);
  assert.deepEqual(painted(new PaintedMask(OPEN, 4), [null, 3], [2, 2]), ["1100", "1100", "1100"]);
  assert.deepEqual(painted(new PaintedMask(OPEN, 4), [0, null], [1, null]), ["0000", "0000", "1111"]);
});

test("strokes can be undone, and redone until the next stroke", () => {
  const mask = new PaintedMask(OPEN, 4);
  assert.equal(mask.undo(), false);
  const first = painted(mask, [0, 0], [0, 0]);
  const second = painted(mask, [1, 1], [1, 1]);
  assert.ok(mask.undo());
  assert.deepEqual(rows(mask), first);
  assert.ok(mask.redo());
  assert.deepEqual(rows(mask), second);
  assert.equal(mask.redo(), false);
  mask.undo();
  mask.undo();
  assert.deepEqual(rows(mask), ["1111", "1111", "1111"]);
  painted(mask, [2, 3], [2, 3]);
  assert.equal(mask.redo(), false);
});

test("a reset returns to the model's mask and can be undone", () => {
  const base = Uint8Array.of(0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1);
  const mask = new PaintedMask(OPEN, 4);
  const edited = painted(mask, [0, 0], [0, 0]);
  mask.reset(base);
  assert.deepEqual(rows(mask), ["1000", "1100", "1110"]);
  mask.undo();
  assert.deepEqual(rows(mask), edited);
});

test("a forbidden cell has its reason, and an allowed one none", () => {
  const mask = new PaintedMask([0, 0, 1, 1], 2);
  const cells = new Uint8Array(4);
  mask.reasons(cells, Uint8Array.of(2, 4, 3, 4));
  assert.deepEqual([...cells], [2, 4, 0, 0]);
});

for (const { allowed, columns, bits } of fixtures.painted) {
  test(`${allowed.length / columns} by ${columns} cells are encoded as Python reads them`, () => {
    assert.equal(new PaintedMask(allowed, columns).bits(), bits);
  });
}
