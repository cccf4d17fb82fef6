import assert from "node:assert/strict";
import test from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { opened } from "../canvas/envelope.js";
import { readKinds, weightsOf } from "./pair.js";

test("a difference is the one of Python, between tokens that both runs have", () => {
  const { values } = opened(bytes(fixtures.pair.envelope));
  const heads = readKinds(values.kinds, values.limit).flatMap((kind) => kind.heads);
  assert.equal(heads.length, fixtures.pair.differences.length);
  for (const [place, { difference }] of heads.entries()) {
    const found = [...difference.cells.values];
    assert.equal(found.length, fixtures.pair.differences[place].length);
    for (const [cell, value] of found.entries()) assert.ok(Math.abs(value - fixtures.pair.differences[place][cell]) < 1e-6);
  }
});

test("bytes are weights in steps", () => {
  assert.deepEqual([...weightsOf(Uint8Array.of(0, 255))], [0, 1]);
});
