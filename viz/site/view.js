// What all pages share: a component, its controls, and what comes of a change.

import { element, part } from "../browser/canvas/dom.js";
import { opened } from "../browser/canvas/envelope.js";
import { signed } from "../browser/canvas/numbers.js";
import { menuOf } from "./menu.js";
import { Part } from "./parts.js";
import { say } from "./words.js";

// A loss that would be written as 1.0 times.
/** @import { Honours } from "./keys.js" */
/** @import { Site } from "./site.js" */
/** @typedef {AttentionSite & { head: number }} SiteHead */

const HARDLY = Math.log(1.05);

/** A page: its controls and its picture, drawn anew with every sentence and every change of the address. */
export class SitePage {
  // What of the app's links it shows (keys.js).
  /** @type {Honours} */
  static honours = {};
  /** @type {string[]} */
  static beside = [];
  // Whether it asks the engine, which the page otherwise does not load.
  static runs = true;

  /** @type {Set<string>} */
  misfits = new Set();
  drawing = {};

  /**
   * @param {Site} talk - with the model.
   * @param {string} component - its component; "" for none.
   * @param {import("./parts.js").Hear} hear
   */
  constructor(talk, component, hear = {}) {
    this.talk = talk;
    this.template = /** @type {FigureTemplate} */ (opened(talk.openings.model).values);
    this.kinds = this.template.kinds;
    const { page } = talk;
    const { report } = hear;
    // What a component tells after a pause may come when another page has been opened.
    this.part = new Part(component, { ...hear, report: (/** @type {never} */ value) => talk.page === page && report?.(value) });
    this.note = element("p", "outcome", { "aria-live": "polite" });
    this.controls = element("div", "controls");
    // What is seldom changed.
    this.options = menuOf(say("options"));
    this.options.hidden = true;
    this.row = element("div", "row", {}, this.controls, this.options, this.note);
    this.caption = element("p", "aside caption");
    // Components begin at headings of the third level, and matrices at those of the fourth.
    /** @type {("h2" | "h3")[]} */
    const levels = component === "matrices" ? ["h2", "h3"] : ["h2"];
    const headings = levels.map((level) => element(level, "unseen", {}, level === "h2" ? say(`page_${talk.page}`) : talk.card.name));
    this.root = element("section", "view", {}, ...headings, this.row, ...(component ? [this.part.host] : []), this.caption);
  }

  async draw() {}

  get query() {
    return this.talk.query;
  }

  /** Takes the value of a whole number from the address, within bounds.
   * @type {(name: string, usual: number, low: number, high: number) => number} */
  number(name, usual, low, high) {
    const text = this.query[name] ?? "";
    const value = /^-?\d{1,4}$/.test(text) ? Number(text) : usual;
    const within = Math.min(high, Math.max(low, value));
    if (text && String(within) !== text) this.misfit(name);
    return within;
  }

  /** Begins to draw; what it returns says whether no other drawing has begun since. */
  begin() {
    const drawing = (this.drawing = {});
    this.misfits = new Set();
    return () => this.drawing === drawing;
  }

  /** Notes a key whose value means nothing for this sentence and model, so that it is named.
   * @type {(name: string) => void} */
  misfit(name) {
    this.misfits.add(name);
    this.talk.nameUnused();
  }

  /** Puts controls in the place of those that are there; what has the focus keeps it.
   * @type {(place: HTMLElement, ...made: Node[]) => void} */
  control(place, ...made) {
    const id = place.contains(document.activeElement) && document.activeElement?.id;
    place.replaceChildren(...made);
    if (id) part(place, `#${id}`)?.focus();
  }

  /** Puts controls into the page's options. @type {(...made: Node[]) => void} */
  offer(...made) {
    this.options.hidden = false;
    this.control(part(this.options, ".sheet"), ...made);
  }

  /** The heads of the address that are switched off, as the engine takes them, as far as the model has them. */
  get off() {
    return this.headsOf("off").map((each) => ({ ...each, gate: 0 }));
  }

  /** The heads that a key of the address names, as far as the model has them. @type {(name: string) => SiteHead[]} */
  headsOf(name) {
    const heads = namedHeads(this.query[name], this.kinds);
    if (heads.map(nameOfHead).join("-") !== (this.query[name] ?? "")) this.misfit(name);
    return heads;
  }

  /** A menu whose choice goes to the address, unless it is for `take`.
   * @type {(label: string, name: string, options: [key: string, text: string][], value: string, take?: (choice: string) => void) => HTMLElement} */
  menu(label, name, options, value, take = (/** @type {string} */ choice) => this.talk.change({ [name]: choice })) {
    const menu = element("select", "", {}, ...options.map(([key, text]) => element("option", "", { value: key }, text)));
    menu.value = value;
    menu.addEventListener("change", () => take(menu.value));
    menu.id = `menu-${name}`;
    return element("span", "field", {}, element("label", "", { for: menu.id }, label), menu);
  }

