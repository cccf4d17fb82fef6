// A phone in a hall turns to what the speaker shows. It asks for that; only an answer to a speaker's question is sent (guess.js).

import { element } from "../browser/canvas/dom.js";
import { inflated } from "../browser/live/inflated.js";
import { siteRoot } from "./files.js";
import { Guess } from "./guess.js";
import { say } from "./words.js";

const CODE = /^[0-9a-f]{16}$/;
// Before a server that answers at once is asked again; one that waits for a change answers within half a minute.
const MILLISECONDS = 2000;
// Without a speaker there, or a network; not all of a hall at the same moment.
const LATER = 4000;
// A server that says nothing for so long is not heard any more: its machine slept, or the network changed.
const SILENT = 40_000;
// What a person does to go their own way; scrolling is not among it.
const OWN_WAY = ["click", "input", "keydown"];

export class Follower {
  /**
   * @param {string} code - of the speaker, from the address.
   * @param {(page: string, query: View | null, found: Bytes | null) => void} show - the query is null where it is too long to be sent;
   *   `found` is what answers for a model.
   */
  constructor(code, show) {
    this.show = show;
    this.code = code;
    this.seen = "";
    /** The view that is shown, without what the speaker asks about it. */
    this.shown = "";
    /** What the speaker's server found of it, and its name. @type {{ name: string, answers: Bytes | null }} */
    this.found = { name: "", answers: null };
    this.follows = true;
    /** @type {number | undefined} */
    this.waiting = undefined;
    /** What ends a request. @type {AbortController | undefined} */
    this.asking = undefined;
    /** Once it is known what the speaker shows, or that nothing is known of it. @type {Promise<void>} */
    this.begun = new Promise((resolve) => {
      this.begin = resolve;
    });
    this.address = new URL(`speaker/${code}.json`, siteRoot());
    this.guess = new Guess(new URL(`${code}/`, this.address));
    this.button = element("button", "follow", { type: "button" }, say("follow"));
    this.button.addEventListener("click", () => this.turn(!this.follows));
    this.note = element("p", "aside", { "aria-live": "polite" });
    const own = (/** @type {Event} */ event) => event.isTrusted && event.target !== this.button && !this.guess.root.contains(/** @type {Node} */ (event.target));
    for (const type of OWN_WAY) document.addEventListener(type, (event) => own(event) && this.turn(false), { capture: true });
    document.addEventListener("visibilitychange", () => this.ask());
    window.addEventListener("online", () => this.ask());
    this.turn(true);
  }

  /** @type {(follows: boolean) => void} */
  turn(follows) {
    this.follows = follows;
    this.button.setAttribute("aria-pressed", String(follows));
    if (!follows) {
      this.note.replaceChildren();
      this.guess.take(null);
      this.begin?.();
    }
    this.seen = this.shown = "";
    this.ask();
  }

  /** Asks for the view now, and again and again while it is followed and the page is seen. */
  async ask() {
    clearTimeout(this.waiting);
    this.asking?.abort();
    this.asking = undefined;
    if (!this.follows || document.hidden) return;
    const asking = (this.asking = new AbortController());
    const { signal } = asking;
    const silent = setTimeout(() => asking.abort(), SILENT);
    let pause = LATER * (0.75 + Math.random() / 2);
    try {
      const address = new URL(this.address);
      if (CODE.test(this.seen)) address.searchParams.set("seen", this.seen);
      if (this.found.name) address.searchParams.set("found", this.found.name);
      const response = await fetch(address, { cache: "no-store", signal });
      if (response.status === 204) pause = 0;
      else if (response.ok) pause = await this.take(await response.text(), signal);
      else {
        this.note.textContent = say("no_speaker");
        this.guess.take(null);
        this.begin?.();
      }
    } catch {
      // Without a network the page goes on as it is.
    }
    clearTimeout(silent);
    // Whoever asked anew ended this question.
    if (this.asking !== asking) return;
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  /** Turns to a view if it is another one; gives the pause before the next question.
   * @type {(text: string, signal: AbortSignal) => Promise<number>} */
  async take(text, signal) {
    const { page, query, mark = text, found: name = "", answers = "", poll = null } = JSON.parse(text);
    if (mark === this.seen) return MILLISECONDS;
    const shown = JSON.stringify([page, query, name]);
    // What an open question hides has no room to be drawn in.
    const turns = shown !== this.shown && !(poll && !poll.closed);
    const found = name === this.found.name ? this.found : { name, answers: answers ? await inflated(answers) : null };
    if (signal.aborted) return 0;
    this.seen = mark;
    this.note.textContent = "";
    this.guess.take(poll);
    if (turns) {
      this.shown = shown;
      this.found = found;
      this.show(page, query, found.answers);
      this.begin?.();
    }
    return mark === text ? MILLISECONDS : 0;
  }
}

/** The code of a speaker in a query; empty if there is none. @type {(query: View) => string} */
export function speakerOf(query) {
  return CODE.test(query.follow ?? "") ? query.follow : "";
}
