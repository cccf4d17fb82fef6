// What every head did in one teacher-forced pass.

/** The attention recorded in a pass, one map for each site, and what feed-forward layers add. */
export class Recording {
  constructor() {
    /** @type {RecordedMap[]} */
    this.maps = [];
    // By stack, one array a layer: the length of what is added to each token, as a share of its own.
    /** @type {Record<string, Numbers[]>} */
    this.added = {};
  }

  /** Takes the share that one feed-forward layer adds.
   * @type {(side: string, width: number) => (x: Numbers, update: Numbers) => void} */
  feedForward(side, width) {
    return (x, update) => {
      const shares = Float32Array.from({ length: x.length / width }, (_, token) => {
        const of = (/** @type {Numbers} */ numbers) => Math.hypot(...numbers.subarray(token * width, (token + 1) * width));
        return of(update) / of(x);
      });
      (this.added[side] ??= []).push(shares);
    };
  }

  /** A map to be filled: weights after the softmax and scores before the mask, (head, query, key).
   *
   * @type {(site: AttentionSite, given: Omit<RecordedMap, "weights" | "scores" | "allowed" | keyof AttentionSite> &
   *   { allowed: AttentionMask | null }) => RecordedMap} */
  open(site, { heads, queries, keys, allowed, q, k, v }) {
    const map = {
      ...site,
      heads,
      queries,
      keys,
      weights: new Float32Array(heads * queries * keys),
      scores: new Float32Array(heads * queries * keys),
      allowed: allowed ?? { bits: new Uint8Array(queries * keys).fill(1), heads: 1, queries, keys },
      q,
      k,
      v,
    };
    this.maps.push(map);
    return map;
  }
}

/** What one feed-forward layer does in a pass: the stream `into` it, and the `gains` that it adds, (token, d_model). */
export class FedForward {
  /** @type {Numbers | null} */
  into = null;
  gains = new Float32Array();

  /** @param {string} side @param {number} layer */
  constructor(side, layer) {
    this.side = side;
    this.left = layer;
  }

  /** Attention is not recorded. */
  open() {
    return null;
  }

  /** Called once a layer, in their order. @type {(side: string) => ((x: Numbers, update: Numbers) => void) | undefined} */
  feedForward(side) {
    if (side !== this.side || this.left-- !== 0) return undefined;
    return (x, update) => {
      // The residual connection goes on to add to its update.
      [this.into, this.gains] = [x.slice(), update.slice()];
    };
  }
}
