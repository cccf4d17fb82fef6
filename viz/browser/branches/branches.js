// The hypothesis under the pointer in a search tree: its tokens, and the attention weights of the step that wrote the last.
// The tree is a Plotly chart; buttons move along it without a pointer.

import constants from "../../draw/constants.json" with { type: "json" };
import { drawn, element, part } from "../canvas/dom.js";
import { payloadId } from "../canvas/envelope.js";
import { HeardChart } from "../canvas/heard_chart.js";
import { mounted } from "../canvas/mount.js";
import { pageTheme } from "../canvas/page.js";
import { heed, lightWithin } from "../canvas/shared.js";
import { tr } from "../canvas/wording.js";
import { grouped, lit, now } from "../steps/tokens.js";
import { Hypotheses } from "./hypotheses.js";

/** @typedef {Parameters<Hypotheses["moved"]>[1]} Move */

class Branches {
  /** @type {Hypotheses} */
  tree;
  place = 0;
  /** @type {ShownTheme} */
  theme;
  /** @type {WordRange[] | null} */
  pointed = null;
  /** @type {SVGElement | undefined} */
  ring;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {Move} */ move) => {
      const made = element("button", "", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", () => this._show(this.tree.moved(this.place, move), true));
      return made;
    };
    this.words = element("p", "place");
    this.controls = element(
      "div",
      "controls",
      { role: "group", "aria-label": tr("Hypothesis shown") },
      ...[button("◀", tr("One token back"), { token: -1 }), button("▶", tr("One token on"), { token: 1 })],
      ...[button("▲", tr("Previous branch"), { branch: -1 }), button("▼", tr("Next branch"), { branch: 1 })],
      this.words,
    );
    this.target = element("div", "tokens", { dir: "auto", role: "group", "aria-label": tr("Hypothesis") });
    this.about = element("p", "row-name");
    this.source = element("div", "tokens", { dir: "auto", role: "group", "aria-label": tr("Source sentence") });
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    root.replaceChildren(this.controls, this.target, this.about, this.source, this.spoken);
    const mark = () => this._mark();
    /** @type {Hearing} */
    const show = ({ points: [{ customdata }] }) => Array.isArray(customdata) && this._show(customdata[0]);
    this.heard = new HeardChart({ plotly_hover: show, plotly_afterplot: mark }, mark);
    this.unheed = heed("pointed", (/** @type {WordRange[] | null} */ pointed) => {
      this.pointed = pointed;
      lightWithin(this.root, pointed);
    });
  }

  /** @type {(bytes: Bytes) => void} */
  update(bytes) {
    if (this.tree?.id !== payloadId(bytes)) {
      this.tree = new Hypotheses(bytes);
      // One token before the best hypothesis ends: its attention shows more than that of the end token.
      this.place = this.tree.path(this.tree.ends[0]).at(-2) ?? this.tree.ends[0];
    }
    this.theme = pageTheme(this.root, this.tree.themes);
    this.root.style.setProperty("--lit", this.theme.accent);
    this.root.style.setProperty("--text", this.theme.text);
    this.root.style.setProperty("--muted", this.theme.muted);
    this.root.style.setProperty("--line", this.theme.grid);
    this.root.style.setProperty("--fullest", this.theme.name === "dark" ? "32%" : "45%");
    this.heard.follow(this.tree.chart);
    this._show(this.place);
  }

  dispose() {
    this.heard.dispose();
    this.unheed();
    this.ring?.remove();
  }

  /** @type {(place: number, aloud?: boolean) => void} */
  _show(place, aloud = false) {
    const { nodes, cross } = this.tree;
    if (!nodes[place]) return;
    this.place = place;
    const path = this.tree.path(place).map((each) => nodes[each]);
    const [last, looked] = [nodes[place], this.tree.looked(place)];
    this.words.textContent = last.words.join("; ");
    this.target.replaceChildren(...grouped(path, (token) => (token === last ? now(token, tr("now")) : plain(token))));
    this.about.textContent = cross
      ? tr("{name}, while “{token}” was written", { name: cross.name, token: last.text })
      : tr("This tree is too large to show attention; shorten the sentence or make the beam narrower.");
    this.source.replaceChildren(...(looked ? grouped(looked, lit, "source") : []));
    lightWithin(this.root, this.pointed);
    if (aloud) this.spoken.textContent = this.tree.spoken(place);
    this.root.dataset.place = String(place);
    this._mark();
  }

  /** Rings the dot, in an element beside the figure: changing the figure would redraw it. */
  _mark() {
    this.ring?.remove();
    const { chart } = this.heard;
    const { xaxis, yaxis } = chart?._fullLayout ?? {};
    const { x, y } = chart?.data?.at(-1) ?? { x: [], y: [] };
    if (!chart || !xaxis?.c2p || !yaxis || x[this.place] === undefined) return;
    this.ring = drawn("circle", {
      ...{ cx: xaxis._offset + xaxis.c2p(x[this.place]), cy: yaxis._offset + yaxis.c2p(y[this.place]), r: constants.RING },
      ...{ fill: "none", stroke: this.theme.text, "stroke-width": 2.5, "pointer-events": "none" },
    });
    part(chart, ".main-svg").append(this.ring);
  }
}

/** An earlier token of the hypothesis. @type {(token: Token) => HTMLElement} */
function plain({ text }) {
  return element("span", "token", {}, element("span", "text", { dir: "auto" }, text));
}

export default mounted(".branches", (root) => new Branches(root));
