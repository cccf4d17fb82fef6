// Traces of the engine as they are read for the components.

type EngineTrace = Awaited<ReturnType<import("../engine/engine.js").Engine["trace"]>>;
type EngineTranslation = Awaited<ReturnType<import("../engine/engine.js").Engine["translate"]>>;
type EngineEffects = Awaited<ReturnType<import("../engine/engine.js").Engine["effects"]>>;

/** Tokens as [first, end). */
type TokenSpan = [first: number, end: number];
type ReadingOf = { words: boolean; specials: boolean; renormalise: boolean; predicted: boolean };

/** A map with its labels, without scores and vectors. */
type ReadMap = Omit<RecordedMap, "scores" | "q" | "k" | "v"> & { rows: Pieces; columns: Pieces };
type WeightRows = { weights: Numbers; queries: number; keys: number };

/** One head to be measured: weights and what it may look at, (query, key), and the keys' tokens. */
type MeasuredHead = WeightRows & { kind: string; allowed: Uint8Array; tokens: string[] };
type Facts = Record<string, number>;
/** A share of a row's weight, and whether the row counts. */
type RowShare = [share: number, counts: boolean];

/** A word of a text, with its tokens. */
type TextWord = { text: string; tokens: string[]; first: number; joins: boolean; special: boolean };

type FigureTemplate = FigureHeader & { payload: string; later: number };
