// Two runs side by side: two sentences, two models or two searches, and how every head differs.

import constants from "../draw/constants.json" with { type: "json" };
import { neighbours } from "../browser/act/made.js";
import { element } from "../browser/canvas/dom.js";
import { percent } from "../browser/canvas/numbers.js";
import { PairedRuns, packedPair, wordChanges } from "../browser/live/paired.js";
import { searchOf, settingText } from "./decoding.js";
import { FileError, cardOf, site, startedEngine } from "./files.js";
import { tracing } from "./followed.js";
import { modelName } from "./frame.js";
import { SitePage, nameOfHead, showing, withChosen } from "./view.js";
import { say } from "./words.js";

/** @import { EngineClient } from "../browser/engine/client.js" */
/** @import { HeadOf } from "../browser/live/paired.js" */
/** @import { Site } from "./site.js" */

/** @type {Record<string, number[]>} */
const LIMITS = constants.SEARCHES;
const VERSUS = ["sentence", "model", "search"];
const BEAMS = [1, 2, 4, 8];
const OF_SAMPLES = ["samples", "temperature", "top_k", "top_p", "penalty"];
// The field is as wide as its sentence, up to so many letters.
const MOST_OF_OTHER = 40;
/** Engines of second models, which are kept. @type {Map<string, Promise<EngineClient>>} */
const others = new Map();

