// The Transformer (Vaswani et al. 2017, figure 1), and its encoder or its decoder alone.
//
// Hidden states are (token, d_model), one text after another where several run together. A pass is
// an object of `interventions` and a `record` (recording.js), both optional.

/** @import { Attending } from "./attention.js" */
/** @import { Matrix } from "./products.js" */

import { Attention } from "./attention.js";
import { positionsOf } from "./positions.js";
import { Weights } from "./weights.js";

/** What a norm or a residual connection around a sub-layer needs (sections 3.1 and 5.4). */
class Norm {
  /** @param {Weights} weights @param {ModelConfig} config */
  constructor(weights, { d_model, layer_norm_eps }) {
    this.gain = weights.vector("weight");
    this.shift = weights.vector("bias");
    this.width = d_model;
    this.eps = layer_norm_eps;
  }

  /** @type {(x: Numbers) => Numbers} */
  of(x) {
    const { gain, shift, width, eps } = this;
    const out = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      let mean = 0;
      for (let i = 0; i < width; i += 1) mean += x[start + i];
      mean /= width;
      let variance = 0;
      for (let i = 0; i < width; i += 1) variance += (x[start + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(variance / width + eps);
      for (let i = 0; i < width; i += 1) out[start + i] = (x[start + i] - mean) * scale * gain[i] + shift[i];
    }
    return out;
  }
}

class Residual {
  /** @param {Weights} weights @param {ModelConfig} config */
  constructor(weights, config) {
    this.norm = new Norm(weights.within("norm"), config);
    this.pre = config.norm === "pre";
  }

  /** `sums`, if given, gets what the norm of a post-norm model is taken of, and what a pre-norm model goes on with.
   * @type {(x: Numbers, sublayer: (x: Numbers) => Numbers, sums?: Numbers[]) => Numbers} */
  around(x, sublayer, sums) {
    const update = sublayer(this.pre ? this.norm.of(x) : x);
    for (let i = 0; i < update.length; i += 1) update[i] += x[i];
    sums?.push(update);
    return this.pre ? update : this.norm.of(update);
  }
}

/** @type {Record<string, (x: number) => number>} */
const ACTIVATIONS = {
  relu: (x) => (x < 0 ? 0 : x),
  gelu: (x) => (x / 2) * (1 + erf(x * Math.SQRT1_2)),
  swish: (x) => x / (1 + Math.exp(-x)),
};

/** The error function, to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26). @type {(x: number) => number} */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

/** max(0, xW_1 + b_1)W_2 + b_2 (section 3.3, equation 2), or GELU in the place of the maximum. */
class FeedForward {
  /** @param {Weights} weights @param {ModelConfig} config */
  constructor(weights, { activation }) {
    this.activate = ACTIVATIONS[activation];
    this.first = weights.matrix(["w_1.weight"], { biases: ["w_1.bias"] });
    this.second = weights.matrix(["w_2.weight"], { biases: ["w_2.bias"] });
  }

  /** @type {(x: Numbers) => Numbers} */
  of(x) {
    const hidden = this.first.product(x);
    for (let i = 0; i < hidden.length; i += 1) hidden[i] = this.activate(hidden[i]);
    return this.second.product(hidden);
  }
}

/** A layer: self-attention, cross-attention in the decoder of a whole Transformer, feed-forward. */
export class Layer {
  /** @param {Weights} weights @param {ModelConfig} config @param {{ cross: boolean }} options */
  constructor(weights, config, { cross }) {
    this.self = new Attention(config, weights.within("self_attention"));
    this.selfResidual = new Residual(weights.within("self_residual"), config);
    this.cross = cross ? new Attention(config, weights.within("cross_attention")) : null;
    this.crossResidual = cross ? new Residual(weights.within("cross_residual"), config) : null;
    this.feedForward = new FeedForward(weights.within("feed_forward"), config);
    this.feedForwardResidual = new Residual(weights.within("feed_forward_residual"), config);
  }

  /** Its cross-attention, in a decoder that has one. */
  get crossing() {
    return /** @type {{ cross: Attention, crossResidual: Residual }} */ (this);
  }

