import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { TracePayload } from "./trace_payload.js";

const exact = new TracePayload(bytes(fixtures.exact));
const asked = [];
let answer = () => new Response(bytes(fixtures.whole));
globalThis.document = { baseURI: "http://localhost/heads" };
globalThis.fetch = async (url, { body }) => {
  asked.push({ url: url.href, ...JSON.parse(body) });
  return answer();
};

/** A trace of patches with nothing left to come by itself. */
function patched(token) {
  const trace = new TracePayload(bytes(fixtures.patches));
  const sizes = trace.kinds.map((kind) => ({ ...kind, cells: 1e9 }));
  Object.assign(trace, { coming: new trace.coming.constructor({ ...trace.toCome, trace: token }, sizes) });
  return trace;
}

/** That each weight is the largest of its patch, to a step of its square root. */
function requirePatches(found, whole, [rows, columns]) {
  for (const [place, weight] of found.weights.entries()) {
    const [query, key] = [Math.floor(place / found.nKeys), place % found.nKeys];
    let largest = 0;
    for (const [at, each] of whole.weights.entries()) {
      const isIn = Math.floor(Math.floor(at / whole.nKeys) / rows) === Math.floor(query / rows) && Math.floor((at % whole.nKeys) / columns) === Math.floor(key / columns);
      if (isIn) largest = Math.max(largest, each);
    }
    assert.ok(Math.abs(Math.sqrt(weight) - Math.sqrt(largest)) < 0.003);
  }
}

test("until a head has come, each cell shows the largest weight of its patch", async () => {
  const trace = patched("a");
  const told = new Promise((resolve) => (trace.coming.told = resolve));
  const rough = trace.cells("encoder", 1, 2);
  const whole = exact.cells("encoder", 1, 2);
  assert.deepEqual([rough.rough, rough.exact, rough.nQueries, rough.nKeys], [true, false, whole.nQueries, whole.nKeys]);
  requirePatches(rough, whole, trace.sent("encoder").grain);
  // It is asked for once, by its layer's number.
  trace.cells("encoder", 1, 2);
  assert.deepEqual(asked.splice(0), [{ url: `http://localhost/${trace.toCome.url}`, trace: "a", kind: "encoder", layer: 1, heads: [2, 2] }]);
  answer = () => assert.fail("nothing else is asked for");
  assert.equal(await told, undefined);
});

test("once heads have come, their cells are those of the trace, and small pictures keep to the patches", async () => {
  answer = () => new Response(bytes(fixtures.whole));
  const trace = new TracePayload(bytes(fixtures.patches));
  assert.equal(trace.isWhole, false);
  const { coming } = trace;
  // As many heads as the answer holds.
  await coming._ask({ kind: "encoder", layer: 1, first: 0, last: 2 });
  for (const head of [0, 1, 2]) {
    const [found, whole] = [trace, exact].map((each) => each.cells("encoder", 1, head));
    assert.equal(found.rough, false);
    for (const [place, weight] of whole.weights.entries()) assert.ok(Math.abs(found.weights[place] - weight) <= 0.02);
    const small = trace.sketch("encoder", 1, head, 2, 2);
    assert.deepEqual([small.nQueries, small.nKeys, small.rough], [2, 2, true]);
    assert.equal(trace.sketch("encoder", 1, head, 9, 9).weights, found.weights);
  }
  assert.equal(trace.isRough("encoder", 0, 0), true);
  assert.equal(trace.cells("joint", 1, 0).rough, true);
  // Another payload of the same trace has them too.
  assert.equal(new TracePayload(bytes(fixtures.patches)).coming, coming);
});

test("a mask of patches hides those without an allowed cell", () => {
  const trace = patched("b");
  const [found, whole] = [trace.sketch("decoder", 0, 0, 2, 2), exact.cells("decoder", 0, 0)];
  const [rows, columns] = trace.sent("decoder").grain;
  const open = (patch) => {
    const [row, column] = [Math.floor(patch / found.nKeys), patch % found.nKeys];
    return [...whole.allowed].some((is, at) => is && Math.floor(Math.floor(at / whole.nKeys) / rows) === row && Math.floor((at % whole.nKeys) / columns) === column);
  };
  assert.deepEqual([...found.allowed].map(Boolean), [...found.allowed].map((_, patch) => open(patch)));
});

test("a refusal is told, and nothing more is asked for a while", async () => {
  const trace = patched("c");
  answer = () => new Response(JSON.stringify({ error: "It is gone." }), { status: 404 });
  const told = new Promise((resolve) => (trace.coming.told = resolve));
  trace.cells("encoder", 0, 0);
  assert.equal(await told, "It is gone.");
  asked.length = 0;
  trace.cells("encoder", 0, 1);
  assert.deepEqual(asked, []);
});

test("what was shown longest ago goes first where not all may stay", () => {
  const { coming } = patched("d");
  const head = () => ({ steps: { length: 30_000_000 }, scales: new Float32Array() });
  coming._keep("encoder.0.0", head());
  coming._keep("encoder.0.1", head());
  coming.of("encoder", 0, 0, true);
  coming._keep("encoder.1.0", head());
  assert.deepEqual([...coming.came.keys()], ["encoder.0.0", "encoder.1.0"]);
  assert.deepEqual(coming.rest, []);
});
