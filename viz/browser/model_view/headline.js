// The words above the model: what was written, and what was read.

import { element, classed, penOf } from "../canvas/dom.js";
import { letterSize } from "./sizes.js";

/** @import { ModelView } from "./view.js" */
/** @typedef {{ made: HTMLElement, tokens: HTMLElement[], word: FigureWord }} DrawnWord */

const MOST_LETTERS = 56;
const LEAST_LETTERS = 17;
/** A text of more lines gets small letters, scrolls, and has no arcs, so that the picture below it keeps its room. */
const [LINES_WIDE, LINES_NARROW] = [5, 12];

export class Headline {
  /** Whether the texts are too long to be seen whole. */
  isLong = false;

  /** @param {ModelView} view */
  constructor(view) {
    const { figure } = view;
    this.view = view;
    this.written = element("p", "written", { dir: "auto" });
    this.read = element("p", "read", { dir: "auto" });
    this.words = this._line(figure.written, figure.writtenSide, this.written, figure.writtenSide === "target" ? figure.offset : 0);
    this.sources = figure.rows === 2 ? this._line(figure.read, "source", this.read, 0) : this.words;
    this.said = element("p", "said", {}, figure.said);
    const lines = figure.rows === 2 ? [this.written, this.read] : [this.written];
    this.root = element("div", "headline", {}, ...lines, this.said);
  }

  /** @type {(words: FigureWord[], side: Side, parent: HTMLElement, offset: number) => DrawnWord[]} */
  _line(words, side, parent, offset) {
    let group = element("span", "group");
    return words.map((word, place) => {
      const tokens = word.tokens.map((text) => element("span", "piece", {}, text));
      const made = element("span", word.special ? "word special" : "word", {}, ...tokens);
      if (!place || !word.joins) {
        if (place) {
          group = element("span", "group");
          parent.append(" ");
        }
        parent.append(group);
      }
      group.append(made);
      this.view.followable(made, side, word.first + offset, word.first + offset + tokens.length);
      return { made, tokens, word };
    });
  }

  /** Sizes the words for a room of that height. @type {(narrow: boolean, room: number) => { gap: number; height: number }} */
  size(narrow, room) {
    const { view, root } = this;
    const { figure, width } = view;
    const across = width - 8;
    const probe = penOf(document.createElement("canvas"));
    const family = getComputedStyle(view.root).fontFamily;
    const widthOf = (/** @type {FigureWord[]} */ words, /** @type {number} */ weight) => {
      probe.font = `${weight} 100px ${family}`;
      const text = words.map(({ text, joins }, place) => (place && !joins ? ` ${text}` : text)).join("");
      return probe.measureText(text).width / 100;
    };
    const scale = figure.stage ? 1.35 : 1;
    const most = narrow ? 26 * scale : Math.min(MOST_LETTERS * scale, Math.max(26, room / 15.5));
    const least = narrow ? 16 : LEAST_LETTERS * scale;
    const wide = { written: widthOf(figure.written, 650), read: widthOf(figure.read, 400) };
    const written = letterSize(wide.written, across, most, least);
    const read = letterSize(wide.read, across, Math.min(written, most) * 0.78, least * 0.9);
    this._fold(Math.max(wide.written, wide.read) * least > (narrow ? LINES_NARROW : LINES_WIDE) * across);
    this.written.style.fontSize = this.isLong ? "" : `${written}px`;
    this.read.style.fontSize = this.isLong ? "" : `${read}px`;
    const gap = this.isLong ? 0 : narrow ? 60 : Math.min(120, Math.max(54, room / 8.2));
    root.style.setProperty("--gap", `${gap}px`);
    return { gap, height: root.offsetHeight };
  }

  /** Shows a long text in a few lines that scroll, or a text whole. @param {boolean} isLong */
  _fold(isLong) {
    if (isLong === this.isLong) return;
    this.isLong = isLong;
    classed(this.root, "long", isLong);
    // What scrolls has to be reached by keys.
    for (const line of [this.written, this.read]) {
      if (isLong) line.tabIndex = 0;
      else line.removeAttribute("tabindex");
    }
    this.rest();
  }

  /** Says what is seen where no token is followed. */
  rest() {
    this.said.textContent = this.isLong ? "" : this.view.figure.said;
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  draw(moment, done) {
    const { view } = this;
    const { figure } = view;
    const current = done || !figure.decoder ? -1 : moment.step;
    const followed = view.followedWords(figure.writtenSide);
    const sources = figure.rows === 2 ? view.followedWords("source") : followed;
    this.words.forEach(({ made, tokens, word }, place) => {
      tokens.forEach((piece, number) => {
        const share = view.shareOf(moment, word.first + number);
        const opacity = (0.14 + 0.86 * share).toFixed(2);
        if (piece.style.opacity !== opacity) piece.style.opacity = opacity;
        classed(piece, "now", word.first + number === current && share > 0);
      });
      classed(made, "lit", followed.has(place));
    });
    if (figure.rows === 2) this.sources.forEach(({ made }, place) => classed(made, "lit", sources.has(place)));
  }
}
