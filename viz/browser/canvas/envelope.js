// Reads what viz/browser/envelope.py writes: a JSON header, then arrays as raw bytes.

const ID_START = 4;
const ID_LENGTH = 16;
const HEADER_START = ID_START + ID_LENGTH + 4;

/** The payload's id, read without decoding the rest. */
export function payloadId(bytes) {
  return String.fromCharCode(...bytes.subarray(ID_START, ID_START + ID_LENGTH));
}

/** The id, header and body of an envelope. */
export function opened(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(HEADER_START - 4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, HEADER_START + length)));
  return { id: payloadId(bytes), header, body: bytes.subarray(HEADER_START + length) };
}

/** `count` 32-bit floats of a body from byte `start`; copied, because a Float32Array view needs aligned bytes. */
export function floats(body, start, count) {
  return new Float32Array(body.slice(start, start + 4 * count).buffer);
}
