import assert from "node:assert/strict";
import { test } from "node:test";

import { Timeline, followedBy, keyAsked, spokenMoment } from "./timeline.js";

const whole = new Timeline({ encoder: 2, decoder: 3, steps: 4 });

test("a sentence is read layer by layer, and then every token goes through every layer", () => {
  const phases = whole.segments.map(({ phase, step, layer }) => `${phase} ${step} ${layer}`);
  assert.deepEqual(phases.slice(0, 8), [
    ...["read -1 0", "read -1 1"],
    ...["enter 0 -1", "layer 0 0", "layer 0 1", "layer 0 2", "write 0 3", "enter 1 -1"],
  ]);
  assert.equal(phases.length, 2 + 4 * 5);
  whole.segments.slice(1).forEach(({ from }, place) => assert.equal(from, whole.segments[place].to));
});

test("at a segment's end, it is done and the next has not begun", () => {
  whole.rests.forEach((rest, step) => {
    const moment = whole.at(rest);
    assert.deepEqual([moment.phase, moment.step, moment.share], ["write", step, 1]);
    assert.equal(moment.written, step + 1);
  });
});

test("progress never decreases", () => {
  let before = { encoded: -1, written: -1, entered: -1, rows: [-1, -1, -1] };
  for (let time = 0; time <= whole.duration; time += 7) {
    const moment = whole.at(time);
    const rows = [0, 1, 2].map((layer) => whole.rowsOf(moment, layer));
    for (const name of ["encoded", "written", "entered"]) assert.ok(moment[name] >= before[name] - 1e-9, name);
    rows.forEach((row, layer) => assert.ok(row >= before.rows[layer] - 1e-9));
    // A layer has what the one below it has, and no more.
    assert.ok(rows[0] >= rows[1] && rows[1] >= rows[2]);
    assert.ok(rows[2] >= moment.written - 1e-9 && rows[0] <= moment.entered + 1e-9);
    before = { ...moment, rows };
  }
});

test("at the end, everything is written", () => {
  const moment = whole.at(whole.duration);
  assert.deepEqual([moment.encoded, moment.written, moment.entered], [2, 4, 4]);
  for (const layer of [0, 1, 2]) assert.equal(whole.rowsOf(moment, layer), 4);
});

test("arrows go from token to token and from layer to layer", () => {
  const at = (key, time) => keyAsked(key, time, whole).time;
  assert.equal(at("ArrowRight", 0), whole.timeOf(1));
  assert.equal(at("ArrowRight", whole.timeOf(1)), whole.timeOf(2));
  assert.equal(at("ArrowLeft", whole.timeOf(2)), whole.timeOf(1));
  assert.equal(at("ArrowLeft", whole.timeOf(2) - 5), whole.timeOf(1));
  assert.equal(at("ArrowLeft", whole.timeOf(1)), 0);
  assert.equal(at("ArrowRight", whole.duration), whole.duration);
  assert.equal(at("Home", 900), 0);
  assert.equal(at("End", 0), whole.duration);
  let time = 0;
  for (const segment of whole.segments) {
    time = at("ArrowUp", time);
    assert.equal(time, segment.to);
  }
  assert.equal(at("ArrowDown", time), whole.segments.at(-2).to);
  assert.equal(at("ArrowDown", whole.segments[0].to), 0);
});

test("other keys play or do nothing", () => {
  assert.deepEqual(keyAsked("k", 0, whole), { plays: true });
  assert.equal(keyAsked("x", 0, whole), null);
});

test("rests count from 1 and are clamped to the sentence", () => {
  assert.equal(whole.restAt(0), 0);
  assert.equal(whole.restAt(whole.timeOf(3)), 3);
  assert.equal(whole.timeOf(99), whole.duration);
  assert.equal(whole.timeOf(0), whole.timeOf(1));
});

test("an encoder alone rests after each layer", () => {
  const alone = new Timeline({ encoder: 3, decoder: 0, steps: 0 });
  assert.equal(alone.rests.length, 3);
  assert.equal(alone.at(alone.timeOf(2)).encoded, 2);
  assert.equal(alone.at(alone.duration).written, 0);
});

test("a decoder alone reads nothing before it begins", () => {
  const alone = new Timeline({ encoder: 0, decoder: 2, steps: 3 });
  assert.equal(alone.at(0).phase, "enter");
  assert.equal(alone.rests.length, 3);
});

test("a long sentence takes less than a minute", () => {
  assert.ok(new Timeline({ encoder: 12, decoder: 12, steps: 500 }).duration < 60_000);
});

test("a moment's words are true of the model", () => {
  const figure = { decoder: {}, encoder: {}, offset: 1, depth: () => 2 };
  assert.equal(spokenMoment(whole.at(1), figure, 4), "Reading: layer 1 of 2");
  assert.equal(spokenMoment(whole.at(whole.timeOf(3)), figure, 4), "Writing 3 of 4");
  assert.equal(spokenMoment(whole.at(whole.timeOf(3)), { ...figure, offset: 0 }, 4), "Reading 3 of 4");
});

test("arrow keys follow one token after another, and stay among them", () => {
  assert.equal(followedBy("ArrowRight", -1, 5), 0);
  assert.equal(followedBy("ArrowRight", 4, 5), 4);
  assert.equal(followedBy("ArrowLeft", -1, 5), 4);
  assert.equal(followedBy("ArrowLeft", 0, 5), 0);
  assert.equal(followedBy("Home", 3, 5), 0);
  assert.equal(followedBy("End", 1, 5), 4);
  assert.equal(followedBy("ArrowUp", 1, 5), null);
});
