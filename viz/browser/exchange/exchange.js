// Parts of the second sentence, which a person drags into the first, clicks, or chooses with the keyboard.

import { aimed, element, part } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { mounted } from "../canvas/mount.js";
import { roving } from "../canvas/roving.js";
import { partsIn, stateAt, stepped } from "./put.js";

// A pointer that moves less than this many pixels clicks.
const STILL = 6;

/** @typedef {[part: string, name: string, share: number]} Tile */
/**
 * @typedef {object} Parts
 * @property {string[]} first - the words of the first sentence.
 * @property {[text: string, place: number | null][]} tokens - of the second one; null for one without a counterpart.
 * @property {[stage: string, name: string][]} stages
 * @property {[name: string, parts: [part: string, text: string, full: string][]][]} states
 * @property {[name: string, rows: Tile[][]][]} heads
 */

class Exchange {
  /** @type {[number: number, part: string][]} */
  open = [];
  /** @type {[part: string, name: string][]} */
  put = [];
  /** @type {Parts} */
  parts;
  shown = "";
  stage = "";
  /** @type {HTMLButtonElement[]} */
  tokens = [];
  /** @type {HTMLElement[]} */
  others = [];
  /** @type {{ part: HTMLElement, x: number, y: number, isIn: boolean } | null} */
  taken = null;
  /** @type {HTMLElement | null} */
  ghost = null;
  more = element("button", "more", { type: "button" }, "Tokens and layers");
  dragged = false;
  /** @type {Reporter} */
  report;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.number = 0;
    this.from = element("section", "", { "aria-label": "Parts of the second sentence" });
    this.into = element("section", "into", { "aria-label": "The first sentence" });
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    root.replaceChildren(this.from, this.into, this.spoken);
    root.addEventListener("pointerdown", (event) => this._take(event));
    root.addEventListener("pointermove", (event) => this._drag(event));
    root.addEventListener("pointerup", (event) => this._drop(event));
    root.addEventListener("pointercancel", () => this._letGo());
    root.addEventListener("click", (event) => this._click(event));
    root.addEventListener("keydown", (event) => this._key(event));
    this.more.addEventListener("click", () => this._unfold(Boolean(this.others[0].hidden)));
    this.unescape = escapable(() => this._letGo());
  }

  dispose() {
    this.unescape();
    this._letGo();
  }

  /** @type {(given: { heard: number; put: [part: string, name: string][] } & Parts, report: Reporter) => void} */
  update({ heard, put, ...parts }, report) {
    this.report = report;
    this.number = Math.max(this.number, heard);
    this.open = this.open.filter(([number]) => number > heard);
    this.put = put;
    const shown = JSON.stringify(parts);
    if (shown !== this.shown) {
      this.shown = shown;
      this.parts = parts;
      this.stage = parts.stages.some(([stage]) => stage === this.stage) ? this.stage : parts.stages[0][0];
      this._letGo();
      this._draw();
    }
    this._mark();
  }

  _draw() {
    const { tokens, stages, states, heads } = this.parts;
    const after = element("select", "", { "aria-label": "The token's hidden states after" });
    after.append(...stages.map(([stage, name]) => element("option", "", { value: stage }, name)));
    after.value = this.stage;
    after.addEventListener("change", () => {
      this.stage = after.value;
      this._name();
      this._mark();
    });
    this.tokens = tokens.map(([text, place]) => {
      const chip = element("button", "part", {}, text);
      chip.dataset.place = String(place ?? "");
      chip.disabled = place === null;
      if (place === null) chip.title = "No counterpart in the first sentence";
      return chip;
    });
    this.others = [
      group("One token, after", [after, ...this.tokens]),
      ...states.map(([name, parts]) => {
        const chips = parts.map(([part, text, full]) => element("button", "part", { "data-part": part, "data-name": full }, text));
        roving(chips);
        return group(name, chips);
      }),
    ];
    roving(this.tokens.filter((chip) => !chip.disabled));
    // What is in has to be among what can be dragged.
    this._unfold(this.put.some(([part]) => !heads.some(([, rows]) => rows.flat().some(([each]) => each === part))));
    const groups = [
      ...heads.map(([name, rows]) => group(name, [grid(rows)], "heads")),
      element("p", "", {}, "Each tile is one head; the stronger its colour, the more its weights differ between the sentences."),
    ];
    this.from.replaceChildren(element("h4", "", {}, "Drag a part of the second sentence’s run into the first"), ...groups, this.more, ...this.others);
    this._name();
  }

  /** Shows or hides the parts besides heads. @type {(on: boolean) => void} */
  _unfold(on) {
    for (const each of this.others) each.hidden = !on;
    this.more.setAttribute("aria-expanded", String(on));
  }

  _name() {
    for (const chip of this.tokens) {
      if (chip.disabled) continue;
      const place = Number(chip.dataset.place);
      const [, stage = ""] = this.parts.stages.find(([each]) => each === this.stage) ?? [];
      chip.dataset.part = stateAt(this.stage, place);
      chip.dataset.name = `“${chip.textContent}”, ${stage.toLowerCase()}`;
    }
  }

  _mark() {
    const parts = partsIn(this.put.map(([part]) => part), this.open);
    const names = new Map(this.put);
    for (const each of this._chips()) {
      const { part = "", name = "" } = each.dataset;
      each.setAttribute("aria-pressed", String(parts.includes(part)));
      if (name && name !== each.textContent) each.setAttribute("aria-label", name);
      if (part && !names.has(part)) names.set(part, name);
    }
    const changed = new Set(parts.map((part) => part.match(/^encoder\..*\.at(\d+)$/)?.[1]));
    const words = element("p", "words");
    for (const [place, text] of this.parts.first.entries()) {
      words.append(element("span", changed.has(String(place)) ? "changed" : "", {}, text), " ");
    }
    const { activeElement } = /** @type {ShadowRoot} */ (this.root.getRootNode());
    const focused = activeElement?.closest(".into .part")?.getAttribute("data-part");
    const chips = parts.map((part) => {
      const chip = element("button", "part", { "data-part": part, "aria-label": `Take out: ${names.get(part) ?? part}` });
      chip.append(element("span", "", {}, names.get(part) ?? part), element("span", "", { "aria-hidden": "true" }, " ×"));
      return chip;
    });
    const none = element("p", "none", {}, "Drop a part here, click it, or press Enter on it.");
    this.into.replaceChildren(element("h4", "", {}, "Put into the first sentence"), words, ...(chips.length ? chips : [none]));
    if (focused) (chips.find((chip) => chip.dataset.part === focused) ?? chips[0] ?? part(this.from, ".part")).focus();
    this.root.dataset.parts = parts.join("-");
  }

  _chips() {
    return /** @type {HTMLElement[]} */ ([...this.from.querySelectorAll(".part")]);
  }

  /** @type {(part: string) => void} */
  _toggle(part) {
    const name = this._chips().find((each) => each.dataset.part === part)?.dataset.name ?? part;
    this.number += 1;
    this.open = [...this.open, [this.number, part]];
    this._mark();
    this.spoken.textContent = this.root.dataset.parts?.split("-").includes(part) ? `${name}: put in` : `${name}: taken out`;
    this.report(this.open);
  }

  /** @type {(event: MouseEvent) => void} */
  _click(event) {
    const part = aimed(event, ".part");
    // The browser sends a click after a drag, too.
    if (part?.dataset.part && !this.dragged) this._toggle(part.dataset.part);
    this.dragged = false;
  }

  /** @type {(event: PointerEvent) => void} */
  _take(event) {
    const part = aimed(event, ".part");
    this.dragged = false;
    if (!part?.dataset.part || event.button !== 0) return;
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
      // Into the first sentence, or out of it.
      const moves = this._isOver(event) !== isIn && (isIn || part.getAttribute("aria-pressed") !== "true");
      this.dragged = true;
      this._letGo();
      if (moves) this._toggle(part.dataset.part ?? "");
    }
    this._letGo();
  }

  /** @type {(spot: Spot) => boolean} */
  _isOver({ clientX: x, clientY: y }) {
    const { left, right, top, bottom } = this.into.getBoundingClientRect();
    return x >= left && x <= right && y >= top && y <= bottom;
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

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const tile = aimed(event, ".tiles .part");
    const tiles = tile?.closest(".tiles");
    if (!tile || !tiles) return;
    const rows = [...tiles.children].map((row) => /** @type {HTMLElement[]} */ ([...row.children]));
    const row = rows.findIndex((each) => each.includes(tile));
    const place = stepped(event.key, [row, rows[row].indexOf(tile)], rows.length, rows[row].length);
    const next = place && rows[place[0]][place[1]];
    if (!next) return;
    event.preventDefault();
    tile.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

/** @type {(name: string, content: Node[], kind?: string) => HTMLElement} */
function group(name, content, kind = "") {
  const found = element("div", `group ${kind}`, { role: "group", "aria-label": name });
  found.append(element("span", "name", {}, name), ...content);
  return found;
}

// Heads as tiles, as dark as they differ; only one of them is a stop of the Tab key.
/** @type {(rows: Tile[][]) => HTMLElement} */
function grid(rows) {
  const tiles = element("div", "tiles");
  for (const [layer, row] of rows.entries()) {
    const line = element("div", "");
    for (const [head, [part, name, share]] of row.entries()) {
      const tile = element("button", "part", { "data-part": part, "data-name": name, title: name });
      tile.style.setProperty("--share", `${Math.round(100 * share)}%`);
      tile.tabIndex = layer || head ? -1 : 0;
      line.append(tile);
    }
    tiles.append(line);
  }
  return tiles;
}

export default mounted(".exchange", (root) => new Exchange(root), "moves");
