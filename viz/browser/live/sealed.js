// Envelopes made in the browser, byte for byte as viz/browser/envelope.py makes them but for their ids.

import { HEADER_START, ID_START, PAYLOADS, walked } from "../canvas/envelope.js";
import { worded } from "../canvas/wording.js";

const MAGIC = "HSX1";

let packings = 0;

/** The envelope of values, as payloads.json describes them; every one has an id of its own.
 * @type {(values: { payload?: string; [name: string]: unknown }) => Bytes} */
export function sealed(values) {
  packings += 1;
  const body = new Body();
  const header = walked(PAYLOADS[values.payload ?? ""], values, (type, value) => body.placed(type, value));
  const text = new TextEncoder().encode(JSON.stringify(worded(header)));
  const bytes = new Uint8Array(HEADER_START + text.length + body.length);
  const digits = HEADER_START - 4 - ID_START;
  bytes.set(new TextEncoder().encode(MAGIC + String(packings).padStart(digits, "0")));
  new DataView(bytes.buffer).setUint32(HEADER_START - 4, text.length, true);
  bytes.set(text, HEADER_START);
  let at = HEADER_START + text.length;
  for (const part of body.parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @typedef {[start: number, count: number, width: number]} Place */
/** @typedef {Uint8Array | Float32Array | Float64Array} TypedCells */
/** Bits of a layer, or of each head. @typedef {Uint8Array | (Uint8Array | null)[]} Mask */

/** Arrays one after another, and where each lies. */
class Body {
  /** @type {Uint8Array[]} */
  parts = [];
  length = 0;
  /** @type {Map<string, Place>} */
  masks = new Map();

  /** What stands in the header for a value. @type {(type: string, value: unknown) => unknown} */
  placed(type, value) {
    if (type === "cells") return this.add(/** @type {TypedCells[]} */ (Array.isArray(value) ? value : [value]));
    if (type === "number") return this.add([Float64Array.of(Number(value))]);
    if (type === "numbers") return this.add([Float64Array.from(/** @type {(number | null)[]} */ (value), (each) => each ?? NaN)]);
    return type === "mask" ? this.mask(/** @type {Mask} */ (value)) : value;
  }

  /** @type {(arrays: TypedCells[]) => Place} */
  add(arrays) {
    const start = this.length;
    for (const { buffer, byteOffset, byteLength } of arrays) {
      this.parts.push(new Uint8Array(buffer, byteOffset, byteLength));
      this.length += byteLength;
    }
    const width = arrays[0].BYTES_PER_ELEMENT;
    return [start, (this.length - start) / width, width];
  }

  /** A layer's mask, or one for each head where they differ; null where all is allowed.
   * @type {(bits: Mask) => Place | (Place | null)[] | null} */
  mask(bits) {
    if (Array.isArray(bits)) {
      const places = bits.map((each) => each && this.one(each));
      return places.some((place) => place !== places[0]) ? places : places[0];
    }
    return this.one(bits);
  }

  /** @type {(bits: Uint8Array) => Place | null} */
  one(bits) {
    if (bits.every(Boolean)) return null;
    const content = bits.join("");
    const place = this.masks.get(content) ?? this.add([bits]);
    this.masks.set(content, place);
    return place;
  }
}
