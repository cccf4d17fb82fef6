// Greedy decoding, beam search (section 6.1) and sampling, as model/paper/decoding.py does them.

import { randomOf } from "./random.js";

/** @import { Transformer } from "./transformer.js" */
/** @typedef {ReturnType<Transformer["start"]>} State */
/** @typedef {{ alpha: number, prefix: number[], given: number, limit: number, kept: SearchPath[] | null }} Greed */

const EXTRA_LENGTH = 50;

/** Impossible settings of decoding; the message says which. */
export class DecodingError extends Error {}

/** ((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14). @type {(length: number, alpha: number) => number} */
function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

/** Log-probability of a token, in single precision. @type {(logit: number, largest: number, log: number) => number} */
export function logProbability(logit, largest, log) {
  return Math.fround(Math.fround(logit - largest) - Math.fround(log));
}

/** The log-probability of each label after the decoder's row of the same number.
 * @type {(model: Transformer, hidden: Numbers, labels: number[]) => Numbers} */
export function logProbsOf({ output }, hidden, labels) {
  const all = new Float32Array(labels.length);
  output.eachSoftmax(hidden, (token, logits, largest, log) => {
    all[token] = logProbability(logits[labels[token]], largest, log);
  });
  return all;
}

/** How far one token is ahead of another after the decoder's last row, in logits.
 * @type {(model: Transformer, hidden: Numbers, pair: [number, number]) => number} */
export function leadOf({ config, output }, hidden, pair) {
  const last = hidden.subarray(hidden.length - config.d_model);
  const [one, other] = pair.map((id) => output.row(id).reduce((sum, weight, place) => sum + weight * last[place], config.output_bias ? output.biases()[id] : 0));
  return one - other;
}

/** The best hypotheses of a beam search, best first; of greedy decoding for a beam of 1; or all samples, if `sampling` is
 * {temperature, topK, topP, seed, samples}, null for a topK or topP that leaves all tokens.
 *
 * A hypothesis has `ids`, `logProbs`, `score` and `finished`. `turn` is awaited at every step; it may
 * throw to end the search. The first tokens of the `prefix`, as many as `given`, cost nothing. `kept`, if given, collects every hypothesis that the search held; `memory` is the
 * encoder's output, if it is known.
 * @type {(model: Transformer, source: number[], pass: Pass, options: Search, turn?: Turn) => Promise<FoundHypothesis[]>} */
export async function decode(model, source, pass, options, turn = async () => {}) {
  const { beam = 4, alpha = 0.6, sampling = null, prefix = [], given = 0, maxLength = null, kept = null, memory } = options;
  const { config } = model;
  const widest = Math.floor((config.outputSize - 4) / 2);
  if (!sampling && !(Number.isInteger(beam) && beam >= 1 && beam <= widest)) {
    throw new DecodingError(`The beam must be between 1 and ${widest} wide; it is ${beam}.`);
  }
  if (!(alpha >= 0 && alpha < Infinity)) {
    throw new DecodingError(`alpha of the length penalty must be at least 0; it is ${alpha}.`);
  }
  const limit = lengthLimit(model, source, maxLength);
  requirePrefix(prefix, config, limit);
  const state = model.start(source, pass, memory);
  if (sampling) return sampled(model, state, pass, { sampling, alpha, prefix, given, limit }, turn);
  return beam === 1
    ? [await greedy(model, state, pass, { alpha, prefix, given, limit, kept }, turn)]
    : beamSearch(model, state, pass, { beam, alpha, prefix, given, limit, kept }, turn);
}

/** @type {(model: Transformer, state: State, pass: Pass, how: Greed, turn: Turn) => Promise<FoundHypothesis>} */
async function greedy(model, state, pass, { alpha, prefix, given, limit, kept }, turn) {
  const { config } = model;
  const barred = unsayable(config);
  let path = /** @type {SearchPath | null} */ (null);
  while (!path || (path.token !== config.eos_id && path.length < limit)) {
    await turn();
    const x = model.step([path?.token ?? config.bos_id], state, pass);
    model.output.eachSoftmax(x, (_, logits, largest, log) => {
      let token = prefix[path?.length ?? 0] ?? -1;
      if (token < 0) {
        for (let id = 0; id < logits.length; id += 1) {
          if (!barred.has(id) && (token < 0 || logits[id] > logits[token])) token = id;
        }
      }
      const logProb = logProbability(logits[token], largest, log);
      path = extended(path, token, logProb, given);
    });
    if (path) kept?.push(path);
  }
  return hypothesis(path, alpha, config);
}

