// Figure 1 in a file of its own, which plays there, and which a film is made of.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { Guide } from "../browser/model_view/guide.js";
import { ModelView } from "../browser/model_view/view.js";
import { filmOfWalk } from "../browser/model_view/walk_film.js";

const stands = drawnDocument((shadow) => new ModelView(part(shadow, ".model-view"), { guides: (travel) => new Guide(travel) }));
/** @type {Promise<(share: number) => void | Promise<void>> | null} */
let film = null;

/** Shows one share of what happens, or of the walk if the file has begun it, as one frame of a film. */
globalThis.filmed = async (share) => {
  document.body.classList.add("filmed");
  const view = await stands;
  film ??= view.travel.guide.stop ? filmOfWalk(view) : Promise.resolve((at) => view.show(at));
  await (await film)(share);
};
