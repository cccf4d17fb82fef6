// Figure 1 of the paper with a sentence in it, as a space: the whole model, and by coming closer every head, row, weight and number in it.

import { element, fitted } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { plainKey, typing } from "../canvas/keys.js";
import { pageTheme, roomWithin, wantsNoMotion } from "../canvas/page.js";
import { labelled, tr } from "../canvas/wording.js";
import { HeadTiles, positionsImage } from "./blocks.js";
import { Headline } from "./headline.js";
import { Offers } from "./offers.js";
import { drawOver, drawResidual } from "./over.js";
import { Figure } from "./payload.js";
import { modelSaid } from "./place_words.js";
import { legal, parsed, spelled } from "./places.js";
import { Player } from "./player.js";
import { sizesOf } from "./sizes.js";
import { placesIn } from "./space.js";
import { BLOCK_WAYS, Stack } from "./stacks.js";
import { Timeline, followedBy, keyAsked } from "./timeline.js";
import { Travel } from "./travel.js";

/** @import { DrawnBlock } from "./stacks.js" */

const LEAST_HEIGHT = 540;
/** Beside a panel, the figure is laid out at so much width, at a text size of 16 pixels, and seen from afar. */
const LEAST_WIDTH = 1000;

// Payloads already played: returning from another page does not replay them.
/** @type {Set<string>} */
const PLAYED = new Set();

export class ModelView {
  /** @type {Followed | null} */
  followed = null;
  pinned = false;
  /** The head under the pointer. @type {{ block: FigureBlock, place: number, head: number } | null} */
  over = null;
  /** @type {Figure} */
  figure;
  /** @type {Inks} */
  inks;
  /** @type {Timeline} */
  timeline;
  filmed = false;
  sizing = 0;
  drawing = 0;
  /** Whether the HTML shows what there is to be shown: on the way, it moves as it was drawn. */
  isDrawn = false;
  width = 0;
  /** The element's own size, which the figure exceeds beside a panel. */
  room = { width: 0, height: 0 };
  top = 0;
  gap = 0;
  narrow = false;
  /** @type {TileSize} */
  tile = { width: 0, height: 0 };
  tileGap = 0;
  /** @type {Stack[]} */
  stacks = [];
  /** @type {Map<DrawnBlock, HeadTiles>} */
  tiles = new Map();
  /** @type {Map<Stack, HTMLCanvasElement>} */
  tables = new Map();
  /** @type {FigurePlaces} */
  places;
  /** @type {Offers | null} */
  next = null;
  /** @type {Headline} */
  headline;
  /** The HTML, which moves with the camera. @type {HTMLElement} */
  world;
  /** @type {HTMLCanvasElement} */
  underlay;
  /** @type {HTMLCanvasElement} */
  overlay;
  /** Heads at any size, and what opens in them. @type {HTMLCanvasElement} */
  canvas;
  /** @type {HTMLElement} */
  tip;
  /** @type {HTMLElement} */
  spoken;
  /** @type {{ context: Context, density: number }} */
  overlaid;
  /** @type {[width: number, height: number]} */
  overlaySize = [0, 0];
  /** @type {Reporter} */
  report;
  /** @type {Trigger} */
  trigger;

  /**
   * @param {HTMLElement} root
   * @param {object} options
   * @param {ModelEngine | null} [options.engine] - of the page; else the payload says where to ask.
   * @param {Beside | null} [options.beside] - the panel beside which one stands at a head.
   * @param {((travel: Travel) => Guiding) | null} [options.guides] - makes what leads through the model; null where nothing does.
   */
  constructor(root, { engine = null, beside = null, guides = null } = {}) {
    this.root = root;
    this.guides = guides;
    this.engine = engine;
    this.beside = beside;
    this.player = new Player(this);
    this.travel = new Travel(this);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    this.onResize = () => this._sizeSoon();
    this.onPrint = () => this.player.end();
    root.addEventListener("pointerleave", () => this.leave());
    window.addEventListener("keydown", this.onKey, true);
    window.addEventListener("resize", this.onResize);
    window.addEventListener("beforeprint", this.onPrint);
    this.unescape = beside ? () => {} : escapable(() => this._letGo() || this.travel.out());
    this.resized = new ResizeObserver(() => {
      if (this.root.clientWidth !== this.room.width) this._sizeSoon();
    });
    this.resized.observe(root);
    // Content above appears and disappears.
    this.moved = new ResizeObserver(() => {
      if (this.figure && this._top() !== this.top) this._sizeSoon();
    });
    const page = document.querySelector('[data-testid="stMainBlockContainer"] > *, body > main');
    if (page) this.moved.observe(page);
    document.fonts?.ready.then(() => this._sizeSoon());
  }

