// What Python wrote and says of it, for tests of what reads it; tests/viz/browser/test_javascript.py makes it.

import { readFileSync } from "node:fs";

export const fixtures = JSON.parse(readFileSync(process.env.HEADSCOPE_FIXTURES, "utf8"));

export function bytes(base64) {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}
