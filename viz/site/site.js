// Headscope without a server: the app's pictures of a model that runs in this page.

import { element, part } from "../browser/canvas/dom.js";
import { percent } from "../browser/canvas/numbers.js";
import { tell } from "../browser/canvas/shared.js";
import { worded } from "../browser/canvas/wording.js";
import { inflated } from "../browser/live/inflated.js";
import { tokenText } from "../browser/live/labels.js";
import { HashAddress, PathAddress } from "./address.js";
import { doubtsOf } from "./doubts.js";
import { FileError, cardOf, cardOrOther, isPacked, keep, site, siteRoot, startedEngine } from "./files.js";
import { Follower, speakerOf } from "./follow.js";
import { answersOf, keyOf, keyOfEffects, tracing } from "./followed.js";
import { Frame, modelName, remember, remembered, tellSize } from "./frame.js";
import { named, unhonoured } from "./keys.js";
import { closeMenus } from "./menu.js";
import { PAGES } from "./pages.js";
import { TalkPlayer, talkInPage } from "./talk.js";
import { showing } from "./view.js";
import { languageOf, say, speak } from "./words.js";

// What an address keeps from page to page.
/** @import { EngineClient, EngineError } from "../browser/engine/client.js" */
/** @import { Card } from "./files.js" */
/** @import { SitePage } from "./view.js" */

const SHARED = ["sentence", "target", "checkpoint", "lang", "frame", "follow", "kiosk"];
// Of the app's keys, what every page of the site honours, and a talk in the page.
const HONOURED = showing("sentence", "target", "checkpoint");
const OF_TALK = showing("scene", "read", "present");
const MOST_TRACES = 12;

export class Site {
  page = "";
  /** @type {View} */
  query = {};
  isReady = false;
  isTooLong = false;
  pages = Object.keys(PAGES);
  /** @type {Map<string, Promise<unknown>>} */
  traces = new Map();
  /** What a speaker's server found of the sentence that is shown. @type {Map<string, unknown>} */
  told = new Map();
  stop = new AbortController();
  /** @type {Promise<EngineClient> | undefined} */
  started;
  /** @type {SitePage | null} */
  view = null;
  /** @type {TalkPlayer | undefined} */
  player;
  /** @type {Follower | undefined} */
  follower;

  /** @param {Card} card @param {Record<string, Bytes>} openings */
  constructor(card, openings) {
    this.card = card;
    this.openings = openings;
    // The app's other pages have addresses here too, which say that they are not here.
    const known = Object.keys(site().keys).filter(Boolean);
    this.address = isPacked() ? new HashAddress(known) : new PathAddress(siteRoot(), known);
    this.frame = new Frame(card, (text) => this.ask(text));
    this.at = { status: part(document, "#status"), view: part(document, "#view"), trouble: part(document, "#trouble") };
    const own = element("button", "link", { type: "button" }, say("own_translation"));
    own.addEventListener("click", () => {
      this.change({ target: "" }, { draws: false });
      this.show();
    });
    this.given = element("p", "aside", { hidden: "" }, `${say("given")} `, own);
    this.warnings = element("ul", "warnings", { role: "status" });
    this.frame.asked.after(this.given, this.warnings);
    this.missing = element("p", "lacks", { "aria-live": "polite" });
    this.at.view.before(this.missing);
    this.unused = element("p", "aside");
    this.at.view.after(this.unused);
    Object.assign(this, this.address.read());
    this.text = this.query.sentence || card.sentence;
    this.listen();
    this.openTalk();
    this.followSpeaker();
    // Of a hall of phones that follow, each fetches the model once its owner asks for more than is on stage.
    if (this.follower) this.frame.run.disabled = false;
    else if (this.runs) this.started = this.start();
    else keep(card).catch(() => {});
    this.show();
  }

  /** Whether the page that is shown runs the model. */
  get runs() {
    return PAGES[this.page]?.runs ?? true;
  }

