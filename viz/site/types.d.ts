// What the service worker works with: the checks know a page's names, not a worker's.

declare const SITE: { version: string; files: string[]; models: string[]; named: string[] };

interface Lasting extends Event {
  waitUntil(done: Promise<unknown>): void;
}

interface Fetching extends Event {
  request: Request;
  respondWith(response: Promise<Response | undefined>): void;
}

interface WorkerScope {
  registration: ServiceWorkerRegistration;
  clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", hear: (event: Lasting) => void): void;
  addEventListener(type: "fetch", hear: (event: Fetching) => void): void;
}

// What a speaker's server found of the sentence on stage, the "followed" of payloads.json.

type StageMap = Pick<RecordedMap, "kind" | "layer" | "heads" | "queries" | "keys" | "weights"> & {
  scales: Numbers | null;
  allowed: Uint8Array | null | (Uint8Array | null)[];
  head: number | null;
} & Record<"q" | "k" | "v" | "scores", Numbers | null>;

interface OnStage {
  sentence: string;
  target: string | null;
  off: [kind: string, layer: number, head: number][];
  own: string;
  without: string | null;
  forced: Numbers | null;
  effects: EngineEffects["sites"] | null;
  unseen: string[];
  text: string;
  source: Pieces;
  read: Pieces;
  predictions: Pieces;
  logProbs: Numbers;
  steps: (Pieces & { probabilities: Numbers; rank: number; normalizers: Numbers })[];
  maps: StageMap[];
  added: Record<string, Numbers[]>;
  positions: Record<string, FigurePositions | null>;
}

// Components in the page of the site, and itself.
declare var headscopeParts: Record<string, import("./parts.js").Code | undefined> | undefined;
declare var headscopeSite: import("./site.js").Site;
