import assert from "node:assert/strict";
import { test } from "node:test";
import { Way } from "./way.js";

const path = { duration: 1000, at: () => ({ x: 0, y: 0, across: 1, up: 1 }) };

test("a way starts at its first frame and ends after its duration", () => {
  const way = new Way(path);
  assert.deepEqual([5000, 5250, 6000, 9000].map((now) => way.step(now)), [0, 0.25, 1, 1]);
});

test("one late frame does not make a way late", () => {
  const [quick, slow] = [new Way(path), new Way(path)];
  for (let frame = 0; frame < 20; frame++) {
    quick.step(frame * 17 + (frame > 3 ? 90 : 0));
    slow.step(frame * 60);
  }
  assert.deepEqual([quick.isLate, slow.isLate], [false, true]);
});