  get shared() {
    return Object.fromEntries(SHARED.filter((name) => this.query[name]).map((name) => [name, this.query[name]]));
  }

  /** The talk that came with the page, which it opens with. */
  openTalk() {
    const talk = talkInPage();
    if (!talk) return;
    const { card } = this;
    const show = (/** @type {string} */ page, /** @type {View} */ query) => this.go(page, { ...this.asHere(query), ...(this.query.lang ? { lang: this.query.lang } : {}) });
    const site = this;
    const on = {
      show,
      get query() {
        return site.query;
      },
      get page() {
        return site.page;
      },
    };
    this.player = new TalkPlayer(talk, on);
    part(this.frame.help, ".sheet").prepend(this.player.start);
    this.frame.help.before(this.player.stage);
    this.frame.asked.before(this.player.heading);
    document.body.append(this.player.reader.host);
    if (!Object.keys(this.query).some((name) => name !== "lang")) {
      const { page, view } = talk.scenes[0];
      history.replaceState(null, "", this.address.link(page, { ...this.asHere(view), ...this.query, scene: "1", read: "1" }));
      Object.assign(this, this.address.read());
      this.text = this.query.sentence || card.sentence;
    }
  }

  /** Turns to what a speaker shows, if the address names one. */
  followSpeaker() {
    if (isPacked() || !speakerOf(this.query)) return;
    const show = (/** @type {string} */ page, /** @type {View | null} */ view, /** @type {Bytes | null} */ found) => {
      this.hear(found);
      const kept = Object.fromEntries(["lang", "frame", "follow"].map((name) => [name, this.query[name] ?? ""]));
      history.replaceState(null, "", this.address.link(page, { ...this.asHere(view ?? {}), ...kept }));
      this.follow({ isTooLong: !view });
    };
    this.follower = new Follower(speakerOf(this.query), show);
    this.frame.asked.append(this.follower.button);
    this.frame.asked.after(this.follower.note);
  }

  /** The model of an address without one. */
  get usualModel() {
    return site().models[0]?.name ?? this.card.name;
  }

  /** @type {(checkpoint: string) => boolean} */
  has(checkpoint) {
    return checkpoint === this.card.name || site().models.some(({ name }) => name === checkpoint);
  }

  /** The model of the address; where there is none of its name, that which opens. */
  get askedModel() {
    const { checkpoint } = this.query;
    return checkpoint && this.has(checkpoint) ? checkpoint : this.usualModel;
  }

  /** A view of the app as an address here has it, which leaves out the model that opens. @type {(view: View) => View} */
  asHere({ checkpoint = "", ...view }) {
    return { ...view, ...(checkpoint && checkpoint !== this.usualModel ? { checkpoint } : {}) };
  }

  /** What of the address is not here: in a sentence, why its picture is another one's, and keys that say nothing here. */
  get absent() {
    const { page, query } = this;
    const only = (/** @type {string} */ what) => ({ lacks: say("only_app", { what }), unused: [] });
    // The app's own page about itself is another one.
    const isOfApp = page === "about" && (this.player?.mode || this.follower?.follows);
    if (this.isTooLong || isOfApp || !this.pages.includes(page)) return only(page);
    const { checkpoint: name } = query;
    if (name && !this.has(name)) return { lacks: say("needs_model", { name }), unused: [] };
    const { "": around, [page]: known } = site().keys;
    const { honours, beside } = PAGES[page];
    const all = { ...HONOURED, ...(this.player ? OF_TALK : {}), ...honours };
    const { lacking, unused } = unhonoured(query, { known, around, honours: all, beside });
    return lacking.length ? only(lacking.join(", ")) : { lacks: "", unused };
  }

  /** Names the keys of the address that say nothing here. */
  nameUnused() {
    const misfits = [...(this.view?.misfits ?? [])].filter((name) => this.query[name]).map((name) => named(name, this.query[name]));
    const what = [...(this.absent.unused ?? []), ...misfits].join(", ");
    this.unused.textContent = what && say("not_used", { what });
  }

