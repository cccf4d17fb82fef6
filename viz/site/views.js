// The pages beside those of the model's picture: each gives one of the app's components what the engine found.

import constants from "../draw/constants.json" with { type: "json" };
import { element, part } from "../browser/canvas/dom.js";
import { percent, signed } from "../browser/canvas/numbers.js";
import { pairColumns } from "../browser/canvas/pairs.js";
import { worded } from "../browser/canvas/wording.js";
import { textOfTokens } from "../browser/live/grouping.js";
import { WORD_START, tokenText } from "../browser/live/labels.js";
import { packedPanels } from "../browser/live/panels.js";
import { shortest } from "../browser/steps/frame.js";
import { presetMask } from "../browser/engine/masks.js";
import { ESTIMATES, estimateName, mapPanels } from "./attribution.js";
import { leastCertain, pairIn, waterfall, withoutHeads, withoutTokens } from "./contrast.js";
import { engineMasks, fittedEdit, readEdits, writtenEdit } from "./edits.js";
import { keyOfEffects } from "./followed.js";
import { SitePage, lossWords, showing, withChosen } from "./view.js";
import { say } from "./words.js";

/** @import { Site } from "./site.js" */
/** @import { GivenPanel } from "../browser/live/panels.js" */
/** A painted mask, as the component tells it. @typedef {{ rows: number, columns: number, bits: string }} Painted */

const KINDS = ["encoder", "decoder", "cross"];
// Dimensions in the table of positions.
const MOST_COLUMNS = 64;
// Positions as the model has them.
const AT_REST = { scale: 100, shift: 0, reverse: false, side: "both" };
// Why a cell of a mask is closed (viz/masks/mask.py, Cell).
const [FUTURE, BY_EDIT] = [1, 4];

// What is shown as bars of one word against another.
const BARS = ["sum", "tokens", "set"];

