// Heads that are switched off in the space: crossed out where they lie, and what is written without them.

import { tr } from "../canvas/wording.js";
import { spelled } from "./places.js";

/** @import { Travel } from "./travel.js" */

export class Switched {
  /** @type {Map<string, NamedHead>} */
  off = new Map();
  /** @type {AbortController | null} */
  asking = null;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
  }

  /** @type {(head: NamedHead) => string} */
  _name([kind, layer, head]) {
    return spelled({ at: "head", kind, layer, head });
  }

  /** @param {NamedHead} head */
  has(head) {
    return this.off.has(this._name(head));
  }

  /** Whether all heads that are drawn at a place are off. @param {HeadPlace} place */
  hasAll(place) {
    return this.travel.showing.named(place).every((head) => this.has(head));
  }

  /** The heads that are off, as an address has them. */
  get spelled() {
    return [...this.off.keys()].join("-");
  }

  /** Crosses out these heads and no others. @param {NamedHead[]} heads */
  cross(heads) {
    this.asking?.abort();
    this.off = new Map(heads.map((head) => [this._name(head), head]));
  }

  /** Switches the heads at a place off, or on again where all of them are off, and says what is written then. @param {HeadPlace} place */
  async toggle(place) {
    const { needs, view } = this.travel;
    const here = this.travel.showing.named(place);
    const names = here.map((head) => this._name(head));
    const rest = [...this.off].filter(([name]) => !names.includes(name)).map(([, each]) => each);
    this.cross(this.hasAll(place) ? rest : [...rest, ...here]);
    this.travel.dress();
    view.draw();
    if (!this.off.size) {
      this.travel.tell(tr("All heads are on."));
      return;
    }
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const heads = [...this.off.values()];
      const { text, changed } = /** @type {ModelAnswers["without"]} */ (await needs.question({ ask: "without", heads }, { signal }));
      const values = { n: heads.length, words: text };
      const one = changed ? tr("Without this head, it writes: “{words}”", values) : tr("Without this head, it writes the same words.");
      const more = changed ? tr("Without these {n} heads, it writes: “{words}”", values) : tr("Without these {n} heads, it writes the same words.", values);
      this.travel.tell(heads.length === 1 ? one : more);
    } catch (error) {
      if (!signal.aborted) this.travel.tell(/** @type {Error} */ (error).message);
    }
  }
}
