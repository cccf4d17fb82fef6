import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { channels, packed } from "../canvas/paint.js";
import { opened } from "../canvas/envelope.js";
import { StepPalette, readPanel, roundStep, signedNumber } from "./panel.js";

const { header, body } = opened(bytes(fixtures.panels.envelope));
const [weights, signed, category] = header.panels.map((panel) => readPanel(panel, body));

test("numbers, masks and categories arrive as Python has them", () => {
  const { values, shown, start } = fixtures.panels;
  assert.deepEqual([...weights.cells.values], values[0]);
  assert.deepEqual([...signed.cells.values], values[1]);
  assert.deepEqual([...category.cells.weights], values[2]);
  assert.equal(weights.cells.allowed, null);
  assert.deepEqual([...signed.cells.allowed].map(Boolean), shown[1]);
  assert.deepEqual([...category.base], values[2]);
  assert.deepEqual([...category.start].map(Boolean), start);
});

test("a number has the step of its place between low and high, and what lies beyond has the last", () => {
  for (const [place, value] of signed.cells.values.entries()) {
    assert.equal(signed.cells.weights[place], Math.round((255 * (value + 2)) / 4));
  }
  const [narrow] = [readPanel({ ...header.panels[1], low: -0.001, high: 0.001 }, body)];
  assert.ok([...narrow.cells.weights].every((step) => step === 0 || step === 255));
  assert.equal(signed.cells.middle, 127.5);
});

test("a category has the very colour of its place", () => {
  const colors = ["#d3e8f7", "#e69f00", "#8e98a6"];
  const palette = new StepPalette(fixtures.looks.light, colors, true);
  for (const [place, value] of category.cells.weights.entries()) {
    assert.equal(palette.lookup[palette.step(category.cells, place)], packed(channels(colors[value])));
  }
});

test("numbers on an axis are written at round steps that leave each its room", () => {
  assert.deepEqual([0.2, 1, 1.1, 3, 7.5, 11, 19.2, 60].map(roundStep), [1, 1, 2, 5, 10, 20, 20, 100]);
});

test("a negative number has a minus sign, and nothing is no number", () => {
  assert.deepEqual([signedNumber(-0.256, 2), signedNumber(1.5, 0), signedNumber(NaN, 2)], ["−0.26", "2", "not a number"]);
  assert.deepEqual([signedNumber(-0.001, 2), signedNumber(-0, 0), signedNumber(-0.005, 3)], ["0.00", "0", "−0.005"]);
});
