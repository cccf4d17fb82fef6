// The heads of one trace: overview, one head large, lines. It holds all of them, so that moving among heads never waits
// for the server; Python is told the selection afterwards, for the rest of the page.

const MOST_COMPARED = 8;
const COMPARE_HINT = "Click further heads to compare them, up to eight in all.";
const REPORT_PAUSE = 120;
const GAMMAS = [1, 0.7, 0.5, 0.35, 0.25];
const HEIGHT_LEAST = 260;
const ROOM_AROUND_CAPTION = 24;
const MOST_IGNORED = 5;
const WIDTHS = { narrow: 600, wide: 900 };

function writtenMeasure(measure, value) {
  if (value === null) return "–";
  if (measure.unit === "share") return `${Math.round(100 * value)} %`;
  return measure.unit === "bits" ? `${value.toFixed(2)} bits` : value.toFixed(2);
}

const OPENING =
  "Another kind opens with its first head that earned a label, or else with the one whose rows tell most about the " +
  "token they look at (mutual information)";

// How the trace is read, which Python does: name, text, what it is for.
const READINGS = [
  [
    "words",
    "Whole words",
    "Pieces of a word become one: the weights on a word's pieces are added up, the rows of its pieces averaged",
  ],
  ["specials", "Special tokens", "Show <s> and </s>, which stand for no part of the text"],
  [
    "renormalise",
    "Rows add up to 1",
    "With special tokens hidden, divide each row by what is left of it; rows that looked mostly there are enlarged",
  ],
  [
    "predicted",
    "Name rows by prediction",
    "A row of cross-attention is named by the token just read; this names it by the token it predicts. Layers differ in " +
      "which of the two rows looks at the source of a token (Chen et al. 2020)",
  ],
];

/** The state as the address writes it; Python knows it in this spelling alone. */
function spelled({ attention, layer, head, view, cell, compare, order, gamma, only, reading }) {
  return {
    ...Object.fromEntries(READINGS.map(([name]) => [name, reading[name] ? "1" : "0"])),
    attention,
    layer: String(layer),
    head: String(head),
    view,
    cell: cell ? cell.join(".") : "",
    compare: compare.map((pair) => pair.join(".")).join("-"),
    order,
    faint: String(GAMMAS.indexOf(gamma)),
    only: only === null ? "" : "layer" in only ? `layer.${only.layer}` : `head.${only.head}`,
  };
}

/** The state that a spelling means; Python has checked that it is well formed. */
function unspelled({ attention, layer, head, view, cell, compare, order, faint, only, ...flags }) {
  const pair = (text) => text.split(".").map(Number);
  const [what, which] = only ? only.split(".") : [];
  return {
    attention,
    layer: Number(layer),
    head: Number(head),
    view,
    cell: cell ? pair(cell) : null,
    compare: compare ? compare.split("-").map(pair) : [],
    order,
    gamma: GAMMAS[Number(faint)],
    only: only ? { [what]: Number(which) } : null,
    reading: Object.fromEntries(READINGS.map(([name]) => [name, flags[name] === "1"])),
  };
}

class Explorer {
  constructor(root) {
    this.root = root;
    this.state = {
      attention: "cross",
      layer: 0,
      head: 0,
      view: "heatmap",
      cell: null,
      compare: [],
      order: "",
      gamma: 1,
      only: null,
      reading: {},
    };
    this.reported = null;
    this._build();
    this.resized = new ResizeObserver(() => this._resize());
    this.resized.observe(root);
    // What stands above may come later, or grow, and moves the picture without a change of its width.
    const page = root.getRootNode().host?.closest('[data-testid="stMainBlockContainer"]');
    if (page) this.resized.observe(page);
    this.onResize = () => this._resize();
    window.addEventListener("resize", this.onResize);
    this.onKey = (event) => this._stageKey(event);
    this.onAsk = () => this._tellFoot();
    // Before the canvases, which know the arrow keys too while they have the focus.
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener(ASK_EVENT, this.onAsk);
  }

  dispose() {
    this.resized.disconnect();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener(ASK_EVENT, this.onAsk);
    clearTimeout(this.waiting);
  }

