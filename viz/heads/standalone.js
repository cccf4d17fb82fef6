// Runs the explorer in a standalone file, in place of the app's page and server.

import { Explorer } from "../browser/explorer/explorer.js";

/** The explorer's payload, from deflated bytes in base64. */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function open() {
  const host = document.querySelector("#explorer");
  const bytes = await unpacked(document.querySelector("#payload").textContent);
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
