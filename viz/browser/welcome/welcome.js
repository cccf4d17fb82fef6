// Two lines for newcomers: a talk to read and a glossary. Each can be dismissed for good.

import { element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { storage } from "../canvas/stored.js";

const DISMISSED = "headscope-dismissed-";

/** @typedef {[term: string, sentence: string][]} Terms */

class Welcome {
  /** Includes dismissals that could not be stored, while the page is open. @type {Set<string>} */
  gone = new Set();
  told = "";
  isTold = false;
  /** @type {Record<string, HTMLElement>} */
  lines = {};
  list = element("dl", "", { hidden: "" });
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
  }

  dispose() {}

  /** @type {(given: { talk: string; question: string; terms: Terms; dismissed: string[] | null }, _: Reporter, tell: Trigger) => void} */
  update({ talk, question, terms, dismissed }, _, tell) {
    this.tell = tell;
    this.isTold = dismissed !== null;
    for (const name of dismissed ?? []) this.gone.add(name);
    const told = JSON.stringify([talk, question, terms]);
    if (told !== this.told) {
      this.told = told;
      this._build(talk, question, terms);
    }
    this._show();
  }

  /** @type {(talk: string, question: string, terms: Terms) => void} */
  _build(talk, question, terms) {
    const read = element("button", "link", { type: "button" }, `Read “${talk}”`);
    read.addEventListener("click", () => {
      this._dismiss("reading");
      this.tell("read", true);
    });
    const ask = element("button", "link", { type: "button", "aria-expanded": "false" }, question);
    ask.addEventListener("click", () => {
      this.list.hidden = !this.list.hidden;
      ask.setAttribute("aria-expanded", String(!this.list.hidden));
    });
    const entries = terms.map(([term, sentence]) => element("div", "", {}, element("dt", "", {}, term), element("dd", "", {}, sentence)));
    this.list.replaceChildren(...entries);
    this.list.hidden = true;
    this.lines = {
      reading: this._line("reading", "the offer to read", "New here? ", read),
      glossary: this._line("glossary", "the glossary", "", ask),
    };
    this.root.replaceChildren(...Object.values(this.lines), this.list);
  }

  /** A line with a button and a cross; a phone shows only those.
   * @type {(name: string, what: string, before: string, button: HTMLElement) => HTMLElement} */
  _line(name, what, before, button) {
    const close = element("button", "close", { type: "button", "aria-label": `Dismiss ${what} for good` }, "×");
    close.title = "Do not show this again";
    close.addEventListener("click", () => this._dismiss(name));
    return element("p", "", {}, element("span", "", {}, element("span", "more", {}, before), button), close);
  }

  /** @type {(name: string) => void} */
  _dismiss(name) {
    this.gone.add(name);
    try {
      storage("localStorage")?.setItem(DISMISSED + name, "1");
    } catch {
      // Without storage, it returns with the next visit.
    }
    if (this.isTold) this.tell("dismissed", name);
    this._show();
    /** @type {HTMLElement | null} */ (this.root.querySelector("p:not([hidden]) .close"))?.focus();
  }

  _show() {
    const kept = storage("localStorage");
    for (const [name, line] of Object.entries(this.lines)) {
      line.hidden = this.gone.has(name) || kept?.getItem(DISMISSED + name) === "1";
    }
    if (this.lines.glossary.hidden) this.list.hidden = true;
    this.root.hidden = Object.values(this.lines).every((line) => line.hidden);
  }
}

export default mounted(".welcome", (root) => new Welcome(root));
