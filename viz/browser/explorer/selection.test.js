import assert from "node:assert/strict";
import { test } from "node:test";

import constants from "../../draw/constants.json" with { type: "json" };
import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { headsAt, headsShown, isChanged, lacksJoint, legal, measuresOf, shownHeads, spelled, unspelled, withAttention, withCompared, withSwitched } from "./selection.js";

const payload = new TracePayload(bytes(fixtures.exact));
payload.canSwitchOff = true;
const USUAL = {
  ...{ attention: "cross", layer: "0", head: "0", view: "heatmap", cell: "", compare: "", order: "", faint: "0" },
  ...{ only: "", off: "", words: "0", specials: "1", renormalise: "0", predicted: "0" },
};
const state = (changes) => unspelled({ ...USUAL, ...changes });
const SPELLINGS = [
  {},
  { attention: "encoder", layer: "1", head: "2", cell: "1.2", faint: "3", only: "layer.1" },
  { attention: "decoder", view: "lines", order: "entropy", words: "1", renormalise: "1" },
  { compare: "0.2-1.1-1.2", layer: "1", head: "1", specials: "0", predicted: "1" },
  { attention: "joint", only: "head.1", faint: "4", off: "cross.1.2-encoder.0.0" },
];

for (const changes of SPELLINGS) {
  test(`${JSON.stringify(changes)} is read and written back`, () => {
    assert.deepEqual(spelled(state(changes)), { ...USUAL, ...changes });
    assert.deepEqual(unspelled(spelled(state(changes))), state(changes));
  });
}

for (const changes of SPELLINGS) {
  test(`${JSON.stringify(changes)} stands as it is where the trace has all of it`, () => {
    assert.deepEqual(legal(state(changes), payload), state(changes));
  });
}

test("what is seldom changed is shown where it was changed", () => {
  assert.equal(isChanged(state({ layer: "1", view: "lines", off: "cross.0.1" })), false);
  for (const changes of [{ words: "1" }, { specials: "0" }, { predicted: "1" }, { order: "entropy" }, { faint: "2" }, { only: "head.1" }]) {
    assert.equal(isChanged(state(changes)), true, JSON.stringify(changes));
  }
});

test("a selection that a trace lacks becomes the nearest one it has, or none", () => {
  const asked = { layer: "99", head: "99", cell: "99.0", compare: "0.0-77.1", only: "layer.77", order: "best", view: "x" };
  const found = spelled(legal(state({ attention: "module", ...asked }), payload));
  const left = { cell: "", compare: "", only: "", order: "", view: "heatmap" };
  assert.deepEqual(found, { ...USUAL, attention: "joint", layer: "1", head: "2", ...left });
  assert.equal(legal({ ...state({}), gamma: undefined }, payload).gamma, 1);
});

test("all three kinds can be missing from one picture only where a trace has all three", () => {
  const kinds = ["encoder", "decoder", "cross"];
  assert.equal(lacksJoint({ attentions: kinds }), true);
  assert.equal(lacksJoint({ attentions: [...kinds, constants.JOINT] }), false);
  for (const kind of kinds) assert.equal(lacksJoint({ attentions: [kind] }), false);
});

test("a cell stays as long as the axes contain it", () => {
  assert.deepEqual(legal(state({ cell: "3.3" }), payload).cell, [3, 3]);
  assert.equal(legal(state({ cell: "3.4" }), payload).cell, null);
  assert.equal(legal(state({ cell: "4.3" }), payload).cell, null);
});

test("a comparison without the selected head is dropped", () => {
  assert.deepEqual(legal(state({ compare: "0.1-1.1" }), payload).compare, []);
  assert.deepEqual(legal(state({ compare: "0.0-1.1-9.9" }), payload).compare, [[0, 0], [1, 1]]);
});

test("heads join a comparison until it is full and leave it until one is left", () => {
  let now = state({});
  const add = (layer, head) => Object.assign({}, now, withCompared(now, layer, head));
  now = add(0, 1);
  assert.deepEqual(now.compare, [[0, 0], [0, 1]]);
  assert.deepEqual([now.layer, now.head], [0, 1]);
  for (let head = 2; head < constants.MOST_COMPARED; head++) now = add(0, head);
  assert.equal(now.compare.length, constants.MOST_COMPARED);
  assert.equal(withCompared(now, 1, 1), null);
  now = add(0, 0);
  assert.equal(now.compare.length, constants.MOST_COMPARED - 1);
  assert.deepEqual([now.layer, now.head], now.compare[0]);
  now = { ...now, compare: [[0, 1]], layer: 0, head: 1 };
  assert.deepEqual(withCompared(now, 0, 1), { layer: 0, head: 1, compare: [[0, 1]] });
});

