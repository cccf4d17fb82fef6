// A phone in a hall turns to what the speaker shows. It only asks; nothing of it is told to anybody.

import { element } from "../browser/canvas/dom.js";
import { siteRoot } from "./files.js";
import { say } from "./words.js";

const CODE = /^[0-9a-f]{16}$/;
const MILLISECONDS = 2000;
// Without a speaker there, or a network.
const LATER = 10_000;
// What a person does to go their own way; scrolling is not among it.
const OWN_WAY = ["click", "input", "keydown"];

export class Follower {
  /**
   * @param {string} code - of the speaker, from the address.
   * @param {(page: string, query: View | null) => void} show - the query is null where it is too long to be sent.
   */
  constructor(code, show) {
    this.show = show;
    this.seen = "";
    this.follows = true;
    /** @type {number | undefined} */
    this.waiting = undefined;
    this.address = new URL(`speaker/${code}.json`, siteRoot());
    this.button = element("button", "follow", { type: "button" }, say("follow"));
    this.button.addEventListener("click", () => this.turn(!this.follows));
    this.note = element("p", "aside", { "aria-live": "polite" });
    for (const type of OWN_WAY) document.addEventListener(type, (event) => event.isTrusted && event.target !== this.button && this.turn(false), { capture: true });
    document.addEventListener("visibilitychange", () => this.ask());
    this.turn(true);
  }

  /** @type {(follows: boolean) => void} */
  turn(follows) {
    this.follows = follows;
    this.button.setAttribute("aria-pressed", String(follows));
    if (!follows) this.note.replaceChildren();
    this.seen = "";
    this.ask();
  }

  /** Asks for the view now, and again and again while it is followed and the page is seen. */
  async ask() {
    clearTimeout(this.waiting);
    if (!this.follows || document.hidden) return;
    let pause = LATER;
    try {
      const response = await fetch(this.address, { cache: "no-store" });
      if (response.ok) {
        pause = MILLISECONDS;
        this.take(await response.text());
      } else this.note.textContent = say("no_speaker");
    } catch {
      // Without a network the page goes on as it is.
    }
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  /** @type {(text: string) => void} */
  take(text) {
    if (!this.follows || text === this.seen) return;
    this.seen = text;
    const { page, query } = JSON.parse(text);
    this.note.textContent = "";
    this.show(page, query);
  }
}

/** The code of a speaker in a query; empty if there is none. @type {(query: View) => string} */
export function speakerOf(query) {
  return CODE.test(query.follow ?? "") ? query.follow : "";
}
