// What places need to know beside the trace: asked of the engine, and filled in when it comes.

import constants from "../../draw/constants.json" with { type: "json" };
import { tr } from "../canvas/wording.js";
import { answersFrom } from "./answers.js";
import { asking } from "./asking.js";

/** @import { Travel } from "./travel.js" */

/** What a place needs to know beside the trace. @type {(place: Place) => ModelQuestion | null} */
function questionOf(place) {
  if ("head" in place && place.kind !== constants.JOINT) return { ask: "head", kind: place.kind, layer: place.layer, head: place.head };
  if (place.at === "added") return { ask: "added", stack: place.stack, layer: place.layer };
  if (place.at === "next") return { ask: "next", step: place.step };
  return null;
}

export class Needs {
  /** Answers of the engine, by question. @type {Map<string, { answer: unknown, error: string }>} */
  answers = new Map();
  /** @type {ModelEngine | null} */
  engine = null;
  /** Whether it writes anew, which a recorded run cannot. */
  hasModel = false;

  /** @param {Travel} travel */
  constructor(travel) {
    this.travel = travel;
  }

  dispose() {
    this.stop?.abort();
  }

  /** Takes another sentence or model. */
  take() {
    const { figure, engine } = this.travel.view;
    this.answers.clear();
    const model = engine ?? figure.asks;
    this.hasModel = Boolean(model);
    this.engine = asking(model ?? answersFrom(figure));
  }

  /** Which questions the walk may ask. */
  get can() {
    return { instead: this.hasModel, without: this.hasModel };
  }

  /** Puts a question to the engine. @type {(question: StopQuestion, options: { signal: AbortSignal }) => Promise<StopAnswer>} */
  question(question, options) {
    return /** @type {ModelEngine} */ (this.engine).ask(question, options);
  }

  /** Asks for what a place needs, which is filled in when it comes. @param {Place} place */
  ask(place) {
    this.stop?.abort();
    const question = questionOf(place);
    if (!question || !this.engine) return;
    const key = JSON.stringify(question);
    if (this.answers.get(key)?.answer) return;
    // What was refused may be answered now.
    this.answers.delete(key);
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.engine.ask(question, { signal }).then(
      (answer) => this._answered(key, { answer, error: "" }),
      (error) => signal.aborted || this._answered(key, { answer: null, error: error.message }),
    );
  }

  /** @type {(key: string, answered: { answer: unknown, error: string }) => void} */
  _answered(key, answered) {
    const { travel } = this;
    this.answers.set(key, answered);
    if (this.hasModel && answered.error && key === JSON.stringify(questionOf(travel.place))) travel.tell(answered.error);
    travel.view.drawSoon();
  }

  /** Why the model did not answer what a place needs; empty where it did, or may still, and for a recorded run, of which nobody asked.
   * @type {(place: Place) => string} */
  refusal(place) {
    return (this.hasModel && this.answers.get(JSON.stringify(questionOf(place)))?.error) || "";
  }

  /** What the engine said of a place; null where it has not, or cannot. @template Answer @param {Place} place @returns {Answer | null} */
  answer(place) {
    return /** @type {Answer | null} */ (this.answers.get(JSON.stringify(questionOf(place)))?.answer ?? null);
  }

  /** Whether a place has what it needs: "yes", "no" where that was refused, "waits", or empty where it needs nothing. @param {Place} place */
  state(place) {
    const question = questionOf(place);
    if (!question) return "";
    const answered = this.answers.get(JSON.stringify(question));
    return answered?.answer ? "yes" : answered || !this.engine ? "no" : "waits";
  }

  /** Takes another token, and says what is written then. @type {(question: Extract<ModelQuestion, { ask: "instead" }>) => void} */
  instead(question) {
    this.engine?.ask(question).then(
      ({ text }) => this.travel.tell(tr("Now it writes: “{words}”", { words: text })),
      (error) => this.travel.tell(error.message),
    );
  }
}
