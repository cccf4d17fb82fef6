// What a recorded run answers by itself: the vectors and scores of its heads.

import { tr } from "../canvas/wording.js";

// As in viz/heads/arithmetic.py: rounding grows with the vectors, not with their product.
const TOLERANCE = 2e-3;

/** A head of a map, without those beside it. @type {(map: RecordedHeads, head: number) => ModelAnswers["head"]} */
export function headOf({ heads, queries, keys, scores, q, k, v }, head) {
  const own = {
    q: columnsOf(q, queries, heads, head),
    k: columnsOf(k, keys, heads, head),
    v: columnsOf(v, keys, heads, head),
    d: q.length / queries / heads,
    dv: v.length / keys / heads,
    scores: scores.slice(head * queries * keys, (head + 1) * queries * keys),
  };
  return { ...own, divisor: divisorOf(own) };
}

/** @type {(vectors: Float32Array, tokens: number, heads: number, head: number) => Float32Array} */
function columnsOf(vectors, tokens, heads, head) {
  const width = vectors.length / tokens / heads;
  const own = new Float32Array(tokens * width);
  for (let token = 0; token < tokens; token += 1) {
    const start = (token * heads + head) * width;
    own.set(vectors.subarray(start, start + width), token * width);
  }
  return own;
}

/** √d or 1, whichever leads from the products to the scores of the whole head; null where neither does.
 * @type {(head: Omit<ModelAnswers["head"], "divisor" | "v" | "dv">) => number | null} */
function divisorOf({ q, k, d, scores }) {
  const [queries, keys] = [q.length / d, k.length / d];
  const products = scores.map((_, cell) => {
    const [query, key] = [Math.floor(cell / keys) * d, (cell % keys) * d];
    let sum = 0;
    for (let i = 0; i < d; i += 1) sum += q[query + i] * k[key + i];
    return sum;
  });
  const size = longest(q, queries) * longest(k, keys);
  const divides = (/** @type {number} */ divisor) =>
    scores.every((score, cell) => Math.abs(products[cell] / divisor - score) <= (TOLERANCE * size) / divisor);
  return [Math.sqrt(d), 1].find(divides) ?? null;
}

/** The length of the longest of some vectors. @type {(vectors: Float32Array, count: number) => number} */
function longest(vectors, count) {
  const width = vectors.length / count;
  const lengths = Array.from({ length: count }, (_, place) => Math.hypot(...vectors.subarray(place * width, (place + 1) * width)));
  return Math.max(0, ...lengths);
}

/** A block with what was recorded of its heads, each null where it was not.
 * @typedef {Pick<FigureBlock, "kind" | "layers" | "heads" | "queries" | "keys"> &
 *   Partial<Record<"q" | "k" | "v" | "scores", Float32Array | null>>} RecordedBlock */

/** The engine of a payload without a model: it knows the heads of blocks with vectors, (layer, head, token, d), and scores,
 * (layer, head, query, key). Null where none has them.
 * @type {(figure: { stacks: { blocks: RecordedBlock[] }[] }) => ModelEngine | null} */
export function answersFrom({ stacks }) {
  const blocks = stacks.flatMap((stack) => stack.blocks);
  if (!blocks.some(({ q }) => q)) return null;
  return {
    async ask(question) {
      const recorded = question.ask === "head" ? recordedHead(blocks, question) : null;
      if (!recorded) throw new Error(tr("The model is not here to be asked: this is a recorded run."));
      return /** @type {never} */ (recorded);
    },
  };
}

/** @type {(blocks: RecordedBlock[], asked: { kind: string, layer: number, head: number }) => ModelAnswers["head"] | null} */
function recordedHead(blocks, { kind, layer, head }) {
  const block = blocks.find((each) => each.kind === kind);
  const place = block?.layers.indexOf(layer) ?? -1;
  if (!block || place < 0 || !(head >= 0 && head < block.heads)) return null;
  const { q, k, v, scores, queries, keys } = block;
  if (!q || !k || !v || !scores) return null;
  const own = (/** @type {Float32Array} */ cells) => {
    const size = cells.length / block.layers.length / block.heads;
    const start = (place * block.heads + head) * size;
    return cells.subarray(start, start + size);
  };
  return headOf({ heads: 1, queries, keys, q: own(q), k: own(k), v: own(v), scores: own(scores) }, 0);
}
