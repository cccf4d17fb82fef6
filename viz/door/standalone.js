// Figure 1 in a file of its own, which plays there, and which a film is made of.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { Door } from "../browser/door/door.js";

const stands = drawnDocument((shadow) => new Door(part(shadow, ".door")));

/** Shows one share of what happens, as one frame of a film. */
globalThis.filmed = async (share) => {
  document.body.classList.add("filmed");
  (await stands).show(share);
};
