import assert from "node:assert/strict";
import { test } from "node:test";

import { letterSize, sizesOf } from "./sizes.js";

function figure(layers, heads, { added = true, next = true, decoder = true } = {}) {
  const stack = (blocks) => ({ blocks: Array.from({ length: blocks }, () => ({ heads })), added: added ? {} : null });
  return { stacks: decoder ? [stack(1), stack(2)] : [stack(1)], next: next ? [] : null, depth: () => layers };
}

test("tiles of the shipped model are large enough to be read on a laptop", () => {
  const { narrow, tile } = sizesOf(figure(4, 8), 1200, 400);
  assert.equal(narrow, false);
  assert.ok(tile.width >= 26 && tile.height >= 30);
});

test("whatever the model, all of it fits the width and, while tiles have a size, the height", () => {
  for (const [layers, heads] of [[1, 1], [2, 4], [4, 8], [6, 8], [6, 16], [12, 12]]) {
    const { tile, gap } = sizesOf(figure(layers, heads), 1200, 420);
    assert.ok(3 * heads * (tile.width + gap) < 1200 || tile.width === 9);
    assert.ok(layers * (tile.height + 8) <= 420 || tile.height === 9);
  }
});

test("a phone has one column, and a row of heads fits it", () => {
  const { narrow, tile, gap } = sizesOf(figure(4, 8), 358, 2000);
  assert.equal(narrow, true);
  assert.ok(8 * (tile.width + gap) + 66 < 358);
});

test("a tablet held upright has one column too, a phone held sideways has not", () => {
  const { narrow, tile } = sizesOf(figure(4, 8), 772, 1050);
  assert.equal(narrow, true);
  assert.ok(tile.width > 40);
  assert.equal(sizesOf(figure(4, 8), 796, 300).narrow, false);
});

test("on a stage, everything around the tiles grows with the letters", () => {
  const usual = sizesOf(figure(4, 8), 1800, 600);
  assert.ok(sizesOf(figure(4, 8), 1800, 600, 1.75).tile.width < usual.tile.width);
});

test("letters are as large as words allow, within limits", () => {
  assert.equal(letterSize(10, 1000, 40, 17), 40);
  assert.equal(letterSize(40, 1000, 40, 17), 25);
  assert.equal(letterSize(400, 1000, 40, 17), 17);
});
