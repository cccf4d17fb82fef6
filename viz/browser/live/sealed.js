// Envelopes made in the browser, byte for byte as viz/browser/envelope.py makes them but for their ids.

import { HEADER_START, ID_START, walked } from "../canvas/envelope.js";
import payloads from "../canvas/payloads.json" with { type: "json" };
import { worded } from "../canvas/wording.js";

const MAGIC = "HSX1";

let packings = 0;

/** The envelope of values, as payloads.json describes them; every one has an id of its own. */
export function sealed(values) {
  packings += 1;
  const body = new Body();
  const header = walked(payloads[values.payload], values, (type, value) => body.placed(type, value));
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

/** Shares from 0 to 1 as one byte each, to half a step of 1/255. */
export function stepsOf(shares) {
  return Uint8Array.from(shares, (share) => share * 255 + 0.5);
}

/** Arrays one after another, and where each lies. */
class Body {
  constructor() {
    this.parts = [];
    this.length = 0;
    this.masks = new Map();
  }

  /** What stands in the header for a value. */
  placed(type, value) {
    if (type === "cells") return this.add(Array.isArray(value) ? value : [value]);
    if (type === "number") return this.add([Float64Array.of(value)]);
    if (type === "numbers") return this.add([Float64Array.from(value, (each) => each ?? NaN)]);
    return type === "mask" ? this.mask(value) : value;
  }

  add(arrays) {
    const start = this.length;
    for (const { buffer, byteOffset, byteLength } of arrays) {
      this.parts.push(new Uint8Array(buffer, byteOffset, byteLength));
      this.length += byteLength;
    }
    const width = arrays[0].BYTES_PER_ELEMENT;
    return [start, (this.length - start) / width, width];
  }

  /** A layer's mask, or one for each head where they differ; null where all is allowed. */
  mask(bits) {
    if (Array.isArray(bits)) {
      const places = bits.map((each) => each && this.mask(each));
      return places.some((place) => place !== places[0]) ? places : places[0];
    }
    if (bits.every(Boolean)) return null;
    const content = bits.join("");
    if (!this.masks.has(content)) this.masks.set(content, this.add([bits]));
    return this.masks.get(content);
  }
}
