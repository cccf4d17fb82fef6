import assert from "node:assert/strict";
import { test } from "node:test";

import { fixtures } from "../../../tests/kit/fixtures.js";
import { written, writtenMeasure } from "./written.js";

for (const [unit, value, text] of fixtures.measured) {
  test(`${value} as ${unit} is written as Python writes it`, () => {
    assert.equal(writtenMeasure({ unit }, value), text);
  });
}

test("an exact weight has four digits, and others say “about”", () => {
  assert.equal(written(0.123456, true), "0.1235");
  assert.equal(written(0.00001234, true), "1.23e-5");
  assert.deepEqual([written(0, true), written(1, true)], ["0", "1"]);
  assert.deepEqual([0.5, 0.0123, 0.00123].map((weight) => written(weight, false)), ["about 0.50", "about 0.012", "about 0.0012"]);
});
