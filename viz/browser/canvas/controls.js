// Controls that our components share: choices, toggles, zoom buttons, tooltips.

import { element } from "./dom.js";
import { WAYS } from "./roving.js";
import { tr } from "./wording.js";

/** A row of buttons that works like radio buttons, with arrow keys too. */
export class Choices {
  /** @param {string} label @param {(value: string) => void} onChoose */
  constructor(label, onChoose) {
    this.onChoose = onChoose;
    this.shown = "";
    this.root = element("div", "choices", { role: "radiogroup", "aria-label": label });
    this.root.addEventListener("keydown", (event) => this._key(event));
  }

  /** @type {(options: [value: string, text: string, reason?: string | null][], chosen: string) => void} */
  show(options, chosen) {
    const same = JSON.stringify(options) === this.shown;
    // A single option leaves nothing to choose.
    this.root.hidden = options.length < 2;
    if (!same) {
      this.shown = JSON.stringify(options);
      this.root.replaceChildren(
        ...options.map(([value, text, reason]) => {
          const button = element("button", "", { type: "button", role: "radio", value });
          button.textContent = text;
          button.disabled = Boolean(reason);
          button.title = reason ?? "";
          button.addEventListener("click", () => this.onChoose(value));
          return button;
        }),
      );
    }
    for (const button of this._buttons()) {
      const checked = button.value === chosen;
      button.setAttribute("aria-checked", String(checked));
      button.tabIndex = checked ? 0 : -1;
    }
  }

  _buttons() {
    return /** @type {HTMLButtonElement[]} */ ([...this.root.children]);
  }

  /** @type {(event: KeyboardEvent) => void} */
  _key(event) {
    const step = WAYS[event.key];
    if (!step) return;
    const buttons = this._buttons().filter((button) => !button.disabled);
    const at = buttons.findIndex((button) => button.getAttribute("aria-checked") === "true");
    const next = buttons[(at + step + buttons.length) % buttons.length];
    event.preventDefault();
    this.onChoose(next.value);
    next.focus();
  }
}

/** A button that is on or off. @type {(text: string, title: string, onClick: () => void) => HTMLButtonElement} */
export function toggle(text, title, onClick) {
  const button = element("button", "toggle", { type: "button", "aria-pressed": "false", title });
  button.textContent = text;
  button.addEventListener("click", onClick);
  return button;
}

/** The buttons − and +; they call `zoom` with -1 or 1.
 * @type {(what: string, zoom: (step: number) => void) => HTMLElement} */
export function zoomButtons(what, zoom) {
  const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {number} */ step) => {
    const made = element("button", "zoom", { type: "button", "aria-label": label, title: label });
    made.textContent = text;
    made.addEventListener("click", () => zoom(step));
    return made;
  };
  return element(
    "span",
    "zooms",
    {},
    button("−", tr("Zoom the {what} out", { what: tr(what) }), -1),
    button("+", tr("Zoom the {what} in", { what: tr(what) }), 1),
  );
}

/** One line of a tooltip. @type {(className: string, text: string) => HTMLElement} */
export function said(className, text) {
  const line = element("div", className);
  line.textContent = text;
  return line;
}

/** A box of text beside the pointer. */
export class Tooltip {
  /** @param {HTMLElement} root - the component's root; the tooltip stays inside it. */
  constructor(root) {
    this.root = root;
    this.element = element("div", "tooltip", { hidden: "", "aria-hidden": "true" });
  }

  /** Shows lines at a place `{clientX, clientY}`; hides if the place is null.
   * @type {(place: Spot | null, ...lines: Node[]) => void} */
  show(place, ...lines) {
    this.element.hidden = !place;
    if (!place) return;
    this.element.replaceChildren(...lines);
    const box = this.root.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.element;
    const left = Math.max(0, Math.min(place.clientX - box.left + 14, box.width - offsetWidth - 4));
    const below = place.clientY + 18 + offsetHeight < window.innerHeight;
    const top = place.clientY - box.top + (below ? 18 : -12 - offsetHeight);
    this.element.style.transform = `translate(${left}px, ${top}px)`;
  }
}
