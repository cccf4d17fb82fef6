// Stands in for a large script: fetches it once and passes it every update.

/* global CODE -- the script's address relative to the page, defined by files.py ahead of this script. */

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const PATIENCE = 5000;
const LATE = "This part of the page has not loaded yet. If it does not appear, reload the page.";

// Each mounting's latest data; a newer update replaces the object.
/** @type {WeakMap<Node, HTMLElement>} */
const lines = new WeakMap();
/** @type {Promise<Code> | undefined} */
let code;
/** @type {CSSStyleSheet | undefined} */
let sheet;

/** @typedef {{ default: (component: Mounting<unknown>) => unknown, STYLE: string }} Code */


/** @type {() => Promise<Code>} */
async function fetchCode() {
  for (let tried = 0; ; tried++) {
    try {
      const address = new URL(CODE, document.baseURI);
      // A browser may not request a failed module again at the same address.
      if (tried) address.search = `again=${tried}`;
      return await import(address.href);
    } catch (error) {
      const pause = Math.min(FIRST_PAUSE * 2 ** tried, LONGEST_PAUSE);
      console.warn(`${CODE} did not load; trying again in ${pause} ms.`, error);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** @type {(root: Document | ShadowRoot, style: string) => void} */
function dress(root, style) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

/** @type {(component: Mounting<unknown>) => Promise<unknown>} */
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
  // A newer update is here; Streamlit would take this one's return value as the end of the component.
  if (lines.get(parentElement) !== line) return undefined;
  dress(/** @type {ShadowRoot} */ (parentElement.getRootNode()), STYLE);
  return update(component);
}
