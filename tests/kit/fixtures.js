// Data written by Python and the expected readings; made by tests/viz/browser/test_javascript.py.

import { readFileSync } from "node:fs";

export const fixtures = JSON.parse(readFileSync(process.env.HEADSCOPE_FIXTURES, "utf8"));

export function bytes(base64) {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}