  // ---- building -------------------------------------------------------------------------------------------------

  _build() {
    this.attentions = new Choices("Attention", (attention) => this._changeAttention(attention));
    this.attentions.root.title = OPENING;
    this.views = new Choices("View", (view) => this._change({ view }));
    this.compare = toggle(
      "Compare heads",
      "A click on a head then adds it to the picture; so does a click with Shift or Ctrl, or the key c",
      () => this._setAdding(!this.adding()),
    );
    this.readings = new Map(
      READINGS.map(([name, text, title]) => [
        name,
        toggle(text, title, () =>
          this._change({ reading: { ...this.state.reading, [name]: !this.state.reading[name] }, cell: null }),
        ),
      ]),
    );

    this.overview = new Overview({
      select: (layer, head, adds) => this._select(layer, head, adds || this.adding()),
      point: (tile, event) => this._tileTip(tile, event),
      only: (only) => this._change({ only }),
      activate: () => this.large().canvas.focus(),
    });
    this.matrix = new Matrix({
      point: (cell, place, spoken) => this._cellTip(cell, place, spoken),
      pick: (query, key) => this._change({ cell: [query, key] }),
    });
    this.lines = new Lines({ point: (token) => this._tokenTip(token) });

    this.all = toggle("Show all heads", "Back to every layer and head", () => this._change({ only: null }));
    this.all.removeAttribute("aria-pressed");
    this.order = element("select", "", { "aria-label": "Order of heads" });
    this.order.addEventListener("change", () => this._change({ order: this.order.value }));
    this.gamma = element("input", "", {
      type: "range",
      min: "0",
      max: String(GAMMAS.length - 1),
      step: "1",
      "aria-label": "Bring out faint weights",
      title: "Bring out faint weights",
    });
    this.gamma.addEventListener("input", () => this._change({ gamma: GAMMAS[Number(this.gamma.value)] }));
    const orderLabel = element("label", "setting", {}, "Order ", this.order);
    const gammaLabel = element("label", "setting", {}, "Faint weights ", this.gamma);
    const overviewZoom = zoomButtons("overview", (step) => this.overview.zoomBy(step));
    this.bar = element("canvas", "bar", { role: "img" });
    this.barNote = element("span", "note");

    this.heading = element("h3", "name");
    this.label = element("p", "label-earned");
    this.legend = element("ul", "legend", { hidden: "", "aria-label": "Heads in the picture" });
    this.hint = element("p", "hint", { hidden: "" }, COMPARE_HINT);
    this.caption = element("p", "caption");
    this.words = element("dl", "words");
    this.numbers = element("p");
    const numbers = element("details", "numbers", {}, element("summary", "", {}, "In numbers"), this.numbers);
    this.about = element("section", "about-head", { "aria-label": "What this head does" }, this.words, numbers);
    this.inside = element("button", "inside", { type: "button", hidden: "" });
    this.inside.addEventListener("click", () => this.scrollHost()?.scrollIntoView({ behavior: "smooth" }));
    this.largeZoom = zoomButtons("picture", (step) => this.matrix.zoomBy(step));
    this.drawing = element("div", "drawing", {}, this.matrix.root, this.lines.root);
    this.tooltip = new Tooltip(this.root);
    this.spoken = element("div", "spoken", { "aria-live": "polite" });

    const left = element(
      "section",
      "left",
      { "aria-label": "All heads" },
      element("div", "overview-room", {}, this.overview.root),
      element("div", "scale", {}, this.bar, this.barNote),
      element("div", "settings", {}, orderLabel, gammaLabel, overviewZoom, this.all),
      this.about,
    );
    const right = element(
      "section",
      "right",
      { "aria-label": "One head" },
      element("div", "title-row", {}, element("div", "titles", {}, this.heading, this.label), this.largeZoom),
      this.hint,
      this.legend,
      this.drawing,
      this.inside,
      this.caption,
    );
    const toggles = element("div", "toggles", {}, ...this.readings.values(), this.compare);
    this.unfold = toggle("Options", "How the heads are read and drawn", () => {
      const unfolded = this.root.classList.toggle("unfolded");
      this.unfold.setAttribute("aria-expanded", String(unfolded));
    });
    this.unfold.classList.add("unfold");
    this.unfold.removeAttribute("aria-pressed");
    this.unfold.setAttribute("aria-expanded", "false");
    const toolbar = element("div", "toolbar", {}, this.attentions.root, this.views.root, this.unfold, toggles);
    this.root.replaceChildren(toolbar, element("div", "panes", {}, left, right), this.tooltip.element, this.spoken);
  }

