// Runs the browser engine in Node: each line of standard input is a job in JSON, each of standard output its result.

import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";

import constants from "../../viz/draw/constants.json" with { type: "json" };
import { closeWords, counterparts, dividedAct, neighbours, swappedAct } from "../../viz/browser/act/made.js";
import { opened } from "../../viz/browser/canvas/envelope.js";
import { signed } from "../../viz/browser/canvas/numbers.js";
import { Engine } from "../../viz/browser/engine/engine.js";
import { distanceBucket } from "../../viz/browser/engine/positions.js";
import { Tokenizer } from "../../viz/browser/engine/tokenizer.js";
import { packedFigure } from "../../viz/browser/live/figure.js";
import { packedTrace } from "../../viz/browser/live/packing.js";
import { PairedRuns, wordChanges } from "../../viz/browser/live/paired.js";
import { readTrace } from "../../viz/browser/live/reading.js";
import { treeOf } from "../../viz/browser/live/search_tree.js";
import { packedWriting } from "../../viz/browser/live/writing.js";
import { asking } from "../../viz/browser/model_view/asking.js";
import { Figure } from "../../viz/browser/model_view/payload.js";
import { isOffered, stopsOf } from "../../viz/browser/model_view/walk/stops.js";
import { engineFor } from "../../viz/site/asking.js";
import { answersOf } from "../../viz/site/followed.js";
import { unhonoured } from "../../viz/site/keys.js";
import { Sentences, Survey } from "../../viz/site/survey.js";
import { speak } from "../../viz/site/words.js";

const file = (folder, name) => readFileSync(join(folder, name));

/** The template that an envelope of Python's gives. */
const templateOf = (envelope) => opened(Uint8Array.from(Buffer.from(envelope, "base64"))).values;

async function loaded(folder, { weights = "model.safetensors", wasm = true } = {}) {
  const config = JSON.parse(file(folder, "config.json"));
  return Engine.load({ config, weights: file(folder, weights), tokenizer: file(folder, "tokenizer.model") }, { wasm });
}

let kept = { key: "", engine: null };

/** The same engine while one job after another asks for it. */
async function engineOf(folder, options = {}) {
  const key = JSON.stringify([folder, options, statSync(join(folder, "config.json")).mtimeMs]);
  if (key !== kept.key) kept = { key, engine: await loaded(folder, options) };
  return kept.engine;
}

/** Bits of masks, which JSON has as lists, as the typed arrays they are in a page. */
function typed(value) {
  if (Array.isArray(value)) return value.map(typed);
  if (!value || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([name, each]) => [name, name === "bits" ? Uint8Array.from(each) : typed(each)]);
  return Object.fromEntries(entries);
}

// Typed arrays are written as lists.
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);

