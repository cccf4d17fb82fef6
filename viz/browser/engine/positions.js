// Positional encodings (model/paper/positions.py), each with edited positions as well.

/** @import { Matrix } from "./products.js" */
/** @import { Weights } from "./weights.js" */
/** @typedef {{ side: string, causal: boolean }} StackSide */

const BASE = 10000;
const BUCKETS = 32;
const FARTHEST = 128;
// The position of a text's first token in fairseq.
const FIRST = 2;

/** Positions that cannot be edited so; the message says what to do. */
export class PositionError extends Error {}

/** The encoding of one stack. `weights` reads its parameters; `causal` if no token sees later ones.
 * @type {(config: ModelConfig, weights: Weights, stack: StackSide) => Positions} */
export function positionsOf(config, weights, { side, causal }) {
  return new ENCODINGS[config.positions](config, weights, { side, causal });
}

/** A row for each position, and how a model uses the rows. */
class Positions {
  /** The most positions that there are rows for; null for no limit. @type {number | null} */
  limit = null;
  // What `read` of some encoding reads.
  /** @type {Matrix} */
  table;
  pairs = 0;
  slopes = new Float32Array();

  /** @param {ModelConfig} config @param {Weights} weights @param {StackSide} stack */
  constructor(config, weights, { side, causal }) {
    this.side = side;
    this.causal = causal;
    this.width = config.d_model;
    this.heads = config.n_heads;
    this.maxPositions = config.max_positions;
    this.read(config, weights);
  }

  /** Reads the parameters. @type {(config: ModelConfig, weights: Weights) => void} */
  read() {}

  /** Numbers added to the embedding of the token at a position, (d_model); null for none. @type {(position: number) => Numbers | null} */
  added() {
    return null;
  }

  /** Cosines and sines of the angles at a position, times a scale, (d_k / 2) each; null for none.
   * @type {(position: number, scale: number) => Rotation | null} */
  rotation() {
    return null;
  }

  /** What each head adds to the score of a key at a distance from its query; null for none. @type {(distance: number) => Numbers | null} */
  bias() {
    return null;
  }

  /** The effect on the tokens from position `start` on, under an edit of positions.
   *
   * `added` has a row for each token, `rotations` cosines and sines for each; `bias` is (head, query,
   * key) over all keys so far. Each is null where the encoding has none.
   *
   * Throws a PositionError where the edit does not fit the pass.
   * @type {(given: { length: number; start?: number; edit?: PositionEdit | null; decoding?: boolean }) => PositionEffect} */
  pass({ length, start = 0, edit = null, decoding = false }) {
    const concerned = edit && (edit.side === "both" || edit.side === this.side);
    const own = concerned ? { ...edit, scale: Math.fround(edit.scale) } : UNEDITED;
    const places = this.places(length, start, own, decoding);
    const scaled = (/** @type {Numbers | null} */ row) => row && (own.scale === 1 ? row : row.map((number) => number * own.scale));
    const added = places.map((place) => scaled(this.added(place)));
    const rotations = places.map((place) => this.rotation(place, own.scale));
    return {
      added: added[0] ? /** @type {Numbers[]} */ (added) : null,
      rotations: rotations[0] ? /** @type {Rotation[]} */ (rotations) : null,
      bias: this.bias(0) && this.biases(this.places(start + length, 0, own, decoding), start, own.scale),
    };
  }

  /** @type {(length: number, start: number, edit: Pick<PositionEdit, "shift" | "reverse">, decoding: boolean) => number[]} */
  places(length, start, { shift, reverse }, decoding) {
    if (reverse && decoding) {
      throw new PositionError(
        "While decoding, the length is unknown, so the decoder's positions cannot be reversed; give a target, or " +
          "reverse the encoder's alone.",
      );
    }
    const last = start + length - 1 + shift;
    if (shift > 0 && last >= this.maxPositions) {
      throw new PositionError(
        `A shift by ${shift} moves position ${start + length - 1} to ${last}, but the model has positions 0 to ` +
          `${this.maxPositions - 1}; shift by less.`,
      );
    }
    const places = Array.from({ length }, (_, index) => Math.max(0, start + index + shift));
    return reverse ? places.reverse() : places;
  }