test("the large picture shows the compared heads, or else the selected one", () => {
  assert.deepEqual(shownHeads(state({ layer: "1", head: "2" })), [[1, 2]]);
  assert.deepEqual(shownHeads(state({ layer: "1", head: "2", compare: "1.2" })), [[1, 2]]);
  assert.deepEqual(shownHeads(state({ layer: "1", head: "2", compare: "0.1-1.2" })), [[0, 1], [1, 2]]);
});

test("another kind opens with its own head and without the cell, the joined picture with the same", () => {
  const before = state({ layer: "1", head: "2", cell: "1.1", compare: "1.2-0.0" });
  const [layer, head] = payload.kind("encoder").opening;
  assert.deepEqual(withAttention(before, "encoder", payload), { attention: "encoder", cell: null, layer, head, compare: [] });
  const joined = withAttention(before, "joint", payload);
  assert.deepEqual(joined, { attention: "joint", cell: null, layer: 1, head: 2, compare: [] });
  assert.deepEqual(withAttention(before, "cross", payload), { attention: "cross", cell: null });
});

test("the overview shows every head, one layer, one head of each, or the largest of a measure first", () => {
  const places = (changes) => headsShown(payload, state(changes)).map(({ layer, head }) => [layer, head]);
  assert.deepEqual(places({}), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
  assert.deepEqual(places({ only: "layer.1" }), [[1, 0], [1, 1], [1, 2]]);
  assert.deepEqual(places({ only: "head.0" }), [[0, 0], [1, 0]]);
  const index = payload.measures.findIndex(({ key }) => key === "entropy");
  const ordered = headsShown(payload, state({ order: "entropy" }));
  for (const { layer, head, value } of ordered) assert.equal(value, payload.facts("cross", layer, head).measures[index]);
  const values = ordered.map(({ value }) => value);
  assert.ok(new Set(values).size > 1);
  assert.deepEqual(values, values.toSorted((one, other) => other - one));
});

test("an order by what is still to be computed is offered for every kind, and leaves the heads in place", () => {
  const pending = new TracePayload(bytes(fixtures.pending));
  const key = pending.onDemand;
  for (const name of ["encoder", "decoder", "cross"]) {
    assert.equal(measuresOf(pending, pending.kind(name)).at(-1).key, key);
    assert.ok(measuresOf(payload, payload.kind(name)).every((each) => each.key !== key));
  }
  assert.deepEqual(measuresOf(pending, pending.kind("joint")), []);
  const places = (order) => headsShown(pending, legal(state({ order }), pending)).map(({ layer, head }) => [layer, head]);
  assert.deepEqual(places(key), places(""));
  assert.equal(legal(state({ order: key }), pending).order, key);
  assert.equal(legal(state({ order: key }), payload).order, "");
});

test("heads are ordered by the measures of their kind", () => {
  const keys = (attention) => measuresOf(payload, payload.kind(attention)).map(({ key }) => key);
  assert.deepEqual(keys("joint"), []);
  for (const attention of ["encoder", "decoder", "cross"]) assert.deepEqual(keys(attention), fixtures.measures[attention]);
  assert.notDeepEqual(keys("encoder"), keys("cross"));
});

test("only heads that there are can be off, and none where the model cannot run without one", () => {
  const asked = state({ off: "cross.1.2-cross.9.0-module.0.0" });
  assert.deepEqual(legal(asked, payload).off, ["cross.1.2"]);
  const traced = new TracePayload(bytes(fixtures.exact));
  assert.equal(traced.canSwitchOff, false);
  assert.deepEqual(legal(asked, traced).off, []);
});

test("a place of the joint picture holds a head of each kind that has one there", () => {
  assert.deepEqual(headsAt(payload, "cross", 1, 2), ["cross.1.2"]);
  assert.deepEqual(headsAt(payload, "joint", 1, 2).sort(), ["cross.1.2", "decoder.1.2", "encoder.1.2"]);
  assert.deepEqual(headsAt(payload, "joint", 9, 0), []);
});

test("heads are switched off together, and on again once all of them are off", () => {
  assert.deepEqual(withSwitched([], ["a", "b"]), ["a", "b"]);
  assert.deepEqual(withSwitched(["b", "c"], ["a", "b"]), ["c", "a", "b"]);
  assert.deepEqual(withSwitched(["c", "a", "b"], ["a", "b"]), ["c"]);
});
