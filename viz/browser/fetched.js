// In the place of a large script: fetches it, once, and hands it every update.

/* global CODE: the address of the script, seen from the page, which files.py writes before this one. */

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const PATIENCE = 5000;
const LATE = "This part of the page has not loaded yet. If it does not appear, reload the page.";

// The last data of each place where the component is mounted, which also distinguishes updates.
const lines = new WeakMap();
let code = null;
let sheet = null;

async function fetchCode() {
  for (let tried = 0; ; tried++) {
    try {
      const address = new URL(CODE, document.baseURI);
      // What failed once, a browser may not ask for again under the same address.
      if (tried) address.search = `again=${tried}`;
      return await import(address.href);
    } catch (error) {
      const pause = Math.min(FIRST_PAUSE * 2 ** tried, LONGEST_PAUSE);
      console.warn(`${CODE} did not come; trying again in ${pause} ms.`, error);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

function dress(root, style) {
  if (sheet === null) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

export default async function (component) {
  const { parentElement } = component;
  const line = document.createElement("p");
  line.role = "status";
  line.textContent = LATE;
  const patience = setTimeout(() => parentElement.append(line), PATIENCE);
  lines.get(parentElement)?.remove();
  lines.set(parentElement, line);
  code ??= fetchCode();
  const { default: update, STYLE } = await code;
  clearTimeout(patience);
  line.remove();
  // Another update has come meanwhile, and what this one would return ends the component.
  if (lines.get(parentElement) !== line) return undefined;
  dress(parentElement.getRootNode(), STYLE);
  return update(component);
}
