// A drawing in a file of its own: what the app's page and its server do for it elsewhere.

import { inflated } from "../live/inflated.js";

/**
 * Draws what a document of viz/save/document.py holds.
 *
 * @param {function} make - the drawing in a shadow root, with `update(bytes, report, trigger)`.
 * @returns {Promise} the drawing, when it stands.
 */
export async function drawnDocument(make) {
  const trouble = document.querySelector("#trouble");
  try {
    const bytes = await inflated(document.querySelector("#payload").textContent);
    const drawing = make(document.querySelector("#drawing").shadowRoot);
    const update = () => drawing.update(bytes, () => {}, () => {});
    update();
    // It draws anew where the page's background has changed.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
    trouble.remove();
    return drawing;
  } catch (error) {
    trouble.textContent = `This browser cannot draw the picture (${error.message}); use a browser from 2023 or later.`;
    throw error;
  }
}
