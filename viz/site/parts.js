// The app's own components outside the app: each gets what Streamlit gives it there.

import { element } from "../browser/canvas/dom.js";
import { site, siteRoot } from "./files.js";

/** The code of each component, and the class of its root. @type {Record<string, [code: string, root: string]>} */
const COMPONENTS = {
  act: ["act", "act"],
  model: ["model_view", "model-view"],
  heads: ["model_view", "heads-view"],
  steps: ["steps", "decoding-steps"],
  branches: ["branches", "decoding-steps branches"],
  exchange: ["exchange", "exchange"],
  matrices: ["matrices", "matrices"],
  reader: ["reader", "reader"],
};

// In an article, the frame follows the picture's height, which then cannot follow the frame's.
const FRAMED_HEIGHT = 600;

/** A component in a shadow root of its own, which takes data of the kind that Python packs. */
/** What a component reports and asks is a message of its own. @typedef {{ report?(value: never): void, trigger?(event: string, value: never): void, engine?: ModelEngine }} Hear */
/** @typedef {{ mount(component: Mounting<unknown>): unknown, style: string }} Code */

export class Part {
  /** @type {unknown} */
  data;

  /** @param {string} name - of the component. @param {Hear} hear - for its state, its events and its questions. */
  constructor(name, { report = () => {}, trigger = () => {}, engine } = {}) {
    const [code, root] = COMPONENTS[name] ?? [];
    this.code = code;
    this.engine = engine;
    this.report = /** @type {Reporter} */ (report);
    this.trigger = /** @type {Trigger} */ (trigger);
    // By the second name, components know on a stage how much room they have, as in the app.
    this.host = element("div", `part st-key-picture ${name}`);
    this.root = this.host.attachShadow({ mode: "open" });
    this.inner = element("div", `headscope ${root}`);
    this.root.append(this.inner);
    // It draws anew where the page's background has changed.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.data && this.update(this.data));
  }

  /** @type {(data: unknown) => Promise<void>} */
  async update(data) {
    this.data = data;
    const { mount, style } = await codeOf(this.code);
    if (!this.root.adoptedStyleSheets.length) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      this.root.adoptedStyleSheets = [sheet];
    }
    if (this.data !== data) return;
    mount({
      parentElement: this.root,
      data,
      setStateValue: (_, value) => this.report(value),
      setTriggerValue: (event, value) => this.trigger(event, value),
      engine: this.engine,
      height: document.body.classList.contains("framed") ? FRAMED_HEIGHT : null,
    });
  }
}

/** The code of a component: in this page, or a file of the site. @type {(name: string) => Promise<Code>} */
async function codeOf(name) {
  const inPage = globalThis.headscopeParts?.[name];
  if (inPage) return inPage;
  const { default: mount, STYLE: style } = await import(new URL(site().code[name], siteRoot()).href);
  return { mount, style };
}
