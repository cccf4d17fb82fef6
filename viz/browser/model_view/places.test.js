import assert from "node:assert/strict";
import { test } from "node:test";

import { names, saidOf } from "./place_words.js";
import { around, beside, inner, legal, outer, parsed, partOfJoint, samePlace, spelled, strongestWeight } from "./places.js";
import { placeAt, rectOf } from "./space.js";

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/** A figure whose every row looks at the key after it, but for what `weight` says. */
function figureOf({ source = ["He", "has", "</s>"], target = ["<s>", "Er"], layers = [0, 1], heads = 2, weight = null, parts = "both", next = true } = {}) {
  const block = (kind, name, queries, keys, keySide) => ({ kind, name, layers, heads, queries: queries.length, keys: keys.length, keySide });
  const stack = (kind, name, side, tokens, blocks) => ({
    ...{ kind, name, side, tokens, blocks },
    added: Float32Array.from({ length: layers.length * tokens.length }, (_, place) => place % tokens.length),
    positions: { dimensions: 8 },
  });
  const stacks = [
    stack("encoder", "Encoder", "source", source, [block("encoder", "Self-attention", source, source, "source")]),
    stack("decoder", "Decoder", "target", target, [
      block("decoder", "Masked self-attention", target, target, "target"),
      block("cross", "Cross-attention", target, source, "source"),
    ]),
  ];
  const drawn = new Map();
  return {
    stacks: parts === "both" ? stacks : stacks.filter(({ kind }) => kind === parts),
    next: next ? target.map(() => ({ texts: ["a", "b"], shares: [0.2, 0.7] })) : null,
    head: null,
    cells({ kind, queries, keys }, at, head) {
      const name = `${kind}.${at}.${head}`;
      if (drawn.has(name)) return drawn.get(name);
      const usual = (query, key) => (key === Math.min(query + 1, keys - 1) ? 250 - query : 0);
      const weights = Uint8Array.from({ length: queries * keys }, (_, place) => (weight ?? usual)(Math.floor(place / keys), place % keys, at, head));
      const allowed = kind === "decoder" ? weights.map((_, place) => Number(place % keys <= Math.floor(place / keys))) : null;
      return drawn.set(name, { weights, scale: 1, allowed, nKeys: keys }).get(name);
    },
  };
}

const FIGURES = {
  usual: figureOf(),
  long: figureOf({ source: Array.from({ length: 60 }, (_, place) => `t${place}`), target: Array.from({ length: 60 }, () => "x".repeat(60)), layers: [0] }),
  short: figureOf({ source: ["a"], target: ["b"], layers: [3], heads: 1 }),
  encoder: figureOf({ parts: "encoder", next: false }),
  decoder: figureOf({ parts: "decoder" }),
  bare: { ...figureOf({ next: false }), stacks: figureOf().stacks.map((stack) => ({ ...stack, added: null, positions: null })) },
};

/** Every place of a figure that one reaches; of long sentences the first rows. */
function placesOf(figure) {
  const found = new Map();
  const todo = [{ at: "model" }];
  while (todo.length) {
    const place = todo.pop();
    if (found.has(spelled(place)) || (figure === FIGURES.long && place.query > 2)) continue;
    found.set(spelled(place), place);
    todo.push(...[inner(place, figure), outer(place, figure), ...ARROWS.map((key) => beside(place, key, figure))].filter(Boolean));
  }
  return [...found.values()];
}

function spaceOf(figure) {
  const made = { model: rectangle(0, 0, 1200, 600), stacks: {}, blocks: {}, heads: {}, positions: {}, added: {}, next: rectangle(1100, 200, 90, 200), step: 1 };
  figure.stacks.forEach(({ kind: stack, blocks }, place) => {
    const left = place * 520;
    made.stacks[stack] = rectangle(left, 100, 500, 450);
    made.positions[stack] = rectangle(left + 10, 500, 200, 26);
    blocks[0].layers.forEach((layer, at) => {
      const top = 400 - at * 60;
      blocks.forEach(({ kind, heads }, index) => {
        made.heads[`${kind}.${layer}`] = { width: 30, height: 40, gap: 3 };
        made.blocks[`${kind}.${layer}`] = rectangle(left + 10 + index * 260, top, heads * 33 - 3, 40);
      });
      made.added[`${stack}.${layer}`] = rectangle(left + 450, top, 40, 40);
    });
  });
  return made;
}

