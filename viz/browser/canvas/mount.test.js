import assert from "node:assert/strict";
import { test } from "node:test";

import { mounted } from "./mount.js";

/** A component whose drawings say what was asked of them. */
function component(isConnected) {
  const said = [];
  const root = { isConnected, removeAttribute: (name) => said.push(`without ${name}`) };
  const mount = mounted(
    ".root",
    () => ({ update: (data) => said.push(data), dispose: () => said.push("disposed") }),
    "state",
  );
  return { said, show: (data) => mount({ parentElement: { querySelector: () => root }, data }) };
}

test("one drawing takes all updates and is disposed of with its component", () => {
  const { said, show } = component(true);
  show("one");
  show("two")();
  assert.deepEqual(said, ["one", "without aria-busy", "two", "without aria-busy", "disposed"]);
});

test("nothing is drawn on a page that was left while the script loaded", () => {
  const { said, show } = component(false);
  show("one")();
  assert.deepEqual(said, []);
});
