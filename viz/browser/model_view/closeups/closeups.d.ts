// What opens when one comes near: what its painters are given, and what can be pressed in what they drew.

/** A place in a close-up that answers to a press; `act` says what it does, `label` says it in words. */
type Hot = Rectangle & { act: CloseUpAct; label: string };
type CloseUpAct =
  | { at: "head"; head: number }
  | { at: "row"; query: number }
  | { at: "weight"; query: number; key: number }
  | { at: "token"; token: number }
  | ({ at: "end" } & SideToken)
  | { at: "compared"; layer: number; head: number }
  | { ask: "instead"; step: number; id: number };

/** A head's weights, (query, key), with its vectors and scores once they are known; `rounded` says that they were sent in 8 bits. */
interface HeadRows {
  keys: { length: number };
  weights: Float32Array;
  rounded?: boolean;
  allowed: Uint8Array | null;
  head: ModelAnswers["head"] | null;
}

/** Where the tokens of a matrix are written: from where to where, the sizes of type of keys and queries, whether keys stand level, and the
 * room that they take above and before. */
interface Labelling {
  left: number;
  top: number;
  right: number;
  bottom: number;
  across: number;
  down: number;
  level: boolean;
  above: number;
  before: number;
}

interface MatrixData extends HeadRows {
  queries: string[];
  keys: string[];
  /** What is predicted after each query's token. */
  beside: string[] | null;
  /** The lit row and column; -1 for none. */
  row: number;
  key: number;
  label: string;
  /** What the head does on average, in the place of a label that it did not earn. */
  tendency?: string;
  /** Heads that are compared, in the place of a label. */
  compared?: CompareName[];
  /** Rows and columns whose words are pointed at. */
  words?: Places;
  queryTitle: string;
  keyTitle: string;
  /** Where something may be written; else around the cells, wherever they are. */
  within?: Rectangle;
  palette: Palette;
  /** Whether a hall has to read it. */
  isStage?: boolean;
  /** So many rows are computed; else all. */
  rows?: number;
  /** The size of type in pixels; else it follows the room. */
  em?: number;
  /** How much of the numbers is seen, 0 to 1. */
  alphaNumbers: number;
}

/** A head that is compared; its layer is counted from 0. */
type CompareName = { name: string; whole: string; color: string; layer: number; head: number };

interface LinesData {
  queries: string[];
  keys: string[];
  queryTitle: string;
  keyTitle: string;
  heads: DrawnHead[];
  /** Heads that are compared; empty for one. */
  compared: CompareName[];
  /** Whether a hall has to read it. */
  isStage?: boolean;
  /** The token whose lines alone are drawn. */
  focus: SideToken | null;
  /** Tokens whose words are pointed at. */
  words: Places;
  within: { left: number; right: number };
  /** Says what a token has most weight with. */
  said(token: SideToken): string;
  em: number;
}

interface HeadsData {
  /** What each head does; null where that has no name. */
  labels: (string | null)[];
  /** The width of one. */
  wide: number;
  /** The pointed head; -1 for none. */
  over: number;
}

interface RowData extends HeadRows {
  queries: string[];
  keys: string[];
  row: number;
  /** The image whose patches are read. */
  image?: ImageBitmap | null;
}

/** The patches of an image among tokens: the first one's place, and how many lie in a row and below each other. */
interface PatchGrid {
  first: number;
  columns: number;
  rows: number;
}

/** `isKnown`: whether what makes the weight is known, or still may be. */
type WeightData = RowData & { key: number; isKnown?: boolean };

interface WavesData {
  tokens: string[];
  positions: FigurePositions;
  /** The pointed token; -1 for none. */
  token: number;
}

interface AddedData {
  tokens: string[];
  /** Where each block normalises, "pre" or "post"; empty where that is not known. */
  norm: string;
  token: number;
  /** The part of its own length that each token's vector gains; null where that is not known. */
  shares: Float32Array | null;
  answer: ModelAnswers["added"] | null;
}

interface NextData {
  step: number;
  /** The token that was read last. */
  after: string;
  texts: string[];
  shares: number[];
  chosen: number;
  answer: ModelAnswers["next"] | null;
}

/** The arithmetic of one weight (Vaswani et al. 2017, section 3.2.1). */
interface WeightNumbers {
  query: Float32Array;
  key: Float32Array;
  products: Float64Array;
  gain: number;
  loss: number;
  dot: number;
  divisor: number | null;
  score: number;
  allowed: boolean;
  weight: number;
  /** The row's scores, weights, and which of its keys are allowed. */
  scores: Float32Array;
  weights: Float64Array;
  seen: boolean[];
  /** How many allowed keys have a larger score, plus 1; null for a key that is not allowed. */
  rank: number | null;
  /** Whether the softmax of the row's allowed scores gives its weights. */
  complete: boolean;
  value: Float32Array;
  /** What the head passes on: the sum of all values, each times its weight. */
  mix: Float64Array;
  printed: Printed | null;
}

/** The sum and its quotient in print; "≈" where the printed digits do not add up. */
type Printed = { sum: string; quotient: string };

type WriteStyle = { size?: number; weight?: number; color?: string; align?: CanvasTextAlign; width?: number };
type BarStyle = { color: string; below?: string; limit?: number; width?: number };
