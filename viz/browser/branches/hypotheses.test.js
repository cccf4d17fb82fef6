import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { Hypotheses } from "./hypotheses.js";

const { envelope, without, weights } = fixtures.branches;
const tree = new Hypotheses(bytes(envelope));

test("a hypothesis has the tokens on its path and the attention of its last one", () => {
  assert.deepEqual(tree.path(4), [0, 2, 4]);
  assert.deepEqual([0, 2, 4].map((place) => tree.nodes[place].joins), [false, true, false]);
  assert.deepEqual(tree.looked(2).map((token) => token.weight), weights[2]);
  assert.deepEqual(tree.looked(2).map((token) => token.strength), [1, weights[2][1] / weights[2][0]]);
});

test("the spoken sentence names the outcome and the source token with most weight", () => {
  assert.match(tree.spoken(2), /^“Katze”: .*log-probability so far −1.*; it looks most at “cat” \(75%\)\.$/);
});

test("a tree sent without weights has everything else", () => {
  const bare = new Hypotheses(bytes(without));
  assert.equal(bare.looked(2), null);
  assert.match(bare.spoken(2), /−1(\.0+)?\.$/);
});

test("token moves follow the best hypothesis and stop at both ends", () => {
  assert.equal(tree.moved(0, { token: 1 }), 2);
  assert.equal(tree.moved(2, { token: -1 }), 0);
  assert.equal(tree.moved(0, { token: -1 }), 0);
  assert.equal(tree.moved(4, { token: 1 }), 4);
});

test("branch moves go to the next best hypothesis from any of its tokens", () => {
  assert.deepEqual(tree.ends, [4, 3, 1]);
  assert.equal(tree.moved(0, { branch: 1 }), 3);
  assert.equal(tree.moved(3, { branch: 1 }), 1);
  assert.equal(tree.moved(1, { branch: 1 }), 1);
  assert.equal(tree.moved(1, { branch: -1 }), 3);
});