  // ---- the model --------------------------------------------------------------------------------------------------

  /** The engine, which starts when it is first asked. */
  get engine() {
    this.started ??= this.start();
    return this.started;
  }

  start() {
    this.say(say("preparing"));
    const started = startedEngine(this.card, (share) => this.say(say("loading", { percent: percent(share) })));
    keep(this.card, this.card.files).catch(() => {});
    started.then(
      () => {
        this.frame.run.disabled = false;
        this.isReady = true;
        document.documentElement.dataset.engine = "ready";
        this.say("");
      },
      (error) => this.trouble(error instanceof FileError ? error.message : say("cannot_run", { error: error.message })),
    );
    return started;
  }

  /** Takes what a speaker's server found of the sentence on stage. @type {(found: Bytes | null) => void} */
  hear(found) {
    this.told = new Map();
    if (!this.started) this.say("");
    if (!found) return;
    const { calls, effects, predictions } = answersOf(found);
    for (const { method, text, options, result } of calls) this.told.set(keyOf(method, text, options), result);
    if (effects) this.told.set(keyOfEffects(calls[0].text, predictions), effects);
  }

  /**
   * The trace of the present sentence; null if another sentence has come meanwhile, or there is none.
   *
   * It is of the translation under an intervention, with the ids it must begin with, by a search; or of the translation
   * that is given by its ids or its text.
   *
   * @param {Under & { prefix?: number[], ids?: number[] | null, target?: string | null, search?: Search }} asked
   * @returns {Promise<EngineTrace | null>}
   */
  async trace(asked = {}) {
    return this.asked("trace", tracing(asked));
  }

  /** What the model writes under an intervention, without a trace of it, which takes less time.
   * @type {(under: Under) => Promise<EngineTranslation | null>} */
  async translation(under) {
    return this.asked("translate", { under });
  }

  /** What a method of the engine gives for the present sentence.
   * @type {<Result>(method: string, options: object) => Promise<Result | null>} */
  async asked(method, options) {
    const { text } = this;
    return this.known(keyOf(method, text, options), (engine, signal) => engine.call(method, [text, options], { signal }));
  }

  /** The trace of the translation that is shown, under an intervention: one's own, which the address gives, or the model's. */
  /** @param {Under} under */
  async shown(under = {}) {
    const { target } = this.query;
    return this.trace(target ? { ...under, target } : under);
  }

  /** Whether a talk in the page is on stage. */
  get isStaged() {
    return this.player?.mode === "present";
  }

  /** The loss of the translation that is shown without each head. @returns {Promise<EngineEffects | null>} */
  async effects() {
    const whole = await this.shown();
    if (!whole) return null;
    const { source, target, predictions } = whole;
    const ids = { source: { ids: source.ids }, target: { ids: target.ids }, predictions: { ids: predictions.ids } };
    return this.known(keyOfEffects(this.text, predictions), (engine, signal) => engine.call("effects", [ids], { signal }));
  }

  /** A result of the engine, which is asked once; null if it was given up, or failed.
   * @type {<Result>(key: string, ask: (engine: EngineClient, signal: AbortSignal) => Promise<Result>) => Promise<Result | null>} */
  async known(key, ask) {
    const { signal } = this.stop;
    await this.follower?.begun;
    if (signal.aborted) return null;
    if (this.told.has(key)) return /** @type {never} */ (this.told.get(key));
    if (this.follower?.follows && this.told.size && !this.started) {
      // A hall of phones does not load the model for a picture that the speaker's server has not found.
      await this.tapped(say("tap_for_model"));
      if (signal.aborted) return null;
    }
    if (!this.traces.has(key)) {
      const found = this.engine.then((engine) => {
        this.say(say("computing"));
        return ask(engine, signal);
      });
      this.traces.set(key, found);
      found.catch(() => this.traces.delete(key));
      for (const oldest of this.traces.keys()) if (this.traces.size > MOST_TRACES) this.traces.delete(oldest);
    }
    try {
      const result = /** @type {never} */ (await this.traces.get(key));
      if (signal.aborted) return null;
      this.say("");
      return result;
    } catch (caught) {
      const error = /** @type {EngineError} */ (caught);
      if (!error.kind || error.kind === "Cancelled" || signal.aborted) return null;
      if (error.kind === "TextError") this.refuse();
      this.trouble(error.message);
      return null;
    }
  }

