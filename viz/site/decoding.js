// The decoding step by step: another search, samples, a word taken, heads switched off and masks changed.

import constants from "../draw/constants.json" with { type: "json" };
import { element, part } from "../browser/canvas/dom.js";
import { opened } from "../browser/canvas/envelope.js";
import { percent, signed } from "../browser/canvas/numbers.js";
import { tokenText } from "../browser/live/labels.js";
import { joinedTexts, packedWriting } from "../browser/live/writing.js";
import { shortest } from "../browser/steps/frame.js";
import { masksFor } from "./edits.js";
import { MOST_CELLS, SearchTree, layersTable, widthsList } from "./searches.js";
import { SitePage, nameOfHead, showing, withChosen } from "./view.js";
import { say } from "./words.js";

// The numbers of a search as an address has them: the least, the usual one and the most.
/** @type {Record<string, number[]>} */
const SETTINGS = constants.SEARCHES;

/** @import { Site } from "./site.js" */
/** @import { SiteHead } from "./view.js" */

const HUNDREDTHS = ["penalty", "temperature", "top_p"];
/** @type {Record<string, number[]>} */
const IN_MENUS = {
  ...{ beam: [1, 2, 4, 8], penalty: [0, 60, 100, 200], temperature: [20, 50, 70, 100, 150, 200, 300], top_k: [0, 2, 5, 10, 50, 200] },
  ...{ top_p: [50, 80, 90, 95, 100], samples: [1, 2, 4, 8] },
};
// Attention that the steps show.
const SHOWN = ["cross", "decoder"];
const SECTIONS = ["steps", "certainty", "beams", "widths", "layers"];
// They show the model's own search, whatever the given translation.
const SEARCHES = ["beams", "widths"];
// As in viz/pages/decoding_certainty.py.
const [HESITATIONS, RIVALS] = [4, 4];

export class DecodingPage extends SitePage {
  static honours = {
    ...showing("at", "heads", "off", "how", ...Object.keys(SETTINGS), "taken", "mask"),
    section: (/** @type {string} */ section) => SECTIONS.includes(section || "steps"),
  };
  static beside = ["against"];

