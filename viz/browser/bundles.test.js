import assert from "node:assert/strict";
import { test } from "node:test";

import { fixtures } from "../../tests/kit/fixtures.js";

// The parts of a browser that scripts use while loading.
globalThis.window = globalThis;
globalThis.matchMedia = () => ({ matches: false });

for (const [name, script] of Object.entries(fixtures.bundles)) {
  test(`${name} and what it imports are one script`, async () => {
    const { default: mount } = await import(`data:text/javascript,${encodeURIComponent(script)}`);
    assert.equal(typeof mount, "function");
  });
}
