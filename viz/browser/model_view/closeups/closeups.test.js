import assert from "node:assert/strict";
import test from "node:test";

import { rectangle } from "../../canvas/geometry.js";
import { Palette } from "../../canvas/paint.js";
import { paintAdded } from "./added.js";
import { paintLines } from "./lines.js";
import { paintNext } from "./logits.js";
import { paintMatrix } from "./matrix.js";
import { gridOf } from "./patches.js";
import { paintRow } from "./row.js";
import { paintStripes } from "./stripes.js";
import { paintWaves } from "./waves.js";
import { paintWeight } from "./weight.js";

const COLORS = ["#f4f8fc", "#c5dcef", "#a3c9e5", "#7cb2d9", "#347fb9", "#06325a"];
const NAMED = { text: "#000000", muted: "#555555", accent: "#0b63a5", now: "#b35900", grid: "#d5dbe3", forbidden: "#eceef1", hatch: "#a3abb6", ground: "#ffffff" };
const theme = { ...NAMED, name: "light", weights: COLORS, signed: COLORS, heads: COLORS };
const ROOMS = [rectangle(10, 20, 340, 560), rectangle(0, 0, 900, 520), rectangle(0, 0, 1500, 820), rectangle(0, 0, 300, 260)];

/** What a painter writes, where all that it draws has a place; its alpha is the caller's. */
function drawnBy(paint, data, room = ROOMS[1]) {
  const [texts, written, boxes, stripes] = [[], [], [], []];
  const state = { font: "16px Some Sans, sans-serif", globalAlpha: 0.5, canvas: { width: 1600, height: 900 } };
  const stack = [];
  const does = {
    save: () => stack.push({ ...state }),
    restore: () => Object.assign(state, stack.pop()),
    measureText: (text) => ({ width: [...text].length * 0.5 * parseFloat(state.font.split(" ")[1]) }),
    createLinearGradient: () => ({ addColorStop: () => {} }),
    fillText: (text, x) => {
      // Hinted, small letters would be wider than in proportion to the size at which they are measured.
      assert.equal(state.textRendering, "geometricPrecision");
      texts.push(text);
      written.push({ text, left: x, right: x + does.measureText(text).width });
    },
    roundRect: (left, top, width) => boxes.push({ left, right: left + width }),
    fillRect: (...box) => stripes.push({ box, color: state.fillStyle, alpha: state.globalAlpha }),
  };
  const context = new Proxy(state, {
    get: (_, name) => {
      if (name in state) return state[name];
      return (...values) => {
        assert.ok(values.every((value) => typeof value !== "number" || Number.isFinite(value)), `${name}(${values})`);
        return does[name]?.(...values);
      };
    },
  });
  const hot = paint(context, room, data, { theme, usual: new Palette(theme, 1) });
  assert.deepEqual([stack.length, state.globalAlpha], [0, 0.5]);
  for (const each of hot ?? []) assert.ok(each.label && Number.isFinite(each.left + each.right + each.top + each.bottom) && each.width > 0);
  return { texts, hot, written, boxes, stripes };
}

const numbers = (count, seed = 1) => Float32Array.from({ length: count }, (_, place) => Math.sin(seed * 7 + place * 3.7));

function aHead(count, d = 4, divisor = 2) {
  const [q, k, v] = [1, 2, 3].map((seed) => numbers(count * d, seed));
  const scores = Float32Array.from({ length: count ** 2 }, (_, place) => {
    const [query, key] = [Math.floor(place / count), place % count];
    return q.subarray(query * d, (query + 1) * d).reduce((sum, value, each) => sum + value * k[key * d + each], 0) / (divisor ?? 1);
  });
  return { q, k, v, d, dv: d, scores, divisor };
}

function aRow(count, { allowed = null, divisor = 2, head = aHead(count, 4, divisor) } = {}) {
  const tokens = Array.from({ length: count }, (_, place) => `token${place}`);
  const weights = new Float32Array(count ** 2);
  const { scores } = aHead(count, 4, divisor);
  for (let row = 0; row < count; row++) {
    const powers = Array.from({ length: count }, (_, key) => (allowed && !allowed[row * count + key] ? 0 : Math.exp(scores[row * count + key])));
    const total = powers.reduce((sum, power) => sum + power, 0) || 1;
    powers.forEach((power, key) => (weights[row * count + key] = power / total));
  }
  return { queries: tokens, keys: tokens, weights, allowed, head, row: count - 1, key: 0 };
}

