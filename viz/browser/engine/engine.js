// A model with its vocabulary in the browser: text in, translations and traces out.

import { readConfig } from "./config.js";
import { Crossings } from "./crossing.js";
import { Largest, decode, leadOf, logProbability, logProbsOf, unsayable, write } from "./decoding.js";
import { estimates, withoutEach } from "./deletion.js";
import { effectsOf } from "./effects.js";
import { decidingHeads } from "./head_sets.js";
import { HeadEdits } from "./heads.js";
import { lensOf } from "./lens.js";
import { Masks } from "./masks.js";
import { FedForward, Recording } from "./recording.js";
import { corpusForm } from "./normalization.js";
import { readSafetensors } from "./safetensors.js";
import { idsOf, nodesOf, pathsOf } from "./search_nodes.js";
import { tablesOf } from "./tables.js";
import { termsOf } from "./terms.js";
import { TextError, Tokenizer } from "./tokenizer.js";
import { Transformer } from "./transformer.js";

// As many next tokens as Python names at each step.
const LIKELIEST = 10;
const LIST = "[".charCodeAt(0);
// As in model/trace/blocks.py.
const TEMPERATURES = [0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2];

/** @typedef {{ config: Partial<ModelConfig>, weights: Bytes, tokenizer: Bytes, targetTokenizer?: Bytes | null }} Files */
/** @typedef {{ search?: Search, under?: Under, turn?: Turn }} Asked */

/** A checkpoint that runs.
 *
 * `search` is {beam, alpha, sampling, prefix}, as decoding.js takes them. `under` is an intervention: {masks, heads,
 * positions, sourceOrder}, each optional, as masks.js, heads.js and positions.js take them. */
export class Engine {
  /** @type {ModelConfig} */
  config;
  /** @type {Tokenizer} */
  tokenizer;
  /** @type {Tokenizer} */
  target;
  /** @type {Transformer} */
  model;

  /** The engine of a checkpoint's files: a config, as an object, and bytes of the others.
   * @type {(files: Files, options?: { wasm?: boolean }) => Promise<Engine>} */
  static async load({ config, weights, tokenizer, targetTokenizer = null }, options = {}) {
    const engine = new Engine();
    engine.config = readConfig(config);
    // A SentencePiece model begins with its first piece, tables are JSON.
    const [source, target] = tokenizer[0] === LIST ? tablesOf(tokenizer, engine.config) : [new Tokenizer(tokenizer)];
    engine.tokenizer = source;
    engine.target = target ?? (targetTokenizer ? new Tokenizer(targetTokenizer) : source);
    if (engine.tokenizer.size !== engine.config.vocab_size || engine.target.size !== engine.config.outputSize) {
      throw new Error("The tokenizer does not have as many pieces as the model; take both from one checkpoint.");
    }
    engine.model = await Transformer.load(readSafetensors(weights), engine.config, options);
    return engine;
  }

  /** What the model is, as plain values. */
  describe() {
    return { config: this.config, sites: this.model.sites, wasm: this.model.output.block.wasm };
  }

  /** The best translation, with `candidates`, all that the search found. @param {string} text @param {Asked} asked */
  async translate(text, { search = {}, under = {}, turn } = {}) {
    return this.searched(text, this.sourceIds(text, under), { search, under, turn });
  }

  /** The same for a source's ids, and the encoder's output if it is known.
   * @param {string} text @param {number[]} source @param {Asked & { memory?: Numbers }} asked */
  async searched(text, source, { search = {}, under = {}, memory, turn }) {
    const pass = this.pass(under, { exact: false });
    const maxLength = this.room(source.length, under.positions);
    const found = await decode(this.model, source, pass, { ...this.begun(text, search), maxLength, memory }, turn);
    const candidates = found.map((each) => this.translation(text, source, each));
    return { ...candidates[0], candidates };
  }

  /** A search whose prefix has what the model is given, which that of another translation has already.
   * @type {(text: string, search: Search) => Search} */
  begun(text, search) {
    const opening = this.tokenizer.opening(text);
    const { prefix = [] } = search;
    const begins = opening.every((id, place) => prefix[place] === id);
    return { ...search, prefix: begins ? prefix : [...opening, ...prefix], given: opening.length };
  }

