// Attention, from the formula up to many heads (Vaswani et al. 2017, section 3.2).
//
// Queries, keys and values are (token, head * width). A mask is {bits, heads, queries, keys}: bits of
// (head or 1, query, key), 1 = may attend; null allows all. A query whose keys are all masked gets
// weights and an output of zero.

/** @import { Weights } from "./weights.js" */

/** @typedef {(scores: Numbers, q: Numbers, k: Numbers, rows: Int32Array, query: number, head: number) => void} Score */
/**
 * @typedef {{ q: Numbers, k: Numbers, v: Numbers, rowsOf(query: number): Int32Array, allowed?: AttentionMask | null,
 *   bias?: Numbers | null, edits?: Map<number, HeadEffect> | null, positions?: ((query: number) => number) | null,
 *   record?: { weights: Numbers, scores: Numbers } | null }} Attending
 */

/** @type {Record<string, (attention: Attention, weights: Weights) => Score>} */
const SCORINGS = { scaled_dot_product: scaled, dot_product: plain, learned_temperature: tempered, additive, additive_shared: additiveShared };

/** One multi-head attention, with the parameters in `weights` and all layouts made one. */
export class Attention {
  /** @param {ModelConfig} config @param {Weights} weights */
  constructor(config, weights) {
    const { n_heads: heads, keyWidth, valueWidth } = config;
    this.heads = heads;
    this.keyWidth = keyWidth;
    this.valueWidth = valueWidth;
    const qkv = fusedProjections(config, weights);
    const [keys, values] = [heads * keyWidth, heads * valueWidth];
    this.qkv = qkv;
    this.queryProjection = qkv.part(0, keys);
    this.keyValueProjection = qkv.part(keys, keys + values);
    this.output = weights.layer(["w_o"]);
    this.score = SCORINGS[config.scoring](this, weights);
  }

  /** Queries, keys and values of the same tokens, rotated where positions rotate.
   * @type {(x: Numbers, rotations?: Rotation[] | null) => { q: Numbers; k: Numbers; v: Numbers }} */
  project(x, rotations) {
    const [keys, values] = [this.heads * this.keyWidth, this.heads * this.valueWidth];
    const [q, k, v] = columns(this.qkv.product(x), [keys, keys, values]);
    if (rotations) {
      this.rotate(q, rotations);
      this.rotate(k, rotations);
    }
    return { q, k, v };
  }

  /** @type {(x: Numbers) => Numbers} */
  projectQuery(x) {
    return this.queryProjection.product(x);
  }

  /** @type {(x: Numbers) => { k: Numbers; v: Numbers }} */
  projectKeyValue(x) {
    const [k, v] = columns(this.keyValueProjection.product(x), [this.heads * this.keyWidth, this.heads * this.valueWidth]);
    return { k, v };
  }

  /** Rotates each pair of numbers (Su et al. 2021, equation 34); rows share rotations in turn.
   * @type {(x: Numbers, rotations: Rotation[]) => void} */
  rotate(x, rotations) {
    const width = this.keyWidth;
    for (let start = 0; start < x.length; start += width) {
      const token = Math.floor(start / (this.heads * width));
      const [cosines, sines] = rotations[token % rotations.length];
      for (let i = 0; i < width; i += 2) {
        const [first, second] = [x[start + i], x[start + i + 1]];
        x[start + i] = first * cosines[i / 2] - second * sines[i / 2];
        x[start + i + 1] = first * sines[i / 2] + second * cosines[i / 2];
      }
    }
  }

  /** The heads' outputs before W_O, (query, head * d_v).
   *
   * `rowsOf(query)` names the rows of k and v that are a query's keys; `bias` is (head, query, key).
   * The mask and the bias may have fewer queries than q, which then share them in turn. `edits` are
   * edits of heads by their number (heads.js), with `positions` of the queries. `record`, if given,
   * gets weights and scores, (head, query, key).
   * @type {(given: Attending) => Numbers} */
  attend({ q, k, v, rowsOf, allowed = null, bias = null, edits = null, positions = null, record = null }) {
    const { heads, keyWidth, valueWidth } = this;
    const nQueries = q.length / (heads * keyWidth);
    const out = new Float32Array(nQueries * heads * valueWidth);
    for (let query = 0; query < nQueries; query += 1) {
      const rows = rowsOf(query);
      const n = rows.length;
      const scores = new Float32Array(n);
      const weights = new Float32Array(n);
      for (let head = 0; head < heads; head += 1) {
        const may = maskRow(allowed, head, query);
        this.score(scores, q, k, rows, query, head);
        if (bias) addBias(scores, bias, head, query, heads);
        softmax(weights, scores, may);
        const edit = edits?.get(head);
        edit?.replace?.(weights, may, positions?.(query) ?? 0);
        const to = (query * heads + head) * valueWidth;
        for (let key = 0; key < n; key += 1) {
          const weight = weights[key];
          if (!weight) continue;
          const from = (rows[key] * heads + head) * valueWidth;
          for (let i = 0; i < valueWidth; i += 1) out[to + i] += weight * v[from + i];
        }
        edit?.change?.(out.subarray(to, to + valueWidth));
        if (record) {
          record.weights.set(weights, (head * nQueries + query) * n);
          record.scores.set(scores, (head * nQueries + query) * n);
        }
      }
    }
    return out;
  }
}

/** One row of a mask; null allows all.
 * @type {(allowed: AttentionMask | null, head: number, query: number) => Uint8Array | null} */
function maskRow(allowed, head, query) {
  if (!allowed) return null;
  const { bits, heads, queries, keys } = allowed;
  const start = ((heads > 1 ? head * queries : 0) + (query % queries)) * keys;
  return bits.subarray(start, start + keys);
}