  /** `seen`, if given, gets each token's input and the update that is added to it.
   * @type {(x: Numbers, seen?: (x: Numbers, update: Numbers) => void, sums?: Numbers[]) => Numbers} */
  fedForward(x, seen, sums) {
    const fed = (/** @type {Numbers} */ y) => {
      const update = this.feedForward.of(y);
      seen?.(x, update);
      return update;
    };
    return this.feedForwardResidual.around(x, fed, sums);
  }
}

/** A stack of layers with its positions. */
class Stack {
  /**
   * @param {Weights} weights
   * @param {ModelConfig} config
   * @param {{ side: string, causal: boolean, cross: boolean, layers: number }} shape
   */
  constructor(weights, config, { side, causal, cross, layers }) {
    this.side = side;
    this.causal = causal;
    this.positions = positionsOf(config, weights, { side, causal });
    this.layers = Array.from(
      { length: layers },
      (_, number) => new Layer(weights.within("layers").within(number), config, { cross }),
    );
    const ends = config.norm === "pre" || config.final_norm;
    this.finalNorm = ends ? new Norm(weights.within("final_norm"), config) : null;
    this.embeddingNorm = config.embedding_norm ? new Norm(weights.within("positions.norm"), config) : null;
  }

  /** @type {(x: Numbers) => Numbers} */
  normed(x) {
    return this.finalNorm ? this.finalNorm.of(x) : x;
  }
}

/** Rows 0 … n - 1, the keys of every query of a text. @type {(n: number) => () => Int32Array} */
function everyRow(n) {
  const rows = Int32Array.from({ length: n }, (_, row) => row);
  return () => rows;
}

/** The causal mask of a text (section 3.2.3). @type {(n: number) => AttentionMask} */
export function causal(n) {
  const bits = new Uint8Array(n * n);
  for (let query = 0; query < n; query += 1) bits.fill(1, query * n, query * n + query + 1);
  return { bits, heads: 1, queries: n, keys: n };
}

/** A model: token ids in, hidden states and logits out. */
export class Transformer {
  /** Absent from a model without one. @type {Stack} */
  encoder;
  /** @type {Stack} */
  decoder;

  /** @param {ModelConfig} config @param {Weights} weights */
  constructor(config, weights) {
    this.config = config;
    this.single = !config.n_encoder_layers || !config.n_decoder_layers;
    const biases = config.output_bias ? ["output.bias"] : [];
    if (this.single) {
      /** @type {"decoder" | "encoder"} */
      const side = config.n_decoder_layers ? "decoder" : "encoder";
      this.sourceEmbedding = this.targetEmbedding = weights.matrix(["embedding.weight"], { biases: config.tie_embeddings ? biases : [] });
      const layers = config.n_encoder_layers + config.n_decoder_layers;
      const shape = { side, causal: side === "decoder", cross: false, layers };
      this[side] = new Stack(weights.within("stack"), config, shape);
    } else {
      const shared = config.tie_embeddings && !config.target_vocab_size;
      const tied = config.tie_embeddings ? biases : [];
      this.sourceEmbedding = weights.matrix(["source_embedding.weight"], { biases: shared ? tied : [] });
      this.targetEmbedding = shared ? this.sourceEmbedding : weights.matrix(["target_embedding.weight"], { biases: tied });
      const { n_encoder_layers: encoders, n_decoder_layers: decoders } = config;
      const encoder = { side: "encoder", causal: false, cross: false, layers: encoders };
      const decoder = { side: "decoder", causal: true, cross: true, layers: decoders };
      this.encoder = new Stack(weights.within("encoder"), config, encoder);
      this.decoder = new Stack(weights.within("decoder"), config, decoder);
    }
    this.output = config.tie_embeddings ? this.targetEmbedding : weights.matrix(["output.weight"], { biases });
  }

  /** @type {(tensors: Map<string, import("./safetensors.js").Tensor>, config: ModelConfig, options?: { wasm?: boolean }) => Promise<Transformer>} */
  static async load(tensors, config, options) {
    return new Transformer(config, await Weights.load(tensors, config, options));
  }

