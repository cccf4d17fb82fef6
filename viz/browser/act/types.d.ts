// What viz/acts/act.py packs, for the checks alone: no browser loads this file.

export interface ActKind {
  name: string;
  layers: number;
  heads: number;
  rows: number;
  columns: number;
  /** Of each trace, (layer, head, row, column). */
  weights: Uint8Array[];
}

export interface ActFrame {
  name: string;
  said: string;
  written: [text: string, mark: string][];
  off: [kind: number, layer: number, head: number][];
  trace: number;
  stage: number;
}

export interface ActCurve {
  up: string;
  above: string;
  below: string;
  names: [string, string];
  values: number[];
  others: number[];
  count: number;
}

export interface ActStates {
  stages: string[];
  first: string[];
  second: string[];
  at: [stage: number, first: number, second: number];
  shares: number[];
}

export interface ActValues {
  key: string;
  title: string;
  alt: string;
  stage: boolean;
  plays: boolean;
  seconds: number;
  themes: Themes;
  read: string;
  kinds: ActKind[];
  frames: ActFrame[];
  curve: ActCurve | null;
  states: ActStates | null;
}