const said = (texts) => texts.join(" | ");

test("a weight is told from query to value, in every room", () => {
  for (const room of ROOMS) for (const count of [1, 2, 60]) assert.match(said(drawnBy(paintWeight, aRow(count), room).texts), /they add up:.*Softmax/);
  const { texts, hot } = drawnBy(paintWeight, aRow(3));
  assert.match(said(texts), /“token2” asks.*“token0” offers.*they add up:.* ÷ √4 =.*Softmax: against every other token.*its value × .*all values together/);
  assert.deepEqual(hot.map(({ act }) => act), [0, 1, 2].map((key) => ({ at: "weight", query: 2, key })));
});

test("a weight says what its model does: no product, no scaling, masks, no softmax, nothing known", () => {
  assert.match(said(drawnBy(paintWeight, aRow(3, { divisor: null })).texts), /not a plain product/);
  assert.match(said(drawnBy(paintWeight, aRow(3, { divisor: 1 })).texts), /not scaled/);
  assert.match(said(drawnBy(paintWeight, aRow(3, { allowed: Uint8Array.of(1, 1, 1, 1, 1, 1, 0, 1, 1) })).texts), /The mask forbids it: its weight is 0/);
  assert.match(said(drawnBy(paintWeight, aRow(3, { allowed: new Uint8Array(9) })).texts), /All masked/);
  assert.match(said(drawnBy(paintWeight, { ...aRow(3), weights: new Float32Array(9).fill(0.1) }).texts), /no plain softmax/);
  assert.match(said(drawnBy(paintWeight, aRow(3, { head: null })).texts), /“token2” and “token0” \| Weights of this row/);
});

test("a long row shows its strongest keys, the one that is asked for, and the rest as one", () => {
  const { texts, hot } = drawnBy(paintWeight, { ...aRow(60), key: 41 }, ROOMS[2]);
  assert.ok(hot.length <= 12 && hot.some(({ act }) => act.key === 41));
  assert.ok(texts.includes(`${60 - hot.length} more`));
});

test("a row shares out 1, or says what it gives", () => {
  for (const room of ROOMS) assert.match(said(drawnBy(paintRow, aRow(60), room).texts), /shares out 1.* more/);
  assert.match(said(drawnBy(paintRow, { ...aRow(3), weights: new Float32Array(9).fill(0.1) }).texts), /gives out 0.30/);
  const masked = drawnBy(paintRow, aRow(3, { allowed: Uint8Array.of(1, 1, 1, 1, 1, 1, 0, 1, 1) }));
  assert.match(said(masked.texts), /1 token not allowed/);
  assert.deepEqual(masked.hot.map(({ act }) => act.key), [1, 2]);
  const none = drawnBy(paintRow, aRow(3, { allowed: new Uint8Array(9) }));
  assert.match(said(none.texts), /may see no token/);
});

test("a matrix has its tokens, its numbers where they have room, and a word for a masked cell", () => {
  const data = { ...aRow(3), beside: ["x", "y", "z"], label: "looks back", queryTitle: "", keyTitle: "", palette: new Palette(theme, 0.7), alphaNumbers: 1 };
  const { texts, hot } = drawnBy(paintMatrix, data);
  assert.ok(["looks back", "→ z", "token1"].every((text) => texts.includes(text)) && texts.some((text) => /^0\.\d\d$/.test(text)));
  assert.deepEqual(hot.map(({ act }) => act.query), [0, 1, 2]);
  assert.ok(!drawnBy(paintMatrix, data, rectangle(0, 0, 60, 60)).texts.some((text) => /^0\.\d\d$/.test(text)));
  assert.ok(drawnBy(paintMatrix, { ...data, allowed: Uint8Array.of(1, 1, 1, 1, 1, 1, 0, 1, 1) }).texts.includes("not allowed"));
  const long = drawnBy(paintMatrix, { ...data, ...aRow(60), row: 31, beside: null }, ROOMS[0]);
  assert.ok(long.texts.length < 80 && long.hot.some(({ act }) => act.query === 31));
});

