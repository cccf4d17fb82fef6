// The colour bar of every head's weights, and what the marks on tiles mean.

import { element, fitted } from "../../canvas/dom.js";
import { signed } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";

/** Heads of more rows or columns have cells smaller than pixels. */
const FINEST = 100;

export class WeightScale {
  constructor() {
    this.bar = element("canvas", "bar", { role: "img" });
    this.note = element("span", "note");
    this.root = element("div", "scale", {}, this.bar, this.note);
  }

  /** @type {(payload: TracePayload, state: Pick<Chosen, "attention" | "layer" | "head">, palette: Palette) => void} */
  show(payload, state, palette) {
    this._draw(palette);
    this.bar.setAttribute("aria-label", tr("Colour bar: the weight, 0 to 1, the same for every head"));
    const note = (/** @type {string} */ mark, /** @type {string} */ text) => element("span", "note", {}, element("span", mark, { "aria-hidden": "true" }), text);
    this.note.replaceChildren(tr("weight, same scale for every head"));
    const { allowed } = payload.cells(state.attention, state.layer, state.head);
    if (allowed?.includes(0)) this.note.append(note("hatched", tr("not allowed")));
    const { facts, queries, keys } = payload.kind(state.attention);
    if (Math.max(payload.axis(queries).length, payload.axis(keys).length) > FINEST) this.note.append(note("", tr("each pixel the largest weight under it")));
    if (facts.some((layer) => layer.some(({ label }) => label))) this.note.append(note("dot", tr("has a label")));
  }

  /** @param {Palette} palette */
  _draw({ theme, lookup, gamma }) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const [width, thick, height] = [12 * rem, 0.7 * rem, 2 * rem];
    const { context, density } = fitted(this.bar, width, height);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const [left, right] = [0.4 * rem, width - 1.2 * rem];
    for (let x = 0; x < right - left; x++) {
      const color = lookup[Math.round((255 * x) / (right - left))];
      context.fillStyle = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
      context.fillRect(left + x, 0, 1.5, thick);
    }
    context.strokeStyle = theme.grid;
    context.strokeRect(left, 0.5, right - left, thick - 1);
    context.fillStyle = theme.muted;
    context.font = `${0.8 * rem}px ${getComputedStyle(this.root).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    let last = -Infinity;
    for (const weight of [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]) {
      const place = left + weight ** gamma * (right - left);
      if (place - last < 1.9 * rem || (weight < 1 && right - place < 1.6 * rem)) continue;
      last = place;
      context.fillText(signed(weight), place, thick + 3);
    }
  }
}