const rectangle = (left, top, width, height) => ({ left, top, width, height, right: left + width, bottom: top + height });

test("a link leads back to its place", () => {
  for (const text of ["", "encoder", "cross.0", "cross.0.5", "cross.0.5.6", "cross.0.5.6.2", "positions.encoder", "feed-forward.encoder.0", "next.6"]) {
    assert.equal(spelled(parsed(text)), text);
  }
  assert.deepEqual(parsed("cross.0.5.6.2"), { at: "weight", kind: "cross", layer: 0, head: 5, query: 6, key: 2 });
  for (const figure of Object.values(FIGURES)) for (const place of placesOf(figure)) assert.deepEqual(parsed(spelled(place)), place);
});

test("what is no spelling is the whole model", () => {
  const wrong = ["Cross.0", "cross.0.5.6.2.1", "cross.0000", "cross..1", ".", "0", "next", "next.1.2", "feed-forward.0", "positions.a.b", "-", "a-", "a.b.c.1", "cross.-1"];
  for (const text of [...wrong, "a".repeat(41), "<b>", "cross.1e3", "cross 0", "\n", "../x", "positions.1"]) {
    assert.equal(legal(parsed(text), FIGURES.usual).at, "model", text);
  }
});

test("a place that this model or sentence lacks becomes the nearest around it", () => {
  const nearest = (text, figure = FIGURES.usual) => spelled(legal(parsed(text), figure));
  assert.equal(nearest("cross.1.1.1.2"), "cross.1.1.1.2");
  assert.equal(nearest("cross.1.1.1.3"), "cross.1.1.1");
  assert.equal(nearest("cross.1.1.2.0"), "cross.1.1");
  assert.equal(nearest("cross.1.9.2.0"), "cross.1");
  assert.equal(nearest("cross.9.9"), "decoder");
  assert.equal(nearest("cross.0.5.6.2", FIGURES.encoder), "");
  assert.equal(nearest("feed-forward.decoder.7"), "decoder");
  assert.equal(nearest("feed-forward.decoder.0", FIGURES.bare), "decoder");
  assert.equal(nearest("positions.encoder", FIGURES.bare), "encoder");
  assert.equal(nearest("next.9"), "next.1");
  assert.equal(nearest("next.0", FIGURES.encoder), "");
});

test("every place is reached by keys alone, and Escape leads to the whole model from all", () => {
  const { usual } = FIGURES;
  // 1 model, 2 stacks, 6 blocks, 12 heads, 28 rows, 76 weights, 2 tables, 4 feed-forward blocks, 2 steps.
  const counts = Object.groupBy(placesOf(usual), ({ at }) => at);
  const own = Object.fromEntries(Object.entries(counts).map(([at, all]) => [at, all.length]));
  assert.deepEqual(own, { model: 1, stack: 2, block: 6, head: 12, row: 28, weight: 76, positions: 2, added: 4, next: 2 });
  for (const figure of Object.values(FIGURES)) {
    for (const place of placesOf(figure)) {
      assert.deepEqual(legal(place, figure), place);
      assert.equal(around(place, figure)[0].at, "model");
      assert.ok(around(place, figure).length <= 6);
    }
  }
});

test("arrows lead back whence they came", () => {
  const back = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft", ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
  for (const figure of [FIGURES.usual, FIGURES.short, FIGURES.encoder, FIGURES.decoder]) {
    for (const place of placesOf(figure)) {
      for (const key of ARROWS) {
        const to = beside(place, key, figure);
        // A stack's positions lie below all of its blocks, and below the stack.
        if (to && to.at !== "positions" && place.at !== "positions") assert.deepEqual(beside(to, back[key], figure), place, `${spelled(place)} ${key}`);
      }
    }
  }
  assert.equal(beside({ at: "model" }, "ArrowLeft", FIGURES.usual), null);
  assert.equal(beside(parsed("cross.0.0.0.0"), "Enter", FIGURES.usual), null);
  assert.equal(spelled(beside(parsed("cross.0.1"), "ArrowUp", FIGURES.usual)), "cross.1.1");
  assert.equal(spelled(beside(parsed("cross.0.1.0"), "ArrowDown", FIGURES.usual)), "cross.0.1.1");
});

