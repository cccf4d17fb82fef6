// Masks in place of a model's own: presets for every length and painted ones (model/record).

/** An invalid mask, or one that does not fit; the message says why and what to do. */
export class MaskError extends Error {}

/** Whether a query may look at a key, for every preset (model/record/mask_presets.py).
 * @type {Record<string, (settings: PresetSettings) => (query: number, key: number) => boolean>} */
const PRESETS = {
  none: () => () => true,
  causal: () => (query, key) => key <= query,
  strictly_causal: () => (query, key) => key < query,
  look_ahead: ({ k = 0 }) => (query, key) => key <= query + k,
  window: ({ width = 0 }) => (query, key) => Math.abs(query - key) <= width,
  causal_window: ({ width = 0 }) => (query, key) => key <= query && query - key <= width,
  first_token: () => (query, key) => key === 0,
  ignore_padding: () => () => true,
  block_words: ({ keys = [] }) => (query, key) => !keys.includes(key),
  block_diagonal: ({ lengths = [], key_lengths = null }) => {
    const [own, others] = [blocks(lengths), blocks(key_lengths ?? lengths)];
    return (query, key) => own(query) === others(key);
  },
};

/** A preset for one shape of a mask, {bits, heads, queries, keys}.
 * @type {(name: string, settings: PresetSettings, queries: number, keys: number) => AttentionMask} */
export function presetMask(name, settings, queries, keys) {
  return rule([{ name, settings }])(queries, keys);
}

/** @type {(lengths: number[]) => (position: number) => number} */
function blocks(lengths) {
  const ends = lengths.slice(0, -1).map((_, place) => lengths.slice(0, place + 1).reduce((sum, length) => sum + length));
  return (position) => ends.filter((end) => end <= position).length;
}

/** The masks of a pass.
 *
 * Each edit has a kind of attention, a layer (null for all) and either `presets`, as [{name,
 * settings}] which all must allow, or `allowed`, a painted mask as attention.js has it. `exact` is
 * whether a painted mask of the decoder or of cross-attention must have the shape of the pass. */
export class Masks {
  /** @type {Map<string, MaskRule | AttentionMask>} */
  byPlace = new Map();

  /** @param {MaskEdit[]} edits @param {{ exact: boolean }} options */
  constructor(edits, { exact }) {
    this.exact = exact;
    for (const { kind, layer = null, presets = null, allowed = null } of edits) {
      const place = placeName(kind, layer);
      if (this.byPlace.has(place)) throw new MaskError(`There are two masks for ${place}; give one.`);
      const mask = presets ? rule(presets) : allowed;
      if (mask) this.byPlace.set(place, mask);
    }
  }

  /** Throws a MaskError if a place is none of the model's. @type {(sites: AttentionSite[]) => void} */
  requireSites(sites) {
    const known = new Set(sites.flatMap(({ kind, layer }) => [kind, placeName(kind, layer)]));
    for (const place of this.byPlace.keys()) {
      if (!known.has(place)) throw new MaskError(`This model has no ${place} to mask.`);
    }
  }

  /** The mask of one call of attention; null allows all.
   *
   * A decoding step is the last row of a pass over the positions so far.
   * @type {(site: AttentionSite, pass: { heads: number; queries: number; keys: number; own: AttentionMask | null; position?: number | null }) => AttentionMask | null} */
  allowed(site, { heads, queries, keys, own, position = null }) {
    const mask = this.byPlace.get(placeName(site.kind, site.layer)) ?? this.byPlace.get(site.kind);
    if (!mask) return own;
    const drawn = typeof mask === "function" ? mask(queries, keys) : this.painted(mask, site, queries, keys, position);
    if (![1, heads].includes(drawn.heads)) {
      throw new MaskError(
        `The mask for ${site.kind}.${site.layer} is for ${drawn.heads} heads, but there are ${heads}; give it as ` +
          "many, or no axis of heads.",
      );
    }
    const first = position ?? 0;
    const rows = queries - first;
    const whole = { bits: new Uint8Array(drawn.heads * rows * keys).fill(1), heads: drawn.heads, queries: rows, keys };
    for (let head = 0; head < drawn.heads; head += 1) {
      for (let row = 0; row < rows; row += 1) {
        for (let key = 0; key < keys; key += 1) {
          // The model's own mask remains where a painted one does not reach.
          const reached = first + row < drawn.queries && key < drawn.keys;
          const bit = reached
            ? drawn.bits[(head * drawn.queries + first + row) * drawn.keys + key]
            : (own?.bits[row * keys + key] ?? 1);
          whole.bits[(head * rows + row) * keys + key] = bit;
        }
      }
    }
    return whole;
  }

  /** @type {(mask: AttentionMask, site: AttentionSite, queries: number, keys: number, position: number | null) => AttentionMask} */
  painted(mask, { kind, layer }, queries, keys, position) {
    const grows = kind === "decoder" || kind === "cross";
    if (position === null && (this.exact || !grows)) {
      if (mask.queries !== queries || mask.keys !== keys) {
        throw new MaskError(
          `The mask for ${kind}.${layer} has the shape (${mask.queries}, ${mask.keys}), but this pass has ${queries} ` +
            `queries and ${keys} keys; give it that shape.`,
        );
      }
    } else if (kind === "cross" && mask.keys > keys) {
      throw new MaskError(
        `The mask for ${kind}.${layer} has ${mask.keys} keys, but the source has ${keys} tokens; give it no more keys.`,
      );
    }
    return mask;
  }
}

/** @type {(kind: string, layer: number | null) => string} */
function placeName(kind, layer) {
  return layer === null ? kind : `${kind}.${layer}`;
}

/** @type {(presets: MaskPreset[]) => MaskRule} */
function rule(presets) {
  const every = presets.map(({ name, settings = {} }) => {
    if (!(name in PRESETS)) throw new MaskError(`There is no preset ${name}; choose one of ${Object.keys(PRESETS).join(", ")}.`);
    return PRESETS[name](settings);
  });
  return (queries, keys) => {
    const bits = new Uint8Array(queries * keys);
    for (let query = 0; query < queries; query += 1) {
      for (let key = 0; key < keys; key += 1) bits[query * keys + key] = every.every((may) => may(query, key)) ? 1 : 0;
    }
    return { bits, heads: 1, queries, keys };
  };
}