  /** @param {string} text @param {number[]} source @param {FoundHypothesis} found */
  translation(text, source, { ids, logProbs, score, finished }) {
    return {
      text: this.target.decode(ids),
      predictions: this.tokens(ids, this.target),
      logProbs,
      score,
      finished,
      sourceText: text,
      source: this.tokens(source, this.tokenizer),
      unseen: this.tokenizer.unseenCharacters(text),
    };
  }

  /** The attention of every head on a sentence and its translation: `target`, or the tokens with `ids`;
   * without either, the model translates first.
   * @param {string} text @param {Asked & { target?: string | null, ids?: number[] | null }} asked */
  async trace(text, { target = null, ids = null, search = {}, under = {}, turn } = {}) {
    const given = target !== null || ids !== null;
    const source = this.sourceIds(text, under);
    const pass = { ...this.pass(under, { exact: given }), record: new Recording() };
    const memory = this.model.encode(source, pass);
    const written = given ? null : await this.searched(text, source, { search, under, memory, turn });
    const predictions = written ? written.predictions.ids : (ids ?? this.targetIds(target ?? "", text));
    const inputs = [this.config.bos_id, ...predictions.slice(0, -1)];
    const hidden = this.model.decode(inputs, memory, pass);
    return {
      source: this.tokens(source, this.tokenizer),
      target: this.tokens(inputs, this.target),
      predictions: this.tokens(predictions, this.target),
      text: written ? written.text : (target ?? this.target.decode(predictions)),
      sourceText: text,
      ...this.steps(hidden, predictions),
      maps: pass.record.maps.sort(bySite),
      added: pass.record.added,
      positions: this.positions(source.length, inputs.length, pass.positions),
      translation: written,
    };
  }

  /** Rows of the tables that are added to the embeddings, by stack, under an edit of positions; null where none is.
   * @param {number} nSource @param {number} nTarget @param {PositionEdit | null} edit */
  positions(nSource, nTarget, edit) {
    const rows = (/** @type {Transformer["encoder"]} */ stack, /** @type {number} */ length) => stack.positions.pass({ length, edit }).added ?? null;
    return { encoder: rows(this.model.encoder, nSource), decoder: rows(this.model.decoder, nTarget) };
  }

  /** So many rows of the table that is added to the encoder's embeddings; null where none is.
   * @type {(length: number) => Numbers[] | null} */
  table(length) {
    return this.model.encoder.positions.pass({ length }).added;
  }

  /** The log-probability of each label, and every step's `likeliest` tokens with the label's `rank` among
   * those that can be written (model/translate/translator.py).
   * @param {Numbers} hidden @param {number[]} labels */
  steps(hidden, labels) {
    const barred = unsayable(this.config);
    const logProbs = new Float32Array(labels.length);
    /** @type {(Pieces & { probabilities: number[], rank: number, normalizers: number[] })[]} */
    const steps = [];
    this.model.output.eachSoftmax(hidden, (step, logits, largest, log) => {
      const label = labels[step];
      logProbs[step] = logProbability(logits[label], largest, log);
      /** @type {Largest<number>} */
      const best = new Largest(LIKELIEST);
      let rank = 1;
      for (let id = 0; id < logits.length; id += 1) {
        if (barred.has(id)) continue;
        best.offer(logits[id], id);
        if (logits[id] > logits[label]) rank += 1;
      }
      const ids = best.items.map(([, id]) => id);
      const probabilities = best.items.map(([logit]) => Math.exp(logProbability(logit, largest, log)));
      steps.push({ ...this.tokens(ids, this.target), probabilities, rank, normalizers: normalizers(logits, largest, log) });
    });
    return { logProbs, steps };
  }

  /** The stream before one feed-forward layer and what that adds to it, (token, d_model) each, while the model reads a text
   * and writes the ids of a translation.
   * @param {string} text @param {{ stack: string, layer: number, ids: number[], under?: Under }} asked */
  async added(text, { stack, layer, ids, under = {} }) {
    const record = new FedForward(stack, layer);
    const pass = { ...this.pass(under, { exact: true }), record };
    const memory = this.model.encode(this.sourceIds(text, under), pass);
    if (stack === "decoder") this.model.decode([this.config.bos_id, ...ids.slice(0, -1)], memory, pass);
    if (!record.into) throw new Error(`The model has no ${stack} with a layer ${layer}.`);
    return { size: this.config.d_model, into: record.into, gains: record.gains };
  }

