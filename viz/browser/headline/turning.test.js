import assert from "node:assert/strict";
import { test } from "node:test";

import { headNames, marked, turned } from "./turning.js";

const words = (text) =>
  text.match(/[\w]+|[^\w\s]/g).map((each) => ({ text: each, joins: !/\w/.test(each) }));
const told = (before, after) => turned(words(before), words(after)).map(([fate, { text }]) => `${fate} ${text}`);

test("words that stay keep their order, and those that differ go and come", () => {
  assert.deepEqual(told("Er hat einen Hund.", "Er kauft einen Hund."), [
    "same Er",
    "gone hat",
    "new kauft",
    "same einen",
    "same Hund",
    "same .",
  ]);
});

test("nothing of a text is lost, whatever it turns into", () => {
  const texts = ["a b c", "c b a", "a", "x y z a b c", "a a a", "b."];
  for (const before of texts) {
    for (const after of texts) {
      const fates = turned(words(before), words(after));
      const kept = (left) => fates.filter(([fate]) => fate !== left).map(([, { text }]) => text);
      assert.deepEqual(kept("new"), words(before).map(({ text }) => text));
      assert.deepEqual(kept("gone"), words(after).map(({ text }) => text));
    }
  }
});

test("a text that turns into itself only stays", () => {
  assert.ok(turned(words("a b a b."), words("a b a b.")).every(([fate]) => fate === "same"));
});

test("the words that another text lacks are marked", () => {
  const shown = marked(words("Er kauft einen Hund."), words("Er hat einen Hund."));
  assert.deepEqual(shown.filter(({ isNew }) => isNew).map(({ text }) => text), ["kauft"]);
});

test("one or two heads are named, and more are counted", () => {
  assert.equal(headNames("cross.0.5"), "Cross 0.5");
  assert.equal(headNames("cross.0.5-encoder.3.1"), "Cross 0.5 and Encoder 3.1");
  assert.equal(headNames("cross.0.5-encoder.3.1-decoder.0.0"), "3 heads");
});