export class EffectsPage extends SitePage {
  static honours = {
    ...showing("off", "instead"),
    show: (/** @type {string} */ what, /** @type {View} */ { decide = "remove", mapped = "cross", layer_head: part = "" }) =>
      ["probability", "maps", ...BARS].includes(what) && (what !== "set" || decide === "remove") && (what !== "maps" || (mapped === "cross" && !part)),
    // All of them are shown in the maps.
    token: (/** @type {string} */ token, /** @type {View} */ { show }) => show !== "maps" || token === "0",
    method: (/** @type {string} */ method, /** @type {View} */ { show }) => show !== "maps" || ESTIMATES.includes(method),
    way: (/** @type {string} */ way, /** @type {View} */ { off }) => way === "gate" || !off,
    gate: (/** @type {string} */ gate, /** @type {View} */ { off }) => gate === "0" || !off,
  };
  static beside = ["decide", "mapped", "layer_head", "examples", "curve"];

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "matrices");
    this.list = element("ol", "listed");
    this.sum = element("div", "view");
    this.standing = element("p", "aside");
    this.root.append(this.sum, this.caption, this.standing, this.list);
  }

  /** The estimate beside the truth. */
  get method() {
    const { method = "" } = this.query;
    return ESTIMATES.includes(method) ? method : ESTIMATES[0];
  }

  /** Whether attention is shown beside the truth. */
  get isMaps() {
    return this.query.show === "maps";
  }

  /** What is shown as bars; "" for maps. */
  get bars() {
    const { show = "" } = this.query;
    return BARS.includes(show) ? show : "";
  }

  async draw() {
    const isCurrent = this.begin();
    const { talk, off, bars, isMaps } = this;
    const trace = await talk.shown();
    if (!trace || !isCurrent()) return;
    const tokens = trace.predictions.tokens.map(tokenText);
    const { instead = "" } = this.query;
    const asked = this.number("token", 0, 0, tokens.length);
    const isPair = !isMaps && Boolean(bars || instead);
    const token = isPair && !asked ? leastCertain(trace) + 1 : asked;
    const pair = isPair ? await pairIn(talk, trace, token - 1, instead) : null;
    if ((isPair && !pair) || !isCurrent()) return;
    if (pair && instead && !pair.isKnown) this.misfit("instead");
    this.menus(tokens, token, pair, off);
    this.standing.textContent = pair ? say("standing", { word: pair.word, other: pair.other, share: shortest(pair.shares[0]), least: shortest(pair.shares[1]) }) : "";
    this.part.host.hidden = this.list.hidden = Boolean(bars);
    this.sum.hidden = !bars;
    if (isMaps) {
      const found = await talk.asked("attributed", { ids: trace.predictions.ids });
      if (!found || !isCurrent()) return;
      const { panels, caption } = mapPanels(trace, found, this.method);
      this.list.replaceChildren();
      this.note.replaceChildren();
      this.caption.textContent = caption;
      await this.part.update(packedPanels(panels, { themes: this.template.themes, height: 26, stage: talk.isStaged }));
      return;
    }
    if (bars && pair) {
      const drawn = await this.barsOf(bars, trace, pair);
      if (!drawn || !isCurrent()) return;
      [this.caption.textContent] = drawn;
      this.sum.replaceChildren(...drawn.slice(1));
      this.note.replaceChildren();
      return;
    }
    const effects = await talk.effects();
    const others = pair && (await this.effectsOn(trace, pair));
    if (!effects || (pair && !others) || !isCurrent()) return;
    const losses = effects.sites.map(({ kind, layer, heads, losses: all }, place) => {
      const own = lossesOf(all, heads, token);
      const other = others ? lossesOf(others.sites[place].losses, heads, token) : null;
      return { kind, layer, losses: other ? own.map((loss, head) => loss - other[head]) : own };
    });
    const limit = Math.max(...losses.flatMap((site) => site.losses.map(Math.abs)), 1e-6);
    /** @type {GivenPanel[]} */
    const panels = this.template.kinds.map((kind) => {
      // As in the app: with many heads, cells have no room for numbers.
      const least = (kind.heads > constants.MOST_NUMBERED ? 2 : constants.NUMBERED) * limit;
      const own = losses.filter((site) => site.kind === kind.kind);
      return {
        title: say(kind.kind),
        values: own.flatMap((site) => site.losses),
        queries: own.map(({ layer }) => String(layer)),
        keys: Array.from({ length: kind.heads }, (_, head) => String(head)),
        ...{ queryTitle: say("layer"), keyTitle: say("head"), scale: "signed", low: -limit, high: limit, least },
        ...{ unit: say(pair ? "lead_loss" : "loss"), pointed: say("layer_head"), alt: say("effects_of", { kind: say(kind.kind) }) },
      };
    });
    if (!off.length) this.note.replaceChildren();
    this.caption.textContent = pair ? say("effects_pair_note", { word: pair.word, other: pair.other }) : say("effects_note");
    await this.part.update(packedPanels(panels, { themes: this.template.themes, height: 18, stage: talk.isStaged }));
    const ranked = losses
      .flatMap(({ kind, layer, losses: all }) => all.map((loss, head) => ({ kind, layer, head, loss })))
      .sort((one, other) => other.loss - one.loss)
      .slice(0, 5);
    this.list.replaceChildren(
      ...ranked.map(({ kind, layer, head, loss }) => {
        const open = this.button(say("head_name", { kind: say(kind), layer, head }), () => this.openHead({ kind, layer, head }));
        open.className = "link";
        return element("li", "", {}, open, pair ? ` ${signed(loss, 2)}` : ` ${lossWords("times", loss)}`);
      }),
    );
    if (off.length) await this.leaveOut(off, trace, isCurrent);
  }

  /** A caption, and bars for a pair of words; null if it was given up.
   * @type {(bars: string, trace: EngineTrace, pair: import("./contrast.js").Pair) => Promise<[string, ...HTMLElement[]] | null>} */
  async barsOf(bars, { source, predictions }, { place, id, word, other }) {
    const { talk } = this;
    const asked = { step: place, ids: predictions.ids, other: id };
    const open = (/** @type {import("./view.js").SiteHead} */ head) => this.openHead(head);
    if (bars === "sum") {
      const terms = await talk.asked("terms", asked);
      return terms && [say("terms_note", { word, other }), waterfall(terms, source.tokens, open)];
    }
    if (bars === "tokens") {
      const leads = await talk.asked("deleted", asked);
      return leads && [say("source_words_note", { word, other }), withoutTokens(leads, source)];
    }
    /** @type {import("../browser/act/made.js").Deciding | null} */
    const found = await talk.asked("deciding", { ...asked, orders: 0 });
    const note = found?.decides ? say("fewest_heads_note", { word, other }) : say("no_fewest_heads", { word, other });
    return found && [note, withoutHeads(found.leads, found.heads, open)];
  }

  /** @type {(head: import("./view.js").SiteHead) => void} */
  openHead({ kind, layer, head }) {
    this.talk.go("heads", { ...this.talk.shared, attention: kind, layer: String(layer), head: String(head) });
  }

  /** The loss without each head of the translation with another token in one place. @type {(trace: EngineTrace, pair: import("./contrast.js").Pair) => Promise<EngineEffects | null>} */
  effectsOn({ source, target, predictions }, { place, id }) {
    const ids = predictions.ids.map((own, at) => (at === place ? id : own));
    const asked = { source: { ids: source.ids }, target: { ids: target.ids }, predictions: { ids } };
    return this.talk.known(keyOfEffects(this.talk.text, { tokens: [], ids }), (engine, signal) => engine.call("effects", [asked], { signal }));
  }

  /** @type {(tokens: string[], token: number, pair: import("./contrast.js").Pair | null, off: (HeadEdit & { head: number })[]) => void} */
  menus(tokens, token, pair, off) {
    const { talk, bars, isMaps } = this;
    const numbered = tokens.map((text, place) => /** @type {[string, string]} */ ([String(place + 1), `${place + 1} · ${text}`]));
    /** @type {[string, string][]} */
    const options = [...(bars ? [] : [/** @type {[string, string]} */ (["0", say("whole_translation")])]), ...numbered];
    // Another token has other rivals.
    const take = (/** @type {string} */ choice) => talk.change({ token: choice, instead: "" });
    /** @type {[string, string][]} */
    const rivals = pair ? [...(bars ? [] : [/** @type {[string, string]} */ (["", say("no_other")])]), ...pair.rivals] : [];
    const why = async () => {
      const trace = await talk.shown();
      const found = trace && (await pairIn(talk, trace, token - 1, ""));
      if (found) talk.change({ token: String(token), instead: found.other });
    };
    this.control(
      this.controls,
      this.tabs(say("view"), "show", [["", say("heads")], ["tokens", say("source_words")], ["set", say("fewest_heads")], ["sum", say("sum")], ["maps", say("maps")]], isMaps ? "maps" : bars),
      isMaps
        ? this.menu(say("estimate"), "method", ESTIMATES.map((each) => [each, estimateName(each)]), this.method)
        : this.menu(say("loss_of"), "token", options, String(token), take),
      ...(pair ? [this.menu(say("against"), "instead", rivals, pair.other)] : token ? [this.button(say("why_not"), why, "why-not")] : []),
      ...this.switches(off),
    );
  }
}

