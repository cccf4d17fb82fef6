import assert from "node:assert/strict";
import { test } from "node:test";

import { onReconnect } from "./connection.js";

/** The page's element as Streamlit marks it, and a way to mark it otherwise. */
function page() {
  const app = { dataset: { testConnectionState: "CONNECTED" } };
  let look = () => {};
  globalThis.document = { querySelector: () => app };
  globalThis.MutationObserver = class {
    constructor(callback) {
      look = callback;
    }
    observe() {}
    disconnect() {
      look = () => {};
    }
  };
  return (state) => {
    app.dataset.testConnectionState = state;
    look();
  };
}

test("each time that a lost connection stands again is told once", () => {
  const become = page();
  let calls = 0;
  const stop = onReconnect(() => (calls += 1));
  become("CONNECTED");
  assert.equal(calls, 0);
  for (const state of ["PINGING_SERVER", "CONNECTING", "CONNECTED", "CONNECTED"]) become(state);
  assert.equal(calls, 1);
  for (const state of ["PINGING_SERVER", "CONNECTED"]) become(state);
  assert.equal(calls, 2);
  stop();
  for (const state of ["PINGING_SERVER", "CONNECTED"]) become(state);
  assert.equal(calls, 2);
});

test("where Streamlit marks nothing, nothing is told and nothing breaks", () => {
  page();
  globalThis.document = { querySelector: () => null };
  onReconnect(() => assert.fail())();
});
