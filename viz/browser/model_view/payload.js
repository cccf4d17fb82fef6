// Reads the animated Figure 1 from a payload of viz/model_page/payload.py: a trace, and what else the model did.

import constants from "../../draw/constants.json" with { type: "json" };
import { TracePayload } from "../canvas/trace_payload.js";
import { tr } from "../canvas/wording.js";

/** One sentence in one model: its heads, its words, the arcs between them, and every block's values. */
export class Figure extends /** @type {new (bytes: Bytes) => TracePayload & Omit<FigureHeader, keyof TracePayload>} */ (TracePayload) {
  /** The image whose patches are read, once it is decoded. @type {ImageBitmap | null} */
  image = null;

  /** @param {Bytes} bytes */
  constructor(bytes) {
    super(bytes);
    this.decoding = this.picture && createImageBitmap(new Blob([this.picture])).then((image) => (this.image = image));
    for (const stack of this.stacks) {
      stack.tokens = this.axis(this.sent(stack.kind).queries);
      for (const block of stack.blocks) Object.assign(block, this._ofKind(block.kind));
    }
    const { reading } = /** @type {{ reading?: Bytes | null }} */ (/** @type {unknown} */ (this));
    this.reading = reading ? new TracePayload(reading) : null;
    if (this.decoder && this.joint) {
      const { name, queries } = this.kind(constants.JOINT);
      this.decoder.joint = { kind: constants.JOINT, name, keySide: "source", tokens: this.axis(queries), ...this._ofKind(constants.JOINT) };
    }
  }

  /** What a block has of its kind of attention. @type {(name: string) => Omit<FigureBlock, "kind" | "name" | "keySide">} */
  _ofKind(name) {
    const { layers, heads, queries, keys, facts, q, k, v, scores } = this.sent(name);
    const labels = facts.map((layer) => layer.map(({ label }) => label));
    return { layers, heads, queries: this.axis(queries).length, keys: this.axis(keys).length, labels, q, k, v, scores };
  }

  get encoder() {
    return this.stacks.find(({ kind }) => kind !== "decoder") ?? null;
  }

  get decoder() {
    return this.stacks.find(({ kind }) => kind === "decoder") ?? null;
  }

  /** The number of layers of a stack. @type {(stack: FigureStack | null) => number} */
  depth(stack) {
    return stack ? stack.blocks[0].layers.length : 0;
  }

  /** One head's weights with its mask; `layer` counts the drawn layers.
   * @type {(attention: string | Pick<FigureBlock, "kind">, layer: number, head: number) => ExactCells} */
  cells(attention, layer, head) {
    return super.cells(typeof attention === "string" ? attention : attention.kind, layer, head);
  }

  /** How much a feed-forward layer adds to each token, as a share of the stack's maximum. @type {(stack: Pick<FigureStack, "tokens" | "added">, place: number) => Float32Array} */
  added(stack, place) {
    const count = stack.tokens.length;
    const added = stack.added ?? new Float32Array();
    const most = Math.max(...added);
    return added.subarray(place * count, (place + 1) * count).map((share) => share / most);
  }

  /** A stack's position table, (dimension, token); 0 to 255 with zero in the middle. @type {(stack: Pick<FigureStack, "tokens" | "positions">) => Cells} */
  positionCells(stack) {
    const { cells: table, dimensions } = stack.positions ?? { cells: new Uint8Array(), dimensions: 0 };
    const count = stack.tokens.length;
    const weights = Uint8Array.from(table, (_, place) => table[(place % count) * dimensions + Math.floor(place / count)]);
    return { weights, scale: 1, allowed: null, nQueries: dimensions, nKeys: count, middle: 127.5 };
  }

  /** The temperatures at which the next tokens can be shown; none where that is not known. */
  get offeredTemperatures() {
    return this.next?.every(({ normalizers }) => normalizers) ? this.temperatures : [];
  }

  /** The probabilities of a step's next tokens, at the temperature of that index: softmax(logits / temperature).
   * @type {(step: NextTokens, place: number) => number[]} */
  sharesAt({ shares, normalizers }, place) {
    const temperature = this.temperatures[place];
    // As they were sent, to the last digit.
    return temperature === 1 ? shares : shares.map((share) => Math.exp(Math.log(share) / temperature - (normalizers?.[place] ?? 0)));
  }

  /** A written word's attention to a source word. @type {(frame: number, written: number, read: number) => number} */
  arc(frame, written, read) {
    return this.arcs.weights[(frame * this.written.length + written) * this.read.length + read];
  }

  /** The index of a token's word, or -1. The decoder reads each token `offset` positions after writing it.
   * @type {(side: Side, token: number) => number} */
  wordOf(side, token) {
    const [words, place] = this.wordsOf(side, token);
    return words.findIndex(({ first, tokens }) => first <= place && place < first + tokens.length);
  }

  /** @type {(side: Side, token: number) => [FigureWord[], number]} */
  wordsOf(side, token) {
    return side === "target" ? [this.written, token - this.offset] : [this.read, token];
  }

  /** The side of the written words; an encoder alone has only its source. */
  get writtenSide() {
    return /** @type {Side} */ (this.decoder ? "target" : "source");
  }

  /** One sentence per written word: the word it looks at most. @type {(frame: number) => string} */
  spoken(frame) {
    return this.written.map((_, place) => this.spokenWord(frame, place)).filter(Boolean).join(" ");
  }

  /** The word that a written word looks at most, in a sentence; empty where it looks at none.
   * @type {(frame: number, place: number) => string} */
  spokenWord(frame, place) {
    const weights = this.read.map((_, read) => (this.rows === 1 && read === place ? 0 : this.arc(frame, place, read)));
    const most = weights.indexOf(Math.max(...weights));
    return most < 0 || weights[most] === 0 ? "" : tr("“{word}” looks most at “{seen}”.", { word: this.written[place].text, seen: this.read[most].text });
  }

  /** A token that is followed, in words: with what it looks at, or what looks at it.
   * @type {(side: Side, token: number) => string} */
  spokenToken(side, token) {
    const { tokens } = this.stacks.find((each) => each.side === side) ?? { tokens: [] };
    const named = tr("Token {token} of {count}: “{text}”.", { token: token + 1, count: tokens.length, text: tokens[token] });
    const frame = this.arcs.frames - 1;
    const word = this.wordOf(side, token);
    if (word < 0) return named;
    const looking =
      side === this.writtenSide ? [word] : this.written.map((_, place) => place).filter((place) => this._most(frame, place) === word);
    return [named, ...looking.map((place) => this.spokenWord(frame, place))].filter(Boolean).join(" ");
  }

  /** @type {(frame: number, place: number) => number} */
  _most(frame, place) {
    const weights = this.read.map((_, read) => this.arc(frame, place, read));
    return weights.indexOf(Math.max(...weights));
  }
}
