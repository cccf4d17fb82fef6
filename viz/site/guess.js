// A phone's part in what a speaker asks the hall: a tap on a word. The number of that word is all that is sent, with a number
// that this tab drew, so that a second tap takes the place of the first.
// Meanwhile the page's own picture is hidden. Whoever looks for the weights finds them, since a phone has them already when the
// question comes: it is a game and no exam.

import { element, part } from "../browser/canvas/dom.js";
import { percent } from "../browser/canvas/numbers.js";
import { storage } from "../browser/canvas/stored.js";
import { allOf, askedFrom, contextOf, markOf } from "../browser/hall/question.js";
import { say } from "./words.js";

// Of the tab: its number, and what it chose last.
const KEPT = "headscope-guess";

/** @typedef {{ phone: string, poll: string, choice: number | null }} Guessed */

export class Guess {
  /** @type {HallPoll | null} */
  poll = null;
  /** @type {Guessed} */
  mine = { phone: "", poll: "", choice: null };
  /** The answers on their way, in their order. */
  sending = Promise.resolve();

  /** @param {URL} folder - below which the speaker's questions are. */
  constructor(folder) {
    this.folder = folder;
    this.asked = element("h2", "", { dir: "auto" });
    this.about = element("p", "aside", { dir: "auto" });
    this.tiles = element("div", "tiles");
    this.note = element("p", "", { "aria-live": "polite", dir: "auto" });
    this.root = element("section", "guess", { hidden: "" }, this.asked, this.about, this.tiles, this.note);
    part(document, "main").prepend(this.root);
    try {
      this.mine = JSON.parse(storage("sessionStorage")?.getItem(KEPT) ?? "");
    } catch {
      this.mine.phone = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    }
  }

  /** Shows what the speaker asks; null for nothing. @type {(poll: HallPoll | null) => void} */
  take(poll) {
    this.poll = poll;
    this.root.hidden = !poll;
    document.body.classList.toggle("guessing", Boolean(poll && !poll.closed));
    if (!poll) return;
    if (this.mine.poll !== poll.name) this.keep({ poll: poll.name, choice: null });
    const { about, choices, head, named, closed } = poll;
    this.asked.textContent = about === "key" ? say("guess_key", { word: askedFrom(poll) }) : say("guess_next");
    const name = head ? say("head_name", { kind: say(head[0]), layer: head[1], head: head[2] }) : named;
    this.about.replaceChildren(...contextOf(poll, name));
    const tiles = choices.map((word, choice) => {
      const tile = element("button", markOf(poll, choice), { type: "button", dir: "auto" }, word);
      tile.disabled = Boolean(closed);
      tile.addEventListener("click", () => this.choose(choice));
      return tile;
    });
    this.tiles.replaceChildren(...tiles);
    this.mark();
    this.note.textContent = closed ? truthOf(poll) : this.mine.choice === null ? say("guess_tap") : say("guess_counted");
  }

  mark() {
    [...this.tiles.children].forEach((tile, choice) => tile.setAttribute("aria-pressed", String(choice === this.mine.choice)));
  }

  /** @param {Partial<Guessed>} changed */
  keep(changed) {
    Object.assign(this.mine, changed);
    try {
      storage("sessionStorage")?.setItem(KEPT, JSON.stringify(this.mine));
    } catch {
      // Without storage, a reload is another phone.
    }
  }

  /** @param {number} choice */
  choose(choice) {
    const { poll } = this;
    if (!poll) return;
    this.keep({ choice });
    this.mark();
    this.sending = this.sending.then(() => this.send(poll, choice));
  }

  /** @type {(poll: HallPoll, choice: number) => Promise<void>} */
  async send(poll, choice) {
    const body = JSON.stringify({ phone: this.mine.phone, choice });
    const asked = { method: "POST", headers: { "content-type": "application/json" }, body };
    const counts = await fetch(new URL(`${poll.name}.json`, this.folder), asked).then(({ ok }) => ok, () => false);
    // Closed meanwhile, or another tap has come.
    if (this.poll !== poll || this.mine.choice !== choice) return;
    if (!counts) this.keep({ choice: null });
    this.mark();
    this.note.textContent = counts ? say("guess_counted") : say("guess_lost");
  }
}

/** @param {HallPoll} poll */
function truthOf({ about, choices, closed }) {
  const { guesses, truth, best } = /** @type {NonNullable<HallPoll["closed"]>} */ (closed);
  const values = { word: choices[best], percent: percent(truth[best]) };
  const said = about === "key" ? say("guess_most", values) : say("guess_likeliest", values);
  return `${said} ${say("guess_right", { n: guesses[best], all: allOf(guesses) })}`;
}
