import assert from "node:assert/strict";
import test from "node:test";

import { ChartClicks } from "./clicks.js";

/** A chart that was drawn, and what it was asked to call. */
function chart() {
  const called = {};
  return {
    called,
    on: (name, call) => (called[name] = call),
    removeListener: (name) => delete called[name],
    addEventListener: () => {},
    click: (point) => called.plotly_click({ points: [point] }),
  };
}

function clicksOn(map) {
  globalThis.MutationObserver = class {
    observe() {}
    disconnect() {}
  };
  globalThis.document = { body: {}, querySelector: () => map };
  return new ChartClicks(({ place }) => place ?? null);
}

test("a click is sent until it is answered, and clicks outside a place are never sent", () => {
  const [map, told] = [chart(), []];
  const clicks = clicksOn(map);
  const report = (open) => told.push(open);
  clicks.update({ chart: "tree", heard: 3 }, report);
  map.click({ place: ["a"] });
  map.click({});
  map.click({ place: ["b", 1] });
  assert.deepEqual(told, [[[4, "a"]], [[4, "a"], [5, "b", 1]]]);
  clicks.update({ chart: "tree", heard: 4 }, report);
  assert.deepEqual(clicks.open, [[5, "b", 1]]);
  clicks.update({ chart: "tree", heard: 5 }, report);
  assert.deepEqual(clicks.open, []);
  clicks.dispose();
  assert.deepEqual(map.called, {});
});

test("clicks on a replaced chart are heard too", () => {
  const [first, second] = [chart(), chart()];
  const told = [];
  const clicks = clicksOn(first);
  clicks.update({ chart: "tree", heard: 0 }, (open) => told.push(open));
  globalThis.document.querySelector = () => second;
  clicks.update({ chart: "tree", heard: 0 }, (open) => told.push(open));
  second.click({ place: [7] });
  assert.deepEqual(told, [[[1, 7]]]);
});
