// Several matrices in a row, looked at together: one pointer, one zoom. One of them may be painted on.

const UNDO_MOST = 200;
const PANEL_LEAST = 220;

/** A panel whose cells a person paints: allowed or forbidden, by cell, row, column and rectangle, with undo and redo. */
class EditablePanel extends Panel {
  constructor(on, given) {
    super(on, given);
    this.canvas.classList.add("editable");
    this.allows = false;
    this.undone = [];
    this.done = [];
    this.canvas.addEventListener("pointerdown", (event) => this._begin(event));
    this.canvas.addEventListener("pointerup", () => this._end());
    this.canvas.addEventListener("pointercancel", () => this._end());
  }

  /** Starts from a mask (query, key); `base` holds the model's own reasons. */
  start(allowed) {
    this.allowed = Uint8Array.from(allowed);
    this.done = [];
    this.undone = [];
  }

  /** The cells as categories: the model's own reasons where the edit forbids, too. */
  recolor() {
    const { base, cells, byEdit } = this.given;
    for (let place = 0; place < base.length; place++) {
      cells.weights[place] = this.allowed[place] ? 0 : base[place] || byEdit;
    }
  }

  undo() {
    this._swap(this.done, this.undone);
  }

  redo() {
    this._swap(this.undone, this.done);
  }

  reset() {
    this._keep();
    this.allowed = this.given.base.map((reason) => Number(reason === 0));
    this._changed();
  }

  _swap(from, to) {
    if (!from.length) return;
    to.push(this.allowed);
    this.allowed = from.pop();
    this._changed();
  }

  _keep() {
    this.done.push(this.allowed.slice());
    if (this.done.length > UNDO_MOST) this.done.shift();
    this.undone = [];
  }

  _changed() {
    this.recolor();
    this.paint();
    this.on.edited();
  }

  /** The cells between two corners; a label stands for its whole row or column. */
  _rectangle([oneQuery, oneKey], [otherQuery, otherKey]) {
    const span = (one, other, count) =>
      one === null || other === null ? [0, count - 1] : [Math.min(one, other), Math.max(one, other)];
    return [span(oneQuery, otherQuery, this.queries.length), span(oneKey, otherKey, this.keys.length)];
  }

  _paintRectangle(from, to) {
    const [[top, bottom], [left, right]] = this._rectangle(from, to);
    for (let query = top; query <= bottom; query++) {
      for (let key = left; key <= right; key++) {
        this.allowed[query * this.keys.length + key] = Number(this.allows);
      }
    }
  }

  /** The nearest `[query, key]` to the pointer, and which labels it is on. */
  _spotAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const near = (place, count) => Math.max(0, Math.min(count - 1, Math.floor(place)));
    return {
      query: near((y + this.root.scrollTop - this.top) / this.cellHeight, this.queries.length),
      key: near((x + this.root.scrollLeft - this.left) / this.cellWidth, this.keys.length),
      onQueries: x < this.left,
      onKeys: y < this.top,
    };
  }

  _begin(event) {
    const { query, key, onQueries, onKeys } = this._spotAt(event);
    if (event.button !== 0 || (onQueries && onKeys)) return;
    this.canvas.setPointerCapture(event.pointerId);
    this._keep();
    this.before = this.allowed.slice();
    this.from = [onKeys ? null : query, onQueries ? null : key];
    // A stroke does to every cell what it does to the first: it turns it round.
    this.allows = !this.allowed[(this.from[0] ?? 0) * this.keys.length + (this.from[1] ?? 0)];
    this._stroke([query, key]);
    super._pointed(event);
  }

  _stroke(to) {
    // From the stroke's beginning, since a rectangle shrinks as well.
    this.allowed.set(this.before);
    this._paintRectangle(this.from, to);
    this.recolor();
    this.paint();
    this.on.stroked();
  }

  _end() {
    if (!this.from) return;
    this.from = null;
    this.on.edited();
  }

  _pointed(event) {
    if (!this.from) {
      super._pointed(event);
      return;
    }
    const { query, key } = this._spotAt(event);
    this._stroke([query, key]);
    super._pointed(event);
  }

  _clicked() {}

  _key(event) {
    const control = event.ctrlKey || event.metaKey;
    const turn = (from, to) => {
      this._keep();
      this.allows = !this.allowed[(from[0] ?? 0) * this.keys.length + (from[1] ?? 0)];
      this._paintRectangle(from, to);
      this._changed();
      this._mark(this.cursor);
    };
    if (control && event.key.toLowerCase() === "z") event.shiftKey ? this.redo() : this.undo();
    else if (control && event.key.toLowerCase() === "y") this.redo();
    else if ((event.key === " " || event.key === "Enter") && this.cursor) turn(this.anchor ?? this.cursor, this.cursor);
    else if (event.key === "r" && this.cursor) turn([this.cursor[0], null], [this.cursor[0], null]);
    else if (event.key === "c" && this.cursor) turn([null, this.cursor[1]], [null, this.cursor[1]]);
    else {
      // With Shift, arrows span a rectangle from where they began.
      if (event.key.startsWith("Arrow")) this.anchor = event.shiftKey ? (this.anchor ?? this.cursor) : null;
      super._key(event);
      return;
    }
    event.preventDefault();
  }
}

