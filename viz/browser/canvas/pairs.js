/** The dimensions of every `step`-th pair: a sine is never drawn without its cosine (viz/draw/style.py).
 * @type {(count: number, step: number) => number[]} */
export function pairColumns(count, step) {
  return Array.from({ length: count }, (_, column) => column).filter((column) => Math.floor(column / 2) % step === 0);
}
