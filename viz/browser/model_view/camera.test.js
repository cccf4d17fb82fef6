import assert from "node:assert/strict";
import { test } from "node:test";

import { fitting, panned, path, pointOnScreen, scaleOf, seenIn, toScreen, toWorld, zoomed } from "./camera.js";

const VIEWPORT = { width: 1200, height: 700 };
const WORLD = { left: 0, top: 0, width: 1200, height: 700, right: 1200, bottom: 700 };
const WHOLE = { x: 600, y: 350, across: 1, up: 1 };
const LIMITS = { whole: WHOLE, world: WORLD, most: 400 };

// The same numbers in every run.
function numbers(seed) {
  let state = seed;
  return (low, high) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return low + (high - low) * (state / 2 ** 32);
  };
}

function views(count, seed = 1) {
  const next = numbers(seed);
  return Array.from({ length: count }, () => {
    const [scale, ratio] = [Math.exp(next(0, 6)), Math.exp(next(-1, 1))];
    return { x: next(0, 1200), y: next(0, 700), across: scale * Math.sqrt(ratio), up: scale / Math.sqrt(ratio) };
  });
}

const near = (one, other, within = 1e-6) => assert.ok(Math.abs(one - other) <= within * Math.max(1, Math.abs(other)), `${one} is not ${other}`);

function same(one, other, within) {
  for (const name of Object.keys(other)) near(one[name], other[name], within);
}

test("the screen and the world lead to each other", () => {
  const [view] = views(1);
  same(toWorld(view, VIEWPORT, pointOnScreen(view, VIEWPORT, { x: 12, y: 34 })), { x: 12, y: 34 });
  same(toScreen(WHOLE, VIEWPORT, WORLD), WORLD);
  same(toScreen(view, VIEWPORT, seenIn(view, VIEWPORT)), WORLD);
});

test("what fits lies within its margin, as large as it can", () => {
  const tile = { left: 700, top: 300, width: 30, height: 38, right: 730, bottom: 338 };
  const margin = { top: 100, right: 50, bottom: 40, left: 200 };
  for (const stretch of [null, { queries: 8, keys: 8 }, { queries: 60, keys: 60 }, { queries: 8, keys: 20 }, { queries: 1, keys: 1 }, { queries: 60, keys: 1 }]) {
    const view = fitting(tile, VIEWPORT, { margin, stretch });
    const { left, top, right, bottom, width, height } = toScreen(view, VIEWPORT, tile);
    assert.ok(left > 199.99 && top > 99.99 && right < 1150.01 && bottom < 660.01);
    near((left + right) / 2, (200 + 1150) / 2);
    near((top + bottom) / 2, (100 + 660) / 2);
    assert.ok(Math.abs(width - 950) < 0.01 || Math.abs(height - 560) < 0.01);
    if (!stretch) near(view.across, view.up);
    else if (view.across / view.up < 5.99 && view.across / view.up > 0.17) {
      const cell = width / stretch.keys / (height / stretch.queries);
      assert.ok(cell > 0.999 && cell < 1.351, `${cell}`);
    }
  }
});

test("a tile of a long sentence and one key is not drawn out beyond measure", () => {
  const tile = { left: 0, top: 0, width: 30, height: 38, right: 30, bottom: 38 };
  for (const stretch of [{ queries: 1, keys: 60 }, { queries: 60, keys: 1 }]) {
    const { across, up } = fitting(tile, VIEWPORT, { stretch });
    assert.ok(across / up < 6.001 && up / across < 6.001);
  }
});

test("a path meets both ends exactly and leaves nothing out between", () => {
  const all = [WHOLE, ...views(30), { ...WHOLE, x: 601 }, { ...WHOLE, across: 3 }, { x: 600.0001, y: 350, across: 400, up: 400 }];
  for (const from of all.slice(0, 12)) {
    for (const to of all) {
      const way = path(from, to, VIEWPORT);
      assert.deepEqual(way.at(0), from);
      assert.deepEqual(way.at(1), to);
      same(way.at(1e-7), from, 1e-4);
      same(way.at(1 - 1e-7), to, 1e-4);
      if (from === to) assert.equal(way.duration, 0);
      else assert.ok(way.duration >= 400 && way.duration <= 2000);
      let before = from;
      let done = 0;
      for (let share = 0.002; share <= 1; share += 0.002) {
        const view = way.at(share);
        assert.ok(Object.values(view).every(Number.isFinite));
        // No step is seen as a jump: neither the scale nor what lies in the middle.
        assert.ok(Math.abs(Math.log(scaleOf(view) / scaleOf(before))) < 0.08);
        assert.ok(Math.hypot(view.x - before.x, view.y - before.y) * scaleOf(view) < 0.1 * VIEWPORT.width);
        const far = Math.hypot(to.x - from.x, to.y - from.y);
        const now = far ? Math.hypot(view.x - from.x, view.y - from.y) / far : share;
        assert.ok(now >= done - 1e-6 && now < 1 + 1e-6);
        [before, done] = [view, now];
      }
    }
  }
});

