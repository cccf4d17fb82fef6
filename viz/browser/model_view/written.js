// Writes weights and measures.

import { percent, precise, signed } from "../canvas/numbers.js";
import { tr } from "../canvas/wording.js";

/** A weight in words: four digits if exact, about two if it was sent in 8 bits.
 * @type {(weight: number, exact: boolean) => string} */
export function written(weight, exact) {
  if (!exact) return tr("about {weight}", { weight: weight < 0.00005 ? "0" : signed(weight, weight < 0.01 ? 4 : weight < 0.1 ? 3 : 2) });
  if (weight === 0 || weight === 1) return String(weight);
  if (weight >= 0.0001) return precise(weight, 4);
  const [digits, power] = weight.toExponential(2).split("e");
  return `${signed(Number(digits), 2)}e${power}`;
}

/** A head's measure in its unit; null if it does not apply. @type {(measure: Measure, value: number | null) => string} */
export function writtenMeasure(measure, value) {
  if (value === null) return "–";
  if (measure.unit === "share") return percent(value);
  return measure.unit === "bits" ? tr("{value} bits", { value: signed(value, 2) }) : signed(value, 2);
}
