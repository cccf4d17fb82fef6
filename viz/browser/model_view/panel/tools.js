// Above all heads: their kinds, and behind Options how they are read and drawn.

import constants from "../../../draw/constants.json" with { type: "json" };
import { Choices, toggle, zoomButtons } from "../../canvas/controls.js";
import { element } from "../../canvas/dom.js";
import { lowered, tr } from "../../canvas/wording.js";
import { READINGS, isChanged, lacksJoint, measuresOf } from "../how.js";

/** The options of a menu. @type {(entries: string[][]) => HTMLElement[]} */
const choices = (entries) => entries.map(([value, text]) => element("option", "", { value }, text));

/**
 * @typedef {object} ToolCalls
 * @property {(attention: string) => void} attention - another kind was chosen.
 * @property {(changes: Partial<Chosen>) => void} change
 * @property {() => void} compare - begin or end a comparison.
 * @property {(step: number) => void} zoom - the overview.
 */

export class HeadTools {
  /** @type {Chosen} */
  state;

  /** @param {ToolCalls} on @param {{ reads: boolean }} can - `reads`: whether somebody can read the trace in another way. */
  constructor(on, { reads }) {
    this.on = on;
    this.attentions = new Choices(tr("Attention"), on.attention);
    this.views = new Choices(tr("View"), (view) => on.change({ view }));
    this.compare = toggle(
      tr("Compare heads"),
      tr("Click heads to add them to the picture; at any time, Shift+click, Ctrl+click or C does the same"),
      on.compare,
    );
    this.compare.classList.add("adds");
    this.readings = new Map(
      READINGS.map(([name, text, title]) => [
        name,
        toggle(tr(text), tr(title), () =>
          on.change({ reading: { ...this.state.reading, [name]: !this.state.reading[name] }, cell: null }),
        ),
      ]),
    );
    this.order = element("select", "", { "aria-label": tr("Order of heads") });
    this.order.addEventListener("change", () => on.change({ order: this.order.value }));
    this.gamma = element("input", "", {
      type: "range",
      min: "0",
      max: String(constants.GAMMAS.length - 1),
      step: "1",
      "aria-label": tr("Bring out faint weights"),
      title: tr("Bring out faint weights"),
    });
    this.gamma.addEventListener("input", () => on.change({ gamma: constants.GAMMAS[Number(this.gamma.value)] }));
    this.only = element("select", "", { "aria-label": tr("Heads shown") });
    this.only.addEventListener("change", () => on.change({ only: this._onlyOf(this.only.value) }));
    const setting = (/** @type {string} */ name, /** @type {HTMLElement} */ field) => element("label", "setting", {}, `${name} `, field);
    const toggles = element("div", "toggles", {}, this.compare, ...(reads ? this.readings.values() : []));
    this.options = element(
      "div",
      "options",
      { role: "group", "aria-label": tr("Options"), hidden: "" },
      this.views.root,
      toggles,
      setting(tr("Order by"), this.order),
      setting(tr("Heads shown"), this.only),
      setting(tr("Faint weights"), this.gamma),
      zoomButtons("overview", on.zoom),
    );
    this.button = element("button", "unfold", { type: "button", title: tr("How the heads are read and drawn"), "aria-expanded": "false" });
    this.button.textContent = tr("Options");
    this.button.addEventListener("click", () => this.unfold(Boolean(this.options.hidden)));
    this.unfolds = element("div", "unfolds", {}, this.button, this.options);
    this.root = element("div", "toolbar", {}, this.attentions.root, this.unfolds);
    this.onDown = (/** @type {Event} */ event) => {
      if (!event.composedPath().includes(this.unfolds)) this.unfold(false);
    };
    document.addEventListener("pointerdown", this.onDown, true);
  }

  dispose() {
    document.removeEventListener("pointerdown", this.onDown, true);
  }

  /** Shows or hides what is seldom changed. @type {(unfolded: boolean) => void} */
  unfold(unfolded) {
    this.options.hidden = !unfolded;
    this.button.setAttribute("aria-expanded", String(unfolded));
  }

  /** Hides Options; whether they were shown. */
  letGo() {
    if (this.options.hidden) return false;
    this.unfold(false);
    this.button.focus();
    return true;
  }

  /** Shows what is chosen. @type {(payload: TracePayload, state: Chosen) => void} */
  show(payload, state) {
    this.state = state;
    const { reading, attention } = state;
    this.views.show([["heatmap", tr("Heatmap")], ["lines", tr("Lines")]], state.view);
    this.button.classList.toggle("changed", isChanged(state));
    this.compare.setAttribute("aria-pressed", String(state.compare.length > 0));
    this.gamma.disabled = state.view === "lines";
    for (const [name, button] of this.readings) button.setAttribute("aria-pressed", String(Boolean(reading[name])));
    this._reading("renormalise").hidden = reading.specials !== false;
    // Rows without predictions cannot be named by them.
    this._reading("predicted").hidden = attention !== "cross" || payload.kind("cross").beside === null;
  }

  /** Offers what the heads of the chosen kind can be shown as. @type {(payload: TracePayload, state: Chosen) => void} */
  offer(payload, state) {
    const kind = payload.kind(state.attention);
    /** @type {Parameters<Choices["show"]>[0]} */
    const kinds = payload.attentions.map((name) => [name, payload.kind(name).short]);
    if (lacksJoint(payload)) {
      kinds.push([constants.JOINT, tr("All three"), tr("Available when rows of cross-attention are named by the token just read")]);
    }
    this.attentions.root.title = payload.surveyed ? tr("Each kind opens with its most informative head") : "";
    this.attentions.show(kinds, state.attention);
    const orders = [
      ["", tr("layer and head")],
      ...measuresOf(payload, kind).map(({ key, name }) => [key, lowered(name)]),
    ];
    this.order.replaceChildren(...choices(orders));
    this.order.value = state.order;
    this.order.title = state.order && tr("Largest first");
    this.gamma.value = String(constants.GAMMAS.indexOf(state.gamma));
    this._offerOnly(kind, state.only);
  }

  /** Offers every layer, and every head of all layers, to be shown alone. @type {(kind: Kind, only: Only | null) => void} */
  _offerOnly(kind, only) {
    const layers = kind.layers.map((layer, place) => [`layer.${place}`, tr("Layer {layer}", { layer })]);
    const heads = Array.from({ length: kind.heads }, (_, head) => [`head.${head}`, tr("Head {head}", { head })]);
    this.only.replaceChildren(...choices([["", tr("all of them")], ...layers, ...heads]));
    this.only.value = only === null ? "" : Object.entries(only)[0].join(".");
  }

  /** What an option of the field shows alone. @type {(value: string) => Only | null} */
  _onlyOf(value) {
    const [what, which] = value.split(".");
    return value ? { [what]: Number(which) } : null;
  }

  /** @type {(name: string) => HTMLButtonElement} */
  _reading(name) {
    return /** @type {HTMLButtonElement} */ (this.readings.get(name));
  }
}
