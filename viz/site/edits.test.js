import assert from "node:assert/strict";
import test from "node:test";

import { fittedEdit, readEdits, writtenEdit } from "./edits.js";

const lower = (queries, keys) => Uint8Array.from({ length: queries * keys }, (_, cell) => Number(cell % keys <= Math.floor(cell / keys)));

test("a mask of the app's talk is read", async () => {
  const [edit] = await readEdits("cross:*:8x8.-94DAQA");
  assert.deepEqual([edit.kind, edit.layers, edit.queries, edit.keys, edit.bits.length], ["cross", null, 8, 8, 64]);
});

test("what is written is read back", async () => {
  const mask = { kind: "decoder", bits: lower(7, 9), queries: 7, keys: 9 };
  const [back] = await readEdits(await writtenEdit(mask));
  assert.deepEqual(back, { ...mask, layers: null });
});

test("what is no mask is left out", async () => {
  const wrong = ["", "decoder:*:8x8.", "decoder:*:8x8.!!", "module:*:8x8.-94DAQA", "cross:*:0x8.AA", "cross:*:999x999.-94DAQA", "cross:*:9x9.-94DAQA"];
  for (const text of wrong) assert.deepEqual(await readEdits(text), [], text);
});

test("a mask of a batch is cut to its sentence, and a smaller one does not fit", () => {
  const edit = { kind: "cross", layers: null, bits: lower(4, 5), queries: 4, keys: 5 };
  assert.deepEqual(fittedEdit(edit, 2, 3).bits, lower(2, 3));
  assert.equal(fittedEdit(edit, 5, 3), null);
});