/** @type {(model: Transformer, state: State, pass: Pass, how: Omit<Greed, "kept"> & { sampling: Sampling }, turn: Turn) => Promise<FoundHypothesis[]>} */
async function sampled(model, state, pass, { sampling, alpha, prefix, given, limit }, turn) {
  const { config } = model;
  const barred = unsayable(config);
  const paths = Array.from({ length: sampling.samples }, () => /** @type {SearchPath | null} */ (null));
  const randoms = paths.map((_, number) => randomOf(sampling.seed, number));
  state.paths = paths.map(() => []);
  let active = [...paths.keys()];
  while (active.length) {
    await turn();
    const x = model.step(active.map((number) => paths[number]?.token ?? config.bos_id), state, pass);
    model.output.eachSoftmax(x, (row, logits, largest, log) => {
      const path = paths[active[row]];
      const token = prefix[path?.length ?? 0] ?? drawn(logits, barred, sampling, randoms[active[row]]());
      const logProb = logProbability(logits[token], largest, log);
      paths[active[row]] = extended(path, token, logProb, given);
    });
    const stay = [...active.keys()].filter((row) => {
      const path = paths[active[row]];
      return path?.token !== config.eos_id && (path?.length ?? 0) < limit;
    });
    state.paths = stay.map((row) => state.paths[row]);
    active = stay.map((row) => active[row]);
  }
  return paths.map((path) => hypothesis(path, alpha, config)).sort(byScore);
}

/** The token at a random place, from 0 to below 1, of what may be drawn: temperature first, then the likeliest `topK`,
 * then the fewest whose probabilities reach `topP` (Holtzman et al. 2020, section 3.1). */
/** @type {(logits: Numbers, barred: Set<number>, sampling: Sampling, random: number) => number} */
function drawn(logits, barred, { temperature, topK, topP }, random) {
  let largest = -Infinity;
  for (let id = 0; id < logits.length; id += 1) if (!barred.has(id) && logits[id] > largest) largest = logits[id];
  const shares = Float64Array.from(logits, (logit, id) => (barred.has(id) ? 0 : Math.exp(Math.fround(logit - largest) / temperature)));
  const sorted = shares.slice().sort().reverse().subarray(0, topK ?? shares.length);
  const whole = sorted.reduce((sum, share) => sum + share, 0);
  // A token stays until those before it reach p, so the likeliest always does.
  let [kept, total] = [0, 0];
  while (kept < sorted.length && (kept === 0 || total < (topP ?? Infinity) * whole)) total += sorted[kept++];
  let place = 0;
  for (let reached = sorted[0]; place < kept - 1 && reached <= random * total; reached += sorted[place]) place += 1;
  // Of equally likely tokens, the first ids come first.
  let ties = place - sorted.indexOf(sorted[place]);
  return shares.findIndex((share) => share === sorted[place] && ties-- === 0);
}

/** @type {(model: Transformer, state: State, pass: Pass, how: Greed & { beam: number }, turn: Turn) => Promise<FoundHypothesis[]>} */
async function beamSearch(model, state, pass, { beam, alpha, prefix, given, limit, kept }, turn) {
  const { config } = model;
  const barred = unsayable(config);
  /** @type {FoundHypothesis[]} */
  const finished = [];
  /** @type {(SearchPath | null)[]} */
  let paths = [null];
  for (let length = 1; ; length += 1) {
    await turn();
    const x = model.step(paths.map((path) => path?.token ?? config.bos_id), state, pass);
    // Twice the beam, so that `beam` hypotheses remain even if as many end.
    /** @type {Largest<{ row: number, token: number, logProb: number }>} */
    const best = new Largest(2 * beam);
    model.output.eachSoftmax(x, (row, logits, largest, log) => {
      const total = paths[row]?.total ?? 0;
      const offer = (/** @type {number} */ token) => {
        const logProb = logProbability(logits[token], largest, log);
        best.offer(Math.fround(length > given ? total + logProb : total), { row, token, logProb });
      };
      if (length <= prefix.length) {
        offer(prefix[length - 1]);
        return;
      }
      const unrounded = largest + log - total - 1e-3;
      for (let token = 0; token < logits.length; token += 1) {
        if (logits[token] >= best.least + unrounded && !barred.has(token)) offer(token);
      }
    });
    /** @type {SearchPath[]} */
    const live = [];
    /** @type {number[]} */
    const rows = [];
    best.items.forEach(([total, { row, token, logProb }], rank) => {
      if (live.length === beam) return;
      const path = { ...extended(paths[row], token, logProb), total };
      if (token !== config.eos_id) {
        live.push(path);
        rows.push(row);
      } else if (rank < beam) {
        finished.push(hypothesis(path, alpha, config));
      } else {
        return;
      }
      kept?.push(path);
    });
    if (length >= limit) {
      const cut = live.map((path) => hypothesis(path, alpha, config)).sort(byScore);
      return [...finished.sort(byScore), ...cut].slice(0, beam);
    }
    if (isOver(finished, live, lengthPenalty(limit, alpha), beam)) {
      return finished.sort(byScore).slice(0, beam);
    }
    state.paths = rows.map((row) => [...state.paths[row]]);
    paths = live;
  }
}