const USUAL_MATRIX = { beside: null, label: "", queryTitle: "", keyTitle: "", palette: new Palette(theme, 1), alphaNumbers: 1 };

test("that a cell is not allowed stands over masked cells alone, smaller where these are few", () => {
  const row = (allowed) => ({ ...aRow(30, { allowed: Uint8Array.from({ length: 900 }, (_, place) => allowed(place % 30)) }), ...USUAL_MATRIX, row: 3 });
  for (const key of [10, 20, 29]) {
    const { texts, boxes } = drawnBy(paintMatrix, { ...row((place) => place < 10), key });
    assert.ok(texts.includes("not allowed"));
    assert.ok(boxes.some(({ left, right }) => left >= 300 - 1e-6 && right <= 900 + 1e-6 && left <= (key + 0.5) * 30 && right >= (key + 0.5) * 30));
  }
  assert.ok(!drawnBy(paintMatrix, { ...row((place) => place !== 10), key: 10 }).texts.includes("not allowed"));
});

test("on a stage, numbers on mid-tones stand on plates", () => {
  const plates = (isStage, weight) => {
    const data = { ...USUAL_MATRIX, queries: ["a"], keys: ["b"], weights: Float32Array.of(weight), allowed: null, head: null, row: -1, key: -1, isStage };
    return drawnBy(paintMatrix, data).boxes.length;
  };
  assert.deepEqual([plates(true, 0.8), plates(false, 0.8), plates(true, 0.02), plates(true, 1)], [1, 0, 0, 0]);
});

test("a long title begins before the matrix, and stays where there is room for it", () => {
  const within = rectangle(8, 0, 374, 600);
  const label = "blickt auf das Token davor, und auf das Satzzeichen";
  const { written } = drawnBy(paintMatrix, { ...aRow(5), ...USUAL_MATRIX, label, keyTitle: label, within }, rectangle(120, 300, 200, 200));
  for (const { left, right, text } of written.filter(({ text }) => text.startsWith("blickt"))) assert.ok(left >= 8 && right <= 383, `${text}: ${left} to ${right}`);
});

test("where a matrix goes on beyond the window, its tokens stand at the edge, and those that are out of it nowhere", () => {
  const within = rectangle(0, 0, 400, 300);
  const { texts, hot } = drawnBy(paintMatrix, { ...aRow(100), ...USUAL_MATRIX, keyTitle: "Key", within }, rectangle(-1000, -1500, 4000, 4000));
  const shown = hot.map(({ act }) => act.query);
  assert.ok(shown.includes(40) && shown.every((query) => query >= 37 && query < 45), String(shown));
  assert.ok(hot.every(({ left, right }) => left >= 0 && right < 120));
  assert.ok(!texts.includes("Key") && texts.filter((text) => text.startsWith("token")).length < 20);
});

/** Heads of so many compared ones, with the cells of `aRow`. */
function compared(count, { weights, queries, keys, allowed }) {
  return Array.from({ length: count }, (_, head) => {
    const cells = { weights: weights.map((weight, place) => (place % count === head ? weight : 0)), scale: 255, allowed, nQueries: queries.length, nKeys: keys.length };
    return { name: `L0 H${head}`, whole: `L0 H${head}`, color: COLORS[head % COLORS.length], layer: 0, head, cells };
  });
}

test("compared heads have a stripe each in a cell, as strong as the weight, and a legend that lets them go", () => {
  const row = aRow(4, { allowed: Uint8Array.from({ length: 16 }, (_, place) => Number(place !== 5)) });
  const heads = compared(2, row);
  const { stripes } = drawnBy((context, room, data) => paintStripes(context, room, data, new Palette(theme, 0.5)), heads, rectangle(0, 0, 80, 80));
  const drawn = heads.flatMap(({ cells, color }, index) =>
    Array.from(cells.weights, (weight, place) => ({ box: [20 * (place % 4) + 10 * index, 20 * Math.floor(place / 4), 10, 20], color, alpha: 0.5 * weight ** 0.5 })),
  );
  assert.deepEqual(stripes, drawn.filter(({ alpha }, place) => alpha >= 0.5 * 0.004 ** 0.5 && place % 16 !== 5));
  const many = compared(8, row);
  for (const room of [ROOMS[0], ROOMS[2]]) {
    const { texts, hot } = drawnBy(paintMatrix, { ...row, ...USUAL_MATRIX, compared: many }, room);
    const ways = hot.filter(({ act }) => act.at === "compared");
    assert.deepEqual(ways.map(({ act: { layer, head }, label }) => [layer, head, label]), many.map(({ name, head }) => [0, head, `Remove ${name} from the picture`]));
    assert.ok(many.every(({ name }) => texts.includes(name)));
  }
});

