// An act in a file of its own, which plays there, and which a film is made of.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { ActView } from "../browser/act/view.js";

const stands = drawnDocument((shadow) => new ActView(part(shadow, ".act")));

/** Shows one share of the act as one frame of a film. */
globalThis.filmed = async (share) => {
  document.body.classList.add("filmed");
  const view = await stands;
  view.root.classList.add("filmed");
  view.show(share);
};
