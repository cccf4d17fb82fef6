import assert from "node:assert/strict";
import { test } from "node:test";

import { readSafetensors } from "./safetensors.js";

function file(tensors) {
  let start = 0;
  const header = {};
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [start, start + data.length] };
    start += data.length;
  }
  const text = new TextEncoder().encode(JSON.stringify({ __metadata__: { format: "pt" }, ...header }));
  const bytes = new Uint8Array(8 + text.length + start);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let at = 8 + text.length;
  for (const { data } of Object.values(tensors)) {
    bytes.set(data, at);
    at += data.length;
  }
  return bytes;
}

const bytesOf = (array) => new Uint8Array(array.buffer);

test("single and half precision are read as they are", () => {
  const tensors = readSafetensors(
    file({
      single: { dtype: "F32", shape: [2, 2], data: bytesOf(Float32Array.of(1, -2, 0.1, 4)) },
      half: { dtype: "F16", shape: [5], data: bytesOf(Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x8000, 0x7bff)) },
    }),
  );
  assert.deepEqual([...tensors.get("single").vector(1)], [Math.fround(0.1), 4]);
  assert.deepEqual([tensors.get("single").half, tensors.get("half").half], [false, true]);
  assert.deepEqual([...tensors.get("half").vector()], [1, -2, 2 ** -24, -0, 65504]);
});

test("eight bits are multiplied by their row's scale and rounded to half precision", () => {
  const tensors = readSafetensors(
    file({
      weight: { dtype: "I8", shape: [2, 3], data: bytesOf(Int8Array.of(127, -127, 0, 1, 2, -3)) },
      weight_scale: { dtype: "F32", shape: [2, 1], data: bytesOf(Float32Array.of(0.001, 1e-6)) },
    }),
  );
  assert.deepEqual([...tensors.keys()], ["weight"]);
  assert.deepEqual([...tensors.get("weight").vector(0)], [0.126953125, -0.126953125, 0]);
  assert.deepEqual([...tensors.get("weight").vector(1)], [17 * 2 ** -24, 34 * 2 ** -24, -50 * 2 ** -24]);
});

test("damaged files and other types are refused in a sentence", () => {
  const whole = file({ a: { dtype: "F16", shape: [2], data: new Uint8Array(4) } });
  assert.throws(() => readSafetensors(whole.subarray(0, 20)), /damaged/);
  assert.throws(() => readSafetensors(whole.subarray(0, whole.length - 1)), /a is cut/);
  assert.throws(() => readSafetensors(file({ b: { dtype: "I64", shape: [1], data: new Uint8Array(8) } })), /stored as I64/);
});
