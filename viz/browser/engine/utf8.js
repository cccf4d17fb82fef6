// UTF-8 with bytes that belong to no character.

const LONGEST = 4;

/** The text of bytes; `stray` gives that of a byte which belongs to no character.
 * @type {(bytes: Uint8Array, stray: (byte: number) => string) => string} */
export function spelledBy(bytes, stray) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let place = 0; place < bytes.length; ) {
    let size = 0;
    /** @type {string | null} */
    let character = null;
    while (character === null && size < LONGEST) {
      size += 1;
      try {
        character = decoder.decode(bytes.subarray(place, place + size));
      } catch {
        // Not so many bytes.
      }
    }
    text += character ?? stray(bytes[place]);
    place += character === null ? 1 : size;
  }
  return text;
}
