// The foot of the stage: what is shown and of which sentence, where that head stands, and the keys of a talk.

const HELP_SHOWN = 12_000;
const PRESSES_KEPT = 16;
const SCROLLED = 0.25;
const SVG = "http://www.w3.org/2000/svg";
const CORNERS = "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4";

/** What is drawn as lines and squares; `element` makes what is HTML. */
function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class Foot {
  constructor(root) {
    this.root = root;
    this.turn = 0;
    this.presses = [];
    this._build();
    this.onKey = (event) => this._key(event);
    this.onShown = (event) => this._follow(event.detail);
    // Before the canvases, which know these keys too while they have the focus.
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener(SHOWN_EVENT, this.onShown);
  }

  dispose() {
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(SHOWN_EVENT, this.onShown);
    clearTimeout(this.waiting);
  }

  _build() {
    this.shown = element("p", "shown", { "aria-live": "polite" });
    this.sentence = element("p", "sentence");
    this.map = drawn("svg", { class: "map", "aria-hidden": "true" });
    this.help = element("p", "help gone");
    this.full = element("button", "full", { type: "button", "aria-label": "Full screen (F)", title: "Full screen (F)" });
    const icon = { viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": "1.6" };
    this.full.append(drawn("svg", { ...icon, "aria-hidden": "true" }, drawn("path", { d: CORNERS })));
    this.full.addEventListener("click", () => this._toggleFull());
    this.root.replaceChildren(element("div", "words", {}, this.shown, this.sentence), this.help, this.map, this.full);
  }

  /** Takes what Python sent. */
  update(data, report) {
    this.report = report;
    this.data = data;
    this.turn = Math.max(this.turn, data.turn);
    const theme = pageTheme(this.root, data.themes);
    this.root.style.setProperty("--stage-text", theme.text);
    this.root.style.setProperty("--stage-muted", theme.muted);
    this._write(data);
    if (data.help !== this.helped) this._showHelp(data.help);
    if (data.shown !== null) this._follow({ text: data.shown, map: null });
    else document.dispatchEvent(new CustomEvent(ASK_EVENT));
  }

  _write({ source, translation, aside, languages: [from, to] }) {
    const words = (text, lang) => {
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

  /** Says what is shown, and marks the heads of it on a map of all of them. */
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

  // ---- help -----------------------------------------------------------------------------------------------------

  _showHelp(text) {
    this.helped = text;
    // Lines end between keys, and not within one.
    this.help.replaceChildren(
      ...text.split(/( · )/).map((part) => (part === " · " ? part : element("span", "", {}, part))),
    );
    this.help.classList.remove("gone");
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.help.classList.add("gone"), HELP_SHOWN);
  }

  // ---- keys -----------------------------------------------------------------------------------------------------

  _key(event) {
    const key = plainKey(event);
    if (!key || typing(event)) return;
    if (key === "Escape") {
      // The browser's own way out of full screen, where it lets the key through; the stage stays.
      if (!document.fullscreenElement) return;
      document.exitFullscreen();
    } else if (key === "f") this._toggleFull();
    else if (key === "?") this._showHelp(this.data.help);
    else if (this.data.keys.includes(key)) {
      if (!event.repeat) this._press(key);
    } else if (this.data.scrolls && (key === "ArrowUp" || key === "ArrowDown")) this._scroll(key === "ArrowUp" ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Tells Python of a key; the ones before it go along, since a run that is overtaken hears of none. */
  _press(key) {
    this.turn += 1;
    this.presses = [...this.presses, [this.turn, key]].slice(-PRESSES_KEPT);
    this.report(this.presses);
  }

  _scroll(direction) {
    const page = document.querySelector('[data-testid="stMain"]');
    page?.scrollBy({ top: direction * SCROLLED * window.innerHeight });
  }

  async _toggleFull() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await document.documentElement.requestFullscreen();
    } catch {
      this._showHelp("This browser allows no full screen here; its own menu or F11 may.");
    }
  }
}

export default mounted(".stage-foot", (root) => new Foot(root), "pressed");