  // ---- what changes it ------------------------------------------------------------------------------------------

  /** Takes what Python sent; draws only what differs from what is there. */
  update(bytes, report) {
    this.report = report;
    const id = payloadId(bytes);
    if (this.payload?.id !== id) {
      const payload = new Payload(bytes);
      const asked = payload.epoch !== this.payload?.epoch;
      // Coming to the stage and leaving it changes the place of the picture, and not what is in it.
      const cell = payload.stage === this.payload?.stage ? null : this.state.cell;
      this.payload = payload;
      this.root.classList.toggle("on-stage", payload.stage);
      this.state = this._legal(asked ? unspelled(payload.selection) : { ...this.state, cell });
      if (asked) this.reported = JSON.stringify({ ...spelled(unspelled(payload.selection)), width: "wide" });
      this.draw();
      this.root.dataset.payload = id;
      // A trace with fewer layers or heads may have moved the selection.
      this._tell();
    } else this._retheme();
  }

  _legal(state) {
    const { payload } = this;
    const attention = payload.attentions.includes(state.attention) ? state.attention : payload.attentions.at(-1);
    const kind = payload.kind(attention);
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    const [layer, head] = [within(state.layer, kind.layers.length), within(state.head, kind.heads)];
    const there = ([one, other]) => one < kind.layers.length && other < kind.heads;
    const compare = state.compare.filter(there);
    const selected = compare.some(([one, other]) => one === layer && other === head);
    const [nQueries, nKeys] = [payload.axis(kind.queries).length, payload.axis(kind.keys).length];
    const cell = state.cell && state.cell[0] < nQueries && state.cell[1] < nKeys ? state.cell : null;
    const only =
      state.only === null || there([state.only.layer ?? 0, state.only.head ?? 0]) ? state.only : null;
    const order = payload.measures.some(({ key }) => key === state.order) ? state.order : "";
    const gamma = GAMMAS.includes(state.gamma) ? state.gamma : 1;
    const view = state.view === "lines" ? "lines" : "heatmap";
    const kept = selected ? compare : [];
    return { ...state, attention, layer, head, view, cell, compare: kept, order, gamma, only };
  }

  _change(changes) {
    const before = this.state;
    this.state = this._legal({ ...before, ...changes });
    const overview = ["attention", "order", "gamma", "only"].some(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(this.state[name]),
    );
    this.draw(overview);
    this._tell();
  }

  /** A head of one kind says nothing of the same place in another, except in the picture that joins them. */
  _changeAttention(attention) {
    const joins = [attention, this.state.attention].includes("joint");
    const [layer, head] = joins ? [this.state.layer, this.state.head] : this.payload.kind(attention).opening;
    const changes = attention === this.state.attention ? {} : { layer, head, compare: [] };
    this._change({ attention, cell: null, ...changes });
  }

  /** Whether a click on a head adds it to the picture. */
  adding() {
    return this.state.compare.length > 0;
  }

  _select(layer, head, adds) {
    const { compare, layer: nowLayer, head: nowHead } = this.state;
    if (!adds) {
      this._change({ layer, head, compare: [] });
    } else {
      const shown = compare.length ? compare : [[nowLayer, nowHead]];
      const rest = shown.filter(([one, other]) => one !== layer || other !== head);
      if (rest.length < shown.length && rest.length) {
        const [[firstLayer, firstHead]] = rest;
        this._change({ layer: firstLayer, head: firstHead, compare: rest });
      } else if (shown.length >= MOST_COMPARED) {
        const refusal = `Up to ${MOST_COMPARED} heads can be compared.`;
        const { left, bottom } = this.legend.getBoundingClientRect();
        this.tooltip.show({ clientX: left, clientY: bottom }, said("strong", refusal));
        this._say(refusal);
        return;
      } else this._change({ layer, head, compare: [...rest, [layer, head]] });
    }
    this._say(this._summary(this.state.layer, this.state.head));
  }

