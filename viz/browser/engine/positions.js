// Positional encodings (model/paper/positions.py), each with edited positions as well.

const BASE = 10000;
const BUCKETS = 32;
const FARTHEST = 128;

/** Positions that cannot be edited so; the message says what to do. */
export class PositionError extends Error {}

/** The encoding of one stack. `weights` reads its parameters; `causal` if no token sees later ones. */
export function positionsOf(config, weights, { side, causal }) {
  return new ENCODINGS[config.positions](config, weights, { side, causal });
}

/** A row for each position, and how a model uses the rows. */
class Positions {
  constructor(config, weights, { side, causal }) {
    Object.assign(this, { side, causal, width: config.d_model, heads: config.n_heads, limit: null });
    this.maxPositions = config.max_positions;
    this.read(config, weights);
  }

  read() {}

  /** Numbers added to the embedding of the token at a position, (d_model); null for none. */
  added() {
    return null;
  }

  /** Cosines and sines of the angles at a position, times a scale, (d_k / 2) each; null for none. */
  rotation() {
    return null;
  }

  /** What each head adds to the score of a key at a distance from its query; null for none. */
  bias() {
    return null;
  }

  /** The effect on the tokens from position `start` on, under an edit of positions.
   *
   * `added` has a row for each token, `rotations` cosines and sines for each; `bias` is (head, query,
   * key) over all keys so far. Each is null where the encoding has none.
   *
   * Throws a PositionError where the edit does not fit the pass. */
  pass({ length, start = 0, edit = null, decoding = false }) {
    const concerned = edit && (edit.side === "both" || edit.side === this.side);
    const own = concerned ? { ...edit, scale: Math.fround(edit.scale) } : UNEDITED;
    const places = this.places(length, start, own, decoding);
    const scaled = (row) => row && (own.scale === 1 ? row : row.map((number) => number * own.scale));
    const added = places.map((place) => scaled(this.added(place)));
    const rotations = places.map((place) => this.rotation(place, own.scale));
    return {
      added: added[0] ? added : null,
      rotations: rotations[0] ? rotations : null,
      bias: this.bias(0) && this.biases(this.places(start + length, 0, own, decoding), start, own.scale),
    };
  }

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

  biases(places, start, scale) {
    const keys = places.length;
    const queries = keys - start;
    const bias = new Float32Array(this.heads * queries * keys);
    for (let query = 0; query < queries; query += 1) {
      for (let key = 0; key < keys; key += 1) {
        const added = this.bias(Math.fround(places[key] * scale) - Math.fround(places[start + query] * scale));
        for (let head = 0; head < this.heads; head += 1) bias[(head * queries + query) * keys + key] = added[head];
      }
    }
    return bias;
  }
}

const UNEDITED = { scale: 1, shift: 0, reverse: false };

function sinusoids(position, width) {
  const row = new Float32Array(width);
  for (let i = 0; i < width; i += 2) {
    const angle = position * Math.exp(i * (-Math.log(BASE) / width));
    row[i] = Math.sin(angle);
    row[i + 1] = Math.cos(angle);
  }
  return row;
}

class Sinusoidal extends Positions {
  added(position) {
    return sinusoids(position, this.width);
  }
}

class Learned extends Positions {
  read(config, weights) {
    this.table = weights.matrix(["positions.table"]);
    this.limit = config.max_positions;
  }

  added(position) {
    if (position >= this.limit) {
      throw new PositionError(`This model learned ${this.limit} positions and the text needs more; shorten the text.`);
    }
    return this.table.row(position);
  }
}

class Rotary extends Positions {
  read(config) {
    this.pairs = config.keyWidth / 2;
  }

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

  bias(distance) {
    return this.slopes.map((slope) => -slope * Math.abs(distance));
  }
}

class RelativeBias extends Positions {
  read(config, weights) {
    this.buckets = weights.matrix(["positions.buckets"]);
  }

  bias(distance) {
    const bucket = distanceBucket(distance, this.causal);
    return Float32Array.from({ length: this.heads }, (_, head) => this.buckets.row(head)[bucket]);
  }
}

/** T5's bucket of the distance from a query to a key, from 0 to 31. */
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

function roundedToEven(number) {
  const below = Math.floor(number);
  if (number - below !== 0.5) return Math.round(number);
  return below % 2 ? below + 1 : below;
}

const ENCODINGS = {
  sinusoidal: Sinusoidal,
  learned: Learned,
  rotary: Rotary,
  alibi: Alibi,
  relative_bias: RelativeBias,
};
