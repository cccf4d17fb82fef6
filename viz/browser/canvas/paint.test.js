import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "./trace_payload.js";
import { HATCH_PERIOD, Palette, channels, luminance, packed, paintCells, paintSteps, pooled } from "./paint.js";

const payload = new TracePayload(bytes(fixtures.exact));
const unpacked = (color) => [color & 255, (color >> 8) & 255, (color >> 16) & 255];

test("a weight has the colour of its place on the scale, to half a step, for every gamma and theme", () => {
  for (const { look, gamma, weight, low, high } of fixtures.colors) {
    const palette = new Palette(fixtures.looks[look], gamma);
    const color = unpacked(palette.lookup[palette.stepOf(255 * weight)]);
    for (const [at, channel] of color.entries()) {
      assert.ok(low[at] - 2 <= channel && channel <= high[at] + 2, `${look} ${gamma} ${weight}: ${color}, ${low}`);
    }
  }
});

test("the ends of the scale are its own colours", () => {
  for (const theme of Object.values(fixtures.looks)) {
    const { lookup } = new Palette(theme, 1);
    assert.equal(lookup[0], packed(channels(theme.weights[0])));
    assert.equal(lookup[255], packed(channels(theme.weights.at(-1))));
  }
});

test("ink and luminance are Python's", () => {
  for (const [look, weight, ink] of fixtures.inks) {
    assert.equal(new Palette(fixtures.looks[look], 1).ink(Math.round(255 * weight)), ink);
  }
  for (const [color, light] of fixtures.luminances) assert.ok(Math.abs(luminance(channels(color)) - light) < 1e-12);
});

test("ink has a contrast of 4.5 on every step", () => {
  for (const theme of Object.values(fixtures.looks)) {
    const palette = new Palette(theme, 1);
    for (let step = 0; step < 256; step++) assert.ok(palette.contrast(step) >= 4.5);
  }
});

/** Calls back for every pixel of every cell. */
function everyPixel({ nQueries, nKeys }, width, height, look) {
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      look(Math.floor((y * nQueries) / height) * nKeys + Math.floor((x * nKeys) / width), x, y);
    }
  }
}

for (const { attention, layer, head, weights, allowed } of fixtures.heads) {
  test(`every pixel of ${attention} ${layer}.${head} has the colour of its weight, or is hatched`, () => {
    const cells = payload.cells(attention, layer, head);
    const [width, height] = [13 * cells.nKeys + 5, 11 * cells.nQueries + 3];
    for (const [name, gamma] of [["light", 1], ["dark", 0.5]]) {
      const palette = new Palette(fixtures.looks[name], gamma);
      const pixels = new Uint32Array(width * height);
      paintCells(pixels, width, height, cells, width, height, 0, 0, palette);
      const hatched = new Set();
      everyPixel(cells, width, height, (place, x, y) => {
        const color = pixels[y * width + x];
        if (allowed[place]) assert.equal(color, palette.lookup[palette.stepOf(255 * weights[place])]);
        else hatched.add(color);
      });
      const both = allowed.includes(false) ? [palette.forbidden, palette.hatch] : [];
      assert.deepEqual([...hatched].sort(), both.sort());
    }
  });
}

test("a scrolled part has the pixels of the whole", () => {
  const cells = payload.cells("decoder", 1, 1);
  const palette = new Palette(fixtures.looks.light, 1);
  const [width, height] = [120, 90];
  const whole = new Uint32Array(width * height);
  paintCells(whole, width, height, cells, width, height, 0, 0, palette);
  const [wide, high, offX, offY] = [50, 40, 61, 37];
  const part = new Uint32Array(wide * high);
  paintCells(part, wide, high, cells, width, height, offX, offY, palette);
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) assert.equal(part[y * wide + x], whole[(y + offY) * width + x + offX]);
  }
});

/** A diagonal of 1 in a matrix of 0. */
function diagonal(length) {
  const weights = new Float32Array(length * length);
  for (let at = 0; at < length; at++) weights[at * length + at] = 1;
  return { weights, scale: 255, allowed: null, nQueries: length, nKeys: length };
}

test("a pixel over several cells shows the largest weight", () => {
  const palette = new Palette(fixtures.looks.light, 1);
  const steps = pooled(diagonal(100), 7, 7, palette);
  for (let at = 0; at < 7; at++) assert.equal(steps[at * 7 + at], 255);
  const pixels = new Uint32Array(49);
  paintCells(pixels, 7, 7, diagonal(100), 7, 7, 0, 0, palette);
  assert.deepEqual([...pixels], [...steps].map((step) => palette.lookup[step]));
});

test("a pixel over signed numbers shows the one farthest from the middle", () => {
  const cells = { weights: Uint8Array.of(120, 10, 200, 128), scale: 1, allowed: null, nQueries: 1, nKeys: 4, middle: 127.5 };
  assert.deepEqual([...pooled(cells, 2, 1, new Palette(fixtures.looks.light, 1))], [10, 200]);
});

test("a pixel over forbidden cells alone is hatched, and one with an allowed cell shows that cell", () => {
  const palette = new Palette(fixtures.looks.light, 1);
  const cells = { weights: Uint8Array.of(9, 90, 7, 8), scale: 1, allowed: Uint8Array.of(1, 0, 0, 0), nQueries: 1, nKeys: 4 };
  const steps = pooled(cells, 2, 1, palette);
  assert.deepEqual([...steps], [9, 256]);
  const pixels = new Uint32Array(2 * HATCH_PERIOD);
  paintSteps(pixels, 2 * HATCH_PERIOD, 1, new Uint16Array(2 * HATCH_PERIOD).fill(256), 0, 0, 2 * HATCH_PERIOD, 1, palette);
  assert.equal(pixels.filter((color) => color === palette.hatch).length, 2);
  assert.equal(pixels.filter((color) => color === palette.forbidden).length, 2 * HATCH_PERIOD - 2);
});

test("pixels beyond an edge are clipped and change no others", () => {
  const palette = new Palette(fixtures.looks.light, 1);
  const steps = Uint16Array.from({ length: 9 }, (_, at) => 20 * at);
  for (const [left, top] of [[-1, -2], [2, 3], [-5, 0], [0, 9]]) {
    const pixels = new Uint32Array(16);
    paintSteps(pixels, 4, 4, steps, left, top, 3, 3, palette);
    for (const [place, color] of pixels.entries()) {
      const [x, y] = [(place % 4) - left, Math.floor(place / 4) - top];
      const inside = x >= 0 && y >= 0 && x < 3 && y < 3;
      assert.equal(color, inside ? palette.lookup[20 * (3 * y + x)] : 0);
    }
  }
});
