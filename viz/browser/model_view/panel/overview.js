// Every head at once: layers down, heads across, on one colour scale. Only visible tiles are painted.

import { element, fitted } from "../../canvas/dom.js";
import { zoomedByWheel } from "../../canvas/keys.js";
import { crossOut, paintSteps, pooled } from "../../canvas/paint.js";
import { headsAt, headsShown } from "../how.js";
import { writtenMeasure } from "../written.js";
import { tr } from "../../canvas/wording.js";

const TILE_GAP = 4;
const LARGEST_TILE = 88;
const SMALLEST_TILE = 30;
const NAME_ROOM = { plain: 1.3, measured: 2.3 };
const DOT = { radius: 2.6, room: 4 };
const ZOOM_STEPS = [1, 1.5, 2, 3, 4, 6, 8, 12];
const FINEST_CELL = 6;

/**
 * @typedef {{ attention: string, layer: number, head: number, value?: number | null, column: number, row: number, x: number,
 *   y: number, width: number, height: number }} Tile
 */
/** A tile on the canvas, and where. @typedef {{ tile: Tile, x: number, y: number }} Named */
/**
 * @typedef {object} Calls
 * @property {(layer: number, head: number, adds: boolean) => void} select
 * @property {(tile: Tile | undefined, place?: Spot, isSpoken?: boolean) => void} point
 * @property {(only: Only) => void} only
 * @property {() => void} activate
 */

export class Overview {
  /** @type {TracePayload} */
  payload;
  /** @type {Chosen} */
  state;
  /** @type {Palette} */
  palette;
  screen = 0;
  arrangement = "";
  /** @type {Tile[]} */
  tiles = [];
  /** @type {Tile | null} */
  cursor = null;
  /** @type {Places} */
  lit = { queries: [], keys: [] };
  /** @type {Map<string, Uint16Array>} */
  pooledTiles = new Map();
  gutter = 0;
  header = 0;
  above = 0;
  markRoom = 0;
  measureRoom = 0;
  width = 0;
  height = 0;
  view = { width: 0, height: 0 };

  /** @param {Calls} on */
  constructor(on) {
    this.on = on;
    this.zoom = 0;
    this.canvas = element("canvas", "overview", { tabindex: "0", role: "application" });
    this.rings = element("div", "rings");
    this.ring = element("div", "ring selected");
    this.pointed = element("div", "ring pointed", { hidden: "" });
    this.rings.append(this.pointed, this.ring);
    this.stage = element("div", "stage", {}, this.canvas, this.rings);
    this.columns = element("div", "columns");
    this.rows = element("div", "rows");
    this.corner = element("div", "corner", { "aria-hidden": "true" });
    this.root = element("div", "overview-scroll", {}, this.corner, this.columns, this.rows, this.stage);
    this.root.addEventListener("scroll", () => this.paint());
    this.canvas.addEventListener("pointermove", (event) => this._point(event));
    this.stage.addEventListener("pointerleave", () => this._leave());
    this.canvas.addEventListener("click", (event) => this._click(event));
    this.canvas.addEventListener("blur", () => this._leave());
    this.canvas.addEventListener("keydown", (event) => this._key(event));
    zoomedByWheel(this.root, (step) => this.zoomBy(step));
  }

  /**
   * Shows a trace's heads of one kind of attention; `order` is a measure's key or "", `only` one layer, one head or
   * null, and `screen` the height of the visible part of the page.
   *
   * @type {(payload: TracePayload, state: Chosen, palette: Palette, screen: number) => void}
   */
  show(payload, state, palette, screen) {
    if (this.payload?.id !== payload.id) {
      this.pooledTiles.clear();
      this.cursor = null;
    }
    const arrangement = JSON.stringify([state.order, state.only, state.attention]);
    const moved = arrangement !== this.arrangement;
    Object.assign(this, { payload, state, palette, screen, arrangement });
    this._arrange();
    // A new order starts at its first heads.
    if (moved) this.root.scrollTop = 0;
    this.paint();
  }

  /** @type {(step: number) => void} */
  zoomBy(step) {
    this.zoom = Math.max(0, Math.min(ZOOM_STEPS.length - 1, this.zoom + step));
    this._arrange();
    this.reveal();
    this.paint();
  }

  /** A head's tile; undefined if it is not shown. @type {(layer: number, head: number) => Tile | undefined} */
  tile(layer, head) {
    return this.tiles.find((tile) => tile.layer === layer && tile.head === head);
  }

