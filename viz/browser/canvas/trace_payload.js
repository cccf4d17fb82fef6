// Reads a trace from its payload: the weights of every head, with axes, masks and facts.

import constants from "../../draw/constants.json" with { type: "json" };
import { Envelope } from "./envelope.js";
import { Recent } from "./recent.js";
import { tr } from "./wording.js";

/** Numbers that are kept made, at four bytes each. */
const MOST_MADE = 8_000_000;

/**
 * A trace as a page shows it, in whichever payload.
 *
 * Of what `cells(attention, layer, head)` returns, `weights` is (query, key) in rows, weight × `scale` lies between 0 and 255, `exact`
 * says whether they were sent as numbers, and `allowed` is (query, key), or null if nothing is masked.
 */
export class TracePayload extends /** @type {Opened<ExplorerHeader>} */ (Envelope) {
  /** @type {Map<string, Kind>} */
  byName = new Map();
  /** Heads of a long text, whose numbers are made when they are asked for. @type {Recent<Float32Array>} */
  made = new Recent(MOST_MADE);
  /** @type {Recent<ExactCells>} */
  joined = new Recent(MOST_MADE);

  /** @param {Bytes} bytes */
  constructor(bytes) {
    super(bytes);
    for (const kind of this.kinds) this.byName.set(kind.kind, kind);
    if (this.joint) this._addJoint();
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
    return attention === constants.JOINT ? this._joint(layer, head) : this._cells(this.sent(attention), layer, head);
  }

  /** @type {(kind: SentKind, layer: number, head: number) => ExactCells} */
  _cells(kind, layer, head) {
    const nQueries = this.axes[kind.queries].length;
    const nKeys = this.axes[kind.keys].length;
    const size = nQueries * nKeys;
    const place = layer * kind.heads + head;
    const mask = kind.allowed[layer];
    const sent = kind.weights.subarray(place * size, (place + 1) * size);
    const { scales } = kind;
    const weights = scales === null ? /** @type {Float32Array} */ (sent) : this.made.of(`${kind.kind}/${place}`, size, () => weightsOf(sent, scales.subarray(place * nQueries), nKeys));
    return { weights, scale: 255, exact: scales === null, allowed: Array.isArray(mask) ? mask[head] : mask, nQueries, nKeys };
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

  /** @type {(layer: number, head: number) => ExactCells} */
  _joint(layer, head) {
    const size = this.axes[this.kind(constants.JOINT).queries].length;
    return this.joined.of(`${layer}/${head}`, size * size, () => this._join(layer, head, size));
  }

  /** @type {(layer: number, head: number, size: number) => ExactCells} */
  _join(layer, head, size) {
    const nSource = this.axes[this.sent("encoder").keys].length;
    const weights = new Float32Array(size * size);
    const allowed = new Uint8Array(size * size);
    const place = (/** @type {string} */ name, /** @type {number} */ top, /** @type {number} */ left) => {
      const kind = this.sent(name);
      if (layer >= kind.layers.length || head >= kind.heads) return;
      const part = this._cells(kind, layer, head);
      for (let query = 0; query < part.nQueries; query++) {
        for (let key = 0; key < part.nKeys; key++) {
          const from = query * part.nKeys + key;
          const to = (top + query) * size + left + key;
          weights[to] = part.weights[from];
          allowed[to] = part.allowed === null ? 1 : part.allowed[from];
        }
      }
    };
    place("encoder", 0, 0);
    place("cross", nSource, 0);
    place("decoder", nSource, nSource);
    return { weights, scale: 255, exact: this.kinds.every(({ scales }) => scales === null), allowed, nQueries: size, nKeys: size };
  }
}

/** The numbers of a head sent in 8 bits: squares of its steps times the scale of their row, as model/trace/rounded_weights.py made them.
 * @type {(steps: ArrayLike<number>, scales: Float32Array, nKeys: number) => Float32Array} */
function weightsOf(steps, scales, nKeys) {
  const weights = new Float32Array(steps.length);
  for (let at = 0, query = 0; at < steps.length; query++) {
    const scale = scales[query];
    for (const end = at + nKeys; at < end; at++) weights[at] = steps[at] * steps[at] * scale;
  }
  return weights;
}
