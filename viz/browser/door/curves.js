// Arcs between words as cubic curves of four points [x, y].

/** Weights below it are not drawn: a softmax gives a little to every word. */
export const FAINT = 0.04;

/** From under a written word down to over a word that is read. */
export function between([fromX, fromY], [toX, toY]) {
  const bend = (toY - fromY) * 0.6;
  return [
    [fromX, fromY],
    [fromX, fromY + bend],
    [toX, toY - bend],
    [toX, toY],
  ];
}

/** Below one row of words, from one to another; `most` is how deep it may hang. */
export function below([fromX, fromY], [toX, toY], most) {
  const depth = Math.min(most * 1.3, 18 + Math.abs(toX - fromX) * 0.45);
  return [
    [fromX, fromY],
    [fromX, fromY + depth],
    [toX, toY + depth],
    [toX, toY],
  ];
}

/** The beginning of a curve, up to a share of it (de Casteljau). */
export function partOf(curve, share) {
  const mix = ([x, y], [toX, toY]) => [x + (toX - x) * share, y + (toY - y) * share];
  const [a, b, c, d] = curve;
  const [ab, bc, cd] = [mix(a, b), mix(b, c), mix(c, d)];
  const [abc, bcd] = [mix(ab, bc), mix(bc, cd)];
  return [a, ab, abc, mix(abc, bcd)];
}

/** How wide and how strong an arc of a weight is drawn. */
export function strength(weight, widest) {
  return { width: Math.max(1, widest * weight), alpha: 0.2 + 0.8 * Math.sqrt(weight) };
}
