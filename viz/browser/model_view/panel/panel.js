// All heads of a kind beside the picture of one: what is chosen among them, and what the chosen one does.

import constants from "../../../draw/constants.json" with { type: "json" };
import { Tooltip, said, toggle } from "../../canvas/controls.js";
import { element } from "../../canvas/dom.js";
import { plainKey, typing } from "../../canvas/keys.js";
import { countOf, labelled, tr } from "../../canvas/wording.js";
import { headsAt, shownHeads, withCompared } from "../how.js";
import { headName, summaryOf, titleOf } from "../head_words.js";
import { withAttention, withSwitched } from "./chosen.js";
import { AboutHead } from "./about_head.js";
import { Overview } from "./overview.js";
import { WeightScale } from "./scale.js";
import { HeadTools } from "./tools.js";

/** @import { Tile } from "./overview.js" */
/**
 * @typedef {object} PanelCalls
 * @property {(changes: Partial<Chosen>) => void} change
 * @property {() => void} activate - goes to the picture of the selected head.
 * @property {(text: string) => void} refuse - says why a head does not join the comparison.
 * @property {(text: string) => void} say - to a screen reader.
 * @property {Trigger} trigger
 */
/** Whether Python is there, and whether it, or the page's own engine, reads the trace in another way and switches heads off.
 * @typedef {{ python: boolean, runs: boolean }} Abilities */

export class HeadsPanel {
  /** @type {TracePayload} */
  payload;
  /** @type {Chosen} */
  state;
  /** @type {Palette} */
  palette;

  /** @param {HTMLElement} root - of the component. @param {PanelCalls} on @param {Abilities} can */
  constructor(root, on, can) {
    this.on = on;
    this.can = can;
    this.tools = new HeadTools(
      {
        attention: (attention) => this.changeAttention(attention),
        change: (changes) => on.change(changes),
        compare: () => this._setAdding(!this.adding),
        zoom: (step) => this.overview.zoomBy(step),
      },
      { reads: can.runs },
    );
    this.overview = new Overview({
      select: (layer, head, adds) => this.select(layer, head, adds || this.adding),
      point: (tile, place, spoken) => this._tip(tile, place, spoken),
      only: (only) => on.change({ only }),
      activate: () => on.activate(),
    });
    this.scale = new WeightScale();
    this.all = toggle(tr("Show all heads"), tr("Return to every layer and head"), () => on.change({ only: null }));
    this.all.removeAttribute("aria-pressed");
    this.scale.root.append(this.all);
    this.about = new AboutHead({
      switchOff: () => this.switchShown(),
      corpus: () => on.trigger("corpus", true),
      model: () => on.trigger("model", this._placeInModel()),
    });
    this.tooltip = new Tooltip(root);
    this.root = element(
      "section",
      "left",
      { "aria-label": tr("All heads") },
      element("div", "overview-room", {}, this.overview.root),
      this.scale.root,
      this.about.root,
    );
    root.addEventListener("keydown", (event) => this._key(event));
  }

  dispose() {
    this.tools.dispose();
  }

  // ---- choosing ---------------------------------------------------------------------------------------------------

  /** Whether clicking a head adds it to the picture. */
  get adding() {
    return this.state.compare.length > 0;
  }

  /** @type {(attention: string) => void} */
  changeAttention(attention) {
    this.on.change(withAttention(this.state, attention, this.payload));
  }

  /** @type {(layer: number, head: number, adds: boolean) => void} */
  select(layer, head, adds) {
    const changes = adds ? withCompared(this.state, layer, head) : { layer, head, compare: [] };
    if (!changes) {
      this.on.refuse(tr("Up to {most} heads can be compared.", { most: constants.MOST_COMPARED }));
      return;
    }
    this.on.change(changes);
    this.on.say(summaryOf(this.payload, this.state.attention, this.state.layer, this.state.head));
  }

  /** @type {(adding: boolean) => void} */
  _setAdding(adding) {
    const { layer, head } = this.state;
    this.on.change({ compare: adding ? [[layer, head]] : [] });
    this.on.say(adding ? compareHint() : "");
    // The next thing is to choose a head.
    this.tools.unfold(false);
    this.overview.canvas.focus();
  }

  /** Selects the head so many layers down and heads to the right, if there is one. @type {(down: number, right: number) => void} */
  step(down, right) {
    const [layer, head] = [this.state.layer + down, this.state.head + right];
    const { layers, heads } = this.payload.kind(this.state.attention);
    if (layer >= 0 && head >= 0 && layer < layers.length && head < heads) this.select(layer, head, false);
  }

