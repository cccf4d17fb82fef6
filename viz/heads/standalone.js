// The explorer in a file of its own: what the app's page and its server do for it elsewhere.

import { Explorer } from "../browser/explorer/explorer.js";
import { inflated } from "../browser/live/inflated.js";

async function open() {
  const host = document.querySelector("#explorer");
  const bytes = await inflated(document.querySelector("#payload").textContent);
  const explorer = new Explorer(host.shadowRoot.querySelector(".explorer"), { canAskPython: false });
  const update = () => explorer.update(bytes, () => {});
  update();
  // It draws anew where the page's background has changed.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  document.querySelector("#trouble").remove();
}

open().catch((error) => {
  const said = `This browser cannot draw the picture (${error.message}); one of 2023 or later can.`;
  document.querySelector("#trouble").textContent = said;
});
