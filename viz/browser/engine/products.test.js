import assert from "node:assert/strict";
import { test } from "node:test";

import { toHalf } from "./halves.js";
import { Products, roomFor } from "./products.js";

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

async function layer(rows, columns, { wasm, bias = true, half = false }) {
  const draw = random(rows * 1000 + columns);
  const block = await Products.open({ room: roomFor(rows, columns) + rows + 4, widest: columns, tallest: rows, wasm });
  const matrix = block.matrix(rows, columns, { bias, half });
  for (let row = 0; row < rows; row += 1) {
    const numbers = Float32Array.from({ length: columns }, () => draw());
    matrix.write(row, half ? Uint16Array.from(numbers, toHalf) : numbers);
  }
  if (bias) matrix.biases().forEach((_, place, all) => (all[place] = draw()));
  return matrix;
}

function inputs(count, columns) {
  const draw = random(count);
  return Float32Array.from({ length: count * columns }, () => draw());
}

for (const [wasm, half] of [[true, true], [true, false], [false, true], [false, false]]) {
  const place = `${wasm ? "in WebAssembly" : "in JavaScript"}, ${half ? "half" : "single"} precision`;

  test(`products are those of the definition, ${place}`, async () => {
    for (const [rows, columns] of [[4, 8], [5, 12], [1, 1], [64, 96], [370, 64], [7, 257]]) {
      const matrix = await layer(rows, columns, { wasm, half });
      assert.equal(matrix.block.wasm, wasm);
      const rowsOf = Array.from({ length: rows }, (_, row) => matrix.row(row));
      for (const count of [1, 3, 4, 9, 65, 130]) {
        const x = inputs(count, columns);
        const y = matrix.product(x);
        assert.equal(y.length, count * rows);
        for (let i = 0; i < count; i += 1) {
          for (let row = 0; row < rows; row += 1) {
            const w = rowsOf[row];
            const sum = w.reduce((so, number, k) => so + number * x[i * columns + k], matrix.biases()[row]);
            assert.ok(Math.abs(y[i * rows + row] - sum) < 1e-4, `${rows} × ${columns}, ${count}`);
          }
        }
      }
    }
  });

  test(`the softmax of logits up to ±300 is exact to 1e-6, ${place}`, async () => {
    for (const [rows, scale] of [[4, 1], [13, 20], [1001, 300]]) {
      const matrix = await layer(rows, 8, { wasm, half, bias: false });
      const x = inputs(3, 8).map((number) => number * scale);
      const y = matrix.product(x);
      matrix.eachSoftmax(x, (token, logits, largest, log) => {
        const own = y.subarray(token * rows, (token + 1) * rows);
        assert.deepEqual([...logits], [...own]);
        const most = Math.max(...own);
        const sum = own.reduce((so, logit) => so + Math.exp(logit - most), 0);
        assert.equal(largest, most);
        assert.ok(Math.abs(log - Math.log(sum)) < 1e-6);
      });
    }
  });
}

test("a part of a layer gives some of its outputs", async () => {
  const whole = await layer(15, 24, { wasm: true, half: true });
  const x = inputs(6, 24);
  const all = whole.product(x);
  const part = whole.part(6, 5).product(x);
  for (let token = 0; token < 6; token += 1) {
    assert.deepEqual([...part.subarray(5 * token, 5 * token + 5)], [...all.subarray(15 * token + 6, 15 * token + 11)]);
  }
});

test("without WebAssembly, and where a policy refuses it, JavaScript computes", async () => {
  const { WebAssembly: before } = globalThis;
  const refusing = { Memory: before.Memory, instantiate: () => Promise.reject(new before.CompileError("policy")) };
  try {
    for (const other of [undefined, refusing]) {
      globalThis.WebAssembly = other;
      const block = await Products.open({ room: 64, widest: 8, tallest: 8 });
      assert.equal(block.wasm, false);
    }
  } finally {
    globalThis.WebAssembly = before;
  }
});
