// Questions to an engine, each asked once: equal ones share a request and its answer.

import { serverAnswer } from "../canvas/server_answer.js";

// As many answers as stay at hand; the largest, of a long sentence's feed-forward layer, has a megabyte or two.
export const ANSWERS_KEPT = 48;

/** The engine that a picture asks: the app's server, an engine in this page, or null where there is none.
 * @type {(of: ServerAsked | ModelEngine | null) => ModelEngine | null} */
export function asking(of) {
  if (!of) return null;
  return new AskedOnce("ask" in of ? of : { ask: (question, { signal = null } = {}) => /** @type {Promise<never>} */ (serverAnswer(of, question, signal)) });
}

/** @typedef {{ answer: Promise<unknown>, waiting: number, isDone: boolean, stop: AbortController }} Asked */

/** Keeps the latest answers; a request that nobody waits for any more is aborted. @implements {ModelEngine} */
class AskedOnce {
  /** @type {Map<string, Asked>} */
  asked = new Map();

  /** @param {ModelEngine} engine */
  constructor(engine) {
    this.engine = engine;
  }

  /** @type {ModelEngine["ask"]} */
  async ask(question, { signal = null } = {}) {
    signal?.throwIfAborted();
    const key = JSON.stringify(question);
    const asked = this.asked.get(key) ?? this.begun(question);
    // The latest stands last.
    this.asked.delete(key);
    this.asked.set(key, asked);
    for (const [oldest, { isDone }] of this.asked) if (this.asked.size > ANSWERS_KEPT && isDone) this.asked.delete(oldest);
    asked.waiting += 1;
    let leave = () => {};
    /** @type {Promise<never>} */
    const left = new Promise((_, reject) => {
      leave = () => reject(signal?.reason);
    });
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return /** @type {never} */ (await Promise.race([asked.answer, left]));
    } catch (error) {
      // A failed question may be asked again.
      if (asked.isDone && this.asked.get(key) === asked) this.asked.delete(key);
      throw error;
    } finally {
      signal?.removeEventListener("abort", leave);
      asked.waiting -= 1;
      if (!asked.waiting && !asked.isDone) {
        if (this.asked.get(key) === asked) this.asked.delete(key);
        asked.stop.abort();
      }
    }
  }

  /** @type {(question: ModelQuestion) => Asked} */
  begun(question) {
    const stop = new AbortController();
    const asked = { answer: this.engine.ask(question, { signal: stop.signal }), waiting: 0, isDone: false, stop };
    const done = () => {
      asked.isDone = true;
    };
    asked.answer.then(done, done);
    return asked;
  }
}
