import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../../tests/kit/fixtures.js";
import { TracePayload } from "../../canvas/trace_payload.js";
import { legalChosen, chosenSpelled, chosenOf, withAttention, withSwitched } from "./chosen.js";

const payload = new TracePayload(bytes(fixtures.exact));
payload.canSwitchOff = true;
const USUAL = {
  ...{ attention: "cross", layer: "0", head: "0", view: "heatmap", cell: "", range: "", compare: "", order: "", faint: "0" },
  ...{ only: "", off: "", words: "0", specials: "1", renormalise: "0", predicted: "0" },
};
const state = (changes) => chosenOf({ ...USUAL, ...changes });
const SPELLINGS = [
  {},
  { attention: "encoder", layer: "1", head: "2", cell: "1.2", range: "0-1.1-2", faint: "3", only: "layer.1" },
  { attention: "decoder", view: "lines", order: "entropy", words: "1", renormalise: "1" },
  { compare: "0.2-1.1-1.2", layer: "1", head: "1", specials: "0", predicted: "1" },
  { attention: "joint", only: "head.1", faint: "4", off: "cross.1.2-encoder.0.0" },
];

for (const changes of SPELLINGS) {
  test(`${JSON.stringify(changes)} is read and written back`, () => {
    assert.deepEqual(chosenSpelled(state(changes)), { ...USUAL, ...changes });
    assert.deepEqual(chosenOf(chosenSpelled(state(changes))), state(changes));
  });
}

for (const changes of SPELLINGS) {
  test(`${JSON.stringify(changes)} stands as it is where the trace has all of it`, () => {
    assert.deepEqual(legalChosen(state(changes), payload), state(changes));
  });
}

test("a selection that a trace lacks becomes the nearest one it has, or none", () => {
  const asked = { layer: "99", head: "99", cell: "99.0", compare: "0.0-77.1", only: "layer.77", order: "best", view: "x" };
  const found = chosenSpelled(legalChosen(state({ attention: "module", ...asked }), payload));
  const left = { cell: "", compare: "", only: "", order: "", view: "heatmap" };
  assert.deepEqual(found, { ...USUAL, attention: "joint", layer: "1", head: "2", ...left });
  assert.equal(legalChosen({ ...state({}), gamma: undefined }, payload).gamma, 1);
});

test("a cell and the part that is seen stay as long as the axes contain it", () => {
  assert.deepEqual(legalChosen(state({ cell: "3.3" }), payload).cell, [3, 3]);
  assert.equal(legalChosen(state({ cell: "3.4" }), payload).cell, null);
  assert.equal(legalChosen(state({ cell: "4.3" }), payload).cell, null);
  assert.deepEqual(legalChosen(state({ range: "0-3.2-3" }), payload).range, [0, 3, 2, 3]);
  for (const range of ["0-4.2-3", "0-3.2-4", "2-1.0-3", "0-3.3-2"]) assert.equal(legalChosen(state({ range }), payload).range, null);
});

test("a comparison without the selected head is dropped", () => {
  assert.deepEqual(legalChosen(state({ compare: "0.1-1.1" }), payload).compare, []);
  assert.deepEqual(legalChosen(state({ compare: "0.0-1.1-9.9" }), payload).compare, [[0, 0], [1, 1]]);
});

test("another kind opens with its own head and without the cell, the joined picture with the same", () => {
  const before = state({ layer: "1", head: "2", cell: "1.1", compare: "1.2-0.0" });
  const [layer, head] = payload.kind("encoder").opening;
  assert.deepEqual(withAttention(before, "encoder", payload), { attention: "encoder", cell: null, range: null, layer, head, compare: [] });
  const joined = withAttention(before, "joint", payload);
  assert.deepEqual(joined, { attention: "joint", cell: null, range: null, layer: 1, head: 2, compare: [] });
  assert.deepEqual(withAttention(before, "cross", payload), { attention: "cross", cell: null, range: null });
});

test("only heads that there are can be off, and none where the model cannot run without one", () => {
  const asked = state({ off: "cross.1.2-cross.9.0-module.0.0" });
  assert.deepEqual(legalChosen(asked, payload).off, ["cross.1.2"]);
  const traced = new TracePayload(bytes(fixtures.exact));
  assert.equal(traced.canSwitchOff, false);
  assert.deepEqual(legalChosen(asked, traced).off, []);
});

test("heads are switched off together, and on again once all of them are off", () => {
  assert.deepEqual(withSwitched([], ["a", "b"]), ["a", "b"]);
  assert.deepEqual(withSwitched(["b", "c"], ["a", "b"]), ["c", "a", "b"]);
  assert.deepEqual(withSwitched(["c", "a", "b"], ["a", "b"]), ["c"]);
});