/** The loss of each head on one token, counted from 1, or on all of them for 0.
 * @type {(all: Numbers, heads: number, token: number) => number[]} */
function lossesOf(all, heads, token) {
  const n = all.length / heads;
  return Array.from({ length: heads }, (_, head) => {
    const own = all.subarray(head * n, (head + 1) * n);
    return token ? own[token - 1] : own.reduce((sum, loss) => sum + loss, 0);
  });
}

/** @type {Record<string, PresetSettings>} */
const MASK_PRESETS = {
  none: {},
  causal: {},
  strictly_causal: {},
  look_ahead: { k: 1 },
  window: { width: 1 },
  causal_window: { width: 1 },
  first_token: {},
};

export class MasksPage extends SitePage {
  of = "";
  /** @type {string | undefined} */
  own;
  static honours = {
    ...showing("masked", "layer", "head", "edit"),
    part: (/** @type {string} */ part) => part === "change",
    // A sentence alone has no padding.
    number: (/** @type {string} */ number) => number === "1",
    batch: (/** @type {string} */ batch) => !batch.trim(),
  };
  static beside = ["a", "b"];

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "matrices", { report: (/** @type {Painted} */ edit) => this.painted(edit) });
    this.epoch = 0;
  }

  get kind() {
    const { masked } = this.query;
    if (masked && !KINDS.includes(masked)) this.misfit("masked");
    return KINDS.includes(masked) ? masked : "decoder";
  }

  /** @type {(edit: Painted) => Promise<void>} */
  async painted({ rows, columns, bits }) {
    const bytes = Uint8Array.from(atob(bits), (letter) => letter.charCodeAt(0));
    await this.take({
      bits: Uint8Array.from({ length: rows * columns }, (_, cell) => (bytes[cell >> 3] >> (7 - (cell & 7))) & 1),
      queries: rows,
      keys: columns,
    });
  }

  /** Puts a mask of the kind that is shown in the place of the model's own.
   * @type {(mask: { bits: Uint8Array; queries: number; keys: number }) => Promise<void>} */
  async take(mask) {
    const edit = await writtenEdit({ kind: this.kind, ...mask });
    const others = (this.query.edit ?? "").split("~").filter((each) => each && !each.startsWith(`${this.kind}:`));
    this.own = [...others, edit].join("~");
    this.talk.change({ edit: this.own });
  }

  /** The rows and the columns of each kind of attention.
   * @type {(trace: EngineTrace) => Record<string, [rows: Pieces, columns: Pieces]>} */
  sizes({ source, target }) {
    return { encoder: [source, source], decoder: [target, target], cross: [target, source] };
  }

  /** The masks of the address that fit the sentence, as the engine takes them.
   * @type {(trace: EngineTrace) => Promise<MaskEdit[]>} */
  async edits(trace) {
    const read = await readEdits(this.query.edit ?? "");
    const fitted = read.flatMap((edit) => {
      const [rows, columns] = this.sizes(trace)[edit.kind];
      return fittedEdit(edit, rows.ids.length, columns.ids.length) ?? [];
    });
    /** @type {(kind: string, layer: number) => boolean} */
    const known = (kind, layer) => this.kinds.some((each) => each.kind === kind && each.layers.includes(layer));
    const masks = fitted.flatMap(engineMasks).filter(({ kind, layer = null }) => layer === null || known(kind, layer));
    const count = this.query.edit?.split("~").length ?? 0;
    if (masks.length < read.flatMap(engineMasks).length || read.length < count) this.misfit("edit");
    return masks;
  }

  async draw() {
    const isCurrent = this.begin();
    const { talk, kind } = this;
    const whole = await talk.shown();
    if (!whole) return;
    const masks = await this.edits(whole);
    // The translation that is there is read under the mask, so that both pictures have the same words.
    const shown = masks.length ? await talk.trace({ masks, ids: whole.predictions.ids }) : whole;
    if (!shown || !isCurrent()) return;
    if (this.own !== this.query.edit || this.of !== `${talk.text} ${kind}`) {
      Object.assign(this, { own: this.query.edit, of: `${talk.text} ${kind}`, epoch: this.epoch + 1 });
    }
    const { layers, heads } = this.template.kinds.find((each) => each.kind === kind) ?? this.template.kinds[0];
    const [layer, head] = [this.number("layer", 0, 0, layers.length - 1), this.number("head", 0, 0, heads - 1)];
    const at = (/** @type {EngineTrace} */ trace) => trace.maps.find((map) => map.kind === kind && map.layer === layer) ?? trace.maps[0];
    const [own, map] = [at(whole), at(shown)];
    const { queries, keys } = map;
    const size = queries * keys;
    const [before, allowed] = [own, map].map((each) => each.allowed.bits.subarray(0, size));
    this.menus({ kind, layer, head, layers: layers.length, heads, before, allowed, queries, keys });
    const [rows, columns] = this.sizes(whole)[kind].map(({ tokens }) => tokens.map(tokenText));
    const axes = { queries: rows, keys: columns, queryTitle: say("query"), keyTitle: say("key") };
    const base = Uint8Array.from(before, (bit) => (bit ? 0 : FUTURE));
    const names = ["allowed", "future", "padding", "both", "by_edit"].map((name) => say(`cell_${name}`));
    /** @type {GivenPanel[]} */
    const panels = [
      {
        ...axes,
        ...{ title: say("paint"), scale: "category", names, colors: talk.card.cells, base, start: allowed, byEdit: BY_EDIT },
        values: Uint8Array.from(base, (reason, cell) => (allowed[cell] ? 0 : reason || BY_EDIT)),
        alt: say("mask_of", { kind: say(kind) }),
      },
      {
        ...axes,
        ...{ title: say("head_name", { kind: say(kind), layer, head }), shown: allowed, unit: say("weight"), alt: say("weights_under") },
        values: map.weights.subarray(head * size, (head + 1) * size),
      },
    ];
    const packing = { themes: this.template.themes, stage: talk.isStaged, epoch: this.epoch, name: this.of, help: say("painting_help") };
    await this.part.update(packedPanels(panels, packing));
    this.caption.textContent = say("mask_note");
    if (!masks.length) {
      this.note.replaceChildren();
      return;
    }
    const [written, free] = [await talk.translation({ masks }), await talk.trace()];
    if (written && free && isCurrent()) this.compare(written.text, free.text);
  }

  /**
   * @param {{ kind: string, layer: number, head: number, layers: number, heads: number, before: Uint8Array,
   *   allowed: Uint8Array, queries: number, keys: number }} shown
   */
  menus({ kind, layer, head, layers, heads, before, allowed, queries, keys }) {
    /** @type {[name: string, mask: AttentionMask][]} */
    const masks = Object.entries(MASK_PRESETS).map(([name, settings]) => [name, presetMask(name, settings, queries, keys)]);
    const alike = (/** @type {Uint8Array} */ bits) => bits.every((bit, cell) => bit === allowed[cell]);
    const [present = "painted"] = alike(before) ? ["own"] : (masks.find(([, { bits }]) => alike(bits)) ?? []);
    const names = ["own", ...masks.map(([name]) => name), ...(present === "painted" ? ["painted"] : [])];
    const menu = this.menu(say("mask"), "edit", names.map((name) => [name, say(`mask_${name}`)]), present, (name) => {
      const chosen = masks.find(([each]) => each === name)?.[1];
      if (chosen) this.take(chosen);
      else if (name === "own") this.talk.change({ edit: "" });
    });
    /** @type {(count: number) => [string, string][]} */
    const numbered = (count) => Array.from({ length: count }, (_, place) => [String(place), String(place)]);
    this.control(
      this.controls,
      this.tabs(say("attention"), "masked", this.kinds.map((each) => [each.kind, worded(each).short]), kind),
      menu,
      // What the decoder does under a mask is its own translation, not a given one.
      ...(this.query.edit ? [this.button(say("step_by_step"), () => this.talk.go("decoding", { ...this.talk.shared, target: "", mask: this.query.edit }))] : []),
    );
    this.offer(this.menu(say("layer"), "layer", numbered(layers), String(layer)), this.menu(say("head"), "head", numbered(heads), String(head)));
  }
}

