// Text to token ids and back, as SentencePiece does it: unigram, BPE and word vocabularies.

import { inOrdinaryCase, isInCapitals } from "./letter_case.js";
import { SPACE, Normalizer, corpusForm } from "./normalization.js";
import { fieldsOf } from "./protobuf.js";
import { spelledBy } from "./utf8.js";

const PAD = 0;
const UNK = 1;
const BOS = 2;
const EOS = 3;

const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const BYTE = 6;

const UNKNOWN_PENALTY = 10;
const REMEMBERED_WORDS = 20000;

const HALF_A_CHARACTER = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** A text that cannot be run; the message says why and what to do. */
export class TextError extends Error {}

/** @typedef {{ piece: string, score: number, type: number }} Piece */

/** A trained SentencePiece vocabulary, from the bytes of a tokenizer.model. */
export class Tokenizer {
  /** Ids that name a text's language, before its tokens and after its end token.
   * @type {(text: string) => { before: number[], after: number[] }} */
  around() {
    return { before: [], after: [] };
  }

  /** Ids that a model is given as the beginning of a text's translation. @type {(text: string) => number[]} */
  opening() {
    return [];
  }

  /** @param {Bytes} bytes @param {{ ownIds?: boolean }} options whether its ids are the model's, special tokens first */
  constructor(bytes, { ownIds = true } = {}) {
    // Node's buffers are not sliced as other arrays are.
    const { pieces, trainer, normalizer } = readModel(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (ownIds) requireSpecials(pieces);
    this.vocabulary = pieces;
    this.normalizer = new Normalizer(normalizer);
    this.byteFallback = trainer.byteFallback;
    this.unknownSurface = trainer.unknownSurface;
    /** @type {Map<string, number>} */
    this.ids = new Map();
    /** @type {Map<number, number>} */
    this.byteIds = new Map();
    pieces.forEach(({ piece, type }, id) => {
      if (type === BYTE) this.byteIds.set(parseInt(piece.slice(3, 5), 16), id);
      else if (type === NORMAL) this.ids.set(piece, id);
      else if (type === USER_DEFINED) throw new Error("Vocabularies with user-defined symbols do not run in a page.");
    });
    const cut = CUTTERS[trainer.modelType];
    if (!cut) throw new Error("This page reads unigram, BPE and word vocabularies; this one is of another kind.");
    this.cut = cut(this);
  }

  get size() {
    return this.vocabulary.length;
  }

  /** What is cut into tokens: the text normalized, and in ordinary case if in capitals. @type {(text: string) => string} */
  readAs(text) {
    const plain = corpusForm(text);
    return isInCapitals(plain) ? inOrdinaryCase(plain, (word) => this.encode(word).length) : plain;
  }

  /** Token ids of a text, without start and end token. @type {(text: string) => number[]} */
  encode(text) {
    requireWhole(text);
    /** @type {number[]} */
    const ids = [];
    for (const piece of this.cut(this.normalizer.normalized(this.readAs(text)))) {
      const known = this.ids.get(piece);
      if (known !== undefined) ids.push(known);
      else if (this.byteFallback) ids.push(...this.spelled(piece));
      else if (ids.at(-1) !== UNK) ids.push(UNK);
    }
    return ids;
  }

  /** The ids of the bytes of a piece. @type {(piece: string) => number[]} */
  spelled(piece) {
    return Array.from(new TextEncoder().encode(piece), (byte) => this.byteIds.get(byte) ?? UNK);
  }

  /** Text of token ids; special tokens vanish. @type {(ids: number[]) => string} */
  decode(ids) {
    let text = "";
    /** @type {number[]} */
    let bytes = [];
    const spell = () => {
      text += characters(bytes);
      bytes = [];
    };
    for (const id of ids) {
      const { piece, type } = this.vocabulary[id];
      if (type === CONTROL) continue;
      if (type === BYTE) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      spell();
      if (type === UNKNOWN) text += this.unknownSurface;
      // The space at the start of a text was added by normalization.
      else text += (!text && piece.startsWith(SPACE) ? piece.slice(1) : piece).replaceAll(SPACE, " ");
    }
    spell();
    return text;
  }

  /** Each token as SentencePiece spells it. @type {(ids: number[]) => string[]} */
  pieces(ids) {
    return ids.map((id) => this.vocabulary[id].piece);
  }

  /** Characters of a text that the vocabulary can spell only as bytes, in order. @type {(text: string) => string[]} */
  unseenCharacters(text) {
    return [...new Set(this.readAs(text))].filter((character) =>
      this.encode(character).some((id) => id === UNK || this.vocabulary[id].type === BYTE),
    );
  }
}

/** @param {Bytes} bytes */
function readModel(bytes) {
  /** @type {Piece[]} */
  const pieces = [];
  const trainer = { modelType: 1, byteFallback: false, unknownSurface: " \u2047 " };
  const normalizer = {
    charsmap: new Uint8Array(0),
    addDummyPrefix: true,
    removeExtraWhitespaces: true,
    escapeWhitespaces: true,
  };
  const text = new TextDecoder("utf-8", { ignoreBOM: true });
  try {
    for (const [number, , message] of fieldsOf(bytes)) {
      if (number === 1) {
        const piece = { piece: "", score: 0, type: NORMAL };
        for (const [field, value, inner] of fieldsOf(message)) {
          if (field === 1) piece.piece = text.decode(inner);
          if (field === 2) piece.score = value;
          if (field === 3) piece.type = value;
        }
        pieces.push(piece);
      } else if (number === 2) {
        for (const [field, value, inner] of fieldsOf(message)) {
          if (field === 3) trainer.modelType = value;
          if (field === 35) trainer.byteFallback = Boolean(value);
          if (field === 44) trainer.unknownSurface = text.decode(inner);
        }
      } else if (number === 3) {
        for (const [field, value, inner] of fieldsOf(message)) {
          if (field === 2) normalizer.charsmap = inner;
          if (field === 3) normalizer.addDummyPrefix = Boolean(value);
          if (field === 4) normalizer.removeExtraWhitespaces = Boolean(value);
          if (field === 5) normalizer.escapeWhitespaces = Boolean(value);
        }
      }
    }
  } catch (error) {
    throw new Error("The tokenizer is not a SentencePiece model.", { cause: error });
  }
  return { pieces, trainer, normalizer };
}

/** @param {Piece[]} pieces */
function requireSpecials(pieces) {
  const specials = [UNK, PAD, BOS, EOS].map((id) => pieces[id]?.type);
  if (specials.join() !== [UNKNOWN, CONTROL, CONTROL, CONTROL].join()) {
    throw new Error("The tokenizer's pad, unk, bos and eos must have ids 0 to 3.");
  }
}

/** Throws a TextError for a text with half a character. @param {string} text */
export function requireWhole(text) {
  if (HALF_A_CHARACTER.test(text)) throw new TextError("The text contains half a character; write it anew.");
}

/** Text of bytes; a byte that belongs to no character becomes U+FFFD by itself. @type {(bytes: number[]) => string} */
function characters(bytes) {
  return spelledBy(Uint8Array.from(bytes), () => "\ufffd");
}

/** @typedef {(text: string) => string[]} Cut */
/** @typedef {{ vocabulary: Piece[], ids: Map<string, number> }} Vocabulary */
/** @type {Record<number, (vocabulary: Vocabulary) => Cut>} */
const CUTTERS = { 1: unigram, 2: bytePair, 3: words };

/** @type {(text: string) => string[]} */
function splitWords(text) {
  return text.match(/▁[^▁]*|^[^▁]+/g) ?? [];
}

function words() {
  return splitWords;
}

/** The segmentation with the largest sum of scores (Kudo 2018, section 3.1), by Viterbi.
 * @type {(vocabulary: Vocabulary) => Cut} */
function unigram({ vocabulary, ids }) {
  const known = vocabulary.filter(({ type }) => type === NORMAL);
  const unknown = Math.fround(Math.min(...known.map(({ score }) => score)) - UNKNOWN_PENALTY);
  const longest = Math.max(...known.map(({ piece }) => piece.length));

  return (text) => {
    const best = [{ sum: 0, start: 0 }];
    const reach = (/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ score) => {
      const sum = best[start].sum + score;
      // The sums of a path are kept in single precision, as SentencePiece keeps them.
      if (!best[end] || sum > best[end].sum) best[end] = { sum: Math.fround(sum), start };
    };
    for (let start = 0; start < text.length; ) {
      const size = (text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1;
      let alone = false;
      for (let end = start + size; end <= Math.min(text.length, start + longest); end += 1) {
        const id = ids.get(text.slice(start, end));
        if (id === undefined) continue;
        reach(start, end, vocabulary[id].score);
        alone ||= end === start + size;
      }
      if (!alone) reach(start, start + size, unknown);
      start += size;
    }
    const pieces = [];
    for (let end = text.length; end > 0; end = best[end].start) pieces.push(text.slice(best[end].start, end));
    return pieces.reverse();
  };
}

/** Characters merged pair by pair, the best pair first (Sennrich et al. 2016, section 3.2).
 * @type {(vocabulary: Vocabulary) => Cut} */
function bytePair({ vocabulary, ids }) {
  const inside = [...ids.keys()].some((piece) => piece.lastIndexOf(SPACE) > 0);
  /** @type {Map<string, string[]>} */
  const remembered = new Map();

  /** @type {(word: string) => string[]} */
  function merged(word) {
    const parts = [...word];
    for (;;) {
      let [place, most] = [-1, -Infinity];
      for (let i = 0; i + 1 < parts.length; i += 1) {
        const id = ids.get(parts[i] + parts[i + 1]);
        if (id !== undefined && vocabulary[id].score > most) [place, most] = [i, vocabulary[id].score];
      }
      if (place < 0) return parts;
      parts.splice(place, 2, parts[place] + parts[place + 1]);
    }
  }

  return (text) =>
    // No merge crosses words unless a piece does.
    (inside ? [text] : splitWords(text)).flatMap((word) => {
      let parts = remembered.get(word);
      if (!parts) {
        if (remembered.size >= REMEMBERED_WORDS) remembered.clear();
        remembered.set(word, (parts = merged(word)));
      }
      return parts;
    });
}
