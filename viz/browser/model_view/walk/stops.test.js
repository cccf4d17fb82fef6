import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bytes, fixtures } from "../../../../tests/kit/fixtures.js";
import { percent } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { Figure } from "../payload.js";
import { answered } from "./answers.js";
import { noteOf } from "./notes.js";
import { isOffered, stopsOf } from "./stops.js";

const EVERYTHING = { can: { instead: true, without: true } };
const CAUSAL = (query, key) => key <= query;

/** A block whose head in the layer looks as `heads[layer][head](query)` says: at one key, or with a weight for each. */
function block(kind, queries, keys, heads, { mask = null, labels = [] } = {}) {
  const rows = heads.map((layer) => layer.map((at) => Array.from({ length: queries }, (_, query) => [at(query)].flat())));
  const layers = heads.map((_, layer) => layer);
  const named = layers.map((layer) => heads[layer].map((_, head) => labels[layer]?.[head] ?? null));
  return { kind, name: "", layers, heads: heads[0].length, queries, keys, keySide: "source", labels: named, rows, mask };
}

function figureOf(stacks, more = {}) {
  const cells = ({ rows, queries, keys, mask }, place, head) => {
    const weights = new Float32Array(queries * keys);
    rows[place][head].forEach((row, query) => (row.length === 1 ? (weights[query * keys + row[0]] = 1) : weights.set(row, query * keys)));
    const allowed = mask && Uint8Array.from(weights, (_, cell) => Number(mask(Math.floor(cell / keys), cell % keys)));
    return { weights, scale: 255, allowed, nQueries: queries, nKeys: keys };
  };
  return { key: "", stacks, written: [], read: [], offset: 1, head: null, later: 0, next: null, cells, ...more };
}

const wordsOf = (texts) => texts.map((text, first) => ({ text, tokens: [text], first, joins: false, special: text === "</s>" }));
const stack = (kind, tokens, blocks, positions = null) => ({ kind, name: "", does: "", side: "source", tokens, blocks, added: null, positions });
const SOURCE = ["He", "has", "bought", "it", "</s>"];
const TARGET = ["<s>", "Er", "hat", "es", "gekauft"];
const back = (query) => Math.max(0, query - 1);
const step = (texts, shares, chosen = 0, ids = [7, 8]) => ({ texts, shares, chosen, normalizers: null, ids });

/** A translation whose encoder head looks back and whose cross-attention follows the words. */
function translation({ encoder = back, cross = [0, 0, 1, 3, 2], more = {}, labels = [], positions = null, mask = CAUSAL } = {}) {
  const blocks = [block("decoder", 5, 5, [[(query) => query]], { mask }), block("cross", 5, 5, [[(query) => cross[query]]])];
  return figureOf([stack("encoder", SOURCE, [block("encoder", 5, 5, [[encoder]], { labels })], positions), stack("decoder", TARGET, blocks)], {
    ...{ written: wordsOf(TARGET.slice(1)), read: wordsOf(SOURCE), head: ["cross", 0, 0], later: 1 },
    next: [step(["Er", "Sie"], [0.9, 0.05]), step(["hat", "kaufte"], [0.6, 0.3], 0, [9, 10])],
    ...more,
  });
}

const saysOf = (figure, name, page = EVERYTHING) => stopsOf(figure, page).find((stop) => stop.name === name)?.says;

test("a translation has ten stops, each at a place", () => {
  const stops = stopsOf(translation(), EVERYTHING);
  assert.deepEqual(stops.map(({ name }) => name), ["tokens", "numbers", "heads", "head", "weight", "row", "mask", "cross", "next", "off"]);
  assert.ok(isOffered(stopsOf(translation(), EVERYTHING)));
  for (const stop of stops) assert.equal(noteOf(stop).match(/[.?](?: |$)/g)?.length, 2, stop.name);
  assert.deepEqual(stops[4].place, { at: "weight", kind: "encoder", layer: 0, head: 0, query: 1, key: 0 });
});

test("a head is said to do what its rows do, and an earned label says that it is no accident", () => {
  assert.match(saysOf(translation(), "head"), /one token back: “has” looks at “He”/);
  assert.match(saysOf(translation({ encoder: (query) => Math.min(4, query + 1) }), "head"), /one token ahead/);
  assert.match(saysOf(translation({ encoder: (query) => query }), "head"), /look at themselves/);
  assert.match(saysOf(translation({ encoder: () => 4 }), "head"), /end of the sentence: “.+” looks at “<\/s>”/);
  assert.match(saysOf(translation({ encoder: () => 0 }), "head"), /start of the sentence/);
  assert.match(saysOf(translation({ encoder: (query) => [3, 3, 0, 1, 2][query] }), "head"), /^One head, seen closely: “.+” looks most at “.+”\.$/);
  const aside = (labels) => stopsOf(translation({ labels }), EVERYTHING)[3].aside;
  assert.equal(aside([["looks at the previous token"]]), "Nobody told it to. It does so in most sentences.");
  assert.equal(aside([["looks at the next token"]]), "It does so in 4 of 5 rows of this sentence.");
});

