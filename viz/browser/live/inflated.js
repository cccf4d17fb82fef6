// Bytes that were deflated, and those that stand in a page as text.

/** The bytes that were deflated. @type {(packed: Bytes) => Promise<Bytes>} */
export async function inflate(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The bytes of base64 text that holds them deflated. @type {(text: string) => Promise<Bytes>} */
export async function inflated(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) packed[i] = letters.charCodeAt(i);
  return inflate(packed);
}
