// Numbers as style.py writes them: with a minus sign instead of a hyphen, and never "−0".

/** A count with its noun: "1 layer", "12 heads". */
export function countOf(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A number with `digits` digits after the point. */
export function signed(value, digits) {
  const written = value.toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written.replace("-", "−");
}
