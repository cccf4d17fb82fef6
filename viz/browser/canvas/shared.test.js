import assert from "node:assert/strict";
import { test } from "node:test";

import { axisWords, heed, meets, placesLit, tell } from "./shared.js";

globalThis.document = new EventTarget();
globalThis.CustomEvent ??= class extends Event {
  constructor(name, { detail }) {
    super(name);
    this.detail = detail;
  }
};

test("a component hears what was told before it came, and what is told later, until it goes", () => {
  const heard = [];
  tell("word", 1);
  const leave = heed("word", (value) => heard.push(value));
  tell("word", 2);
  tell("other", 3);
  leave();
  tell("word", 4);
  assert.deepEqual(heard, [1, 2]);
});

test("a topic that nobody has told is null", () => {
  heed("nothing", (value) => assert.equal(value, null));
});

test("ranges meet where they share a token of the same side", () => {
  const range = (side, first, end) => ({ side, first, end });
  assert.ok(meets(range("source", 1, 3), [range("source", 2, 4)]));
  assert.ok(!meets(range("source", 1, 3), [range("source", 3, 4)]));
  assert.ok(!meets(range("source", 1, 3), [range("target", 1, 3)]));
  assert.ok(!meets(range("source", 1, 3), []));
});

const TOKENS = { source: ["The", "cat", "."], target: ["Die", "Kat", "…ze", "</s>"] };
const ranges = (texts, tokens = TOKENS) => axisWords(texts, tokens).map((word) => word && `${word.side} ${word.first}`);

test("an axis is known by its texts, also beside padding and with labels left out", () => {
  assert.deepEqual(ranges(["The", "cat", "."]), ["source 0", "source 1", "source 2"]);
  assert.deepEqual(ranges(["The", "cat", ".", "<pad>"]), ["source 0", "source 1", "source 2", null]);
  assert.deepEqual(ranges(["Die", "Kat", "…ze", "</s>"]), ["target 0", "target 1", "target 2", "target 3"]);
  assert.deepEqual(ranges(["<s>", "Die", "Kat", "…ze"]), ["target -1", "target 0", "target 1", "target 2"]);
  // As rows, what was read stands for what was then written.
  const rows = axisWords(["<s>", "Die", "Kat", "…ze"], TOKENS, true);
  assert.deepEqual(rows.map(({ first }) => first), [0, 1, 2, 3]);
  const sparse = ["The", "cat", "."];
  delete sparse[1];
  assert.deepEqual(ranges(sparse), ["source 0", "source 1", "source 2"]);
});

test("an axis of anything else stands for no words", () => {
  for (const texts of [["0", "1", "2"], ["The", "dog", "."], [], new Array(3)]) {
    assert.ok(ranges(texts).every((word) => word === null));
  }
  assert.ok(ranges(["The"], null).every((word) => word === null));
});

test("the places that are lit are those of the words that are pointed at", () => {
  const words = axisWords(["<s>", "Die", "Kat", "…ze"], TOKENS);
  assert.deepEqual(placesLit(words, [{ side: "target", first: 1, end: 3 }]), [2, 3]);
  assert.deepEqual(placesLit(words, [{ side: "source", first: 1, end: 3 }]), []);
  assert.deepEqual(placesLit(words, null), []);
});