  /** @type {(places: number[], start: number, scale: number) => Numbers} */
  biases(places, start, scale) {
    const keys = places.length;
    const queries = keys - start;
    const bias = new Float32Array(this.heads * queries * keys);
    for (let query = 0; query < queries; query += 1) {
      for (let key = 0; key < keys; key += 1) {
        const added = this.bias(Math.fround(places[key] * scale) - Math.fround(places[start + query] * scale));
        for (let head = 0; head < this.heads; head += 1) bias[(head * queries + query) * keys + key] = added?.[head] ?? 0;
      }
    }
    return bias;
  }
}

const UNEDITED = { scale: 1, shift: 0, reverse: false };

/** @type {(position: number, width: number, base?: number) => Numbers} */
function sinusoids(position, width, base = BASE) {
  const row = new Float32Array(width);
  for (let i = 0; i < width; i += 2) {
    const angle = position * Math.exp(i * (-Math.log(base) / width));
    row[i] = Math.sin(angle);
    row[i + 1] = Math.cos(angle);
  }
  return row;
}

class Sinusoidal extends Positions {
  /** @param {number} position */
  added(position) {
    return sinusoids(position, this.width);
  }
}

class Fairseq extends Positions {
  /** @param {number} position */
  added(position) {
    return sinusoids(position + FIRST, this.width, BASE ** (this.width / (this.width - 2)));
  }
}

class Learned extends Positions {
  /** @param {ModelConfig} config @param {Weights} weights */
  read(config, weights) {
    this.table = weights.matrix(["positions.table"]);
    this.limit = config.max_positions;
  }

  /** @param {number} position */
  added(position) {
    if (position >= (this.limit ?? Infinity)) {
      throw new PositionError(`This model learned ${this.limit} positions and the text needs more; shorten the text.`);
    }
    return this.table.row(position);
  }
}

class Rotary extends Positions {
  /** @param {ModelConfig} config */
  read(config) {
    this.pairs = config.keyWidth / 2;
  }

  /** @type {(position: number, scale: number) => Rotation} */
  rotation(position, scale) {
    const cosines = new Float32Array(this.pairs);
    const sines = new Float32Array(this.pairs);
    for (let i = 0; i < this.pairs; i += 1) {
      const rate = Math.exp(2 * i * (-Math.log(BASE) / (2 * this.pairs)));
      const angle = Math.fround(Math.fround(position * rate) * scale);
      cosines[i] = Math.cos(angle);
      sines[i] = Math.sin(angle);
    }
    return [cosines, sines];
  }
}

class Alibi extends Positions {
  read() {
    const whole = 2 ** Math.floor(Math.log2(this.heads));
    this.slopes = Float32Array.from({ length: this.heads }, (_, head) =>
      head < whole ? 2 ** ((-8 * (head + 1)) / whole) : 2 ** ((-4 * (2 * (head - whole) + 1)) / whole),
    );
  }

  /** @param {number} distance */
  bias(distance) {
    return this.slopes.map((slope) => -slope * Math.abs(distance));
  }
}

class RelativeBias extends Positions {
  /** @param {ModelConfig} config @param {Weights} weights */
  read(config, weights) {
    this.table = weights.matrix(["positions.buckets"]);
  }

  /** @param {number} distance */
  bias(distance) {
    const bucket = distanceBucket(distance, this.causal);
    return Float32Array.from({ length: this.heads }, (_, head) => this.table.row(head)[bucket]);
  }
}

/** T5's bucket of the distance from a query to a key, from 0 to 31.
 * @type {(distance: number, causal: boolean) => number} */
export function distanceBucket(distance, causal) {
  const rounded = roundedToEven(distance);
  const count = causal ? BUCKETS : BUCKETS / 2;
  const first = !causal && rounded > 0 ? BUCKETS / 2 : 0;
  const behind = causal ? Math.max(0, -rounded) : Math.abs(rounded);
  const exact = count / 2;
  if (behind < exact) return first + behind;
  // In single precision, as the model was trained: exact powers lie on the border of two buckets.
  const growth = Math.fround(Math.fround(Math.log(Math.fround(behind / exact))) / Math.fround(Math.log(FARTHEST / exact)));
  return first + Math.min(count - 1, Math.floor(Math.fround(exact + Math.fround(growth * (count - exact)))));
}

/** @type {(number: number) => number} */
function roundedToEven(number) {
  const below = Math.floor(number);
  if (number - below !== 0.5) return Math.round(number);
  return below % 2 ? below + 1 : below;
}

/** @type {Record<string, typeof Positions>} */
const ENCODINGS = {
  sinusoidal: Sinusoidal,
  sinusoidal_fairseq: Fairseq,
  learned: Learned,
  rotary: Rotary,
  alibi: Alibi,
  relative_bias: RelativeBias,
};
