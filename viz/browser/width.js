// Tells Python how many figures of a comfortable width fit side by side, whenever that number changes.
// Every report reruns the page, and a window passes through hundreds of widths while it is resized.

import { mounted } from "./canvas/mount.js";

const QUIET = 150;

class Teller {
  /** @type {{ columns: number, room: number, gap: number, abreast: number }} */
  data;
  told = 0;
  /** @type {Reporter} */
  report;
  /** @type {number | undefined} */
  waiting;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.observer = new ResizeObserver(() => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.tell(), QUIET);
      // Until the rerun mounts this again.
      if (this.abreast() !== this.told) root.setAttribute("aria-busy", "true");
    });
    this.observer.observe(root);
  }

  /** @type {(data: Teller["data"], report: Reporter) => void} */
  update(data, report) {
    this.data = data;
    this.report = report;
    this.told = Math.min(data.abreast, data.columns);
    // At once: the page may have just drawn the wrong number of figures.
    this.tell();
  }

  abreast() {
    const { columns, room, gap } = this.data;
    const width = this.root.clientWidth;
    // A hidden root has no width.
    return width ? Math.min(columns, Math.floor((width + gap) / (room + gap))) : this.told;
  }

  tell() {
    const abreast = this.abreast();
    if (abreast === this.told) {
      this.root.removeAttribute("aria-busy");
      return;
    }
    this.told = abreast;
    this.report(abreast);
  }

  dispose() {
    clearTimeout(this.waiting);
    this.observer.disconnect();
  }
}

export default mounted("[aria-hidden]", (root) => new Teller(root), "abreast");
