import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { Figure } from "./payload.js";

const { envelope, arcs, weights, at } = fixtures.figure;
const figure = new Figure(bytes(envelope));

test("every head is drawn with the weights that Python packed", () => {
  for (const stack of figure.stacks) {
    for (const block of stack.blocks) {
      block.layers.forEach((layer, place) => {
        for (let head = 0; head < block.heads; head++) {
          const cells = figure.cells(block, place, head);
          const own = weights[`${block.kind}.${layer}`][head];
          assert.equal(cells.weights.length, own.length);
          own.forEach((weight, cell) => assert.ok(Math.abs(cells.weights[cell] - weight) < 1e-6));
          assert.equal(cells.scale, 255);
          assert.deepEqual(figure.cells(block.kind, place, head), cells);
        }
      });
    }
  }
});

test("the decoder's mask hides what comes later, and the others hide nothing", () => {
  const allowed = (stack, block) => figure.cells(figure[stack].blocks[block], 0, 0).allowed;
  assert.deepEqual([...allowed("decoder", 0)], [1, 0, 0, 1, 1, 0, 1, 1, 1]);
  assert.equal(allowed("decoder", 1), null);
  assert.equal(allowed("encoder", 0), null);
});

test("arcs are exact", () => {
  arcs.forEach((frame, number) =>
    frame.forEach((row, written) => row.forEach((weight, read) => assert.equal(figure.arc(number, written, read), weight))),
  );
});

test("what a feed-forward layer adds is a share of the most", () => {
  assert.deepEqual([...figure.added(figure.encoder, 0)], [0.25, 0.5, 1]);
  assert.deepEqual([...figure.added(figure.encoder, 1)], [1, 0.5, 0.25]);
});

test("at every temperature the next tokens have the probabilities of a softmax", () => {
  assert.ok(figure.offeredTemperatures.length > 4);
  figure.next.forEach((step, number) =>
    figure.offeredTemperatures.forEach((_, place) =>
      figure.sharesAt(step, place).forEach((share, token) => assert.ok(Math.abs(share - at[number][place][token]) < 1e-6)),
    ),
  );
  const partly = Object.assign(Object.create(Figure.prototype), { temperatures: figure.temperatures, next: [figure.next[0], { ...figure.next[1], normalizers: null }] });
  assert.deepEqual([partly.offeredTemperatures, Object.assign(partly, { next: null }).offeredTemperatures], [[], []]);
});

test("a position table has one column per token", () => {
  const { nQueries, nKeys, weights: cells } = figure.positionCells(figure.encoder);
  const { cells: table, dimensions } = figure.encoder.positions;
  assert.deepEqual([nQueries, nKeys], [dimensions, 3]);
  for (let token = 0; token < 3; token++) {
    for (let dimension = 0; dimension < dimensions; dimension++) {
      assert.equal(cells[dimension * 3 + token], table[token * dimensions + dimension]);
    }
  }
});

test("a written word is followed where the decoder reads it, one position later", () => {
  // “Katze” is predicted at 0 and 1, and read at 1 and 2.
  assert.equal(figure.wordOf("target", 1), 0);
  assert.equal(figure.wordOf("target", 2), 0);
  assert.equal(figure.wordOf("target", 0), -1);
  assert.equal(figure.wordOf("source", 1), 1);
});

test("the text alternative names each word with the one it looks at most", () => {
  const most = arcs[0][0].indexOf(Math.max(...arcs[0][0]));
  assert.equal(figure.spoken(0), `“Katze” looks most at “${["The", "cat", "</s>"][most]}”.`);
});

test("a token is told with what its word looks at, or with the words that look at it", () => {
  const most = arcs[0][0].indexOf(Math.max(...arcs[0][0]));
  const looks = figure.spoken(0);
  assert.match(figure.spokenToken("target", 1), new RegExp(`^Token 2 of 3: “.+”\\. ${looks.replace(/[.]/g, "\\.")}$`));
  assert.ok(figure.spokenToken("source", most).endsWith(looks));
  const other = [0, 1, 2].find((place) => place !== most);
  assert.match(figure.spokenToken("source", other), /^Token \d of 3: “[^”]+”\.$/);
});