// CSS pixels.
const NARROW = 600;

class Matrices {
  constructor(root) {
    this.root = root;
    this.panels = [];
    this.zoom = 0;
    this.row = element("div", "row");
    this.legend = element("div", "keys");
    this.tools = element("div", "tools", { hidden: "" });
    this.tooltip = new Tooltip(root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });
    this.zooms = zoomButtons("matrices", (step) => this._zoomBy(step));
    this.foot = element("div", "foot", {}, this.legend, element("div", "controls", {}, this.tools, this.zooms));
    root.replaceChildren(this.row, this.foot, this.tooltip.element, this.spoken);
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
  }

  dispose() {
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    clearTimeout(this.waiting);
  }

  /** Takes what Python sent. */
  update(bytes, report) {
    this.report = report;
    if (this.id === payloadId(bytes)) {
      if (this.ground !== pageGround(this.root)) this.draw();
      return;
    }
    const { id, header, body } = opened(bytes);
    const again = this.header?.epoch === header.epoch && this.header.name === header.name;
    this.id = id;
    this.header = header;
    this.given = header.panels.map((panel) => this._read(panel, body));
    this._build(again);
    this.draw();
    this.root.dataset.payload = id;
  }

  _read(panel, body) {
    const [nQueries, nKeys] = [panel.queries.length, panel.keys.length];
    const size = nQueries * nKeys;
    const bytes = (start) => (start === null ? null : body.slice(start, start + size));
    const cells = { scale: 1, exact: true, nQueries, nKeys, allowed: bytes(panel.shown) };
    if (panel.scale === "category") cells.weights = bytes(panel.values);
    else {
      cells.values = floats(body, panel.values, size);
      const reach = panel.high - panel.low || 1;
      if (panel.scale === "signed") cells.middle = 127.5;
      cells.weights = Uint8Array.from(cells.values, (value) =>
        Math.round((255 * Math.max(0, Math.min(reach, value - panel.low))) / reach),
      );
    }
    return { ...panel, cells, base: bytes(panel.base), start: bytes(panel.start) };
  }

  /** Panels for what is given; one that is being painted on keeps its strokes while Python sends the same epoch. */
  _build(again) {
    const old = this.editable;
    const same =
      this.panels.length === this.given.length &&
      this.given.every(({ base }, index) => (base === null) === !(this.panels[index] instanceof EditablePanel));
    if (!same) {
      this.panels = this.given.map((given, index) => {
        const on = {
          point: (cell, place, spoken) => this._point(index, cell, place, spoken),
          pick: () => {},
          scrolled: (left, top) => this._scrolled(index, left, top),
          zoomed: (step) => this._zoomBy(step),
          stroked: () => this._marked(),
          edited: () => this._edited(),
        };
        return given.base === null ? new Panel(on, given) : new EditablePanel(on, given);
      });
      this.row.replaceChildren(...this.panels.map((panel) => this._frame(panel)));
    }
    this.editable = this.panels.find((panel) => panel instanceof EditablePanel);
    this.tools.hidden = !this.editable;
    if (this.editable) {
      const given = this.given[this.panels.indexOf(this.editable)];
      if (!again || old !== this.editable || old.allowed.length !== given.base.length) {
        this.editable.start(given.start);
      }
      if (!this.tools.childElementCount) this._buildTools();
    }
  }

  _frame(panel) {
    panel.title = element("h4", "title");
    panel.note = element("p", "shape");
    panel.sign = element("span", "sign", { "aria-hidden": "true" });
    const heading = element("div", "heading", {}, panel.sign, panel.title);
    panel.room = element("div", "room", {}, panel.root);
    panel.frame = element("section", "panel", {}, heading, panel.note, panel.room);
    return panel.frame;
  }

  _buildTools() {
    const tool = (text, title, act) => {
      const button = element("button", "toggle", { type: "button", title });
      button.textContent = text;
      button.addEventListener("click", act);
      return button;
    };
    this.undo = tool("Undo", "Take the last stroke back (Ctrl+Z)", () => this.editable.undo());
    this.redo = tool("Redo", "Make the stroke again (Ctrl+Y)", () => this.editable.redo());
    const reset = tool("Reset", "Back to the model's own mask", () => this.editable.reset());
    this.tools.append(this.undo, this.redo, reset);
  }

  _zoomBy(step) {
    this.zoom = Math.max(0, Math.min(MATRIX_ZOOMS.length - 1, this.zoom + step));
    this.draw();
  }

  _scrolled(index, left, top) {
    for (const [other, panel] of this.panels.entries()) {
      if (other === index || (panel.root.scrollLeft === left && panel.root.scrollTop === top)) continue;
      panel.root.scrollTo(left, top);
    }
  }

  _resize() {
    // What is hidden, or about to go, has no width.
    if (!this.header || !this.root.clientWidth) return;
    if (this._size() !== this.size) this.draw();
  }

  /** All that a layout depends on, besides what is shown. */
  _size() {
    const rem = getComputedStyle(document.documentElement).fontSize;
    return [this.root.clientWidth, window.innerHeight, window.devicePixelRatio, rem].join();
  }

  draw() {
    this.size = this._size();
    this.ground = pageGround(this.root);
    const theme = pageTheme(this.root, this.header.themes);
    const name = theme.name;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const [pointed, cell, event] = this.pointed ?? [];
    // A panel that is drawn anew points nowhere; its neighbours need not hear of it.
    this.pointing = true;
    for (const [index, given] of this.given.entries()) {
      const panel = this.panels[index];
      panel.title.textContent = given.title;
      panel.note.textContent = given.note;
      panel.sign.textContent = given.sign;
      panel.sign.hidden = !given.sign;
    }
    this._drawLegend(theme, name);
    const height = this._height(rem);
    for (const [index, given] of this.given.entries()) {
      const panel = this.panels[index];
      const colors = given.scale === "category" ? given.colors[name] : theme[given.scale];
      const palette = new StepPalette(theme, colors, given.scale === "category");
      panel.given = given;
      if (panel === this.editable) panel.recolor();
      panel.update(given, palette, height, this.zoom);
      const help = panel === this.editable ? ` ${this.header.help}` : " Arrow keys move among cells.";
      panel.canvas.setAttribute("aria-label", given.alt + help);
    }
    this.pointing = false;
    this.tooltip.show(null);
    if (this.editable) this._drawTools();
    if (cell) this.panels[pointed]?.remark(cell, event);
    this._marked();
  }

  /** Pixels of each matrix: as Python says, or on a stage what titles and legend leave of the window. */
  _height(rem) {
    const { stage, height } = this.header;
    this.root.classList.toggle("on-stage", stage);
    // One below the other on a phone held upright.
    const stacked = this.root.clientWidth < NARROW ? this.panels.length : 1;
    this.row.style.setProperty("--columns", this.panels.length / stacked);
    for (const panel of this.panels) panel.fills = stage;
    const picture = stage && this.root.getRootNode().host?.closest(".st-key-picture");
    if (!picture) return height ? height * rem : Math.max(300, 0.55 * window.innerHeight);
    const titled = Math.max(...this.panels.map(({ frame, room }) => room.offsetTop - frame.offsetTop));
    const room = roomWithin(picture, this.row) - this.foot.offsetHeight - 0.3 * rem;
    return room / stacked - titled - 0.35 * rem;
  }

  _drawTools() {
    this.undo.disabled = !this.editable.done.length;
    this.redo.disabled = !this.editable.undone.length;
  }

  _drawLegend(theme, name) {
    const shown = new Map();
    for (const given of this.given) {
      if (given.scale === "category") {
        const places = new Set(given.cells.weights);
        if (given.base !== null) places.add(given.byEdit);
        for (const place of places) {
          const text = given.legend[place];
          shown.set(text, () => this._swatch(given.colors[name][place], text));
        }
      } else {
        const key = [given.scale, given.low, given.high, given.unit].join();
        shown.set(key, () => this._bar(theme, given));
        if (given.cells.allowed !== null) {
          shown.set("taken out", () => element("span", "key", {}, element("span", "hatched"), "taken out by the mask"));
        }
      }
    }
    this.legend.replaceChildren(...[...shown.values()].map((make) => make()));
  }

  _swatch(color, text) {
    const swatch = element("span", "swatch", { "aria-hidden": "true" });
    swatch.style.background = color;
    return element("span", "key", {}, swatch, text);
  }

  _bar(theme, given) {
    const bar = element("span", "gradient", { "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right, ${theme[given.scale].join(", ")})`;
    const digits = Number.isInteger(given.low) && Number.isInteger(given.high) ? 0 : given.digits;
    const [low, high] = [signedNumber(given.low, digits), signedNumber(given.high, digits)];
    return element("span", "key", {}, `${given.unit}: ${low}`, bar, high);
  }

  /** One pointer in every panel whose axes are as long. */
  _point(index, cell, place, spoken) {
    if (this.pointing) return;
    this.pointing = true;
    const own = this.panels[index];
    const lines = [];
    for (const panel of this.panels) {
      const alike = panel.queries.length === own.queries.length && panel.keys.length === own.keys.length;
      if (panel !== own) panel._mark(alike ? cell : null);
      if (cell && alike) lines.push(said("", `${panel.given.title}: ${panel.says(...cell)}`));
    }
    this.pointing = false;
    this.pointed = cell && [index, cell, own.event];
    if (!cell) {
      this.tooltip.show(null);
      return;
    }
    const [query, key] = cell;
    const labels = { query: own.queries[query], row: query, key: own.keys[key], column: key };
    const heading = own.given.pointed.replace(/{(\w+)}/g, (_, name) => labels[name]);
    this.tooltip.show(place, said("strong", heading), ...lines);
    if (spoken) this.spoken.textContent = [heading, ...lines.map((line) => line.textContent)].join(", ");
  }

  _marked() {
    this.root.dataset.painted = JSON.stringify({ id: this.id, edits: this.editable?.done.length ?? 0 });
  }

  _edited() {
    this._drawTools();
    this._marked();
    clearTimeout(this.waiting);
    // After the paint, and once for quick strokes.
    this.waiting = setTimeout(() => {
      const { allowed, queries, keys } = this.editable;
      const bits = new Uint8Array(Math.ceil(allowed.length / 8));
      for (let place = 0; place < allowed.length; place++) bits[place >> 3] |= allowed[place] << (7 - (place & 7));
      this.report({
        name: this.header.name,
        rows: queries.length,
        columns: keys.length,
        bits: btoa(Array.from(bits, (byte) => String.fromCharCode(byte)).join("")),
      });
    }, 60);
  }
}

export default mounted(".matrices", (root) => new Matrices(root), "edit");