const TASKS = {
  async encode({ folder, lines, ids = null }) {
    const tokenizer = new Tokenizer(file(folder, "tokenizer.model"));
    const encoded = lines.map((line) => tokenizer.encode(line));
    const decoded = (ids ?? encoded).map((each) => tokenizer.decode(each));
    return { encoded, decoded, unseen: lines.map((line) => tokenizer.unseenCharacters(line)) };
  },

  async run({ folder, options, calls }) {
    const engine = await engineOf(folder, options);
    const results = [];
    for (const { method, args } of calls) {
      try {
        results.push(await engine[method](...args.map(typed)));
      } catch (error) {
        results.push({ error: error.message });
      }
    }
    return results;
  },

  async pack({ page, folder, options, line, template, heads = [], reading, measures = false }) {
    const engine = await engineOf(folder, options);
    const trace = await engine.trace(line);
    const effects = measures ? await engine.effects(trace) : null;
    const envelope = {
      model: () => packedFigure(templateOf(template), trace, { key: `${basename(folder)} ${line}`, reading, effects }),
      decoding: () => packedWriting(templateOf(template), trace, { name: line, heads }),
    }[page]();
    return Buffer.from(envelope).toString("base64");
  },

  /** A trace, and under each reading what is read of it and its envelope. */
  async read({ folder, options, line, under, template, readings }) {
    const engine = await engineOf(folder, options);
    const trace = await engine.trace(line, { under: typed(under) });
    const effects = template && (await engine.effects(trace));
    const read = readings.map((reading) => ({
      seen: readTrace(trace, reading),
      envelope: template && Buffer.from(packedTrace(templateOf(template), trace, { effects, reading })).toString("base64"),
    }));
    return { trace, read };
  },

  /** What the picture of the model is answered; the price is the loss of log-probability. */
  async ask({ folder, options, line, target = null, questions }) {
    const engine = await engineOf(folder, options);
    const client = { call: (method, args) => engine[method](...args) };
    const sum = ({ logProbs }) => logProbs.reduce((all, each) => all + each, 0);
    const price = (before, after) => String(sum(before) - sum(after));
    const asked = asking(engineFor(() => Promise.resolve(client), await engine.trace(line, { target }), price));
    return Promise.all(questions.map((question) => asked.ask(question).catch((error) => ({ error: error.message }))));
  },

  /** What a phone that follows is told, beside what the engine finds. */
  async follow({ folder, options, envelope }) {
    const engine = await engineOf(folder, options);
    const { calls, effects, predictions } = answersOf(Uint8Array.from(Buffer.from(envelope, "base64")));
    const answered = [];
    for (const { method, text, options: asked, result } of calls) {
      answered.push({ method, options: asked, told: result, found: await engine[method](text, asked) });
    }
    if (effects) {
      const [{ told }] = answered;
      answered.push({ method: "effects", told: effects, found: await engine.effects({ ...told, predictions }) });
    }
    return answered;
  },

  /** The stops of a walk through a picture, and whether it is offered. */
  async walk({ envelope, can }) {
    const figure = new Figure(Uint8Array.from(Buffer.from(envelope, "base64")));
    const stops = stopsOf(figure, { can });
    return { offered: isOffered(stops), stops };
  },

  /** Where each hypothesis of a search stands, and in how many rows. */
  async tree({ folder, options, line, search, across }) {
    const { nodes } = await (await engineOf(folder, options)).tree(line, { search });
    return treeOf(nodes, across, (value) => signed(value, 2));
  },

  /** Of views, each a page with the query of its address, whether the site shows them. */
  async shows({ views, keys }) {
    // As in a page of a site with two models.
    const querySelector = () => ({ textContent: JSON.stringify({ models: [{}, {}] }) });
    Object.assign(globalThis, { document: { documentElement: { dataset: {} }, querySelector }, location: { href: "https://example.org/" } });
    const { PAGES } = await import("../../viz/site/pages.js");
    const shown = views.map(([page, query]) => {
      if (!PAGES[page]) return false;
      const { honours, beside } = PAGES[page];
      const { lacking, unused } = unhonoured(query, { known: keys[page], around: keys[""], honours, beside });
      return !lacking.length && !unused.length;
    });
    delete globalThis.document;
    delete globalThis.location;
    return shown;
  },

  /** The heads of two runs in pairs, each with how far it moved, and how what they wrote differs. */
  async pair({ runs, matches }) {
    const traces = [];
    for (const { folder, options, line } of runs) traces.push(await (await engineOf(folder, options)).trace(line));
    const { pairs, most } = new PairedRuns(...traces, { matches });
    const name = ({ map, head }) => `${map.kind}.${map.layer}.${head}`;
    const words = wordChanges(...traces.map(({ text }) => text));
    return { pairs: pairs.map(({ one, other, moved }) => ({ one: name(one), other: name(other), moved })), most: name(most.one), words };
  },

  /** Both acts of a sentence as the page makes them, and those of Python's envelopes. */
  async acts({ folder, options, line, other, template, minds, swap, titles }) {
    const engine = await engineOf(folder, options);
    const trace = await engine.trace(line);
    const [rival] = closeWords(trace);
    const { ids } = trace.predictions;
    const deciding = await engine.deciding(line, { step: rival.place, ids, other: rival.id, orders: constants.ACTS.RANDOM_ORDERS });
    const [one, two] = [await engine.translate(line), await engine.translate(other)];
    const crossed = await engine.swapped(line, { other, written: two.text, ids: two.predictions.ids, pairs: counterparts(one.source, two.source) });
    const shown = (name) => ({ key: name, title: titles[name], template: templateOf(template), stage: false });
    const made = { minds: dividedAct(trace, rival, deciding, shown("minds")), swap: swappedAct({ own: one, other: two }, crossed, shown("swap")) };
    const valuesOf = (bytes) => opened(bytes).values;
    const own = Object.fromEntries(Object.entries(made).map(([name, bytes]) => [name, valuesOf(bytes)]));
    return { own, given: { minds: templateOf(minds), swap: templateOf(swap) }, neighbours: neighbours(line, "en") };
  },

  /** What the page reads of a survey: the heads by each measure, their effects and spreads, and what queries find. */
  async survey({ folder, words, queries }) {
    speak("en", words);
    const survey = new Survey(Uint8Array.from(file(folder, "survey")));
    const sentences = new Sentences(Uint8Array.from(file(folder, "sentences")));
    const name = (place) => Object.values(survey.heads[place]).slice(0, 3).join(".");
    const keys = [...survey.quantities.keys()];
    const head = (text) => text && { kind: text.split(".")[0], layer: Number(text.split(".")[1]), head: Number(text.split(".")[2]) };
    return {
      ranked: Object.fromEntries(keys.map((key) => [key, survey.ranked(key).map(([place, value]) => [name(place), value, survey.written(key, value)])])),
      effects: survey.heads.map((_, place) => survey.effect(place)),
      spreads: survey.heads.map((_, place) => Object.fromEntries(keys.map((key) => [key, survey.spread(place, key)]))),
      heads: survey.heads.map((each) => ({ ...each, examples: each.examples.map(([tenth, shown]) => [tenth, survey.file.shown[shown]]) })),
      rules: sentences.rules,
      found: queries.map(([asked, one, rule]) => sentences.found(asked, head(one), rule)),
    };
  },

  async buckets({ distances, causal }) {
    return distances.map((distance) => distanceBucket(distance, causal));
  },

  async translate({ folder, options, lines, search }) {
    const engine = await engineOf(folder, options);
    const began = performance.now();
    const texts = [];
    for (const line of lines) texts.push((await engine.translate(line, { search })).text);
    return { texts, seconds: (performance.now() - began) / 1000 };
  },
};

