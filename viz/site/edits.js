// Painted masks as an address has them (viz/links/mask_edits.py), such as "decoder:*:8x8.…".

const EDIT = /^(encoder|decoder|cross):(\*|\d{1,2}(?:,\d{1,2})*):(\d{1,3})x(\d{1,3})\.([A-Za-z0-9_-]*)$/;
/** A mask as an address has it; layers are null for all. @typedef {{ kind: string, layers: number[] | null, bits: Uint8Array, queries: number, keys: number }} PaintedEdit */

const MOST_EDITS = 32;
const MOST_TOKENS = 512;

/** The masks of a text, {kind, layers, bits, queries, keys}; layers are null for all. Those that cannot be read, or are for
 * a place that has one already, are left out. */
/** @type {(text: string) => Promise<PaintedEdit[]>} */
export async function readEdits(text) {
  const found = await Promise.all(text.split("~").slice(0, MOST_EDITS).map(readEdit));
  /** @type {Set<string>} */
  const taken = new Set();
  return found.flatMap((edit) => {
    const places = edit ? engineMasks(edit).map(({ kind, layer }) => `${kind}.${layer}`) : [];
    if (!edit || places.some((place) => taken.has(place)) || new Set(places).size < places.length) return [];
    places.forEach((place) => taken.add(place));
    return [edit];
  });
}

/** A mask as the engine takes it, one for each layer. @type {(edit: PaintedEdit) => MaskEdit[]} */
export function engineMasks({ kind, layers, bits, queries, keys }) {
  return (layers ?? [null]).map((layer) => ({ kind, layer, allowed: { bits, heads: 1, queries, keys } }));
}

/**
 * The masks of a text for a decoding (viz/links/link_interventions.py): `masks` as the engine takes them; whether the text
 * `fits`, else there are none; and whether one opens words to the decoder that it has not written yet, which stay closed.
 *
 * @type {(text: string, nSource: number | undefined, kinds: Kind[]) =>
 *   Promise<{ masks: MaskEdit[]; fits: boolean; looksAhead: boolean }>}
 */
export async function masksFor(text, nSource, kinds) {
  const edits = text ? await readEdits(text) : [];
  const isWhole = edits.length === (text ? text.split("~").length : 0);
  const fits = edits.every(({ kind, layers, queries, keys }) => {
    const known = kinds.find((each) => each.kind === kind)?.layers ?? [];
    const sizes = kind === "encoder" ? [queries, keys] : kind === "cross" ? [keys] : [];
    return sizes.every((size) => size === nSource) && (layers ?? []).every((layer) => known.includes(layer));
  });
  if (!isWhole || !fits) return { masks: [], fits: false, looksAhead: false };
  const isLater = (/** @type {PaintedEdit} */ { kind, keys }, /** @type {number} */ cell) => kind === "decoder" && cell % keys > Math.floor(cell / keys);
  const closed = edits.map((edit) => ({ ...edit, bits: edit.bits.map((bit, cell) => (isLater(edit, cell) ? 0 : bit)) }));
  const looksAhead = edits.some((edit, place) => edit.bits.some((bit, cell) => bit !== closed[place].bits[cell]));
  return { masks: closed.flatMap(engineMasks), fits: true, looksAhead };
}

/** @type {(text: string) => Promise<PaintedEdit | null>} */
async function readEdit(text) {
  const [, kind, layers, queries, keys, packed] = EDIT.exec(text) ?? [];
  const size = [Number(queries), Number(keys)];
  if (!kind || Math.max(...size) > MOST_TOKENS || !Math.min(...size)) return null;
  const cells = size[0] * size[1];
  const letters = packed.replaceAll("-", "+").replaceAll("_", "/");
  const bytes = await unpacked(letters, Math.ceil(cells / 8));
  if (!bytes) return null;
  const bits = Uint8Array.from({ length: cells }, (_, cell) => (bytes[cell >> 3] >> (7 - (cell & 7))) & 1);
  // Each cell is compared with its neighbour one up and one to the left.
  for (let cell = size[1]; cell < cells; cell += 1) if (cell % size[1]) bits[cell] ^= bits[cell - size[1] - 1];
  return { kind, layers: layers === "*" ? null : layers.split(",").map(Number), bits, queries: size[0], keys: size[1] };
}

/** Exactly so many bytes of deflated base64; null where it is anything else.
 * @type {(letters: string, size: number) => Promise<Bytes | null>} */
async function unpacked(letters, size) {
  try {
    const given = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const reader = new Blob([given]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const bytes = new Uint8Array(size);
    let length = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (length + part.value.length > size) return null;
      bytes.set(part.value, length);
      length += part.value.length;
    }
    return length === size ? bytes : null;
  } catch {
    return null;
  }
}

/** A mask for all layers of a kind as text. @type {(edit: Omit<PaintedEdit, "layers">) => Promise<string>} */
export async function writtenEdit({ kind, bits, queries, keys }) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, cell) => {
    const before = cell >= keys && cell % keys ? bits[cell - keys - 1] : 0;
    bytes[cell >> 3] |= (bit ^ before) << (7 - (cell & 7));
  });
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `${kind}:*:${queries}x${keys}.${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** A mask cut to so many queries and keys: what a batch adds is padding; null if it is too small.
 * @type {(edit: PaintedEdit, nQueries: number, nKeys: number) => PaintedEdit | null} */
export function fittedEdit({ bits, queries, keys, ...edit }, nQueries, nKeys) {
  if (queries < nQueries || keys < nKeys) return null;
  const cut = Uint8Array.from({ length: nQueries * nKeys }, (_, cell) => bits[Math.floor(cell / nKeys) * keys + (cell % nKeys)]);
  return { ...edit, bits: cut, queries: nQueries, keys: nKeys };
}