  /** What the decoder's last row becomes after a step, counted from 0: its vector, the `LIKELIEST` tokens that can be
   * written, their rows of the output matrix, logits and probabilities.
   * @param {string} text @param {{ step: number, ids: number[], under?: Under }} asked */
  async next(text, { step, ids, under = {} }) {
    if (!(step >= 0 && step < ids.length)) throw new Error(`The translation has no step ${step}; it has ${ids.length}.`);
    const pass = this.pass(under, { exact: true });
    const memory = this.model.encode(this.sourceIds(text, under), pass);
    const { d_model: width, bos_id, outputSize: vocabulary } = this.config;
    const last = this.model.decode([bos_id, ...ids.slice(0, step)], memory, pass).slice(-width);
    /** @type {Largest<number>} */
    const best = new Largest(LIKELIEST);
    /** @type {number[]} */
    const shares = [];
    const { output } = this.model;
    output.eachSoftmax(last, (_, all, largest, log) => {
      const barred = unsayable(this.config);
      all.forEach((logit, id) => barred.has(id) || best.offer(logit, id));
      shares.push(...best.items.map(([logit]) => Math.exp(logProbability(logit, largest, log))));
    });
    const chosen = best.items.map(([, id]) => id);
    // A bias ends each row, as in model/explain/block_outputs.py.
    const biased = this.config.output_bias;
    const size = biased ? width + 1 : width;
    const hidden = biased ? Float32Array.of(...last, 1) : last;
    const rows = new Float32Array(chosen.length * size);
    chosen.forEach((id, place) => {
      rows.set(output.row(id), place * size);
      if (biased) rows[(place + 1) * size - 1] = output.biases()[id];
    });
    return { size, vocabulary, hidden, rows, shares, logits: best.items.map(([logit]) => logit), ...this.tokens(chosen, this.target) };
  }

  /** Every hypothesis of a search with its token, and what it looked at while it wrote that: `looks` of every head of
   * cross-attention, (head, node, source); null where there are more than `most` nodes times source tokens.
   * @param {string} text @param {Asked & { most?: number }} asked */
  async tree(text, { search = {}, under = {}, most = Infinity, turn } = {}) {
    const source = this.sourceIds(text, under);
    const pass = this.pass(under, { exact: false });
    const memory = this.model.encode(source, pass);
    /** @type {SearchPath[]} */
    const kept = [];
    const found = await decode(this.model, source, pass, { ...this.begun(text, search), kept, memory, maxLength: this.room(source.length, under.positions) }, turn);
    const paths = kept.length ? kept : pathsOf(found, this.tokenizer.opening(text).length);
    const nodes = nodesOf(paths, found, { alpha: search.alpha ?? 0.6, eos: this.config.eos_id });
    const tokens = this.target.pieces(paths.map(({ token }) => token));
    const looks = paths.length * source.length > most ? null : await this.looks(paths, source, memory, pass, turn);
    const candidates = found.map((each) => this.translation(text, source, each));
    return { nodes: nodes.map((node, place) => ({ ...node, token: tokens[place] })), looks, layers: this.config.n_decoder_layers, source: this.tokens(source, this.tokenizer), candidates };
  }

  /** What the last row of each path looked at. @type {(paths: SearchPath[], source: number[], memory: Numbers, pass: Pass, turn?: Turn) => Promise<Numbers>} */
  async looks(paths, source, memory, pass, turn) {
    const places = new Map(paths.map((path, place) => [path, place]));
    const continued = new Set(paths.map(({ parent }) => parent));
    const heads = this.config.n_heads * this.config.n_decoder_layers;
    const looks = new Float32Array(heads * paths.length * source.length);
    // A row sees nothing that came after it: the ends of all branches say what is said before them, too.
    for (const end of paths.filter((path) => !continued.has(path))) {
      await turn?.();
      const record = new Recording();
      this.model.decode([this.config.bos_id, ...idsOf(end).slice(0, -1)], memory, { ...pass, record });
      const maps = record.maps.filter(({ kind }) => kind === "cross").sort(bySite);
      for (let path = /** @type {SearchPath | null} */ (end); path; path = path.parent) {
        const [place, row] = [places.get(path) ?? 0, path.length - 1];
        for (const { layer, heads: count, queries, keys, weights } of maps) {
          for (let head = 0; head < count; head += 1) {
            const from = (head * queries + row) * keys;
            looks.set(weights.subarray(from, from + keys), ((layer * count + head) * paths.length + place) * keys);
          }
        }
      }
    }
    return looks;
  }