  /** Scrolls the tile that keys act on into view and rings it and all compared tiles. */
  reveal() {
    const { compare } = this.state;
    if (!compare.length) this.cursor = null;
    const tile = this._current();
    this.ring.hidden = !tile;
    this.ring.classList.toggle("cursor", Boolean(this.cursor));
    for (const old of this.rings.querySelectorAll(".compared")) old.remove();
    if (!tile) return;
    this._place(this.ring, tile);
    for (const [index, [otherLayer, otherHead]] of compare.entries()) {
      const other = this.tile(otherLayer, otherHead);
      if (!other) continue;
      const ring = element("div", "ring compared");
      ring.style.borderColor = this.palette.theme.heads[index % this.palette.theme.heads.length];
      this._place(ring, other);
      this.rings.append(ring);
    }
    const scroll = this.root;
    const [gutter, header] = [this.gutter, this.header];
    const view = { width: scroll.clientWidth - gutter, height: scroll.clientHeight - header };
    if (tile.x < scroll.scrollLeft) scroll.scrollLeft = tile.x;
    else if (tile.x + tile.width > scroll.scrollLeft + view.width) scroll.scrollLeft = tile.x + tile.width - view.width;
    if (tile.y - this.above < scroll.scrollTop) scroll.scrollTop = tile.y - this.above;
    else if (tile.y + tile.height > scroll.scrollTop + view.height) scroll.scrollTop = tile.y + tile.height - view.height;
  }

  /** Lights rows and columns, by their places, in every tile. @type {(lit: Places) => void} */
  light(lit) {
    if (JSON.stringify(lit) === JSON.stringify(this.lit)) return;
    this.lit = lit;
    this.paint();
  }

  /** Whether every head of a tile is switched off.
   * @type {(head: { attention: string; layer: number; head: number }) => boolean} */
  isOff({ attention, layer, head }) {
    return headsAt(this.payload, attention, layer, head).every((each) => this.state.off.includes(each));
  }

  /** @type {(ring: HTMLElement, tile: Tile) => void} */
  _place(ring, tile) {
    ring.style.transform = `translate(${tile.x - 3}px, ${tile.y - 3 - this.markRoom}px)`;
    ring.style.width = `${tile.width + 6}px`;
    ring.style.height = `${tile.height + 6 + this.markRoom}px`;
  }

  _arrange() {
    const { attention, order, only } = this.state;
    const kind = this.payload.kind(attention);
    const measure = this.payload.measures.find(({ key }) => key === order);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const heads = headsShown(this.payload, this.state);
    const flows = Boolean(measure || only);
    this.root.classList.toggle("flows", flows);
    const room = Math.max((this.root.parentElement?.clientWidth ?? 0), 200);
    // Room for "Layer 0", which is longer in some languages.
    const named = Math.max(3.6, 0.5 * tr("Layer {layer}", { layer: 0 }).length + 0.1);
    this.gutter = flows ? 0 : Math.ceil((room < 420 ? 1.6 : named) * rem);
    this.header = flows ? 0 : Math.ceil(1.6 * rem);
    const nameRoom = flows ? (measure ? NAME_ROOM.measured : NAME_ROOM.plain) * rem : 0;
    this.markRoom = !flows && heads.some((each) => this._isMarked({ attention, ...each })) ? DOT.room : 0;
    this.measureRoom = measure ? rem : 0;
    const above = nameRoom + this.markRoom;
    this.above = above;
    const across = flows ? Math.max(1, Math.min(heads.length, Math.round(Math.sqrt(heads.length * 1.6)))) : kind.heads;
    const fitting = Math.floor((room - this.gutter - 6) / across) - TILE_GAP;
    const mostShown = Math.max(0.55 * this.screen, 280);
    // A large screen has room for larger tiles.
    const tall = Math.floor((mostShown - this.header - 6) / kind.layers.length) - TILE_GAP - above;
    const smallest = Math.max(SMALLEST_TILE, flows ? 4.2 * rem : 0);
    // Tiles shrink to make room for the dots: all layers and the words about a head fit the first screen.
    const base = Math.max(smallest, Math.min(flows ? 2 * LARGEST_TILE : Math.max(LARGEST_TILE, tall), fitting) - this.markRoom);
    const most = Math.max(base, FINEST_CELL * this.payload.axis(kind.keys).length);
    const side = Math.min(most, Math.round(base * ZOOM_STEPS[this.zoom]));
    this.side = side;
    const step = side + TILE_GAP;
    this.tiles = heads.map((each, index) => {
      const column = flows ? index % across : each.head;
      const row = flows ? Math.floor(index / across) : each.layer;
      return {
        attention,
        ...each,
        column,
        row,
        x: 3 + column * step,
        y: 3 + row * (step + above) + above,
        width: side,
        height: side,
      };
    });
    const last = this.tiles.at(-1);
    const down = (last?.row ?? 0) + 1;
    this.width = 6 + across * step - TILE_GAP;
    this.height = 6 + down * (step + above) - TILE_GAP;
    this.stage.style.width = `${this.width}px`;
    this.stage.style.height = `${this.height}px`;
    this.root.style.gridTemplate = `${this.header}px 1fr / ${this.gutter}px 1fr`;
    this._label(kind, flows, step);
    this.root.style.maxHeight = `${mostShown}px`;
    this.view = {
      width: Math.min(this.width, room - this.gutter),
      height: Math.min(this.height, mostShown - this.header),
    };
    this.canvas.style.left = `${this.gutter}px`;
    this.canvas.style.top = `${this.header}px`;
    this.reveal();
  }

