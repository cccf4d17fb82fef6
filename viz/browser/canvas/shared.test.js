import assert from "node:assert/strict";
import { test } from "node:test";

import { heed, meets, tell } from "./shared.js";

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