  /** What each decoder layer would predict at every step of a translation (lens.js), with the likeliest tokens.
   * @param {string} text @param {{ ids: number[], under?: Under }} asked */
  async lens(text, { ids, under = {} }) {
    /** @type {Numbers[]} */
    let layers = [];
    const pass = this.pass(under, { exact: false });
    const memory = this.model.encode(this.sourceIds(text, under), pass);
    this.model.decode([this.config.bos_id, ...ids.slice(0, -1)], memory, { ...pass, states: (states) => (layers = states) });
    return lensOf(this.model, layers, ids).map((layer) => ({ ...layer, ...this.tokens(layer.ids, this.target) }));
  }

  /** What adds up to the lead of one token over another after a step, counted from 0 (terms.js).
   * @param {string} text @param {{ step: number, ids: number[], other: number }} asked */
  async terms(text, { step, ids, other }) {
    const { model, config } = this;
    const pass = this.pass({}, { exact: true });
    const memory = model.encode(this.sourceIds(text), pass);
    const [record, sums] = [new Recording(), /** @type {Numbers[]} */ ([])];
    const read = [config.bos_id, ...ids.slice(0, step)];
    const hidden = model.decode(read, memory, { ...pass, record, sums });
    const { added } = model.decoder.positions.pass({ length: read.length, edit: null });
    return termsOf(model, { pair: [ids[step], other], embedded: model.embedded(model.decoder, model.targetEmbedding, read, added), hidden, sums, maps: record.maps });
  }

  /** How far a token of a translation is ahead of another one, as it is and without each source token (deletion.js).
   * @param {string} text @param {{ step: number, ids: number[], other: number, turn?: Turn }} asked */
  async deleted(text, { step, ids, other, turn }) {
    const read = [this.config.bos_id, ...ids.slice(0, step)];
    return withoutEach(this.model, this.sourceIds(text), read, (hidden) => leadOf(this.model, hidden, [ids[step], other]), turn);
  }

  /** What each prediction loses without each source token, (target, source), and what attention of all layers of the decoder to
   * the source is, by its weights and by the lengths of what they add (deletion.js).
   * @param {string} text @param {{ ids: number[], turn?: Turn }} asked */
  async attributed(text, { ids, turn }) {
    const source = this.sourceIds(text);
    const read = [this.config.bos_id, ...ids.slice(0, -1)];
    const [whole, ...without] = await withoutEach(this.model, source, read, (hidden) => logProbsOf(this.model, hidden, ids), turn);
    const losses = Float32Array.from({ length: ids.length * source.length }, (_, cell) => {
      const row = Math.floor(cell / source.length);
      return whole[row] - without[cell % source.length][row];
    });
    const pass = { ...this.pass({}, { exact: true }), record: new Recording() };
    this.model.decode(read, this.model.encode(source, pass), pass);
    return { losses, ...estimates(this.model, pass.record.maps) };
  }

  /** Heads that decide between a token of a translation and another one, and what goes with them (head_sets.js).
   * @param {string} text @param {{ step: number, ids: number[], other: number, orders: number, turn?: Turn }} asked */
  async deciding(text, { step, ids, other, orders, turn }) {
    const read = [this.config.bos_id, ...ids.slice(0, step)];
    return decidingHeads(this.model, { source: this.sourceIds(text), read, pair: [ids[step], other], orders, turn });
  }