  /** @type {EngineTrace} */
  shown;

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "steps", {
      report: (/** @type {{ step: number }} */ { step }) => talk.change({ at: step ? String(step + 1) : "" }, { draws: false }),
      trigger: (_, /** @type {{ step: number, place: number }} */ { step, place }) => this.take(step, place),
    });
    this.opening = /** @type {import("../browser/live/writing.js").WritingTemplate} */ (opened(talk.openings.decoding).values);
    this.found = element("ol", "listed found");
    this.foundName = element("p", "aside");
    this.certain = element("p", "certainty");
    this.others = element("div", "view others");
    this.tree = new SearchTree(this.opening.themes, (text) => this.study(text));
    this.layers = element("div", "view");
    this.root.append(this.certain, this.others, this.tree.root, this.layers, this.caption, this.foundName, this.found);
    this.epoch = 0;
  }

  /** Ids that the translation must begin with: each choice keeps some tokens and adds others. */
  get prefix() {
    /** @type {number[]} */
    const ids = [];
    for (const choice of (this.query.taken ?? "").split("_")) {
      const [, keeps, more] = /^(\d{1,3})\.(\d{1,6}(?:-\d{1,6})*)$/.exec(choice) ?? [];
      if (more) ids.splice(Number(keeps), Infinity, ...more.split("-").map(Number));
      else if (choice) this.misfit("taken");
    }
    return ids;
  }

  get section() {
    const { section = "" } = this.query;
    return SECTIONS.includes(section) ? section : "steps";
  }

  get samples() {
    return this.query.how === "sampling";
  }

  get settings() {
    return Object.fromEntries(Object.entries(SETTINGS).map(([name, [least, usual, most]]) => [name, this.number(name, usual, least, most)]));
  }

  /** The search as the engine takes it, and whether it is the paper's. */
  get search() {
    return searchOf(this.query.how ?? "", this.settings);
  }

  /** @type {(step: number, place: number) => void} */
  take(step, place) {
    const ids = [...this.shown.predictions.ids.slice(0, step), this.shown.steps[step].ids[place]];
    this.talk.change({ taken: `0.${ids.join("-")}`, at: String(step + 1) });
  }

  async draw() {
    const { talk, prefix, off } = this;
    const isCurrent = this.begin();
    this.epoch += 1;
    const attended = this.headsOf("heads").filter(({ kind }) => SHOWN.includes(kind));
    const { search, isUsual } = this.search;
    this.menus(off, attended);
    const whole = await talk.trace();
    const own = whole && (await talk.shown());
    const { masks, fits, looksAhead } = await masksFor(this.query.mask ?? "", whole?.source.ids.length, this.kinds);
    if (!whole || !own || !isCurrent()) return;
    // A given translation leaves nothing to search for, unless a word is taken that it lacks.
    const isGiven = Boolean(talk.query.target) && prefix.every((id, place) => own.predictions.ids[place] === id);
    const forced = isGiven ? own.predictions.ids : prefix;
    const under = { ...(off.length ? { heads: off } : {}), ...(masks.length ? { masks } : {}) };
    const isChanged = Object.keys(under).length > 0;
    const isOwn = !isChanged && (isGiven || (isUsual && !prefix.length));
    const trace = isOwn ? own : await talk.trace({ ...under, prefix: forced, search });
    if (!trace || !isCurrent()) return;
    this.shown = trace;
    const step = this.number("at", 1, 1, trace.predictions.ids.length) - 1;
    const name = JSON.stringify([talk.text, forced, search, this.query.off, this.query.mask]);
    const options = { name, epoch: this.epoch, step, forced: forced.length, heads: attended, stage: talk.isStaged };
    const { section } = this;
    /** @type {[HTMLElement, string][]} */
    const places = [[this.part.host, "steps"], [this.certain, "certainty"], [this.others, "certainty"], [this.tree.root, "beams"], [this.layers, "layers"]];
    for (const [place, name] of places) place.hidden = name !== section || (place === this.others && talk.isStaged);
    this.caption.textContent = "";
    this.list(isGiven || section !== "steps" ? [] : (trace.translation?.candidates ?? []));
    if (section === "steps") await this.part.update(packedWriting(this.opening, trace, options));
    else if (section === "certainty") this.weigh(trace, forced.length);
    else if (section === "layers") await this.look(trace, under, isCurrent);
    else await this.searched(section, { search: { ...search, prefix }, under, heads: attended }, isCurrent);
    if (!isCurrent()) return;
    if (isGiven && !SEARCHES.includes(section)) this.note.textContent = isChanged ? this.price(own, trace) : "";
    else if (isOwn) this.note.replaceChildren();
    else this.compare(trace.text, whole.text);
    const more = [...(fits ? [] : [say("mask_unfit")]), ...(looksAhead ? [say("not_ahead")] : [])];
    this.note.append(...more.map((text) => element("span", "", {}, ` ${text}`)));
  }

  /** Shows a translation that a search found on every page; the model's own needs no target. @type {(text: string) => Promise<void>} */
  async study(text) {
    const { talk } = this;
    const own = await talk.trace();
    talk.change({ target: own?.text === text ? "" : text, taken: "", at: "" }, { draws: false });
    talk.show();
  }

  /** What each layer would predict. @type {(trace: EngineTrace, under: Under, isCurrent: () => boolean) => Promise<void>} */
  async look({ predictions }, under, isCurrent) {
    /** @type {import("./searches.js").Lens | null} */
    const lens = await this.talk.asked("lens", { ids: predictions.ids, under });
    if (!lens || !isCurrent()) return;
    this.layers.replaceChildren(layersTable(lens, predictions.tokens));
    this.caption.textContent = say("layers_note");
  }

  /** The search as a tree, or what beams of every width write.
   * @type {(section: string, how: { search: Search, under: Under, heads: SiteHead[] }, isCurrent: () => boolean) => Promise<void>} */
  async searched(section, { search, under, heads }, isCurrent) {
    const { talk } = this;
    if (section === "widths") {
      /** @type {EngineTranslation[]} */
      const found = [];
      for (let beam = 1; beam <= SETTINGS.beam[2]; beam += 1) {
        /** @type {EngineTranslation | null} */
        const each = await talk.asked("translate", { search: { ...search, sampling: null, beam }, under });
        if (!each || !isCurrent()) return;
        found.push(each);
      }
      this.foundName.textContent = say("widths_found");
      this.found.replaceChildren(...widthsList(found));
      return;
    }
    /** @type {import("./searches.js").Searched | null} */
    const found = await talk.asked("tree", { search, under, most: MOST_CELLS });
    if (!found || !isCurrent()) return;
    await this.tree.draw(found, { every: this.opening.cross, heads, forced: search.prefix?.length ?? 0, stage: talk.isStaged });
    const dots = this.samples ? say("dots_samples") : say(search.beam === 1 ? "dots_greedy" : "dots_search");
    this.caption.textContent = `${dots} ${say("tree_help")}`;
    this.list(talk.isStaged ? [] : found.candidates);
  }

  /** How sure the model was of each token, and other words where it hesitated; `forced` tokens were given to it.
   * @type {(trace: EngineTrace, forced: number) => void} */
  weigh({ predictions, logProbs, steps }, forced) {
    const shares = Array.from(logProbs, Math.exp);
    const words = joinedTexts(predictions.tokens).flatMap(({ text, joins }, place) => {
      const word = element("span", "", {}, element("b", "", { dir: "auto" }, text), element("small", "", {}, shortest(shares[place])));
      word.style.setProperty("--doubt", `${100 * (1 - shares[place])}%`);
      return joins || !place ? [word] : [" ", word];
    });
    this.certain.replaceChildren(...words);
    const places = [...shares.keys()]
      .filter((place) => place >= forced && (shares[place] < constants.HESITANT || steps[place].rank > 1))
      .sort((one, other) => shares[one] - shares[other]);
    const text = places.length ? say("hesitated") : say(forced < shares.length ? "never_hesitated" : "all_given", { share: percent(constants.HESITANT) });
    const rows = places.slice(0, HESITATIONS).map((place) => {
      const { ids, tokens, probabilities } = steps[place];
      const rivals = [...ids.keys()].filter((rival) => ids[rival] !== predictions.ids[place]).slice(0, RIVALS);
      const buttons = rivals.map((rival) => this.button(`${tokenText(tokens[rival])} ${shortest(probabilities[rival])}`, () => this.take(place, rival)));
      const word = tokenText(predictions.tokens[place]);
      return element("div", "controls", {}, element("span", "", {}, say("hesitant_step", { step: place + 1, word, share: shortest(shares[place]) })), ...buttons);
    });
    this.others.replaceChildren(element("p", "aside", {}, text), ...rows);
  }

  /** What a search found, with the scores by which it ranks.
   * @type {(candidates: { text: string; score: number }[]) => void} */
  list(candidates) {
    this.foundName.textContent = candidates.length > 1 ? say(this.samples ? "samples_found" : "search_found") : "";
    this.found.replaceChildren(
      ...(candidates.length > 1 ? candidates : []).map(({ text, score }) => {
        const open = this.button(text || say("nothing"), () => this.study(text));
        Object.assign(open, { className: "link", dir: "auto", disabled: !text });
        return element("li", "", {}, open, " ", element("small", "", {}, say("score", { score: signed(score, 2) })));
      }),
    );
  }

  /** @type {(off: SiteHead[], attended: SiteHead[]) => void} */
  menus(off, attended) {
    const { settings, samples, talk, query } = this;
    const setting = (/** @type {string} */ name) => {
      const values = withChosen(IN_MENUS[name], settings[name]).map((value) => /** @type {[string, string]} */ ([String(value), settingText(name, value)]));
      return this.menu(say(name), name, values, String(settings[name]));
    };
    const ways = this.menu(say("search"), "how", [["", say("beam_search")], ["sampling", say("sampling")]], samples ? "sampling" : "");
    const names = samples ? ["samples", "temperature", "top_k", "top_p", "penalty"] : ["beam", "penalty"];
    const on = (/** @type {SiteHead} */ head) => !off.some((each) => nameOfHead(each) === nameOfHead(head));
    const switches = this.headMenu(say("switch_off"), "off", this.heads.filter(on), say("choose_head"), (name) => talk.change({ off: [...off.map(nameOfHead), name].filter(Boolean).join("-") }));
    const shown = this.heads.filter(({ kind }) => SHOWN.includes(kind));
    const looks = this.headMenu(say("attention_of"), "heads", shown, say(attended.length > 1 ? "several" : "mean_of_heads"), (name) => talk.change({ heads: name }));
    /** @type {HTMLSelectElement} */ (looks.querySelector("select")).value = attended.length === 1 ? nameOfHead(attended[0]) : "";
    const again = () => talk.change({ seed: String((settings.seed + 1) % (SETTINGS.seed[2] + 1)) });
    /** @type {[string, string][]} */
    const sections = [["", say("steps")], ["certainty", say("certainty")], ["beams", say("beams")], ["widths", say("widths")], ["layers", say("layers")]];
    this.control(
      this.controls,
      this.tabs(say("view"), "section", sections, this.section === "steps" ? "" : this.section),
      ...(samples ? [this.button(say("draw_again", { seed: String(settings.seed) }), again, "draw-again")] : []),
      ...this.switches(off),
      ...(query.mask ? [this.button(say("own_masks"), () => talk.change({ mask: "" }))] : []),
      ...(this.prefix.length ? [this.button(say("own_words"), () => talk.change({ taken: "", at: "" }))] : []),
    );
    this.offer(ways, ...names.map(setting), looks, switches);
    // A closed menu says that something in it is not as usual.
    const changed = names.filter((name) => settings[name] !== SETTINGS[name][1]).length + Number(samples) + Number(attended.length > 0);
    part(this.options, "summary").textContent = say("options") + (changed ? ` (${changed})` : "");
  }

  /** Every head of the model. */
  get heads() {
    return this.kinds.flatMap(({ kind, layers, heads }) =>
      layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => ({ kind, layer, head }))),
    );
  }

  /** A menu of heads by kind, which stands at none.
   * @type {(label: string, name: string, heads: SiteHead[], none: string, take: (name: string) => void) => HTMLElement} */
  headMenu(label, name, heads, none, take) {
    const menu = this.menu(label, name, [["", none]], "", take);
    /** @type {Map<string, HTMLElement>} */
    const groups = new Map();
    for (const each of heads) {
      const group = groups.get(each.kind) ?? element("optgroup", "", { label: say(each.kind) });
      groups.set(each.kind, group);
      group.append(element("option", "", { value: nameOfHead(each) }, say("layer_head", { query: each.layer, key: each.head })));
    }
    menu.querySelector("select")?.append(...groups.values());
    return menu;
  }
}

/** A number of a search as it is written. @type {(name: string, value: number) => string} */
export function settingText(name, value) {
  if (name === "top_k" && !value) return say("all");
  return signed(HUNDREDTHS.includes(name) ? value / 100 : value);
}

/** A search as the engine takes it, of its way and the numbers of an address, and whether it is the paper's.
 * @type {(how: string, numbers: Record<string, number>) => { search: Search, isUsual: boolean }} */
export function searchOf(how, { beam, penalty, temperature, top_k: topK, top_p: topP, seed, samples }) {
  const alpha = penalty / 100;
  if (how !== "sampling") return { search: { beam, alpha }, isUsual: beam === 4 && penalty === 60 };
  const sampling = { temperature: temperature / 100, topK: topK || null, topP: topP === 100 ? null : topP / 100, seed, samples };
  return { search: { alpha, sampling }, isUsual: false };
}
