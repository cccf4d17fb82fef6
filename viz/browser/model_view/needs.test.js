import assert from "node:assert/strict";
import { test } from "node:test";

import { Needs } from "./needs.js";

const HEAD = { at: "head", kind: "cross", layer: 0, head: 1 };

/** What a place needs, in a page whose engine, or whose recorded run, is given. */
function needsOf({ engine = null, block = {} }) {
  const told = [];
  const travel = { place: HEAD, tell: (text) => told.push(text), view: { engine, figure: { asks: null, stacks: [{ blocks: [block] }] }, drawSoon: () => {} } };
  const needs = new Needs(travel);
  needs.take();
  return { needs, told };
}

const settled = () => new Promise((done) => setTimeout(done));

test("what the model refuses is told, and the answer is at hand once it comes", async () => {
  const answers = [new Error("The model is busy."), { d: 2 }];
  const ask = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const { needs, told } = needsOf({ engine: { ask } });
  needs.ask(HEAD);
  assert.equal(needs.state(HEAD), "waits");
  await settled();
  assert.deepEqual([needs.state(HEAD), needs.refusal(HEAD), told], ["no", "The model is busy.", ["The model is busy."]]);
  needs.ask(HEAD);
  await settled();
  assert.deepEqual([needs.state(HEAD), needs.refusal(HEAD), needs.answer(HEAD), told.length], ["yes", "", { d: 2 }, 1]);
});

test("of a recorded run nothing is refused aloud, with vectors of other heads or without any", async () => {
  const block = { kind: "decoder", layers: [0], heads: 2, q: new Float32Array(2) };
  for (const { needs, told } of [needsOf({ block }), needsOf({})]) {
    needs.ask(HEAD);
    await settled();
    assert.deepEqual([needs.state(HEAD), needs.refusal(HEAD), needs.answer(HEAD), told], ["no", "", null, []]);
  }
});

test("all three kinds in one picture, and the whole model, need nothing", () => {
  const { needs } = needsOf({});
  for (const place of [{ ...HEAD, kind: "joint" }, { at: "model" }]) assert.equal(needs.state(place), "");
});
