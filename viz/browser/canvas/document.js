// A drawing in a file of its own: what the app's page and its server do for it elsewhere.

import { inflated } from "../live/inflated.js";
import { part } from "./dom.js";

/**
 * Draws what a document of viz/save/document.py holds.
 *
 * @template {Drawing<Bytes>} Made
 * @param {(root: ShadowRoot) => Made} make - the drawing in a shadow root, with `update(bytes, report, trigger)`.
 * @returns {Promise<Made>} the drawing, when it stands.
 */
export async function drawnDocument(make) {
  const [trouble, payload, place] = ["trouble", "payload", "drawing"].map((id) => part(document, `#${id}`));
  let update = () => {};
  // A notebook says whether it is dark when it has loaded the page, which may be before it is drawn.
  addEventListener("message", ({ data, source }) => {
    if (source !== parent || !["light", "dark"].includes(data?.theme)) return;
    document.documentElement.dataset.theme = data.theme;
    update();
  });
  try {
    const bytes = await inflated(payload.textContent);
    const drawing = make(/** @type {ShadowRoot} */ (place.shadowRoot));
    update = () => drawing.update(bytes, () => {}, () => {});
    update();
    // It draws anew where the page's background has changed.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
    trouble.remove();
    return drawing;
  } catch (error) {
    trouble.textContent = `This browser cannot draw the picture (${/** @type {Error} */ (error).message}); use a browser from 2023 or later.`;
    throw error;
  }
}
