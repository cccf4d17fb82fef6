// The pages of the model's picture: the whole of it, and one head of it beside all others of its kind.

import { ALL_ON_EVENT } from "../browser/canvas/shared.js";
import { packedFigure } from "../browser/live/figure.js";
import { sealed } from "../browser/live/sealed.js";
import { READINGS } from "../browser/model_view/how.js";
import { ACTS, ActOf, actTitles } from "./acts.js";
import { engineFor } from "./asking.js";
import { SitePage, showing } from "./view.js";
import { say } from "./words.js";

/** @import { Site } from "./site.js" */

// What it may say of a place in the model (viz/model_page/view.py).
const PLACE = /^[a-z0-9.-]{0,40}$/;
const STOPS = 12;
// What an address may say of the selection (viz/heads/view.py); the picture itself leaves out what this model lacks.
/** @type {Record<string, RegExp>} */
const SPELLED = {
  ...{ attention: /^(encoder|decoder|cross|joint)$/, layer: /^\d{1,3}$/, head: /^\d{1,3}$/, view: /^(heatmap|lines)$/, faint: /^[0-4]$/ },
  ...{ order: /^[a-z_]*$/, ...Object.fromEntries(READINGS.map(([name]) => [name, /^[01]$/])) },
  ...{ cell: /^\d{1,4}\.\d{1,4}$/, range: /^\d{1,4}-\d{1,4}\.\d{1,4}-\d{1,4}$/, compare: /^\d{1,3}\.\d{1,3}(-\d{1,3}\.\d{1,3}){0,7}$/, only: /^(layer|head)\.\d{1,3}$/ },
};
// What the engine or the reading has to answer, and not the picture alone.
const REDRAWN = ["off", "order", ...READINGS.map(([name]) => name)];

/** A page whose picture asks the engine in this page, and leads on to others. */
class FigurePage extends SitePage {
  epoch = 0;

  /** @param {Site} talk @param {string} component @param {Omit<import("./parts.js").Hear, "engine">} hear */
  constructor(talk, component, hear) {
    super(talk, component, { ...hear, engine: { ask: (question, options) => this.answer(question, options) } });
  }

  /** Names what is shown: a model, its sentence, and a translation that is given. */
  get key() {
    const { card, text } = this.talk;
    return [card.name, text, this.query.target ?? ""].join(" ").trimEnd();
  }

  /** Opens a page with what was selected in the picture. @type {(asked: { page: string; place?: string }) => void} */
  open({ page, ...selected }) {
    const spelled = Object.entries(selected).map(([name, value]) => [name, String(value)]);
    this.talk.go(page, { ...this.talk.shared, ...Object.fromEntries(spelled) });
  }

  /** Answers about the sentence that is shown. @type {ModelEngine["ask"]} */
  async answer(question, options) {
    const { talk } = this;
    const trace = await talk.shown();
    if (!trace) throw new DOMException("Another sentence was asked for.", "AbortError");
    return engineFor(() => talk.engine, trace, (before, after) => this.price(before, after)).ask(question, options);
  }
}

export class ModelPage extends FigurePage {
  static honours = { ...showing("moment", "play", "place", "walk", "kiosk"), act: (/** @type {string} */ act) => act in ACTS };

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "model", {
      report: (/** @type {{ moment?: number, place?: string, walk?: number }} */ rested) => {
        const told = ["moment", "place", "walk"].filter((name) => name in rested).map((name) => [name, String(rested[/** @type {"moment"} */ (name)] || "")]);
        talk.change({ ...Object.fromEntries(told), play: "" }, { draws: false });
        this.known = this.asked;
      },
      trigger: (event, /** @type {{ page: string }} */ asked) => (event === "example" ? this.next() : this.open(asked)),
    });
    /** What the picture knows of the address. */
    this.known = this.asked;
    this.act = new ActOf(this);
    this.root.append(this.act.root);
  }

  /** What the address says of the moment and the place. */
  get asked() {
    return JSON.stringify(Object.keys(ModelPage.honours).map((name) => this.query[name] ?? ""));
  }

  async draw() {
    const { talk } = this;
    const isCurrent = this.begin();
    // Back, or a speaker who is followed, leads elsewhere.
    if (this.asked !== this.known) this.epoch += 1;
    this.known = this.asked;
    const { place = "", act = "" } = this.query;
    this.part.host.hidden = Boolean(act);
    this.act.root.hidden = !act;
    if (act) {
      await this.act.draw(act, isCurrent);
      return;
    }
    if (!PLACE.test(place)) this.misfit("place");
    const at = { moment: this.number("moment", 0, 0, 999), place: PLACE.test(place) ? place : "", walk: this.number("walk", 0, 0, STOPS) };
    const options = { key: this.key, ...at, epoch: this.epoch, play: this.query.play === "1", kiosk: this.query.kiosk === "1", stage: talk.isStaged, acts: actTitles() };
    // What it opens with plays while the model is still loading.
    if (!talk.isReady && talk.text === talk.card.sentence && !options.moment && !talk.query.target) await this.part.update(sealed({ ...this.template, ...options }));
    const trace = await talk.shown();
    if (trace && isCurrent()) await this.part.update(packedFigure(this.template, trace, options));
  }

  /** Asks for the example after this sentence. */
  next() {
    const { talk } = this;
    const { examples } = talk.card;
    if (!examples.length) return;
    const sentence = examples[(examples.indexOf(talk.text) + 1) % examples.length];
    talk.change({ sentence, target: "", moment: "", place: "", walk: "" }, { draws: false });
    talk.follow();
  }
}

