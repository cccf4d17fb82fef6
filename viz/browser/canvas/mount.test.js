import assert from "node:assert/strict";
import { test } from "node:test";

import { mounted } from "./mount.js";

/** A component whose drawings say what was asked of them. */
function component(isConnected) {
  const said = [];
  const page = { engine: {}, height: 600 };
  const root = { isConnected, removeAttribute: (name) => said.push(`without ${name}`) };
  const mount = mounted(
    ".root",
    (_, given) => {
      assert.deepEqual(given, page);
      return { update: (data) => said.push(data), dispose: () => said.push("disposed") };
    },
    "state",
  );
  return { root, said, show: (data) => mount({ ...page, parentElement: { querySelector: () => root }, data }) };
}

test("one drawing takes all updates and is disposed of with its component", () => {
  const { root, said, show } = component(true);
  show("one");
  const end = show("two");
  root.isConnected = false;
  end();
  end();
  assert.deepEqual(said, ["one", "without aria-busy", "two", "without aria-busy", "disposed"]);
});

test("a drawing outlives the end of a call that a newer one has overtaken", () => {
  let made = 0;
  const root = { isConnected: true, removeAttribute() {} };
  const mount = mounted(".root", () => {
    made += 1;
    return { update() {}, dispose: assert.fail };
  }, "state");
  const show = () => mount({ parentElement: { querySelector: () => root }, data: null });
  // Streamlit ends the overtaken call before or after the newer one, as their imports come.
  show()();
  const overtaken = show();
  show();
  overtaken();
  assert.equal(made, 1);
});

test("nothing is drawn on a page that was left while the script loaded", () => {
  const { said, show } = component(false);
  show("one")();
  assert.deepEqual(said, []);
});