  /** Every attention, {kind, layer}, in the order of Python's sites. */
  get sites() {
    const of = (/** @type {string} */ kind, /** @type {Stack | undefined} */ stack) => (stack ? stack.layers.map((_, layer) => ({ kind, layer })) : []);
    return [
      ...of("encoder", this.encoder),
      ...of("decoder", this.decoder),
      ...(this.single ? [] : of("cross", this.decoder)),
    ];
  }

  /** Embeddings times √d_model, with positions, (token, d_model), as a stack reads them.
   * @type {(stack: Stack, embedding: Matrix, ids: number[], added?: Numbers[] | null) => Numbers} */
  embedded({ embeddingNorm }, embedding, ids, added) {
    const width = this.config.d_model;
    const scale = this.config.scale_embeddings ? Math.sqrt(width) : 1;
    const x = new Float32Array(ids.length * width);
    ids.forEach((id, token) => {
      const row = embedding.row(id);
      const place = added?.[token % added.length];
      for (let i = 0; i < width; i += 1) x[token * width + i] = Math.fround(row[i] * scale) + (place ? place[i] : 0);
    });
    return embeddingNorm?.of(x) ?? x;
  }

  /** The encoder's output for a source, (source, d_model). @type {(ids: number[], pass: Pass) => Numbers} */
  encode(ids, pass) {
    return this.read(this.encoder, this.sourceEmbedding, ids, pass);
  }

  /** A text through a stack without cross-attention.
   * @type {(stack: Stack, embedding: Matrix, ids: number[], pass: Pass) => Numbers} */
  read(stack, embedding, ids, pass) {
    const n = ids.length;
    const { added, rotations, bias } = stack.positions.pass({ length: n, edit: pass.positions });
    const own = stack.causal ? causal(n) : null;
    const states = /** @type {Numbers[]} */ ([]);
    let x = this.embedded(stack, embedding, ids, added);
    pass.stage?.(0, x);
    stack.layers.forEach((layer, number) => {
      x = this.selfAttended(stack.side, layer, number, x, { own, bias, rotations }, pass);
      x = layer.fedForward(x, pass.record?.feedForward(stack.side, this.config.d_model));
      states.push(x);
      pass.stage?.(number + 1, x);
    });
    pass.states?.(states);
    return stack.normed(x);
  }

  /** The decoder's output for a whole target, (target, d_model).
   * @type {(ids: number[], memory: Numbers, pass: Pass) => Numbers} */
  decode(ids, memory, pass) {
    const n = ids.length;
    const nSource = memory.length / this.config.d_model;
    const { added, rotations, bias } = this.decoder.positions.pass({ length: n, edit: pass.positions });
    const own = causal(n);
    const states = /** @type {Numbers[]} */ ([]);
    let x = this.embedded(this.decoder, this.targetEmbedding, ids, added);
    this.decoder.layers.forEach((layer, number) => {
      x = this.selfAttended("decoder", layer, number, x, { own, bias, rotations }, pass);
      const { cross, crossResidual } = layer.crossing;
      const crossed = (/** @type {Numbers} */ y) => {
        const q = cross.projectQuery(y);
        const { k, v } = cross.projectKeyValue(memory);
        return this.attended("cross", number, cross, { q, k, v, own: null }, { n, nKeys: nSource }, pass);
      };
      x = crossResidual.around(x, crossed, pass.sums);
      x = layer.fedForward(x, pass.record?.feedForward("decoder", this.config.d_model), pass.sums);
      states.push(x);
    });
    pass.states?.(states);
    return this.decoder.normed(x);
  }

  /** @type {(kind: string, layer: Layer, number: number, x: Numbers, given: Omit<PositionEffect, "added"> & { own: AttentionMask | null }, pass: Pass) => Numbers} */
  selfAttended(kind, layer, number, x, { own, bias, rotations }, pass) {
    const n = x.length / this.config.d_model;
    const attended = (/** @type {Numbers} */ y) => {
      const projected = layer.self.project(y, rotations);
      return this.attended(kind, number, layer.self, { ...projected, own, bias }, { n, nKeys: n }, pass);
    };
    return layer.selfResidual.around(x, attended, kind === "decoder" ? pass.sums : undefined);
  }

