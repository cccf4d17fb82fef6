// Numbers as style.py writes them: a minus and not a hyphen, and no minus before a zero.

/** A count with its noun: "1 layer", "12 heads". */
export function countOf(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A number with so many digits after the point. */
export function signed(value, digits) {
  const written = value.toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written.replace("-", "−");
}
