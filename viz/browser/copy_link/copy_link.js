// A link, a button that copies it, and its QR code, which can fill the screen.

import { drawn } from "../canvas/dom.js";
import { mounted } from "../canvas/mount.js";

const LOOK_AGAIN = 300;
const SAID = 2500;

/** @typedef {{ size: number, path: string }} Code */

class CopyLink {
  passing = "";
  large = qr();
  printed = made("p", { className: "printed" });
  largeNotes = made("div", { className: "notes" });
  /** @type {number | undefined} */
  waiting;
  /** @type {Trigger} */
  tell;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.text = made("textarea", { readOnly: true, rows: 3, spellcheck: false });
    this.text.setAttribute("aria-label", "Link to this view");
    this.text.addEventListener("focus", () => this.text.select());
    this.copy = made("button", { type: "button", className: "copy", textContent: "Copy link" });
    this.copy.addEventListener("click", () => this._copy());
    this.enlarge = made("button", { type: "button", className: "enlarge", textContent: "Show large" });
    this.enlarge.addEventListener("click", () => this._showLarge(true));
    const row = made("div", { className: "row" });
    row.append(this.copy, this.enlarge);
    this.spoken = made("div", { className: "spoken" });
    this.spoken.setAttribute("aria-live", "polite");
    this.notes = made("div", { className: "notes" });
    this.small = qr();
    this.stage = this._makeStage();
    root.replaceChildren(this.small, this.text, row, this.spoken, this.notes, this.stage);
    // In the capture phase: the popover around this would use the key itself.
    this.leave = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this._showLarge(false);
    };
    this.seen = location.href;
    this.watch = setInterval(() => this._look(), LOOK_AGAIN);
  }

  _makeStage() {
    const stage = made("dialog", {});
    stage.setAttribute("aria-label", "QR code of the link to this view");
    const heading = made("p", { className: "heading", textContent: "Scan to open this view" });
    const close = made("button", { type: "button", textContent: "Close" });
    close.addEventListener("click", () => this._showLarge(false));
    stage.append(heading, this.largeNotes, this.large, this.printed, close);
    return stage;
  }

  /** @type {(given: { link: string; code: Code | null; notes: string[] }, _: Reporter, tell: Trigger) => void} */
  update({ link, code, notes }, _, tell) {
    this.tell = tell;
    this.text.value = link;
    this.printed.textContent = link;
    for (const place of [this.notes, this.largeNotes]) {
      place.replaceChildren(...notes.map((textContent) => made("p", { textContent })));
    }
    for (const picture of [this.small, this.large]) draw(picture, code);
    this.enlarge.hidden = !code;
    if (!code) this._showLarge(false);
    this.root.dataset.painted = link;
  }

  /** @type {(isLarge: boolean) => void} */
  _showLarge(isLarge) {
    if (isLarge) {
      this.stage.showModal();
      addEventListener("keydown", this.leave, true);
    } else {
      this.stage.close();
      removeEventListener("keydown", this.leave, true);
    }
  }

  /** Asks Python for a new link once the address has changed and stayed the same for a while. */
  _look() {
    const here = location.href;
    if (here === this.seen) return;
    if (here === this.passing) {
      this.seen = here;
      this.tell("moved", here);
    }
    this.passing = here;
  }

  async _copy() {
    let said = "Copied";
    try {
      // Browsers offer no clipboard to pages served over plain http from another machine.
      await navigator.clipboard.writeText(this.text.value);
    } catch {
      this.text.focus();
      this.text.select();
      if (!document.execCommand("copy")) said = "Press Ctrl+C or Cmd+C";
    }
    this.copy.textContent = said;
    this.spoken.textContent = said;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.copy.textContent = "Copy link";
      this.spoken.textContent = "";
    }, SAID);
  }

  dispose() {
    this._showLarge(false);
    clearInterval(this.watch);
    clearTimeout(this.waiting);
  }
}

/** @type {<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, properties: object) => HTMLElementTagNameMap[Tag]} */
function made(tag, properties) {
  return Object.assign(document.createElement(tag), properties);
}

function qr() {
  const told = { class: "code", role: "img", "aria-label": "QR code of the link", "shape-rendering": "crispEdges" };
  return drawn("svg", told, drawn("path", {}));
}

/** @type {(picture: SVGElement, code: Code | null) => void} */
function draw(picture, code) {
  picture.toggleAttribute("hidden", !code);
  if (!code) return;
  picture.setAttribute("viewBox", `0 0 ${code.size} ${code.size}`);
  picture.firstElementChild?.setAttribute("d", code.path);
}

export default mounted(".copy-link", (root) => new CopyLink(root));
