// Figure 1 in a file of its own, which plays there, and which a film is made of.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { ModelView } from "../browser/model_view/view.js";

const stands = drawnDocument((shadow) => new ModelView(part(shadow, ".model-view")));

/** Shows one share of what happens, as one frame of a film. */
globalThis.filmed = async (share) => {
  document.body.classList.add("filmed");
  (await stands).show(share);
};
