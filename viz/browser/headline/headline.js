// The translation above a page. Its doubtful words are underlined, the words that are pointed at anywhere light up, a
// click on one asks why it was written, and while heads are switched off it turns into what the model writes without them.

import { element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { wantsNoMotion } from "../canvas/page.js";
import { ALL_ON_EVENT, ASK_WHY_EVENT, heed, lightWithin, pointable, tell } from "../canvas/shared.js";
import { Plots } from "./plots.js";
import { headNames, marked, turned } from "./turning.js";

const TURN = { duration: 280, delay: 110 };

/** @import { Fate, Word } from "./turning.js" */
/** What came of switching heads off. @typedef {{ off: string, words?: Word[], price?: string, more: string[] }} Outcome */
/** @typedef {{ text: string, words: Word[], tokens: Tokens, colors: Record<string, string>, stage: boolean }} Data */

class Headline {
  /** @type {Data} */
  data;
  /** @type {HTMLElement} */
  line;
  /** @type {Word[]} */
  words = [];
  /** @type {Word[]} */
  shown = [];
  /** @type {WordRange[] | null} */
  pointed = null;
  /** @type {string | null} */
  off = null;
  /** @type {Outcome | null} */
  outcome = null;
  /** @type {boolean | null} */
  asks = null;
  turns = 0;
  plots = new Plots();

  constructor() {
    this.ends = [
      heed("pointed", (/** @type {WordRange[] | null} */ pointed) => this._light(pointed)),
      heed("off", (/** @type {string | null} */ off) => this._take({ off })),
      heed("without", (/** @type {Outcome | null} */ outcome) => this._take({ outcome })),
      heed("asks", (/** @type {boolean | null} */ asks) => {
        this.asks = asks;
        if (this.line) this._offer();
      }),
    ];
    // The text comes after the script, and another one with every other sentence.
    this.observer = new MutationObserver(() => {
      this._find();
      this.plots.find();
    });
    this.observer.observe(document.body, { childList: true, subtree: true });
  }

  dispose() {
    this.observer.disconnect();
    for (const end of this.ends) end();
    this.plots.leave();
    tell("tokens", null);
  }

  /** @type {(data: Data) => void} */
  update(data) {
    this.data = data;
    tell("tokens", data.tokens);
    document.body.style.setProperty("--word-lit", data.colors.mark);
    this._find();
  }

  /** @type {(told: { off?: string | null; outcome?: Outcome | null }) => void} */
  _take(told) {
    Object.assign(this, told);
    if (this.line) this._turn();
  }

  /** Makes words of the text, wherever the page has put it anew. */
  _find() {
    const line = /** @type {HTMLElement | null} */ (document.querySelector(".answer [dir=auto]"));
    if (!line || line.textContent !== this.data?.text || (line === this.line && this.words === this.data.words)) return;
    this.line = line;
    this.words = this.shown = this.data.words;
    for (const [name, color] of Object.entries(this.data.colors)) this._answer.style.setProperty(`--${name}`, color);
    if (!this.words.length) return;
    this._rest(this.words);
    this._turn();
  }

  // ---- what it becomes without heads -----------------------------------------------------------------------------

  get _answer() {
    return /** @type {HTMLElement} */ (this.line.closest(".answer"));
  }

  /** What came of the heads that are off now; null where none is, or nothing has come yet. */
  get _came() {
    return this.off && this.outcome?.off === this.off ? this.outcome : null;
  }

  _turn() {
    if (!this.line.isConnected) return;
    this._price();
    const awaited = Boolean(this.off) && !this._came;
    this.line.classList.toggle("awaited", awaited);
    if (awaited || !this.words.length) return;
    const next = this._came?.words ? marked(this._came.words, this.words) : this.words;
    const fates = turned(this.shown, next);
    this.shown = next;
    const turn = ++this.turns;
    const changes = fates.some(([fate]) => fate !== "same");
    if (!changes || wantsNoMotion()) {
      this._rest(next);
      return;
    }
    const moving = fates.map(([fate, word]) => ({ fate, parts: this._word(word, fate) }));
    this.line.replaceChildren(...moving.flatMap(({ parts }) => parts));
    const ends = moving
      .filter(({ fate }) => fate !== "same")
      .map(({ fate, parts }, place) => {
        const span = /** @type {HTMLElement} */ (parts[0]);
        const frames = [
          { width: "0", opacity: 0 },
          { width: `${span.getBoundingClientRect().width}px`, opacity: 1 },
        ];
        /** @type {KeyframeAnimationOptions} */
        const timing = { duration: TURN.duration, delay: place * TURN.delay, easing: "ease-out", fill: "both" };
        return span.animate(fate === "new" ? frames : frames.reverse(), timing).finished;
      });
    Promise.all(ends).then(
      () => turn === this.turns && this._rest(next),
      () => {},
    );
  }

  /** Writes words as an ordinary line of text. @type {(words: Word[]) => void} */
  _rest(words) {
    this.line.replaceChildren(...words.flatMap((word) => this._word(word)));
    this.line.dataset.without = this._came ? this._came.off : "";
    this._offer();
    this._light(this.pointed);
  }

  /** A word with the space before it: apart where the line stands, in one piece while the word comes or goes.
   * @type {(word: Word, fate?: Fate) => (Node | string)[]} */
  _word(word, fate = "same") {
    const { text, joins, first, end, doubtful, said, isNew } = word;
    const space = joins || word === this.shown[0] ? "" : " ";
    const span = element("span", "word");
    if (said) span.dataset.said = said;
    span.classList.toggle("doubtful", Boolean(doubtful));
    span.classList.toggle("changed", Boolean(isNew));
    if (fate !== "same") {
      span.classList.add("turning");
      span.textContent = space + text;
      return [span];
    }
    span.textContent = text;
    if (!isNew) {
      pointable(span, { side: "target", first, end });
      // Whoever marks the text to copy it asks nothing.
      span.addEventListener("click", () => {
        if (this._canAsk && getSelection()?.isCollapsed) document.dispatchEvent(new CustomEvent(ASK_WHY_EVENT, { detail: first + 1 }));
      });
    }
    return space ? [space, span] : [span];
  }

  get _canAsk() {
    return this.asks && !this.data.stage;
  }

  /** Says of each word how likely it was and, where that can be asked, that a click asks why. */
  _offer() {
    for (const word of /** @type {NodeListOf<HTMLElement>} */ (this.line.querySelectorAll(".word"))) {
      const asks = Boolean(this._canAsk && word.dataset.range);
      word.classList.toggle("asks", asks);
      word.title = [word.dataset.said, asks && "click to ask why"].filter(Boolean).join(" · ");
    }
  }

  /** What it costs to have heads off, in the place that the page keeps for it, else beside the translation. */
  _price() {
    const answer = this._answer;
    const height = answer.offsetHeight;
    this._write(answer);
    // On a stage the picture below has a fixed place, and hears of nothing that moves it.
    if (answer.offsetHeight !== height) window.dispatchEvent(new Event("resize"));
  }

  /** @type {(answer: HTMLElement) => void} */
  _write(answer) {
    document.querySelector(".price")?.remove();
    if (!this.off) return;
    const came = this._came;
    const price = element("div", "price", { role: "status" });
    const on = element("button", "", { type: "button" }, "All on");
    on.addEventListener("click", () => document.dispatchEvent(new CustomEvent(ALL_ON_EVENT)));
    price.append(element("p", "", {}, element("strong", "", {}, `Without ${headNames(this.off)}`), " ", on));
    if (came?.price) {
      const more = element("details", "", {}, element("summary", "", {}, "More"));
      more.append(element("div", "", {}, ...came.more.map((each) => element("p", "", {}, each))));
      price.append(element("p", "", {}, came.price, " "), more);
    }
    (document.querySelector(".price-place") ?? answer).append(price);
  }

  // ---- what is pointed at ----------------------------------------------------------------------------------------

  /** @type {(pointed: WordRange[] | null) => void} */
  _light(pointed) {
    this.pointed = pointed;
    if (this.line) lightWithin(this.line, pointed);
    this.plots.light(pointed);
  }
}

export default mounted("[aria-hidden]", () => new Headline());
