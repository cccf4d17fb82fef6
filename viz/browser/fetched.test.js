import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";

const SCRIPT = readFileSync(new URL("./fetched.js", import.meta.url), "utf8");

// The parts of a browser that the script uses.
globalThis.CSSStyleSheet = class {
  replaceSync(text) {
    this.text = text;
  }
};
globalThis.document = {
  baseURI: "http://localhost/lecture/masks?sentence=a",
  createElement: () => ({
    remove() {
      this.place?.delete(this);
    },
  }),
};
console.warn = () => {};

class Place {
  constructor() {
    this.said = new Set();
    this.root = { adoptedStyleSheets: [] };
  }

  append(line) {
    line.place = this.said;
    this.said.add(line);
  }

  getRootNode() {
    return this.root;
  }
}

let made = 0;

/** The script as the server sends it; its code arrives after `globalThis.failures` failures. */
async function sent() {
  const late = `
    if (globalThis.failures-- > 0) throw new Error("no line");
    await globalThis.line;
    globalThis.fetches += 1;
    export default (component) => (globalThis.updates.push(component.data), () => "cleaned");
    export const STYLE = "a { color: red }";
    // ${++made}`;
  const address = `data:text/javascript,${encodeURIComponent(late)}`;
  const whole = `const CODE = ${JSON.stringify(address)};\n${SCRIPT}`;
  return (await import(`data:text/javascript,${encodeURIComponent(whole)}`)).default;
}

beforeEach(() => {
  Object.assign(globalThis, { failures: 0, fetches: 0, updates: [], line: Promise.resolve() });
});

test("the code is fetched once for all mountings and updates, and each mounting gets its style once", async () => {
  const update = await sent();
  const [one, other] = [new Place(), new Place()];
  for (const [parentElement, data] of [[one, 1], [one, 2], [other, 3]]) {
    const clean = await update({ parentElement, data });
    assert.equal(clean(), "cleaned");
  }
  assert.equal(globalThis.fetches, 1);
  assert.deepEqual(globalThis.updates, [1, 2, 3]);
  assert.deepEqual([...one.root.adoptedStyleSheets, ...other.root.adoptedStyleSheets].map(({ text }) => text), [
    "a { color: red }",
    "a { color: red }",
  ]);
  assert.equal(one.root.adoptedStyleSheets[0], other.root.adoptedStyleSheets[0]);
});

test("each mounting gets the last of the updates sent before the code arrived", async () => {
  let come;
  globalThis.line = new Promise((resolve) => (come = resolve));
  const update = await sent();
  const [one, other] = [new Place(), new Place()];
  const answers = [[one, 1], [other, 2], [one, 3]].map(([parentElement, data]) => update({ parentElement, data }));
  come();
  const cleanups = await Promise.all(answers);
  assert.deepEqual(globalThis.updates, [2, 3]);
  // Streamlit would take an older update's return value as the end of the component.
  assert.deepEqual(cleanups.map((clean) => typeof clean), ["undefined", "function", "function"]);
});

test("failed fetches are repeated at growing intervals", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.failures = 6;
  const update = await sent();
  const answer = update({ parentElement: new Place(), data: 1 });
  for (const pause of [500, 1000, 2000, 4000, 8000, 8000]) {
    const before = globalThis.failures;
    while (globalThis.failures === before) await new Promise(setImmediate);
    await new Promise(setImmediate);
    context.mock.timers.tick(pause - 1);
    await new Promise(setImmediate);
    assert.equal(globalThis.failures, before - 1);
    context.mock.timers.tick(1);
  }
  await answer;
  assert.deepEqual(globalThis.updates, [1]);
});

test("a mounting shows one line while its code is missing, and removes it afterwards", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let come;
  globalThis.line = new Promise((resolve) => (come = resolve));
  const update = await sent();
  const place = new Place();
  const said = () => [...place.said].map(({ role, textContent }) => `${role}: ${textContent}`);
  const answers = [update({ parentElement: place, data: 1 })];
  context.mock.timers.tick(4999);
  assert.deepEqual(said(), []);
  context.mock.timers.tick(1);
  const line = "status: This part of the page has not loaded yet. If it does not appear, reload the page.";
  assert.deepEqual(said(), [line]);
  answers.push(update({ parentElement: place, data: 2 }));
  context.mock.timers.tick(5000);
  assert.deepEqual(said(), [line]);
  come();
  await Promise.all(answers);
  assert.deepEqual(said(), []);
  context.mock.timers.tick(5000);
  assert.deepEqual(said(), []);
});
