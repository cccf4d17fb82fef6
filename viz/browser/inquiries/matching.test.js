import assert from "node:assert/strict";
import { test } from "node:test";

import { isMistyped, matching, wordsOf } from "./matching.js";

const QUESTIONS = [
  ["source", "Which head finds a word's source?", "align alignment translation pair"],
  ["previous", "Which head looks at the previous token?", "back before left"],
  ["future", "What if the decoder could see the future?", "mask causal ahead later"],
  ["order", "What if the model did not know the order?", "word order lost positions without"],
  ["believed", "Can attention be believed?", "trust true faithful correlation"],
];

const keys = (typed) => matching(typed, QUESTIONS).map(([key]) => key);

test("before anything is typed, every question stands as it came", () => {
  assert.deepEqual(keys(""), QUESTIONS.map(([key]) => key));
  assert.deepEqual(keys("  ?! "), QUESTIONS.map(([key]) => key));
});

test("words are found while they are being typed, in any order", () => {
  assert.deepEqual(keys("fut"), ["future"]);
  assert.deepEqual(keys("future decoder"), ["future"]);
});

test("other words for it are found as well, after the question's own", () => {
  assert.equal(keys("alignment")[0], "source");
  assert.equal(keys("trust")[0], "believed");
  assert.equal(keys("order")[0], "order");
});

test("a word that questions share does not decide", () => {
  assert.equal(keys("which head looks back")[0], "previous");
  assert.equal(keys("what if word order were lost?")[0], "order");
});

test("one letter wrong is forgiven in words of four and more", () => {
  assert.deepEqual(keys("futrue"), ["future"]);
  assert.deepEqual(keys("beleived"), ["believed"]);
  assert.ok(isMistyped("previuos", "previous"));
  assert.ok(!isMistyped("cat", "car"));
  assert.ok(!isMistyped("mask", "model"));
});

test("where no question has all words, those with most of them fit", () => {
  assert.deepEqual(keys("future of bananas"), ["future"]);
  assert.deepEqual(keys("bananas"), []);
});

test("accents and capitals are nothing to go by", () => {
  assert.deepEqual(wordsOf("Écoute, MASK’s <s>!"), ["ecoute", "mask", "s", "<s>"]);
});
