// UTF-8 with bytes that belong to no character.

const LONGEST = 4;

/** The text of bytes; `stray` gives that of a byte which belongs to no character.
 * @type {(bytes: Uint8Array, stray: (byte: number) => string) => string} */
export function spelledBy(bytes, stray) {
  return charactersOf(bytes, stray).map(([text]) => text).join("");
}

/** The characters of bytes, each with how many bytes it has, and the strays.
 * @type {(bytes: Uint8Array, stray: (byte: number) => string) => [string, number][]} */
export function charactersOf(bytes, stray) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** @type {[string, number][]} */
  const found = [];
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
    const taken = character === null ? 1 : size;
    found.push([character ?? stray(bytes[place]), taken]);
    place += taken;
  }
  return found;
}