  /** Says what a tap loads, and waits for one. @type {(text: string) => Promise<unknown>} */
  tapped(text) {
    this.say(text);
    return new Promise((resolve) => document.addEventListener("click", resolve, { once: true, capture: true }));
  }

  // ---- what is shown ----------------------------------------------------------------------------------------------

  /** Goes to a page with a query, as a link would. @type {(page: string, query: View) => void} */
  go(page, query) {
    history.pushState(null, "", this.address.link(page, query));
    this.follow();
  }

  /** Changes the query of the page. @type {(values: View, options?: { draws?: boolean }) => void} */
  change(values, { draws = true } = {}) {
    Object.assign(this.query, values);
    for (const [name, value] of Object.entries(this.query)) if (value === "") delete this.query[name];
    history.replaceState(null, "", this.address.link(this.page, this.query));
    if (!draws) return;
    this.at.trouble.textContent = "";
    this.nameUnused();
    this.view?.draw();
  }

  /** Takes over what the address says. */
  follow({ isTooLong = false } = {}) {
    const { lang } = this.query;
    const model = this.askedModel;
    Object.assign(this, this.address.read(), { isTooLong });
    // Another model, or other words: all is made anew.
    if (this.askedModel !== model || this.query.lang !== lang) location.reload();
    const text = this.query.sentence || this.card.sentence;
    if (text !== this.text) this.give(text);
    this.show();
  }

  /** Another sentence; what still runs for the one before is given up. @type {(text: string) => void} */
  give(text) {
    this.stop.abort();
    this.stop = new AbortController();
    this.text = text;
  }

  /** @type {(text: string) => void} */
  ask(text) {
    if (text === this.text) return;
    this.give(text);
    // A translation belongs to its sentence.
    const kept = { ...this.shared, target: "", sentence: text === this.card.sentence ? "" : text };
    this.query = {};
    history.pushState(null, "", this.address.link(this.page, kept));
    this.query = this.address.read().query;
    this.show();
  }

  async show() {
    const { at, page } = this;
    const isFrame = this.query.frame === "1";
    document.body.classList.toggle("framed", isFrame);
    document.body.dataset.page = page;
    document.title = [...(this.pages.includes(page) ? [say(`page_${page}`)] : []), "Headscope"].join(" · ");
    this.frame.ask(this.text);
    // Without a sentence, only models are to choose from.
    this.frame.form.hidden = page === "about" || (!this.runs && this.frame.model.hidden);
    this.frame.form.classList.toggle("bare", !this.runs);
    this.frame.links(this.pages, page, (each) => this.address.link(each, this.shared), (each) => this.go(each, this.shared));
    this.player?.draw();
    const { lacks } = this.absent;
    this.given.hidden = !this.query.target || !this.runs || Boolean(lacks);
    this.missing.textContent = lacks;
    if (lacks) {
      this.view = null;
      at.view.replaceChildren();
      at.trouble.textContent = this.frame.translation.textContent = this.unused.textContent = "";
      document.body.dataset.shown = this.text;
      return;
    }
    if (this.view?.constructor !== PAGES[page]) {
      this.view = new PAGES[page](this);
      at.view.replaceChildren(this.view.root);
      document.body.dataset.shown = "";
    }
    at.trouble.textContent = "";
    document.body.classList.remove("refused");
    const { view } = this;
    this.nameUnused();
    await Promise.all([view.draw(), this.write()]);
    if (view === this.view) document.body.dataset.shown = this.text;
  }

