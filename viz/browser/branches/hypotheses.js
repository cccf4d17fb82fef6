// The hypotheses of a search and moves between them, read from a payload of viz/decoding/payload.py.

import { Envelope } from "../canvas/envelope.js";
import { tr } from "../canvas/wording.js";
import { shortest, weighted } from "../steps/frame.js";

/** @typedef {{ text: string, joins: boolean, parent: number | null, words: string[] }} Node */
/** @typedef {{ chart: string, themes: Themes, source: Token[], cross: Mean | null, nodes: Node[], ends: number[] }} Header */

/** A search's hypotheses. Each is the index (`place`) of its last node. */
export class Hypotheses extends /** @type {Opened<Header>} */ (Envelope) {
  /** @param {Bytes} bytes */
  constructor(bytes) {
    super(bytes);
    this.weights = this.cross?.weights;
    // From each node, the next one on the best hypothesis through it.
    /** @type {Map<number, number>} */
    this.next = new Map();
    for (const end of [...this.ends].reverse()) {
      const path = this.path(end);
      path.slice(1).forEach((place, before) => this.next.set(path[before], place));
    }
  }

  /** The places of a hypothesis' tokens, first token first. @type {(place: number) => number[]} */
  path(place) {
    const { parent } = this.nodes[place];
    return parent === null ? [place] : [...this.path(parent), place];
  }

  /** The source tokens with their attention weights at the step that wrote a hypothesis' last token; null without weights.
   * @type {(place: number) => WeighedToken[] | null} */
  looked(place) {
    const width = this.source.length;
    return this.weights ? weighted(this.source, this.weights.subarray(place * width, (place + 1) * width)) : null;
  }

  /** A sentence about a hypothesis for screen readers. @type {(place: number) => string} */
  spoken(place) {
    const text = this.path(place).reduce((said, each) => {
      const { text: token, joins } = this.nodes[each];
      return said + (joins || !said ? "" : " ") + token;
    }, "");
    const most = this.looked(place)?.reduce((one, other) => (other.weight > one.weight ? other : one));
    const looks = most ? tr("; it looks most at “{token}” ({share})", { token: most.text, share: shortest(most.weight) }) : "";
    return `“${text}”: ${this.nodes[place].words.join("; ")}${looks}.`;
  }

  /** The end of the best hypothesis through a place. @type {(place: number) => number} */
  end(place) {
    const next = this.next.get(place);
    return next === undefined ? place : this.end(next);
  }

  /** The place after a move: `token` -1 or 1 goes one token back or on, `branch` -1 or 1 to the previous or next hypothesis.
   * * @type {(place: number, move: { token?: number; branch?: number }) => number} */
  moved(place, { token = 0, branch = 0 }) {
    if (branch) return this.ends[this.ends.indexOf(this.end(place)) + branch] ?? place;
    return (token < 0 ? this.nodes[place].parent : this.next.get(place)) ?? place;
  }
}
