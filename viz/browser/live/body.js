// Envelopes made in the browser, as viz/browser/envelope.py makes them; canvas/envelope.js reads them.

import { worded } from "../canvas/wording.js";

const MAGIC = "HSX1";
const DIGITS = 16;

let packings = 0;

/** Arrays one after another, and where each begins. */
export class PackedBody {
  constructor() {
    this.parts = [];
    this.length = 0;
    this.masks = new Map();
  }

  /** Where the bytes of a typed array begin. */
  add({ buffer, byteOffset, byteLength }) {
    const start = this.length;
    this.parts.push(new Uint8Array(buffer, byteOffset, byteLength));
    this.length += byteLength;
    return start;
  }

  /** The same for shares from 0 to 1, as one byte each. */
  addShares(shares) {
    return this.add(Uint8Array.from(shares, (share) => share * 255 + 0.5));
  }

  /** Where the mask of a map lies, or one for each head where they differ; null where all is allowed. */
  addMasks({ allowed }) {
    const size = allowed.queries * allowed.keys;
    const places = Array.from({ length: allowed.heads }, (_, head) =>
      this.addMask(allowed.bits.subarray(head * size, (head + 1) * size)),
    );
    return new Set(places).size > 1 ? places : places[0];
  }

  addMask(bits) {
    if (bits.every(Boolean)) return null;
    const content = bits.join("");
    if (!this.masks.has(content)) this.masks.set(content, this.add(bits));
    return this.masks.get(content);
  }
}

/** The envelope of a header and a body; every one has digits of its own. */
export function sealed(header, body) {
  packings += 1;
  const text = new TextEncoder().encode(JSON.stringify(worded(header)));
  const start = MAGIC.length + DIGITS + 4;
  const bytes = new Uint8Array(start + text.length + body.length);
  bytes.set(new TextEncoder().encode(MAGIC + String(packings).padStart(DIGITS, "0")));
  new DataView(bytes.buffer).setUint32(start - 4, text.length, true);
  bytes.set(text, start);
  let at = start + text.length;
  for (const part of body.parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
