// Acts of ten seconds on the page of the model: the heads between two words, and a state that crosses over (viz/pages/model_acts.py).

import constants from "../draw/constants.json" with { type: "json" };
import { changedWords, closeWords, counterparts, dividedAct, dividedCaption, neighbours, swappedAct, swappedCaption } from "../browser/act/made.js";
import { element } from "../browser/canvas/dom.js";
import { Part } from "./parts.js";
import { say } from "./words.js";

/** @import { Deciding, Swapped } from "../browser/act/made.js" */
/** @import { ModelPage } from "./figure_pages.js" */
/** @typedef {{ payload: Bytes, caption: string } | null} Made */

/** By its name in an address: an act's title, what makes it, and what is said where there is none.
 * @type {Record<string, { title(): string, none(): string, make(act: ActOf): Promise<Made | undefined> }>} */
export const ACTS = {
  minds: { title: () => say("act_minds"), none: () => say("no_minds"), make: (act) => act.minds() },
  swap: { title: () => say("act_swap"), none: () => say("no_swap"), make: (act) => act.swap() },
};
const ACT_LIMITS = constants.ACTS;

/** The acts by their names, with their titles. */
export function actTitles() {
  return Object.entries(ACTS).map(([name, { title }]) => /** @type {[string, string]} */ ([name, title()]));
}

/** An act instead of the model, with buttons for the other one and for the way back. */
export class ActOf {
  /** @param {ModelPage} page */
  constructor(page) {
    this.page = page;
    this.talk = page.talk;
    this.ways = element("div", "controls");
    this.hint = element("p", "outcome", { "aria-live": "polite" });
    this.part = new Part("act");
    this.caption = element("p", "aside caption");
    this.root = element("div", "act", {}, this.ways, this.hint, this.part.host, this.caption);
  }

  /** @type {(name: string, isCurrent: () => boolean) => Promise<void>} */
  async draw(name, isCurrent) {
    const { page, talk } = this;
    const others = actTitles().filter(([each]) => each !== name);
    const ways = [...others.map(([each, title]) => page.button(title, () => talk.change({ act: each }))), page.button(say("back_to_model"), () => talk.change({ act: "" }))];
    page.control(this.ways, ...ways);
    this.hint.textContent = this.caption.textContent = "";
    this.part.host.hidden = true;
    const made = await ACTS[name].make(this);
    if (!isCurrent() || typeof made === "undefined") return;
    this.part.host.hidden = !made;
    if (!made) this.hint.textContent = ACTS[name].none();
    else {
      this.caption.textContent = made.caption;
      await this.part.update(made.payload);
    }
  }

  /** @param {string} name */
  shown(name) {
    const { page, talk } = this;
    return { key: `${name} ${page.key}`, title: ACTS[name].title(), template: page.template, stage: talk.isStaged };
  }

  /** The act; null if there is none of this sentence, nothing if it was given up. @returns {Promise<Made | undefined>} */
  async minds() {
    const { talk } = this;
    const trace = await talk.trace();
    if (!trace) return undefined;
    const { source, predictions } = trace;
    if (Math.max(source.ids.length, predictions.ids.length) > ACT_LIMITS.MOST_TOKENS) return null;
    for (const rival of closeWords(trace).slice(0, ACT_LIMITS.MOST_PAIRS)) {
      /** @type {Deciding | null} */
      const found = await talk.asked("deciding", { step: rival.place, ids: predictions.ids, other: rival.id, orders: ACT_LIMITS.RANDOM_ORDERS });
      if (!found) return undefined;
      if (found.decides && found.heads.length) return { payload: dividedAct(trace, rival, found, this.shown("minds")), caption: dividedCaption(rival) };
    }
    return null;
  }

  /** The act; null if there is none of this sentence, nothing if it was given up. @returns {Promise<Made | undefined>} */
  async swap() {
    const { talk } = this;
    const own = talk.text;
    const beside = neighbours(own, talk.card.reads).slice(0, ACT_LIMITS.MOST_TRIED).map((each) => [own, each]);
    /** @type {Made} */
    let made = null;
    for (const pairs of [beside, [this.usual()]]) {
      const tried = [];
      for (const [first, second] of pairs) {
        const runs = [await this.written(first), await this.written(second)];
        if (!runs[0] || !runs[1]) return undefined;
        const [one, other] = /** @type {EngineTranslation[]} */ (runs);
        const count = changedWords(one.text, other.text);
        if (count && one.source.ids.length <= ACT_LIMITS.MOST_TOKENS) tried.push({ own: one, other, count });
      }
      tried.sort((one, other) => other.count - one.count);
      for (const run of tried) {
        const found = await this.crossed(run);
        if (!found) return undefined;
        made ??= this.swapped(run, found);
        if (found.comes === run.other.text) return this.swapped(run, found);
      }
      if (made) return made;
    }
    return null;
  }

  /** A pair of sentences for whoever's own has none. */
  usual() {
    const { examples, reads } = this.talk.card;
    return reads === "en" ? constants.PAIR : examples.slice(0, 2);
  }

  /** @type {(sentence: string) => Promise<EngineTranslation | null>} */
  written(sentence) {
    return this.talk.known(`translate ${sentence}`, (engine, signal) => engine.call("translate", [sentence, {}], { signal }));
  }

  /** @type {(run: { own: EngineTranslation, other: EngineTranslation }) => Promise<Swapped | null>} */
  crossed({ own, other }) {
    const asked = { other: other.sourceText, written: other.text, ids: other.predictions.ids, pairs: counterparts(own.source, other.source) };
    const { talk } = this;
    return talk.known(`swapped ${own.sourceText} ${other.sourceText}`, (engine, signal) => engine.call("swapped", [own.sourceText, asked], { signal }));
  }

  /** @type {(run: { own: EngineTranslation, other: EngineTranslation }, found: Swapped) => Made} */
  swapped(run, found) {
    return { payload: swappedAct(run, found, this.shown("swap")), caption: swappedCaption() };
  }
}
