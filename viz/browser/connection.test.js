import assert from "node:assert/strict";
import { test } from "node:test";

import { onReconnect } from "./connection.js";

/** Builds the element in which Streamlit marks the connection; returns a function that changes the mark. */
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

test("each restored connection is reported once", () => {
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

test("without Streamlit's mark, nothing is reported and nothing breaks", () => {
  page();
  globalThis.document = { querySelector: () => null };
  onReconnect(() => assert.fail())();
});