  dispose() {
    cancelAnimationFrame(this.sizing);
    cancelAnimationFrame(this.drawing);
    this.player.dispose();
    this.travel.dispose();
    window.removeEventListener("keydown", this.onKey, true);
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("beforeprint", this.onPrint);
    this.unescape();
    this.resized.disconnect();
    this.moved.disconnect();
  }

  get time() {
    return this.player.time;
  }

  get playing() {
    return this.player.playing;
  }

  /** The figure's distance from the top of the page, independent of scrolling. */
  _top() {
    const scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? window.scrollY;
    return Math.round(this.root.getBoundingClientRect().top + scrolled);
  }

  /** Takes Python's message. @type {(bytes: Bytes, report: Reporter, trigger: Trigger) => void} */
  update(bytes, report, trigger) {
    this.take(new Figure(bytes), report, trigger);
  }

  /** @type {(figure: Figure, report: Reporter, trigger: Trigger) => void} */
  take(figure, report, trigger) {
    Object.assign(this, { report, trigger });
    const theme = pageTheme(this.root, figure.themes);
    const before = this.figure;
    if (figure.id === before?.id && theme.name === this.inks.theme.name) return;
    const isNew = before?.key !== figure.key;
    const isAsked = isNew || before.epoch !== figure.epoch;
    this.inks = this.travel.showing.inks(theme);
    if (isNew || before.stage !== figure.stage) {
      this.figure = figure;
      figure.decoding?.then(() => this.drawSoon());
      if (figure.coming && !this.beside) figure.coming.told = (refusal) => this.travel.guide.came(refusal);
      this._build();
    }
    for (const [name, color] of Object.entries({ now: theme.now, muted: theme.muted, accent: theme.accent, line: theme.grid })) {
      this.root.style.setProperty(`--${name}`, color);
    }
    this.size();
    const { player } = this;
    if (isNew) {
      const rests = wantsNoMotion() || (!figure.play && (figure.moment > 0 || PLAYED.has(figure.key) || Boolean(figure.place)));
      if (!this.beside) PLAYED.add(figure.key);
      player.stand(figure.moment, rests);
      this.travel.needs.take();
      this.travel.switched.cross([]);
    } else if (isAsked) {
      // After a link, a scene or Back.
      player.stand(figure.moment, !(figure.play && !wantsNoMotion()));
    }
    if (isAsked) this.travel.asked(parsed(figure.place), figure.walk, { isNew });
    Object.assign(this.figure, { id: figure.id, epoch: figure.epoch, reading: figure.reading });
    this.draw();
  }

  // ---- building ---------------------------------------------------------------------------------------------------

