// Which heads decide between two words, and what goes with them one after another (model/contrast/head_sets.py).

import { leadOf, logProbability } from "./decoding.js";
import { HeadEdits } from "./heads.js";
import { permutation } from "./random.js";

/** @import { Transformer } from "./transformer.js" */
/** Some heads by their numbers, that give nothing. @typedef {number[]} Removed */

const [MOST_HEADS, TRIED_TOGETHER] = [24, 16];

/** A pass up to a step of a translation, in which two tokens are judged while some heads give nothing. */
class Judging {
  /** The encoder's output without some of its heads. @type {Map<string, Numbers>} */
  memories = new Map();

  /** @param {Transformer} model @param {{ source: number[], read: number[], pair: [number, number], turn: Turn }} given */
  constructor(model, { source, read, pair, turn }) {
    this.model = model;
    this.source = source;
    this.read = read;
    this.pair = pair;
    this.turn = turn;
    this.heads = model.sites.flatMap((site) => Array.from({ length: model.config.n_heads }, (_, head) => ({ ...site, head })));
  }

  /** The decoder's last row. @type {(removed: Removed) => Promise<Numbers>} */
  async hidden(removed) {
    await this.turn();
    const { model } = this;
    const pass = this.pass(removed);
    const ofEncoder = removed.filter((number) => this.heads[number].kind === "encoder").sort((one, other) => one - other);
    const memory = this.memories.get(String(ofEncoder)) ?? model.encode(this.source, this.pass(ofEncoder));
    this.memories.set(String(ofEncoder), memory);
    return model.decode(this.read, memory, pass).slice(-model.config.d_model);
  }

  /** @type {(removed: Removed) => Pass} */
  pass(removed) {
    return { heads: removed.length ? new HeadEdits(removed.map((number) => ({ ...this.heads[number], gate: 0 }))) : null };
  }

  /** How far the first token is ahead of the second. @type {(removed: Removed) => Promise<number>} */
  async lead(removed) {
    return leadOf(this.model, await this.hidden(removed), this.pair);
  }

  /** The log-probabilities of both. @type {(removed: Removed) => Promise<number[]>} */
  async logProbs(removed) {
    /** @type {number[]} */
    let found = [];
    this.model.output.eachSoftmax(await this.hidden(removed), (_, logits, largest, log) => {
      found = this.pair.map((id) => logProbability(logits[id], largest, log));
    });
    return found;
  }

  /** By how much the second token is ahead without each set. @type {(sets: Removed[]) => Promise<number[]>} */
  async margins(sets) {
    const found = [];
    for (const set of sets) found.push(-(await this.lead(set)));
    return found;
  }
}

/**
 * A small set of heads without which a second token is likelier than the one that was written.
 *
 * @param {Transformer} model
 * @param {{ source: number[], read: number[], pair: [number, number], orders: number, turn?: Turn }} given - what the decoder
 *   has read by then, and `orders` of chance.
 * @returns the heads, those first without which alone most is lost; whether they decide; the log-probabilities of both tokens as
 *   they go, (size, 2); and the leads of the first, (order, size), in that order and in those of chance.
 */
export async function decidingHeads(model, { orders, turn = async () => {}, ...given }) {
  const judging = new Judging(model, { ...given, turn });
  const count = judging.heads.length;
  const everyone = Array.from({ length: count }, (_, number) => number);
  const [none] = await judging.margins([[]]);
  let margin = none;
  const alone = (await judging.margins(everyone.map((number) => [number]))).map((each) => each - none);
  const gains = [...alone];
  /** @type {Removed} */
  const chosen = [];
  while (margin <= 0 && chosen.length < Math.min(MOST_HEADS, count)) {
    let left = everyone;
    let tried = gains.map((gain) => gain + margin);
    if (chosen.length) {
      left = everyone.filter((number) => !chosen.includes(number)).sort((one, other) => gains[other] - gains[one]).slice(0, TRIED_TOGETHER);
      tried = await judging.margins(left.map((number) => [...chosen, number]));
      left.forEach((number, place) => (gains[number] = tried[place] - margin));
    }
    const best = tried.indexOf(Math.max(...tried));
    chosen.push(left[best]);
    margin = tried[best];
  }
  while (margin > 0 && chosen.length) {
    const spared = await judging.margins(chosen.map((out) => chosen.filter((each) => each !== out)));
    const most = Math.max(...spared);
    if (most <= 0) break;
    chosen.splice(spared.indexOf(most), 1);
    margin = most;
  }
  chosen.sort((one, other) => alone[other] - alone[one]);
  const size = chosen.length;
  const drawn = Array.from({ length: margin > 0 ? orders : 0 }, (_, number) => permutation(count, size, number).slice(0, size));
  const leads = [];
  for (const order of [chosen, ...drawn]) {
    for (let removed = 0; removed <= size; removed += 1) leads.push(await judging.lead(order.slice(0, removed)));
  }
  const logProbs = [];
  for (let removed = 0; removed <= size; removed += 1) logProbs.push(await judging.logProbs(chosen.slice(0, removed)));
  return { heads: chosen.map((number) => judging.heads[number]), decides: margin > 0, logProbs, leads };
}
