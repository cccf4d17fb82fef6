import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { floats, opened, payloadId } from "./envelope.js";

test("an envelope from Python is read", () => {
  const content = bytes(fixtures.exact);
  const { id, header, body } = opened(content);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(payloadId(content), id);
  assert.deepEqual(header.axes[0], fixtures.heads.find(({ attention }) => attention === "encoder").queries);
  const cells = fixtures.heads.filter(({ attention }) => attention !== "joint").flatMap(({ weights }) => weights);
  assert.ok(body.length >= 4 * cells.length);
});

test("floats are read from any byte offset", () => {
  const body = new Uint8Array(11);
  new DataView(body.buffer).setFloat32(3, 0.25, true);
  new DataView(body.buffer).setFloat32(7, -2, true);
  assert.deepEqual([...floats(body, 3, 2)], [0.25, -2]);
});