  /**
   * @param {string} kind
   * @param {number} layer
   * @param {Attention} attention
   * @param {{ q: Numbers, k: Numbers, v: Numbers, own: AttentionMask | null, bias?: Numbers | null }} given
   * @param {{ n: number, nKeys: number }} shape
   * @param {Pass} pass
   */
  attended(kind, layer, attention, { q, k, v, own, bias = null }, { n, nKeys }, pass) {
    const site = { kind, layer };
    const { heads } = attention;
    const allowed = pass.masks ? pass.masks.allowed(site, { heads, queries: n, keys: nKeys, own }) : own;
    const record = pass.record?.open(site, { heads, queries: n, keys: nKeys, allowed, q, k, v });
    const edits = pass.heads?.at(site, attention) ?? null;
    const rowsOf = everyRow(nKeys);
    const positions = (/** @type {number} */ query) => query;
    return attention.output.product(attention.attend({ q, k, v, rowsOf, allowed, bias, edits, positions, record }));
  }

  /** The state of a decoding that has written nothing yet; `memory` is the encoder's output, where it is known.
   * @param {number[]} source @param {Pass} pass */
  start(source, pass, memory = this.single ? null : this.encode(source, pass)) {
    const layers = this.decoder.layers.map((layer) => ({
      keys: new Rows(layer.self.heads * layer.self.keyWidth),
      values: new Rows(layer.self.heads * layer.self.valueWidth),
      cross: memory && layer.crossing.cross.projectKeyValue(memory),
    }));
    return { position: 0, layers, paths: /** @type {number[][]} */ ([[]]), memory, nSource: source.length };
  }

  /** Hidden states of the newest token of every hypothesis, (hypothesis, d_model).
   *
   * `state.paths` has, for every hypothesis, the rows of the caches that are its tokens.
   * @type {(ids: number[], state: ReturnType<Transformer["start"]>, pass: Pass) => Numbers} */
  step(ids, state, pass) {
    const { position, layers, paths, nSource } = state;
    const options = { length: 1, start: position, edit: pass.positions, decoding: true };
    const { added, rotations, bias } = this.decoder.positions.pass(options);
    let x = this.embedded(this.decoder, this.targetEmbedding, ids, added);
    const first = layers[0]?.keys.count ?? 0;
    paths.forEach((path, hypothesis) => path.push(first + hypothesis));
    const rows = paths.map((path) => Int32Array.from(path));
    const sourceRows = everyRow(nSource);
    const positions = () => position;

    /** @type {(kind: string, number: number, attention: Attention, given: Attending) => Numbers} */
    const attended = (kind, number, attention, given) => {
      const site = { kind, layer: number };
      const keys = kind === "cross" ? nSource : position + 1;
      const shape = { heads: attention.heads, queries: position + 1, keys, own: null, position };
      const allowed = pass.masks ? pass.masks.allowed(site, shape) : null;
      const edits = pass.heads?.at(site, attention) ?? null;
      return attention.output.product(attention.attend({ ...given, allowed, edits, positions }));
    };

    this.decoder.layers.forEach((layer, number) => {
      const { keys, values, cross } = layers[number];
      x = layer.selfResidual.around(x, (y) => {
        const { q, k, v } = layer.self.project(y, rotations);
        keys.append(k);
        values.append(v);
        const given = { q, k: keys.numbers, v: values.numbers, rowsOf: (/** @type {number} */ hypothesis) => rows[hypothesis], bias };
        return attended("decoder", number, layer.self, given);
      });
      if (cross) {
        const { cross: attention, crossResidual } = layer.crossing;
        x = crossResidual.around(x, (y) => {
          const given = { q: attention.projectQuery(y), ...cross, rowsOf: sourceRows };
          return attended("cross", number, attention, given);
        });
      }
      x = layer.fedForward(x);
    });
    state.position += 1;
    return this.decoder.normed(x);
  }
}

/** Rows that grow one after another. */
class Rows {
  /** @param {number} width */
  constructor(width) {
    this.width = width;
    this.count = 0;
    this.numbers = new Float32Array(64 * width);
  }

  /** @type {(rows: Numbers) => void} */
  append(rows) {
    const start = this.count * this.width;
    if (start + rows.length > this.numbers.length) {
      const larger = new Float32Array(2 * this.numbers.length + rows.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers.set(rows, start);
    this.count += rows.length / this.width;
  }
}