export class HeadsPage extends FigurePage {
  static honours = showing(...Object.keys(SPELLED), "off");
  // What is not on stage either: what stands below the picture, with the rules of heads.
  static beside = ["below", "grown", "fuller", "ruled", "best"];

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "heads", {
      report: (/** @type {Spelling} */ selection) => this.follow(selection),
      trigger: (event, /** @type {never} */ asked) => this.open(event === "model" ? { page: "model", place: asked } : asked),
    });
    // One is there.
    this.pages = this.template.pages.filter((name) => name !== "heads");
    this.controls.append(
      this.button(say("all_on"), () => document.dispatchEvent(new CustomEvent(ALL_ON_EVENT))),
      this.button(say("step_by_step"), () => talk.go("decoding", { ...talk.shared, off: this.query.off })),
    );
  }

  /** What is selected of a kind of attention, as the picture spells it, where the address does not say otherwise.
   * @type {(attention: string) => Spelling} */
  usual(attention) {
    const { kinds, selection } = this.template;
    const [layer, head] = (kinds.find(({ kind }) => kind === attention) ?? kinds.find(({ kind }) => kind === "cross") ?? kinds[0]).opening;
    return { ...selection, layer: String(layer), head: String(head) };
  }

  /** What the picture selects, from the address; what cannot be read there is as usual. */
  get selection() {
    const { query } = this;
    const isSpelled = (/** @type {string} */ name) => name in query && (SPELLED[name]?.test(query[name]) ?? true);
    const usual = this.usual(query.attention);
    const selected = Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, isSpelled(name) ? query[name] : value]));
    for (const name of Object.keys(SPELLED)) if (query[name] && selected[name] !== query[name]) this.misfit(name);
    const { layers = [], heads = 0 } = this.kinds.find(({ kind }) => kind === selected.attention) ?? {};
    if (layers.length && !layers.includes(Number(selected.layer))) this.misfit("layer");
    if (heads && Number(selected.head) >= heads) this.misfit("head");
    return selected;
  }

  /** @type {(selection: Spelling) => void} */
  follow(selection) {
    const usual = this.usual(selection.attention);
    const spelled = Object.keys(usual).filter((name) => name in selection);
    const values = Object.fromEntries(spelled.map((name) => [name, selection[name] === usual[name] ? "" : selection[name]]));
    const changed = REDRAWN.filter((name) => (values[name] ?? "") !== (this.query[name] ?? ""));
    this.talk.change(values, { draws: false });
    if (changed.length) this.draw({ moved: false, isDrawn: changed.every((name) => name === "off") });
  }

  /** `moved` is whether the picture has to take what is selected from here, `isDrawn` whether it is drawn already. */
  async draw({ moved = true, isDrawn = false } = {}) {
    const isCurrent = this.begin();
    const { talk, template, off: heads, selection } = this;
    if (moved) this.epoch += 1;
    this.row.hidden = !heads.length;
    const trace = await talk.shown();
    if (!trace || !isCurrent()) return;
    const reading = /** @type {ReadingOf} */ (Object.fromEntries(READINGS.map(([name]) => [name, selection[name] === "1"])));
    const options = { key: this.key, pages: this.pages, epoch: this.epoch, selection, reading, stage: talk.isStaged };
    if (!isDrawn) await this.part.update(packedFigure(template, trace, options));
    if (heads.length) {
      if (!(await this.leaveOut(heads, trace, isCurrent))) return;
    } else if (isCurrent()) this.note.replaceChildren();
    if (selection.order !== template.onDemand) return;
    const effects = await talk.effects();
    if (effects && isCurrent()) await this.part.update(packedFigure(template, trace, { ...options, effects }));
  }
}
