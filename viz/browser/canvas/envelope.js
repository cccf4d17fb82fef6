// What Python sends, read back: a header of JSON, then arrays as plain bytes.

const ID_START = 4;
const ID_LENGTH = 16;
const HEADER_START = ID_START + ID_LENGTH + 4;

/** The id of a payload, read without decoding the rest. */
export function payloadId(bytes) {
  return String.fromCharCode(...bytes.subarray(ID_START, ID_START + ID_LENGTH));
}

/** An envelope of viz/browser/envelope.py: its id, its header and its body. */
export function opened(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(HEADER_START - 4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, HEADER_START + length)));
  return { id: payloadId(bytes), header, body: bytes.subarray(HEADER_START + length) };
}

/** 32-bit floats of a body; copied, since a view of 4-byte numbers may not begin at just any byte. */
export function floats(body, start, count) {
  return new Float32Array(body.slice(start, start + 4 * count).buffer);
}
