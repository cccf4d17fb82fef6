// The engine in this page as the picture of the model asks it (viz/browser/model_view/questions.d.ts).

import { wordsOfText } from "../browser/live/grouping.js";
import { tokenText } from "../browser/live/labels.js";
import { headOf } from "../browser/model_view/answers.js";

/** @import { EngineClient } from "../browser/engine/client.js" */
/** @typedef {{ [Name in keyof ModelAnswers]: (question: Extract<ModelQuestion, { ask: Name }>, signal: AbortSignal | null) => Promise<ModelAnswers[Name]> }} Answering */

/** Answers about a trace; `price` says what a change of the model does to its probability, as SitePage does.
 * @type {(engine: () => Promise<EngineClient>, trace: EngineTrace, price: (before: EngineTrace, after: EngineTrace) => string) => ModelEngine} */
export function engineFor(engine, trace, price) {
  const { sourceText: text, predictions } = trace;
  const { ids } = predictions;
  /** @type {<Result>(method: string, options: object, signal: AbortSignal | null) => Promise<Result>} */
  const call = async (method, options, signal) => (await engine()).call(method, [text, options], { signal });

  /** @type {Answering} */
  const answers = {
    async head({ kind, layer, head }, signal) {
      const mapIn = (/** @type {EngineTrace} */ { maps }) => maps.find((each) => each.kind === kind && each.layer === layer);
      let map = mapIn(trace);
      if (map && (map.only ?? (map.only === null ? -1 : head)) !== head) map = mapIn(await call("trace", { ids }, signal));
      if (!map || !(head >= 0 && head < map.heads)) throw new Error(`The model has no head ${head} at ${kind}.${layer}.`);
      return headOf(map, head);
    },

    added: ({ stack, layer }, signal) => call("added", { stack, layer, ids }, signal),

    async next({ step }, signal) {
      /** @type {Awaited<ReturnType<import("../browser/engine/engine.js").Engine["next"]>>} */
      const { tokens, ...values } = await call("next", { step, ids }, signal);
      return { ...values, texts: tokens.map(tokenText) };
    },

    async instead({ step, id }, signal) {
      /** @type {EngineTranslation} */
      const written = await call("translate", { search: { prefix: [...ids.slice(0, step), id] } }, signal);
      return { text: written.text, words: shownWords(written.predictions), tokens: written.predictions.tokens.map(tokenText) };
    },

    async without({ heads: off }, signal) {
      const heads = off.map(([kind, layer, head]) => ({ kind, layer, head, gate: 0 }));
      /** @type {EngineTranslation} */
      const free = await call("translate", { under: { heads } }, signal);
      /** @type {EngineTranslation} */
      const usual = trace.translation ?? (await call("translate", {}, signal));
      /** @type {EngineTrace} */
      const forced = await call("trace", { ids, under: { heads } }, signal);
      return { text: free.text, words: shownWords(free.predictions), changed: free.text !== usual.text, price: price(trace, forced) };
    },
  };
  return { ask: (question, { signal = null } = {}) => /** @type {Promise<never>} */ (answers[question.ask](/** @type {never} */ (question), signal)) };
}

/** The words of a translation as the picture shows them. @type {(predictions: Pieces) => FigureWord[]} */
function shownWords({ tokens }) {
  return wordsOfText(tokens).filter(({ special }) => !special);
}