test("the nearer, the faster, and a far way goes out first", () => {
  const at = (x, scale) => ({ x, y: 350, across: scale, up: scale });
  const durations = [1, 10, 100, 400].map((far) => path(at(100, 10), at(100 + far, 10), VIEWPORT).duration);
  assert.deepEqual(durations, durations.toSorted((one, other) => one - other));
  assert.equal(durations[0], 400);
  assert.ok(scaleOf(path(at(100, 10), at(900, 10), VIEWPORT).at(0.5)) < 4);
  assert.ok(scaleOf(path(at(100, 10), at(1100, 10), VIEWPORT).at(0.5)) > 0.9);
});

test("proportions alone change on a path too", () => {
  const way = path(WHOLE, { ...WHOLE, across: 2, up: 0.5 }, VIEWPORT);
  assert.ok(way.duration >= 400);
  const { across, up } = way.at(0.5);
  near(across / up, 2);
});

test("coming closer keeps the point under the pointer", () => {
  const next = numbers(3);
  for (const view of views(200)) {
    const point = { x: next(0, 1200), y: next(0, 700) };
    const fixed = toWorld(view, VIEWPORT, point);
    for (const near of [null, { ...view, across: view.across * 9, up: view.up * 3 }]) {
      const closer = zoomed(view, VIEWPORT, point, next(1, 1.5), { ...LIMITS, near });
      same(pointOnScreen(closer, VIEWPORT, fixed), point);
    }
  }
});

test("close up, going out keeps it as well, where it lies over the model", () => {
  const view = { x: 600, y: 350, across: 20, up: 20 };
  const fixed = toWorld(view, VIEWPORT, { x: 900, y: 100 });
  same(pointOnScreen(zoomed(view, VIEWPORT, { x: 900, y: 100 }, 0.8, LIMITS), VIEWPORT, fixed), { x: 900, y: 100 });
});

test("out ends at the whole model exactly, without a jump, from wherever", () => {
  const next = numbers(7);
  for (const start of views(200).filter((view) => scaleOf(view) > 4)) {
    let view = start;
    const point = { x: next(0, 1200), y: next(0, 700) };
    for (let turn = 0; scaleOf(view) > 1.02; turn++) {
      assert.ok(turn < 1000);
      const out = zoomed(view, VIEWPORT, point, 0.98, LIMITS);
      assert.ok(Math.hypot(out.x - view.x, out.y - view.y) * scaleOf(out) < 80, JSON.stringify([view, out]));
      assert.ok(Math.abs(Math.log((out.across / out.up) / (view.across / view.up))) < 0.06 || scaleOf(out) === 1);
      view = out;
    }
    view = zoomed(view, VIEWPORT, point, 0.98, LIMITS);
    assert.deepEqual(view, WHOLE);
    assert.deepEqual(zoomed(view, VIEWPORT, point, 0.5, LIMITS), WHOLE);
  }
});

test("in ends at the closest, in the proportions of what is near", () => {
  const goal = { x: 300, y: 300, across: 15, up: 10 };
  let view = WHOLE;
  for (let turn = 0; turn < 200; turn++) view = zoomed(view, VIEWPORT, { x: 300, y: 300 }, 1.1, { ...LIMITS, near: goal });
  near(scaleOf(view), 400);
  near(view.across / view.up, 1.5);
});

test("a drag moves the picture with the finger and ends at the edge", () => {
  const view = { x: 600, y: 350, across: 10, up: 5 };
  same(panned(view, 50, -20, LIMITS), { ...view, x: 595, y: 354 });
  assert.ok(panned(view, 1e6, 1e6, LIMITS).x >= 0 && panned(view, -1e6, 0, LIMITS).x <= 1200);
  assert.deepEqual(panned(WHOLE, 300, 300, LIMITS), WHOLE);
  const beyond = { ...view, x: -40 };
  assert.deepEqual(panned(beyond, 10, 0, LIMITS), beyond);
  near(panned(beyond, -10, 0, LIMITS).x, -39);
});
