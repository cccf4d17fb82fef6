// A talk in the page: as a reading, with its notes at the foot, or on stage, with the titles alone.

import { element } from "../browser/canvas/dom.js";
import { typing } from "../browser/canvas/keys.js";
import { asked, sceneAsked, swiped } from "../browser/speaker/keys.js";
import { isForeign } from "../browser/live/language.js";
import { textOf } from "./files.js";
import { Part } from "./parts.js";
import { say } from "./words.js";

/** @typedef {{ title: string, note: string, page: string, view: View }} Scene */
/** @typedef {{ title: string, scenes: Scene[] }} Talk */

/** The talk that comes with the page, in the page's language as far as it has been translated; null if none does.
 * @type {() => Talk | null} */
export function talkInPage() {
  if (!document.querySelector("#talk")) return null;
  /** @type {Talk & { texts: Record<string, Talk | undefined> }} */
  const { texts, ...talk } = JSON.parse(textOf("talk"));
  const own = texts[document.documentElement.lang];
  const scenes = talk.scenes.map((scene, place) => ({ ...scene, ...own?.scenes[place] }));
  return { ...talk, title: own?.title ?? talk.title, scenes };
}

/** Whether a text is probably in another language than the page. @type {(text: string) => boolean} */
function isInAnother(text) {
  const { lang } = document.documentElement;
  return lang === "zh" ? !/\p{Script=Han}/u.test(text) : isForeign(text, lang);
}

export class TalkPlayer {
  /**
   * @param {Talk} talk - as its file has it.
   * @param {{ page: string, query: View, show(page: string, query: View): void }} on - the present address; `show` goes to a
   *   scene.
   */
  constructor(talk, on) {
    this.talk = talk;
    this.on = on;
    /** @type {import("../browser/speaker/keys.js").Touched | null} */
    this.from = null;
    this.reader = new Part("reader", { trigger: () => this.leave() });
    this.title = element("span", "", { dir: "auto" });
    this.place = element("small");
    const end = element("button", "link", { type: "button" }, say("read_talk"));
    end.addEventListener("click", () => this.show(this.number, "read"));
    this.heading = element("h2", "scene", { hidden: "" }, this.title, this.place, end);
    this.start = element("button", "to-talk", { type: "button" }, say("open_talk", { title: talk.title }));
    this.start.addEventListener("click", () => this.show(this.number || 1, "read"));
    this.stage = element("button", "to-stage", { type: "button" }, say("on_stage"));
    this.stage.addEventListener("click", () => this.show(this.number || 1, "present"));
    window.addEventListener("headscope-step", ({ detail }) => this.step({ step: detail }));
    window.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("touchstart", ({ touches: [finger] }) => (this.from = placeOf(finger)), { passive: true });
    window.addEventListener("touchend", ({ changedTouches: [finger] }) => {
      const step = this.mode === "present" && this.from ? swiped(this.from, placeOf(finger)) : 0;
      if (step) this.step({ step });
    });
  }

  /** "read", "present", or "" where the talk is closed. */
  get mode() {
    return ["read", "present"].find((name) => this.on.query[name] === "1") ?? "";
  }

  get number() {
    const number = Number(this.on.query.scene);
    return Number.isInteger(number) && number >= 1 && number <= this.talk.scenes.length ? number : 0;
  }

  /** @type {(event: KeyboardEvent) => void} */
  key(event) {
    if (event.key === "Escape" && this.mode === "present") {
      this.show(this.number, "read");
      return;
    }
    const move = this.mode && !typing(event) ? asked(event) : null;
    // A space presses what has the focus, and digits choose among tokens there, unless the talk is on stage.
    if (!move || (this.mode === "read" && /^[ 0-9]$/.test(event.key))) return;
    event.preventDefault();
    this.step(move);
  }

  /** @type {(move: Wish) => void} */
  step(move) {
    const to = move.step === 0 ? this.number || 1 : sceneAsked(move, this.number, this.talk.scenes.length);
    if (to) this.show(to, this.mode || "read");
  }

  /** @type {(number: number, mode: string) => void} */
  show(number, mode) {
    const scene = this.talk.scenes[number - 1];
    this.on.show(scene.page, { ...scene.view, scene: String(number), [mode]: "1" });
  }

  leave() {
    const { scene, read, present, ...query } = this.on.query;
    this.on.show(this.on.page, query);
  }

  /** Shows the text of the present scene. */
  async draw() {
    const { mode, number, talk } = this;
    const scene = talk.scenes[number - 1];
    const { title, note } = scene ?? { title: "", note: "" };
    document.body.classList.toggle("staged", mode === "present");
    document.body.classList.toggle("reading", mode === "read");
    this.heading.hidden = mode !== "present";
    this.title.textContent = title;
    this.place.textContent = say("scene_of", { number, count: talk.scenes.length });
    this.start.hidden = mode !== "";
    this.stage.hidden = mode === "present";
    this.reader.host.hidden = mode !== "read";
    if (mode === "read") await this.reader.update({ talk: talk.title, number, count: talk.scenes.length, title, note, remark: isInAnother(`${title}. ${note}`) ? say("one_language") : "" });
    else document.documentElement.style.removeProperty("--reader-room");
  }
}

/** @type {(touch: Touch) => import("../browser/speaker/keys.js").Touched} */
function placeOf({ clientX: x, clientY: y }) {
  return { x, y, at: performance.now() };
}
