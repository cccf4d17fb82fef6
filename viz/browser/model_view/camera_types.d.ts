// The places of the model's picture, and the camera that goes among them.

/** Where one is. A layer is given by its own number, as sites have it; heads, queries, keys and steps are counted from 0. */
type Place =
  | { at: "model" }
  | { at: "stack"; stack: string }
  | { at: "block"; kind: string; layer: number }
  | { at: "head"; kind: string; layer: number; head: number }
  | { at: "row"; kind: string; layer: number; head: number; query: number }
  | { at: "weight"; kind: string; layer: number; head: number; query: number; key: number }
  | { at: "positions"; stack: string }
  | { at: "added"; stack: string; layer: number }
  | { at: "next"; step: number };

/** A place in a head, or a whole one. */
type HeadPlace = Extract<Place, { head: number }>;

/** The world's point in the middle of the viewport, and how many pixels a world's pixel takes across and up. */
type CameraView = { x: number; y: number; across: number; up: number };
type Viewport = { width: number; height: number };
type Insets = { top: number; right: number; bottom: number; left: number };
type WorldPoint = { x: number; y: number };

/** How far a camera goes: out to `whole`, whose world is seen completely, and in to a scale of `most`, over that `world`. */
interface CameraLimits {
  whole: CameraView;
  world: Rectangle;
  most: number;
  /** How the thing under the pointer is seen when it fits: coming closer, the picture takes its proportions. */
  near?: CameraView | null;
}

interface CameraPath {
  /** In milliseconds; 0 where nothing moves. */
  duration: number;
  at(share: number): CameraView;
}

/** Where things lie in the world; blocks, tiles and added by "kind.layer" or "stack.layer". */
interface Space {
  model: Rectangle;
  stacks: Record<string, Rectangle>;
  /** A block's row of heads. */
  blocks: Record<string, Rectangle>;
  heads: Record<string, TileSize & { gap: number }>;
  positions: Record<string, Rectangle>;
  added: Record<string, Rectangle>;
  next: Rectangle | null;
  /** The step whose next tokens are shown. */
  step: number;
}

type PlacedBlock = Pick<FigureBlock, "kind" | "name" | "layers" | "heads" | "queries" | "keys" | "keySide"> & {
  /** Of both axes, where they are those of no side. */
  tokens?: string[];
};
type PlacedStack = Pick<FigureStack, "kind" | "name" | "side" | "tokens" | "added"> & {
  blocks: PlacedBlock[];
  /** All three kinds of attention in one picture, where there is one. */
  joint?: PlacedBlock;
  positions: Pick<FigurePositions, "dimensions"> | null;
};

/** What places need of a `Figure`. */
interface PlacedFigure {
  stacks: PlacedStack[];
  next: Pick<NextTokens, "texts" | "shares">[] | null;
  head: [kind: string, layer: number, head: number] | null;
  cells(block: PlacedBlock, place: number, head: number): Pick<Cells, "weights" | "scale" | "allowed" | "nKeys"> & { rough?: boolean };
}

/** `zoom` is 1 for closer and -1 for out. */
type KeyMeaning = { zoom?: number; whole?: true; enter?: true; step?: string };

/** What hands ask for; points are on the screen, from the element's corner. */
interface GestureCalls {
  /** Whether the whole model is seen, at rest. */
  isOut(): boolean;
  /** Whether what is seen is part of a page that one reads: its wheel and one finger scroll that. */
  isRead(): boolean;
  /** Whether one finger leads through the scenes of a talk. */
  isLed(): boolean;
  /** A finger or a button went down. */
  grasp(): void;
  zoom(point: WorldPoint, factor: number): void;
  pan(dx: number, dy: number): void;
  /** A double click or a double tap. */
  enter(point: WorldPoint): void;
  /** 1 to what comes next, -1 back. */
  swipe(way: number): void;
}
