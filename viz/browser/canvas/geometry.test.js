import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, nearestCell } from "./geometry.js";

const GRID = { left: 40, top: 20, cellWidth: 12.5, cellHeight: 7.25, queries: [..."abc"], keys: [..."wxyz"] };

test("every pixel of a cell belongs to it", () => {
  for (const query of GRID.queries.keys()) {
    for (const key of GRID.keys.keys()) {
      const [x, y] = [GRID.left + key * GRID.cellWidth, GRID.top + query * GRID.cellHeight];
      for (const [right, down] of [[0, 0], [12.4, 0], [0, 7.2], [6, 3], [12.4, 7.2]]) {
        assert.deepEqual(cellAt(GRID, x + right, y + down), [query, key]);
        assert.deepEqual(nearestCell(GRID, x + right, y + down), [query, key]);
      }
    }
  }
});

test("outside the grid there is no cell, and the nearest one is on the edge", () => {
  for (const [x, y, nearest] of [[39, 21, [0, 0]], [41, 19, [0, 0]], [91, 30, [1, 3]], [60, 42, [2, 1]], [500, 500, [2, 3]]]) {
    assert.equal(cellAt(GRID, x, y), null);
    assert.deepEqual(nearestCell(GRID, x, y), nearest);
  }
});
