// One hidden state of another sentence's encoder in the run of a sentence (model/patching/causal_trace.py).

import { logProbsOf } from "./decoding.js";

/** @import { Transformer } from "./transformer.js" */
/** Hidden states after a stage, of which row `to` becomes row `from` of the others. @typedef {{ stage: number, to: number, from: number }} Crossed */

/** Two sentences, whose states cross over. */
export class Crossings {
  /**
   * @param {Transformer} model
   * @param {{ first: number[], second: number[], labels: number[] }} given - ids of both sources, and of the second's translation.
   */
  constructor(model, { first, second, labels }) {
    this.model = model;
    this.first = first;
    this.labels = labels;
    this.read = [model.config.bos_id, ...labels.slice(0, -1)];
    this.own = this.run(first);
    this.others = this.run(second);
    const gaps = labels.map((_, place) => Math.abs(Math.exp(this.others.logProbs[place]) - Math.exp(this.own.logProbs[place])));
    /** The label whose probability differs most between the two. */
    this.telling = gaps.indexOf(Math.max(...gaps));
  }

  /** What a source makes of every stage, and of the labels. @param {number[]} ids */
  run(ids) {
    /** @type {Numbers[]} */
    const states = [];
    const memory = this.model.encode(ids, { stage: (_, x) => states.push(x.slice()) });
    return { states, logProbs: this.logProbs(memory) };
  }

  /** @type {(memory: Numbers) => Numbers} */
  logProbs(memory) {
    return logProbsOf(this.model, this.model.decode(this.read, memory, {}), this.labels);
  }

  /** The probability of the telling label. @param {Numbers} logProbs */
  shareOf(logProbs) {
    return Math.exp(logProbs[this.telling]);
  }

  /** The encoder's output with one state put in. @type {(crossed: Crossed) => Numbers} */
  memory({ stage, to, from }) {
    const put = (/** @type {number} */ at, /** @type {Numbers} */ x) => {
      if (at === stage) x.set(this.stateOf(this.others.states[stage], from), to * this.model.config.d_model);
    };
    return this.model.encode(this.first, { stage: put });
  }

  /** @type {(states: Numbers, token: number) => Numbers} */
  stateOf(states, token) {
    const { d_model: width } = this.model.config;
    return states.subarray(token * width, (token + 1) * width);
  }

  /** How likely the telling label becomes with each state after a stage, by the token of the first; −1 without a counterpart.
   * @type {(stage: number, pairs: [number, number][], turn: Turn) => Promise<number[]>} */
  async shares(stage, pairs, turn) {
    const shares = this.first.map(() => -1);
    for (const [to, from] of pairs) {
      await turn();
      const [own, other] = [this.stateOf(this.own.states[stage], to), this.stateOf(this.others.states[stage], from)];
      const isSame = own.every((number, place) => number === other[place]);
      shares[to] = this.shareOf(isSame ? this.own.logProbs : this.logProbs(this.memory({ stage, to, from })));
    }
    return shares;
  }
}
