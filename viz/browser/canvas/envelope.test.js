import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, fixtures } from "../../../tests/kit/fixtures.js";
import { sealed } from "../live/sealed.js";
import { PAYLOADS, heldBy, opened, payloadId } from "./envelope.js";

const ENVELOPES = {
  exact: fixtures.exact,
  pending: fixtures.pending,
  coarse: fixtures.coarse,
  patches: fixtures.patches,
  whole: fixtures.whole,
  mixed: fixtures.mixed,
  panels: fixtures.panels.envelope,
  decoding: fixtures.decoding.envelope,
  branches: fixtures.branches.envelope,
  "branches without weights": fixtures.branches.without,
  pair: fixtures.pair.envelope,
  wave: fixtures.wave,
  figure: fixtures.figure.envelope,
  followed: fixtures.followed,
  act: fixtures.act,
  ...fixtures.answers,
  ...fixtures.survey,
};
const ID_END = 20;

for (const [name, envelope] of Object.entries(ENVELOPES)) {
  test(`the browser packs ${name} byte for byte as Python does, but for its id`, () => {
    const content = bytes(envelope);
    const packed = sealed(opened(content).values);
    assert.deepEqual(packed.subarray(ID_END), content.subarray(ID_END));
    assert.notEqual(payloadId(packed), payloadId(sealed(opened(content).values)));
  });
}

test("every payload that is described is compared", () => {
  const compared = Object.values(ENVELOPES).map((envelope) => opened(bytes(envelope)).values.payload);
  assert.deepEqual([...new Set(compared)].sort(), Object.keys(PAYLOADS).sort());
});

test("an envelope from Python is read", () => {
  const content = bytes(fixtures.exact);
  const { id, values } = opened(content);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(payloadId(content), id);
  assert.deepEqual(values.axes[0], fixtures.heads.find(({ attention }) => attention === "encoder").queries);
});

test("the trace that a figure holds is packed as one", () => {
  const { values } = opened(bytes(fixtures.figure.envelope));
  const { values: trace } = opened(sealed(heldBy("trace", values)));
  assert.equal(trace.payload, "trace");
  for (const name of ["axes", "kinds", "measures"]) assert.deepEqual(trace[name], values[name]);
});

test("values that are missing, or that the description lacks, are refused", () => {
  const { values } = opened(bytes(fixtures.panels.envelope));
  const { name, ...rest } = values;
  assert.throws(() => sealed(rest), /lacks.*: name/);
  assert.throws(() => sealed({ ...values, extra: name }), /no room.*: extra/);
});
