// Arcs between words as cubic Bézier curves: four points [x, y].

/** Smaller weights are not drawn: softmax gives every word a little. */
export const FAINT = 0.04;

/** From below a written word down to above a source word. @type {(from: Point, to: Point) => Curve} */
export function between([fromX, fromY], [toX, toY]) {
  const bend = (toY - fromY) * 0.6;
  return [
    [fromX, fromY],
    [fromX, fromY + bend],
    [toX, toY - bend],
    [toX, toY],
  ];
}

/** Below one row of words, from one to another; `most` is the greatest depth.
 * @type {(from: Point, to: Point, most: number) => Curve} */
export function below([fromX, fromY], [toX, toY], most) {
  const depth = Math.min(most * 1.3, 18 + Math.abs(toX - fromX) * 0.45);
  return [
    [fromX, fromY],
    [fromX, fromY + depth],
    [toX, toY + depth],
    [toX, toY],
  ];
}

/** The first `share` of a curve (de Casteljau). @type {(curve: Curve, share: number) => Curve} */
export function partOf(curve, share) {
  /** @type {(from: Point, to: Point) => Point} */
  const mix = ([x, y], [toX, toY]) => [x + (toX - x) * share, y + (toY - y) * share];
  const [a, b, c, d] = curve;
  const [ab, bc, cd] = [mix(a, b), mix(b, c), mix(c, d)];
  const [abc, bcd] = [mix(ab, bc), mix(bc, cd)];
  return [a, ab, abc, mix(abc, bcd)];
}

/** An arc's width and opacity for a weight. @type {(weight: number, widest: number) => { width: number; alpha: number }} */
export function strength(weight, widest) {
  return { width: Math.max(1, widest * weight), alpha: 0.2 + 0.8 * Math.sqrt(weight) };
}
