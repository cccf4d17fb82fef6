// A talk for one reader: a scene's title and note at the foot of its page, with buttons to the scenes before and after.

import { element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { askForScene } from "../speaker/keys.js";
import { hasLeft } from "../speaker/left.js";
import { countOf, tr } from "../canvas/wording.js";

const ROOM = "--reader-room";
const PAGE = '[data-testid="stMain"]';
const PICTURE = ".st-key-picture";
// Pages with several pictures scroll to just below their sentence.
const SENTENCE = ".answer";
const STEPS = ".st-key-decoding-player";
const COMPONENT = '[data-testid="stBidiComponentIsolated"]';
const MARKED = ".cell.picked:not([hidden])";
const HEATMAP = ".model-view";
const HEADER = 64;
// The space between the marked cell and the text, in CSS pixels.
const GAP = 16;
const TAKEN_OVER = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * @typedef {{ talk: string, number: number, count: number, title: string, note: string, remark?: string,
 *   views?: View[] }} Data
 */

class Reader {
  /** @type {Data | undefined} */
  data;
  returns = false;
  /** Lets the page go that is kept at the picture. @type {(() => void) | undefined} */
  settle;
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const button = (/** @type {string} */ text, /** @type {string} */ key, /** @type {() => void} */ act) => {
      const made = element("button", "", { type: "button" }, text);
      if (key) made.append(element("kbd", "", { "aria-hidden": "true" }, key));
      if (key) made.setAttribute("aria-keyshortcuts", key);
      made.addEventListener("click", act);
      return made;
    };
    this.place = element("p", "place");
    this.title = element("h2", "", { dir: "auto", tabindex: "-1" });
    this.note = element("p", "note", { dir: "auto", tabindex: "0" });
    const again = button(tr("Show the scene"), "", () => {
      this.returns = true;
      askForScene(0);
    });
    again.className = "link";
    this.left = element("p", "left", { hidden: "" }, `${tr("The picture no longer shows the view described here.")} `, again);
    this.remark = element("p", "remark", { hidden: "" });
    this.back = button(tr("Back"), "B", () => askForScene(-1));
    this.next = button(tr("Next"), "N", () => askForScene(1));
    this.next.className = "next";
    this.leave = button(tr("Leave"), "", () => this.tell("leave", true));
    const words = element("div", "words", { "aria-live": "polite" }, this.place, this.title);
    const buttons = element("div", "buttons", {}, this.back, this.next, this.leave);
    this.root.replaceChildren(words, element("div", "text", {}, this.left, this.remark, this.note), buttons);
    this.onAddress = () => this._look();
    window.addEventListener("headscope-address", this.onAddress);
    this.resized = new ResizeObserver(() => this._makeRoom());
    this.resized.observe(root);
  }

  dispose() {
    window.removeEventListener("headscope-address", this.onAddress);
    this.resized.disconnect();
    document.documentElement.style.removeProperty(ROOM);
  }

  /** @type {(data: Data, _: Reporter, tell: Trigger) => void} */
  update(data, _, tell) {
    this.tell = tell;
    const { talk, number, count, title, note } = data;
    const came = !this.data;
    const other = this.returns || this.data?.number !== number || this.data.title !== title;
    this.returns = false;
    this.data = data;
    this.place.textContent = number ? `${talk} · ${tr("{step} of {count}", { step: number, count })}` : countOf(count, "scene");
    this.title.textContent = title || talk;
    this.note.textContent = note;
    this.note.hidden = !note;
    this.remark.textContent = data.remark ?? "";
    this.remark.hidden = !data.remark;
    this.back.disabled = number <= 1;
    this.next.disabled = number >= count;
    this._look();
    this._makeRoom();
    if (came) this.title.focus({ preventScroll: true });
    if (other) this.note.scrollTop = 0;
    if (other) this._bringPicture();
  }

  _look() {
    const { number = 0, views } = this.data ?? {};
    const left = views ? hasLeft({ number, views }) : false;
    if (left === null) return;
    this.left.hidden = !left;
    this.root.classList.toggle("strayed", left);
  }

  /** Ends the page above the text. */
  _makeRoom() {
    document.documentElement.style.setProperty(ROOM, `${this.root.offsetHeight}px`);
  }

  /** Scrolls to the marked cell if the text covers it, and shows as much of its heatmap as fits.
   * @type {(page: Element, picture: Element) => void} */
  _bringCell(page, picture) {
    const roots = rootsIn(picture);
    const [cell, heatmap] = [MARKED, HEATMAP].map((part) => roots.map((root) => root.querySelector(part)).find(Boolean));
    if (!cell || !heatmap) return;
    const end = this.root.getBoundingClientRect().top - GAP;
    const [marked, whole] = [cell, heatmap].map((each) => each.getBoundingClientRect());
    if (marked.bottom <= end) return;
    page.scrollBy(0, Math.max(marked.bottom - end, Math.min(whole.bottom - end, whole.top - HEADER)));
  }

  /** Keeps the picture in view while it loads and grows, until the reader scrolls or uses it. */
  _bringPicture() {
    this.settle?.();
    const page = document.querySelector(PAGE) ?? document.documentElement;
    const show = () => {
      const picture = page.querySelector(PICTURE);
      const above = page.querySelector(SENTENCE)?.getBoundingClientRect().bottom ?? HEADER;
      if (!picture) {
        page.scrollBy(0, above - HEADER);
        return;
      }
      picture.scrollIntoView({ block: "nearest" });
      // The first rows of the steps matter most; they are read together with the translation.
      const top = page.querySelector(SENTENCE)?.getBoundingClientRect().top ?? HEADER;
      if (top < HEADER && picture.querySelector(STEPS)) page.scrollBy(0, top - HEADER);
      this._bringCell(page, picture);
      // Drawing the picture marks its cell, but may not change the page's height.
      for (const root of rootsIn(picture)) drawn.observe(root, { attributeFilter: ["data-painted"], subtree: true });
    };
    const drawn = new MutationObserver(show);
    const grown = new ResizeObserver(show);
    for (const block of page.children) grown.observe(block);
    const settle = () => {
      grown.disconnect();
      drawn.disconnect();
      for (const name of TAKEN_OVER) page.removeEventListener(name, settle);
    };
    for (const name of TAKEN_OVER) page.addEventListener(name, settle, { passive: true });
    this.settle = settle;
  }
}

/** The shadow roots of our components within a picture, or of one that is the picture, outside the app.
 * @type {(picture: Element) => ShadowRoot[]} */
function rootsIn(picture) {
  return [picture, ...picture.querySelectorAll(COMPONENT)].flatMap(({ shadowRoot }) => shadowRoot ?? []);
}

export default mounted(".reader", (root) => new Reader(root));
