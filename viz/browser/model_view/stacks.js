// A stack of the model as HTML: its title, the frames of its blocks, its table of positions and its tokens.

import { element, classed } from "../canvas/dom.js";
import { countOf, tr } from "../canvas/wording.js";
import { partAt } from "./over.js";
import { followedBy } from "./timeline.js";

/** @import { ModelView } from "./view.js" */

const LEAST_CHIPS = 0.75;
const FEED_FORWARD_WIDTH = 52;
const POSITIONS_HEIGHT = 26;
/** Layers up, and blocks along, by key. @type {Record<string, [up: number, along: number] | undefined>} */
export const BLOCK_WAYS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** A block of heads: its frame, whose heads the space paints. @typedef {{ cell: HTMLElement, block: FigureBlock, place: number }} DrawnBlock */

export class Stack {
  /** @param {ModelView} view @param {FigureStack} stack */
  constructor(view, stack) {
    const { figure } = view;
    const depth = figure.depth(stack);
    this.view = view;
    this.stack = stack;
    this.shownToken = -2;
    /** @type {HTMLElement[]} */
    this.columns = [];
    this.layers = Array.from({ length: depth }, (_, layer) => this._layer(layer));
    const headings = element("div", "headings", {}, element("span", "number"));
    for (const block of stack.blocks) {
      const heading = element("span", "heading", {}, block.name);
      if (block.kind === "decoder") view.link(heading, tr("mask"), "masks", tr("What each word may see"));
      headings.append(heading);
      this.columns.push(heading);
    }
    /** @type {HTMLElement | null} */
    this.fed = null;
    if (stack.added) {
      this.fed = element("span", "heading fed", { title: tr("How much it adds to each token") }, element("span", "", {}, tr("Feed-forward")));
      headings.append(this.fed);
    }
    const [chips, tokens] = this._chips();
    this.chips = chips;
    this.tokens = tokens;
    this.foot = element("div", "foot");
    this.table = this._positions();
    const title = element("h3", "title", {}, `${stack.name} `, element("span", "", {}, `${stack.does} · ${countOf(depth, "layer")}`));
    const grid = element("div", "layers", { role: "grid", "aria-label": stack.name }, ...this.layers.map(({ row }) => row).reverse());
    this._walkable();
    this.box = element("div", "box", {}, headings, grid);
    this.made = element("section", `stack ${stack.kind}`, { "aria-label": stack.name }, title, this.box, this.foot, chips);
  }

  /** @param {number} layer */
  _layer(layer) {
    const { view, stack } = this;
    const { figure } = view;
    const number = stack.blocks[0].layers[layer];
    const row = element("div", "layer", { role: "row" }, element("span", "number", { title: tr("Layer {layer}", { layer: number }) }, String(number)));
    const wrap = (/** @type {HTMLElement} */ cell) => row.append(element("span", `wrap ${figure.norm}`, {}, cell));
    const parts = stack.blocks.map((block) => {
      const cell = element("span", `block ${block.kind}`, { role: "gridcell", "aria-label": blockName(block, layer) });
      /** @type {DrawnBlock} */
      const drawn = { cell, block, place: layer };
      this._pointed(drawn);
      wrap(cell);
      return drawn;
    });
    /** @type {HTMLElement | null} */
    let added = null;
    if (stack.added) {
      added = element("span", "block feed-forward", { role: "gridcell", "aria-label": tr("Feed-forward, layer {layer}: look closer", { layer: number }) });
      added.addEventListener("click", () => view.enter({ at: "added", stack: stack.kind, layer: number }));
      wrap(added);
    }
    return { row, parts, added, blocks: [...parts.map(({ cell }) => cell), ...(added ? [added] : [])] };
  }

