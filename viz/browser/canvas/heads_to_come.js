// The heads of a long text that were sent coarsely, and come whole from the server as they are shown (viz/browser/coarse_heads.py).

import { serverAnswer } from "./server_answer.js";

/** Bytes of heads that stay at hand; a trace that has no more comes whole by and by. */
export const MOST_KEPT = 64_000_000;
/** Bytes of one answer. */
const AT_ONCE = 4_000_000;
const REQUESTS = 2;
/** After a refusal, nothing is asked for a while, in milliseconds. */
const PAUSE = 5000;

/** A head as it is sent: steps (query, key) with the scale of each row. @typedef {{ steps: Uint8Array, scales: Float32Array }} WholeHead */
/** @typedef {{ kind: string, layer: number, first: number, last: number }} Wanted - layers by their numbers. */
/** @typedef {{ kind: string, layers: number[], heads: number, cells: number }} Sizes - of a kind; `cells` of each head. */

/** Those of the traces that were shown last, whose heads need not come again. @type {Map<string, HeadsToCome>} */
const KNOWN = new Map();

/** The heads of a trace. @type {(where: { url: string, trace: string }, sizes: Sizes[]) => HeadsToCome} */
export function headsToCome(where, sizes) {
  const known = KNOWN.get(where.trace) ?? new HeadsToCome(where, sizes);
  KNOWN.delete(where.trace);
  KNOWN.set(where.trace, known);
  for (const [oldest] of KNOWN) if (KNOWN.size > 2) KNOWN.delete(oldest);
  return known;
}

export class HeadsToCome {
  /** By name; the latest that were shown stand last. @type {Map<string, WholeHead>} */
  came = new Map();
  size = 0;
  /** By name, the latest last. @type {Map<string, Wanted>} */
  wanted = new Map();
  /** Names of heads that are asked for. @type {Set<string>} */
  asked = new Set();
  requests = 0;
  refused = -Infinity;
  /** Called when heads have come, or with why they do not. @type {(refusal?: string) => void} */
  told = () => {};

  /** @param {{ url: string, trace: string }} where @param {Sizes[]} sizes */
  constructor(where, sizes) {
    this.where = where;
    /** @type {(of: (sizes: Sizes) => number) => number} */
    const sum = (of) => sizes.reduce((all, each) => all + each.layers.length * each.heads * of(each), 0);
    this.count = sum(() => 1);
    /** What is not asked for yet, where all of it may stay. */
    this.rest = sum(({ cells }) => cells) <= MOST_KEPT ? sizes.flatMap(portions) : [];
  }

  /** Whether every head is here. */
  get areAll() {
    return this.came.size === this.count;
  }

  /** @type {(kind: string, layer: number, head: number) => boolean} */
  has(kind, layer, head) {
    return this.came.has(called(kind, layer, head));
  }

  /** A head; null where it has not come, and it is asked for if it `isShown`. @type {(kind: string, layer: number, head: number, isShown: boolean) => WholeHead | null} */
  of(kind, layer, head, isShown) {
    const name = called(kind, layer, head);
    const known = this.came.get(name);
    if (known && isShown) {
      // It is the last to go.
      this.came.delete(name);
      this.came.set(name, known);
    }
    if (known) return known;
    if (isShown && !this.asked.has(name)) {
      this.wanted.delete(name);
      this.wanted.set(name, { kind, layer, first: head, last: head });
      this.go();
    }
    return null;
  }

  /** Asks for what is wanted, the latest first, and for the rest while nothing is. */
  go() {
    while (this.requests < REQUESTS && performance.now() - this.refused > PAUSE) {
      const [name, wanted] = [...this.wanted].at(-1) ?? [];
      if (name) this.wanted.delete(name);
      const next = wanted ?? (this.requests ? undefined : this.rest.shift());
      if (!next) return;
      if (allIn(next).some((each) => !this.came.has(each))) this._ask(next);
    }
  }

  /** @param {Wanted} wanted */
  async _ask(wanted) {
    const names = allIn(wanted);
    const { kind, layer, first, last } = wanted;
    for (const name of names) this.asked.add(name);
    this.requests += 1;
    let refusal;
    try {
      const answer = await serverAnswer(this.where, { kind, layer, heads: [first, last] });
      const { weights, scales } = /** @type {{ weights: Uint8Array, scales: Float32Array }} */ (answer);
      const [cells, rows] = [weights.length, scales.length].map((count) => count / names.length);
      names.forEach((name, at) => this._keep(name, { steps: weights.slice(at * cells, (at + 1) * cells), scales: scales.slice(at * rows, (at + 1) * rows) }));
    } catch (error) {
      this.refused = performance.now();
      if (last > first) this.rest.push(wanted);
      refusal = /** @type {Error} */ (error).message;
    }
    for (const name of names) this.asked.delete(name);
    this.requests -= 1;
    this.told(refusal);
    this.go();
  }

  /** @type {(name: string, head: WholeHead) => void} */
  _keep(name, head) {
    if (!this.came.has(name)) this.size += head.steps.length;
    this.came.set(name, head);
    for (const [oldest, { steps }] of this.came) {
      if (this.size <= MOST_KEPT) break;
      this.came.delete(oldest);
      this.size -= steps.length;
    }
  }
}

/** @type {(kind: string, layer: number, head: number) => string} */
const called = (kind, layer, head) => [kind, layer, head].join(".");

/** @type {(wanted: Wanted) => string[]} */
const allIn = ({ kind, layer, first, last }) => Array.from({ length: last + 1 - first }, (_, at) => called(kind, layer, first + at));

/** The heads of a kind, as many together as one answer may hold. @type {(sizes: Sizes) => Wanted[]} */
function portions({ kind, layers, heads, cells }) {
  const together = Math.max(1, Math.min(heads, Math.floor(AT_ONCE / cells)));
  const firsts = Array.from({ length: Math.ceil(heads / together) }, (_, at) => at * together);
  return layers.flatMap((layer) => firsts.map((first) => ({ kind, layer, first, last: Math.min(first + together, heads) - 1 })));
}
