// A reader of protocol buffers, as much as a SentencePiece model needs.

const VARINT = 0;
const EIGHT_BYTES = 1;
const BYTES = 2;
const FOUR_BYTES = 5;
const NONE = new Uint8Array(0);

/** The fields of a message in order, each with its value as a number, or as bytes.
 * @type {(bytes: Bytes) => Generator<[field: number, value: number, bytes: Bytes]>} */
export function* fieldsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  function varint() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at];
      at += 1;
      if (byte === undefined) throw new RangeError("The message ends within a number.");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  while (at < bytes.length) {
    const key = varint();
    const number = Math.floor(key / 8);
    const wire = key % 8;
    if (wire === VARINT) {
      yield [number, varint(), NONE];
    } else if (wire === BYTES) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError("The message ends within a field.");
      yield [number, 0, bytes.subarray(at, at + length)];
      at += length;
    } else if (wire === FOUR_BYTES) {
      yield [number, view.getFloat32(at, true), NONE];
      at += 4;
    } else if (wire === EIGHT_BYTES) {
      at += 8;
    } else {
      throw new RangeError(`A field has the unknown type ${wire}.`);
    }
  }
}