/** Milliseconds of each of several runs. */
async function timed(runs, run) {
  const times = [];
  for (let i = 0; i < runs; i += 1) {
    const [began, used] = [performance.now(), process.cpuUsage()];
    await run();
    const { user, system } = process.cpuUsage(used);
    times.push({ wall: performance.now() - began, cpu: (user + system) / 1000 });
  }
  return times;
}

TASKS.time = async ({ folder, options, line, runs }) => {
  let engine = null;
  const ready = await timed(1, async () => {
    engine = await loaded(folder, options);
  });
  const trace = await engine.trace(line);
  const [{ kind, layer }] = engine.describe().sites;
  const under = { heads: [{ kind, layer, head: 0, gate: 0 }] };
  return {
    tokens: [trace.source.ids.length, trace.predictions.ids.length],
    times: {
      ready,
      "beam 4, all heads recorded": await timed(runs, () => engine.trace(line)),
      "beam 4": await timed(runs, () => engine.translate(line)),
      "beam 4 without a head": await timed(runs, () => engine.translate(line, { under })),
      "effects of all heads": await timed(Math.ceil(runs / 3), () => engine.effects(trace)),
    },
    megabytes: process.memoryUsage().rss / 1e6,
  };
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...job } = JSON.parse(line);
  const answer = await TASKS[task](job).then(
    (result) => ({ result }),
    (error) => ({ failed: error.stack }),
  );
  process.stdout.write(`${JSON.stringify(answer, plain)}\n`);
}
