// Writes weights and measures.

import { signed } from "../canvas/numbers.js";
import { tr } from "../canvas/wording.js";

/** A weight in words: four digits if exact, two if it was stored in one byte. */
export function written(weight, exact) {
  if (!exact) return tr("about {weight}", { weight: (weight / 255).toFixed(2) });
  if (weight === 0 || weight === 1) return String(weight);
  return weight < 0.0001 ? weight.toExponential(2) : weight.toPrecision(4);
}

/** A head's measure in its unit; null if it does not apply. */
export function writtenMeasure(measure, value) {
  if (value === null) return "–";
  if (measure.unit === "share") return `${signed(100 * value, 0)}%`;
  return measure.unit === "bits" ? tr("{value} bits", { value: signed(value, 2) }) : signed(value, 2);
}