  /** The heading above the picture: the translation. */
  async write() {
    const { translation } = this.frame;
    // The picture of the model has the translation itself.
    const named = this.page === "model" || !this.runs;
    translation.classList.toggle("unseen", named);
    if (named) translation.textContent = say(`page_${this.page}`);
    if (!this.runs) this.warnings.replaceChildren();
    const { text } = this;
    const whole = this.runs && (await this.shown());
    if (!whole) return;
    // What was written of a given translation, or of none, says nothing of its source.
    const { unseen } = whole.translation ?? (await this.translation({})) ?? { unseen: [] };
    if (text === this.text) this.warnings.replaceChildren(...doubtsOf(this.text, this.card, unseen, whole.source.tokens.length).map((doubt) => element("li", "", {}, doubt)));
    tell("tokens", { source: whole.source.tokens.map(tokenText), target: whole.predictions.tokens.map(tokenText) });
    if (!named) this.frame.write(whole.text || say("nothing"));
  }

  /** Takes away what is shown of another sentence. */
  refuse() {
    document.body.classList.add("refused");
    this.frame.translation.classList.add("unseen");
    this.frame.translation.textContent = say(`page_${this.page}`);
  }

  // ---- the page around it -----------------------------------------------------------------------------------------

  listen() {
    closeMenus();
    window.addEventListener("popstate", () => this.follow());
    this.frame.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(this.frame.field.value);
    });
    const { language, model } = this.frame;
    language.addEventListener("change", () => {
      remember(language.value);
      this.go(this.page, { ...this.query, lang: language.value });
    });
    model.addEventListener("change", () => this.choose(model.value));
  }

  /** Goes on with another model, if it is to be had. @type {(checkpoint: string) => Promise<void>} */
  async choose(checkpoint) {
    try {
      await cardOf(checkpoint);
      this.go(this.page, { lang: this.query.lang ?? "", checkpoint });
    } catch (error) {
      this.stay(checkpoint, /** @type {FileError} */ (error));
    }
  }

  /** Says why another model, which was asked for, is not shown. @type {(checkpoint: string, error: FileError) => void} */
  stay(checkpoint, { isAway, message }) {
    this.frame.model.value = this.card.name;
    this.trouble(isAway ? say("model_away", { name: modelName(checkpoint), kept: modelName(this.card.name) }) : message);
  }

  /** @type {(text: string) => void} */
  say(text) {
    this.at.status.textContent = text;
  }

  /** Says what is wrong, in the page's language; the engine says it in English. @type {(text: string) => void} */
  trouble(text) {
    this.say("");
    this.at.trouble.textContent = worded({ said: text }).said;
  }
}

// A browser that saves an open page saves what the page has made by then, without the model.
const isSaved = "begun" in document.documentElement.dataset;

async function begin() {
  document.documentElement.dataset.begun = "";
  // They are relative to the address, which changes from page to page.
  for (const link of /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[href]:not([rel=stylesheet])"))) link.setAttribute("href", link.href);
  const { query } = (isPacked() ? new HashAddress([]) : new PathAddress(siteRoot(), [])).read();
  const language = languageOf(query.lang, [remembered(), ...navigator.languages]);
  speak(language, site().words, site().wording);
  document.documentElement.lang = language;
  if (isPacked() && isSaved) throw new FileError(say("saved_copy"));
  const { card, error } = await cardOrOther(query.checkpoint);
  const openings = Object.fromEntries(
    await Promise.all(Object.entries(card.openings).map(async ([name, text]) => [name, await inflated(text)])),
  );
  const shown = new Site(card, openings);
  globalThis.headscopeSite = shown;
  if (error) shown.stay(query.checkpoint, error);
  tellSize();
}

begin().then(
  () => part(document, "#old").replaceChildren(),
  (error) => {
    part(document, "#old").textContent = error instanceof FileError ? error.message : say("old", { error: error.message });
    // What cannot be used, or is a saved page's dead picture, is not shown.
    const dead = document.querySelectorAll("header nav, .menus, main > :not(#old), body > .part");
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (dead)) each.hidden = true;
  },
);