test("lines join the tokens of two columns, those of one token with its weights", () => {
  const row = aRow(4);
  const [head] = compared(1, row);
  const data = { ...row, queryTitle: "Query", keyTitle: "Key", heads: [head], compared: [], focus: null, words: { queries: [], keys: [] }, said: ({ side, index }) => `${side} ${index}`, em: 14, within: { left: 0, right: 2000 } };
  for (const room of ROOMS) {
    const { texts, hot } = drawnBy(paintLines, data, room);
    assert.ok(["Query", "Key", ...row.queries].every((text) => texts.includes(text)));
    assert.deepEqual(hot.map(({ act: { side, index }, label }) => [side, index, label]), ["query", "key"].flatMap((side) => [0, 1, 2, 3].map((index) => [side, index, `${side} ${index}`])));
  }
  const { texts } = drawnBy(paintLines, { ...data, focus: { side: "query", index: 2 } });
  const printed = texts.filter((text) => /\d\.\d\d$/.test(text));
  assert.deepEqual(printed, row.keys.flatMap((key, place) => (row.weights[8 + place] >= 0.01 ? [`${key}  ${row.weights[8 + place].toFixed(2)}`] : [])));
  const long = drawnBy(paintLines, { ...data, ...aRow(120), heads: compared(2, aRow(120)), compared: compared(2, aRow(120)), focus: { side: "key", index: 61 } });
  assert.ok(long.texts.length < 150 && long.hot.some(({ act }) => act.side === "key" && act.index === 61));
});

test("patches of an image are drawn where they lie, and what goes to other tokens is said", () => {
  const patches = Array.from({ length: 12 }, (_, at) => `${Math.floor(at / 4)},${at % 4}`);
  const keys = ["<class>", ...patches];
  assert.deepEqual(gridOf(keys), { first: 1, columns: 4, rows: 3 });
  assert.deepEqual([gridOf(["a", "0,0"]), gridOf(["0,0", "0,2"]), gridOf([...patches.slice(0, 6)])], [null, null, null]);
  const weights = Float32Array.from({ length: 169 }, (_, place) => (place % 13 ? 0.05 : 0.4));
  for (const room of ROOMS) {
    const { texts, hot } = drawnBy(paintRow, { queries: keys, keys, weights, allowed: null, head: null, row: 6 }, room);
    assert.ok(texts.includes("Other tokens: 0.40"));
    assert.deepEqual(hot.map(({ act }) => act.key), patches.map((_, at) => at + 1));
    const [one, next, below] = [hot[0], hot[1], hot[4]];
    assert.ok(Math.abs(next.left - one.right) < 1e-6 && Math.abs(below.top - one.bottom) < 1e-6 && Math.abs(one.width - one.height) < 1e-6);
  }
});

test("over the image whose patches are read, the strongest patch is not darkened and others are the more, the less they get", () => {
  const keys = Array.from({ length: 12 }, (_, at) => `${Math.floor(at / 4)},${at % 4}`);
  const weights = Float32Array.from({ length: 144 }, (_, place) => ((place % 12) + 1) / 78);
  const { texts, stripes } = drawnBy(paintRow, { queries: keys, keys, weights, allowed: null, head: null, row: 0, image: {} });
  assert.ok(texts.includes("The larger the weight, the more is seen of the image."));
  const veils = stripes.filter(({ color }) => color === "#000").map(({ alpha }) => alpha);
  assert.equal(veils.length, 12);
  assert.ok(veils.every((alpha, at) => !at || alpha < veils[at - 1]));
  assert.ok(Math.abs(veils.at(-1)) < 1e-6);
  assert.ok(!texts.some((text) => /^0\.\d\d$/.test(text)), "numbers would not be read over it");
});

