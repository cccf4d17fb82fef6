// The frame around the picture on stage. Top: the scene's title. Foot: the view, its sentence, a map of the heads, and
// buttons for the previous and next scene.

import { drawn, element } from "../canvas/dom.js";
import { plainKey, typing } from "../canvas/keys.js";
import { mounted } from "../canvas/mount.js";
import { ASK_EVENT, SHOWN_EVENT, pageTheme } from "../canvas/page.js";
import { askForScene, swiped } from "../speaker/keys.js";
import { hasLeft } from "../speaker/left.js";
import { NoticeRoom } from "./notices.js";

const HELP_SHOWN = 6_000;
const SCROLLED = 0.25;
// In CSS pixels: swipes from the screen's edge belong to the browser.
const EDGE = 20;
const TOUCH = matchMedia("(hover: none) and (pointer: coarse)");
const [LEFT, RIGHT] = ["M10 3 5 8l5 5", "m6 3 5 5-5 5"];
const CORNERS = "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4";

/** A button with an icon; its title names the key, except on touch screens.
 * @type {(className: string, name: string, key: string, path: string, onClick: () => void) => HTMLButtonElement} */
function iconButton(className, name, key, path, onClick) {
  const said = TOUCH.matches ? name : `${name} (${key})`;
  const made = element("button", className, { type: "button", "aria-label": said, title: said });
  const icon = { viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": "1.6", "aria-hidden": "true" };
  made.append(drawn("svg", icon, drawn("path", { d: path })));
  made.addEventListener("click", onClick);
  return made;
}

/**
 * @typedef {{ turn: number, themes: Themes, scene: Scene | null, help: string, shown: string | null, keys: string[],
 *   scrolls: boolean, source: string, translation: string, aside: string, languages: [string, string] }} Data
 */

class Around {
  /** @type {Data} */
  data;
  turn = 0;
  /** @type {[turn: number, key: string][]} */
  presses = [];
  helped = "";
  /** @type {import("../speaker/keys.js").Touched | null} */
  touched = null;
  /** @type {number | undefined} */
  waiting;
  /** @type {Reporter} */
  report;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.notices = new NoticeRoom();
    this.shown = element("p", "shown", { "aria-live": "polite" });
    this.sentence = element("p", "sentence");
    this.map = drawn("svg", { class: "map", "aria-hidden": "true" });
    this.help = element("p", "help gone");
    this.full = iconButton("full", "Full screen", "F", CORNERS, () => this._toggleFull());
    this.before = iconButton("step", "Previous scene", "Page Up", LEFT, () => askForScene(-1));
    this.after = iconButton("step", "Next scene", "Page Down", RIGHT, () => askForScene(1));
    this.place = element("span", "place");
    this.steps = element("div", "steps", { hidden: "" }, this.before, this.place, this.after);
    this.title = element("p", "scene-title", { dir: "auto", hidden: "" });
    const words = element("div", "words", {}, this.shown, this.sentence);
    const foot = element("div", "stage-foot", {}, words, this.help, this.map, this.steps, this.full);
    this.root.replaceChildren(this.title, foot);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    this.onShown = (/** @type {CustomEvent<Shown>} */ event) => this._follow(event.detail);
    this.onAddress = () => this._title();
    this.onTouch = (/** @type {TouchEvent} */ event) => this._touch(event);
    this.onLift = (/** @type {TouchEvent} */ event) => this._lift(event);
    // In the capture phase, ahead of a focused canvas, which uses these keys too.
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener(SHOWN_EVENT, this.onShown);
    window.addEventListener("headscope-address", this.onAddress);
    document.addEventListener("touchstart", this.onTouch, { passive: true });
    document.addEventListener("touchend", this.onLift, { passive: true });
  }

  dispose() {
    this.notices.dispose();
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(SHOWN_EVENT, this.onShown);
    window.removeEventListener("headscope-address", this.onAddress);
    document.removeEventListener("touchstart", this.onTouch);
    document.removeEventListener("touchend", this.onLift);
    clearTimeout(this.waiting);
  }

  /** Takes Python's message. @type {(data: Data, report: Reporter) => void} */
  update(data, report) {
    this.report = report;
    this.data = data;
    this.turn = Math.max(this.turn, data.turn);
    // A restarted server would handle old key presses again.
    this.presses = this.presses.filter(([turn]) => turn > data.turn);
    const theme = pageTheme(this.root, data.themes);
    this.root.style.setProperty("--stage-text", theme.text);
    this.root.style.setProperty("--stage-muted", theme.muted);
    this._write(data);
    this._title();
    const help = TOUCH.matches ? (data.scene ? "Swipe for the next scene" : "") : data.help;
    if (help !== this.helped) this._writeHelp(help);
    if (data.shown !== null) this._follow({ text: data.shown, map: null });
    else document.dispatchEvent(new CustomEvent(ASK_EVENT));
  }

  /** @type {(data: Data) => void} */
  _write({ source, translation, aside, languages: [from, to] }) {
    const words = (/** @type {string} */ text, /** @type {string} */ lang) => {
      const made = element("span", "", { dir: "auto", ...(lang && { lang }) });
      made.textContent = text;
      return made;
    };
    const parts = [];
    if (source) parts.push(words(source, from));
    if (source && translation) parts.push(element("span", "arrow", {}, "→"));
    if (translation) parts.push(words(translation, to));
    if (aside) parts.push(element("span", "aside", {}, aside));
    this.sentence.replaceChildren(...parts);
  }

  /** Names the view and marks its heads on the map. @type {(shown: Shown) => void} */
  _follow({ text, map }) {
    this.shown.textContent = text;
    this.map.replaceChildren();
    this.map.style.display = map ? "" : "none";
    if (!map) return;
    const { layers, heads, at } = map;
    this.map.setAttribute("viewBox", `0 0 ${3 * heads} ${3 * layers}`);
    const marked = new Set(at.map(String));
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const here = marked.has(String([layer, head]));
        const place = { x: 3 * head + 0.25, y: 3 * layer + 0.25, width: 2.5, height: 2.5, rx: 0.4 };
        this.map.append(drawn("rect", { ...place, fill: "currentColor", opacity: here ? 1 : 0.22 }));
      }
    }
  }

  // ---- scenes -------------------------------------------------------------------------------------------------------

  /** Shows the scene's title, and says so once the view has changed. */
  _title() {
    const { scene } = this.data;
    this.title.hidden = this.steps.hidden = !scene;
    if (!scene) return;
    const { number, count, title } = scene;
    const left = hasLeft(scene);
    if (left === null) return;
    this.title.classList.toggle("left", left);
    this.title.textContent = left ? `Left the scene “${title}”` : title;
    this.place.textContent = `${number} of ${count}`;
    this.before.disabled = number <= 1;
    this.after.disabled = number >= count;
    window.dispatchEvent(new CustomEvent("headscope-left", { detail: left }));
  }

  /** @type {(event: TouchEvent) => void} */
  _touch(event) {
    const path = event.composedPath().filter((each) => each instanceof Element);
    const drags = path.some((each) => {
      const { touchAction, overflowX } = getComputedStyle(each);
      const scrolls = ["auto", "scroll"].includes(overflowX) && each.scrollWidth > each.clientWidth + 1;
      return touchAction === "none" || scrolls || each.matches("input, [role=slider]");
    });
    const [touch] = event.touches;
    const atEdge = touch.clientX < EDGE || touch.clientX > window.innerWidth - EDGE;
    const starts = this.data.scene && event.touches.length === 1 && !drags && !atEdge;
    this.touched = starts ? { x: touch.clientX, y: touch.clientY, at: event.timeStamp } : null;
  }

  /** A quick sideways swipe; to the left is the next scene. @type {(event: TouchEvent) => void} */
  _lift(event) {
    if (!this.touched || event.touches.length) return;
    const [touch] = event.changedTouches;
    const way = swiped(this.touched, { x: touch.clientX, y: touch.clientY, at: event.timeStamp });
    this.touched = null;
    if (way) askForScene(way);
  }

  // ---- help -----------------------------------------------------------------------------------------------------

  /** Help stays hidden until the speaker asks for it. @type {(text: string) => void} */
  _writeHelp(text) {
    this.helped = text;
    // Lines break between keys, never inside one.
    this.help.replaceChildren(
      ...text.split(/( · )/).map((part) => (part === " · " ? part : element("span", "", {}, part))),
    );
  }

  _revealHelp() {
    this.help.classList.remove("gone");
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.help.classList.add("gone"), HELP_SHOWN);
  }

  // ---- keys -----------------------------------------------------------------------------------------------------

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const key = plainKey(event);
    if (!key || typing(event)) return;
    if (key === "Escape") {
      // Escape leaves full screen first, if the browser passes it on; the stage stays.
      if (!document.fullscreenElement) return;
      document.exitFullscreen();
    } else if (key === "f") this._toggleFull();
    else if (key === "?") {
      this._writeHelp(this.data.help);
      this._revealHelp();
    }
    else if (this.data.keys.includes(key)) {
      if (!event.repeat) this._press(key);
    } else if (this.data.scrolls && (key === "ArrowUp" || key === "ArrowDown")) this._scroll(key === "ArrowUp" ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Reports a key to Python, with any unconfirmed ones: an interrupted run gets no message.
   * @type {(key: string) => void} */
  _press(key) {
    this.turn += 1;
    this.presses = [...this.presses, [this.turn, key]];
    this.report(this.presses);
  }

  /** @type {(direction: number) => void} */
  _scroll(direction) {
    const page = document.querySelector('[data-testid="stMain"]');
    page?.scrollBy({ top: direction * SCROLLED * window.innerHeight });
  }

  async _toggleFull() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await document.documentElement.requestFullscreen();
    } catch {
      this._writeHelp("This browser does not allow full screen here; try its menu or F11.");
      this._revealHelp();
    }
  }
}

export default mounted(".stage-around", (root) => new Around(root), "pressed");
