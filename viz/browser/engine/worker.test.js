import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { EngineClient } from "./client.js";
import { serve } from "./worker.js";

const file = (name) => new Uint8Array(readFileSync(new URL(`../../../checkpoints/toy-reverse/${name}`, import.meta.url)));

const FILES = {
  config: JSON.parse(new TextDecoder().decode(file("config.json"))),
  weights: file("model.safetensors"),
  tokenizer: file("tokenizer.model"),
};

async function withEngine(use) {
  const { port1, port2 } = new MessageChannel();
  serve(port1);
  try {
    await use(new EngineClient(port2));
  } finally {
    port1.close();
  }
}

test("a worker loads a model, translates, traces, and measures heads", () =>
  withEngine(async (engine) => {
    const facts = await engine.call("load", [FILES]);
    assert.deepEqual(facts.sites, [{ kind: "encoder", layer: 0 }, { kind: "decoder", layer: 0 }, { kind: "cross", layer: 0 }]);
    assert.equal((await engine.call("translate", ["a b c"])).text, "c b a");
    const trace = await engine.call("trace", ["a b c"]);
    assert.deepEqual(trace.maps.map(({ kind }) => kind), ["encoder", "decoder", "cross"]);
    assert.ok(trace.maps[2].weights instanceof Float32Array);
    const { sites } = await engine.call("effects", [trace]);
    assert.equal(sites[0].losses.length, 4 * trace.predictions.ids.length);
    const without = { heads: [0, 1, 2, 3].map((head) => ({ kind: "cross", layer: 0, head, gate: 0 })) };
    const { ids } = trace.predictions;
    const added = await engine.call("added", ["a b c", { stack: "decoder", layer: 0, ids }]);
    assert.equal(added.gains.length, ids.length * added.size);
    const { shares } = await engine.call("next", ["a b c", { step: 0, ids }]);
    assert.ok(Math.abs(shares[0] - trace.steps[0].probabilities[0]) < 1e-6);
    const other = await engine.call("translate", ["a b c", { under: without }]);
    assert.notEqual(other.text, "c b a");
    assert.equal((await engine.call("translate", ["a b c"])).text, "c b a");
  }));

test("what cannot be done is answered by an error of its kind", () =>
  withEngine(async (engine) => {
    await assert.rejects(engine.call("translate", ["a"]), /No model is loaded/);
    await assert.rejects(engine.call("load", [{ ...FILES, config: { ...FILES.config, activation: "tanh" } }]), /tanh/);
    await engine.call("load", [FILES]);
    await assert.rejects(engine.call("translate", [""]), { kind: "TextError", message: /is empty/ });
    await assert.rejects(engine.call("constructor", []), /no method constructor/);
  }));

test("a cancelled request ends, whether it runs or waits, and the next one is answered", () =>
  withEngine(async (engine) => {
    await engine.call("load", [FILES]);
    const trace = await engine.call("trace", ["a b c d e f g h"]);
    const cancel = new AbortController();
    const { signal } = cancel;
    const running = engine.call("effects", [trace], { signal });
    const waiting = engine.call("translate", ["a b c"], { signal });
    const next = engine.call("translate", ["a b c"]);
    cancel.abort();
    await assert.rejects(running, { kind: "Cancelled" });
    await assert.rejects(waiting, { kind: "Cancelled" });
    assert.equal((await next).text, "c b a");
  }));

test("requests are answered in order", () =>
  withEngine(async (engine) => {
    const order = [];
    const calls = [engine.call("load", [FILES]), ...["a b", "b a"].map((text) => engine.call("translate", [text]))];
    calls.forEach((call, place) => call.then(() => order.push(place)));
    assert.deepEqual((await Promise.all(calls)).slice(1).map(({ text }) => text), ["b a", "a b"]);
    assert.deepEqual(order, [0, 1, 2]);
  }));
