import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "../canvas/trace_payload.js";
import { altOf, captionOf, cellName, cellValue, comparedOf, ignoredOf, pairOf, summaryOf, titleOf, tokenOf, weightBetween } from "./head_words.js";

const payload = new TracePayload(bytes(fixtures.exact));
const described = fixtures.heads.filter(({ alt }) => alt);

for (const { attention, layer, head, alt } of described) {
  test(`${attention} ${layer}.${head} is described as Python describes it`, () => {
    const cells = payload.cells(attention, layer, head);
    assert.equal(altOf(payload, payload.kind(attention), [{ layer, head, cells }]), alt);
  });
}

test("a head without any allowed cell is described too", () => {
  const cells = { ...payload.cells("encoder", 0, 0), allowed: new Uint8Array(16) };
  assert.match(altOf(payload, payload.kind("encoder"), [{ layer: 0, head: 0, cells }]), /; no query may attend to any key\.$/);
});

test("a cell is named by its tokens and places, and says its weight or that it is not allowed", () => {
  for (const { attention, layer, head, weights, allowed, queries, keys } of described) {
    const kind = payload.kind(attention);
    const cells = payload.cells(attention, layer, head);
    for (const [place, weight] of weights.entries()) {
      const [query, key] = [Math.floor(place / keys.length), place % keys.length];
      assert.equal(cellName(payload, kind, [query, key]), `${queries[query]} (${query}) to ${keys[key]} (${key})`);
      const text = cellValue(cells, [query, key]);
      if (!allowed[place]) assert.equal(text, "not allowed");
      else assert.ok(Math.abs(Number(text.replace("weight ", "")) - weight) <= 0.005 * weight);
    }
  }
});

test("a token says which three of the other side have most weight with it", () => {
  const [{ queries, keys, weights }] = described.filter(({ attention }) => attention === "cross");
  const cells = payload.cells("cross", 0, 0);
  const row = weights.slice(keys.length, 2 * keys.length);
  const most = [...keys.keys()].sort((one, other) => row[other] - row[one]).slice(0, 3);
  const said = most.map((key) => `${keys[key]} ${row[key].toFixed(2)}`).join(", ");
  assert.equal(tokenOf(payload, payload.kind("cross"), cells, { side: "query", index: 1 }), `${queries[1]}: ${said}`);
  const back = tokenOf(payload, payload.kind("cross"), cells, { side: "key", index: 1 });
  assert.ok(back.startsWith(`${keys[1]}: `));
  assert.notEqual(back.split(": ")[1], said);
});

test("a row of cross-attention names the token about to be written, and other rows do not", () => {
  const [cross, encoder] = [payload.kind("cross"), payload.kind("encoder")];
  const named = [payload.named(cross.queries, 1), payload.named(cross.keys, 2)];
  assert.equal(pairOf(payload, cross, [1, 2]), `having read “${named[0]}”, about to write “${payload.axis(cross.beside)[1]}”: looks at “${named[1]}”`);
  const tokens = [1, 2].map((place) => payload.named(encoder.keys, place));
  assert.equal(pairOf(payload, encoder, [1, 2]), tokens.join(" → "));
  assert.equal(pairOf(payload, { ...cross, besideMark: "←" }, [1, 2]), named.join(" → "));
});

test("ignored keys are counted out after the fifth", () => {
  const kind = { keys: payload.axes.push([..."abcdefgh"]) - 1, keyNoun: "source token" };
  assert.equal(ignoredOf(payload, kind, []), "no source token");
  assert.equal(ignoredOf(payload, kind, [0, 2]), "a, c");
  assert.equal(ignoredOf(payload, kind, [0, 1, 2, 3, 4, 5, 6]), "a, b, c, d, e and 2 more");
  assert.equal(ignoredOf(payload, kind, [0, 1, 2, 3, 4, 5, 6, 7]), "every source token that is shown");
});

