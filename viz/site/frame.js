// The three rows above every picture: the menu, the field with its ends and the translation; the third is a page's own.

import { element, part } from "../browser/canvas/dom.js";
import { storage } from "../browser/canvas/stored.js";
import { isPacked, site } from "./files.js";
import { menuOf } from "./menu.js";
import { LANGUAGES, say } from "./words.js";

/** @import { Card } from "./files.js" */

// The field is as wide as its sentence, within these numbers of letters.
const [LEAST_LETTERS, MOST_LETTERS] = [20, 60];
// The translation's size, by its most letters, as in the app (viz/draw/css.py).
/** @type {[number, string][]} */
const SIZES = [[60, "1.5em"], [160, "1.25em"], [Infinity, "1.05em"]];
// What the browser remembers, besides sw.js: a language that was chosen in the menu.
const LANGUAGE = "headscope-language";

export class Frame {
  language = element("select", "", { id: "language" });
  about = element("div");
  /** @type {HTMLDetailsElement} */
  help;

  /** @param {Card} card - of the model. @param {(text: string) => void} ask - for an example that is chosen. */
  constructor(card, ask) {
    const named = (/** @type {string} */ name) => part(document, `#${name}`);
    this.asked = part(document, ".asked");
    this.bar = named("bar");
    this.form = named("form");
    this.field = /** @type {HTMLInputElement} */ (named("sentence"));
    this.model = /** @type {HTMLSelectElement} */ (named("model"));
    this.run = /** @type {HTMLButtonElement} */ (named("run"));
    this.translation = named("translation");
    this.help = menuOf(say("help"), this.about, element("label", "field", {}, say("language"), this.language));
    part(document, ".menus").append(this.help);
    const { reads, examples } = card;
    const name = reads ? say("sentence_in", { language: languageName(reads) }) : say("sentence");
    named("sentence-name").textContent = this.field.placeholder = name;
    if (reads) this.field.lang = reads;
    this.run.textContent = say("translate");
    this.bar.setAttribute("aria-label", say("pages"));
    this.model.setAttribute("aria-label", say("model"));
    this.language.append(...Object.entries(LANGUAGES).map(([tag, own]) => element("option", "", { value: tag, lang: tag }, own)));
    this.language.value = document.documentElement.lang;
    const { models } = site();
    this.model.hidden = models.length < 2;
    this.model.append(...models.map((each) => element("option", "", { value: each.name }, modelName(each.name))));
    this.model.value = card.name;
    const offered = examples.map((text) => {
      const example = element("button", "", { type: "button", dir: "auto", ...(reads && { lang: reads }) }, text);
      example.addEventListener("click", () => ask(text));
      return example;
    });
    if (offered.length) this.field.after(menuOf(say("examples"), ...offered));
  }

  /** Shows the sentence that is asked. @type {(text: string) => void} */
  ask(text) {
    this.field.value = text;
    this.field.size = Math.min(MOST_LETTERS, Math.max(LEAST_LETTERS, text.length));
  }

  /** Shows a translation. @type {(text: string) => void} */
  write(text) {
    this.translation.textContent = text;
    this.translation.style.fontSize = SIZES.find(([most]) => text.length <= most)?.[1] ?? "";
  }

  /** Puts the links to the pages into the menu, and that to the site's own page behind Help.
   * @type {(pages: string[], current: string, addressOf: (page: string) => string, go: (page: string) => void) => void} */
  links(pages, current, addressOf, go) {
    const made = pages.map((page) => {
      const link = element("a", "", { href: addressOf(page) }, say(`page_${page}`));
      if (page === current) link.setAttribute("aria-current", "page");
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(page);
      });
      return link;
    });
    this.about.replaceChildren(...made.splice(pages.indexOf("about"), 1));
    part(this.bar, "#links").replaceChildren(...made);
    this.bar.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }
}

/** A model as its reader calls it: "English → German" for en-de. @type {(name: string) => string} */
export function modelName(name) {
  const sides = /^([a-z]{2})-([a-z]{2})$/.exec(name)?.slice(1);
  return sides ? sides.map(languageName).join(" → ") : name;
}

/** @type {(code: string) => string} */
export function languageName(code) {
  return new Intl.DisplayNames([document.documentElement.lang], { type: "language" }).of(code) ?? code;
}

/** The language that was last chosen here; "" in one file, whose storage other files may share. */
export function remembered() {
  return (isPacked() ? null : storage("localStorage")?.getItem(LANGUAGE)) ?? "";
}

/** @type {(language: string) => void} */
export function remember(language) {
  if (isPacked()) return;
  try {
    storage("localStorage")?.setItem(LANGUAGE, language);
  } catch {
    // Without storage, the address alone has it.
  }
}

/** Tells the page that holds this one in a frame how high it is. */
export function tellSize() {
  if (window.parent === window) return;
  const tellHeight = () => window.parent.postMessage({ headscope: "size", height: Math.ceil(document.documentElement.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tellHeight).observe(document.documentElement);
}
