// The explorer as a widget of a notebook: anywidget's model stands where Streamlit does in the app.

/* global STYLE: the style sheet, which widget.py writes before this script. */

import { Explorer } from "./browser/explorer/explorer.js";
import { spelled } from "./browser/explorer/selection.js";
import { element } from "./browser/canvas/dom.js";
import { luminance } from "./browser/canvas/paint.js";

/** The selection as Python has it, of one as the explorer spells it: layers have their own numbers there. */
export function toPython({ attention, layer, head, cell }, payload) {
  return {
    kind: attention,
    layer: payload.kind(attention).layers[Number(layer)],
    head: Number(head),
    cell: cell ? cell.split(".").map(Number) : null,
  };
}

/** What the explorer selects, of a selection that Python has checked. */
export function fromPython({ kind, layer, head, cell }, payload) {
  return { attention: kind, layer: payload.kind(kind).layers.indexOf(layer), head, cell };
}

/** Whether two selections of Python's are the same. */
export function isSame(one, other) {
  const values = ({ kind, layer, head, cell }) => JSON.stringify([kind, layer, head, cell]);
  return values(one) === values(other);
}

/** The bytes of a trait, which one notebook gives as a DataView and another as an array. */
export function bytesOf({ buffer, byteOffset, byteLength }) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** What the explorer is updated with in the app, from a model: data, and who is told of a selection. */
export function link(model, explorer) {
  const selected = () => toPython(spelled(explorer.state), explorer.payload);
  const report = (selection) => {
    const told = toPython(selection, explorer.payload);
    if (isSame(told, model.get("selection"))) return;
    model.set("selection", told);
    model.save_changes();
  };
  const take = () => {
    const asked = model.get("selection");
    if (!isSame(asked, selected())) explorer.select(fromPython(asked, explorer.payload));
  };
  return { data: bytesOf(model.get("_payload")), report, take };
}

/** Whether light text stands on a dark ground, in whatever way a colour is written. */
function isDark(color) {
  const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  return luminance([...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3)) > 0.4;
}

/** Whether an element stands in a dark notebook: JupyterLab says so itself, others by the colour of their text. */
function isOnDark(host) {
  const isLight = document.body.dataset.jpThemeLight;
  return isLight ? isLight === "false" : isDark(getComputedStyle(host).color);
}

function render({ model, el }) {
  const host = element("div");
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  // Every notebook colours its text, and a colour is inherited; the end of its transition tells of another theme.
  // A cell that is scrolled away has no transitions, so its theme is looked up when it comes back.
  const probe = element("span", "probe", { "aria-hidden": "true" });
  const root = element("div", "headscope explorer", { role: "group", "aria-label": "Every attention head" });
  const frame = element("div", "frame", {}, root);
  shadow.append(probe, frame);
  el.append(host);

  // JupyterLab hears keys before the explorer does, and has a meaning of its own for arrows, c and x.
  host.dataset.lmSuppressShortcuts = "true";
  host.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) event.stopPropagation();
  });

  let explorer = null;
  let linked = null;
  const draw = () => {
    // What is not on the page yet, or hidden, has no size to draw in and no colours.
    if (!root.clientWidth) return;
    const dark = model.get("_dark") ?? isOnDark(host);
    frame.dataset.theme = dark ? "dark" : "light";
    explorer ??= new Explorer(root, { canAskPython: false, height: model.get("_height") });
    linked ??= link(model, explorer);
    explorer.update(linked.data, linked.report);
  };
  const take = () => linked?.take();
  const sized = new ResizeObserver(() => {
    const isFirst = explorer === null;
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
    explorer?.dispose();
    host.remove();
  };
}

export default { render };
