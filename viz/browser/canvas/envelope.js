// Reads what viz/browser/envelope.py writes: a JSON header, then arrays as raw bytes. payloads.json describes both.

import payloads from "./payloads.json" with { type: "json" };

export const ID_START = 4;
const ID_LENGTH = 16;
export const HEADER_START = ID_START + ID_LENGTH + 4;

const NUMBERS = { 1: Uint8Array, 4: Float32Array, 8: Float64Array };

/** The payload's id, read without decoding the rest. */
export function payloadId(bytes) {
  return String.fromCharCode(...bytes.subarray(ID_START, ID_START + ID_LENGTH));
}

/** The id and the values of an envelope; its arrays are typed arrays, and null stands for what is not a number. */
export function opened(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(HEADER_START - 4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, HEADER_START + length)));
  const body = bytes.subarray(HEADER_START + length);
  return { id: payloadId(bytes), values: walked(payloads[header.payload], header, (type, place) => found(body, type, place)) };
}

function found(body, type, place) {
  if (type === "mask" && !Number.isInteger(place[0])) return place.map((each) => each && found(body, type, each));
  if (!["cells", "mask", "number", "numbers"].includes(type)) return place;
  const [start, count, width] = place;
  const bytes = body.subarray(start, start + count * width);
  if (width === 1) return bytes;
  // A view of wider numbers needs aligned bytes.
  const numbers = new NUMBERS[width](bytes.slice().buffer);
  if (type === "cells") return numbers;
  const plain = Array.from(numbers, (each) => (Number.isNaN(each) ? null : each));
  return type === "number" ? plain[0] : plain;
}

/**
 * Values with each part replaced by what `of` makes of its type and itself.
 *
 * @param {object} kind - a payload of payloads.json, or a part of one.
 */
export function walked(kind, value, of) {
  if (value === null) return null;
  if (Array.isArray(kind)) return value.map((each) => walked(kind[0], each, of));
  if (typeof kind === "string") return of(/^\w+/.exec(kind)[0], value);
  const [names, known] = [Object.keys(value), Object.keys(kind)];
  const others = [...names.filter((name) => !(name in kind)), ...known.filter((name) => !(name in value))];
  if (others.length) throw new Error(`A payload lacks these, or has no room for them: ${others.join(", ")}.`);
  return Object.fromEntries(known.map((name) => [name, walked(kind[name], value[name], of)]));
}
