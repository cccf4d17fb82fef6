// All heads as a notebook widget: anywidget's model takes Streamlit's place.

/* global STYLE -- the style sheet, defined by widget.py ahead of this script. */

import { element } from "./browser/canvas/dom.js";
import { isOnDark } from "./browser/canvas/on_dark.js";
import { HeadsView } from "./browser/model_view/heads_view.js";
import { chosenSpelled } from "./browser/model_view/panel/chosen.js";

/** A selection in Python's form. @typedef {{ kind: string, layer: number, head: number, cell: Cell | null }} Selection */

/**
 * What anywidget gives a widget.
 *
 * @typedef {object} Model
 * @property {<Value>(name: string) => Value} get
 * @property {(name: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, hear: () => void) => void} on
 * @property {(event: string, hear: () => void) => void} off
 */

/** Python's form of what is selected in the browser; Python uses the model's layer numbers.
 * @type {(spelling: Spelling, payload: Pick<TracePayload, "kind">) => Selection} */
export function toPython({ attention, layer, head, cell }, payload) {
  return {
    kind: attention,
    layer: payload.kind(attention).layers[Number(layer)],
    head: Number(head),
    cell: cell ? /** @type {Cell} */ (cell.split(".").map(Number)) : null,
  };
}

/** The browser's form of a selection that Python has checked.
 * @type {(selection: Selection, payload: Pick<TracePayload, "kind">) => Pick<Chosen, "attention" | "layer" | "head" | "cell">} */
export function fromPython({ kind, layer, head, cell }, payload) {
  return { attention: kind, layer: payload.kind(kind).layers.indexOf(layer), head, cell };
}

/** Whether two selections in Python's form are equal. @type {(one: Selection, other: Selection) => boolean} */
export function isSame(one, other) {
  const values = (/** @type {Selection} */ { kind, layer, head, cell }) => JSON.stringify([kind, layer, head, cell]);
  return values(one) === values(other);
}

/** A trait's bytes; notebooks pass a DataView or an array. @type {(view: ArrayBufferView<ArrayBuffer>) => Bytes} */
export function bytesOf({ buffer, byteOffset, byteLength }) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Connects model and view: data and selections from the model, selections back to it.
 * @type {(model: Model, view: Pick<HeadsView, "state" | "payload" | "select">) => { data: Bytes; report: (selection: Spelling) => void; take: () => void }} */
export function link(model, view) {
  const selected = () => toPython(chosenSpelled(view.state), view.payload);
  const report = (/** @type {Spelling} */ selection) => {
    const told = toPython(selection, view.payload);
    if (isSame(told, model.get("selection"))) return;
    model.set("selection", told);
    model.save_changes();
  };
  const take = () => {
    /** @type {Selection} */
    const asked = model.get("selection");
    if (!isSame(asked, selected())) view.select(fromPython(asked, view.payload));
  };
  return { data: bytesOf(model.get("_payload")), report, take };
}

/** @type {(given: { model: Model; el: HTMLElement }) => () => void} */
function render({ model, el }) {
  const host = element("div");
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  // Text colour is inherited in every notebook; the end of its transition signals a change of theme.
  // Cells out of view have no transitions, so the theme is read again when a cell returns.
  const probe = element("span", "probe", { "aria-hidden": "true" });
  const root = element("div", "headscope heads-view", { role: "group", "aria-label": "Every attention head" });
  const frame = element("div", "frame", {}, root);
  shadow.append(probe, frame);
  el.append(host);

  // JupyterLab handles keys before the view, with other meanings for arrows, c and x.
  host.dataset.lmSuppressShortcuts = "true";
  host.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) event.stopPropagation();
  });

  /** @type {HeadsView | null} */
  let view = null;
  // The still picture stands in for a widget that no kernel draws.
  for (const still of document.querySelectorAll(`[data-still="${model.get("_still")}"]`)) still.remove();
  /** @type {ReturnType<typeof link> | null} */
  let linked = null;
  const draw = () => {
    // A detached or hidden root has no size and no colours.
    if (!root.clientWidth) return;
    const dark = model.get("_dark") ?? isOnDark(host);
    frame.dataset.theme = dark ? "dark" : "light";
    view ??= new HeadsView(root, { canAskPython: false, height: model.get("_height") });
    linked ??= link(model, view);
    view.update(linked.data, /** @type {Reporter} */ (linked.report));
  };
  const take = () => linked?.take();
  const sized = new ResizeObserver(() => {
    const isFirst = view === null;
    draw();
    if (isFirst) take();
  });
  sized.observe(root);
  probe.addEventListener("transitionend", draw);
  const themed = new MutationObserver(draw);
  for (const page of [document.documentElement, document.body]) themed.observe(page, { attributes: true });
  const seen = new IntersectionObserver(draw);
  seen.observe(frame);
  model.on("change:selection", take);
  return () => {
    model.off("change:selection", take);
    for (const observer of [sized, themed, seen]) observer.disconnect();
    view?.dispose();
    host.remove();
  };
}

export default { render };