  /** The highest layer of the encoder of which one state of another sentence brings that one's translation; where none brings
   * all of it, the one that brings its most telling token nearest. `pairs` are places of both sources that belong together.
   * @param {string} text @param {{ other: string, written: string, ids: number[], pairs: [number, number][], turn?: Turn }} asked */
  async swapped(text, { other, written, ids, pairs, turn = async () => {} }) {
    const first = this.sourceIds(text);
    const crossings = new Crossings(this.model, { first, second: this.sourceIds(other), labels: ids });
    const shares = [];
    for (let stage = 0; stage <= this.config.n_encoder_layers; stage += 1) shares.push(await crossings.shares(stage, pairs, turn));
    const tried = [];
    for (let stage = shares.length - 1; stage >= 0; stage -= 1) {
      const to = shares[stage].indexOf(Math.max(...shares[stage]));
      const from = new Map(pairs).get(to) ?? to;
      const { text: comes } = await this.searched(text, first, { memory: crossings.memory({ stage, to, from }), turn });
      tried.push({ stage, to, from, share: shares[stage][to], comes });
      if (comes === written) break;
    }
    const last = tried[tried.length - 1];
    const best = last.comes === written ? last : tried.reduce((one, each) => (each.share > one.share ? each : one));
    return { ...best, shares, width: this.config.d_model, telling: crossings.telling, before: crossings.shareOf(crossings.own.logProbs) };
  }

  /** The losses of a trace's translation without each head (effects.js).
   * @param {Record<"source" | "target" | "predictions", Pieces>} trace @param {{ turn?: Turn }} options */
  async effects({ source, target, predictions }, { turn } = {}) {
    return effectsOf(this.model, source.ids, target.ids, predictions.ids, turn);
  }

  /** Logits of a teacher-forced pass, (target, vocab).
   * @type {(source: number[], target: number[], under?: Under) => Numbers} */
  logits(source, target, under = {}) {
    const pass = this.pass(under, { exact: true });
    return this.model.output.product(this.model.decode(target, this.model.encode(source, pass), pass));
  }

  /** What an encoder or a decoder alone does with a text, with its trace (model/translate/text_models.py).
   * @param {string} text @param {Omit<Asked, "search">} asked */
  async read(text, { under = {}, turn } = {}) {
    const writesOn = Boolean(this.config.n_decoder_layers);
    const prompt = this.promptIds(text, writesOn);
    const pass = this.pass(under, { exact: false });
    const stack = writesOn ? this.model.decoder : this.model.encoder;
    let [ids, written] = [prompt, /** @type {number[]} */ ([])];
    if (writesOn) {
      const whole = await write(this.model, prompt, this.config.max_positions - prompt.length, pass, turn);
      [ids, written] = [whole.slice(0, -1), whole.slice(prompt.length)];
    }
    const recorded = { ...pass, record: new Recording() };
    const hidden = this.model.read(stack, this.model.sourceEmbedding, ids, recorded);
    const predicted = this.likeliest(hidden);
    if (!writesOn) written = predicted.slice(0, -1);
    const none = this.tokens([], this.tokenizer);
    const read = this.tokens(ids, this.tokenizer);
    return {
      source: writesOn ? none : read,
      target: writesOn ? read : none,
      predictions: writesOn ? this.tokens(predicted, this.tokenizer) : none,
      text: this.tokenizer.decode(written),
      sourceText: text,
      logProbs: writesOn ? logProbsOf(this.model, hidden, predicted) : null,
      maps: recorded.record.maps,
      finished: !writesOn || written.at(-1) === this.config.eos_id,
    };
  }

  /** @type {(hidden: Numbers) => number[]} */
  likeliest(hidden) {
    /** @type {number[]} */
    const best = [];
    this.model.output.eachSoftmax(hidden, (_, logits) => best.push(logits.indexOf(Math.max(...logits))));
    return best;
  }

  /** The intervention of one pass, checked against the model.
   * @type {(under: Under, options: { exact: boolean }) => Pass & { positions: PositionEdit | null }} */
  pass({ masks = [], heads = [], positions = null }, { exact }) {
    const pass = {
      masks: masks.length ? new Masks(masks, { exact }) : null,
      heads: heads.length ? new HeadEdits(heads) : null,
      positions: positions && { scale: 1, shift: 0, reverse: false, side: "both", ...positions },
    };
    pass.masks?.requireSites(this.model.sites);
    pass.heads?.requireSites(this.model.sites);
    return pass;
  }

