// Characters that nobody sees, as model/paper/tokenizer.py leaves them out.

const INVISIBLE =
  /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<![\u0600-\u1cff])[\u200c\u200d]/gu;

/** Text without the characters that take no room, such as a soft hyphen or a byte order mark.
 * @type {(text: string) => string} */
export function withoutInvisible(text) {
  return text.replace(INVISIBLE, "");
}
