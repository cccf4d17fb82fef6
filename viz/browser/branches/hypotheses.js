// The hypotheses of a search and moves between them, read from a payload of viz/decoding/payload.py.

import { opened } from "../canvas/envelope.js";
import { shortest, weighted } from "../steps/frame.js";

/** A search's hypotheses. Each is the index (`place`) of its last node. */
export class Hypotheses {
  constructor(bytes) {
    const { id, values } = opened(bytes);
    Object.assign(this, values, { id });
    this.weights = this.cross?.weights;
    // From each node, the next one on the best hypothesis through it.
    this.next = new Map();
    for (const end of [...this.ends].reverse()) {
      const path = this.path(end);
      path.slice(1).forEach((place, before) => this.next.set(path[before], place));
    }
  }

  /** The places of a hypothesis' tokens, first token first. */
  path(place) {
    const { parent } = this.nodes[place];
    return parent === null ? [place] : [...this.path(parent), place];
  }

  /** The source tokens with their attention weights at the step that wrote a hypothesis' last token; null without weights. */
  looked(place) {
    const width = this.source.length;
    return this.weights ? weighted(this.source, this.weights.subarray(place * width, (place + 1) * width)) : null;
  }

  /** A sentence about a hypothesis for screen readers. */
  spoken(place) {
    const text = this.path(place).reduce((said, each) => {
      const { text: token, joins } = this.nodes[each];
      return said + (joins || !said ? "" : " ") + token;
    }, "");
    const most = this.looked(place)?.reduce((one, other) => (other.weight > one.weight ? other : one));
    const looks = most ? `; it looks most at “${most.text}” (${shortest(most.weight)})` : "";
    return `“${text}”: ${this.nodes[place].words.join("; ")}${looks}.`;
  }

  /** The end of the best hypothesis through a place. */
  end(place) {
    while (this.next.has(place)) place = this.next.get(place);
    return place;
  }

  /** The place after a move: `token` -1 or 1 goes one token back or on, `branch` -1 or 1 to the previous or next hypothesis. */
  moved(place, { token = 0, branch = 0 }) {
    if (branch) return this.ends[this.ends.indexOf(this.end(place)) + branch] ?? place;
    return (token < 0 ? this.nodes[place].parent : this.next.get(place)) ?? place;
  }
}
