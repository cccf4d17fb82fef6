// Head ablation (model/explain/head_ablation.py): what a translation loses without each head.
//
// Runs without different heads share the layers below: one pass branches at each attention into a
// copy of the text for each of its heads, so that only the last layers run for all heads.

import { logProbability } from "./decoding.js";
import { causal } from "./transformer.js";

/** @import { Layer, Transformer } from "./transformer.js" */
/** @import { Attention } from "./attention.js" */

const QUERIES_TOGETHER = 8192;

/** The drop in log-probability of each label without each head: [{kind, layer, heads, losses}], with
 * losses (head, target), and `logProbs` with all heads. The decoder reads `target` throughout.
 * @param {Transformer} model @param {number[]} source @param {number[]} target @param {number[]} labels */
export async function effectsOf(model, source, target, labels, turn = async () => {}) {
  const { n_heads: heads } = model.config;
  const longest = Math.max(source.length, target.length);
  const count = Math.max(1, Math.floor(QUERIES_TOGETHER / (longest * heads)));
  /** @type {(AttentionSite & { heads: number, losses: Numbers })[]} */
  const sites = [];
  /** @type {Numbers} */
  let logProbs = new Float32Array();
  for (let start = 0; start < model.sites.length; start += count) {
    const chosen = model.sites.slice(start, start + count);
    const { hidden, order } = await new Branches(model, chosen, turn).hidden(source, target);
    const all = await labelled(model, hidden, labels, turn);
    const n = labels.length;
    logProbs = all.slice(0, n);
    order.forEach((site, place) => {
      const losses = all.slice(n * (1 + place * heads), n * (1 + (place + 1) * heads));
      losses.forEach((without, index) => (losses[index] = logProbs[index % n] - without));
      sites.push({ ...site, heads, losses });
    });
  }
  const kinds = ["encoder", "decoder", "cross"];
  sites.sort((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind) || one.layer - other.layer);
  return { logProbs, sites };
}

/** Log-probability of each label, (text, target).
 * @type {(model: Transformer, hidden: Numbers, labels: number[], turn: Turn) => Promise<Numbers>} */
async function labelled(model, hidden, labels, turn) {
  const width = model.config.d_model;
  const all = new Float32Array(hidden.length / width);
  const block = 64;
  for (let first = 0; first < all.length; first += block) {
    await turn();
    model.output.eachSoftmax(hidden.subarray(first * width, (first + block) * width), (token, logits, largest, log) => {
      all[first + token] = logProbability(logits[labels[(first + token) % labels.length]], largest, log);
    });
  }
  return all;
}

/** A pass that branches: its first text has every head, and each head of `sites` adds a text. */
class Branches {
  /** @type {AttentionSite[]} */
  order = [];

  /** @param {Transformer} model @param {AttentionSite[]} sites @param {Turn} turn */
  constructor(model, sites, turn) {
    this.model = model;
    this.turn = turn;
    this.names = new Set(sites.map(({ kind, layer }) => `${kind}.${layer}`));
  }

  /** @type {(source: number[], target: number[]) => Promise<{ hidden: Numbers; order: AttentionSite[] }>} */
  async hidden(source, target) {
    const { model } = this;
    const { encoder, decoder } = model;
    const ofSource = encoder.positions.pass({ length: source.length });
    let x = model.embedded(model.encoder, model.sourceEmbedding, source, ofSource.added);
    for (const [number, layer] of encoder.layers.entries()) {
      await this.turn();
      x = this.selfAttended("encoder", number, layer, x, source.length, { ...ofSource, allowed: null });
      x = layer.fedForward(x);
    }
    const memory = encoder.normed(x);
    const texts = memory.length / (source.length * model.config.d_model);
    const ofTarget = decoder.positions.pass({ length: target.length });
    const allowed = causal(target.length);
    x = repeated(model.embedded(model.decoder, model.targetEmbedding, target, ofTarget.added), texts);
    for (const [number, layer] of decoder.layers.entries()) {
      await this.turn();
      x = this.selfAttended("decoder", number, layer, x, target.length, { ...ofTarget, allowed });
      x = this.crossAttended(number, layer, x, target.length, memory, source.length);
      x = layer.fedForward(x);
    }
    return { hidden: decoder.normed(x), order: this.order };
  }

