// Numbers as style.py writes them: with a minus sign instead of a hyphen, and never "−0".

import { tr } from "./wording.js";

/** A count with its noun: "1 layer", "12 heads". */
export function countOf(count, noun) {
  return tr(`{n} ${noun}s`, { n: count }, `{n} ${noun}`);
}

/** A number with `digits` digits after the point. */
export function signed(value, digits) {
  const written = value.toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written.replace("-", "−");
}
