// What the heads do over the sentences of a survey: every head by two measures, all about one, and sentences by words.

import { element } from "../browser/canvas/dom.js";
import { percent } from "../browser/canvas/numbers.js";
import { worded } from "../browser/canvas/wording.js";
import { FileError, keep, surveyFile } from "./files.js";
import { scatter } from "./scatter.js";
import { doesText, marked, sampleOf, tableOf } from "./survey_words.js";
import { FOLLOWS_MOSTLY, Sentences, Survey, patternOf } from "./survey.js";
import { SitePage, lossWords, nameOfHead, showing } from "./view.js";
import { say } from "./words.js";

/** @import { Site } from "./site.js" */
/** @import { SurveyedHead } from "./survey.js" */

const VIEWS = ["all", "head", "find"];
// Heads in the list, those that are named by each measure, sentences that are listed, and pairs of words.
const [TOP, NAMED, LISTED, PAIRS] = [10, 5, 30, 12];
// The strongest tenth, and the share of the sentences that a bar spans.
const [FIRST_TENTH, MIDDLE] = [9, 0.8];
const USUAL = { across: "previous", up: "effect" };
/** What is read of each file, by the model and the file's name. @type {Map<string, Promise<unknown>>} */
const read = new Map();

export class CorpusPage extends SitePage {
  static runs = false;
  static honours = { ...showing("one", "across", "up", "top", "words", "does"), over: (/** @type {string} */ over) => VIEWS.includes(over) };
  // What else the app does with one head, and what its other views are asked.
  static beside = ["follows", "drawn_in", "drawn", "ruled"];

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "");
    this.body = element("div", "corpus");
    this.caption.before(this.body);
    this.field = element("input", "", { id: "words", "aria-label": say("words_field"), placeholder: say("words_example"), autocomplete: "off", maxlength: "200", size: "22" });
    if (talk.card.reads) this.field.lang = talk.card.reads;
    this.form = element("form", "field", {}, this.field, element("button", "", {}, say("find")));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      talk.change({ words: this.field.value.trim() });
    });
  }

  get over() {
    return this.query.over ?? "all";
  }

  async draw() {
    const isCurrent = this.begin();
    const survey = await this.file("survey", Survey);
    if (!isCurrent()) return;
    this.note.replaceChildren();
    if (!survey) {
      this.caption.textContent = survey === null ? say("no_survey") : "";
      return;
    }
    const { over } = this;
    if (over === "find") await this.drawFound(survey, isCurrent);
    else if (over === "head") this.drawHead(survey);
    else this.drawAll(survey);
  }

  /** A file of the survey; null where the model has none, undefined where it cannot be had.
   * @type {<Read>(name: string, Of: new (bytes: Bytes) => Read) => Promise<Read | null | undefined>} */
  async file(name, Of) {
    const { talk } = this;
    const key = `${talk.card.name} ${name}`;
    if (!read.has(key)) {
      const told = (/** @type {number} */ share) => talk.say(say("loading_survey", { percent: percent(share) }));
      const found = surveyFile(talk.card, name, told).then((bytes) => bytes && new Of(bytes));
      read.set(key, found);
      // As of the model, a phone that follows keeps nothing.
      const keepFile = async () => {
        if ((await found) && !talk.follower) await keep(talk.card, { [name]: talk.card.survey?.[name] ?? [] });
      };
      keepFile().catch(() => {});
      found.catch(() => read.delete(key));
    }
    try {
      const file = await read.get(key);
      talk.say("");
      return /** @type {never} */ (file);
    } catch (error) {
      talk.trouble(error instanceof FileError ? error.message : String(error));
      return undefined;
    }
  }

  /** Puts the views of the page, and what one of them asks, above the picture. @type {(...asks: HTMLElement[]) => void} */
  ask(...asks) {
    const names = [say("every_head"), say("one_head"), say("find")];
    const tabs = VIEWS.map((view, place) => /** @type {[string, string]} */ ([view, names[place]]));
    this.control(this.controls, this.tabs(say("view"), "over", tabs, this.over), ...asks);
    this.options.hidden = true;
  }

  /** The head of the address; where it names none, the first by a measure. @type {(survey: Survey, by: string) => number} */
  placeOf(survey, by) {
    const place = survey.placeOf(this.headsOf("one")[0]);
    return place >= 0 ? place : (survey.ranked(by)[0]?.[0] ?? 0);
  }

  /** @type {(head: SurveyedHead) => string} */
  shortName({ kind, layer, head }) {
    const known = this.kinds.find((each) => each.kind === kind);
    return `${known ? worded(known).short : kind} ${layer}.${head}`;
  }

  /** @type {(head: SurveyedHead) => string} */
  fullName({ kind, layer, head }) {
    return say("head_name", { layer, head, kind: say(kind) });
  }

  /** A link to a page; it opens here unless keys ask for another window.
   * @type {(page: string, query: View, ...held: (Node | string)[]) => HTMLAnchorElement} */
  link(page, query, ...held) {
    const { talk } = this;
    const view = { ...talk.shared, ...query };
    const made = element("a", "", { href: talk.address.link(page, view) }, ...held);
    made.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      talk.go(page, view);
    });
    return made;
  }

  /** A link to all about a head. @type {(head: SurveyedHead, ...held: (Node | string)[]) => HTMLAnchorElement} */
  toHead(head, ...held) {
    return this.link("corpus", { over: "head", one: nameOfHead(head) }, ...held);
  }

  /** A link to a sentence on the page of heads, with a head. @type {(head: SurveyedHead, sentence: string, ...held: (Node | string)[]) => HTMLAnchorElement} */
  toSentence({ kind, layer, head }, sentence, ...held) {
    const link = this.link("heads", { sentence, target: "", attention: kind, layer: String(layer), head: String(head) }, ...held);
    link.dir = "auto";
    if (this.talk.card.reads) link.lang = this.talk.card.reads;
    return link;
  }

  // ---- every head -------------------------------------------------------------------------------------------------

  /** The measures across and up. @type {(survey: Survey) => { across: string, up: string }} */
  axesOf(survey) {
    const [first] = survey.quantities.keys();
    const axis = (/** @type {"across" | "up"} */ name) => {
      const asked = this.query[name] ?? USUAL[name];
      if (survey.quantities.has(asked)) return asked;
      if (this.query[name]) this.misfit(name);
      return survey.quantities.has(USUAL[name]) ? USUAL[name] : first;
    };
    return { across: axis("across"), up: axis("up") };
  }

  /** @type {(survey: Survey) => void} */
  drawAll(survey) {
    const { across, up } = this.axesOf(survey);
    const names = [...survey.quantities.values()].map(({ key, name }) => /** @type {[string, string]} */ ([key, worded({ name }).name]));
    const nameOf = (/** @type {string} */ key) => names.find(([each]) => each === key)?.[1] ?? key;
    const { top = "across" } = this.query;
    if (!["across", "up"].includes(top)) this.misfit("top");
    const by = top === "up" ? up : across;
    this.ask(this.menu(say("across"), "across", names, across), this.menu(say("up"), "up", names, up));
    this.offer(this.menu(say("ranked_by"), "top", [["across", nameOf(across)], ["up", nameOf(up)]], top === "up" ? "up" : "across"), element("p", "aside", {}, sampleOf(survey)));
    const first = new Set([across, up].flatMap((key) => survey.ranked(key).filter(([place]) => survey.value(place, across) !== null && survey.value(place, up) !== null).slice(0, NAMED)).map(([place]) => place));
    const chosen = this.query.one ? survey.placeOf(this.headsOf("one")[0]) : -1;
    const points = survey.heads.flatMap((head, place) => {
      const [x, y] = [survey.value(place, across), survey.value(place, up)];
      if (x === null || y === null) return [];
      const lines = [[across, x], [up, y]].map(([key, value]) => `${nameOf(String(key))}: ${survey.written(String(key), Number(value))}`);
      if (head.label) lines.unshift(worded({ said: head.label }).said);
      const open = () => this.talk.go("corpus", { ...this.talk.shared, over: "head", one: nameOfHead(head) });
      return [{ x, y, kind: head.kind, name: this.shortName(head), lines, first: first.has(place) || place === chosen, chosen: place === chosen, open }];
    });
    const axes = [across, up].map((key) => {
      const unit = survey.quantities.get(key)?.unit ?? "";
      return { name: nameOf(key), share: unit === "share" };
    });
    const kinds = this.kinds.filter(({ kind }) => points.some((point) => point.kind === kind)).map(({ kind }) => /** @type {[string, string]} */ ([kind, say(kind)]));
    const alt = say("points_of", { across: nameOf(across), up: nameOf(up) });
    const picture = points.length ? scatter(points, [axes[0], axes[1]], { alt, kinds }) : element("p", "", {}, say("no_points"));
    this.body.className = "corpus every";
    this.body.replaceChildren(picture, this.listOf(survey, by, [...new Set([by, across, up])], nameOf));
    this.caption.textContent = say("points_note");
  }

  /** The heads with the largest values of a measure. @type {(survey: Survey, by: string, keys: string[], nameOf: (key: string) => string) => HTMLElement} */
  listOf(survey, by, keys, nameOf) {
    const rows = survey.ranked(by).slice(0, TOP).map(([place]) => {
      const head = survey.heads[place];
      const label = head.earned && head.label ? [element("small", "", {}, worded({ said: head.label }).said)] : [];
      const values = keys.map((key) => survey.value(place, key)).map((value, column) => (value === null ? "" : survey.written(keys[column], value)));
      return [[this.toHead(head, this.shortName(head)), ...label], ...values];
    });
    return tableOf([say("head"), ...keys.map(nameOf)], rows);
  }

  // ---- one head ---------------------------------------------------------------------------------------------------

  /** @type {(survey: Survey, place: number) => HTMLElement} */
  headMenu(survey, place) {
    return this.menu(say("head"), "one", survey.heads.map((head) => [nameOfHead(head), this.shortName(head)]), nameOfHead(survey.heads[place]));
  }

  /** @type {(survey: Survey) => void} */
  drawHead(survey) {
    const place = this.placeOf(survey, "effect");
    const head = survey.heads[place];
    this.ask(this.headMenu(survey, place), this.button(say("see_here"), () => this.talk.go("heads", { ...this.talk.shared, attention: head.kind, layer: String(head.layer), head: String(head.head) })));
    const title = element("div", "says", {}, element("h3", "", {}, this.fullName(head)), element("p", "", {}, doesText(head)));
    const effect = survey.effect(place);
    if (effect) {
      const order = survey.ranked("effect").map(([each]) => each);
      title.append(element("p", "", {}, say("effect_rank", { rank: order.indexOf(place) + 1, all: order.length, effect: lossWords("times", effect.loss), n: effect.sentences })));
    }
    this.body.className = "corpus one";
    this.body.replaceChildren(title, this.measuresOf(survey, place), this.examplesOf(survey, head));
    this.caption.textContent = sampleOf(survey);
  }

  /** @type {(survey: Survey, place: number) => HTMLElement} */
  measuresOf(survey, place) {
    const rows = [...survey.quantities.values()].flatMap(({ key, name, unit }) => {
      const value = survey.value(place, key);
      if (value === null) return [];
      const spread = unit === "share" ? survey.spread(place, key) : null;
      const bar = element("span", spread ? "spread" : "");
      if (spread) ["--low", "--middle", "--high"].forEach((name, at) => bar.style.setProperty(name, String(Math.min(1, Math.max(0, spread[at])))));
      return [[worded({ name }).name, element("div", "mean", {}, element("span", "", {}, survey.written(key, value)), bar)]];
    });
    return element("div", "", {}, tableOf([say("measure"), say("mean")], rows), element("p", "aside", {}, say("spread_note", { share: percent(MIDDLE) })));
  }

  /** The sentences in which a head does most of what it does, down to where it does least, and its pairs of words.
   * @type {(survey: Survey, head: SurveyedHead) => HTMLElement} */
  examplesOf(survey, head) {
    const made = element("div", "examples");
    const measure = survey.quantities.get(head.measure ?? "");
    if (measure) {
      const tenth = (/** @type {number} */ number) => (number === FIRST_TENTH ? say("tenth_first") : number ? say("tenth", { n: 10 - number }) : say("tenth_last"));
      const listed = head.examples.map(([number, shown]) => element("li", "", {}, this.toSentence(head, survey.file.shown[shown], survey.file.shown[shown]), element("small", "", {}, tenth(number))));
      made.append(element("h3", "", {}, say("sentences_by", { measure: worded({ name: measure.name }).name })), element("ol", "sentences", {}, ...listed));
    }
    if (head.pairs.length) {
      const pairs = head.pairs.slice(0, PAIRS).map(([query, key, looked, met]) => element("li", "", { dir: "auto" }, `${query} → ${key} `, element("small", "", {}, percent(looked / met))));
      made.append(element("h3", "", {}, say("word_pairs")), element("ul", "pairs", {}, ...pairs), element("p", "aside", {}, say("pairs_note")));
    }
    return made;
  }

  // ---- sentences --------------------------------------------------------------------------------------------------

  /** @type {(survey: Survey, isCurrent: () => boolean) => Promise<void>} */
  async drawFound(survey, isCurrent) {
    const { talk } = this;
    const place = this.placeOf(survey, "effect");
    const head = survey.heads[place];
    const { words = "", does = "" } = this.query;
    this.field.value = words;
    this.ask(this.form, this.headMenu(survey, place));
    this.body.className = "corpus found";
    this.caption.textContent = "";
    if (talk.follower?.follows && !read.has(`${talk.card.name} sentences`)) {
      this.body.replaceChildren();
      await talk.tapped(say("tap_for_sentences"));
      if (!isCurrent()) return;
    }
    const sentences = await this.file("sentences", Sentences);
    if (!isCurrent()) return;
    if (!sentences) {
      this.body.replaceChildren();
      this.caption.textContent = sentences === null ? say("no_sentences") : "";
      return;
    }
    const rules = sentences.rules[head.kind];
    const rule = rules.includes(does) ? does : "";
    if (does && !rule) this.misfit("does");
    this.ask(this.form, this.headMenu(survey, place), this.menu(say("looks_where"), "does", [["", say("anywhere")], ...rules.map((name) => /** @type {[string, string]} */ ([name, say(`rule_${name}`)]))], rule));
    const found = sentences.found(words, head, rule);
    const all = sentences.sources.length;
    const searched = rule && words.trim() ? sentences.found(words).length : words.trim() ? found.length : all;
    const said = words.trim() ? [say("have_words", { n: searched, all })] : [];
    if (rule) said.push(say("rule_in", { head: this.shortName(head), rule: say(`rule_${rule}`), n: found.length, all: searched, mostly: found.filter(([, level]) => level === FOLLOWS_MOSTLY).length }));
    this.note.textContent = said.join(" ") || say("ask_sentences", { n: all });
    const isAsked = Boolean(rule || words.trim());
    const searches = words.split(/\s+/).filter(Boolean).map(patternOf);
    const listed = (isAsked ? found.slice(0, LISTED) : []).map(([number]) => element("li", "", {}, this.toSentence(head, sentences.sources[number], ...marked(sentences.sources[number], searches))));
    this.body.replaceChildren(element("ol", "sentences", {}, ...listed));
    this.caption.textContent = [found.length > LISTED && isAsked ? say("first_found", { n: LISTED }) : "", sampleOf(survey)].filter(Boolean).join(" ");
  }
}
