// A question to the hall, in the place of the picture on stage, which would give the answer away: the words to choose from,
// the darker the more phones chose them, and once the speaker has closed it, the truth beside the guesses.

import { element } from "../canvas/dom.js";
import { plainKey, typing } from "../canvas/keys.js";
import { mounted } from "../canvas/mount.js";
import { percent } from "../canvas/numbers.js";
import { pageTheme } from "../canvas/page.js";
import { allOf, askedFrom, contextOf, markOf } from "./question.js";

const KEY = "q";
// Between two looks at the guesses; the server is asked by one page a question.
const MILLISECONDS = 400;
// So many words have room at a size; the size is in rem.
/** @type {[number, number][]} */
const SIZES = [[5, 2.6], [10, 2], [24, 1.3], [Infinity, 0.9]];
// With more words, what says least makes room once the question is closed.
const MANY = 10;
// Smaller parts have no bars there.
const LEAST = 0.01;
// In the page's variables: how wide the button is, so that the foot of the stage leaves room for it.
const ROOM = "--stage-hall";
const GAP = 16;

/** @typedef {{ about: "key" | "word" | null, poll: HallPoll | null, named: string, address: string, themes: Themes }} Offered */

class Hall {
  /** @type {Offered} */
  data;
  /** @type {Reporter} */
  report;
  presses = 0;
  /** @type {number | undefined} */
  waiting;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.button = element("button", "ask", { type: "button", title: "Q" });
    this.button.addEventListener("click", () => this._press());
    this.asked = element("p", "asked");
    this.context = element("p", "context", { dir: "auto" });
    this.words = element("ul", "tiles");
    this.line = element("p", "line", { "aria-live": "polite" });
    this.legend = element("p", "legend");
    this.over = element("section", "over", { "aria-label": "A question to the hall" }, this.asked, this.line, this.context, this.words, this.legend);
    this.root = root;
    root.replaceChildren(this.over, this.button);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    window.addEventListener("keydown", this.onKey, true);
    this.resized = new ResizeObserver(() => document.documentElement.style.setProperty(ROOM, `${this.button.offsetWidth && this.button.offsetWidth + GAP}px`));
    this.resized.observe(this.button);
  }

  dispose() {
    window.removeEventListener("keydown", this.onKey, true);
    this.resized.disconnect();
    document.documentElement.style.removeProperty(ROOM);
    clearTimeout(this.waiting);
  }

  /** Takes Python's message. @type {(data: Offered, report: Reporter) => void} */
  update(data, report) {
    const { about, poll, themes } = data;
    Object.assign(this, { data, report });
    const { text, muted, accent, heads } = pageTheme(this.root, themes);
    for (const [name, color] of Object.entries({ text, muted, truth: accent, guess: heads[1] })) this.root.style.setProperty(`--${name}`, color);
    this.button.hidden = !poll && !about;
    this.button.textContent = !poll ? "Ask the hall" : poll.closed ? "Back to the picture" : "Close the question";
    this.over.hidden = !poll;
    clearTimeout(this.waiting);
    if (!poll) return;
    this._write(poll);
    if (poll.closed) this._count(poll.closed.guesses);
    else this._look();
  }

  /** @type {(poll: HallPoll) => void} */
  _write(poll) {
    const { about, choices, closed } = poll;
    this.asked.textContent = about === "key" ? `Where does this head look from “${askedFrom(poll)}”?` : "What comes next?";
    this.context.replaceChildren(...contextOf(poll, this.data.named));
    this.over.classList.toggle("many", choices.length > MANY);
    this.over.classList.toggle("closed", Boolean(closed));
    this.words.style.setProperty("--size", `${SIZES.find(([most]) => choices.length <= most)?.[1]}rem`);
    this.words.replaceChildren(
      ...choices.map((word, place) => {
        const tile = element("li", markOf(poll, place), {}, element("span", "word", { dir: "auto" }, word));
        if (closed) tile.append(element("span", "bar guess"), element("span", "bar truth"));
        return tile;
      }),
    );
    this.legend.hidden = !closed;
    this.legend.replaceChildren(element("span", "guess", {}, "guessed by the hall"), element("span", "truth", {}, about === "key" ? "weight of the head" : "probability of the model"));
  }

  /** @type {(guesses: number[]) => void} */
  _count(guesses) {
    const { closed = null, choices = [], about } = /** @type {HallPoll} */ (this.data.poll);
    const all = allOf(guesses);
    [...this.words.children].forEach((tile, place) => {
      const share = guesses[place] / Math.max(all, 1);
      /** @type {HTMLElement} */ (tile).style.setProperty("--share", String(guesses[place] / Math.max(...guesses, 1)));
      if (!closed) return;
      tile.classList.toggle("none", Math.max(share, closed.truth[place]) < LEAST);
      const [, guess, truth] = /** @type {HTMLElement[]} */ ([...tile.children]);
      for (const [bar, part] of /** @type {[HTMLElement, number][]} */ ([[guess, share], [truth, closed.truth[place]]])) {
        bar.style.setProperty("--part", String(part));
        bar.textContent = percent(part);
      }
    });
    if (!closed) this.line.textContent = all === 1 ? "1 phone has answered" : `${all.toLocaleString("en")} phones have answered`;
    else {
      const right = guesses[closed.best];
      const truth = about === "key" ? "This head looks most at" : "Most likely next:";
      this.line.textContent = `${truth} “${choices[closed.best]}”. ${all ? `Guessed by ${right.toLocaleString("en")} of ${all.toLocaleString("en")}.` : "Nobody guessed."}`;
    }
  }

  /** Asks how many guessed what, now and until the question is closed. */
  async _look() {
    const { poll, address } = this.data;
    try {
      const answer = await fetch(new URL(address, document.baseURI), { cache: "no-store" });
      const { guesses } = answer.ok ? await answer.json() : { guesses: null };
      if (this.data.poll !== poll) return;
      if (guesses) this._count(guesses);
    } catch {
      // Without the server the numbers stay as they are.
    }
    if (this.data.poll !== poll || !this.root.isConnected) return;
    this.waiting = setTimeout(() => this._look(), MILLISECONDS);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    if (plainKey(event) !== KEY || event.repeat || typing(event) || this.button.hidden) return;
    event.preventDefault();
    event.stopPropagation();
    this._press();
  }

  _press() {
    this.presses += 1;
    this.report([this.data.poll?.name ?? "", this.presses]);
  }
}

export default mounted(".hall", (root) => new Hall(root), "pressed");
