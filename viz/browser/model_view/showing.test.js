import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { Showing } from "./showing.js";

const figure = new TracePayload(bytes(fixtures.exact));
const HEAD = { at: "head", kind: "cross", layer: 0, head: 1 };

/** The heads at a place, where going there is all that a way does. */
function showingAt(place) {
  const told = [];
  const view = { figure, inks: { theme: { heads: ["#111111", "#222222"] } }, size: () => {}, say: () => {}, drawSoon: () => {} };
  const travel = { place, view, tell: (text) => told.push(text), go: (to = travel.place) => Object.assign(travel, { place: to }) };
  const showing = new Showing(travel);
  const press = (key) => showing.key({ key, getModifierState: () => false, composedPath: () => [{}] });
  return { showing, travel, told, press };
}

test("heads join one picture in the order in which they came, up to eight, and leave it", () => {
  const { showing, travel, told } = showingAt(HEAD);
  const drawn = () => showing.drawn(travel.place).map(({ layer, head, color }) => [layer, head, color]);
  assert.deepEqual(drawn(), [[0, 1, null]]);
  showing.compare({ ...HEAD, layer: 1, head: 2 });
  assert.deepEqual(travel.place, { ...HEAD, layer: 1, head: 2 });
  assert.deepEqual(drawn(), [[0, 1, "#111111"], [1, 2, "#222222"]]);
  assert.deepEqual(showing.named(travel.place), [["cross", 0, 1], ["cross", 1, 2]]);
  // Elsewhere, a head that is not compared stands alone.
  travel.place = { ...HEAD, head: 0 };
  assert.deepEqual(drawn(), [[0, 0, null]]);
  assert.equal(showing.isPlain(travel.place), true);
  travel.place = HEAD;
  assert.equal(showing.isPlain(HEAD), false);
  showing.compare(HEAD);
  assert.deepEqual([travel.place.layer, travel.place.head, drawn()], [1, 2, [[1, 2, null]]]);
  showing.take({ ...showing.how, compare: Array.from({ length: 8 }, () => [1, 2]) });
  showing.compare(HEAD);
  assert.match(told.at(-1), /^Up to 8 heads/);
});

test("a row and a weight are those of one head, and a place of all three kinds has a head of each", () => {
  const { showing } = showingAt(HEAD);
  showing.take({ ...showing.how, compare: [[0, 1], [0, 2]] });
  assert.deepEqual(showing.named({ ...HEAD, at: "row", query: 0 }), [["cross", 0, 1]]);
  const joint = { ...HEAD, kind: "joint", head: 0 };
  assert.deepEqual(showing.named(joint).map(([kind]) => kind).sort(), ["cross", "decoder", "encoder"]);
  assert.equal(showing.isPlain(joint), false);
});

test("one thing after another is let go of: a token of the lines, then the comparison", () => {
  const { showing, press } = showingAt(HEAD);
  assert.deepEqual([press("c"), press("v"), press("b")], [true, true, false]);
  assert.deepEqual([showing.isComparing, showing.hasLines(HEAD)], [true, true]);
  showing.pin({ side: "key", index: 1 });
  assert.deepEqual(showing.focus, { side: "key", index: 1 });
  assert.deepEqual([showing.letGo(), showing.focus, showing.isComparing], [true, null, true]);
  assert.deepEqual([showing.letGo(), showing.isComparing, showing.letGo()], [true, false, false]);
  showing.pin({ side: "key", index: 1 });
  press("v");
  assert.deepEqual([showing.hasLines(HEAD), showing.focus], [false, null]);
});
