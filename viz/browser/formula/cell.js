// The formula of position encodings (section 3.5) for one cell, with every number on the way to its value.

/**
 * The value of a cell, by its position and dimension, both from 0, and what leads to it.
 *
 * @param {number} position
 * @param {number} dimension
 * @param {{base: number, width: number}} formula - the base, and d_model.
 */
export function cellOf(position, dimension, { base, width }) {
  const pair = Math.floor(dimension / 2);
  const name = /** @type {"cos" | "sin"} */ (dimension % 2 ? "cos" : "sin");
  const divisor = base ** ((2 * pair) / width);
  const angle = position / divisor;
  return { position, dimension, pair, name, divisor, angle, value: Math[name](angle) };
}

/** A number in four digits, as style.py writes them. @type {(value: number) => string} */
export function written(value) {
  const text = value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  return text.replace("-", "−");
}