test("of very many lines, the strongest are drawn and it is said how many there are", () => {
  const row = aRow(60);
  const cells = { weights: Float32Array.from({ length: 3600 }, (_, place) => 0.0101 + place / 1e5), scale: 255, allowed: null, nQueries: 60, nKeys: 60 };
  const data = { ...row, queryTitle: "", keyTitle: "", heads: [{ cells, color: null }], compared: [], focus: null, words: { queries: [], keys: [] }, said: () => "end", em: 14, within: ROOMS[2] };
  assert.ok(drawnBy(paintLines, data).texts.some((text) => /^The strongest 2,?000 of 3,?600 lines\.$/.test(text)));
  const one = drawnBy(paintLines, { ...data, focus: { side: "query", index: 3 } }, ROOMS[0]);
  assert.ok(!one.texts.some((text) => text.startsWith("The strongest")));
  // At the other end, the strongest have the room.
  assert.ok(one.texts.some((text) => /^token59 /.test(text)));
});

test("a weight of which no more is known says so", () => {
  for (const room of ROOMS) assert.match(said(drawnBy(paintWeight, { ...aRow(3), head: null, isKnown: false }, room).texts), /Only its weights.*Weights of this row/);
  assert.doesNotMatch(said(drawnBy(paintWeight, { ...aRow(3), head: null }).texts), /Only its weights/);
});

test("only a table of sines is called waves, and where nothing is added that is said", () => {
  const table = (value) => ({ acts: null, cells: Uint8Array.from({ length: 12 }, (_, place) => Math.round(127.5 * (1 + value(Math.floor(place / 4), place % 4)))), dimensions: 4, of: 4, limit: 1 });
  const sine = (token, column) => [Math.sin, Math.cos][column % 2](token * 10000 ** (-2 * Math.floor(column / 2) / 4));
  const data = { tokens: ["a", "b", "c"], token: 1 };
  for (const room of ROOMS) assert.match(said(drawnBy(paintWaves, { ...data, positions: table(sine) }, room).texts), /waves.*fast/);
  assert.doesNotMatch(said(drawnBy(paintWaves, { ...data, positions: table((token) => token / 5) }).texts), /wave|fast/);
  const { texts, hot } = drawnBy(paintWaves, { ...data, positions: { acts: "turns them", cells: null, dimensions: null, of: null, limit: null } });
  assert.deepEqual([said(texts), hot], ["Nothing is added here | Self-attention turns them.", []]);
});

test("what a block adds is measured against the vector before", () => {
  const answer = { size: 2, into: Float32Array.of(3, 4, 0, 1), gains: Float32Array.of(0, 5, 0, 0.5) };
  const data = { tokens: ["a", "b"], norm: "pre", token: -1, shares: null, answer };
  for (const room of ROOMS) assert.match(said(drawnBy(paintAdded, data, room).texts), /100%.*50%.*“a”.*before.*gained.*after/);
  assert.match(said(drawnBy(paintAdded, { ...data, norm: "post", token: 1 }).texts), /“b”.*sum/);
  assert.match(said(drawnBy(paintAdded, { ...data, answer: null, shares: Float32Array.of(0.2, 0.4) }).texts), /20%.*40%/);
  assert.deepEqual(drawnBy(paintAdded, { ...data, answer: null }).hot, []);
});

test("every next token but the one that was taken can be taken instead", () => {
  const answer = { size: 4, hidden: numbers(4), rows: numbers(8), texts: ["hat", "ist"], ids: [7, 9], logits: [-1, -3], shares: [0.8, 0.001], vocabulary: 16000 };
  const data = { step: 1, after: "Er", texts: ["hat", "ist"], shares: [0.8, 0.001], chosen: 0, answer };
  for (const room of ROOMS) assert.match(said(drawnBy(paintNext, data, room).texts), /What comes after “Er”.*16,000 tokens.*hat \| −1.00 \| 80% \| ist \| −3.00 \| < 1%/);
  assert.deepEqual(drawnBy(paintNext, data).hot.map(({ act, label }) => [act, label]), [[{ ask: "instead", step: 1, id: 9 }, "Take “ist” instead"]]);
  assert.deepEqual(drawnBy(paintNext, { ...data, answer: null }).hot, []);
  assert.match(said(drawnBy(paintNext, { ...data, shares: [0.9996, 0.0004], answer: null }).texts), /hat \| > 99% \| ist \| < 1%/);
});
