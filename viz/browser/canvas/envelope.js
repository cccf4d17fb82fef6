// Reads what viz/browser/envelope.py writes: a JSON header, then arrays as raw bytes. payloads.json describes both.

import payloads from "./payloads.json" with { type: "json" };

export const ID_START = 4;
const ID_LENGTH = 16;
export const HEADER_START = ID_START + ID_LENGTH + 4;

/** A kind of payload, or of a part of one, as payloads.json describes it.
 * @typedef {string | Description[] | { [name: string]: Description }} Description */

/** Each payload's description, with the values of the one that it holds, named by "...". @type {Record<string, { [name: string]: Description }>} */
export const PAYLOADS = Object.fromEntries(Object.entries(payloads).map(([name, kind]) => [name, whole(kind)]));

/** @type {(kind: { [name: string]: Description }) => { [name: string]: Description }} */
function whole({ "...": held, ...own }) {
  /** @type {Record<string, { [name: string]: Description }>} */
  const kinds = payloads;
  return typeof held === "string" ? { ...kinds[held], ...own } : own;
}

/** @type {Record<number, Uint8ArrayConstructor | Float32ArrayConstructor | Float64ArrayConstructor>} */
const NUMBERS = { 1: Uint8Array, 4: Float32Array, 8: Float64Array };

/** The payload's id, read without decoding the rest. @type {(bytes: Uint8Array) => string} */
export function payloadId(bytes) {
  return String.fromCharCode(...bytes.subarray(ID_START, ID_START + ID_LENGTH));
}

/**
 * The id and the values of an envelope; its arrays are typed arrays, and null stands for what is not a number.
 *
 * @type {<Read>(bytes: Uint8Array) => { id: string; values: Read }}
 */
export function opened(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(HEADER_START - 4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, HEADER_START + length)));
  const body = bytes.subarray(HEADER_START + length);
  return { id: payloadId(bytes), values: /** @type {never} */ (walked(PAYLOADS[header.payload], header, (type, place) => found(body, type, place))) };
}

/** The numbers of a head sent in 8 bits: squares of its steps times the scale of their row, as model/trace/rounded_weights.py made them.
 * @type {(steps: ArrayLike<number>, scales: Float32Array, nKeys: number) => Float32Array} */
export function weightsOfSteps(steps, scales, nKeys) {
  const weights = new Float32Array(steps.length);
  for (let at = 0, query = 0; at < steps.length; query++) {
    const scale = scales[query];
    for (const end = at + nKeys; at < end; at++) weights[at] = steps[at] * steps[at] * scale;
  }
  return weights;
}

/** The values of a payload among those of one that holds it. @type {(payload: string, values: { [name: string]: unknown }) => { [name: string]: unknown }} */
export function heldBy(payload, values) {
  return { ...Object.fromEntries(Object.keys(PAYLOADS[payload]).map((name) => [name, values[name]])), payload };
}

/** What is opened of an envelope: its values, and `id`. */
export class Envelope {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const { id, values } = opened(bytes);
    Object.assign(this, values, { id });
  }
}

/** What a value of a type is: itself, or what is found in its place of the body. @type {(body: Uint8Array, type: string, value: unknown) => unknown} */
function found(body, type, value) {
  if (!Array.isArray(value) || !["cells", "mask", "number", "numbers"].includes(type)) return value;
  if (type === "mask" && !Number.isInteger(value[0])) return value.map((each) => each && found(body, type, each));
  const [start, count, width] = /** @type {number[]} */ (value);
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
 * @type {(kind: Description, value: unknown, of: (type: string, value: unknown) => unknown) => unknown}
 */
export function walked(kind, value, of) {
  if (value === null) return null;
  if (Array.isArray(kind)) return /** @type {unknown[]} */ (value).map((each) => walked(kind[0], each, of));
  if (typeof kind === "string") return of(kind.replace(/\W.*/s, ""), value);
  const values = /** @type {Record<string, unknown>} */ (value);
  const [names, known] = [Object.keys(values), Object.keys(kind)];
  const others = [...names.filter((name) => !(name in kind)), ...known.filter((name) => !(name in values))];
  if (others.length) throw new Error(`A payload lacks these, or has no room for them: ${others.join(", ")}.`);
  return Object.fromEntries(known.map((name) => [name, walked(kind[name], values[name], of)]));
}
