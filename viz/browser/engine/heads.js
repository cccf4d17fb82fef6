// Edits of single heads (model/record/head_edits.py): a gate on the output, the mean of outputs in
// its place, or a pattern in place of the weights.

/** An edit of a head that is invalid or does not fit; the message says why and what to do. */
export class HeadError extends Error {}

/** @type {Record<string, NonNullable<HeadEffect["replace"]>>} */
const PATTERNS = { uniform, diagonal: nearest((position) => position), first: nearest(() => 0) };

/** The edits of a pass: {kind, layer, head} with a `gate` from 0 to 1, a `mean` or a `pattern`. */
export class HeadEdits {
  /** @param {HeadEdit[]} edits */
  constructor(edits) {
    /** @type {Map<string, Map<number, HeadEffect>>} */
    this.bySite = new Map();
    for (const { kind, layer, head, ...edit } of edits) {
      const site = `${kind}.${layer}`;
      const heads = this.bySite.get(site) ?? new Map();
      if (heads.has(head)) throw new HeadError(`There are two edits for ${site}, head ${head}; give one.`);
      this.bySite.set(site, heads.set(head, effect(edit, site, head)));
    }
  }

  /** Throws a HeadError if a head is at none of a model's sites. @type {(sites: AttentionSite[]) => void} */
  requireSites(sites) {
    const known = new Set(sites.map(({ kind, layer }) => `${kind}.${layer}`));
    for (const site of this.bySite.keys()) {
      if (!known.has(site)) throw new HeadError(`This model has no ${site} with heads to edit.`);
    }
  }

  /** The edits at a site by the head's number, or undefined.
   * @type {(site: AttentionSite, attention: { heads: number; valueWidth: number }) => Map<number, HeadEffect> | undefined} */
  at({ kind, layer }, { heads, valueWidth }) {
    const edits = this.bySite.get(`${kind}.${layer}`);
    for (const [head, { width }] of edits ?? []) {
      if (head >= heads) {
        throw new HeadError(`There is no head ${head} at ${kind}.${layer}; choose one from 0 to ${heads - 1}.`);
      }
      if (width !== undefined && width !== valueWidth) {
        throw new HeadError(
          `The mean for ${kind}.${layer}, head ${head} has ${width} numbers, but the head's output has ${valueWidth}; ` +
            "give as many.",
        );
      }
    }
    return edits;
  }
}

/** @type {(edit: HeadChange, site: string, head: number) => HeadEffect} */
function effect({ gate, mean, pattern }, site, head) {
  if (gate !== undefined) {
    if (!(gate >= 0 && gate <= 1)) {
      throw new HeadError(
        `A gate must be a number from 0, which removes a head, to 1, which leaves it; it is ${gate}.`,
      );
    }
    return { change: (output) => output.forEach((number, place) => (output[place] = gate ? number * gate : 0)) };
  }
  if (mean !== undefined) return { change: (output) => output.set(mean), width: mean.length };
  if (pattern !== undefined && pattern in PATTERNS) return { replace: PATTERNS[pattern] };
  throw new HeadError(
    `The edit of ${site}, head ${head} must be a gate from 0 to 1, the mean of its outputs, or one of these patterns: ` +
      `${Object.keys(PATTERNS).join(", ")}.`,
  );
}

// A pattern rewrites one row of weights over the keys that it may look at.

/** @type {(weights: Numbers, may: Uint8Array | null) => void} */
function uniform(weights, may) {
  const count = may ? may.reduce((sum, bit) => sum + bit, 0) : weights.length;
  weights.forEach((_, key) => (weights[key] = !may || may[key] ? 1 / count : 0));
}

/** All weight on the allowed key that is nearest to a place; of two equally near, the first.
 * @type {(placeOf: (position: number) => number) => NonNullable<HeadEffect["replace"]>} */
function nearest(placeOf) {
  return (weights, may, position) => {
    const wanted = placeOf(position);
    let best = -1;
    for (let key = 0; key < weights.length; key += 1) {
      const nearer = best < 0 || Math.abs(key - wanted) < Math.abs(best - wanted);
      if ((!may || may[key]) && nearer) best = key;
    }
    weights.fill(0);
    if (best >= 0) weights[best] = 1;
  };
}
