// Figure 1's payload, as viz/model_page/payload.py writes it.

interface FigureWord {
  text: string;
  tokens: string[];
  first: number;
  joins: boolean;
  special: boolean;
}

/** A kind of attention in its stack; all but its kind, name and side is filled in from the trace. */
interface FigureBlock extends Pick<SentKind, "q" | "k" | "v" | "scores"> {
  kind: string;
  name: string;
  layers: number[];
  heads: number;
  queries: number;
  keys: number;
  keySide: Side;
  labels: (string | null)[][];
}

type FigurePositions = { acts?: string | null; cells: Uint8Array; dimensions: number; of: number; limit: number };

interface FigureStack {
  kind: string;
  name: string;
  does: string;
  side: Side;
  tokens: string[];
  blocks: FigureBlock[];
  added: Float32Array | null;
  positions: FigurePositions | null;
  /** All three kinds in one picture; made of the trace. */
  joint?: FigureBlock & { tokens: string[] };
}

type NextTokens = { texts: string[]; ids: number[]; shares: number[]; chosen: number; normalizers: number[] | null };

interface FigureHeader extends TraceHeader {
  key: string;
  moment: number;
  play: boolean;
  place: string;
  walk: number;
  /** Whether the walk goes by itself. */
  kiosk: boolean;
  /** Names and titles of the acts that are offered at its end. */
  acts: [name: string, title: string][];
  asks: ServerAsked | null;
  /** The heads in another reading of the trace. */
  reading: TracePayload | null;
  written: FigureWord[];
  read: FigureWord[];
  offset: number;
  rows: number;
  arcs: { weights: Float32Array; frames: number };
  said: string;
  head: [kind: string, layer: number, head: number] | null;
  later: number;
  stacks: FigureStack[];
  next: NextTokens[] | null;
  temperatures: number[];
  norm: string;
  pages: string[];
  /** An image file. */
  picture: Bytes | null;
}

type Figure = import("./payload.js").Figure;
/** What leads through the model, as of guide.js. */
type Guiding = Pick<import("./guide.js").Guide, "parts" | "ways" | "stop" | "moves" | "share" | "beside" | "take" | "measure" | "came" | "dispose" | "key" | "swiped"> & { invitation: HTMLElement | string; acts: HTMLElement | string };
type Inks = import("./blocks.js").Inks;
type Moment = ReturnType<import("./timeline.js").Timeline["at"]>;

/** Tokens of a side as [from, to). */
type Followed = { side: Side; from: number; to: number };
type Span = [from: number, to: number];
type Marks = { rows: Span | null; columns: Span | null; head: number; over: number };
type Point = [x: number, y: number];
type Curve = [Point, Point, Point, Point];
type Rectangle = { left: number; top: number; width: number; height: number; right: number; bottom: number };
type TileSize = { width: number; height: number };

/** Where everything lies in the component, in CSS pixels. */
interface FigurePlaces {
  written: Rectangle[];
  read: Rectangle[];
  writtenEnd: number;
  readStart: number;
  stacks: {
    box: Rectangle;
    chips: Rectangle;
    foot: Rectangle;
    made: Rectangle;
    /** The table of positions, where one is added. */
    table: Rectangle | null;
    layers: { row: Rectangle; blocks: Rectangle[]; parts: Rectangle[]; added: Rectangle | null }[];
  }[];
  next: Rectangle | null;
}

/** What shows a selection among all heads, and tells of it. */
interface Teller {
  root: HTMLElement;
  payload: TracePayload;
  state: Chosen;
  epoch: number;
  canAskPython: boolean;
  report: Reporter;
}

/** The panel beside which the figure is seen from the place of a head. */
interface Beside {
  /** The height of the room beside it, in CSS pixels. */
  height(): number;
  /** One has come to a place. */
  moved(place: Place): void;
  /** The cell that is marked in the head; null for none. */
  picked: Cell | null;
  /** The rows and columns of a head that are shown; null for all. */
  range: CellRange | null;
  /** A cell was pressed that has no place of its own. */
  pick(cell: Cell): void;
  /** What is seen at a place was drawn, and nothing moves. */
  drawn(): void;
  /** One has come to rest where one moved by hand. */
  rested(): void;
}