export class PositionsPage extends SitePage {
  static honours = {
    ...showing("length", "scale", "shift", "reverse", "side", "shuffled"),
    topic: (/** @type {string} */ topic) => ["table", "without", "shuffle"].includes(topic),
  };
  static beside = ["waves", "pair", "at", "cosine", "d_model", "rows", "base"];

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "matrices");
  }

  async draw() {
    const isCurrent = this.begin();
    const { talk } = this;
    const { length = "sentence" } = this.query;
    // What the app removes positions in is what the page opens with.
    const topic = this.query.topic === "without" ? "" : (this.query.topic ?? "");
    const whole = await talk.trace();
    if (!whole || !isCurrent()) return;
    // In the app, the table is that of the model as it is, and another order stands without other changes.
    const { scale, shift, reverse, side } = topic ? AT_REST : this.edit;
    const order = topic === "table" ? null : this.order(whole.source.ids.length - 1);
    const take = (/** @type {string} */ name) => (/** @type {string} */ choice) => talk.change({ ...(topic ? { topic: "", length: "", shuffled: "", scale: "", shift: "", reverse: "", side: "" } : {}), [name]: choice });
    /** @type {(label: string, name: string, options: [string, string][], value: string) => HTMLElement} */
    const menu = (label, name, options, value) => this.menu(label, name, options, value, take(name));
    this.control(
      this.controls,
      menu(say("strength"), "scale", withChosen([100, 75, 50, 25, 0], scale).reverse().map((share) => [String(share), share ? percent(share / 100) : say("removed")]), String(scale)),
      menu(say("shift"), "shift", withChosen([-4, -2, -1, 0, 1, 2, 4, 8], shift).map((by) => [String(by), signed(by)]), String(shift)),
      menu(say("order"), "reverse", [["", say("order_own")], ["1", say("order_reversed")]], reverse ? "1" : ""),
    );
    this.offer(menu(say("where"), "side", [["both", say("both")], ["encoder", say("in_encoder")], ["decoder", say("in_decoder")]], side));
    /** @type {HTMLSelectElement} */ (part(this.options, "#menu-side")).disabled = reverse;
    const edit = { scale: scale / 100, shift, reverse, side };
    const ordered = order ? { sourceOrder: order } : {};
    const under = { ...(scale === 100 && !shift && !reverse ? {} : { positions: edit }), ...ordered };
    const isChanged = Object.keys(under).length > 0;
    const shown = isChanged ? await talk.trace(under) : whole;
    const bare = topic === "shuffle" ? await talk.translation({ positions: { scale: 0 }, ...ordered }) : null;
    const rows = topic === "shuffle" ? null : await this.rows(shown, length);
    if (!shown || !isCurrent()) return;
    this.part.host.hidden = !rows;
    if (rows) await this.part.update(this.tableOf(rows, shown, whole));
    this.caption.textContent = topic === "shuffle" ? "" : say(rows ? "positions_note" : "positions_inside");
    if (!isChanged && !bare) this.note.replaceChildren();
    else if (order) this.compare(shown.text, whole.text, say("shuffled", { words: textOfTokens(shown.source.tokens.slice(0, -1)).replaceAll(WORD_START, " ").trim() }));
    else this.compare(shown.text, whole.text);
    if (bare) this.note.append(` · ${say("without_positions")} `, element("strong", "", { dir: "auto" }, bare.text || say("nothing")));
  }

  /** How positions change, from the address. */
  get edit() {
    const reverse = this.query.reverse === "1";
    const { side = "both" } = this.query;
    if (!["both", "encoder", "decoder"].includes(side)) this.misfit("side");
    return {
      scale: this.number("scale", 100, 0, 100),
      shift: this.number("shift", 0, -16, 16),
      reverse,
      // While the decoder writes, its last position is not known.
      side: reverse ? "encoder" : ["encoder", "decoder"].includes(side) ? side : "both",
    };
  }

  /** The rows of the table at a length that the address names: those of the sentence, or as many as the model takes, or twice that.
   * @type {(shown: EngineTrace | null, length: string) => Promise<Numbers[] | null>} */
  async rows(shown, length) {
    const limit = this.talk.card.config.max_positions ?? 0;
    const count = length === "limit" ? limit : length === "beyond" ? 2 * limit : 0;
    if (!count && length !== "sentence") this.misfit("length");
    if (!count || !shown?.positions.encoder) return shown?.positions.encoder ?? null;
    return this.talk.known(`table ${count}`, (engine, signal) => engine.call("table", [count], { signal }));
  }

  /** @type {(rows: Numbers[], shown: EngineTrace, whole: EngineTrace) => Bytes} */
  tableOf(rows, shown, whole) {
    const step = Math.max(1, Math.ceil(rows[0].length / MOST_COLUMNS));
    const columns = pairColumns(rows[0].length, step);
    const dimension = say("dimension");
    const values = rows.flatMap((row) => columns.map((column) => row[column]));
    const isShort = rows.length === shown.source.tokens.length;
    // On the scale of the table as it is.
    const limit = Math.max(...(whole.positions.encoder ?? []).flatMap((row) => columns.map((column) => Math.abs(row[column]))), 1e-6);
    /** @type {GivenPanel} */
    const panel = {
      ...{ title: say("table"), values, queries: isShort ? shown.source.tokens.map(tokenText) : [...rows.keys()].map(String), keys: columns.map(String) },
      ...{ queryTitle: say(isShort ? "token" : "position"), keyTitle: step > 1 ? say("one_pair_in", { name: dimension, step }) : dimension, scale: "signed", low: -limit, high: limit },
      ...{ unit: say("value"), pointed: say("at_dimension"), alt: say("table_of") },
    };
    return packedPanels([panel], { themes: this.template.themes, stage: this.talk.isStaged });
  }

  /** Another order of so many source tokens, as the address has it; null for their own.
   * @type {(count: number) => number[] | null} */
  order(count) {
    const { shuffled = "" } = this.query;
    const places = shuffled.split(".").map(Number);
    const isOrder = places.length === count && new Set(places).size === count && places.every((place) => Number.isInteger(place) && place >= 0 && place < count);
    if (shuffled && !isOrder) this.misfit("shuffled");
    return isOrder ? places : null;
  }
}

export class AboutPage extends SitePage {
  static runs = false;

  /** @param {Site} talk */
  constructor(talk) {
    super(talk, "");
    const paragraph = (/** @type {string} */ key) => element("p", "", {}, say(key));
    this.root.append(paragraph("about_what"), paragraph("about_private"), paragraph("about_app"), element("p", "", {}, talk.card.about));
    this.root.classList.add("about");
  }
}
