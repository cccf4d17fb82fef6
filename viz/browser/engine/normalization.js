// Text in the form a vocabulary was trained on: that of the corpora (model/paper/tokenizer.py), then
// SentencePiece's own, whose rules are a trie in a double array (Darts) with its replacements.

import { withoutInvisible } from "./invisible.js";

export const SPACE = "▁";

const TO_ASCII = new Map([
  ...pairs("„“”«»‟″", '"'),
  ...pairs("‚‘’‛‹›′`´", "'"),
  ...pairs("–—―−‐‑", "-"),
  ...pairs("…", "..."),
]);
const REPLACED = new RegExp(`[${[...TO_ASCII.keys()].join("")}]`, "g");

// What Python's str.split() takes for white space.
const WHITE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** @type {(characters: string, plain: string) => [string, string][]} */
function pairs(characters, plain) {
  return [...characters].map((character) => [character, plain]);
}

/** NFC, plain quotes and dashes, single spaces, nothing that takes no room. @type {(text: string) => string} */
export function corpusForm(text) {
  const plain = withoutInvisible(text).normalize("NFC").replace(REPLACED, (character) => TO_ASCII.get(character) ?? "");
  return plain.split(WHITE).filter(Boolean).join(" ");
}

/** @typedef {{ charsmap: Bytes, addDummyPrefix: boolean, removeExtraWhitespaces: boolean, escapeWhitespaces: boolean }} Spec */

/** SentencePiece's normalization, from the fields of its NormalizerSpec. */
export class Normalizer {
  /** @param {Spec} spec */
  constructor({ charsmap, addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces }) {
    this.addDummyPrefix = addDummyPrefix;
    this.removeExtraWhitespaces = removeExtraWhitespaces;
    this.space = escapeWhitespaces ? SPACE : " ";
    this.trailing = new RegExp(`${this.space}+$`);
    this.units = new Uint32Array(0);
    this.replacements = new Uint8Array(0);
    if (charsmap.length > 4) {
      const size = new DataView(charsmap.buffer, charsmap.byteOffset).getUint32(0, true);
      this.units = new Uint32Array(charsmap.slice(4, 4 + size).buffer);
      this.replacements = charsmap.subarray(4 + size);
    }
  }

  /** @type {(text: string) => string} */
  normalized(text) {
    const bytes = new TextEncoder().encode(text);
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let written = "";
    for (let at = 0; at < bytes.length; ) {
      const [start, length] = this.longestRule(bytes, at);
      const size = length || characterSize(bytes[at]);
      written += length ? decoder.decode(this.replacement(start)) : decoder.decode(bytes.subarray(at, at + size));
      at += size;
    }
    if (this.removeExtraWhitespaces) written = written.replace(/ +/g, " ").replace(/^ /, "");
    if (!written) return "";
    const spaced = ((this.addDummyPrefix ? " " : "") + written).replaceAll(" ", this.space);
    // SentencePiece drops the sign for a space at the end even where the text had it.
    return this.removeExtraWhitespaces ? spaced.replace(this.trailing, "") : spaced;
  }

  /** The longest rule for the bytes from `at` on: where its replacement starts, and its length.
   * @type {(bytes: Uint8Array, at: number) => [start: number, length: number]} */
  longestRule(bytes, at) {
    /** @type {[number, number]} */
    let found = [0, 0];
    if (!this.units.length) return found;
    let node = offset(this.units[0]);
    for (let length = 1; at + length <= bytes.length; length += 1) {
      const byte = bytes[at + length - 1];
      node ^= byte;
      const unit = this.units[node];
      if (unit === undefined || label(unit) !== byte) return found;
      node ^= offset(unit);
      if (hasLeaf(unit)) found = [this.units[node] & 0x7fffffff, length];
    }
    return found;
  }

  /** @type {(start: number) => Uint8Array} */
  replacement(start) {
    return this.replacements.subarray(start, this.replacements.indexOf(0, start));
  }
}

/** @type {(first: number) => number} */
function characterSize(first) {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

// A unit of the double array: whether a rule ends here, the byte that leads here, and where the
// node's children are.
/** @type {(unit: number) => number} */
function hasLeaf(unit) {
  return (unit >>> 8) & 1;
}

/** @type {(unit: number) => number} */
function label(unit) {
  return (unit & 0x800000ff) >>> 0;
}

/** @type {(unit: number) => number} */
function offset(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
