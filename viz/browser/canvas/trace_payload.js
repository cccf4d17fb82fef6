// Reads a trace from its payload: the weights of every head, with axes, masks and facts.

import constants from "../../draw/constants.json" with { type: "json" };
import { Envelope, weightsOfSteps } from "./envelope.js";
import { headsToCome } from "./heads_to_come.js";
import { Recent } from "./recent.js";
import { tr } from "./wording.js";

/** Numbers that are kept made, at four bytes each. */
const MOST_MADE = 8_000_000;

/**
 * A trace as a page shows it, in whichever payload.
 *
 * Of what `cells(attention, layer, head)` returns, `weights` is (query, key) in rows, weight × `scale` lies between 0 and 255, `exact`
 * says whether they were sent as numbers, and `allowed` is (query, key), or null if nothing is masked. While a head of a long text has
 * not come whole, `rough` is true, and each weight is the largest of its patch.
 */
export class TracePayload extends /** @type {Opened<TraceHeader>} */ (Envelope) {
  /** @type {Map<string, Kind>} */
  byName = new Map();
  /** Heads of a long text, whose numbers are made when they are asked for. @type {Recent<Float32Array>} */
  made = new Recent(MOST_MADE);
  /** @type {Recent<ExactCells>} */
  joined = new Recent(MOST_MADE);
  /** The masks of patches. @type {WeakMap<Uint8Array, Uint8Array>} */
  masks = new WeakMap();

  /** @param {Bytes} bytes */
  constructor(bytes) {
    super(bytes);
    for (const kind of this.kinds) this.byName.set(kind.kind, kind);
    const sizes = this.kinds.map((kind) => ({ ...kind, cells: this.axes[kind.queries].length * this.axes[kind.keys].length }));
    this.coming = this.toCome && headsToCome(this.toCome, sizes);
    if (this.joint) this._addJoint();
  }

  /** Whether the weights of all heads are here. */
  get isWhole() {
    return this.coming?.areAll ?? true;
  }

  /** The kinds of attention that can be shown. */
  get attentions() {
    return [...this.byName.keys()];
  }

  /** @type {(attention: string) => Kind} */
  kind(attention) {
    return /** @type {Kind} */ (this.byName.get(attention));
  }

  /** A kind of the trace, and not of the joint picture. @type {(attention: string) => SentKind} */
  sent(attention) {
    return /** @type {SentKind} */ (this.byName.get(attention));
  }

  /** @type {(index: number | null) => string[]} */
  axis(index) {
    return index === null ? [] : this.axes[index];
  }

  /** The tokens that each of the "queries" or "keys" stands for, `{side, first, end}` or null.
   * @type {(attention: string, axis: Axis) => (WordRange | null)[]} */
  words(attention, axis) {
    if (attention === constants.JOINT) return ["encoder", "decoder"].flatMap((kind) => this.words(kind, axis));
    return this.sent(attention).words[axis].map((word) => word && { side: word[0], first: word[1], end: word[2] });
  }

  /** A token of an axis, with its position if the axis repeats it. @type {(index: number, place: number) => string} */
  named(index, place) {
    const axis = this.axes[index];
    const text = axis[place];
    return axis.indexOf(text) === axis.lastIndexOf(text) ? text : `${text} (${place})`;
  }

  /** @type {(attention: string, layer: number, head: number) => HeadFacts | null} */
  facts(attention, layer, head) {
    return this.kind(attention).facts[layer]?.[head] ?? null;
  }

  /** @type {(attention: string, layer: number, head: number) => ExactCells} */
  cells(attention, layer, head) {
    return attention === constants.JOINT ? this._joint(layer, head, true) : this._cells(this.sent(attention), layer, head, true);
  }

  /** A head as a picture of so many pixels shows it: in patches, where they are as small as pixels or all that has come.
   * @type {(attention: string, layer: number, head: number, width: number, height: number) => ExactCells} */
  sketch(attention, layer, head, width, height) {
    if (attention === constants.JOINT) return this._joint(layer, head, false);
    const kind = this.sent(attention);
    if (!kind.grain) return this._cells(kind, layer, head, false);
    const patches = this._patches(kind, layer, head);
    const isFine = width <= patches.nKeys && height <= patches.nQueries;
    return isFine || this.isRough(attention, layer, head) ? patches : this._cells(kind, layer, head, false);
  }

  /** Whether a head has come in patches alone. @type {(attention: string, layer: number, head: number) => boolean} */
  isRough(attention, layer, head) {
    if (attention === constants.JOINT) return !this.isWhole;
    const { grain, kind, layers } = this.sent(attention);
    return Boolean(grain && !this.coming?.has(kind, layers[layer], head));
  }

  /** A head, and it is asked for if it has not come and `asks`. @type {(kind: SentKind, layer: number, head: number, asks: boolean) => ExactCells} */
  _cells(kind, layer, head, asks) {
    const nQueries = this.axes[kind.queries].length;
    const nKeys = this.axes[kind.keys].length;
    const size = nQueries * nKeys;
    const place = layer * kind.heads + head;
    const whole = kind.grain && (this.coming?.of(kind.kind, kind.layers[layer], head, asks) ?? null);
    const rough = Boolean(kind.grain && !whole);
    const sent = whole?.steps ?? kind.weights.subarray(place * size, (place + 1) * size);
    const scales = whole?.scales ?? kind.scales?.subarray(place * nQueries) ?? null;
    const make = () => (rough ? stretched(this._patches(kind, layer, head), kind, nQueries, nKeys) : weightsOfSteps(sent, /** @type {Float32Array} */ (scales), nKeys));
    const isExact = !rough && scales === null;
    const weights = isExact ? /** @type {Float32Array} */ (sent) : this.made.of(`${kind.kind}/${place}/${rough}`, size, make);
    return { weights, scale: 255, exact: isExact, rough, allowed: allowedIn(kind, layer, head), nQueries, nKeys };
  }

