import assert from "node:assert/strict";
import { test } from "node:test";

import { sealed } from "../live/sealed.js";
import { answersFrom, headOf } from "./answers.js";
import { ANSWERS_KEPT, asking } from "./asking.js";

/** An engine whose requests end when the test says so. */
function slowEngine() {
  const asked = [];
  const ask = (question, { signal }) =>
    new Promise((resolve, reject) => {
      asked.push({ question, signal, resolve, reject });
    });
  return { asked, ask };
}

const step = (number) => ({ ask: "next", step: number });

test("nothing to ask is no engine", () => assert.equal(asking(null), null));

test("equal questions are one request, and their answer stays", async () => {
  const slow = slowEngine();
  const engine = asking(slow);
  const both = [engine.ask(step(1)), engine.ask(step(1))];
  const other = engine.ask(step(2));
  assert.equal(slow.asked.length, 2);
  slow.asked[0].resolve("one");
  slow.asked[1].resolve("two");
  assert.deepEqual(await Promise.all([...both, other, engine.ask(step(1))]), ["one", "one", "two", "one"]);
  assert.equal(slow.asked.length, 2);
});

test("a request ends when nobody waits for it any more, and is made anew", async () => {
  const slow = slowEngine();
  const engine = asking(slow);
  const [one, other] = [new AbortController(), new AbortController()];
  const both = [one, other].map(({ signal }) => assert.rejects(engine.ask(step(1), { signal }), { name: "AbortError" }));
  one.abort();
  await both[0];
  assert.equal(slow.asked[0].signal.aborted, false);
  other.abort();
  await both[1];
  assert.equal(slow.asked[0].signal.aborted, true);
  const again = engine.ask(step(1));
  assert.equal(slow.asked.length, 2);
  slow.asked[0].reject(new Error("late"));
  slow.asked[1].resolve("one");
  assert.equal(await again, "one");
  // What is known already is not taken away.
  await assert.rejects(engine.ask(step(1), { signal: AbortSignal.abort() }));
  assert.equal(await engine.ask(step(1)), "one");
  assert.equal(slow.asked.length, 2);
});

test("a failed question says why, and may be asked again", async () => {
  const slow = slowEngine();
  const engine = asking(slow);
  const first = assert.rejects(engine.ask(step(1)), { message: "No." });
  slow.asked[0].reject(new Error("No."));
  await first;
  const second = engine.ask(step(1));
  slow.asked[1].resolve("yes");
  assert.equal(await second, "yes");
});

test("only the latest answers are kept", async () => {
  const asked = [];
  const engine = asking({ ask: async ({ step: number }) => asked.push(number) });
  for (let number = 0; number <= ANSWERS_KEPT; number += 1) await engine.ask(step(number));
  await engine.ask(step(ANSWERS_KEPT));
  await engine.ask(step(1));
  assert.equal(asked.length, ANSWERS_KEPT + 1);
  await engine.ask(step(0));
  assert.deepEqual(asked.slice(-2), [ANSWERS_KEPT, 0]);
});

const ABOUT = { url: "ask", model: "en-de", snapshot: null, sentence: "It’s here.", target: "" };

/** What `use` makes of a server that answers so. */
async function withServer(answer, use) {
  const sent = [];
  globalThis.document = { baseURI: "https://example.org/lecture/heads?sentence=x" };
  const { fetch } = globalThis;
  globalThis.fetch = async (address, request) => {
    sent.push({ address: address.href, ...request });
    return answer(request);
  };
  try {
    await use(asking(ABOUT), sent);
  } finally {
    globalThis.fetch = fetch;
    delete globalThis.document;
  }
}

test("the server is asked beside the page, with the sentence in the body", () => {
  const values = { payload: "added", size: 2, into: new Float32Array([1, 2]), gains: new Float32Array([3, 4]) };
  return withServer(() => new Response(sealed(values)), async (engine, sent) => {
    const { payload, ...expected } = values;
    const question = { ask: "added", stack: "decoder", layer: 1 };
    assert.deepEqual(await engine.ask(question), expected);
    const [{ address, method, body, signal }] = sent;
    assert.equal(address, "https://example.org/lecture/ask");
    assert.equal(method, "POST");
    const { url, ...about } = ABOUT;
    assert.deepEqual(JSON.parse(body), { ...about, ...question });
    assert.ok(signal instanceof AbortSignal);
  });
});

test("a refusal is the server's own sentence; without one, the server did not answer", async () => {
  const late = { message: "The server did not answer; try again in a moment." };
  await withServer(() => Response.json({ error: "No such head." }, { status: 404 }), (engine) => assert.rejects(engine.ask(step(1)), { message: "No such head." }));
  await withServer(() => new Response("<h1>502</h1>", { status: 502 }), (engine) => assert.rejects(engine.ask(step(1)), late));
  await withServer(() => Promise.reject(new TypeError("fetch failed")), (engine) => assert.rejects(engine.ask(step(1)), late));
});

// Two heads of two dimensions, two queries and three keys.
const QUERIES = [1, 2, 5, 6, 3, 4, 7, 8];
const KEYS = [1, 0, 2, 0, 0, 1, 0, 2, 1, 1, 2, 2];
const products = (head) => [0, 1].flatMap((query) => [0, 1, 2].map((key) => [0, 1].reduce((sum, i) => sum + QUERIES[query * 4 + head * 2 + i] * KEYS[key * 4 + head * 2 + i], 0)));
const SCORES = [...products(0).map((product) => product / Math.sqrt(2)), ...products(1)];
const MAP = { heads: 2, queries: 2, keys: 3, q: Float32Array.from(QUERIES), k: Float32Array.from(KEYS), v: Float32Array.from(KEYS), scores: Float32Array.from(SCORES) };

test("a head is taken out of its map, with what its products are divided by", () => {
  const head = headOf(MAP, 0);
  assert.deepEqual([...head.q], [1, 2, 3, 4]);
  assert.deepEqual([...head.k], [1, 0, 0, 1, 1, 1]);
  assert.deepEqual([head.d, head.dv, head.divisor], [2, 2, Math.sqrt(2)]);
  assert.equal(headOf(MAP, 1).divisor, 1);
  assert.equal(headOf({ ...MAP, scores: MAP.scores.map((score, cell) => score + cell) }, 0).divisor, null);
});

test("a recorded run knows its heads and nothing else", async () => {
  // (layer, head, token, dimension)
  const cells = { q: Float32Array.of(0, 0, 1, 2), k: Float32Array.of(0, 0, 3, 4), v: Float32Array.of(0, 0, 5, 6), scores: Float32Array.of(0, 11) };
  const block = { kind: "cross", layers: [1, 3], heads: 1, queries: 1, keys: 1, ...cells };
  const engine = answersFrom({ stacks: [{ blocks: [block] }] });
  const head = await engine.ask({ ask: "head", kind: "cross", layer: 3, head: 0 });
  assert.deepEqual(head, { q: Float32Array.of(1, 2), k: Float32Array.of(3, 4), v: Float32Array.of(5, 6), d: 2, dv: 2, scores: Float32Array.of(11), divisor: 1 });
  const recorded = { message: "The model is not here to be asked: this is a recorded run." };
  for (const question of [{ ask: "head", kind: "cross", layer: 2, head: 0 }, { ask: "head", kind: "cross", layer: 3, head: 1 }, { ask: "head", kind: "decoder", layer: 1, head: 0 }, step(0)]) {
    await assert.rejects(engine.ask(question), recorded);
  }
  assert.equal(answersFrom({ stacks: [{ blocks: [{ ...block, q: null }] }] }), null);
});
