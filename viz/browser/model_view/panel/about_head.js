// What the selected head does, in words and in numbers, and the ways on from it.

import constants from "../../../draw/constants.json" with { type: "json" };
import { toggle } from "../../canvas/controls.js";
import { element } from "../../canvas/dom.js";
import { labelled, tr } from "../../canvas/wording.js";
import { comparedOf, ignoredOf, pairOf, titleOf } from "../head_words.js";
import { written } from "../written.js";

/** What there is beside the words: `isOff`, whether what is shown is switched off, and which ways lead on.
 * @typedef {{ isOff: boolean, canSwitchOff: boolean, inCorpus: boolean, inModel: boolean }} Around */

export class AboutHead {
  /** @param {{ switchOff: () => void, corpus: () => void, model: () => void }} on */
  constructor(on) {
    this.heading = element("h3", "name");
    this.joiner = element("span");
    this.label = element("p", "label-earned");
    this.words = element("dl", "words");
    this.numbers = element("p");
    this.more = element("div", "numbers", { hidden: "" }, this.numbers);
    const way = (/** @type {string} */ text, /** @type {() => void} */ open) => {
      const made = element("button", "way", { type: "button" }, text);
      made.addEventListener("click", open);
      return made;
    };
    this.opener = way(tr("In numbers"), () => this._open(Boolean(this.more.hidden)));
    this.opener.setAttribute("aria-expanded", "false");
    this.corpus = way(tr("On other sentences"), on.corpus);
    this.inModel = way(tr("In the model"), on.model);
    this.off = toggle(tr("Switch off"), tr("Translate without this head, or without all compared heads (X)"), on.switchOff);
    this.off.className = "way";
    this.told = element("div", "told", {}, this.heading, this.joiner, this.label);
    const ways = element("div", "ways", {}, this.opener, this.corpus, this.inModel, this.off);
    this.root = element("section", "about-head", { "aria-label": tr("What this head does") }, this.told, ways, this.more);
  }

  /** Shows or hides the numbers of the head. @type {(opened: boolean) => void} */
  _open(opened) {
    this.more.hidden = !opened;
    this.opener.setAttribute("aria-expanded", String(opened));
  }

  /** Describes the selected head, or those that are compared. @type {(payload: TracePayload, state: Chosen, drawn: DrawnHead[], around: Around) => void} */
  show(payload, state, drawn, { isOff, canSwitchOff, inCorpus, inModel }) {
    const kind = payload.kind(state.attention);
    const facts = payload.facts(state.attention, state.layer, state.head);
    this.heading.textContent = titleOf(kind, state);
    this.label.hidden = this.joiner.hidden = drawn.length > 1 || !facts || state.attention === constants.JOINT;
    const { label = "", share = "", sentence = "" } = facts ?? {};
    this.joiner.textContent = label ? " " : labelled("", "");
    this.label.replaceChildren(
      ...(label ? [element("strong", "", {}, label), share && tr(", in {share}", { share })] : [sentence]),
    );
    this.label.title = (label ? facts?.reason : facts?.numbers) ?? "";
    this._describe(payload, state, drawn);
    this.off.hidden = !canSwitchOff;
    this.corpus.hidden = !inCorpus;
    this.inModel.hidden = !inModel;
    this.off.setAttribute("aria-pressed", String(isOff));
    this.off.textContent = isOff ? tr("Switched off") : tr("Switch off");
  }

  /** Says what the selected head does on this sentence, with the numbers behind it; compared heads in one line each.
   * @type {(payload: TracePayload, state: Chosen, drawn: DrawnHead[]) => void} */
  _describe(payload, state, drawn) {
    /** @type {HTMLElement[]} */
    const rows = [];
    /** @type {string[]} */
    const numbers = [];
    const add = (/** @type {string} */ term, /** @type {(Node | string)[]} */ ...said) => rows.push(element("dt", "", {}, term), element("dd", "", {}, ...said));
    const short = (/** @type {string} */ name, /** @type {HeadFacts} */ facts) => {
      add(name, facts.label ? element("strong", "", {}, facts.label) : facts.sentence);
      numbers.push(labelled(name, tr("{text}.", { text: facts.numbers })));
    };
    const facts = payload.facts(state.attention, state.layer, state.head);
    if (drawn.length > 1) {
      for (const { name, facts, label, said } of comparedOf(payload, state.attention, drawn)) {
        if (label) add(name, element("strong", "", {}, label), said && `: ${said}`);
        else if (said) add(name, said);
        numbers.push(labelled(name, tr("{text}.", { text: facts.numbers })));
      }
    } else if (facts?.parts) for (const [name, part] of facts.parts) short(name, part);
    else if (facts) {
      const kind = payload.kind(state.attention);
      // The line above has the label, or else what the head does here.
      if (facts.label) add(tr("On this sentence"), facts.sentence);
      else if (payload.surveyed) add(tr("On average"), facts.tendency ?? tr("earns no label"));
      const pairs = (facts.pairs ?? []).map((pair) => pairOf(payload, kind, pair));
      add(tr("Strongest"), pairs.join("; ") || tr("no pair stands out"));
      add(tr("Ignores"), ignoredOf(payload, kind, facts.ignored ?? []));
      const [{ cells }] = drawn;
      const weights = (cells.rough ? [] : (facts.pairs ?? [])).map(([query, key]) => {
        const weight = written(cells.weights[query * cells.nKeys + key], cells.exact);
        return `${pairOf(payload, kind, [query, key])} ${weight}`;
      });
      numbers.push(`${facts.numbers}.`, facts.reason, ...(weights.length ? [tr("Weights: {weights}.", { weights: weights.join("; ") })] : []));
      numbers.push(tr("A token is ignored if it gets less than a fifth of an even share of the weight."));
    }
    this.words.replaceChildren(...rows);
    if (drawn.length > 1 || facts?.parts) this.told.after(this.words);
    else this.more.prepend(this.words);
    this.told.classList.toggle("alone", !this.label.hidden);
    this.numbers.textContent = numbers.filter(Boolean).join(" ");
    this.told.title = this.words.title = this.numbers.textContent;
    this.opener.hidden = !numbers.length;
  }
}
