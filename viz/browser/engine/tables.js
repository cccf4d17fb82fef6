// Vocabularies whose pieces have the ids of a table, as model/paper/table_tokenizer.py reads them.

import { SPACE, corpusForm } from "./normalization.js";
import { TextError, Tokenizer, requireWhole } from "./tokenizer.js";

const LANGUAGE_TOKEN = /^>>[^<]*<<$/;
// What a text begins with to name the language to write.
const LANGUAGE_CODE = /^>>.*?<</s;
// The same where both sides have a language: the one of the text, the one to write.
const LANGUAGE_CODES = /^(?:\s*>>([^<>]+)<<)?\s*>>([^<>]+)<<\s*/;

/** What stands around every text. @typedef {{ languages: Record<string, number>, reads: string, writes: string, reads_last: boolean, first: number | null }} Frame */
/** One side's SentencePiece model in base64 and its table. @typedef {{ model: string, table: Record<string, number>, frame: Frame | null }} Side */
/** @type {Frame} */
const NO_FRAME = { languages: {}, reads: "", writes: "", reads_last: false, first: null };


/** The source's vocabulary and the target's, from the file that viz/site/model.py packs.
 * @type {(bytes: Bytes, config: ModelConfig) => Tokenizer[]} */
export function tablesOf(bytes, config) {
  /** @type {Side[]} */
  const sides = JSON.parse(new TextDecoder().decode(bytes));
  const sizes = [config.vocab_size, config.outputSize];
  return sides.map((side, place) => new TableTokenizer(side, config, sizes[place]));
}

class TableTokenizer extends Tokenizer {
  /** @param {Side} side @param {ModelConfig} config @param {number} size */
  constructor({ model, table, frame }, config, size) {
    super(Uint8Array.from(atob(model), (letter) => letter.charCodeAt(0)), { ownIds: false });
    this.beginsWithCode = !frame;
    this.frame = frame ?? NO_FRAME;
    this.spoken = Object.values(this.frame.languages);
    this.table = new Map(Object.entries(table));
    this.config = config;
    this.pieceCount = size;
    /** @type {Map<number, string>} */
    this.named = new Map([...this.table].map(([piece, id]) => [id, piece]));
    // Marian's start token is its padding, which begins no text; mBART's is a language.
    this.start = this.spoken.includes(config.bos_id) ? (this.named.get(config.bos_id) ?? "") : "<s>";
    this.named.set(config.bos_id, this.start).set(config.pad_id, "<pad>").set(config.eos_id, "</s>");
    this.languages = [...this.table.keys()].filter((piece) => LANGUAGE_TOKEN.test(piece)).sort();
  }

  /** @override @type {(text: string) => { before: number[], after: number[] }} */
  around(text) {
    if (this.spoken.length) {
      const own = [this.frame.languages[this.codes(text).reads]];
      return this.frame.reads_last ? { before: [], after: own } : { before: own, after: [] };
    }
    const named = this.languages.some((language) => text.startsWith(language));
    return { before: named || !this.languages.length ? [] : [this.table.get(this.languages[0]) ?? 0], after: [] };
  }

  /** @override @type {(text: string) => number[]} */
  opening(text) {
    const { languages, writes, first } = this.frame;
    if (writes) return [languages[this.codes(text).writes]];
    return first === null ? [] : [first];
  }

  /** The languages of a text and of its translation, and the text without their codes. @param {string} text */
  codes(text) {
    const { languages, reads, writes } = this.frame;
    const named = this.spoken.length ? LANGUAGE_CODES.exec(text) : null;
    if (!named) return { reads, writes, rest: text };
    const chosen = writes ? { reads: named[1] ?? reads, writes: named[2] } : { reads: named[2], writes };
    const unknown = Object.values(chosen).filter((code) => code && !(code in languages));
    if (unknown.length) {
      throw new TextError(`The model has no language ${unknown.join(", ")}; name one that it was trained on.`);
    }
    return { ...chosen, rest: text.slice(named[0].length) };
  }

  /** The beginning of a text that is one of its tokens, and what SentencePiece cuts. @param {string} text */
  parted(text) {
    if (!this.beginsWithCode) return ["", this.codes(text).rest];
    const code = LANGUAGE_CODE.exec(text)?.[0] ?? "";
    return [code, text.slice(code.length)];
  }

  get size() {
    return this.pieceCount;
  }

  /** @override @type {(text: string) => string} */
  readAs(text) {
    return this.parted(text)[1];
  }

  /** @override @type {(text: string) => number[]} */
  encode(text) {
    requireWhole(text);
    const [code, rest] = this.parted(text);
    /** @type {string[]} */
    const pieces = [];
    let unknown = false;
    for (const piece of this.cut(this.normalizer.normalized(rest))) {
      // Unknown characters beside each other are one piece.
      const joins = unknown && !this.ids.has(piece);
      unknown = !this.ids.has(piece);
      if (joins) pieces[pieces.length - 1] += piece;
      else pieces.push(piece);
    }
    if (code) pieces.unshift(code);
    return pieces.map((piece) => this.table.get(piece) ?? this.config.unk_id);
  }

  /** @override @type {(ids: number[]) => string} */
  decode(ids) {
    const { pad_id: pad, bos_id: bos, eos_id: eos, unk_id: unk } = this.config;
    const hidden = [pad, bos, eos, this.frame.first, ...this.spoken];
    const kept = ids.filter((id) => !hidden.includes(id));
    const spelled = kept.map((id) => (id === unk ? this.unknownSurface : this.pieces([id])[0])).join("");
    return spelled.replaceAll(SPACE, " ").trim();
  }

  /** @override @type {(ids: number[]) => string[]} */
  pieces(ids) {
    const named = ids.map((id) => this.named.get(id) ?? `<${id}>`);
    if (ids[0] === this.config.bos_id) named[0] = this.start;
    return named;
  }

  /** @override @type {(text: string) => string[]} */
  unseenCharacters(text) {
    const letters = new Set(corpusForm(this.readAs(text)));
    return [...letters].filter((character) => this.encode(character).includes(this.config.unk_id));
  }
}