  /** The length limit of a translation if the decoder's positions are shifted; else null.
   * @type {(nSource: number, positions?: Partial<PositionEdit> | null) => number | null} */
  room(nSource, positions) {
    const { shift = 0, side = "both" } = positions ?? {};
    if (shift <= 0 || side === "encoder") return null;
    return Math.max(1, Math.min(nSource + 50, this.config.max_positions - shift));
  }

  /** @type {(ids: number[], tokenizer: Tokenizer) => Pieces} */
  tokens(ids, tokenizer) {
    return { tokens: tokenizer.pieces(ids), ids };
  }

  /** @type {(text: string, under?: Under) => number[]} */
  sourceIds(text, { sourceOrder = null } = {}) {
    const ids = this.tokenizer.encode(text);
    if (!ids.length) throw new TextError("The text is empty; type a sentence to translate.");
    const { before, after } = this.tokenizer.around(text);
    ids.unshift(...before);
    this.requireRoom([...ids, ...after], text, "text", this.tokenizer);
    const letters = new Set(corpusForm(this.tokenizer.readAs(text)).replaceAll(" ", ""));
    const unseen = new Set(this.tokenizer.unseenCharacters(text));
    if (letters.size && [...letters].every((letter) => unseen.has(letter))) {
      if (this.target !== this.tokenizer) {
        throw new TextError("The model’s vocabulary for this side lacks all of these characters; type a sentence in the language it reads.");
      }
      throw new TextError("The model’s vocabulary lacks all of these characters; type a sentence in the language it reads.");
    }
    const end = [this.config.eos_id, ...after];
    if (!sourceOrder) return [...ids, ...end];
    if ([...sourceOrder].sort((one, other) => one - other).join() !== ids.map((_, place) => place).join()) {
      throw new TextError(
        `The order must name each of the ${ids.length} tokens before </s> once, from 0 to ${ids.length - 1}; it does not.`,
      );
    }
    return [...sourceOrder.map((/** @type {number} */ place) => ids[place]), ...end];
  }

  /** Ids of a text that the model is to have written as the translation of another, with the end token.
   * @type {(text: string, source: string) => number[]} */
  targetIds(text, source) {
    const ids = this.target.encode(text);
    if (!ids.length) throw new TextError("The target is empty; type a translation, or leave it to the model.");
    this.requireRoom(ids, text, "target", this.target);
    return [...this.tokenizer.opening(source), ...ids, this.config.eos_id];
  }

  /** @type {(text: string, writesOn: boolean) => number[]} */
  promptIds(text, writesOn) {
    if (!text.trim()) throw new TextError("The text is empty; type one.");
    const ids = [...(writesOn ? [this.config.bos_id] : []), ...this.tokenizer.encode(text), this.config.eos_id];
    const most = Math.floor(this.config.max_positions / (writesOn ? 2 : 1));
    if (ids.length > most) {
      throw new TextError(`The text has ${ids.length} tokens, but this model takes ${most}; shorten it.`);
    }
    return ids;
  }

  /** @type {(ids: number[], text: string, what: string, tokenizer: Tokenizer) => void} */
  requireRoom(ids, text, what, tokenizer) {
    const most = this.config.max_positions;
    if (ids.length < most) return;
    const characters = [...text];
    let [fits, reaches] = [0, characters.length];
    while (reaches - fits > 1) {
      const middle = (fits + reaches) >> 1;
      if (tokenizer.encode(characters.slice(0, middle).join("")).length < most) fits = middle;
      else reaches = middle;
    }
    throw new TextError(
      `The ${what} is too long: its first ${fits.toLocaleString("en")} characters fill the ` +
        `${most.toLocaleString("en")} tokens that the model takes; shorten it to that.`,
    );
  }
}

/** For each temperature, the logarithm of the sum of all probabilities to the power 1 / temperature.
 * @type {(logits: Numbers, largest: number, log: number) => number[]} */
function normalizers(logits, largest, log) {
  return TEMPERATURES.map((temperature) => {
    let sum = 0;
    for (let id = 0; id < logits.length; id += 1) sum += Math.exp((logits[id] - largest) / temperature);
    return Math.log(sum) - log / temperature;
  });
}

const KINDS = ["encoder", "decoder", "cross"];

/** @type {(one: AttentionSite, other: AttentionSite) => number} */
function bySite(one, other) {
  return KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) || one.layer - other.layer;
}