  /** Follows the pointer over the heads of a block. @param {DrawnBlock} drawn */
  _pointed(drawn) {
    const { view, stack } = this;
    const { cell, block, place } = drawn;
    const within = (/** @type {Spot} */ event) => {
      const { left, top, width, height } = cell.getBoundingClientRect();
      const along = ((event.clientX - left) / width) * (block.heads * (view.tile.width + view.tileGap) - view.tileGap);
      const head = Math.min(block.heads - 1, Math.max(0, Math.floor(along / (view.tile.width + view.tileGap))));
      const row = Math.min(block.queries - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * block.queries)));
      return { head, row };
    };
    cell.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse") return;
      const { head, row } = within(event);
      view.over = { block, place, head };
      if (!view.pinned) view.followed = { side: stack.side, from: row, to: row + 1 };
      this._tell(block, place, head, row, event);
      view.drawSoon();
    });
    cell.addEventListener("pointerleave", () => view.leave());
    cell.addEventListener("click", (event) => {
      const layer = block.layers[place];
      // By the keyboard, the block comes first, and its heads from there.
      view.enter(event.detail ? { at: "head", kind: block.kind, layer, head: within(event).head } : { at: "block", kind: block.kind, layer });
    });
  }

  /** @type {(block: FigureBlock, place: number, head: number, row: number, event: Spot) => void} */
  _tell(block, place, head, row, event) {
    const { view, stack } = this;
    const { figure } = view;
    const { weights, nKeys, rough } = figure.cells(block, place, head);
    const own = Array.from(weights.subarray(row * nKeys, (row + 1) * nKeys));
    const most = own.reduce((best, weight, key) => (weight > own[best] ? key : best), 0);
    const keys = block.keySide === stack.side ? stack.tokens : (figure.encoder?.tokens ?? []);
    const label = block.labels[place][head];
    const lines = [element("span", "strong", {}, tr("Layer {layer}, head {head}", { layer: block.layers[place], head }))];
    if (label) lines.push(element("span", "", {}, label));
    if (!rough && own[most] && keys[most] !== undefined) {
      lines.push(element("span", "beside", {}, tr("“{word}” looks most at “{seen}”", { word: stack.tokens[row], seen: keys[most] })));
    }
    view.tell(event, ...lines);
  }

  /** Makes the blocks, by layer, one stop of the Tab key, with the arrow keys among them. */
  _walkable() {
    const layers = this.layers.map(({ blocks }) => blocks);
    layers.forEach((cells, layer) =>
      cells.forEach((cell, place) => {
        cell.tabIndex = layer || place ? -1 : 0;
        cell.addEventListener("keydown", (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          if (event.key === "Enter" || event.key === " ") cell.click();
          else if (!BLOCK_WAYS[event.key]) return;
          event.preventDefault();
          event.stopPropagation();
          const [up, along] = BLOCK_WAYS[event.key] ?? [0, 0];
          const to = layers[layer + up]?.[place + along];
          if (!to) return;
          cell.tabIndex = -1;
          to.tabIndex = 0;
          to.focus();
        });
      }),
    );
  }

  /** What a stack reads, token by token; in it, the arrow keys follow one token after another.
   * @type {() => [HTMLElement, HTMLElement[]]} */
  _chips() {
    const { view } = this;
    const { kind, name, side, tokens: texts } = this.stack;
    const chips = element("div", "chips", { role: "listbox", tabindex: "0", "aria-label": tr("{name}: its tokens, to follow", { name }) });
    const tokens = texts.map((text, token) => {
      const chip = element("span", "chip", { title: text, role: "option", id: `token-${kind}-${token}` }, text);
      view.followable(chip, side, token, token + 1);
      return chip;
    });
    chips.append(...tokens);
    const own = () => (view.followed?.side === side ? view.followed.from : -1);
    chips.addEventListener("keydown", (event) => {
      const to = followedBy(event.key, own(), tokens.length);
      if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      chips.setAttribute("aria-activedescendant", tokens[to].id);
      view.pin({ side, from: to, to: to + 1 });
      view.say(view.figure.spokenToken(side, to));
    });
    return [chips, tokens];
  }

  /** The frame of the table of positions; null where none is added. */
  _positions() {
    const { view, stack } = this;
    if (stack.positions?.dimensions) {
      const { dimensions, of } = stack.positions;
      const shown = dimensions < of ? tr("The table of positions: {shown} of {count} dimensions, in pairs of sine and cosine", { shown: dimensions, count: of }) : tr("The table of positions");
      const table = element("button", "block table", { type: "button", "aria-label": shown, title: shown });
      table.addEventListener("click", () => view.enter({ at: "positions", stack: stack.kind }));
      this.foot.append(table, element("span", "note", {}, tr("+ positions")));
      return table;
    }
    if (stack.positions?.acts) {
      const note = element("span", "note", {}, tr("Positions: "));
      view.link(note, tr("inside attention"), "positions", tr("Open Positions"));
      this.foot.append(note);
    }
    return null;
  }

  // ---- sizes ------------------------------------------------------------------------------------------------------

  /** @type {(tile: TileSize, gap: number, unit: number) => void} */
  size(tile, gap, unit) {
    const fedWidth = FEED_FORWARD_WIDTH * unit;
    const wide = (/** @type {FigureBlock} */ { heads }) => heads * (tile.width + gap) - gap;
    for (const { parts, added } of this.layers) {
      for (const { cell, block } of parts) sized(cell, wide(block), tile.height);
      if (added) sized(added, fedWidth, tile.height);
    }
    this.stack.blocks.forEach((block, place) => (this.columns[place].style.width = `${wide(block)}px`));
    if (this.fed) this.fed.style.width = `${fedWidth}px`;
    this.chips.style.fontSize = "";
  }

  /** Makes tokens and positions fit a box of a width; `wide` is that of all tokens. @type {(inner: number, wide: number, unit: number) => void} */
  fit(inner, wide, unit) {
    // Text shrinks to fit as long as it stays readable.
    const fits = Math.min(1, inner / wide);
    this.chips.classList.toggle("long", fits < LEAST_CHIPS);
    if (fits < 1) this.chips.style.fontSize = `${Math.max(LEAST_CHIPS, 0.98 * fits)}em`;
    const long = Math.min(inner - 130 * unit, 40 * unit * this.stack.tokens.length);
    if (this.table) sized(this.table, Math.max(40, long), POSITIONS_HEIGHT * unit);
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** The rows of a layer that are computed at a moment, with a fraction. @type {(moment: Moment, layer: number) => number} */
  rowsOf(moment, layer) {
    const { figure, timeline } = this.view;
    const decodes = this.stack === figure.decoder;
    return decodes ? timeline.rowsOf(moment, layer) : Math.min(1, Math.max(0, moment.encoded - layer)) * this.stack.tokens.length;
  }

  /** The token that is computed at a moment; -1 for none. @type {(moment: Moment, done: boolean) => number} */
  current(moment, done) {
    return this.stack === this.view.figure.decoder && !done && moment.phase !== "read" ? moment.step : -1;
  }

  /** The tokens that are followed, as far as they are its own. @type {() => Span | null} */
  band() {
    const { followed } = this.view;
    return followed?.side === this.stack.side ? [followed.from, Math.min(followed.to, this.stack.tokens.length)] : null;
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  draw(moment, done) {
    const decodes = this.stack === this.view.figure.decoder;
    const current = this.current(moment, done);
    const band = this.band();
    this._scrollTo(band ? band[0] : current);
    this.layers.forEach(({ blocks }, layer) => {
      const active = !done && moment.layer === layer && (decodes ? moment.phase === "layer" : moment.phase === "read");
      const part = active ? partAt(moment.share, blocks.length) : -1;
      blocks.forEach((block, number) => classed(block, "active", number === part));
    });
    const { guide } = this.view.travel;
    const come = guide.moves === "tokens" ? guide.share * this.tokens.length : Infinity;
    this.tokens.forEach((chip, token) => {
      const share = Math.min(1, Math.max(0, (decodes ? Math.min(moment.entered, come) : come) - token));
      const opacity = (0.12 + 0.88 * share).toFixed(2);
      if (chip.style.opacity !== opacity) chip.style.opacity = opacity;
      classed(chip, "now", token === current && share > 0);
      classed(chip, "lit", Boolean(band && band[0] <= token && token < band[1]));
    });
  }

  /** Brings a token into sight where not all fit, unless a pointer is on them. @param {number} token */
  _scrollTo(token) {
    const { chips, tokens } = this;
    if (token === this.shownToken || !chips.classList.contains("long") || chips.matches(":hover")) return;
    this.shownToken = token;
    const chip = tokens[Math.max(0, token)];
    chips.scrollLeft = chip.offsetLeft - (chips.clientWidth - chip.offsetWidth) / 2;
  }
}

/** @type {(made: HTMLElement, width: number, height: number) => void} */
function sized(made, width, height) {
  made.style.width = `${width}px`;
  made.style.height = `${height}px`;
}

/** @type {(block: FigureBlock, layer: number) => string} */
function blockName(block, layer) {
  return tr("{name}, layer {layer}, {n} heads: open them", { name: block.name, layer: block.layers[layer], n: block.heads }, "{name}, layer {layer}, {n} head: open it");
}