  /** Lets go of one thing that is chosen beside a head and a cell; whether there was any. */
  letGo() {
    if (this.adding) {
      this.on.change({ compare: [] });
      this.on.say(tr("Comparison ended."));
    } else if (this.state.only) {
      this.on.change({ only: null });
      this.on.say(tr("All heads are shown."));
    } else return false;
    return true;
  }

  // ---- switching off ----------------------------------------------------------------------------------------------

  /** Whether there is a model to run without a head. */
  get canSwitchOff() {
    return this.can.runs && this.payload.canSwitchOff;
  }

  /** The heads in the picture, as an address has them. */
  get _shown() {
    return shownHeads(this.state).flatMap(([layer, head]) => headsAt(this.payload, this.state.attention, layer, head));
  }

  /** Whether what the picture shows is switched off. */
  get isOff() {
    return this._shown.every((each) => this.state.off.includes(each));
  }

  /** Switches the head, or the heads, in the picture off, or on again where all of them are off. */
  switchShown() {
    this.on.change({ off: withSwitched(this.state.off, this._shown) });
    const name = titleOf(this.payload.kind(this.state.attention), this.state);
    this.on.say(this.isOff ? tr("{name}: switched off.", { name }) : tr("{name}: switched on again.", { name }));
  }

  /** Keys that act on the selected head, wherever in the component the focus is. @type {(event: KeyboardEvent) => void} */
  _key(event) {
    if (!this.canSwitchOff || plainKey(event) !== "x" || typing(event)) return;
    this.switchShown();
    event.preventDefault();
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  /** The heads in the picture with their weights and, if there are several, their colours. @returns {DrawnHead[]} */
  get drawn() {
    const { payload, palette, state } = this;
    const { heads } = palette.theme;
    const shown = shownHeads(state);
    return shown.map(([layer, head], index) => ({
      layer,
      head,
      color: shown.length > 1 ? heads[index % heads.length] : null,
      cells: payload.cells(state.attention, layer, head),
    }));
  }

  /** Takes what is chosen. @type {(payload: TracePayload, state: Chosen, palette: Palette) => void} */
  take(payload, state, palette) {
    Object.assign(this, { payload, state, palette });
  }

  /** Shows what was taken; `anew` is how high the page is where the overview shows something else than before.
   * @param {number | null} anew */
  show(anew) {
    const { payload, state, palette, overview } = this;
    const kind = payload.kind(state.attention);
    this.tools.show(payload, state);
    if (anew !== null) {
      this.tools.offer(payload, state);
      this.all.hidden = state.only === null;
      overview.canvas.setAttribute(
        "aria-label",
        tr("{name}: {layers} of {heads}. Arrow keys choose a head, Enter goes to its picture, c adds it to a comparison, {off}plus and minus zoom.", {
          ...{ name: kind.name, layers: countOf(kind.layers.length, "layer"), heads: countOf(kind.heads, "head") },
          off: this.canSwitchOff ? tr("x switches it off, ") : "",
        }),
      );
      overview.show(payload, state, palette, anew);
      this.scale.show(payload, state, palette);
    } else {
      overview.state = state;
      overview.reveal();
    }
    this.about.show(payload, state, this.drawn, {
      isOff: this.isOff,
      canSwitchOff: this.canSwitchOff,
      inCorpus: this.can.python && payload.inCorpus,
      inModel: this.can.runs && state.attention !== constants.JOINT,
    });
  }

  /** Where the selected head lies in the picture of the model, or its selected cell (model_view/places.js). */
  _placeInModel() {
    const { attention, layer, head, cell, reading } = this.state;
    // A reading gives rows and columns other numbers.
    const isRead = reading.words || reading.predicted || reading.specials === false;
    return [attention, this.payload.kind(attention).layers[layer], head, ...(isRead ? [] : (cell ?? []))].join(".");
  }

  /** @type {(tile: Tile | undefined, place?: Spot, spoken?: boolean) => void} */
  _tip(tile, place, spoken) {
    if (!tile) {
      this.tooltip.show(null);
      return;
    }
    const { payload, state } = this;
    const facts = payload.facts(state.attention, tile.layer, tile.head);
    const lines = [said("strong", headName(payload.kind(state.attention), tile.layer, tile.head))];
    if (facts?.label) lines.push(said("strong", facts.label));
    if (facts?.sentence) lines.push(said("", facts.sentence), said("beside", facts.numbers));
    for (const [name, part] of facts?.parts ?? []) lines.push(said("", labelled(name, part.label ?? part.sentence)));
    this.tooltip.show(place ?? null, ...lines);
    if (spoken) this.on.say(summaryOf(payload, state.attention, tile.layer, tile.head));
  }
}

/** How to go on comparing. */
export const compareHint = () => tr("Click more heads to compare them, up to eight in all.");
