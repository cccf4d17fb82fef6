// The shapes that scripts share, for the checks alone: no browser loads this file.

// What Streamlit gives a component, and what our drawings are.

type Reporter = (value: unknown) => void;
type Trigger = (event: string, value: unknown) => void;

interface Drawing<Data> {
  update(data: Data, report: Reporter, trigger: Trigger): void;
  dispose(): void;
}

interface Mounting<Data> {
  parentElement: HTMLElement | ShadowRoot;
  data: Data;
  setStateValue(name: string, value: unknown): void;
  setTriggerValue: Trigger;
  /** That of a page which runs the model itself; the same at every call. */
  engine?: ModelEngine | null;
  /** The height in CSS pixels of a page that is as high as what is on it; null where the window has one of its own. */
  height?: number | null;
}

// Colours (viz/draw/themes.py), and the theme that a page turned out to have.

type Color = number[];

interface Theme {
  text: string;
  muted: string;
  accent: string;
  now: string;
  grid: string;
  forbidden: string;
  hatch: string;
  hover: string;
  weights: string[];
  signed: string[];
  heads: string[];
  cells: string[];
  compared: string[];
}

type Themes = { light: Theme; dark: Theme };
type ShownTheme = Theme & { name: "light" | "dark"; ground: string };

// A matrix of weights, and where it lies on a canvas.

type Cell = [query: number, key: number];
/** Rows and columns of a head, from the first to the last of each. */
type CellRange = [first: number, last: number, from: number, to: number];
type Spot = { clientX: number; clientY: number };
type Bytes = Uint8Array<ArrayBuffer>;

interface Cells {
  weights: Uint8Array | Float32Array;
  scale: number;
  allowed: Uint8Array | null;
  nQueries: number;
  nKeys: number;
  middle?: number;
}

interface Grid {
  left: number;
  top: number;
  cellWidth: number;
  cellHeight: number;
  queries: { length: number };
  keys: { length: number };
}

interface Titles {
  queryTitle: string;
  keyTitle: string;
  besideTitle?: string;
  besideMark?: string;
}

// Words on a page: a range of tokens of the source or of what was written.

type Side = "source" | "target";
type WordRange = { side: Side; first: number; end: number };
type Tokens = { source: string[]; target: string[] };

// Words of a language: a text, or its plural forms.

type Phrase = string | { one?: string; other: string; [form: string]: string | undefined };
type Phrases = Record<string, Phrase>;
type Values = Record<string, string | number>;
type Pattern = { english: string; names: string[]; longest: string; pattern: RegExp };
type Wording = { language: string; texts: Phrases; patterns: Pattern[]; known: Map<string, string> };

// Set by wordIn, where a page is not in English.
declare var headscopeWording: Wording | undefined;

// What scripts of one page leave there for each other, and the events by which they speak.

interface Document {
  headscopeShared?: Map<string, unknown>;
}

interface Window {
  headscopeMoves?: { told: number; wanted: number | null };
  headscopeLook?: { page: string; view: View };
  headscopeSteps?: boolean;
  headscopeWalk?: WalkTold | null;
  headscopeKiosk?: { dispose(): void };
}

interface DocumentEventMap {
  "headscope-shared": CustomEvent<string>;
  "headscope-shown": CustomEvent<Shown>;
  "headscope-ask-why": CustomEvent<number>;
}

interface WindowEventMap {
  "headscope-step": CustomEvent<number>;
  "headscope-left": CustomEvent<boolean>;
  "headscope-notes": CustomEvent<{ blocked?: boolean }>;
  "headscope-walk-step": CustomEvent<number>;
}

type Noted = { title: string; note: string };
/** The stop of the walk at which this window is, and the next. */
type WalkTold = Noted & { at: number; count: number; next: Noted | null };

/** What a picture on a stage shows: in words, and as heads on a small map. */
type Shown = { text: string; map: { layers: number; heads: number; at: [layer: number, head: number][] } | null };

/** A page's parameters, as an address has them. */
type View = Record<string, string>;

// A chart of Plotly's, and what it says of a point.

type ChartAxis = {
  _id: string;
  _offset: number;
  _length: number;
  c2p(value: number): number;
  ticktext?: string[];
  tickvals?: number[];
};
type ChartTrace = { type: string; meta: string; xaxis: string; yaxis: string; x: number[]; y: number[] };
type ChartPoint = { x: number; y: number; data: ChartTrace; xaxis?: ChartAxis; yaxis?: ChartAxis; customdata?: unknown };
type ChartEvent = { points: [ChartPoint] };
type Hearing = (event: ChartEvent) => void;

interface Chart extends HTMLElement {
  data?: ChartTrace[];
  _fullData?: ChartTrace[];
  _fullLayout?: Record<string, ChartAxis | undefined>;
  on(event: string, hear: Hearing): void;
  removeListener?(event: string, hear?: Hearing): void;
}

