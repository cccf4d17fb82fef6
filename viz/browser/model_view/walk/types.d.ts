// The walk: stops, and what they read of a picture and of an engine's answers.

/** What stops read of one sentence in one model. */
type Walked = Pick<Figure, "key" | "stacks" | "written" | "read" | "offset" | "head" | "later" | "next" | "acts"> & {
  cells(block: FigureBlock, place: number, head: number): Cells;
};

type StopName = "tokens" | "numbers" | "heads" | "head" | "weight" | "row" | "mask" | "cross" | "next" | "off";

/** What moves at a stop. */
type StopMoves = "tokens" | "waves" | "numbers" | "rows" | "head" | "weight" | "mix" | "mask" | "cross" | "list" | "off";

type StopQuestion = Extract<ModelQuestion, { ask: "instead" | "without" }>;

/** `says` at most 18 words, `act` names the button that asks `does`. */
interface Stop {
  name: StopName;
  title: string;
  place: Place;
  says: string;
  aside: string;
  lit: { query?: number; key?: number };
  moves: StopMoves;
  does: StopQuestion | null;
  act: string;
}

type StopAnswer = Pick<ModelAnswers["instead"], "text" | "words">;

/** Which questions the page can answer. */
type Can = { instead: boolean; without: boolean };

/** How a head looks along its rows: which pattern, in how many of its rows, and one that does. */
type HeadPattern = { pattern: "previous" | "next" | "same" | "end" | "start"; rows: number; of: number; mean: number; query: number; key: number };

/** A head of a block, by the index of its layer in the block. */
type HeadInBlock = { block: FigureBlock; place: number; head: number };

type Seen = { word: number; read: number; query: number; key: number };
