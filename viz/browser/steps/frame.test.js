import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { Writing, keyAsked, shortest, spokenStep } from "./frame.js";

const { envelope, cross, own, texts } = fixtures.decoding;
const writing = new Writing(bytes(envelope));

test("every step shows both sentences with the weights of its row", () => {
  assert.equal(writing.count, texts.length);
  for (const [step, text] of texts.entries()) {
    const frame = writing.frame(step);
    assert.deepEqual(frame.source.map((token) => token.weight), cross[step]);
    assert.deepEqual(frame.target.map((token) => token.weight), own[step].slice(0, step + 1));
    assert.equal(frame.written.text, text);
    assert.equal(Math.max(...frame.source.map((token) => token.strength)), 1);
  }
});

test("the token written is marked among the likeliest, or named separately", () => {
  assert.deepEqual(writing.frame(0).candidates.map((each) => each.chosen), [false, true]);
  assert.equal(writing.frame(0).other, null);
  assert.deepEqual(writing.frame(1).candidates.map((each) => each.chosen), [false, false]);
  assert.deepEqual(writing.frame(1).other, { text: "ze", probability: 0.01, rank: 3 });
  assert.equal(writing.frame(1).forced, true);
});

test("parts of a word join, and special tokens stand alone", () => {
  assert.deepEqual(writing.target.map((token) => [token.text, token.joins]), [
    ["<s>", false],
    ["Kat", false],
    ["ze", true],
    ["</s>", false],
  ]);
});

test("a fully masked row has strengths of 0", () => {
  assert.deepEqual(writing.frame(2).source.map((token) => token.strength), [1, 0]);
  writing.cross.weights.fill(0);
  assert.deepEqual(writing.frame(2).source.map((token) => token.strength), [0, 0]);
});

for (const [share, written] of [
  [0, "0%"],
  [0.0001, "< 0.1%"],
  [0.0005, "0.1%"],
  [0.0494, "4.9%"],
  [0.0994, "9.9%"],
  [0.0996, "10%"],
  [0.5, "50%"],
  [0.994, "99%"],
  [0.996, "99.6%"],
  [0.99999, "99.9%"],
  [1, "100%"],
]) {
  test(`${share} is written ${written}`, () => assert.equal(shortest(share), written));
}

test("the spoken step names the token written and the source token with most weight", () => {
  const said = spokenStep(new Writing(bytes(envelope)).frame(1), 1, 3);
  assert.equal(said, "Step 2 of 3: “ze” is given (1.0%); the model looks most at “cat” (75%).");
});

test("keys step, play and choose a candidate", () => {
  assert.deepEqual(keyAsked("ArrowRight", 0, 3, 2), { step: 1 });
  assert.deepEqual(keyAsked("ArrowRight", 2, 3, 2), { step: 2 });
  assert.deepEqual(keyAsked("ArrowLeft", 0, 3, 2), { step: 0 });
  assert.deepEqual(keyAsked("End", 0, 3, 2), { step: 2 });
  assert.deepEqual(keyAsked("k", 0, 3, 2), { plays: true });
  assert.deepEqual(keyAsked("2", 0, 3, 2), { place: 1 });
  assert.deepEqual(keyAsked("0", 0, 3, 10), { place: 9 });
  assert.equal(keyAsked("3", 0, 3, 2), null);
  assert.equal(keyAsked("x", 0, 3, 2), null);
});
