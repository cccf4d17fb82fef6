import assert from "node:assert/strict";
import { test } from "node:test";

import constants from "../../draw/constants.json" with { type: "json" };
import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { USUAL_HOW, headsAt, headsShown, howOf, howSpelled, isChanged, lacksJoint, legalHow, measuresOf, shownHeads, withCompared } from "./how.js";

const payload = new TracePayload(bytes(fixtures.exact));
const USUAL = {
  ...{ view: "heatmap", compare: "", order: "", faint: "0" },
  ...{ only: "", words: "0", specials: "1", renormalise: "0", predicted: "0" },
};
const state = ({ layer = "0", head = "0", attention = "cross", ...changes }) => ({ ...howOf({ ...USUAL, ...changes }), attention, layer: Number(layer), head: Number(head) });

test("what an address leaves out is as at first, and is spelled as it is read", () => {
  assert.deepEqual(howOf(USUAL), USUAL_HOW);
  const changed = { ...USUAL, view: "lines", compare: "0.2-1.1", order: "entropy", faint: "3", only: "head.1", words: "1", specials: "0" };
  assert.deepEqual(howSpelled(howOf(changed)), changed);
});

test("what is seldom changed is shown where it was changed", () => {
  assert.equal(isChanged(state({ layer: "1", view: "lines", off: "cross.0.1" })), false);
  for (const changes of [{ words: "1" }, { specials: "0" }, { predicted: "1" }, { order: "entropy" }, { faint: "2" }, { only: "head.1" }]) {
    assert.equal(isChanged(state(changes)), true, JSON.stringify(changes));
  }
});

test("all three kinds can be missing from one picture only where a trace has all three", () => {
  const kinds = ["encoder", "decoder", "cross"];
  assert.equal(lacksJoint({ attentions: kinds }), true);
  assert.equal(lacksJoint({ attentions: [...kinds, constants.JOINT] }), false);
  for (const kind of kinds) assert.equal(lacksJoint({ attentions: [kind] }), false);
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
  const how = (order, of) => legalHow(state({ order }), of, of.kind("cross"), [0, 0]);
  const places = (order) => headsShown(pending, { ...how(order, pending), attention: "cross" }).map(({ layer, head }) => [layer, head]);
  assert.deepEqual(places(key), places(""));
  assert.equal(how(key, pending).order, key);
  assert.equal(how(key, payload).order, "");
});

test("heads are ordered by the measures of their kind", () => {
  const keys = (attention) => measuresOf(payload, payload.kind(attention)).map(({ key }) => key);
  assert.deepEqual(keys("joint"), []);
  for (const attention of ["encoder", "decoder", "cross"]) assert.deepEqual(keys(attention), fixtures.measures[attention]);
  assert.notDeepEqual(keys("encoder"), keys("cross"));
});

test("a place of the joint picture holds a head of each kind that has one there", () => {
  assert.deepEqual(headsAt(payload, "cross", 1, 2), ["cross.1.2"]);
  assert.deepEqual(headsAt(payload, "joint", 1, 2).sort(), ["cross.1.2", "decoder.1.2", "encoder.1.2"]);
  assert.deepEqual(headsAt(payload, "joint", 9, 0), []);
});
