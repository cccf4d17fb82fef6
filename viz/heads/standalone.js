// Runs the explorer in a standalone file, in place of the app's page and server.

import { Explorer } from "../browser/explorer/explorer.js";
import { inflated } from "../browser/live/inflated.js";

async function open() {
  const host = document.querySelector("#explorer");
  const bytes = await inflated(document.querySelector("#payload").textContent);
  const explorer = new Explorer(host.shadowRoot.querySelector(".explorer"), { canAskPython: false });
  const update = () => explorer.update(bytes, () => {});
  update();
  // Redraws when the page's background changes.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  document.querySelector("#trouble").remove();
}

open().catch((error) => {
  const said = `This browser cannot draw the picture (${error.message}); use a browser from 2023 or later.`;
  document.querySelector("#trouble").textContent = said;
});
