import assert from "node:assert/strict";
import test from "node:test";

import { HashAddress, PathAddress } from "./address.js";

const PAGES = ["model", "heads", "masks"];

test("a site has the paths of the app, below its folder", () => {
  const address = new PathAddress(new URL("https://x.org/headscope/"), PAGES);
  globalThis.location = { pathname: "/headscope/heads/", search: "?sentence=a+b%26c&off=cross.0.1" };
  assert.deepEqual(address.read(), { page: "heads", query: { sentence: "a b&c", off: "cross.0.1" } });
  assert.equal(address.link("masks", { sentence: "a b&c", masked: "" }), "https://x.org/headscope/masks/?sentence=a+b%26c");
  assert.equal(address.link("model", {}), "https://x.org/headscope/");
  globalThis.location = { pathname: "/headscope/nothing/", search: "" };
  assert.deepEqual(address.read(), { page: "model", query: {} });
});

test("a file has the same behind the hash", () => {
  const address = new HashAddress(PAGES);
  for (const link of [address.link("heads", { sentence: "ä?#&", layer: "2" }), address.link("model", {})]) {
    globalThis.location = { hash: link };
    const { page, query } = address.read();
    assert.equal(address.link(page, query), link);
  }
  assert.equal(address.link("heads", { layer: "2" }), "#/heads?layer=2");
});
