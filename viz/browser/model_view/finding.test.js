import assert from "node:assert/strict";
import { test } from "node:test";

import { placesWith } from "./finding.js";

test("a text is found within tokens, in whatever case, and an empty one nowhere", () => {
  const texts = ["The", "cat", "the", "o…ther", "</s>"];
  assert.deepEqual([placesWith(texts, "THE"), placesWith(texts, " cat "), placesWith(texts, "dog"), placesWith(texts, "  ")], [[0, 2, 3], [1], [], []]);
});