test("one step in goes towards a place that lies inside, else to the head of the arcs and what is strongestWeight", () => {
  const { usual } = FIGURES;
  const way = (figure, place = { at: "model" }, steps = []) => (place ? way(figure, inner(place, figure), [...steps, spelled(place)]) : steps);
  assert.deepEqual(way(usual), ["", "decoder", "cross.1", "cross.1.0", "cross.1.0.0", "cross.1.0.0.1"]);
  assert.deepEqual(way({ ...usual, head: ["cross", 0, 1] }).slice(1, 4), ["decoder", "cross.0", "cross.0.1"]);
  assert.deepEqual(way(FIGURES.short), ["", "decoder", "cross.3", "cross.3.0", "cross.3.0.0", "cross.3.0.0.0"]);
  assert.equal(spelled(inner(parsed("encoder"), usual, parsed("encoder.0.1.2.2"))), "encoder.0");
  assert.equal(spelled(inner({ at: "model" }, usual, parsed("positions.encoder"))), "encoder");
  assert.equal(spelled(inner(parsed("encoder"), usual, parsed("cross.0"))), "encoder.1");
  assert.equal(inner(parsed("next.0"), usual), null);
  assert.ok(samePlace(strongestWeight(usual, parsed("encoder.0.0.2")), parsed("encoder.0.0.2.2")));
});

test("the path names what lies around a place", () => {
  const path = (text, figure = FIGURES.usual) => names(parsed(text), figure).map(({ name }) => name).join(" › ");
  assert.equal(path("cross.0.1.1.0"), "Model › Cross-attention, layer 0 › Head 1 › “Er” › “He”");
  assert.equal(path("decoder"), "Model › Decoder");
  assert.equal(path("feed-forward.decoder.1"), "Model › Decoder › Feed-forward, layer 1");
  assert.equal(path("positions.encoder"), "Model › Encoder › Positions");
  assert.equal(path("next.1"), "Model › What comes next, step 2");
  assert.equal(path("cross.0.0.3", FIGURES.long).split(" › ").at(-1), `“${"x".repeat(17)}…”`);
  // What cross-attention reads is not known without the encoder.
  assert.equal(path("cross.0.1.1.0", FIGURES.decoder).split(" › ").at(-1), "token 1");
});

