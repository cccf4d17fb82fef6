import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "./trace_payload.js";

const exact = new TracePayload(bytes(fixtures.exact));
const coarse = new TracePayload(bytes(fixtures.coarse));

function open({ allowed }) {
  return allowed === null ? null : [...allowed].map(Boolean);
}

for (const { attention, layer, head, weights, allowed, queries, keys } of fixtures.heads) {
  test(`every weight of ${attention} ${layer}.${head} is that of the trace`, () => {
    const cells = exact.cells(attention, layer, head);
    assert.deepEqual([cells.nQueries, cells.nKeys], [queries.length, keys.length]);
    assert.deepEqual([cells.exact, cells.scale], [true, 255]);
    assert.deepEqual([...cells.weights], weights);
    assert.deepEqual(open(cells) ?? weights.map(() => true), allowed);
    const kind = exact.kind(attention);
    assert.deepEqual([exact.axis(kind.queries), exact.axis(kind.keys)], [queries, keys]);
  });

  test(`in 8 bits, those of ${attention} ${layer}.${head} are right to 2% of the largest in their row`, () => {
    const cells = coarse.cells(attention, layer, head);
    assert.deepEqual([cells.exact, cells.scale], [false, 255]);
    for (const [place, weight] of weights.entries()) {
      const first = place - (place % cells.nKeys);
      const largest = Math.max(...weights.slice(first, first + cells.nKeys));
      assert.ok(Math.abs(cells.weights[place] - weight) <= 0.02 * largest);
    }
    assert.deepEqual(open(cells) ?? weights.map(() => true), allowed);
  });
}

test("a repeated token is named with its position", () => {
  const axis = exact.axes.push(["a", "b", "a"]) - 1;
  assert.deepEqual([0, 1, 2].map((place) => exact.named(axis, place)), ["a (0)", "b", "a (2)"]);
});

test("a head of all three kinds has the facts of each", () => {
  const { parts } = exact.facts("joint", 1, 2);
  assert.deepEqual(parts.map(([name]) => name), ["Encoder", "Cross", "Decoder"]);
  for (const [at, kind] of ["encoder", "cross", "decoder"].entries()) {
    assert.equal(parts[at][1], exact.facts(kind, 1, 2));
  }
  assert.equal(exact.facts("encoder", 9, 0), null);
});

test("in the joint picture the words of the source come before those of the target", () => {
  for (const axis of ["queries", "keys"]) {
    const sides = exact.words("joint", axis).map(({ side }) => side);
    assert.deepEqual(exact.words("joint", axis), [...exact.words("encoder", axis), ...exact.words("decoder", axis)]);
    assert.deepEqual(sides, [...sides].sort());
  }
});