  /** @type {(kind: Kind, flows: boolean, step: number) => void} */
  _label(kind, flows, step) {
    this.columns.replaceChildren();
    this.rows.replaceChildren();
    if (flows) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const wordy = step > 3.6 * rem;
    this.corner.textContent = wordy ? "" : this.gutter < 3 * rem ? tr("L\\H") : tr("Head");
    // A way for the pointer; Options have one for the keys.
    const label = (/** @type {string} */ text, /** @type {string} */ title, /** @type {Only} */ only) => {
      const made = element("span", "label", { title }, text);
      made.addEventListener("click", () => this.on.only(only));
      return made;
    };
    for (let head = 0; head < kind.heads; head++) {
      const made = label(wordy ? tr("Head {head}", { head }) : String(head), tr("Only head {head} of every layer", { head }), { head });
      made.style.left = `${3 + head * step}px`;
      made.style.width = `${step - TILE_GAP}px`;
      this.columns.append(made);
    }
    for (const [layer, name] of kind.layers.entries()) {
      const text = this.gutter > 3 * rem ? tr("Layer {layer}", { layer: name }) : String(name);
      const made = label(text, tr("Only the heads of layer {layer}", { layer: name }), { layer });
      made.style.top = `${3 + layer * (step + this.above) + this.above}px`;
      made.style.height = made.style.lineHeight = `${step - TILE_GAP}px`;
      this.rows.append(made);
    }
  }

  paint() {
    if (!this.payload) return;
    const { width, height } = this.view;
    const { context, density } = fitted(this.canvas, width, height);
    const [wide, high] = [this.canvas.width, this.canvas.height];
    const image = context.createImageData(wide, high);
    const pixels = new Uint32Array(image.data.buffer);
    const [offsetX, offsetY] = [this.root.scrollLeft, this.root.scrollTop];
    /** @type {Named[]} */
    const named = [];
    for (const tile of this.tiles) {
      const [x, y] = [tile.x - offsetX, tile.y - offsetY];
      if (x > width || y > height || x + tile.width < 0 || y + tile.height < 0) continue;
      named.push({ tile, x, y });
      const size = Math.round(tile.width * density);
      const steps = this._steps(tile, size);
      paintSteps(pixels, wide, high, steps, Math.round(x * density), Math.round(y * density), size, size, this.palette);
    }
    context.putImageData(image, 0, 0);
    this._lightUp(context, density, named);
    this._cross(context, density, named);
    this._mark(context, density, named);
    if (this.root.classList.contains("flows")) this._name(context, density, named);
    this.canvas.dataset.tiles = JSON.stringify(
      named.map(({ tile, x, y }) => {
        const { attention, layer, head, width, height } = tile;
        return { attention, layer, head, x, y, width, height, off: this.isOff(tile) };
      }),
    );
  }

  /** @type {(context: Context, density: number, named: Named[]) => void} */
  _lightUp(context, density, named) {
    const { queries, keys } = this.lit;
    if (!queries.length && !keys.length) return;
    const kind = this.payload.kind(this.state.attention);
    const [nQueries, nKeys] = [kind.queries, kind.keys].map((axis) => this.payload.axis(axis).length);
    context.save();
    context.scale(density, density);
    // Orange on a scale of blues.
    context.fillStyle = this.palette.theme.now;
    context.globalAlpha = 0.38;
    for (const { tile, x, y } of named) {
      const [wide, high] = [tile.width / nKeys, tile.height / nQueries];
      for (const query of queries) context.fillRect(x, y + query * high, tile.width, Math.max(high, 1));
      for (const key of keys) context.fillRect(x + key * wide, y, Math.max(wide, 1), tile.height);
    }
    context.restore();
  }

  /** Dims and crosses out the heads that are switched off.
   * @type {(context: Context, density: number, named: Named[]) => void} */
  _cross(context, density, named) {
    context.save();
    context.scale(density, density);
    for (const { tile, x, y } of named) {
      if (!this.isOff(tile)) continue;
      crossOut(context, { left: x, top: y, width: tile.width, height: tile.height }, this.palette.theme);
    }
    context.restore();
  }

  /** * @type {(head: Pick<Tile, "attention" | "layer" | "head">) => boolean} */
  _isMarked({ attention, layer, head }) {
    return Boolean(this.payload.facts(attention, layer, head)?.label);
  }

