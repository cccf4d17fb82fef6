// What the picture of the model asks an engine: the worker in the page, the app's server, or what was recorded.

type NamedHead = [kind: string, layer: number, head: number];

type ModelQuestion =
  | { ask: "head"; kind: string; layer: number; head: number }
  | { ask: "added"; stack: string; layer: number }
  | { ask: "next"; step: number }
  | { ask: "instead"; step: number; id: number }
  | { ask: "without"; heads: NamedHead[] };

interface ModelAnswers {
  /** Vectors of a head, (token, d) and (token, dv) row by row, and scores before masking, (query, key). The divisor is
   * what q · k is divided by; null where scores are no plain products. */
  head: { q: Float32Array; k: Float32Array; v: Float32Array; d: number; dv: number; scores: Float32Array; divisor: number | null };
  /** The stream before a feed-forward layer and what that adds, (token, size). */
  added: { size: number; into: Float32Array; gains: Float32Array };
  /** The likeliest tokens after a step, the decoder's vector (size) and their rows of the output matrix (token, size). */
  next: {
    size: number;
    vocabulary: number;
    hidden: Float32Array;
    rows: Float32Array;
    texts: string[];
    ids: number[];
    logits: number[];
    shares: number[];
  };
  /** The translation that goes on from another token, and the texts of its tokens. */
  instead: { text: string; words: FigureWord[]; tokens: string[] };
  /** What is written without some heads, and what they cost. */
  without: { text: string; words: FigureWord[]; changed: boolean; price: string };
}

interface ModelEngine {
  /** The answer; rejects with one sentence for the person, or with the reason of an aborted signal. */
  ask<Question extends ModelQuestion>(question: Question, options?: { signal?: AbortSignal | null }): Promise<ModelAnswers[Question["ask"]]>;
}

/** Where the app's server answers, and about what (viz/browser/asking.py). */
type ServerAsked = { url: string; model: string; snapshot: number | null; sentence: string; target: string };

/** One recorded attention, (token, head * width) for vectors, as the engine in the page records it. */
type RecordedHeads = Pick<RecordedMap, "heads" | "queries" | "keys" | "scores" | "q" | "k" | "v">;
