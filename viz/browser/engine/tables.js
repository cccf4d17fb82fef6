// Vocabularies whose pieces have the ids of a table, as model/paper/table_tokenizer.py reads them.

import { SPACE, corpusForm } from "./normalization.js";
import { Tokenizer, requireWhole } from "./tokenizer.js";

const LANGUAGE_TOKEN = /^>>[^<]*<<$/;
// What a text begins with to name the language to write.
const LANGUAGE_CODE = /^>>.*?<</s;

/** @typedef {{ model: string, table: Record<string, number> }} Side One side's SentencePiece model in base64 and its table. */

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
  constructor({ model, table }, config, size) {
    super(Uint8Array.from(atob(model), (letter) => letter.charCodeAt(0)), { ownIds: false });
    this.table = new Map(Object.entries(table));
    this.config = config;
    this.pieceCount = size;
    /** @type {Map<number, string>} */
    this.named = new Map([...this.table].map(([piece, id]) => [id, piece]));
    this.named.set(config.bos_id, "<s>").set(config.pad_id, "<pad>").set(config.eos_id, "</s>");
    this.languages = [...this.table.keys()].filter((piece) => LANGUAGE_TOKEN.test(piece)).sort();
  }

  get size() {
    return this.pieceCount;
  }

  /** @override @type {(text: string) => number[]} */
  encode(text) {
    requireWhole(text);
    const code = LANGUAGE_CODE.exec(text)?.[0] ?? "";
    /** @type {string[]} */
    const pieces = [];
    let unknown = false;
    for (const piece of this.cut(this.normalizer.normalized(text.slice(code.length)))) {
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
    const kept = ids.filter((id) => ![pad, bos, eos].includes(id));
    const spelled = kept.map((id) => (id === unk ? this.unknownSurface : this.pieces([id])[0])).join("");
    return spelled.replaceAll(SPACE, " ").trim();
  }

  /** @override @type {(ids: number[]) => string[]} */
  pieces(ids) {
    const named = ids.map((id) => this.named.get(id) ?? `<${id}>`);
    // Marian's start token is its padding, which begins no text.
    if (ids[0] === this.config.bos_id) named[0] = "<s>";
    return named;
  }

  /** @override @type {(text: string) => string[]} */
  unseenCharacters(text) {
    const letters = new Set(corpusForm(text.replace(LANGUAGE_CODE, "")));
    return [...letters].filter((character) => this.encode(character).includes(this.config.unk_id));
  }
}
