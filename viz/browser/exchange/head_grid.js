// All heads of two runs as tiles: each is the difference of its weights, small. One stop of the Tab key.

import { element, fitted } from "../canvas/dom.js";
import { paintCells } from "../canvas/paint.js";
import { tr } from "../canvas/wording.js";
import { stepped } from "./put.js";

/** @import { PairedHead, PairedKind } from "./pair.js" */

// In rem: the least and the most of a tile's height, and the width of a layer's number beside a row.
const TALL = { least: 0.7, most: 3.2 };
const LAYER = 1.2;

/** @typedef {{ tiles: HTMLElement, canvas: HTMLCanvasElement, kind: PairedKind, rows: (HTMLElement | null)[][] }} Block */

export class HeadGrid {
  /** @type {Block[]} */
  blocks = [];
  /** @type {Map<string, HTMLElement>} */
  tiles = new Map();

  /** @param {(head: string) => void} onShow @param {(head: string) => void} onPut */
  constructor(onShow, onPut) {
    this.onShow = onShow;
    this.onPut = onPut;
    this.root = element("div", "all", { role: "grid", "aria-label": tr("Heads") });
    this.root.addEventListener("keydown", (event) => this._key(event));
  }

  /** Makes a tile of every head. @type {(kinds: PairedKind[]) => void} */
  build(kinds) {
    this.tiles.clear();
    this.blocks = kinds.map((kind) => {
      const canvas = element("canvas", "", { "aria-hidden": "true" });
      /** @type {(HTMLElement | null)[][]} */
      const rows = kind.layers.map(() => Array(kind.columns).fill(null));
      for (const head of kind.heads) {
        const tile = element("div", "tile", { role: "gridcell", tabindex: "-1", "data-part": head.part, "data-name": head.name, title: head.said });
        rows[head.layer][head.number] = tile;
        this.tiles.set(head.part, tile);
      }
      const tiles = element("div", "tiles", { role: "presentation" }, canvas);
      for (const [place, row] of rows.entries()) {
        const layer = kind.layers[place];
        // Without a partner a head leaves its place empty.
        const cells = row.map((tile) => tile ?? element("div", "none", { role: "gridcell" }));
        const number = element("span", "layer", { "aria-hidden": "true" }, String(layer));
        tiles.append(element("div", "", { role: "row", "aria-label": tr("Layer {layer}", { layer }) }, ...cells, number));
      }
      return { tiles, canvas, kind, rows };
    });
    this.root.replaceChildren(
      ...this.blocks.map(({ tiles, kind }) =>
        element("div", "", { role: "rowgroup", "aria-label": kind.name }, element("span", "kind", { "aria-hidden": "true" }, kind.name), tiles),
      ),
    );
  }

  /** Paints all tiles within a width and a height, in pixels.
   * @type {(width: number, height: number, rem: number, palette: Palette) => void} */
  draw(width, height, rem, palette) {
    const layers = this.blocks.reduce((sum, { kind }) => sum + kind.layers.length, 0);
    const columns = Math.max(1, ...this.blocks.map(({ kind }) => kind.columns));
    const wide = Math.max(8, Math.floor((width - LAYER * rem) / columns));
    const room = (height - 1.9 * rem * this.blocks.length) / Math.max(1, layers);
    const high = Math.floor(Math.max(TALL.least * rem, Math.min(TALL.most * rem, room)));
    this.root.style.setProperty("--wide", `${wide}px`);
    this.root.style.setProperty("--high", `${high}px`);
    for (const { canvas, kind } of this.blocks) {
      const { context, density } = fitted(canvas, wide * kind.columns, high * kind.layers.length);
      const [across, down] = [Math.round(wide * density), Math.round(high * density)];
      context.setTransform(1, 0, 0, 1, 0, 0);
      for (const { layer, number, difference } of kind.heads) {
        const image = context.createImageData(across, down);
        paintCells(new Uint32Array(image.data.buffer), across, down, difference.cells, across, down, 0, 0, palette);
        context.putImageData(image, Math.round(number * wide * density), Math.round(layer * high * density));
      }
    }
  }

  /** Marks the head that is shown, and those that are in. @type {(shown: string, parts: string[]) => void} */
  mark(shown, parts) {
    for (const [head, tile] of this.tiles) {
      const isIn = parts.includes(head);
      tile.classList.toggle("in", isIn);
      tile.setAttribute("aria-selected", String(head === shown));
      tile.setAttribute("aria-label", isIn ? `${tile.title}, put in` : tile.title);
      tile.tabIndex = head === shown ? 0 : -1;
    }
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tile = /** @type {HTMLElement} */ (event.target);
    const head = tile.dataset.part;
    if (!head) return;
    if (event.key === "Enter" || event.key === " ") this.onPut(head);
    else {
      const rows = this.blocks.flatMap((block) => block.rows);
      const row = rows.findIndex((each) => each.includes(tile));
      const columns = Math.max(...rows.map((each) => each.length));
      const place = stepped(event.key, [row, rows[row].indexOf(tile)], rows.length, columns);
      const next = place && rows[place[0]][place[1]];
      if (!next?.dataset.part) return;
      this.onShow(next.dataset.part);
      next.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
