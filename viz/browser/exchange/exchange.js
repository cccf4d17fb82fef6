// Two runs: what each wrote, how every head differs, one head in both; and parts of the second that a person puts into the first.

import { aimed, element } from "../canvas/dom.js";
import { opened, payloadId } from "../canvas/envelope.js";
import { escapable } from "../canvas/escape.js";
import { mounted } from "../canvas/mount.js";
import { pageGround, pageTheme } from "../canvas/page.js";
import { roving } from "../canvas/roving.js";
import { tr } from "../canvas/wording.js";
import { StepPalette } from "../matrices/panel.js";
import { HeadGrid } from "./head_grid.js";
import { LargePair, readKinds } from "./pair.js";
import { partsIn, stateAt } from "./put.js";

/** @import { PairedKind, SentKind } from "./pair.js" */

// A pointer that moves less than this many pixels clicks.
const STILL = 6;
// Milliseconds after the last arrow key, before the head goes into the address.
const REST = 350;
// In rem: the frame above the picture, the least height of heads, and the least width of a matrix.
const ABOVE = 11.5;
const LEAST = 24;
const MATRIX = 17;
// Texts of up to this many characters are set large.
const SHORT = 80;

/**
 * @typedef {object} Parts
 * @property {[text: string, place: number | null][]} tokens - of the second sentence; null for one without a counterpart.
 * @property {[stage: string, name: string][]} stages
 * @property {[name: string, parts: [part: string, text: string, full: string][]][]} states
 */
/** @typedef {[change: "same" | "removed" | "added", words: string][]} Changes */
/** @typedef {[number: number, action: "put" | "show", part: string]} Move */
/**
 * @typedef {object} Header
 * @property {string[]} names - of both runs.
 * @property {[name: string, words: Changes][]} lines
 * @property {SentKind[]} kinds
 * @property {number} limit
 * @property {string} shown
 * @property {boolean} puts - whether parts can be put in.
 * @property {Parts | null} parts - besides heads.
 * @property {[part: string, name: string][]} put
 * @property {number} heard
 * @property {Themes} themes
 */

