// What every head did in one teacher-forced pass.

/** The attention recorded in a pass, one map for each site. */
export class Recording {
  constructor() {
    this.maps = [];
  }

  /** A map to be filled: weights after the softmax and scores before the mask, (head, query, key).
   *
   * q, k and v are (token, head * width); `allowed` is a mask as attention.js has it. */
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