export class ComparePage extends SitePage {
  static honours = {
    ...showing("other", "pair_head", "against", "how", ...Object.keys(LIMITS)),
    versus: (/** @type {string} */ versus) => versus !== "model" || site().models.length > 1,
    other_model: (/** @type {string} */ name) => site().models.some((each) => each.name === name),
    shown: (/** @type {string} */ shown) => shown === "heads",
  };
  static beside = ["traced", "off", "taken", "mask"];
  heard = 0;

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "exchange", {
      report: (/** @type {[number, string, string][]} */ moves) => {
        const [number, , head] = moves[moves.length - 1];
        this.heard = number;
        talk.change({ pair_head: head }, { draws: false });
      },
    });
    this.field = element("input", "", { id: "other-sentence", "aria-label": say("other_sentence"), placeholder: say("other_sentence"), autocomplete: "off" });
    if (talk.card.reads) this.field.lang = talk.card.reads;
    this.form = element("form", "field", {}, this.field, element("button", "", {}, say("compare")));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      talk.change({ other: this.field.value.trim() });
    });
  }

  get versus() {
    const { versus = "" } = this.query;
    return VERSUS.includes(versus) ? versus : "sentence";
  }

  /** The second sentence; where the address has none, one that differs in a word, or the next example. */
  get other() {
    const { card, text } = this.talk;
    const next = card.examples[(card.examples.indexOf(text) + 1) % card.examples.length] ?? text;
    return this.query.other?.trim() || (neighbours(text, card.reads)[0] ?? next);
  }

  /** The models beside the one that is shown. */
  get models() {
    return site().models.map(({ name }) => name).filter((name) => name !== this.talk.card.name);
  }

  get otherModel() {
    const { other_model: name = "" } = this.query;
    if (name && !this.models.includes(name)) this.misfit("other_model");
    return this.models.includes(name) ? name : this.models[0];
  }

  /** Both searches, each by its way and its numbers. */
  get searches() {
    const numbers = Object.fromEntries(Object.entries(LIMITS).map(([name, [least, usual, most]]) => [name, this.number(name, usual, least, most)]));
    const usual = Object.fromEntries(Object.entries(LIMITS).map(([name, [, value]]) => [name, value]));
    const [how, ...written] = (this.query.against ?? "").split("-");
    const isKnown = ["search", "sampling"].includes(how) && written.length === Object.keys(LIMITS).length && Object.values(LIMITS).every(([least, , most], place) => Number(written[place]) >= least && Number(written[place]) <= most);
    if (this.query.against && !isKnown) this.misfit("against");
    const second = isKnown ? Object.fromEntries(Object.keys(LIMITS).map((name, place) => [name, Number(written[place])])) : { ...usual, beam: numbers.beam === 1 ? usual.beam : 1 };
    return [{ how: this.query.how ?? "", numbers }, { how: isKnown ? how : "", numbers: second }];
  }

  async draw() {
    const isCurrent = this.begin();
    const { versus } = this;
    this.menus();
    const [names, traces] = await this.both(versus);
    const [first, second] = traces;
    if (!first || !second || !isCurrent()) return;
    const paired = new PairedRuns(first, second, { matches: versus === "model" });
    this.part.host.hidden = !paired.most;
    if (!paired.most) return;
    const nameOf = (/** @type {HeadOf} */ { map, head }) => ({ kind: map.kind, layer: map.layer, head });
    const spoken = (/** @type {HeadOf} */ head) => say("head_name", { ...nameOf(head), kind: say(head.map.kind) });
    const known = paired.pairs.map(({ one }) => nameOfHead(nameOf(one)));
    const { pair_head: asked = "" } = this.query;
    if (asked && !known.includes(asked)) this.misfit("pair_head");
    const says = {
      kind: (/** @type {string} */ kind) => ({ name: say(kind), queryTitle: say("query"), keyTitle: say("key") }),
      head: (/** @type {HeadOf} */ one, /** @type {HeadOf} */ other, /** @type {number} */ moved) => {
        const share = say("weight_differs", { share: percent(moved) });
        const full = versus === "model" ? say("head_beside", { name: spoken(one), other: spoken(other) }) : spoken(one);
        return { name: spoken(one), full, said: `${full}: ${share}`, share };
      },
    };
    const shown = known.includes(asked) ? asked : nameOfHead(nameOf(paired.most.one));
    const lines = /** @type {[string, import("../browser/live/paired.js").Changed][]} */ ([[say("first_second"), wordChanges(first.text, second.text)]]);
    this.caption.textContent = versus === "model" ? say("compare_models_note") : say("compare_note");
    await this.part.update(packedPair(paired, { names, lines, shown, themes: this.template.themes, says, heard: this.heard }));
  }

  /** The names of both runs, and the runs. @type {(versus: string) => Promise<[string[], (EngineTrace | null)[]]>} */
  async both(versus) {
    const { talk } = this;
    if (versus === "model") {
      const name = this.otherModel;
      /** @type {EngineTrace | null} */
      const second = await talk.known(`${name} ${talk.text}`, async (_, signal) => (await this.engineOf(name)).call("trace", [talk.text, tracing()], { signal }));
      return [[talk.card.name, name].map(modelName), [await talk.trace(), second]];
    }
    if (versus === "search") {
      const { searches } = this;
      const traces = [];
      for (const { how, numbers } of searches) traces.push(await talk.trace({ search: searchOf(how, numbers).search }));
      return [searches.map(nameOfSearch), traces];
    }
    const { other } = this;
    /** @type {EngineTrace | null} */
    const second = await talk.known(`trace ${other}`, (engine, signal) => engine.call("trace", [other, tracing()], { signal }));
    return [[talk.text, other], [await talk.trace(), second]];
  }

  /** The engine of a second model. @type {(name: string) => Promise<EngineClient>} */
  engineOf(name) {
    const { talk } = this;
    const started = others.get(name) ?? cardOf(name).then((card) => startedEngine(card, (share) => talk.say(say("loading", { percent: percent(share) }))));
    others.set(name, started);
    started.catch((error) => {
      others.delete(name);
      talk.trouble(error instanceof FileError ? error.message : say("cannot_run", { error: error.message }));
    });
    return started;
  }

  menus() {
    const { talk, versus, models } = this;
    /** @type {[string, string][]} */
    const tabs = [["sentence", say("sentences")], ...(models.length ? [/** @type {[string, string]} */ (["model", say("models")])] : []), ["search", say("searches")]];
    /** @type {HTMLElement[]} */
    const controls = [];
    if (versus === "sentence") {
      this.field.value = this.other;
      this.field.size = Math.min(MOST_OF_OTHER, this.other.length);
      controls.push(this.form);
    } else if (versus === "model") controls.push(this.menu(say("model"), "other_model", models.map((name) => [name, modelName(name)]), this.otherModel));
    else {
      const [first, second] = this.searches;
      const beams = (/** @type {number} */ beam) => withChosen(BEAMS, beam).map((each) => /** @type {[string, string]} */ ([String(each), String(each)]));
      const take = (/** @type {string} */ beam) => talk.change({ against: ["search", ...Object.keys(LIMITS).map((name) => (name === "beam" ? beam : second.numbers[name]))].join("-") });
      controls.push(this.menu(`A: ${say("beam")}`, "beam", beams(first.numbers.beam), String(first.numbers.beam)), this.menu(`B: ${say("beam")}`, "against", beams(second.numbers.beam), String(second.numbers.beam), take));
    }
    this.control(this.controls, this.tabs(say("view"), "versus", tabs, versus), ...controls);
  }
}

/** What a search is called: its way, and every number of it that is not the usual one.
 * @type {(search: { how: string, numbers: Record<string, number> }) => string} */
function nameOfSearch({ how, numbers }) {
  const samples = how === "sampling";
  const isUnusual = (/** @type {string} */ name) => numbers[name] !== LIMITS[name][1];
  const unusual = (samples ? OF_SAMPLES : ["penalty"]).filter(isUnusual).map((name) => `${say(name)} ${settingText(name, numbers[name])}`);
  if (samples && isUnusual("seed")) unusual.unshift(`${say("seed")} ${numbers.seed}`);
  return [samples ? say("sampling") : `${say("beam")} ${numbers.beam}`, ...unusual].join(", ");
}