test("cross-attention tells of the farthest jump, or that there is none", () => {
  assert.equal(saysOf(translation(), "cross"), "After “gekauft”, this head jumps back one place in your sentence, to “bought”.");
  assert.match(saysOf(translation({ cross: [0, 3, 0, 1, 2] }), "cross"), /^After “hat”, this head jumps back 3 places in your sentence, to “He”/);
  assert.match(saysOf(translation({ cross: [0, 0, 3, 3, 3] }), "cross"), /^After “hat”, this head jumps ahead 3 places in your sentence, to “it”/);
  assert.equal(saysOf(translation({ cross: [0, 0, 1, 2, 3] }), "cross"), "This head goes through your sentence in order, up to “it”.");
  assert.equal(saysOf(translation({ cross: [4, 4, 4, 4, 4] }), "cross"), undefined);
  const [read, written] = ["He has bought a dog . </s>", "<s> Er hat einen Hund gekauft ."].map((text) => text.split(" "));
  const looking = (gekauft) =>
    figureOf([stack("encoder", read, [block("encoder", 7, 7, [[back]])]), stack("decoder", written, [block("cross", 7, 7, [[(query) => [0, 0, 1, 3, 4, gekauft, 5][query]]])])], {
      ...{ written: wordsOf(written.slice(1)), read: wordsOf(read), head: ["cross", 0, 0], later: 1 },
    });
  assert.match(saysOf(looking([0, 0, 0.2, 0.2, 0.4, 0.1, 0.1]), "cross"), /in order, up to “dog”/);
  assert.match(saysOf(looking([0, 0, 0.4, 0.2, 0.2, 0.1, 0.1]), "cross"), /^After “Hund”, this head looks at “dog”/);
  const labelled = translation({ cross: [2, 0, 1, 3, 3], more: { head: null, later: 0 } });
  labelled.stacks[1].blocks[1].labels = [["pairs the predicted token with its source"]];
  assert.match(saysOf(labelled, "cross"), /^To write “hat”, this head jumps back 2 places in your sentence, to “He”/);
});

test("a mask is told where there is one, and its lack where a decoder could look ahead", () => {
  assert.match(saysOf(translation(), "mask"), /^“hat” may not look ahead to “es”/);
  assert.match(saysOf(translation({ mask: null }), "mask"), /^No mask here/);
  assert.equal(saysOf(translation({ mask: (query, key) => key !== 1 || query === 1 }), "mask"), undefined);
  const alone = translation({ mask: null });
  alone.stacks[1].tokens = ["<s>"];
  assert.equal(saysOf(alone, "mask"), undefined);
});

test("the next word is the other one nearest to being taken, and can be taken where the page answers", () => {
  const [next] = stopsOf(translation(), EVERYTHING).filter(({ name }) => name === "next");
  assert.deepEqual([next.says, next.place, next.does], ["Here “hat” has a probability of 60%; second comes “kaufte” with 30%.", { at: "next", step: 1 }, { ask: "instead", step: 1, id: 10 }]);
  const searched = translation({ more: { next: [step(["W", "Sp"], [0.23, 0.22], 1)] } });
  assert.equal(saysOf(searched, "next"), "Here “Sp” has a probability of 22%, though “W” has 23%.");
  const mute = stopsOf(translation(), { can: { instead: false, without: false } });
  assert.deepEqual([mute.at(-1).name, mute.at(-1).does, mute.at(-1).act], ["next", null, ""]);
});

test("waves are sines and cosines; other numbers and positions inside attention are told as such", () => {
  const cells = (pairs) => Uint8Array.from(pairs.flat(), (number) => Math.round((number + 1) * 127.5));
  const waves = { acts: null, cells: cells([[0, 1], [0.6, 0.8], [1, 0]]), dimensions: 2, of: 64, limit: 1 };
  assert.match(saysOf(translation({ positions: waves }), "numbers"), /^Each token becomes 64 numbers; waves/);
  assert.match(saysOf(translation({ positions: { ...waves, cells: cells([[0, 0.3], [0.6, 0.8]]) } }), "numbers"), /64 numbers; numbers for its place/);
  assert.match(saysOf(translation({ positions: { acts: "turns queries" } }), "numbers"), /inside attention/);
  assert.match(saysOf(translation({ positions: { acts: "turns queries" } }), "weight"), /their match and their places become one weight/);
  assert.match(saysOf(translation(), "numbers"), /every layer then changes/);
});