  /** A dot above every labelled head, where it hides no weight.
   * @type {(context: Context, density: number, named: Named[]) => void} */
  _mark(context, density, named) {
    context.save();
    context.scale(density, density);
    context.fillStyle = this.palette.theme.text;
    // Centred in the gap above the tile, or in the line with the head's name.
    const up = this.markRoom ? (this.markRoom + TILE_GAP) / 2 : (this.above + this.measureRoom) / 2;
    for (const { tile, x, y } of named) {
      if (!this._isMarked(tile)) continue;
      context.beginPath();
      context.arc(x + tile.width - DOT.radius - 1, y - up, DOT.radius, 0, 2 * Math.PI);
      context.fill();
    }
    context.restore();
  }

  /** @type {(tile: Tile, size: number) => Uint16Array} */
  _steps(tile, size) {
    const key = `${tile.attention}/${tile.layer}/${tile.head}/${size}/${this.palette.gamma}`;
    let steps = this.pooledTiles.get(key);
    if (!steps) {
      // Zooming paints ever larger tiles, so the cache has a limit.
      if (this.pooledTiles.size > 512) this.pooledTiles.clear();
      const cells = this.payload.sketch(tile.attention, tile.layer, tile.head, size, size);
      steps = pooled(cells, size, size, this.palette);
      this.pooledTiles.set(key, steps);
    }
    return steps;
  }

  /** @type {(context: Context, density: number, named: Named[]) => void} */
  _name(context, density, named) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const kind = this.payload.kind(this.state.attention);
    const measure = this.payload.measures.find(({ key }) => key === this.state.order);
    context.save();
    context.scale(density, density);
    context.font = `${0.8 * rem}px ${getComputedStyle(this.root).fontFamily}`;
    context.fillStyle = this.palette.theme.text;
    context.textBaseline = "bottom";
    for (const { tile, x, y } of named) {
      context.fillStyle = this.palette.theme.text;
      context.fillText(tr("L{layer} H{head}", { layer: kind.layers[tile.layer], head: tile.head }), x, y - 2 - (measure ? rem : 0));
      if (!measure) continue;
      context.fillStyle = this.palette.theme.muted;
      context.fillText(writtenMeasure(measure, tile.value ?? null), x, y - 2);
    }
    context.restore();
  }

  /** @type {(event: Spot) => Tile | undefined} */
  _at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left + this.root.scrollLeft;
    const y = event.clientY - box.top + this.root.scrollTop;
    return this.tiles.find(({ x: left, y: top, width, height }) => {
      const across = x >= left && x < left + width + TILE_GAP;
      return across && y >= top - this.markRoom && y < top + height + TILE_GAP;
    });
  }

  /** @type {(event: PointerEvent) => void} */
  _point(event) {
    const tile = this._at(event);
    this.pointed.hidden = !tile;
    if (tile) this._place(this.pointed, tile);
    this.on.point(tile, event);
  }

  _leave() {
    this.pointed.hidden = true;
    this.on.point(undefined);
  }

  /** @type {(event: MouseEvent) => void} */
  _click(event) {
    const tile = this._at(event);
    if (!tile) return;
    this.cursor = null;
    this.on.select(tile.layer, tile.head, event.shiftKey || event.ctrlKey || event.metaKey);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    /** @type {Record<string, [right: number, down: number]>} */
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const current = this._current() ?? this.tiles[0];
    if (event.altKey || !current) return;
    if (event.key in steps) {
      const [right, down] = steps[event.key];
      const next = this.tiles.find((tile) => tile.column === current.column + right && tile.row === current.row + down);
      if (next) this._moveTo(next);
    } else if (event.key === "Home" || event.key === "End") this._moveTo(this.tiles[event.key === "Home" ? 0 : this.tiles.length - 1]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1);
    else if (event.key === "-") this.zoomBy(-1);
    else if (event.key === "Enter" || event.key === " ") this.on.activate();
    else if (event.key === "c") {
      this.cursor = current;
      this.on.select(current.layer, current.head, true);
    } else return;
    event.preventDefault();
  }

  /** The head that keys act on: while heads are compared, one that need not be among them. */
  _current() {
    const { layer, head } = this.cursor ?? this.state;
    return this.tile(layer, head);
  }

  /** Selects a head, or, while heads are compared, goes to it and leaves those as they are. @type {(tile: Tile) => void} */
  _moveTo(tile) {
    if (!this.state.compare.length) {
      this.on.select(tile.layer, tile.head, false);
      return;
    }
    this.cursor = tile;
    this.reveal();
    const box = this.canvas.getBoundingClientRect();
    const [clientX, clientY] = [box.left + tile.x - this.root.scrollLeft, box.top + tile.y + tile.height - this.root.scrollTop];
    this.on.point(tile, { clientX, clientY }, true);
  }
}
