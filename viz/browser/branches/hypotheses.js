// The hypotheses of a search and the ways among them, read from a payload of viz/decoding/payload.py.

import { floats, opened } from "../canvas/envelope.js";
import { percent, weighted } from "../steps/frame.js";

/** The hypotheses of a search, by their places among its nodes. */
export class Hypotheses {
  constructor(bytes) {
    const { id, header, body } = opened(bytes);
    Object.assign(this, header);
    this.id = id;
    this.weights = header.cross && floats(body, header.cross.start, header.nodes.length * header.source.length);
    // Where a branch goes on: along the best of those that come by.
    this.next = new Map();
    for (const end of [...header.ends].reverse()) {
      const path = this.path(end);
      path.slice(1).forEach((place, before) => this.next.set(path[before], place));
    }
  }

  /** The places of all tokens of a hypothesis, first token first. */
  path(place) {
    const { parent } = this.nodes[place];
    return parent === null ? [place] : [...this.path(parent), place];
  }

  /** What was looked at when a hypothesis' last token was written: the source with its weights; null if none were sent. */
  looked(place) {
    const width = this.source.length;
    return this.weights && weighted(this.source, this.weights.subarray(place * width, (place + 1) * width));
  }

  /** A hypothesis in a sentence, for those who do not see it. */
  spoken(place) {
    const text = this.path(place).reduce((said, each) => {
      const { text: token, joins } = this.nodes[each];
      return said + (joins || !said ? "" : " ") + token;
    }, "");
    const most = this.looked(place)?.reduce((one, other) => (other.weight > one.weight ? other : one));
    const looks = most ? `; it looks most at “${most.text}”, ${percent(most.weight)}` : "";
    return `“${text}”: ${this.nodes[place].words.join("; ")}${looks}.`;
  }

  /** The end of the best branch that comes by a place. */
  end(place) {
    while (this.next.has(place)) place = this.next.get(place);
    return place;
  }

  /** Where a move leads: one token back or forth, -1 or 1, or to the branch before or after this one. */
  moved(place, { token = 0, branch = 0 }) {
    if (branch) return this.ends[this.ends.indexOf(this.end(place)) + branch] ?? place;
    return (token < 0 ? this.nodes[place].parent : this.next.get(place)) ?? place;
  }
}