// A matrix of a head, large.

type Axis = "queries" | "keys";
type Box = { left: number; top: number; right: number; bottom: number };
type Palette = import("./canvas/paint.js").Palette;
type Context = CanvasRenderingContext2D;

interface MatrixCalls {
  point(cell: Cell | null, place?: Spot, isSpoken?: boolean): void;
}

// A trace's payload (viz/browser/trace_payload.py): kinds of attention, whose axes are given by their index.

type AxisWord = [side: Side, first: number, end: number] | null;

interface HeadFacts {
  sentence: string;
  numbers: string;
  label: string | null;
  tendency: string | null;
  reason: string;
  share?: string;
  pairs?: Cell[];
  ignored?: number[];
  measures: (number | null)[];
  /** Of the joint picture: each kind of attention with its head. */
  parts?: [short: string, facts: HeadFacts][];
}

interface Kind extends Titles {
  /** Where the target begins on the axes of all three kinds. */
  border?: number;
  kind: string;
  name: string;
  short: string;
  layers: number[];
  heads: number;
  queries: number;
  keys: number;
  beside: number | null;
  queryNoun: string;
  keyNoun: string;
  caption: string;
  facts: HeadFacts[][];
}

interface SentKind extends Kind {
  words: Record<Axis, AxisWord[]>;
  weights: Float32Array | Uint8Array;
  /** Of each row, (layer, head, query), where weights are 8 bits each. */
  scales: Float32Array | null;
  /** Rows and columns of a patch, where each weight is the largest of one. */
  grain: [rows: number, columns: number] | null;
  /** (layer, head, token, d), and the scores before masking (layer, head, query, key). */
  q: Float32Array | null;
  k: Float32Array | null;
  v: Float32Array | null;
  scores: Float32Array | null;
  allowed: (Uint8Array | (Uint8Array | null)[] | null)[];
  opening: [layer: number, head: number];
}

type Measure = { key: string; name: string; unit: string };

interface TraceHeader {
  epoch: number;
  selection: Spelling;
  axes: string[][];
  kinds: SentKind[];
  measures: Measure[];
  /** Where heads are asked for that were sent in patches. */
  toCome: { url: string; trace: string } | null;
  onDemand: string;
  notes: string[];
  surveyed: boolean;
  canSwitchOff: boolean;
  inCorpus: boolean;
  joint: boolean;
  stage: boolean;
  themes: Themes;
}

type TracePayload = import("./canvas/trace_payload.js").TracePayload;
/** A head's weights as numbers; `exact` where they were sent so, `rough` where patches stand for cells. */
type ExactCells = Cells & { weights: Float32Array; exact: boolean; rough: boolean };

// What is selected among all heads, and how an address spells it.

type Pair = [layer: number, head: number];
type Only = { layer?: number; head?: number };
/** How heads are shown; pairs and `only` count layers from 0, as the address does. */
type How = {
  view: string;
  compare: Pair[];
  order: string;
  gamma: number;
  only: Only | null;
  reading: Record<string, boolean>;
};
type Compared = { layer: number; head: number; compare: Pair[] };
type Chosen = How & { attention: string; layer: number; head: number; cell: Cell | null; range: CellRange | null; off: string[] };
type Spelling = Record<string, string>;

type DrawnHead = { layer: number; head: number; color: string | null; cells: ExactCells };
/** A token on one side of the lines between queries and keys. */
type SideToken = { side: "query" | "key"; index: number };
type Places = { queries: number[]; keys: number[] };

// A token of a sentence, as viz/decoding/payload.py writes it; with its weight, absolute and relative to the largest.

type Token = { text: string; joins: boolean };
type WeighedToken = Token & { weight: number; strength: number };
type Mean = { name: string; weights: Float32Array };

// A step of a scene or of a talk: to a scene of a number, or so many on from the present one.

type Wish = { number?: number; step?: number };
type Scene = { number: number; count: number; title: string; views: View[] };

// A speaker's question to the hall (viz/shell/polls.py); the truth comes once it is closed.

interface HallPoll {
  name: string;
  about: "key" | "word";
  choices: string[];
  context: string[];
  at: number;
  head: Head | null;
  named: string;
  closed: { guesses: number[]; truth: number[]; best: number } | null;
}

// What Python writes ahead of a script: an address relative to the page, a style sheet, the site's files.

declare const CODE: string;
declare const NOTES: string;
declare const STYLE: string;

/** The class `Envelope` for envelopes with such values. */
type Opened<Read> = new (bytes: Bytes) => Read & { id: string };

/** A head, by its kind of attention. */
type Head = [kind: string, layer: number, head: number];

// Called for each frame of a film.
declare var filmed: (share: number) => Promise<void>;