  /** The views of a page side by side, of which one is chosen; a choice goes to the address.
   * @type {(label: string, name: string, options: [key: string, text: string][], value: string) => HTMLElement} */
  tabs(label, name, options, value) {
    const tabs = options.map(([key, text]) => {
      const tab = this.button(text, () => this.talk.change({ [name]: key }), `tab-${name}-${key}`);
      tab.setAttribute("aria-pressed", String(key === value));
      return tab;
    });
    return element("div", "tabs", { role: "group", "aria-label": label }, ...tabs);
  }

  /** @type {(text: string, act: () => void, id?: string) => HTMLButtonElement} */
  button(text, act, id = "") {
    const made = element("button", "", { type: "button", ...(id && { id }) }, text);
    made.addEventListener("click", act);
    return made;
  }

  /** Says what comes of a change of the model, beside the whole model's words.
   * @type {(text: string, whole: string, change?: string) => void} */
  compare(text, whole, change = say("written")) {
    const same = text === whole;
    this.note.replaceChildren(
      element("span", "", {}, `${change} `),
      element("strong", "", { dir: "auto" }, text || say("nothing")),
      element("span", "", {}, ` · ${same ? say("same") : say("whole", { text: whole || say("nothing") })}`),
    );
  }

  /** For each head that is switched off, a button that switches it on again.
   * @type {(off: SiteHead[]) => HTMLButtonElement[]} */
  switches(off) {
    return off.map((head) => {
      const rest = off.filter((each) => each !== head).map(nameOfHead);
      return this.button(say("switch_on", { name: say("head_name", { ...head, kind: say(head.kind) }) }), () => this.talk.change({ off: rest.join("-") }));
    });
  }

  /** Says what the model writes without some heads, and what that costs the translation of `trace`; false if it was given up.
   * @type {(heads: HeadEdit[], trace: EngineTrace, isCurrent: () => boolean) => Promise<boolean>} */
  async leaveOut(heads, trace, isCurrent) {
    const { talk } = this;
    // The picture still shows all heads at work, as in the app; what the model writes without some stands above.
    const [without, whole] = await Promise.all([talk.translation({ heads }), talk.trace()]);
    if (!without || !whole || !isCurrent()) return false;
    this.compare(without.text, whole.text, say("without_heads", { n: heads.length }));
    const price = element("span");
    this.note.append(price, element("span", "", {}, ` ${say("heads_stay")}`));
    const forced = await talk.trace({ heads, ids: trace.predictions.ids });
    if (!forced || !isCurrent()) return false;
    price.textContent = ` · ${this.price(trace, forced)}`;
    return true;
  }

  /** What a change of the model does to the probability of the translation that is shown, in a sentence.
   * @type {(before: EngineTrace, after: EngineTrace) => string} */
  price(before, after) {
    const [one, other] = [before, after].map(({ logProbs }) => logProbs.reduce((sum, each) => sum + each, 0));
    return lossWords(this.query.target ? "given" : "usual", one - other);
  }
}

/** Keys of which a page shows every value. @type {(...names: string[]) => Honours} */
export function showing(...names) {
  return Object.fromEntries(names.map((name) => [name, () => true]));
}

/** The heads of an address, such as "cross.0.1-encoder.2.3", as far as there are such kinds, layers and heads.
 * @type {(text: string | undefined, kinds: Kind[]) => SiteHead[]} */
function namedHeads(text, kinds) {
  const named = new Set((text ?? "").split("-").filter((each) => /^(encoder|decoder|cross)\.\d{1,2}\.\d{1,2}$/.test(each)));
  return [...named].flatMap((name) => {
    const [kind, layer, head] = name.split(".");
    const known = kinds.find((each) => each.kind === kind);
    const found = { kind, layer: Number(layer), head: Number(head) };
    return known?.layers.includes(found.layer) && found.head < known.heads ? [found] : [];
  });
}

/** A head as an address has it. @type {(head: SiteHead) => string} */
export function nameOfHead({ kind, layer, head }) {
  return `${kind}.${layer}.${head}`;
}

/** What a loss of log-probability makes of some words, by the keys of a catalogue that begin alike.
 * @type {(keys: string, loss: number) => string} */
export function lossWords(keys, loss) {
  const key = Math.abs(loss) < HARDLY ? "same" : loss < 0 ? "more" : "less";
  return say(`${keys}_${key}`, { factor: factorOf(Math.abs(loss)) });
}

/** How many times as likely a gain makes the words, as people say it. @type {(gain: number) => string} */
function factorOf(gain) {
  const factor = Math.exp(gain);
  if (factor >= 1e6) return `10${[...String(Math.round(gain / Math.LN10))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
  return signed(factor, factor >= 10 ? 0 : 1);
}

/** Numbers for a menu, in order, with the one that is chosen. @type {(numbers: number[], chosen: number) => number[]} */
export function withChosen(numbers, chosen) {
  return [...new Set([...numbers, chosen])].sort((one, other) => one - other);
}