/** @type {(scores: Numbers, bias: Numbers, head: number, query: number, heads: number) => void} */
function addBias(scores, bias, head, query, heads) {
  const n = scores.length;
  const queries = bias.length / heads / n;
  const start = (head * queries + (query % queries)) * n;
  for (let key = 0; key < n; key += 1) scores[key] += bias[start + key];
}

/** Softmax over the allowed keys; zeros at all others.
 * @type {(weights: Numbers, scores: Numbers, may: Uint8Array | null) => void} */
function softmax(weights, scores, may) {
  let most = -Infinity;
  for (let key = 0; key < scores.length; key += 1) {
    if ((!may || may[key]) && scores[key] > most) most = scores[key];
  }
  let sum = 0;
  for (let key = 0; key < scores.length; key += 1) {
    const power = !may || may[key] ? Math.exp(scores[key] - most) : 0;
    weights[key] = power;
    sum += power;
  }
  if (!sum) return;
  for (let key = 0; key < scores.length; key += 1) weights[key] /= sum;
}

// A scoring writes the scores of one query and head into `scores`.

/** @type {(attention: Attention, scales: number[]) => Score} */
function product(attention, scales) {
  const { heads, keyWidth } = attention;
  return (scores, q, k, rows, query, head) => {
    const from = (query * heads + head) * keyWidth;
    for (let key = 0; key < rows.length; key += 1) {
      const to = (rows[key] * heads + head) * keyWidth;
      let sum = 0;
      for (let i = 0; i < keyWidth; i += 1) sum += q[from + i] * k[to + i];
      scores[key] = sum * scales[head];
    }
  };
}

/** QKᵀ/√d_k (section 3.2.1, equation 1). @type {(attention: Attention) => Score} */
function scaled(attention) {
  return product(attention, new Array(attention.heads).fill(1 / Math.sqrt(attention.keyWidth)));
}

/** QKᵀ, without a temperature (Luong et al. 2015). @type {(attention: Attention) => Score} */
function plain(attention) {
  return product(attention, new Array(attention.heads).fill(1));
}

/** QKᵀ/τ with a learned τ for each head (Lee et al. 2021, section 3.2).
 * @type {(attention: Attention, weights: Weights) => Score} */
function tempered(attention, weights) {
  const logs = weights.byHead("attention.log_temperature");
  return product(attention, Array.from(logs, (log) => Math.exp(-log)));
}

/** wᵀ tanh(q + k) with a learned w for each head (Bahdanau et al. 2015, appendix A.1.2).
 * @type {(attention: Attention, weights: Weights) => Score} */
function additive(attention, weights) {
  const w = weights.byHead("attention.w");
  const { heads, keyWidth } = attention;
  return (scores, q, k, rows, query, head) => {
    const from = (query * heads + head) * keyWidth;
    for (let key = 0; key < rows.length; key += 1) {
      const to = (rows[key] * heads + head) * keyWidth;
      let sum = 0;
      for (let i = 0; i < keyWidth; i += 1) sum += w[head * keyWidth + i] * Math.tanh(q[from + i] + k[to + i]);
      scores[key] = sum;
    }
  };
}

/** @type {(attention: Attention, weights: Weights) => Score} */
function additiveShared(attention, weights) {
  const v = weights.vector("attention.v");
  const [w, u] = ["w", "u"].map((name) => {
    const matrix = weights.matrix([`attention.${name}.weight`]);
    return Array.from(v, (_, row) => matrix.row(row).slice());
  });
  const { heads, keyWidth } = attention;
  /** @type {(rows: Numbers[], x: Numbers, from: number) => number[]} */
  const projected = (rows, x, from) => rows.map((row) => row.reduce((sum, number, i) => sum + number * x[from + i], 0));
  return (scores, q, k, rows, query, head) => {
    const looks = projected(w, q, (query * heads + head) * keyWidth);
    for (let key = 0; key < rows.length; key += 1) {
      const offers = projected(u, k, (rows[key] * heads + head) * keyWidth);
      scores[key] = offers.reduce((sum, offer, i) => sum + v[i] * Math.tanh(looks[i] + offer), 0);
    }
  };
}

/** The projections as one layer whose rows are W_Q, W_K and W_V, head after head in each.
 * @type {(config: ModelConfig, weights: Weights) => import("./products.js").Matrix} */
function fusedProjections(config, weights) {
  const { n_heads: heads, keyWidth, valueWidth } = config;
  const widths = [keyWidth, keyWidth, valueWidth];
  if (!config.fused_qkv) return weights.layer(["w_q", "w_k", "w_v"]);
  if (config.fused_layout === "stacked") return weights.layer(["w_qkv"]);
  const before = widths.map((_, part) => widths.slice(0, part).reduce((sum, width) => sum + width, 0));
  const ofHead = before[2] + valueWidth;
  const order = widths.flatMap((width, part) =>
    Array.from({ length: heads * width }, (_, row) => Math.floor(row / width) * ofHead + before[part] + (row % width)),
  );
  return weights.layer(["w_qkv"], order);
}

/** The columns of (token, sum of widths), as an array for each width.
 * @type {(x: Numbers, widths: number[]) => Numbers[]} */
function columns(x, widths) {
  const whole = widths.reduce((sum, width) => sum + width, 0);
  const tokens = x.length / whole;
  let first = 0;
  return widths.map((width) => {
    const part = new Float32Array(tokens * width);
    for (let token = 0; token < tokens; token += 1) {
      const start = token * whole + first;
      part.set(x.subarray(start, start + width), token * width);
    }
    first += width;
    return part;
  });
}
