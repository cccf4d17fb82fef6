import assert from "node:assert/strict";
import { test } from "node:test";

import { hasLeft } from "./left.js";

const SCENE = { number: 3, views: [{ layer: "1", head: "2" }, { head: "2", layer: "1", sentence: "A & b" }] };

test("an address with one of the scene's views, in any order and with the talk's own names, is still the scene", () => {
  assert.equal(hasLeft(SCENE, "?layer=1&head=2"), false);
  assert.equal(hasLeft(SCENE, "?present=1&scene=3&talk=x&head=2&layer=1"), false);
  assert.equal(hasLeft(SCENE, "?read=1&sentence=A+%26+b&layer=1&head=2"), false);
});

test("a changed, an added or a missing value is another view", () => {
  for (const search of ["?layer=1&head=3", "?layer=1&head=2&cell=1.1", "?layer=1", ""]) assert.equal(hasLeft(SCENE, search), true);
});

test("a playing player stays within its scene", () => {
  assert.equal(hasLeft(SCENE, "?layer=1&head=2&at=5"), false);
  assert.equal(hasLeft({ number: 1, views: [{ section: "steps", at: "1" }] }, "?section=steps&at=4"), false);
});

test("while the next scene is loading, the answer is null", () => {
  assert.equal(hasLeft(SCENE, "?scene=4&layer=1&head=2"), null);
});