class Exchange {
  id = "";
  drawn = "";
  content = "";
  number = 0;
  /** @type {Move[]} */
  open = [];
  /** @type {Header} */
  header;
  /** @type {PairedKind[]} */
  kinds = [];
  shown = "";
  stage = "";
  /** @type {HTMLButtonElement[]} */
  tokens = [];
  /** @type {{ part: HTMLElement, x: number, y: number, isIn: boolean } | null} */
  taken = null;
  /** @type {HTMLElement | null} */
  ghost = null;
  dragged = false;
  /** @type {Reporter} */
  report;
  /** @type {number | undefined} */
  waiting;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.lines = element("div", "lines");
    this.grid = new HeadGrid(
      (head) => this._show(head, REST),
      (head) => this.header.puts && this._toggle(head),
    );
    this.large = new LargePair(root, () => {
      this.drawn = "";
      this._fit();
    });
    this.scale = element("div", "scale");
    this.into = element("section", "into", { "aria-label": tr("The first sentence") });
    this.one = element("div", "one", {}, this.large.top, ...this.large.panels.map(({ frame }) => frame), this.into);
    this.left = element("div", "left", {}, this.grid.root, this.scale);
    this.both = element("div", "both", {}, this.left, this.one);
    this.others = element("div", "others");
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    root.replaceChildren(this.lines, this.both, this.others, this.large.tooltip.element, this.large.spoken, this.spoken);
    root.addEventListener("pointerdown", (event) => this._take(event));
    root.addEventListener("pointermove", (event) => this._drag(event));
    root.addEventListener("pointerup", (event) => this._drop(event));
    root.addEventListener("pointercancel", () => this._letGo());
    root.addEventListener("click", (event) => this._click(event));
    this.unescape = escapable(() => this._letGo());
    this.resized = new ResizeObserver(() => this._fit());
    this.resized.observe(root);
    this.onResize = () => this._fit();
    window.addEventListener("resize", this.onResize);
  }

  dispose() {
    this.unescape();
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    clearTimeout(this.waiting);
    this._letGo();
  }

  /** @type {(bytes: Bytes, report: Reporter) => void} */
  update(bytes, report) {
    this.report = report;
    if (this.id !== payloadId(bytes)) {
      const { id, values } = /** @type {{ id: string, values: Header }} */ (opened(bytes));
      this._read(values);
      this.id = id;
    }
    this._fit();
    this.root.dataset.payload = this.id;
  }

  /** @type {(header: Header) => void} */
  _read(header) {
    this.header = header;
    this.number = Math.max(this.number, header.heard);
    this.open = this.open.filter(([number]) => number > header.heard);
    this.drawn = "";
    const { names, kinds, parts, limit } = header;
    this.kinds = readKinds(kinds, limit);
    // Tiles keep the focus unless the heads are others.
    const content = JSON.stringify([names, parts, kinds.map(({ name, heads }) => [name, heads.map(({ said }) => said)])]);
    if (content !== this.content) {
      this.content = content;
      this._letGo();
      this._drawOthers(parts);
      this.grid.build(this.kinds);
    } else this.grid.blocks.forEach((block, place) => (block.kind = this.kinds[place]));
    this.shown = this.open.findLast(([, action]) => action === "show")?.[2] ?? header.shown;
    this.both.hidden = !kinds.length;
    this.root.classList.toggle("puts", header.puts);
    this._drawLines();
    this._mark();
  }

  _drawLines() {
    const { lines } = this.header;
    const longest = Math.max(...lines.map(([, words]) => words.reduce((sum, [, text]) => sum + text.length, 0)));
    this.lines.style.setProperty("--size", longest > SHORT ? "1.05rem" : "1.35rem");
    this.lines.replaceChildren(
      ...lines.map(([name, words]) => {
        const text = element("span", "", {});
        for (const [change, run] of words) {
          const shown = run.trimStart();
          text.append(run.slice(0, run.length - shown.length), change === "same" ? shown : element(change === "added" ? "ins" : "del", "", {}, shown));
        }
        return element("p", "line", {}, ...(name ? [element("span", "name", {}, name)] : []), text);
      }),
    );
  }

  /** Draws what depends on the size of the page and on its theme, if one of them has changed. */
  _fit() {
    if (!this.header || !this.root.clientWidth) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const drawn = [this.root.clientWidth, window.innerHeight, window.devicePixelRatio, rem, pageGround(this.root), this.shown].join();
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const theme = pageTheme(this.root, this.header.themes);
    this.root.style.setProperty("--removed", theme.heads[0]);
    this.root.style.setProperty("--added", theme.heads[1]);
    if (!this.kinds.length) return;
    const height = Math.max(LEAST * rem, window.innerHeight - ABOVE * rem - this.lines.offsetHeight);
    const columns = Math.max(1, Math.min(3, Math.floor(this.one.clientWidth / (MATRIX * rem))));
    this.one.style.setProperty("--columns", String(columns));
    this.grid.draw(this.left.clientWidth, height - 1.5 * rem, rem, new StepPalette(theme, theme.signed, false));
    this._drawScale(theme);
    const kind = this.kinds.find(({ heads }) => heads.some(({ part }) => part === this.shown));
    const head = kind?.heads.find(({ part }) => part === this.shown);
    if (!kind || !head) return;
    // What stands above and below the matrices takes the rest.
    this.large.draw(kind, head, this.header.names, this.header.limit, theme, Math.min(height - 9 * rem, 30 * rem), columns);
  }

  /** @type {(theme: Theme) => void} */
  _drawScale(theme) {
    const bar = element("span", "gradient", { "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right, ${theme.signed.join(", ")})`;
    this.scale.replaceChildren(tr("less weight"), bar, tr("more in the second"));
  }

  /** Tokens and hidden states, as buttons. @type {(parts: Parts | null) => void} */
  _drawOthers(parts) {
    this.others.replaceChildren();
    this.tokens = [];
    if (!parts) return;
    const { tokens, stages, states } = parts;
    this.stage = stages.some(([stage]) => stage === this.stage) ? this.stage : stages[0][0];
    const after = element("select", "", { "aria-label": "The token's hidden states after" });
    after.append(...stages.map(([stage, name]) => element("option", "", { value: stage }, name)));
    after.value = this.stage;
    after.addEventListener("change", () => {
      this.stage = after.value;
      this._name(stages);
      this._mark();
    });
    this.tokens = tokens.map(([text, place]) => {
      const chip = element("button", "part", {}, text);
      chip.dataset.place = String(place ?? "");
      chip.disabled = place === null;
      if (place === null) chip.title = "No counterpart in the first sentence";
      return chip;
    });
    roving(this.tokens.filter((chip) => !chip.disabled));
    this.others.replaceChildren(
      group("One token, after", [after, ...this.tokens]),
      ...states.map(([name, each]) => {
        const chips = each.map(([part, text, full]) => element("button", "part", { "data-part": part, "data-name": full }, text));
        roving(chips);
        return group(name, chips);
      }),
    );
    this._name(stages);
  }

  /** @type {(stages: Parts["stages"]) => void} */
  _name(stages) {
    const [, name = ""] = stages.find(([each]) => each === this.stage) ?? [];
    for (const chip of this.tokens) {
      if (chip.disabled) continue;
      chip.dataset.part = stateAt(this.stage, Number(chip.dataset.place));
      chip.dataset.name = `“${chip.textContent}”, ${name.toLowerCase()}`;
    }
  }

  /** Marks what is shown and what is in. */
  _mark() {
    const { put, puts, kinds } = this.header;
    const parts = partsIn(
      put.map(([part]) => part),
      this.open.flatMap(([, action, part]) => (action === "put" ? [part] : [])),
    );
    this.grid.mark(this.shown, parts);
    for (const chip of this._chips()) {
      chip.setAttribute("aria-pressed", String(parts.includes(chip.dataset.part ?? "")));
      if (chip.dataset.name && chip.dataset.name !== chip.textContent) chip.setAttribute("aria-label", chip.dataset.name);
    }
    this.root.dataset.parts = parts.join("-");
    this.into.hidden = !puts;
    if (!puts) return;
    // Beside the heads, or with tokens and layers above these.
    if (kinds.length) this.one.append(this.into);
    else this.others.prepend(this.into);
    const { activeElement } = /** @type {ShadowRoot} */ (this.root.getRootNode());
    const focused = activeElement?.closest(".into .part")?.getAttribute("data-part");
    const chips = parts.map((part) => {
      const name = this._nameOf(part);
      const chip = element("button", "part", { "data-part": part, "aria-label": `Take out: ${name}` });
      chip.append(element("span", "", {}, name), element("span", "", { "aria-hidden": "true" }, " ×"));
      return chip;
    });
    const what = kinds.length ? "a tile" : "a part";
    const how = chips.length ? "In the first sentence:" : `Drag ${what} here to put it into the first sentence.`;
    const offered = kinds.length && !parts.includes(this.shown) ? [element("button", "toggle", { type: "button", "data-puts": this.shown }, "Put this head in")] : [];
    this.into.replaceChildren(element("p", "", {}, how), ...chips, ...offered);
    if (focused) (chips.find((chip) => chip.dataset.part === focused) ?? chips[0] ?? this.into.querySelector("button"))?.focus();
  }

  /** @type {(part: string) => string} */
  _nameOf(part) {
    const named = this.grid.tiles.get(part) ?? this._chips().find((each) => each.dataset.part === part);
    return this.header.put.find(([each]) => each === part)?.[1] ?? named?.dataset.name ?? part;
  }

  _chips() {
    return /** @type {HTMLElement[]} */ ([...this.others.querySelectorAll(".group .part")]);
  }

  /** Shows a head at once, and tells the page after so many milliseconds. @type {(head: string, rest: number) => void} */
  _show(head, rest) {
    if (head === this.shown) return;
    this.shown = head;
    this.number += 1;
    this.open = [...this.open.filter(([, action]) => action !== "show"), [this.number, "show", head]];
    this._mark();
    this._fit();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.report(this.open), rest);
  }

  /** @type {(part: string) => void} */
  _toggle(part) {
    this.number += 1;
    this.open = [...this.open, [this.number, "put", part]];
    const name = this._nameOf(part);
    this._mark();
    this.spoken.textContent = this.root.dataset.parts?.split("-").includes(part) ? `${name}: put in` : `${name}: taken out`;
    clearTimeout(this.waiting);
    this.report(this.open);
  }

  /** @type {(event: MouseEvent) => void} */
  _click(event) {
    const was = this.dragged;
    this.dragged = false;
    // The browser sends a click after a drag, too; one by a key has no detail.
    if (was && event.detail) return;
    const part = aimed(event, ".part, .tile, [data-puts]");
    if (part?.dataset.puts) this._toggle(part.dataset.puts);
    else if (part?.classList.contains("tile")) {
      part.focus();
      this._show(part.dataset.part ?? "", 0);
    } else if (part?.dataset.part) this._toggle(part.dataset.part);
  }

  /** @type {(event: PointerEvent) => void} */
  _take(event) {
    const part = aimed(event, ".part, .tile");
    this.dragged = false;
    if (!this.header.puts || !part?.dataset.part || event.button !== 0) return;
    this.taken = { part, x: event.clientX, y: event.clientY, isIn: this.into.contains(part) };
  }

  /** @type {(event: PointerEvent) => void} */
  _drag(event) {
    if (!this.taken) return;
    const { part, x, y } = this.taken;
    if (!this.ghost) {
      if (Math.hypot(event.clientX - x, event.clientY - y) < STILL) return;
      this.root.setPointerCapture(event.pointerId);
      this.ghost = element("div", "ghost", {}, part.dataset.name ?? part.firstElementChild?.textContent ?? "");
      this.root.append(this.ghost);
      this.root.classList.add("dragging");
    }
    const box = this.root.getBoundingClientRect();
    this.ghost.style.translate = `${event.clientX - box.x + 8}px ${event.clientY - box.y + 8}px`;
    this.into.classList.toggle("over", this._isOver(event));
  }

  /** @type {(event: PointerEvent) => void} */
  _drop(event) {
    if (this.ghost && this.taken) {
      const { part, isIn } = this.taken;
      const name = part.dataset.part ?? "";
      // Into the first sentence, or out of it.
      const moves = this._isOver(event) !== isIn && (isIn || !this.root.dataset.parts?.split("-").includes(name));
      this.dragged = true;
      this._letGo();
      if (moves) this._toggle(name);
    }
    this._letGo();
  }

  /** @type {(spot: Spot) => boolean} */
  _isOver({ clientX: x, clientY: y }) {
    const first = this.large.panels[0].frame;
    return [this.into, ...(this.kinds.length ? [first] : [])].some((each) => {
      const { left, right, top, bottom } = each.getBoundingClientRect();
      return x >= left && x <= right && y >= top && y <= bottom;
    });
  }

  /** Ends a drag where it stands; whether there was one. */
  _letGo() {
    const was = Boolean(this.ghost);
    this.ghost?.remove();
    this.ghost = this.taken = null;
    this.root.classList.remove("dragging");
    this.into.classList.remove("over");
    return was;
  }
}

/** @type {(name: string, content: Node[]) => HTMLElement} */
function group(name, content) {
  const found = element("div", "group", { role: "group", "aria-label": name });
  found.append(element("span", "name", {}, name), ...content);
  return found;
}

export default mounted(".exchange", (root) => new Exchange(root), "moves");
