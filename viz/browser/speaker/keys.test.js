import assert from "node:assert/strict";
import { test } from "node:test";

import { asked, sceneAsked, swiped } from "./keys.js";

test("keys of a remote and of a keyboard step, and digits jump", () => {
  for (const key of ["PageDown", " ", "n"]) assert.deepEqual(asked({ key }), { step: 1 });
  for (const key of ["PageUp", "b"]) assert.deepEqual(asked({ key }), { step: -1 });
  for (let digit = 1; digit <= 9; digit++) assert.deepEqual(asked({ key: String(digit) }), { number: digit });
  assert.deepEqual(asked({ key: "0" }), { number: 10 });
  // A French keyboard types digits only with Shift.
  assert.deepEqual(asked({ key: "é", code: "Digit2" }), { number: 2 });
});

test("keys with Ctrl, Alt or Meta are left to the browser, and other keys do nothing", () => {
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) {
    for (const key of ["3", "PageDown", "b"]) assert.equal(asked({ key, [modifier]: true }), null);
  }
  for (const key of ["x", "ArrowRight", "Enter", "F5"]) assert.equal(asked({ key }), null);
});

test("steps stop at the first and the last scene, and numbers without a scene do nothing", () => {
  assert.deepEqual([1, 2, 10].map((from) => sceneAsked({ step: 1 }, from, 10)), [2, 3, null]);
  assert.deepEqual([1, 2, 10].map((from) => sceneAsked({ step: -1 }, from, 10)), [null, 1, 9]);
  // Before a talk begins, the next scene is its first.
  assert.equal(sceneAsked({ step: 1 }, 0, 10), 1);
  assert.deepEqual([1, 4, 10, 11, 0, 1.5].map((number) => sceneAsked({ number }, 4, 10)), [1, 4, 10, null, null, null]);
  assert.equal(sceneAsked({ step: 0 }, 4, 10), 4);
  assert.equal(sceneAsked({ step: 1 }, 0, 0), null);
});

test("a quick sideways movement is a swipe; a tap, a scroll and a slow drag are not", () => {
  const begin = { x: 200, y: 300, at: 1000 };
  const way = (across, down, took) => swiped(begin, { x: 200 + across, y: 300 + down, at: 1000 + took });
  assert.equal(way(-120, 0, 450), 1);
  assert.equal(way(120, 20, 450), -1);
  assert.equal(way(-60, 29, 800), 1);
  for (const none of [way(5, 0, 50), way(-59, 0, 200), way(-70, 200, 450), way(-120, 60, 450), way(-120, 0, 801)]) {
    assert.equal(none, 0);
  }
});
