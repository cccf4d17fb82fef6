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

  /** @type {(place: HeadPlace) => string} */
  _name({ kind, layer, head }) {
    return spelled({ at: "head", kind, layer, head });
  }

  /** @type {(place: HeadPlace) => boolean} */
  has(place) {
    return this.off.has(this._name(place));
  }

  /** The heads that are off, as an address has them. */
  get spelled() {
    return [...this.off.keys()].join("-");
  }

  /** Crosses out these heads and no others. @param {NamedHead[]} heads */
  cross(heads) {
    this.asking?.abort();
    this.off = new Map(heads.map(([kind, layer, head]) => [this._name({ at: "head", kind, layer, head }), [kind, layer, head]]));
  }

  /** Switches a head off, or on again, and says what is written then. @param {HeadPlace} place */
  async toggle(place) {
    const { needs, view } = this.travel;
    const { kind, layer, head } = place;
    const rest = [...this.off].filter(([name]) => name !== this._name(place)).map(([, each]) => each);
    this.cross(this.has(place) ? rest : [...rest, [kind, layer, head]]);
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
