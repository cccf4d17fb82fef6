import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { channels, packed } from "../canvas/paint.js";
import { opened } from "../canvas/envelope.js";
import { StepPalette, readPanel, roundStep, signedNumber } from "./panel.js";

const { panels } = opened(bytes(fixtures.panels.envelope)).values;
const [weights, signed, category] = panels.map(readPanel);

test("numbers, masks and categories arrive as Python sent them", () => {
  const { values, shown, start } = fixtures.panels;
  assert.deepEqual([...weights.cells.values], values[0]);
  assert.deepEqual([...signed.cells.values], values[1]);
  assert.deepEqual([...category.cells.weights], values[2]);
  assert.equal(weights.cells.allowed, null);
  assert.deepEqual([...signed.cells.allowed].map(Boolean), shown[1]);
  assert.deepEqual([...category.base], values[2]);
  assert.deepEqual([...category.start].map(Boolean), start);
});

test("a number's step is its position between low and high; values outside get the end steps", () => {
  for (const [place, value] of signed.cells.values.entries()) {
    assert.equal(signed.cells.weights[place], Math.round((255 * (value + 2)) / 4));
  }
  const [narrow] = [readPanel({ ...panels[1], low: -0.001, high: 0.001 })];
  assert.ok([...narrow.cells.weights].every((step) => step === 0 || step === 255));
  assert.equal(signed.cells.middle, 127.5);
});

test("a category has exactly its own colour", () => {
  const colors = ["#d3e8f7", "#e69f00", "#8e98a6"];
  const palette = new StepPalette(fixtures.looks.light, colors, true);
  for (const [place, value] of category.cells.weights.entries()) {
    assert.equal(palette.lookup[palette.step(category.cells, place)], packed(channels(colors[value])));
  }
});

test("axis numbers appear at round steps that leave room for each", () => {
  assert.deepEqual([0.2, 1, 1.1, 3, 7.5, 11, 19.2, 60].map(roundStep), [1, 1, 2, 5, 10, 20, 20, 100]);
});

test("negative numbers have a minus sign, and NaN is “not a number”", () => {
  assert.deepEqual([signedNumber(-0.256, 2), signedNumber(1.5, 0), signedNumber(NaN, 2)], ["−0.26", "2", "not a number"]);
  assert.deepEqual([signedNumber(-0.001, 2), signedNumber(-0, 0), signedNumber(-0.005, 3)], ["0.00", "0", "−0.005"]);
});
