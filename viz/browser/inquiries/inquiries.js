// One field for questions: a button that opens a list, which answers to what is typed.

import { element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { ASK_WHY_EVENT, tell } from "../canvas/shared.js";
import { matching, refusal } from "./matching.js";

const IS_MAC = /mac|iphone|ipad/i.test(navigator.platform);
const WHY = "why-not";
const UNASKED = "There is no sentence to ask about yet.";

/** @import { Answer, Question, Words } from "./matching.js" */

class Inquiries {
  told = "";
  /** @type {Question[]} */
  questions = [];
  /** @type {Words} */
  words = {};
  /** @type {Answer[]} */
  found = [];
  /** @type {HTMLElement[]} */
  options = [];
  chosen = 0;
  /** @type {string[]} */
  charts = [];
  /** @type {Trigger} */
  toServer;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    window.addEventListener("keydown", this.onKey, true);
    // A word that is clicked asks, too.
    this.onAskWhy = (/** @type {CustomEvent<number>} */ { detail }) => this._tell(`${WHY}.${detail}`);
    document.addEventListener(ASK_WHY_EVENT, this.onAskWhy);
    this.open = element(
      "button",
      "open",
      { type: "button", "aria-haspopup": "dialog", "aria-keyshortcuts": "Control+K Meta+K", "aria-label": "Ask a question" },
      "Ask",
    );
    this.open.title = `Ask a question (${IS_MAC ? "⌘K" : "Ctrl K"})`;
    this.open.addEventListener("click", () => this._open());
    this.field = element("input", "", {
      type: "text",
      role: "combobox",
      "aria-label": "Ask a question",
      "aria-expanded": "true",
      "aria-controls": "inquiries-list",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "What is a head? How do I save this? Why this word?",
    });
    this.field.addEventListener("input", () => {
      this.chosen = 0;
      this._show();
    });
    const close = element("button", "close", { type: "button", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => this.dialog.close());
    this.list = element("ul", "", { id: "inquiries-list", role: "listbox", "aria-label": "Questions" });
    this.none = element("p", "none", { role: "status" });
    this.about = element("span", "about", { dir: "auto" });
    const help = element("span", "help", { "aria-hidden": "true" }, "↑ ↓ choose · Enter ask · Esc close");
    this.dialog = element(
      "dialog",
      "",
      { "aria-label": "Ask a question" },
      element("div", "typed", {}, element("span", "glass", { "aria-hidden": "true" }), this.field, close),
      this.list,
      this.none,
      element("p", "foot", {}, this.about, help),
    );
    // Outside of it, on its backdrop.
    this.dialog.addEventListener("pointerdown", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    this.root.replaceChildren(this.open, this.dialog);
  }

  dispose() {
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(ASK_WHY_EVENT, this.onAskWhy);
    tell("asks", false);
  }

  /** @type {(given: { questions: Question[]; words: Words; about: string; charts: string[] }, _: Reporter, toServer: Trigger) => void} */
  update({ questions, words, about, charts }, _, toServer) {
    this.toServer = toServer;
    this.charts = charts;
    this.root.classList.remove("answering");
    const told = JSON.stringify([questions, words, about]);
    if (told === this.told) return;
    this.told = told;
    this.questions = questions;
    this.words = words;
    tell("asks", questions.some(([key]) => key === WHY));
    this.about.textContent = about;
    this.about.title = about;
    this._show();
  }

  _open() {
    if (this.dialog.open) return;
    this.field.value = "";
    this.chosen = 0;
    this.dialog.showModal();
    this._show();
    this.field.focus();
    // An answer is often a chart, whose code takes longer to load than its page.
    const load = () => this.charts.splice(0).map((path) => import(new URL(path, document.baseURI).href).catch(() => {}));
    (window.requestIdleCallback ?? setTimeout)(load);
  }

  _show() {
    // A closed list is not drawn.
    if (!this.dialog.open) return;
    this.found = matching(this.field.value, this.questions, this.words);
    this.options = this.found.map(([key, text], place) => {
      const option = element("li", "", { role: "option", id: `inquiry-${key}` }, text);
      option.addEventListener("pointermove", () => this._choose(place));
      option.addEventListener("click", () => this._ask(place));
      return option;
    });
    this.list.replaceChildren(...this.options);
    this.list.scrollTop = 0;
    this.none.textContent = this.questions.length ? refusal(this.field.value, this.words) : UNASKED;
    this.none.hidden = this.found.length > 0;
    this._choose(Math.min(this.chosen, this.found.length - 1));
  }

  /** @type {(place: number) => void} */
  _choose(place) {
    this.options[this.chosen]?.removeAttribute("aria-selected");
    this.chosen = Math.max(0, place);
    const option = this.options[this.chosen];
    if (!option) {
      this.field.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    this.field.setAttribute("aria-activedescendant", option.id);
  }

  /** @type {(way: number) => void} */
  _move(way) {
    const count = this.found.length;
    if (!count) return;
    this._choose((this.chosen + way + count) % count);
    this.options[this.chosen].scrollIntoView({ block: "nearest" });
  }

  /** @type {(place: number) => void} */
  _ask(place) {
    const question = this.found[place];
    if (!question) return;
    this.dialog.close();
    this._tell(question[0]);
  }

  /** @type {(key: string) => void} */
  _tell(key) {
    this.root.classList.add("answering");
    this.toServer("asked", key);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _fieldKey(event) {
    if (event.key === "ArrowDown") this._move(1);
    else if (event.key === "ArrowUp") this._move(-1);
    else if (event.key === "Enter" && !event.isComposing) this._ask(this.chosen);
    else return;
    event.preventDefault();
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const isAsking = event.key?.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (isAsking) {
      event.preventDefault();
      event.stopPropagation();
      this._open();
    } else if (this.dialog.open) {
      // What is typed here is no key of the page's.
      event.stopImmediatePropagation();
      if (event.key === "Escape") this.dialog.close();
      else if (event.composedPath()[0] === this.field) this._fieldKey(event);
    }
  }
}

export default mounted(".inquiries", (root) => new Inquiries(root));
