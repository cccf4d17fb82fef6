// Figure 1 of the paper, animated with a sentence: words, the arcs between them, and every block of the model.

import { element, fitted, penOf } from "../canvas/dom.js";
import { escapable } from "../canvas/escape.js";
import { plainKey, typing } from "../canvas/keys.js";
import { percent, signed } from "../canvas/numbers.js";
import { pageTheme, roomWithin } from "../canvas/page.js";
import { AddedBlock, AttentionBlock, Inks, drawPositions } from "./blocks.js";
import { FAINT, below, between, partOf, strength } from "./curves.js";
import { Figure } from "./payload.js";
import { letterSize, sizesOf } from "./sizes.js";
import { Timeline, followedBy, keyAsked, spokenMoment } from "./timeline.js";
import { countOf, labelled, lowered, tr } from "../canvas/wording.js";

const REPORT_PAUSE = 300;
const LONGEST_WAIT = 500;
const LEAST_HEIGHT = 540;
const FEED_FORWARD_WIDTH = 52;
const POSITIONS_HEIGHT = 26;
const BESIDE_BLOCK = 4.5;
const ABOVE_BLOCK = 3.5;
const MOST_LETTERS = 56;
const LEAST_LETTERS = 17;
const LEAST_CHIPS = 0.75;
/** @type {Marks} */
/** Layers up, and blocks along, by key. @type {Record<string, [up: number, along: number] | undefined>} */
const BLOCK_WAYS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const NOTHING = { rows: null, columns: null, head: -1, over: -1 };
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

// Payloads already played: returning from another page does not replay them.
/** @type {Set<string>} */
const PLAYED = new Set();

/** @type {(share: number) => string} */
function chance(share) {
  return share < 0.01 ? `< ${percent(0.01)}` : percent(Math.min(0.99, share));
}

/** @typedef {ReturnType<ModelView["_stack"]>} DrawnStack */