/** The largest of the numbers that were offered, in order; of equal ones, those offered first. @template What */
export class Largest {
  /** @type {[number: number, what: What][]} */
  items = [];
  least = -Infinity;

  /** @param {number} count */
  constructor(count) {
    this.count = count;
  }

  /** @type {(number: number, what: What) => void} */
  offer(number, what) {
    if (this.items.length === this.count && !(number > this.least)) return;
    let place = this.items.length;
    while (place > 0 && this.items[place - 1][0] < number) place -= 1;
    this.items.splice(place, 0, [number, what]);
    if (this.items.length > this.count) this.items.pop();
    if (this.items.length === this.count) this.least = this.items[this.count - 1][0];
  }
}

/** Whether no live hypothesis can win; `longest` is the length penalty at the limit.
 * @type {(finished: FoundHypothesis[], live: SearchPath[], longest: number, beam: number) => boolean} */
function isOver(finished, live, longest, beam) {
  // A prefix that ends with the end token leaves no live hypothesis.
  if (!live.length) return true;
  if (finished.length < beam) return false;
  // The likeliest comes first. Each further token lowers its log-probability or leaves it.
  return beam === 1 || Math.max(...finished.map(({ score }) => score)) >= live[0].total / longest;
}

/** A hypothesis and one more token; `total` is the log-probability of all its tokens but the first, as many as `given`.
 * @type {(parent: SearchPath | null, token: number, logProb: number, given?: number) => SearchPath} */
export function extended(parent, token, logProb, given = 0) {
  const { length = 0, total = 0 } = parent ?? {};
  return { parent, token, logProb, total: length < given ? total : total + logProb, length: length + 1 };
}

/** @type {(path: SearchPath | null, alpha: number, config: ModelConfig) => FoundHypothesis} */
function hypothesis(path, alpha, config) {
  /** @type {SearchPath[]} */
  const steps = [];
  for (let step = path; step; step = step.parent) steps.unshift(step);
  return {
    ids: steps.map(({ token }) => token),
    logProbs: steps.map(({ logProb }) => logProb),
    score: (path?.total ?? 0) / lengthPenalty(steps.length, alpha),
    finished: path?.token === config.eos_id,
  };
}

/** @type {(one: FoundHypothesis, other: FoundHypothesis) => number} */
function byScore(one, other) {
  return other.score - one.score;
}

/** Ids that are never written. @type {(config: ModelConfig) => Set<number>} */
export function unsayable(config) {
  return new Set(config.unwritten ?? [config.pad_id, config.bos_id, config.unk_id]);
}

/** @type {(model: Transformer, source: number[], maxLength: number | null) => number} */
function lengthLimit(model, source, maxLength) {
  const limit = maxLength ?? source.length + EXTRA_LENGTH;
  return Math.min(limit, model.decoder.positions.limit ?? limit);
}

/** @type {(prefix: number[], config: ModelConfig, limit: number) => void} */
function requirePrefix(prefix, config, limit) {
  if (prefix.length > limit) {
    throw new DecodingError(
      `The beginning of the translation has ${prefix.length} tokens, but the whole translation may have ${limit}; ` +
        "give fewer.",
    );
  }
  const barred = prefix.some(
    (id, place) => [config.pad_id, config.bos_id].includes(id) || (id === config.eos_id && place < prefix.length - 1),
  );
  if (barred || prefix.some((id) => !(id >= 0 && id < config.outputSize))) {
    throw new DecodingError(
      `The beginning of a translation must consist of token ids below ${config.outputSize}, without <pad> and <s>, and ` +
        "with </s> only as its last token.",
    );
  }
}

/** The tokens of a decoder alone with its greedy continuation of at most `most` more.
 * @type {(model: Transformer, ids: number[], most: number, pass: Pass, turn?: Turn) => Promise<number[]>} */
export async function write(model, ids, most, pass, turn = async () => {}) {
  const state = model.start([], pass);
  const all = [...ids];
  for (let position = 0; position < ids.length + most - 1; position += 1) {
    const x = model.step([all[position]], state, pass);
    if (position < ids.length - 1) continue;
    await turn();
    let newest = 0;
    model.output.product(x).forEach((logit, id, logits) => {
      if (logit > logits[newest]) newest = id;
    });
    all.push(newest);
    if (newest === model.config.eos_id) break;
  }
  return all;
}