test("every place says what it shows, of this sentence", () => {
  const said = (text, figure = FIGURES.usual) => saidOf(parsed(text), figure);
  assert.equal(said(""), "The whole model: Encoder, Decoder.");
  assert.equal(said("decoder"), "Decoder of 2 layers: masked self-attention with 2 heads, cross-attention with 2 heads.");
  assert.equal(said("encoder", FIGURES.short), "Encoder of 1 layer: self-attention with 1 head.");
  assert.equal(said("cross.3", FIGURES.short), "Cross-attention, layer 3, 1 head.");
  assert.equal(said("cross.0.1"), "Head 1 of cross-attention in layer 0: “<s>” looks most at “has”, with 0.98.");
  assert.equal(said("cross.0.1.1"), "Head 1 of cross-attention in layer 0: “Er” looks most at “</s>”, with 0.98.");
  assert.equal(said("cross.0.1.1.0"), "Head 1 of cross-attention in layer 0: “Er” looks at “He” with a weight of 0.00.");
  assert.equal(said("decoder.0.1.0.1"), "Head 1 of masked self-attention in layer 0: “<s>” may not look at “Er”.");
  assert.equal(said("feed-forward.encoder.1"), "Encoder, layer 1: the feed-forward block adds most to “</s>”.");
  assert.equal(said("positions.encoder"), "Encoder: the positions that are added to its tokens.");
  assert.equal(said("next.1"), "What comes next, step 2: “b” is the likeliest token.");
  assert.equal(said("cross.0.1.1", figureOf({ weight: () => 85 })), "Head 1 of cross-attention in layer 0: “Er” looks equally at 3 tokens, with 0.33 each.");
  assert.equal(said("cross.0.1", figureOf({ weight: () => 0 })), "Head 1 of cross-attention in layer 0: “<s>” looks at no token.");
  for (const figure of Object.values(FIGURES)) {
    for (const place of placesOf(figure)) {
      assert.match(saidOf(place, figure), /^[^{}]*[^{} ]\.$/);
      for (const { name } of names(place, figure)) assert.ok(name && !/undefined|NaN|\{/.test(name), name);
    }
  }
});

test("a place lies within what is around it, and its middle means it when it is near enough", () => {
  for (const figure of Object.values(FIGURES)) {
    const space = spaceOf(figure);
    for (const place of placesOf(figure)) {
      const own = rectOf(place, space, figure);
      const out = outer(place, figure);
      if (out && place.at !== "next") {
        const { left, top, right, bottom } = rectOf(out, space, figure);
        assert.ok(own.left >= left - 1e-9 && own.top >= top - 1e-9 && own.right <= right + 1e-9 && own.bottom <= bottom + 1e-9, spelled(place));
      }
      const middle = { x: (own.left + own.right) / 2, y: (own.top + own.bottom) / 2 };
      const meant = placeAt(middle, space, figure, { across: 100, up: 100 });
      if (["weight", "positions", "added"].includes(place.at)) assert.deepEqual(meant, place);
      if (place.at === "next") assert.deepEqual(meant, { at: "next", step: 1 });
    }
  }
});

test("all three kinds in one picture lie in the decoder, and their cells in one kind each", () => {
  const figure = figureOf();
  const joint = { kind: "joint", name: "All", layers: [0, 1], heads: 2, queries: 5, keys: 5, keySide: "source", tokens: ["He", "has", "</s>", "<s>", "Er"] };
  figure.stacks[1].joint = joint;
  const place = parsed("joint.1.0");
  assert.deepEqual(place, { at: "head", kind: "joint", layer: 1, head: 0 });
  assert.deepEqual(legal(place, figure), place);
  assert.deepEqual(rectOf(place, spaceOf(figure), figure), spaceOf(figure).stacks.decoder);
  assert.deepEqual(["ArrowRight", "ArrowDown", "ArrowUp"].map((key) => beside(place, key, figure)), [{ ...place, head: 1 }, { ...place, layer: 0 }, null]);
  assert.equal(spelled(outer(place, figure)), "decoder");
  assert.deepEqual(names(place, figure).map(({ name }) => name), ["Model", "All three, layer 1, head 0"]);
  assert.match(saidOf(place, figure), /“He” looks most at “has”/);
  assert.equal(spelled(inner(place, figure)), "encoder.1.0.0");
  for (const text of ["joint.1.0.2", "joint.1.0.2.1"]) assert.equal(spelled(legal(parsed(text), figure)), "joint.1.0");
  for (const text of ["joint.1", "joint.1.7", "joint.9.0"]) assert.equal(spelled(legal(parsed(text), figure)), "decoder");
  assert.equal(spelled(legal(place, figureOf())), "decoder");
  const parts = [[1, 2], [3, 1], [4, 3], [1, 3], [1, null], [4, null]].map(([query, key]) => partOfJoint(figure, query, key));
  assert.deepEqual(parts, [
    { kind: "encoder", query: 1, key: 2 },
    { kind: "cross", query: 0, key: 1 },
    { kind: "decoder", query: 1, key: 0 },
    null,
    { kind: "encoder", query: 1, key: null },
    { kind: "cross", query: 1, key: null },
  ]);
});

test("what is too small on the screen is not meant", () => {
  const { usual, long } = FIGURES;
  const at = (figure, text, scale) => {
    const { left, top, width, height } = rectOf(parsed(text), spaceOf(figure), figure);
    return spelled(placeAt({ x: left + width / 2, y: top + height / 2 }, spaceOf(figure), figure, { across: scale, up: scale }));
  };
  assert.equal(at(usual, "cross.0.1.1.2", 0.3), "cross.0");
  assert.equal(at(usual, "cross.0.1.1.2", 1), "cross.0.1");
  assert.equal(at(usual, "cross.0.1.1.2", 8), "cross.0.1.1.2");
  assert.equal(at(long, "cross.0.1.30.30", 8), "cross.0.1");
  assert.equal(at(long, "cross.0.1.30.30", 20), "cross.0.1.30");
  assert.equal(at(long, "cross.0.1.30.30", 60), "cross.0.1.30.30");
  const space = spaceOf(usual);
  assert.equal(spelled(placeAt({ x: 5, y: 105 }, space, usual, { across: 1, up: 1 })), "encoder");
  assert.equal(spelled(placeAt({ x: 5, y: 5 }, space, usual, { across: 1, up: 1 })), "");
  // Between two heads.
  assert.equal(spelled(placeAt({ x: 41.5, y: 410 }, space, usual, { across: 100, up: 100 })), "encoder.0.0");
});