  _build() {
    const { figure } = this;
    this.timeline = new Timeline({
      encoder: figure.depth(figure.encoder),
      decoder: figure.depth(figure.decoder),
      steps: figure.decoder ? figure.decoder.tokens.length : 0,
    });
    this.root.classList.toggle("on-stage", figure.stage);
    this.underlay = element("canvas", "overlay", { "aria-hidden": "true" });
    this.overlay = element("canvas", "overlay", { "aria-hidden": "true" });
    this.canvas = element("canvas", "overlay space", { "aria-hidden": "true" });
    this.tip = element("div", "tip", { "aria-hidden": "true", hidden: "" });
    this.spoken = element("p", "spoken", { "aria-live": "polite" });
    const alt = element("p", "spoken", { id: "model-alt" }, modelSaid(figure));
    const picture = element("div", "figure", { role: "group", "aria-label": tr("The model"), "aria-describedby": "model-alt" });
    this.stacks = figure.stacks.map((stack) => new Stack(this, stack));
    picture.append(...this.stacks.map(({ made }) => made));
    const blocks = this.stacks.flatMap(({ layers }) => layers.flatMap(({ parts }) => parts));
    this.tiles = new Map(blocks.map((drawn) => [drawn, new HeadTiles(figure, drawn.block, drawn.place)]));
    this.next = figure.next ? new Offers(this, figure.next) : null;
    if (this.next) picture.append(this.next.made);
    this.headline = new Headline(this);
    this.world = element("div", "world", {}, this.underlay, this.headline.root, this.player.build(), picture, this.overlay);
    // Not moved yet.
    this.travel.scene.drawn = { across: 1, up: 1 };
    this.root.replaceChildren(this.world, this.canvas, this.tip, alt, this.spoken, ...this.travel.build());
  }

  /** Adds a link to a page, if that page can show this model.
   * @type {(parent: HTMLElement, text: string, page: string, says: string) => void} */
  link(parent, text, page, says) {
    if (!this.figure.pages.includes(page)) return;
    const link = element("button", "link", { type: "button", title: says, "aria-label": labelled(says, text) }, text);
    link.addEventListener("click", () => this.open({ page }));
    parent.append(" ", link);
  }

  /** Speaks to a screen reader. @type {(text: string) => void} */
  say(text) {
    this.spoken.textContent = text;
  }

  // ---- following a token -----------------------------------------------------------------------------------------