  /** The largest weight of each patch of a head. @type {(kind: SentKind, layer: number, head: number) => ExactCells} */
  _patches(kind, layer, head) {
    const [rows, columns] = /** @type {[number, number]} */ (kind.grain);
    const [queries, keys] = [this.axes[kind.queries].length, this.axes[kind.keys].length];
    const [nQueries, nKeys] = [Math.ceil(queries / rows), Math.ceil(keys / columns)];
    const size = nQueries * nKeys;
    const place = layer * kind.heads + head;
    const weights = this.made.of(`${kind.kind}/${place}/patches`, size, () =>
      Float32Array.from(kind.weights.subarray(place * size, (place + 1) * size), (root) => (root / 255) ** 2),
    );
    const mask = allowedIn(kind, layer, head);
    if (mask && !this.masks.has(mask)) {
      const open = new Uint8Array(size);
      for (let at = 0; at < mask.length; at++) {
        if (mask[at]) open[Math.floor(at / keys / rows) * nKeys + Math.floor((at % keys) / columns)] = 1;
      }
      this.masks.set(mask, open);
    }
    return { weights, scale: 255, exact: false, rough: true, allowed: mask && (this.masks.get(mask) ?? null), nQueries, nKeys };
  }

  _addJoint() {
    const [encoder, decoder, cross] = ["encoder", "decoder", "cross"].map((name) => this.sent(name));
    const deeper = encoder.layers.length > decoder.layers.length ? encoder : decoder;
    this.axes.push([...this.axes[encoder.keys], ...this.axes[decoder.keys]]);
    const axis = this.axes.length - 1;
    let beside = null;
    if (decoder.beside !== null) {
      this.axes.push([...this.axes[encoder.keys].map(() => ""), ...this.axes[decoder.beside]]);
      beside = this.axes.length - 1;
    }
    const parts = [encoder, cross, decoder];
    const heads = Math.max(...parts.map((part) => part.heads));
    const facts = deeper.layers.map((_, layer) =>
      Array.from({ length: heads }, (_, head) => {
        const heads = parts.filter((part) => part.facts[layer]?.[head]);
        const named = heads.map((part) => /** @type {[string, HeadFacts]} */ ([part.short, part.facts[layer][head]]));
        return { parts: named, sentence: "", numbers: "", label: null, tendency: null, reason: "", measures: [] };
      }),
    );
    this.byName.set(constants.JOINT, {
      kind: constants.JOINT,
      name: tr("Encoder, cross- and decoder attention"),
      short: tr("All three"),
      layers: deeper.layers,
      heads,
      queries: axis,
      keys: axis,
      beside,
      besideTitle: decoder.besideTitle,
      besideMark: decoder.besideMark,
      queryTitle: tr("Query: source, then target"),
      keyTitle: tr("Key: source, then target"),
      queryNoun: "token",
      keyNoun: "token",
      caption:
        tr("Top left: the encoder's square; below it: cross-attention; to its right: the decoder's triangle. An encoder row adds up to 1; a decoder row adds up to 1 in each part. Hatched: not allowed"),
      facts,
      border: this.axes[encoder.keys].length,
    });
  }

  /** @type {(layer: number, head: number, asks: boolean) => ExactCells} */
  _joint(layer, head, asks) {
    const size = this.axes[this.kind(constants.JOINT).queries].length;
    const parts = ["encoder", "cross", "decoder"].map((name) => {
      const kind = this.sent(name);
      return layer < kind.layers.length && head < kind.heads ? this._cells(kind, layer, head, asks) : null;
    });
    const name = [layer, head, ...parts.map((part) => part?.rough)].join("/");
    return this.joined.of(name, size * size, () => this._join(parts, size));
  }

  /** @type {(parts: (ExactCells | null)[], size: number) => ExactCells} */
  _join(parts, size) {
    const nSource = this.axes[this.sent("encoder").keys].length;
    const weights = new Float32Array(size * size);
    const allowed = new Uint8Array(size * size);
    parts.forEach((part, at) => {
      if (!part) return;
      const [top, left] = [[0, 0], [nSource, 0], [nSource, nSource]][at];
      for (let query = 0; query < part.nQueries; query++) {
        for (let key = 0; key < part.nKeys; key++) {
          const from = query * part.nKeys + key;
          const to = (top + query) * size + left + key;
          weights[to] = part.weights[from];
          allowed[to] = part.allowed === null ? 1 : part.allowed[from];
        }
      }
    });
    const has = (/** @type {"exact" | "rough"} */ name) => parts.some((part) => part && part[name]);
    return { weights, scale: 255, exact: has("exact"), rough: has("rough"), allowed, nQueries: size, nKeys: size };
  }
}

/** What a head may look at, (query, key); null for everything. @type {(kind: SentKind, layer: number, head: number) => Uint8Array | null} */
function allowedIn({ allowed }, layer, head) {
  const mask = allowed[layer];
  return Array.isArray(mask) ? mask[head] : mask;
}

/** Patches at the size of the cells in them. @type {(patches: ExactCells, kind: SentKind, nQueries: number, nKeys: number) => Float32Array} */
function stretched(patches, { grain }, nQueries, nKeys) {
  const weights = new Float32Array(nQueries * nKeys);
  const [rows, columns] = /** @type {[number, number]} */ (grain);
  for (let query = 0, at = 0; query < nQueries; query++) {
    const start = Math.floor(query / rows) * patches.nKeys;
    for (let key = 0; key < nKeys; key++, at++) weights[at] = patches.weights[start + Math.floor(key / columns)];
  }
  return weights;
}
