import assert from "node:assert/strict";
import test from "node:test";

import { unhonoured } from "./keys.js";

const PAGE = {
  known: { sentence: "Hi.", part: "see", layer: null, a: "", whose: "" },
  around: { scene: "0" },
  honours: { sentence: () => true, part: (part) => part === "change", layer: () => true },
  beside: ["a"],
};

test("a key is honoured, or named with its value", () => {
  assert.deepEqual(unhonoured({ sentence: "x", part: "change", layer: "2" }, PAGE), { lacking: [], unused: [] });
  assert.deepEqual(unhonoured({ part: "see", whose: "2.5" }, PAGE).lacking, ["part=see", "whose=2.5"]);
  assert.deepEqual(unhonoured({ a: "1.causal", scene: "3" }, PAGE).unused, ["a=1.causal", "scene=3"]);
});

test("defaults, and keys of no link of the app, say nothing", () => {
  assert.deepEqual(unhonoured({ a: "", scene: "0", whose: "", utm_source: "mail" }, PAGE), { lacking: [], unused: [] });
});

test("a long value is shortened between characters", () => {
  const [named] = unhonoured({ a: "🍕".repeat(99) }, PAGE).unused;
  assert.equal(named, `a=${"🍕".repeat(40)}…`);
});