  /** @type {(made: HTMLElement, side: Side, from: number, to: number) => void} */
  followable(made, side, from, to) {
    made.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse" && !this.pinned) this._follow({ side, from, to });
    });
    made.addEventListener("click", () => {
      if (this.pinned && this.followed?.side === side && this.followed.from === from) this._letGo();
      else this.pin({ side, from, to });
    });
    made.addEventListener("pointerleave", () => {
      if (!this.pinned) this._follow(null);
    });
  }

  /** Follows a token wherever the pointer is. @type {(followed: Followed) => void} */
  pin(followed) {
    this.pinned = true;
    this._follow(followed);
    const { tokens } = this.figure.stacks.find(({ side }) => side === followed.side) ?? { tokens: [] };
    const word = tokens.slice(followed.from, followed.to).join("");
    this.headline.said.textContent = tr("Following “{word}”. Escape, or a second click, lets it go.", { word });
  }

  /** Stops following a token; whether one was pinned. */
  _letGo() {
    if (!this.pinned) return false;
    this.pinned = false;
    this._follow(null);
    this.headline.rest();
    this.say(tr("No token is followed."));
    return true;
  }

  /** @type {(followed: Followed | null) => void} */
  _follow(followed) {
    this.followed = followed;
    this.drawSoon();
  }

  /** Lets go of what the pointer was on. */
  leave() {
    this.over = null;
    this.tip.hidden = true;
    if (!this.pinned) this.followed = null;
    this.drawSoon();
  }

  /** @type {(side: Side) => Set<number>} */
  followedWords(side) {
    const { followed, figure } = this;
    const found = new Set();
    if (followed?.side !== side) return found;
    for (let token = followed.from; token < followed.to; token++) found.add(figure.wordOf(side, token));
    return found;
  }

  // ---- opening ---------------------------------------------------------------------------------------

  /** Shows lines beside a point of the window. @type {(event: Spot, ...lines: HTMLElement[]) => void} */
  tell(event, ...lines) {
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const room = this.root.getBoundingClientRect();
    const [x, y] = [event.clientX - room.left, event.clientY - room.top];
    const left = Math.min(Math.max(4, x - this.tip.offsetWidth / 2), room.width - this.tip.offsetWidth - 4);
    const above = y - this.tip.offsetHeight - 14;
    // What is beyond the edge is not seen.
    this.tip.style.transform = `translate(${left}px, ${above < 0 ? y + 20 : above}px)`;
  }

  /** Goes to a place of the model. @type {(place: Place) => void} */
  enter(place) {
    this.tip.hidden = true;
    this.travel.go(legal(place, this.figure));
  }

  /** Opens a page. @type {(what: { page: string; [parameter: string]: string | number }) => void} */
  open(what) {
    if (!this.figure.pages.includes(what.page)) return;
    this.player.rest();
    this.trigger("open", what);
  }

  /** Tells Python where a person stands. */
  tellPlace() {
    if (this.beside) return;
    this.report({ key: this.figure.key, epoch: this.figure.epoch, moment: Math.min(this.player.reported, this.timeline.rests.length), place: spelled(this.travel.place), walk: this.travel.guide.stop });
  }

  // ---- sizes ------------------------------------------------------------------------------------------------------

  _sizeSoon() {
    if (!this.figure) return;
    cancelAnimationFrame(this.sizing);
    this.sizing = requestAnimationFrame(() => {
      this.size();
      this.draw();
    });
  }

  /** The height for the picture. */
  _height() {
    const { root, figure, beside } = this;
    /** @type {HTMLElement | null} */
    const picture = figure.stage ? root.closest(".st-key-picture") ?? document.querySelector(".st-key-picture") : null;
    if (picture) return roomWithin(picture, root);
    return beside ? beside.height() : Math.max(LEAST_HEIGHT, window.innerHeight - this.top - 14);
  }

  /** Lays everything out for the room that there is. */
  size() {
    const { root, figure, inks, beside } = this;
    if (!root.clientWidth) return;
    this.top = this._top();
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.room = { width: root.clientWidth, height: this._height() };
    this.width = beside ? Math.max(this.room.width, LEAST_WIDTH * unit) : this.room.width;
    const room = (this.room.height * this.width) / this.room.width;
    if (beside) {
      root.style.height = `${this.room.height}px`;
      this.world.style.width = `${this.width}px`;
    }
    const first = sizesOf(figure, this.width, room, unit);
    this.narrow = first.narrow;
    root.classList.toggle("narrow", first.narrow);
    this.world.style.minHeight = first.narrow ? "" : `${room}px`;
    const { gap, height } = this.headline.size(first.narrow, room);
    this.gap = gap;
    const used = height + (figure.stage ? 20 : 56);
    const { tile, gap: tileGap } = first.narrow ? first : sizesOf(figure, this.width, room - used, unit);
    Object.assign(this, { tile, tileGap });
    for (const stack of this.stacks) stack.size(tile, tileGap, unit);
    // Measured together: between changes, each look at a size would lay the page out again.
    const measured = this.stacks.map(({ box, chips }) => [box.clientWidth, chips.scrollWidth]);
    this.stacks.forEach((stack, place) => stack.fit(measured[place][0], measured[place][1], unit));
    const density = window.devicePixelRatio || 1;
    for (const tiles of this.tiles.values()) tiles.rest(Math.round(tile.width * density), Math.round(tile.height * density), inks);
    const tables = this.stacks.filter(({ table }) => table);
    this.tables = new Map(tables.map((each) => [each, positionsImage(figure, each.stack, inks)]));
    this._measure();
  }

  /** Where an element lies in the figure at rest. @type {(made: HTMLElement) => Rectangle} */
  within(made) {
    const room = this.world.getBoundingClientRect();
    const { across, up } = this.travel.scene.drawn;
    const { left, top, width, height } = made.getBoundingClientRect();
    const [x, y, wide, high] = [(left - room.left) / across, (top - room.top) / up, width / across, height / up];
    return { left: x, top: y, width: wide, height: high, right: x + wide, bottom: y + high };
  }

  /** Measures the position of everything, once for all frames. */
  _measure() {
    this.places = placesIn(this);
    const { width, height } = this.within(this.world);
    Object.assign(this, { overlaid: fitted(this.overlay, width, height), overlaySize: [width, height], isDrawn: false });
    drawResidual(this, width, height);
    this.travel.measure(width, height, this.beside ? this.room : { width, height });
  }

  /** Shows one share of what happens, at rest: a frame of a film. @type {(share: number) => void} */
  show(share) {
    this.player.rest();
    if (!this.filmed) {
      this.filmed = true;
      this.root.classList.add("filmed");
      this.size();
    }
    this.player.time = share * this.timeline.duration;
    this.draw();
  }

  // ---- keys -------------------------------------------------------------------------------------------------------

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const key = plainKey(event);
    if (!this.figure || !key) return;
    const [target] = /** @type {HTMLInputElement[]} */ (event.composedPath());
    const inside = event.composedPath().includes(this.root);
    // After a click on the picture, what scrolls the page has the focus.
    const isAround = !this.beside && target.contains(/** @type {ShadowRoot} */ (this.root.getRootNode()).host ?? this.root);
    // A control takes its own keys.
    if (target.type === "range" && target !== this.player.slider) return;
    if (this.travel.key(event, key, { isHere: inside || isAround, target })) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.shiftKey || !this.travel.isWhole) return;
    if (target.classList?.contains("chips") && followedBy(event.key, 0, 1) !== null) return;
    if (target.role === "gridcell" && (BLOCK_WAYS[event.key] || event.key === "Enter" || event.key === " ")) return;
    if (!inside && (typing(event) || (!this.figure.stage && key !== "k" && !key.startsWith("Arrow")))) return;
    // Outside the figure, up and down scroll the page.
    if (!inside && !this.figure.stage && /^Arrow(Up|Down)$/.test(key)) return;
    if (key === " " && target !== this.player.slider) return;
    if (!inside && !isAround && key.startsWith("Arrow") && !this.figure.stage) return;
    const asked = keyAsked(key, this.time, this.timeline);
    if (!asked) return;
    event.preventDefault();
    event.stopPropagation();
    if (asked.plays) this.player.toggle();
    else this.player.go(asked.time ?? 0);
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** Draws with the next frame. */
  drawSoon() {
    this.isDrawn = false;
    if (this.playing || this.travel.isMoving) return;
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  /** Fades in each token of the headline, from 0 to 1. @type {(moment: Moment, token: number) => number} */
  shareOf(moment, token) {
    if (!this.figure.decoder) return 1;
    const there = this.figure.offset ? moment.written : moment.entered;
    return Math.min(1, Math.max(0, there - token));
  }

  draw() {
    if (!this.places) return;
    const moment = this.timeline.at(this.time);
    const done = this.time >= this.timeline.duration - 0.5;
    this.player.draw(moment, done);
    const { isMoving, scene } = this.travel;
    const isKept = this.isDrawn && isMoving && !this.playing;
    if (scene.showsWorld && !isKept) {
      this.headline.draw(moment, done);
      for (const stack of this.stacks) stack.draw(moment, done);
      this.next?.draw(moment);
      drawOver(this, moment, done);
    }
    this.isDrawn = scene.showsWorld;
    scene.paint(moment, done);
  }

  /** What is marked in a block: rows and columns that are followed, the head of the arcs, and the one under the pointer.
   * @type {(stack: Stack, drawn: DrawnBlock) => Marks} */
  marksOf(stack, { block, place }) {
    const { followed, over, figure } = this;
    const layer = block.layers[place];
    /** @type {Span | null} */
    const columns = followed && followed.side === block.keySide ? [followed.from, Math.min(followed.to, block.keys)] : null;
    const [kind, at, head] = figure.head ?? [];
    return {
      rows: stack.band(),
      columns,
      head: kind === block.kind && at === layer ? (head ?? -1) : -1,
      over: over?.block === block && over.place === place ? over.head : -1,
    };
  }
}
