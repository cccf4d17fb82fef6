// A small copy of Figure 1: where in the model a page is, and the way to other blocks.

import { drawn, element } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";
import { roving } from "../canvas/roving.js";

const CELLS = 4;
const CELL = 4.5;
const EDGE = 3;

/** Which cells of a small map stand for a kind of attention. @type {Record<string, (query: number, key: number) => boolean>} */
const PATTERNS = {
  encoder: (query, key) => Math.abs(query - key) <= 0 || (query === 0 && key === 3),
  decoder: (query, key) => key <= query,
  cross: (query, key) => [0, 2, 1, 3][query] === key,
  module: (query, key) => query === key,
};

/** @type {(kind: string) => SVGElement[]} */
function cells(kind) {
  /** @type {SVGElement[]} */
  const found = [];
  for (let query = 0; query < CELLS; query++) {
    for (let key = 0; key < CELLS; key++) {
      const place = { x: EDGE + key * CELL, y: EDGE + query * CELL, width: CELL - 0.7, height: CELL - 0.7 };
      found.push(drawn("rect", { ...place, class: PATTERNS[kind](query, key) ? "full" : "faint" }));
    }
  }
  return found;
}

function bars() {
  return [16, 8, 5, 3].map((width, place) =>
    drawn("rect", { x: EDGE, y: EDGE + place * CELL, width, height: CELL - 1.2, class: place ? "half" : "full" }),
  );
}

function waves() {
  return [3.5, 1.75, 0.9].map((turns, place) => {
    const points = Array.from({ length: 37 }, (_, step) => {
      const y = 6 + place * 6 - 2.2 * Math.sin((step / 36) * turns * 2 * Math.PI);
      return `${EDGE + step / 2},${y.toFixed(2)}`;
    });
    return drawn("polyline", { points: points.join(" "), class: "wave" });
  });
}

/** @type {Record<string, () => SVGElement[]>} */
const SHAPES = { positions: waves, next: bars };

/** @typedef {{ key: string, name: string, lit: boolean }[]} Stack */

class ModelMap {
  told = "";
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
  }

  dispose() {}

  /** @type {(given: { blocks: Stack[] }, _: Reporter, tell: Trigger) => void} */
  update({ blocks }, _, tell) {
    this.tell = tell;
    const told = JSON.stringify(blocks);
    if (told === this.told) return;
    this.told = told;
    const made = blocks.map((stack) => element("li", "stack", {}, this._stack(stack)));
    this.root.replaceChildren(element("ul", "", {}, ...made));
    const buttons = [...this.root.querySelectorAll("button")];
    roving(buttons, Math.max(0, buttons.findIndex((button) => button.matches(".lit"))));
  }

  /** @type {(stack: Stack) => HTMLElement} */
  _stack(stack) {
    const made = stack.map(({ key, name, lit }) => {
      const shape = drawn("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, ...(SHAPES[key] ?? (() => cells(key)))());
      const button = element("button", lit ? "lit" : "", { type: "button", title: name, "aria-label": name }, shape);
      if (lit) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => this.tell("open", key));
      return element("li", "", {}, button);
    });
    return element("ul", "", {}, ...made);
  }
}

export default mounted(".model-map", (root) => new ModelMap(root));
