// The explorer in a file of its own: what the app's page and its server do for it elsewhere.

/** The payload as the explorer takes it, from deflated bytes in base64. */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Without what needs Python: another way of reading the trace, and the inside of a cell. */
class Standalone extends Explorer {
  _build() {
    super._build();
    for (const button of this.readings.values()) button.remove();
  }

  _drawLarge(kind) {
    super._drawLarge(kind);
    const { canvas } = this.matrix;
    this.caption.textContent = this.caption.textContent.replace(/ ?Click a cell to look into it\.$/, "");
    const spoken = canvas.getAttribute("aria-label").replace("Enter looks into one", "Enter marks one");
    canvas.setAttribute("aria-label", spoken);
  }
}

async function open() {
  const host = document.querySelector("#explorer");
  const bytes = await unpacked(document.querySelector("#payload").textContent);
  const explorer = new Standalone(host.shadowRoot.querySelector(".explorer"));
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