test("one stack alone says nothing of the other, and short texts are offered no empty walk", () => {
  const names = (figure) => stopsOf(figure, EVERYTHING).map(({ name }) => name);
  const encoder = figureOf([stack("encoder", SOURCE, [block("encoder", 5, 5, [[back]])])], { read: wordsOf(SOURCE), written: wordsOf(SOURCE) });
  assert.deepEqual(names(encoder), ["tokens", "numbers", "heads", "head", "weight", "row"]);
  const decoder = figureOf([stack("decoder", TARGET, [block("decoder", 5, 5, [[back, back]], { mask: CAUSAL })])], { written: wordsOf(TARGET) });
  assert.deepEqual(names(decoder), ["tokens", "numbers", "heads", "head", "weight", "row", "mask", "off"]);
  assert.equal(saysOf(decoder, "heads"), "Each of these 2 heads lets a token look at itself and all before it.");
  const one = figureOf([stack("module", ["a"], [block("module", 1, 1, [[() => 0]])])]);
  assert.deepEqual(names(one), ["tokens", "numbers", "heads"]);
  assert.equal(saysOf(one, "tokens"), "The text is a single token.");
  assert.equal(isOffered(stopsOf(one, EVERYTHING)), false);
});

test("a row that does not add up to 1 is not said to", () => {
  assert.equal(saysOf(translation({ encoder: (query) => [0.5, 0.2, 0, 0, 0].map((weight, key) => (key === back(query) ? 0.7 : weight / 9)) }), "row"), undefined);
});

test("an answer is true of what came of it", () => {
  const figure = translation();
  const [next, off] = stopsOf(figure, EVERYTHING).slice(-2);
  const of = (stop, texts) => answered(stop, { text: "", words: wordsOf(texts) }, figure);
  const same = TARGET.slice(1);
  assert.equal(of(next, same), "Even so, it ends up writing the same words.");
  assert.equal(of(off, same), "Even without cross-attention, the words stay the same.");
  assert.equal(of(next, ["Er", "kaufte", "es"]), "Now it writes: “Er kaufte es”");
  assert.equal(of(off, []), "Without cross-attention, the model writes nothing.");
  const long = Array.from({ length: 60 }, (_, place) => `w${place}`);
  assert.match(of(off, long), /^Without it, the model writes: “w0 .* w10 …”$/);
  const alone = { ...off, place: { at: "head", kind: "decoder", layer: 0, head: 0 } };
  assert.equal(of(alone, same), "The words stay the same: the other heads are enough.");
  assert.equal(of(alone, []), "Without this head, the model writes nothing.");
  assert.match(of(alone, [...same, ...long]), /^Without this head, it writes: “… gekauft w0 .* w9 …”$/);
});

test("of any trace, weights named are those of the trace", () => {
  const figure = new Figure(bytes(fixtures.figure.envelope));
  const weight = stopsOf(figure, EVERYTHING).find(({ name }) => name === "weight");
  const { kind, layer, head, query, key } = weight.place;
  const own = fixtures.figure.weights[`${kind}.${layer}`][head][query * 3 + key];
  assert.ok(Math.abs(Number(weight.says.match(/(\d+)%/)[1]) / 100 - own) < 0.01);
});

test("no text has more than 18 words in any language", () => {
  const read = (path) => readFileSync(new URL(path, import.meta.url), "utf-8");
  const source = ["stops.js", "answers.js"].map(read).join("\n");
  const texts = [...source.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map(([, text]) => text).filter((text) => / .*[.?}”]$/.test(text));
  assert.ok(texts.length > 40);
  for (const tag of ["en", "de", "es", "fr", "zh"]) {
    const { said, headers } = tag === "en" ? {} : JSON.parse(read(`../../../site/wording/${tag}.json`));
    globalThis.headscopeWording = tag === "en" ? undefined : { language: tag, texts: { ...said, ...headers }, patterns: [], known: new Map() };
    for (const text of texts) {
      const [most, least] = text.includes("{second}") ? [percent(0.5), percent(0.5)] : [tr("more than {share}", { share: percent(0.99) }), tr("less than {share}", { share: percent(0.01) })];
      const values = { n: 8, of: 8, rows: 8, count: 3, end: "</s>", words: Array(11).fill("Wort").join(" "), share: most, next: least };
      for (const name of ["word", "query", "key", "first", "second", "token", "seen", "other"]) values[name] = "Wort";
      if (text.includes("“{token}”") || text.includes("ahead to")) values.next = "Wort";
      const words = [...new Intl.Segmenter(tag, { granularity: "word" }).segment(tr(text, values))].filter(({ isWordLike }) => isWordLike);
      assert.ok(words.length <= 18, `${tag}: ${words.length} words: ${tr(text, values)}`);
    }
  }
  globalThis.headscopeWording = undefined;
});