  /** On a stage the arrow keys choose a head wherever the focus is, so that nobody has to click first. */
  _stageKey(event) {
    const key = plainKey(event);
    if (!this.payload?.stage || !key || event.shiftKey || typing(event)) return;
    const { layer, head, attention, view } = this.state;
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (key in steps) {
      const [down, right] = steps[key];
      const kind = this.payload.kind(attention);
      const [toLayer, toHead] = [layer + down, head + right];
      const isThere = toLayer >= 0 && toHead >= 0 && toLayer < kind.layers.length && toHead < kind.heads;
      if (isThere) this._select(toLayer, toHead, false);
    } else if (key === "v") this._change({ view: view === "lines" ? "heatmap" : "lines" });
    else if (key === "a") {
      const { attentions } = this.payload;
      const next = attentions[(attentions.indexOf(attention) + 1) % attentions.length];
      this._changeAttention(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Lets the foot of the stage say what is shown, and where that is among all heads. */
  _tellFoot() {
    if (!this.payload?.stage) return;
    const { attention, layer, head, compare } = this.state;
    const kind = this.payload.kind(attention);
    const label = compare.length > 1 ? null : this.payload.facts(attention, layer, head)?.label;
    const at = compare.length > 1 ? compare : [[layer, head]];
    const text = [this._title(kind), label].filter(Boolean).join(" – ");
    const detail = { text, map: { layers: kind.layers.length, heads: kind.heads, at } };
    document.dispatchEvent(new CustomEvent(SHOWN_EVENT, { detail }));
  }

  _title(kind) {
    const { layer, head, compare } = this.state;
    return compare.length > 1
      ? `${kind.name}, ${compare.length} heads`
      : `${kind.name}, layer ${kind.layers[layer]}, head ${head}`;
  }

  _setAdding(adding) {
    const { layer, head } = this.state;
    this._change({ compare: adding ? [[layer, head]] : [] });
    this._say(adding ? COMPARE_HINT : "");
  }

  _selection() {
    const room = this.root.clientWidth;
    const width = room < WIDTHS.narrow ? "narrow" : room < WIDTHS.wide ? "middle" : "wide";
    return { ...spelled(this.state), width };
  }

  /** Tells Python the selection, soon: quick steps among heads are told once, after the last. */
  _tell() {
    const selection = this._selection();
    if (JSON.stringify(selection) === this.reported) return;
    const now = performance.now();
    const tell = () => {
      this.reported = JSON.stringify(this._selection());
      this.lastTold = performance.now();
      this.report(this._selection());
    };
    clearTimeout(this.waiting);
    const pause = Math.max(0, (this.lastTold ?? -Infinity) + REPORT_PAUSE - now);
    // After the paint: the message must not stand before the picture.
    this.waiting = setTimeout(tell, pause);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------

  large() {
    return this.state.view === "lines" ? this.lines : this.matrix;
  }

  _palette() {
    return new Palette(pageTheme(this.root, this.payload.themes), this.state.gamma);
  }

  _retheme() {
    if (this.palette && pageGround(this.root) !== this.palette.theme.ground) this.draw();
  }

  _resize() {
    // What is hidden, or about to go, has no width.
    if (!this.payload || !this.root.clientWidth) return;
    // A page that is scrolled stands between pixels, which is no other place.
    const isMoved = Math.abs(this._roomBelow() - this.room) > 2;
    if (isMoved || this._size() !== this.size) this.draw();
  }

  /** All that a layout depends on, besides what is shown and the room for it. */
  _size() {
    const rem = getComputedStyle(document.documentElement).fontSize;
    return [this.root.clientWidth, window.innerHeight, window.devicePixelRatio, rem].join();
  }

  draw(overview = true) {
    const { payload, state } = this;
    const kind = payload.kind(state.attention);
    if (!this.palette || overview) this.palette = this._palette();
    this.views.show([["heatmap", "Heatmap"], ["lines", "Lines"]], state.view);
    this._drawReadings();
    if (payload.stage) this._tellFoot();
    else if (overview) {
      this._drawControls(kind);
      this.overview.show(payload, state, this.palette);
      this._drawBar();
    } else {
      this.overview.state = state;
      this.overview.reveal();
    }
    this._drawLarge(kind);
    this.size = this._size();
    this.room = this._roomBelow();
    const { attention, layer, head, view } = state;
    this.root.dataset.painted = JSON.stringify({ id: payload.id, attention, layer, head, view });
  }

  _drawControls(kind) {
    const { payload, state } = this;
    const options = payload.attentions.map((name) => [name, payload.kind(name).short]);
    if (!payload.attentions.includes("joint")) {
      options.push(["joint", "All three", "Only where the rows of cross-attention are named by the token just read"]);
    }
    this.attentions.show(options, state.attention);
    const measures = payload.measures.filter(
      (_, index) => kind.facts.some((layer) => layer.some((facts) => (facts.measures[index] ?? null) !== null)),
    );
    const orders = [
      ["", "by layer and head"],
      ...measures.map(({ key, name }) => [key, `${name.toLowerCase()}, largest first`]),
    ];
    this.order.replaceChildren(
      ...orders.map(([value, text]) => {
        const option = element("option", "", { value });
        option.textContent = text;
        return option;
      }),
    );
    this.order.value = state.order;
    this.gamma.value = String(GAMMAS.indexOf(state.gamma));
    this.all.hidden = state.only === null;
    this.overview.canvas.setAttribute(
      "aria-label",
      `${kind.name}: ${kind.layers.length} layers of ${kind.heads} heads. Arrow keys choose a head, Enter goes to its ` +
        "picture, c adds it to a comparison, plus and minus zoom.",
    );
  }

  _drawReadings() {
    const { reading, attention } = this.state;
    this.compare.setAttribute("aria-pressed", String(this.adding()));
    this.gamma.disabled = this.state.view === "lines";
    for (const [name, button] of this.readings) button.setAttribute("aria-pressed", String(Boolean(reading[name])));
    this.readings.get("renormalise").hidden = reading.specials !== false;
    this.readings.get("predicted").hidden = attention !== "cross";
  }

  _drawBar() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const { theme, lookup, gamma } = this.palette;
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
      context.fillText(String(weight), place, thick + 3);
    }
    this.bar.setAttribute("aria-label", "Colour bar: the weight, 0 to 1, the same for every head");
    const note = (mark, text) => element("span", "note", {}, element("span", mark, { "aria-hidden": "true" }), text);
    this.barNote.replaceChildren("weight, same scale for every head");
    if (this._hasForbidden()) this.barNote.append(note("hatched", "not allowed"));
    if (this._hasLabels()) this.barNote.append(note("dot", "has a label"));
  }

  _hasForbidden() {
    const { allowed } = this.payload.cells(this.state.attention, this.state.layer, this.state.head);
    return allowed !== null && allowed.includes(0);
  }

  _hasLabels() {
    return this.payload.kind(this.state.attention).facts.some((layer) => layer.some(({ label }) => label));
  }

  _drawn() {
    const { attention, layer, head, compare } = this.state;
    const { heads } = this.palette.theme;
    if (compare.length < 2) return [{ layer, head, color: null, cells: this.payload.cells(attention, layer, head) }];
    return compare.map(([one, other], index) => ({
      layer: one,
      head: other,
      color: heads[index % heads.length],
      cells: this.payload.cells(attention, one, other),
    }));
  }

  _drawLarge(kind) {
    const { payload, state } = this;
    const drawn = this._drawn();
    const lines = state.view === "lines";
    const several = drawn.length > 1;
    const facts = payload.facts(state.attention, state.layer, state.head);
    this.heading.textContent = this._title(kind);
    const earned = !several && facts?.label;
    this.label.hidden = several || !facts || state.attention === "joint";
    this.label.replaceChildren();
    if (earned) {
      const mark = element("strong", "");
      mark.textContent = facts.label;
      this.label.append(mark);
    } else if (facts && !several) this.label.append(facts.sentence);
    this.label.title = earned ? facts.reason : facts?.numbers ?? "";
    this._drawLegend(kind, drawn);
    this._drawHint(drawn);
    this._drawWords(kind, drawn);
    this.matrix.root.hidden = lines;
    this.lines.root.hidden = !lines;
    this.largeZoom.hidden = lines;
    this._drawInside(kind, drawn);
    this._writeCaption(kind, drawn);
    const height = this._roomBelow();
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const rows = payload.axis(kind.queries).length;
    // Many rows may go on below the first screen, as long as each can still be told from the next.
    const most = payload.stage ? height : Math.min(0.9 * window.innerHeight, 0.75 * rem * rows);
    this.matrix.fills = this.lines.fills = payload.stage;
    if (lines) this.lines.show(payload, kind, drawn, this.palette, height);
    else this.matrix.show(payload, kind, drawn, this.palette, state.cell, Math.max(height, most));
    // Whether every token is named is known only now.
    this._writeCaption(kind, drawn, !lines && !this.matrix.isComplete());
    const alt = this._alt(kind, drawn);
    this.matrix.canvas.setAttribute("aria-label", `${alt} Arrow keys move among cells, Enter looks into one.`);
    this.lines.canvas.setAttribute("aria-label", `${alt} Arrow keys move among tokens, Escape shows all lines again.`);
  }

  _writeCaption(kind, drawn, isCut = false) {
    const [lines, several] = [this.state.view === "lines", drawn.length > 1];
    const reading = lines
      ? `A line joins a query on the left with a key on the right; its thickness and opacity are the weight. ` +
        `Weights below ${FAINTEST_LINE} are left out. Point at a token to see only its lines.`
      : several
        ? "Each cell holds one stripe a head, in the colour of the legend; the stronger the colour, the larger the weight."
        : kind.caption;
    const hidden = isCut ? "Not every token is named: zoom in, or point at a cell." : "";
    const click = lines || several ? "" : "Click a cell to look into it.";
    this.caption.textContent = [reading, ...this.payload.notes, hidden, click].filter(Boolean).join(" ");
  }

  /** What to do next while heads are compared. */
  _drawHint(drawn) {
    this.hint.hidden = !this.adding() || drawn.length === MOST_COMPARED;
  }

  /** The selected head on this sentence in words, with the numbers behind them; several heads in one line each. */
  _drawWords(kind, drawn) {
    const { payload, state } = this;
    const rows = [];
    const numbers = [];
    const add = (term, ...said) => rows.push(element("dt", "", {}, term), element("dd", "", {}, ...said));
    const short = (name, facts) => {
      add(name, facts.label ? element("strong", "", {}, facts.label) : facts.sentence);
      numbers.push(`${name}: ${facts.numbers}.`);
    };
    const facts = payload.facts(state.attention, state.layer, state.head);
    if (drawn.length > 1) {
      for (const { layer, head } of drawn) {
        const each = payload.facts(state.attention, layer, head);
        for (const [name, part] of each.parts ?? [["", each]]) {
          short(`Layer ${kind.layers[layer]}, head ${head}${name && `, ${name.toLowerCase()}`}`, part);
        }
      }
    } else if (facts?.parts) for (const [name, part] of facts.parts) short(name, part);
    else if (facts) {
      const label = facts.label ? element("strong", "", {}, facts.label) : "earns no label";
      if (payload.surveyed) add("On the examples", label);
      add("On this sentence", facts.sentence);
      const pairs = facts.pairs.map((pair) => this._pair(kind, pair));
      add("Strongest", pairs.join("; ") || "no pair stands out");
      add("Ignores", this._ignored(kind, facts.ignored));
      const weights = facts.pairs.map((pair) => `${this._pair(kind, pair)} ${this._weight(...pair)}`);
      numbers.push(`${facts.numbers}.`, facts.reason, ...(weights.length ? [`Weights: ${weights.join("; ")}.`] : []));
      numbers.push("Ignored is what gets less than a fifth of an even share of the weight.");
    }
    this.words.replaceChildren(...rows);
    this.numbers.textContent = numbers.filter(Boolean).join(" ");
    this.words.title = this.numbers.textContent;
    this.about.hidden = !rows.length;
  }

  /** Query and key in words; a row of cross-attention also says what it is about to write. */
  _pair(kind, [query, key]) {
    const { payload } = this;
    const next = kind.kind === "cross" && kind.besideMark === "→" ? payload.axis(kind.beside)?.[query] : null;
    const row = payload.named(kind.queries, query) + (next ? ` (before ${next})` : "");
    return `${row} → ${payload.named(kind.keys, key)}`;
  }

  _weight(query, key) {
    const { attention, layer, head } = this.state;
    const cells = this.payload.cells(attention, layer, head);
    return written(cells.weights[query * cells.nKeys + key], cells.exact);
  }

  _ignored(kind, keys) {
    if (!keys.length) return `no ${kind.keyNoun}`;
    if (keys.length === this.payload.axis(kind.keys).length) return `every ${kind.keyNoun} that is shown`;
    const more = keys.length - MOST_IGNORED;
    const shown = keys.slice(0, MOST_IGNORED).map((key) => this.payload.named(kind.keys, key));
    return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
  }

  /** The way from a cell that was clicked to what stands below the picture about it. */
  _drawInside(kind, drawn) {
    const { cell } = this.state;
    this.inside.hidden = !cell || drawn.length > 1 || this.state.view === "lines" || !this.scrollHost();
    if (this.inside.hidden) return;
    const [query, key] = cell;
    const { cells } = drawn[0];
    const weight = written(cells.weights[query * cells.nKeys + key], cells.exact);
    const [from, to] = [this.payload.axis(kind.queries)[query], this.payload.axis(kind.keys)[key]];
    this.inside.textContent = `See below how the weight ${weight} from ${from} to ${to} comes about`;
  }

  /** What stands below the picture on its page, if there is something. */
  scrollHost() {
    return document.querySelector(".st-key-below");
  }

  /** The height that the picture may take, so that it ends on the first screen where it stands beside the overview. */
  _roomBelow() {
    const host = this.root.getRootNode().host;
    const picture = this.payload.stage && host?.closest(".st-key-picture");
    if (picture) return roomWithin(picture, this.drawing);
    const scroller = host?.closest('[data-testid="stMain"]');
    const top = this.drawing.getBoundingClientRect().top + (scroller?.scrollTop ?? window.scrollY);
    const below = [this.inside, this.caption].reduce((height, { offsetHeight }) => height + offsetHeight, 0);
    const room = window.innerHeight - top;
    if (room < HEIGHT_LEAST) return 0.65 * window.innerHeight;
    return Math.max(HEIGHT_LEAST, room - below - ROOM_AROUND_CAPTION);
  }

  _alt(kind, drawn) {
    const [nQueries, nKeys] = [this.payload.axis(kind.queries).length, this.payload.axis(kind.keys).length];
    const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
    const sizes = `${count(nQueries, kind.queryNoun)} by ${count(nKeys, kind.keyNoun)}`;
    const heads = drawn.map(({ layer, head, cells }) => {
      let at = -1;
      for (let place = 0; place < cells.weights.length; place++) {
        const open = cells.allowed === null || cells.allowed[place];
        if (open && (at < 0 || cells.weights[place] > cells.weights[at])) at = place;
      }
      const name = `Layer ${kind.layers[layer]}, head ${head}, ${kind.name.toLowerCase()}: ${sizes}`;
      if (at < 0) return `${name}; no query may attend to any key.`;
      const query = this.payload.axis(kind.queries)[Math.floor(at / nKeys)];
      const key = this.payload.axis(kind.keys)[at % nKeys];
      const weight = ((cells.weights[at] * cells.scale) / 255).toFixed(2);
      return `${name}; the largest weight is ${weight}, from ${query} to ${key}.`;
    });
    return heads.join(" ");
  }

  _drawLegend(kind, drawn) {
    this.legend.hidden = drawn.length < 2;
    this.legend.replaceChildren();
    if (drawn.length < 2) return;
    for (const { layer, head, color } of drawn) {
      const name = `Layer ${kind.layers[layer]}, head ${head}`;
      const swatch = element("span", "swatch", { "aria-hidden": "true" });
      swatch.style.background = color;
      const button = element("button", "", { type: "button", "aria-label": `Take ${name} out of the picture` });
      button.textContent = "×";
      button.addEventListener("click", () => this._select(layer, head, true));
      this.legend.append(element("li", "", {}, swatch, name, button));
    }
  }

  // ---- what is said under the pointer -----------------------------------------------------------------------------

  _summary(layer, head) {
    const kind = this.payload.kind(this.state.attention);
    const facts = this.payload.facts(this.state.attention, layer, head);
    const name = `Layer ${kind.layers[layer]}, head ${head}`;
    const parts = (facts?.parts ?? []).map(([kindName, part]) => `${kindName}: ${part.label ?? part.sentence}`);
    return [name, facts?.label, facts?.sentence, ...parts].filter(Boolean).join(": ");
  }

  _say(text) {
    this.spoken.textContent = text;
  }

  _tileTip(tile, event) {
    if (!tile) {
      this.tooltip.show(null);
      return;
    }
    const kind = this.payload.kind(this.state.attention);
    const facts = this.payload.facts(this.state.attention, tile.layer, tile.head);
    const lines = [said("strong", `Layer ${kind.layers[tile.layer]}, head ${tile.head}`)];
    if (facts?.label) lines.push(said("strong", facts.label));
    if (facts?.sentence) lines.push(said("", facts.sentence), said("beside", facts.numbers));
    for (const [name, part] of facts?.parts ?? []) lines.push(said("", `${name}: ${part.label ?? part.sentence}`));
    this.tooltip.show(event, ...lines);
  }

  _cellTip(cell, place, spoken) {
    if (!cell) {
      this.tooltip.show(null);
      return;
    }
    const kind = this.payload.kind(this.state.attention);
    const [query, key] = cell;
    const names = [this.payload.axis(kind.queries)[query], this.payload.axis(kind.keys)[key]];
    const head = `${names[0]} (${query}) to ${names[1]} (${key})`;
    const lines = [said("strong", head)];
    const drawn = this._drawn();
    for (const { layer, head: number, cells, color } of drawn) {
      const at = query * cells.nKeys + key;
      const open = cells.allowed === null || cells.allowed[at];
      const value = open ? `weight ${written(cells.weights[at], cells.exact)}` : "not allowed";
      const line = said("", drawn.length > 1 ? `Layer ${kind.layers[layer]}, head ${number}: ${value}` : value);
      if (color) {
        const swatch = element("span", "swatch");
        swatch.style.background = color;
        line.prepend(swatch);
      }
      lines.push(line);
    }
    const beside = this.payload.axis(kind.beside)?.[query];
    if (beside) lines.push(said("beside", `${kind.besideTitle.toLowerCase()}: ${beside}`));
    this.tooltip.show(place, ...lines);
    if (spoken) this._say(lines.map((line) => line.textContent).join(", "));
  }

  _tokenTip(token) {
    if (!token) return;
    const kind = this.payload.kind(this.state.attention);
    const [own, other] = token.side === "query" ? [kind.queries, kind.keys] : [kind.keys, kind.queries];
    const weights = this.payload
      .axis(other)
      .map((text, index) => [text, this.lines._weights(token, index)[0]])
      .sort((one, two) => two[1] - one[1])
      .slice(0, 3)
      .map(([text, weight]) => `${text} ${weight.toFixed(2)}`);
    this._say(`${this.payload.axis(own)[token.index]}: ${weights.join(", ")}`);
  }
}

export default mounted(".explorer", (root) => new Explorer(root), "selection");