export class ModelView {
  time = 0;
  /** @type {Followed | null} */
  followed = null;
  pinned = false;
  /** @type {{ drawing: AttentionBlock, head: number } | null} */
  over = null;
  /** @type {Figure} */
  figure;
  /** @type {Inks} */
  inks;
  /** @type {Timeline} */
  timeline;
  reported = 0;
  asked = false;
  playing = false;
  filmed = false;
  frame = 0;
  sizing = 0;
  drawing = 0;
  /** @type {number | undefined} */
  waiting;
  /** @type {number | null} */
  runsSince = null;
  width = 0;
  top = 0;
  gap = 0;
  narrow = false;
  headlineHeight = 0;
  temperature = -1;
  /** @type {DrawnStack[]} */
  stacks = [];
  /** @type {{ made: HTMLElement, tokens: HTMLElement[], word: FigureWord }[]} */
  words = [];
  sources = this.words;
  /** @type {FigurePlaces} */
  places;
  /** @type {ReturnType<ModelView["_next"]> | null} */
  next = null;
  /** @type {HTMLCanvasElement} */
  underlay;
  /** @type {HTMLCanvasElement} */
  overlay;
  /** @type {HTMLButtonElement} */
  play;
  /** @type {HTMLInputElement} */
  slider;
  /** @type {HTMLElement} */
  place;
  /** @type {HTMLElement} */
  written;
  /** @type {HTMLElement} */
  read;
  /** @type {HTMLElement} */
  said;
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

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.onKey = (/** @type {KeyboardEvent} */ event) => this._key(event);
    this.onResize = () => this._sizeSoon();
    this.onPrint = () => this._end();
    root.addEventListener("pointerleave", () => this._let());
    window.addEventListener("keydown", this.onKey, true);
    window.addEventListener("resize", this.onResize);
    window.addEventListener("beforeprint", this.onPrint);
    this.unescape = escapable(() => this._letGo());
    this.resized = new ResizeObserver(() => {
      if (this.root.clientWidth !== this.width) this._sizeSoon();
    });
    this.resized.observe(root);
    // Content above appears and disappears.
    this.moved = new ResizeObserver(() => {
      if (this.figure && this._top() !== this.top) this._sizeSoon();
    });
    const page = document.querySelector('[data-testid="stMainBlockContainer"] > *');
    if (page) this.moved.observe(page);
    document.fonts?.ready.then(() => this._sizeSoon());
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.sizing);
    clearTimeout(this.waiting);
    window.removeEventListener("keydown", this.onKey, true);
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("beforeprint", this.onPrint);
    this.unescape();
    this.resized.disconnect();
    this.moved.disconnect();
  }

  /** The figure's distance from the top of the page, independent of scrolling. */
  _top() {
    const scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0;
    return Math.round(this.root.getBoundingClientRect().top + scrolled);
  }

  /** Takes Python's message. @type {(bytes: Bytes, report: Reporter, trigger: Trigger) => void} */
  update(bytes, report, trigger) {
    Object.assign(this, { report, trigger });
    const figure = new Figure(bytes);
    const theme = pageTheme(this.root, figure.themes);
    const before = this.figure;
    if (figure.id === before?.id && theme.name === this.inks.theme.name) return;
    const isNew = before?.key !== figure.key;
    this.inks = new Inks(theme);
    if (isNew || before.stage !== figure.stage) {
      this.figure = figure;
      this._build();
    }
    for (const [name, color] of Object.entries({ now: theme.now, muted: theme.muted, accent: theme.accent, line: theme.grid })) {
      this.root.style.setProperty(`--${name}`, color);
    }
    this._size();
    if (isNew) {
      this._rest();
      const rests = STILL.matches || (!figure.play && (figure.moment > 0 || PLAYED.has(figure.key)));
      PLAYED.add(figure.key);
      this.reported = figure.moment;
      this.time = rests ? this._restTime(figure.moment) : 0;
      if (!rests) this._play();
    } else if (figure.moment !== this.reported || (figure.play && !this.asked)) {
      // After a link, a scene or Back.
      this.reported = figure.moment;
      this._rest();
      this.time = figure.play && !STILL.matches && !figure.moment ? 0 : this._restTime(figure.moment);
      if (figure.play && !STILL.matches) this._play();
    }
    this.asked = figure.play;
    this.figure.id = figure.id;
    this._draw();
  }

  /** @type {(moment: number) => number} */
  _restTime(moment) {
    return moment > 0 ? this.timeline.timeOf(moment) : this.timeline.duration;
  }

  // ---- building ---------------------------------------------------------------------------------------------------

  _build() {
    const { figure } = this;

    const steps = figure.decoder ? figure.decoder.tokens.length : 0;
    this.timeline = new Timeline({
      encoder: figure.depth(figure.encoder),
      decoder: figure.depth(figure.decoder),
      steps,
    });
    this.root.classList.toggle("on-stage", figure.stage);
    this.underlay = element("canvas", "overlay", { "aria-hidden": "true" });
    this.overlay = element("canvas", "overlay", { "aria-hidden": "true" });
    this.tip = element("div", "tip", { "aria-hidden": "true", hidden: "" });
    this.spoken = element("p", "spoken", { "aria-live": "polite" });
    this.alt = element("p", "spoken", { id: "model-alt" }, this._alternative());
    const picture = element("div", "figure", { role: "group", "aria-label": tr("The model"), "aria-describedby": "model-alt" });
    this.stacks = figure.stacks.map((stack) => this._stack(stack));
    picture.append(...this.stacks.map(({ made }) => made));
    this.next = figure.next ? this._next() : null;
    if (this.next) picture.append(this.next.made);
    this.picture = picture;
    this.root.replaceChildren(this.underlay, this._headline(), this._controls(), picture, this.overlay, this.tip, this.alt, this.spoken);
  }

  _alternative() {
    const { figure } = this;
    const stacks = figure.stacks.map((stack) => {
      const heads = stack.blocks.map(({ name, heads }) => tr("{name} with {n} heads", { name: lowered(name), n: heads })).join(", ");
      return tr("{name} of {n} layers: {heads}.", { name: stack.name, n: figure.depth(stack), heads });
    });
    return [...stacks, figure.said, figure.spoken(figure.arcs.frames - 1)].join(" ");
  }

  _headline() {
    const { figure } = this;
    this.written = element("p", "written", { dir: "auto" });
    this.read = element("p", "read", { dir: "auto" });
    /** @type {(words: FigureWord[], side: Side, parent: HTMLElement, offset: number) => ModelView["words"]} */
    const line = (words, side, parent, offset) => {
      let group = element("span", "group");
      return words.map((word, place) => {
        const tokens = word.tokens.map((text) => element("span", "piece", {}, text));
        const made = element("span", word.special ? "word special" : "word", {}, ...tokens);
        if (!place || !word.joins) {
          if (place) {
            group = element("span", "group");
            parent.append(" ");
          }
          parent.append(group);
        }
        group.append(made);
        this._followable(made, side, word.first + offset, word.first + offset + tokens.length);
        return { made, tokens, word };
      });
    };
    this.words = line(figure.written, figure.writtenSide, this.written, figure.writtenSide === "target" ? figure.offset : 0);
    this.sources = figure.rows === 2 ? line(figure.read, "source", this.read, 0) : this.words;
    this.said = element("p", "said", {}, figure.said);
    const lines = figure.rows === 2 ? [this.written, this.read] : [this.written];
    return element("div", "headline", {}, ...lines, this.said);
  }

  _controls() {
    this.play = element("button", "play", { type: "button" });
    this.play.addEventListener("click", () => this._toggle());
    const slider = { type: "range", min: "0", max: String(this.timeline.duration), step: "1", "aria-label": tr("Moment") };
    this.slider = element("input", "moment", slider);
    this.slider.addEventListener("input", () => {
      this._rest();
      this._go(Number(this.slider.value));
    });
    this.place = element("span", "place");
    return element("div", "controls", {}, this.play, this.slider, this.place);
  }

  /** @param {FigureStack} stack */
  _stack(stack) {
    const { figure } = this;
    const depth = figure.depth(stack);
    const columns = [];
    const layers = [];
    for (let layer = 0; layer < depth; layer++) {
      const row = element("div", "layer", { role: "row" }, element("span", "number", { title: tr("Layer {layer}", { layer: stack.blocks[0].layers[layer] }) }, String(stack.blocks[0].layers[layer])));
      const parts = stack.blocks.map((block) => {
        const canvas = element("canvas", "heads");
        const drawing = new AttentionBlock(canvas, figure, block, layer);
        const cell = element("span", `block ${block.kind}`, { role: "gridcell", "aria-label": this._blockName(block, layer) }, canvas);
        this._pointed(cell, drawing, stack);
        row.append(element("span", `wrap ${figure.norm}`, {}, cell));
        return { drawing, cell, block };
      });
      let added = null;
      if (stack.added) {
        const canvas = element("canvas", "added");
        added = new AddedBlock(canvas, figure.added(stack, layer));
        row.append(element("span", `wrap ${figure.norm}`, {}, element("span", "block feed-forward", {}, canvas)));
      }
      layers.push({ row, parts, added, blocks: /** @type {HTMLElement[]} */ ([...row.querySelectorAll(".block")]) });
    }
    const headings = element("div", "headings", {}, element("span", "number"));
    for (const block of stack.blocks) {
      const heading = element("span", "heading", {}, block.name);
      if (block.kind === "decoder") this._link(heading, tr("mask"), "masks", tr("What each word may see"));
      headings.append(heading);
      columns.push(heading);
    }
    let fed = null;
    if (stack.added) {
      fed = element("span", "heading fed", { title: tr("How much it adds to each token") }, element("span", "", {}, tr("Feed-forward")));
      headings.append(fed);
    }
    const [chips, tokens] = this._chips(stack);
    const foot = element("div", "foot");
    let positions = null;
    if (stack.positions?.dimensions) {
      positions = element("canvas", "positions");
      const { dimensions, of } = stack.positions;
      const shown = dimensions < of ? tr("The table of positions: {shown} of {count} dimensions, in pairs of sine and cosine", { shown: dimensions, count: of }) : tr("The table of positions");
      const button = element("button", "block table", { type: "button", "aria-label": shown, title: shown }, positions);
      button.addEventListener("click", () => this._open({ page: "positions" }));
      foot.append(button, element("span", "note", {}, tr("+ positions")));
    } else if (stack.positions?.acts) {
      const note = element("span", "note", {}, tr("Positions: "));
      this._link(note, tr("inside attention"), "positions", tr("Open Positions"));
      foot.append(note);
    }
    const size = countOf(depth, "layer");
    const title = element("h3", "title", {}, `${stack.name} `, element("span", "", {}, `${stack.does} · ${size}`));
    const grid = element("div", "layers", { role: "grid", "aria-label": stack.name }, ...layers.map(({ row }) => row).reverse());
    this._walkable(layers.map(({ parts }) => parts.map(({ cell }) => cell)));
    const box = element("div", "box", {}, headings, grid);
    const made = element("section", `stack ${stack.kind}`, { "aria-label": stack.name }, title, box, foot, chips);
    return { ...{ stack, made, box, layers, tokens, chips, positions, foot, columns, fed } };
  }

  /** Makes the blocks of a stack, by layer, one stop of the Tab key, with the arrow keys among them. @param {HTMLElement[][]} layers */
  _walkable(layers) {
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
   * @type {(stack: FigureStack) => [HTMLElement, HTMLElement[]]} */
  _chips(stack) {
    const { kind, name, side } = stack;
    const chips = element("div", "chips", { role: "listbox", tabindex: "0", "aria-label": tr("{name}: its tokens, to follow", { name }) });
    const tokens = stack.tokens.map((text, token) => {
      const chip = element("span", "chip", { title: text, role: "option", id: `token-${kind}-${token}` }, text);
      this._followable(chip, side, token, token + 1);
      return chip;
    });
    chips.append(...tokens);
    const own = () => (this.followed?.side === side ? this.followed.from : -1);
    chips.addEventListener("keydown", (event) => {
      const to = followedBy(event.key, own(), tokens.length);
      if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      chips.setAttribute("aria-activedescendant", tokens[to].id);
      this._pin({ side, from: to, to: to + 1 });
      this.spoken.textContent = this.figure.spokenToken(side, to);
    });
    return [chips, tokens];
  }

  /** Adds a link to a page, if that page can show this model.
   * @type {(parent: HTMLElement, text: string, page: string, says: string) => void} */
  _link(parent, text, page, says) {
    if (!this.figure.pages.includes(page)) return;
    const link = element("button", "link", { type: "button", title: says, "aria-label": labelled(says, text) }, text);
    link.addEventListener("click", () => this._open({ page }));
    parent.append(" ", link);
  }

  /** @type {(block: FigureBlock, layer: number) => string} */
  _blockName(block, layer) {
    return tr("{name}, layer {layer}, {n} heads: open them", { name: block.name, layer: block.layers[layer], n: block.heads });
  }

  _next() {
    const rows = Array.from({ length: Math.max(...(this.figure.next ?? []).map(({ texts }) => texts.length)) }, () => {
      const [text, share, bar] = [element("span", "text", { dir: "auto" }), element("span", "share"), element("span", "bar")];
      return { made: element("span", "offer", {}, bar, text, share), text, share };
    });
    const button = element("button", "block offers", { type: "button", "aria-label": tr("What comes next: open the decoding") });
    button.append(...rows.map(({ made }) => made));
    button.addEventListener("click", () => {
      const step = Math.max(0, this.timeline.at(this.time).step);
      this._open({ page: "decoding", section: "steps", at: step + 1 });
    });
    const title = element("h3", "title", {}, tr("What comes next"));
    const notes = [element("span", "note", {}, tr("linear + softmax")), ...this._temperature()];
    const { norm } = this.figure;
    if (norm) notes.push(element("span", "note norm", {}, norm === "pre" ? tr("norm, then the block, then add") : tr("the block, then add & norm")));
    const made = element("section", "next", { "aria-label": tr("What comes next") }, title, button, ...notes);
    return { made, rows, button };
  }

  /** A slider that shows the probabilities at another temperature. */
  _temperature() {
    const temperatures = this.figure.offeredTemperatures;
    this.temperature = temperatures.indexOf(1);
    if (this.temperature < 0) return [];
    const slider = element("input", "", {
      type: "range", min: "0", max: String(temperatures.length - 1), step: "1", "aria-label": tr("Temperature"),
    });
    slider.value = String(this.temperature);
    const said = element("output", "", { "aria-hidden": "true" });
    const show = () => {
      this.temperature = Number(slider.value);
      said.textContent = signed(temperatures[this.temperature]);
      slider.setAttribute("aria-valuetext", said.textContent);
    };
    slider.addEventListener("input", () => {
      show();
      this._draw();
    });
    show();
    const label = element("label", "note temperature", {}, element("span", "", {}, tr("Temperature"), " ", said), slider);
    label.title = tr("Divides the logits before the softmax: below 1 sharper, above 1 flatter");
    return [label, element("span", "note temperature", {}, tr("a view only: the translation stays"))];
  }

  // ---- following a token -----------------------------------------------------------------------------------------

  /** @type {(made: HTMLElement, side: Side, from: number, to: number) => void} */
  _followable(made, side, from, to) {
    made.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse" && !this.pinned) this._follow({ side, from, to });
    });
    made.addEventListener("click", () => {
      if (this.pinned && this.followed?.side === side && this.followed.from === from) this._letGo();
      else this._pin({ side, from, to });
    });
    made.addEventListener("pointerleave", () => {
      if (!this.pinned) this._follow(null);
    });
  }

  /** Follows a token wherever the pointer is. @type {(followed: Followed) => void} */
  _pin(followed) {
    this.pinned = true;
    this._follow(followed);
    const { tokens } = this.figure.stacks.find(({ side }) => side === followed.side) ?? { tokens: [] };
    const word = tokens.slice(followed.from, followed.to).join("");
    this.said.textContent = tr("Following “{word}”. Escape, or a second click, lets it go.", { word });
  }

  /** Stops following a token; whether one was pinned. */
  _letGo() {
    if (!this.pinned) return false;
    this.pinned = false;
    this._follow(null);
    this.said.textContent = this.figure.said;
    this.spoken.textContent = tr("No token is followed.");
    return true;
  }

  /** @type {(followed: Followed | null) => void} */
  _follow(followed) {
    this.followed = followed;
    this._drawSoon();
  }

  _let() {
    this.over = null;
    this.tip.hidden = true;
    if (!this.pinned) this.followed = null;
    this._drawSoon();
  }

  /** @type {(cell: HTMLElement, drawing: AttentionBlock, stack: FigureStack) => void} */
  _pointed(cell, drawing, stack) {
    const within = (/** @type {Spot} */ event) => {
      const { left, top } = drawing.canvas.getBoundingClientRect();
      return drawing.at(event.clientX - left, event.clientY - top);
    };
    cell.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse") return;
      const { head, row } = within(event);
      this.over = { drawing, head };
      if (!this.pinned) this.followed = { side: stack.side, from: row, to: row + 1 };
      this._tell(drawing, head, row, stack, event);
      this._drawSoon();
    });
    cell.addEventListener("pointerleave", () => this._let());
    cell.addEventListener("click", (event) => {
      const usual = this.figure.head?.[0] === drawing.block.kind ? this.figure.head[2] : 0;
      const head = event.detail ? within(event).head : usual;
      const { block, place } = drawing;
      this._open({ page: "heads", attention: block.kind, layer: block.layers[place], head });
    });
  }

  /** @type {(drawing: AttentionBlock, head: number, row: number, stack: FigureStack, event: Spot) => void} */
  _tell(drawing, head, row, stack, event) {
    const { block, place, figure } = { ...drawing };
    const { weights, nKeys } = figure.cells(block, place, head);
    const own = Array.from(weights.subarray(row * nKeys, (row + 1) * nKeys));
    const most = own.reduce((best, weight, key) => (weight > own[best] ? key : best), 0);
    const keys = block.keySide === stack.side ? stack.tokens : (figure.encoder?.tokens ?? []);
    const label = block.labels[place][head];
    const lines = [element("span", "strong", {}, tr("Layer {layer}, head {head}", { layer: block.layers[place], head }))];
    if (label) lines.push(element("span", "", {}, label));
    if (own[most] && keys[most] !== undefined) {
      lines.push(element("span", "beside", {}, tr("“{word}” looks most at “{seen}”", { word: stack.tokens[row], seen: keys[most] })));
    }
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const room = this.root.getBoundingClientRect();
    const [x, y] = [event.clientX - room.left, event.clientY - room.top];
    const left = Math.min(Math.max(4, x - this.tip.offsetWidth / 2), room.width - this.tip.offsetWidth - 4);
    this.tip.style.transform = `translate(${left}px, ${y - this.tip.offsetHeight - 14}px)`;
  }

  /** @type {(what: { page: string; [parameter: string]: string | number }) => void} */
  _open(what) {
    if (!this.figure.pages.includes(what.page)) return;
    this._rest();
    this.trigger("open", what);
  }

  // ---- sizes ------------------------------------------------------------------------------------------------------

  _sizeSoon() {
    if (!this.figure) return;
    cancelAnimationFrame(this.sizing);
    this.sizing = requestAnimationFrame(() => {
      this._size();
      this._draw();
    });
  }

  _size() {
    const { root, figure, inks } = this;
    this.width = root.clientWidth;
    if (!this.width) return;
    /** @type {HTMLElement | null} */
    const picture = figure.stage ? root.closest(".st-key-picture") ?? document.querySelector(".st-key-picture") : null;
    this.top = this._top();
    const room = picture ? roomWithin(picture, root) : Math.max(LEAST_HEIGHT, window.innerHeight - this.top - 14);
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const first = sizesOf(figure, this.width, room, unit);
    root.classList.toggle("narrow", first.narrow);
    root.style.minHeight = first.narrow ? "" : `${room}px`;
    this._sizeWords(first.narrow, room);
    const used = this.headlineHeight + (figure.stage ? 20 : 56);
    const { tile, gap } = first.narrow ? first : sizesOf(figure, this.width, room - used, unit);
    const fedWidth = FEED_FORWARD_WIDTH * unit;
    for (const { stack, layers, columns, chips, fed } of this.stacks) {
      for (const { parts, added } of layers) {
        for (const { drawing } of parts) drawing.size(tile, gap, inks);
        added?.size(fedWidth, tile.height, inks);
      }
      stack.blocks.forEach(({ heads }, place) => {
        columns[place].style.width = `${heads * (tile.width + gap) - gap}px`;
      });
      if (fed) fed.style.width = `${fedWidth}px`;
      chips.style.fontSize = "";
    }
    // Measured together: between changes, each look at a size would lay the page out again.
    const measured = this.stacks.map(({ box, chips }) => [box.clientWidth, chips.scrollWidth]);
    this.stacks.forEach(({ stack, positions, chips }, place) => {
      const [inner, wide] = measured[place];
      // Text shrinks to fit as long as it stays readable.
      const fits = Math.min(1, inner / wide);
      chips.classList.toggle("long", fits < LEAST_CHIPS);
      if (fits < 1) chips.style.fontSize = `${Math.max(LEAST_CHIPS, 0.98 * fits)}em`;
      if (positions) drawPositions(positions, figure, stack, Math.max(40, Math.min(inner - 130 * unit, 40 * unit * stack.tokens.length)), POSITIONS_HEIGHT * unit, inks);
    });
    this._measure();
  }

  /** @type {(narrow: boolean, room: number) => void} */
  _sizeWords(narrow, room) {
    const { figure, root } = this;
    const probe = penOf(document.createElement("canvas"));
    const family = getComputedStyle(root).fontFamily;
    const widthOf = (/** @type {FigureWord[]} */ words, /** @type {number} */ weight) => {
      probe.font = `${weight} 100px ${family}`;
      const text = words.map(({ text, joins }, place) => (place && !joins ? ` ${text}` : text)).join("");
      return probe.measureText(text).width / 100;
    };
    const scale = figure.stage ? 1.35 : 1;
    const most = narrow ? 26 * scale : Math.min(MOST_LETTERS * scale, Math.max(26, room / 15.5));
    const least = narrow ? 16 : LEAST_LETTERS * scale;
    const written = letterSize(widthOf(figure.written, 650), this.width - 8, most, least);
    const read = letterSize(widthOf(figure.read, 400), this.width - 8, Math.min(written, most) * 0.78, least * 0.9);
    this.written.style.fontSize = `${written}px`;
    this.read.style.fontSize = `${read}px`;
    const gap = Math.min(120, Math.max(54, room / 8.2));
    this.headline = /** @type {HTMLElement} */ (this.written.parentElement);
    this.gap = narrow ? 60 : gap;
    this.narrow = narrow;
    this.headline.style.setProperty("--gap", `${this.gap}px`);
    this.headlineHeight = this.headline.offsetHeight;
  }

  /** Measures the position of everything, once for all frames. */
  _measure() {
    const room = this.root.getBoundingClientRect();
    const within = (/** @type {HTMLElement} */ made) => {
      const { left, top, width, height } = made.getBoundingClientRect();
      return { left: left - room.left, top: top - room.top, width, height, right: left - room.left + width, bottom: top - room.top + height };
    };
    this.places = {
      written: this.words.map(({ made }) => within(made)),
      read: this.sources.map(({ made }) => within(made)),
      stacks: this.stacks.map(({ box, layers, chips, foot, made }) => ({
        ...{ box: within(box), chips: within(chips), foot: within(foot), made: within(made) },
        layers: layers.map(({ row, parts, blocks }) => ({ row: within(row), blocks: blocks.map(within), parts: parts.map(({ cell }) => within(cell)) })),
      })),
      next: this.next ? within(this.next.button) : null,
      ...{ writtenEnd: 0, readStart: 0 },
    };
    this.places.writtenEnd = Math.max(...this.places.written.map(({ bottom }) => bottom), 0);
    this.places.readStart = Math.min(...this.places.read.map(({ top }) => top));
    Object.assign(this, { overlaid: fitted(this.overlay, room.width, room.height), overlaySize: [room.width, room.height] });
    this._drawResidual(room);
  }

  /** Draws the residual connections, past every block to where its output is added; they never change.
   * @type {(room: { width: number; height: number }) => void} */
  _drawResidual({ width, height }) {
    const { context, density } = fitted(this.underlay, width, height);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = context.fillStyle = this.inks.way;
    context.lineWidth = 1.5;
    for (const { blocks } of this.places.stacks.flatMap(({ layers }) => layers)) {
      blocks.forEach(({ left, right, top, height: tall }, place) => {
        const [from, to, middle] = [left - BESIDE_BLOCK, right + BESIDE_BLOCK, top + tall / 2];
        const next = blocks[place + 1];
        context.beginPath();
        rounded(context, [[left, middle], [from, middle], [from, top - ABOVE_BLOCK], [to, top - ABOVE_BLOCK], [to, middle]], 4);
        context.moveTo(right, middle);
        context.lineTo(next && next.top === top ? next.left - BESIDE_BLOCK : to, middle);
        context.stroke();
        context.beginPath();
        context.arc(to, middle, 2.6, 0, 7);
        context.fill();
      });
    }
  }

  // ---- playing ----------------------------------------------------------------------------------------------------

  _toggle() {
    if (this.playing) {
      this._rest();
      this._tellRest();
    } else this._play();
    this._draw();
  }

  _play() {
    if (this.time >= this.timeline.duration - 1) this.time = 0;
    this.playing = true;
    /** @type {number | null} */
    let before = null;
    const step = (/** @type {number} */ now) => {
      if (!this.playing) return;
      if (this._waits(now)) {
        before = null;
        this.frame = requestAnimationFrame(step);
        return;
      }
      this.time = Math.min(this.timeline.duration, this.time + (before === null ? 0 : Math.min(100, now - before)));
      before = now;
      this._draw();
      if (this.time >= this.timeline.duration) this._rest();
      else this.frame = requestAnimationFrame(step);
      if (!this.playing) this._draw();
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Whether frames wait because the page is running and needs the browser to itself, for LONGEST_WAIT at most.
   * @type {(now: number) => boolean} */
  _waits(now) {
    const page = /** @type {HTMLElement | null} */ (document.querySelector('[data-testid="stApp"]'));
    if (page?.dataset.testScriptState !== "running") this.runsSince = null;
    else this.runsSince ??= now;
    return this.runsSince !== null && now - this.runsSince < LONGEST_WAIT;
  }

  /** Paper has no later moment, at which half-grey words would be black. */
  _end() {
    if (!this.playing) return;
    this._rest();
    this.time = this.timeline.duration;
    this._draw();
  }

  _rest() {
    this.playing = false;
    cancelAnimationFrame(this.frame);
  }

  /** Shows one share of what happens, at rest: a frame of a film. @type {(share: number) => void} */
  show(share) {
    this._rest();
    if (!this.filmed) {
      this.filmed = true;
      this.root.classList.add("filmed");
      this._size();
    }
    this.time = share * this.timeline.duration;
    this._draw();
  }

  /** @type {(time: number) => void} */
  _go(time) {
    this.time = time;
    this._draw();
    this._tellRest();
  }

  /** Reports to Python where a person stopped. */
  _tellRest() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const moment = this.timeline.at(this.time);
      this.spoken.textContent = spokenMoment(moment, this.figure, this.timeline.rests.length);
      const rest = this.time >= this.timeline.duration - 1 ? 0 : this.timeline.restAt(this.time);
      if (rest === this.reported) return;
      this.reported = rest;
      this.report({ key: this.figure.key, moment: rest });
    }, REPORT_PAUSE);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const key = plainKey(event);
    if (!this.figure || !key || event.shiftKey) return;
    const [target] = /** @type {HTMLInputElement[]} */ (event.composedPath());
    // The temperature's slider moves by arrow keys itself.
    if (target.type === "range" && target !== this.slider) return;
    if (target.classList?.contains("chips") && followedBy(event.key, 0, 1) !== null) return;
    if (target.role === "gridcell" && (BLOCK_WAYS[event.key] || event.key === "Enter" || event.key === " ")) return;
    const inside = event.composedPath().includes(this.root);
    if (!inside && (typing(event) || (!this.figure.stage && key !== "k" && !key.startsWith("Arrow")))) return;
    // Outside the figure, up and down scroll the page.
    if (!inside && !this.figure.stage && /^Arrow(Up|Down)$/.test(key)) return;
    if (key === " " && target !== this.slider) return;
    if (!inside && target !== document.body && key.startsWith("Arrow") && !this.figure.stage) return;
    const asked = keyAsked(key, this.time, this.timeline);
    if (!asked) return;
    event.preventDefault();
    event.stopPropagation();
    if (asked.plays) this._toggle();
    else {
      this._rest();
      this._go(asked.time ?? 0);
    }
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  _drawSoon() {
    if (this.playing) return;
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this._draw());
  }

  _draw() {
    if (!this.places) return;
    const moment = this.timeline.at(this.time);
    const done = this.time >= this.timeline.duration - 0.5;
    this._drawControls(moment, done);
    this._drawWords(moment, done);
    this._drawBlocks(moment, done);
    this._drawNext(moment);
    this._drawOver(moment, done);
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  _drawControls(moment, done) {
    const { figure, timeline } = this;
    const says = this.playing ? tr("Pause (K)") : tr("Play (K)");
    if (this.play.getAttribute("aria-label") !== says) {
      this.play.setAttribute("aria-label", says);
      this.play.title = says;
    }
    marked(this.root, "playing", Boolean(this.playing));
    const { dataset } = this.root;
    const [state, rest] = [this.playing ? "playing" : "resting", String(done ? timeline.rests.length : timeline.restAt(this.time))];
    if (dataset.state !== state) dataset.state = state;
    if (dataset.moment !== rest) dataset.moment = rest;
    this.slider.value = String(this.time);
    const count = timeline.rests.length;
    const said = done ? (figure.offset ? tr("Written") : tr("Read")) : spokenMoment(moment, figure, count);
    if (this.place.textContent !== said) {
      this.place.textContent = said;
      this.slider.setAttribute("aria-valuetext", said);
    }
  }

  /** Fades in each token of the headline, from 0 to 1. @type {(moment: Moment, token: number) => number} */
  _shareOf(moment, token) {
    if (!this.figure.decoder) return 1;
    const there = this.figure.offset ? moment.written : moment.entered;
    return Math.min(1, Math.max(0, there - token));
  }

  /** @type {(side: Side) => Set<number>} */
  _followedWords(side) {
    const { followed, figure } = this;
    if (!followed || followed.side !== side) return new Set();
    const found = new Set();
    for (let token = followed.from; token < followed.to; token++) found.add(figure.wordOf(side, token));
    return found;
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  _drawWords(moment, done) {
    const { figure } = this;
    const current = done || !figure.decoder ? -1 : moment.step;
    const followed = this._followedWords(figure.writtenSide);
    const sources = figure.rows === 2 ? this._followedWords("source") : followed;
    this.words.forEach(({ made, tokens, word }, place) => {
      tokens.forEach((piece, number) => {
        const share = this._shareOf(moment, word.first + number);
        const opacity = (0.14 + 0.86 * share).toFixed(2);
        if (piece.style.opacity !== opacity) piece.style.opacity = opacity;
        marked(piece, "now", word.first + number === current && share > 0);
      });
      marked(made, "lit", followed.has(place));
    });
    if (figure.rows === 2) this.sources.forEach(({ made }, place) => marked(made, "lit", sources.has(place)));
  }

  /** @type {(moment: Moment, done: boolean) => void} */
  _drawBlocks(moment, done) {
    const { figure, timeline, followed, over } = this;
    for (const { stack, layers, tokens, chips } of this.stacks) {
      const decodes = stack === figure.decoder;
      const n = stack.tokens.length;
      const current = decodes && !done && moment.phase !== "read" ? moment.step : -1;
      /** @type {Span | null} */
      const band = followed && followed.side === stack.side ? [followed.from, Math.min(followed.to, n)] : null;
      this._scrollTo(chips, tokens, band ? band[0] : current);
      layers.forEach(({ blocks, parts, added }, layer) => {
        const rows = decodes ? timeline.rowsOf(moment, layer) : Math.min(1, Math.max(0, moment.encoded - layer)) * n;
        const active = !done && moment.layer === layer && (decodes ? moment.phase === "layer" : moment.phase === "read");
        const part = active ? partAt(moment.share, parts.length + (added ? 1 : 0)) : -1;
        blocks.forEach((block, number) => marked(block, "active", number === part));
        for (const { drawing } of parts) {
          const { block } = drawing;
          /** @type {Span | null} */
          const columns = followed && followed.side === block.keySide ? [followed.from, Math.min(followed.to, block.keys)] : null;
          const [kind, at, head] = figure.head ?? [];
          const isHead = kind === block.kind && at === block.layers[layer];
          /** @type {Marks} */
          const mark = { ...NOTHING, rows: band, columns, head: isHead ? (head ?? -1) : -1 };
          if (over?.drawing === drawing) mark.over = over.head;
          drawing.draw(rows, current, mark);
        }
        added?.draw(rows, current, band);
      });
      tokens.forEach((chip, token) => {
        const share = decodes ? Math.min(1, Math.max(0, moment.entered - token)) : 1;
        const opacity = (0.12 + 0.88 * share).toFixed(2);
        if (chip.style.opacity !== opacity) chip.style.opacity = opacity;
        marked(chip, "now", token === current && share > 0);
        marked(chip, "lit", Boolean(band && band[0] <= token && token < band[1]));
      });
    }
  }

  /** Brings a token into sight where not all fit, unless a pointer is on them.
   * @type {(chips: HTMLElement & { shownToken?: number }, tokens: HTMLElement[], token: number) => void} */
  _scrollTo(chips, tokens, token) {
    if (token === chips.shownToken || !chips.classList.contains("long") || chips.matches(":hover")) return;
    chips.shownToken = token;
    const chip = tokens[Math.max(0, token)];
    chips.scrollLeft = chip.offsetLeft - (chips.clientWidth - chip.offsetWidth) / 2;
  }

  /** @type {(moment: Moment) => void} */
  _drawNext(moment) {
    const offers = this.figure.next;
    if (!this.next || !offers) return;
    // The previous step's candidates stay, faded, until the next ones come.
    const { followed } = this;
    const follows = followed?.side === "target" && followed.to <= offers.length;
    const writes = follows || moment.phase === "write";
    const number = follows ? followed.to - 1 : moment.step - (writes ? 0 : 1);
    const step = offers[Math.max(0, number)];
    const share = writes && !follows ? 1 - (1 - moment.share) ** 3 : 1;
    // Where the slider has no room, nothing would say the temperature.
    const usual = this.temperature < 0 || this.narrow || this.figure.stage || this.filmed;
    const shares = usual ? step.shares : this.figure.sharesAt(step, this.temperature);
    this.next.rows.forEach(({ made, text, share: percents }, place) => {
      const offered = number >= 0 && place < step.texts.length;
      marked(made, "chosen", offered && place === step.chosen);
      const opacity = offered ? (writes ? 0.3 + 0.7 * share : 0.3).toFixed(2) : "0";
      if (made.style.opacity !== opacity) made.style.opacity = opacity;
      if (!offered) return;
      if (text.textContent !== step.texts[place]) text.textContent = step.texts[place];
      const said = chance(shares[place]);
      if (percents.textContent !== said) percents.textContent = said;
      const wide = (shares[place] * share).toFixed(3);
      if (made.style.getPropertyValue("--share") !== wide) made.style.setProperty("--share", wide);
    });
  }

  /** Draws arcs and the paths between stacks on top. @type {(moment: Moment, done: boolean) => void} */
  _drawOver(moment, done) {
    const { context, density } = this.overlaid;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, ...this.overlaySize);
    context.lineCap = "round";
    context.lineJoin = "round";
    this._drawWays(context, moment, done);
    this._drawFollowed(context);
    this._drawArcs(context, moment, done);
  }

  /** The way of a followed token: up its stack, past every layer, and for a written one to what comes next.
   * @type {(context: Context) => void} */
  _drawFollowed(context) {
    const { followed, places, figure, inks } = this;
    if (!followed) return;
    this.stacks.forEach(({ stack, tokens }, number) => {
      if (stack.side !== followed.side || followed.from >= tokens.length) return;
      const place = places.stacks[number];
      const chip = tokens[followed.from].getBoundingClientRect();
      const room = this.root.getBoundingClientRect();
      const middle = Math.min(Math.max(chip.left - room.left + chip.width / 2, place.chips.left), place.chips.right);
      const [x, top] = [place.box.left + 5, place.layers[place.layers.length - 1].row];
      const start = place.chips.top - 1;
      /** @type {Point[]} */
      const points = [[middle, start], [middle, start - 5], [x, start - 5], [x, top.top + top.height / 2]];
      context.globalAlpha = 0.9;
      context.strokeStyle = context.fillStyle = inks.theme.text;
      context.lineWidth = 1.75;
      context.beginPath();
      rounded(context, points);
      context.stroke();
      for (const { row } of place.layers) {
        context.beginPath();
        context.arc(x, row.top + row.height / 2, 3.2, 0, 7);
        context.fill();
      }
      if (stack !== figure.decoder || !places.next || this.narrow) return;
      const y = place.box.top;
      context.beginPath();
      rounded(context, [[x, top.top + top.height / 2], [x, y + 4], [place.box.right - 4, y + 4], [place.box.right - 4, places.next.top + 12], [places.next.left - 3, places.next.top + 12]]);
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  /** @type {(context: Context, moment: Moment, done: boolean) => void} */
  _drawArcs(context, moment, done) {
    const { figure, places, inks } = this;
    const frame = figure.arcs.frames > 1 ? Math.min(figure.arcs.frames - 1, Math.max(0, Math.ceil(moment.encoded) - 1)) : 0;
    const onWritten = this._followedWords(figure.writtenSide);
    const onRead = figure.rows === 2 ? this._followedWords("source") : new Set();
    const follows = onWritten.size + onRead.size > 0;
    // Many words stand close together.
    const beside = this.width / Math.max(figure.written.length, figure.read.length);
    const widest = Math.max(2.5, Math.min(this.narrow ? 6 : figure.stage ? 11 : 8, beside * 0.16));
    figure.written.forEach((word, w) => {
      const last = word.first + word.tokens.length - 1;
      const share = figure.decoder ? this._shareOf(moment, last) : 1;
      if (share <= 0) return;
      const isNow = figure.decoder && !done && word.first <= moment.step && moment.step <= last;
      figure.read.forEach((_, r) => {
        const weight = figure.arc(frame, w, r);
        if (weight < FAINT || (figure.rows === 1 && w === r)) return;
        const lit = onWritten.has(w) || onRead.has(r);
        const [from, to] = [places.written[w], places.read[r]];
        // Between two texts, not across their lines.
        const [startY, endY] = figure.rows === 2 ? [places.writtenEnd + 1, places.readStart - 1] : [from.bottom + 1, to.bottom + 1];
        /** @type {Point} */
        const start = [from.left + from.width / 2, startY];
        /** @type {Point} */
        const end = [to.left + to.width / 2, endY];
        const whole = figure.rows === 2 ? between(start, end) : below(start, end, this.gap);
        const [a, b, c, d] = share < 1 ? partOf(whole, 1 - (1 - share) ** 2) : whole;
        const { width, alpha } = strength(weight, widest);
        context.globalAlpha = alpha * (follows && !lit ? 0.16 : isNow || lit ? 0.95 : 0.5);
        context.strokeStyle = isNow ? inks.theme.now : lit ? inks.theme.text : inks.theme.accent;
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(...a);
        context.bezierCurveTo(...b, ...c, ...d);
        context.stroke();
        if (figure.rows === 2 && (isNow || lit)) leads(context, [start, from.bottom + 1], [end, to.top - 1]);
      });
    });
    context.globalAlpha = 1;
  }

  /** @type {(context: Context, moment: Moment, done: boolean) => void} */
  _drawWays(context, moment, done) {
    const { figure, places, inks } = this;
    /** @type {(points: Point[], lit: boolean, flows: number | null) => void} */
    const line = (points, lit, flows) => {
      context.globalAlpha = lit ? 1 : 0.55;
      context.strokeStyle = lit ? inks.theme.now : inks.way;
      context.lineWidth = lit ? 2.5 : 2;
      context.beginPath();
      rounded(context, points);
      context.stroke();
      if (flows === null || !lit) return;
      context.fillStyle = inks.theme.now;
      for (const phase of [0, 0.34, 0.67]) {
        const [x, y] = along(points, (flows + phase) % 1);
        context.beginPath();
        context.arc(x, y, 3.2, 0, 7);
        context.fill();
      }
    };
    const flow = this.playing || this.filmed ? (this.time / 620) % 1 : 0.3;
    const reads = moment.phase === "read" && !done;
    places.stacks.forEach((place, number) => {
      const { stack } = this.stacks[number];
      const decodes = stack === figure.decoder;
      const x = place.chips.left + 14;
      const enters = decodes ? moment.phase === "enter" : reads && moment.layer === 0;
      arrow(context, [x, place.chips.top - 2], [x, place.box.bottom + 3], enters && !done ? inks.theme.now : inks.way);
    });
    const crossing = figure.decoder?.blocks.findIndex(({ kind }) => kind === "cross") ?? -1;
    if (crossing >= 0 && figure.encoder) this._drawCrossing(line, moment, done, crossing, flow);
    if (places.next && figure.decoder) {
      const box = places.stacks[this.stacks.findIndex(({ stack }) => stack === figure.decoder)].box;
      const lit = moment.phase === "write" && !done;
      if (!this.narrow) {
        const y = places.next.top + places.next.height / 2;
        arrow(context, [box.right + 2, y], [places.next.left - 4, y], lit ? inks.theme.now : inks.way);
      }
    }
    context.globalAlpha = 1;
  }

  /** Draws the encoder's output going to each layer's cross-attention.
   * @type {(line: (points: Point[], lit: boolean, flows: number | null) => void, moment: Moment, done: boolean, crossing: number, flow: number) => void} */
  _drawCrossing(line, moment, done, crossing, flow) {
    const { places, figure } = this;
    const from = places.stacks[this.stacks.findIndex(({ stack }) => stack === figure.encoder)].box;
    const { layers } = places.stacks[this.stacks.findIndex(({ stack }) => stack === figure.decoder)];
    const { narrow } = this;
    const top = layers[layers.length - 1].parts[crossing];
    const bus = narrow ? from.left - 8 : top.left - 8;
    /** @type {Point[]} */
    const beginning = narrow
      ? [[from.left, from.bottom - 16], [bus, from.bottom - 16]]
      : [[from.left + from.width * 0.62, from.top], [from.left + from.width * 0.62, from.top - 7], [bus, from.top - 7]];
    const lowest = layers[0].parts[crossing];
    const at = (/** @type {Rectangle} */ part) => part.top + part.height / 2;
    line([...beginning, [bus, at(lowest)]], false, null);
    layers.forEach(({ parts }, layer) => {
      const part = parts[crossing];
      line([[bus, at(part)], [part.left, at(part)]], false, null);
      const count = parts.length + (figure.decoder?.added ? 1 : 0);
      if (done || moment.phase !== "layer" || moment.layer !== layer || partAt(moment.share, count) !== crossing) return;
      line([...beginning, [bus, at(part)], [part.left, at(part)]], true, flow);
    });
  }
}

/** Sets or removes an element's class, only if that changes it.
 * @type {(made: HTMLElement, name: string, is: boolean) => void} */
function marked(made, name, is) {
  if (made.classList.contains(name) !== is) made.classList.toggle(name, is);
}

/** The index of the working block when `share` of a layer is done. @type {(share: number, count: number) => number} */
function partAt(share, count) {
  return Math.min(count - 1, Math.floor(share * count));
}

/** From a curve's ends to the words of a text's other lines, each an end and the height of its word.
 * @type {(context: Context, ...ends: [end: Point, height: number][]) => void} */
function leads(context, ...ends) {
  context.lineWidth = 1.5;
  for (const [[x, y], height] of ends) {
    if (Math.abs(height - y) < 4) continue;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x, height);
    context.stroke();
  }
}

/** A path with rounded corners. @type {(context: Context, points: Point[], radius?: number) => void} */
function rounded(context, points, radius = 8) {
  context.moveTo(...points[0]);
  for (let place = 1; place < points.length - 1; place++) context.arcTo(...points[place], ...points[place + 1], radius);
  context.lineTo(...points[points.length - 1]);
}

/** The point at a share of a path's length. @type {(points: Point[], share: number) => Point} */
function along(points, share) {
  const lengths = points.slice(1).map(([x, y], place) => Math.hypot(x - points[place][0], y - points[place][1]));
  let left = share * lengths.reduce((sum, length) => sum + length, 0);
  for (let place = 0; place < lengths.length; place++) {
    if (left <= lengths[place] || place === lengths.length - 1) {
      const part = lengths[place] ? left / lengths[place] : 0;
      const [[x, y], [toX, toY]] = [points[place], points[place + 1]];
      return [x + (toX - x) * part, y + (toY - y) * part];
    }
    left -= lengths[place];
  }
  return points[0];
}

/** @type {(context: Context, from: Point, to: Point, color: string) => void} */
function arrow(context, from, to, color) {
  context.globalAlpha = 0.9;
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = 2;
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(to[0] - 5 * Math.cos(angle), to[1] - 5 * Math.sin(angle));
  context.stroke();
  context.beginPath();
  context.moveTo(...to);
  for (const turn of [2.6, -2.6]) context.lineTo(to[0] + 8 * Math.cos(angle + turn), to[1] + 8 * Math.sin(angle + turn));
  context.fill();
}
