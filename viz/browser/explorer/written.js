// Numbers as a reader wants them.

import { signed } from "../canvas/numbers.js";

/** A weight as a reader wants it: exact to four digits, or as near as one byte tells. */
export function written(weight, exact) {
  if (!exact) return `about ${(weight / 255).toFixed(2)}`;
  if (weight === 0 || weight === 1) return String(weight);
  return weight < 0.0001 ? weight.toExponential(2) : weight.toPrecision(4);
}

/** What was measured of a head, in its unit; null where it does not apply. */
export function writtenMeasure(measure, value) {
  if (value === null) return "–";
  if (measure.unit === "share") return `${signed(100 * value, 0)}%`;
  return measure.unit === "bits" ? `${signed(value, 2)} bits` : signed(value, 2);
}