  /** @type {(kind: string, number: number, layer: Layer, x: Numbers, n: number, given: Omit<PositionEffect, "added"> & { allowed: AttentionMask | null }) => Numbers} */
  selfAttended(kind, number, layer, x, n, { rotations, bias, allowed }) {
    const before = x.length;
    return layer.selfResidual.around(this.withRoom({ kind, layer: number }, x, n), (y) => {
      const { q, k, v } = layer.self.project(y.subarray(0, before), rotations);
      const rowsOf = textRows(n, n, Infinity);
      const heads = layer.self.attend({ q, k, v, rowsOf, allowed, bias });
      return this.branched({ kind, layer: number }, layer.self, heads, n);
    });
  }

  /** @type {(number: number, layer: Layer, x: Numbers, n: number, memory: Numbers, nSource: number) => Numbers} */
  crossAttended(number, layer, x, n, memory, nSource) {
    const site = { kind: "cross", layer: number };
    const before = x.length;
    const texts = memory.length / (nSource * this.model.config.d_model);
    const { cross, crossResidual } = layer.crossing;
    const { k, v } = cross.projectKeyValue(memory);
    return crossResidual.around(this.withRoom(site, x, n), (y) => {
      const q = cross.projectQuery(y.subarray(0, before));
      // Texts that branched in the decoder read the encoder's output of the first.
      return this.branched(site, cross, cross.attend({ q, k, v, rowsOf: textRows(n, nSource, texts) }), n);
    });
  }

  /** The texts, with copies of the first one for the heads of the site.
   * @type {(site: AttentionSite, x: Numbers, n: number) => Numbers} */
  withRoom(site, x, n) {
    if (!this.names.has(`${site.kind}.${site.layer}`)) return x;
    this.order.push(site);
    return joined(x, repeated(x.subarray(0, n * this.model.config.d_model), this.model.config.n_heads));
  }

  /** The output of attention for each text, then for the first text without each head.
   * @type {(site: AttentionSite, attention: Attention, outputs: Numbers, n: number) => Numbers} */
  branched(site, attention, outputs, n) {
    if (!this.names.has(`${site.kind}.${site.layer}`)) return attention.output.product(outputs);
    const { heads, valueWidth } = attention;
    const without = repeated(outputs.subarray(0, n * heads * valueWidth), heads);
    for (let head = 0; head < heads; head += 1) {
      for (let token = 0; token < n; token += 1) {
        const start = ((head * n + token) * heads + head) * valueWidth;
        without.fill(0, start, start + valueWidth);
      }
    }
    return attention.output.product(joined(outputs, without));
  }
}

/** The rows of the keys of a text's queries; texts from number `texts` on have the keys of the first.
 * @type {(nQueries: number, nKeys: number, texts: number) => (query: number) => Int32Array} */
function textRows(nQueries, nKeys, texts) {
  /** @type {Int32Array[]} */
  const known = [];
  return (query) => {
    const text = Math.floor(query / nQueries);
    known[text] ??= Int32Array.from({ length: nKeys }, (_, key) => (text < texts ? text * nKeys : 0) + key);
    return known[text];
  };
}

/** @type {(x: Numbers, times: number) => Numbers} */
function repeated(x, times) {
  const all = new Float32Array(x.length * times);
  for (let time = 0; time < times; time += 1) all.set(x, time * x.length);
  return all;
}

/** @type {(one: Numbers, other: Numbers) => Numbers} */
function joined(one, other) {
  const both = new Float32Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