test("a title names the head, or how many are compared", () => {
  const kind = payload.kind("cross");
  assert.equal(titleOf(kind, { layer: 1, head: 2, compare: [[1, 2]] }), "Cross-attention, layer 1, head 2");
  assert.equal(titleOf(kind, { layer: 1, head: 2, compare: [[1, 2], [0, 0]] }), "Cross-attention, 2 heads");
});

test("a summary gives a head's label before its description on this sentence", () => {
  const facts = payload.facts("encoder", 1, 0);
  assert.equal(summaryOf(payload, "encoder", 1, 0), `Layer 1, head 0: ${facts.sentence}`);
  facts.label = "Looks back";
  assert.equal(summaryOf(payload, "encoder", 1, 0), `Layer 1, head 0: Looks back: ${facts.sentence}`);
  assert.match(summaryOf(payload, "joint", 1, 0), /^Layer 1, head 0: Encoder: Looks back: Cross: .*: Decoder: /);
});

test("a caption says how the picture is read, and offers only what can be done", () => {
  const kind = payload.kind("cross");
  const noted = Object.create(payload, { notes: { value: ["Special tokens are hidden."] } });
  const usual = { lines: false, several: false, isCut: false, canAskPython: true };
  const caption = (changes) => captionOf(noted, kind, { ...usual, ...changes });
  assert.equal(caption({}), `${kind.caption}. Special tokens are hidden. Click a cell to look into it.`);
  assert.equal(caption({ canAskPython: false }), `${kind.caption}. Special tokens are hidden.`);
  assert.match(caption({ isCut: true }), /Not every token is named; zoom in/);
  assert.match(caption({ several: true }), /^Each cell has one stripe for each head.*hidden\.$/);
  assert.match(caption({ lines: true }), /Weights below 0\.01 are left out.*hidden\.$/);
});

test("no two compared heads are described alike, and one without a difference is not described", () => {
  const two = [[1, 0, 0, 1], [0, 1, 0.5, 0.5]].map((weights) => ({ weights, nKeys: 2, exact: true, scale: 255 }));
  const heads = [0, 1, 1].map((head) => ({ layer: 0, head }));
  const alike = Object.create(payload, {
    facts: { value: () => ({ label: null, sentence: "A row looks at about one token.", numbers: "" }) },
    cells: { value: (attention, layer, head) => two[head] },
  });
  const [one, other] = comparedOf(alike, "encoder", heads.slice(0, 2)).map(({ said }) => said);
  assert.match(one, / \(1\.00; the other 0\.00\)$/);
  assert.match(other, / \(1\.00; the other 0\.00\)$/);
  assert.notEqual(one, other);
  assert.deepEqual(comparedOf(alike, "encoder", heads).map(({ said }) => Boolean(said)), [true, false, false]);
  const own = payload.facts("encoder", 0, 0);
  assert.equal(comparedOf(payload, "encoder", [{ layer: 0, head: 0 }])[0].said, own.sentence);
  const all = payload.kind("joint").facts.flatMap((row, layer) => row.map((_, head) => ({ layer, head })));
  const told = comparedOf(payload, "joint", all).filter(({ said, label }) => said || label);
  const texts = told.map(({ name, said, label }) => `${name.split(", ").at(-1)} ${label} ${said}`);
  assert.equal(new Set(texts).size, texts.length);
});

test("the weight between two tokens is the same from either side", () => {
  const cells = { weights: Float32Array.of(0.25, 0.75, 0.5, 0.5, 1, 0), scale: 255, nQueries: 3, nKeys: 2 };
  assert.equal(weightBetween(cells, { side: "query", index: 0 }, 1), 0.75);
  assert.equal(weightBetween(cells, { side: "key", index: 1 }, 0), 0.75);
  assert.equal(weightBetween(cells, { side: "key", index: 0 }, 2), 1);
  const coarse = { ...cells, weights: Uint8Array.of(0, 255, 51, 0, 0, 0), scale: 1 };
  assert.equal(weightBetween(coarse, { side: "query", index: 1 }, 0), 0.2);
});
