// What the engine computes with. Numbers are in rows: (token, head * width) for queries, keys and values.

type Numbers = Float32Array;
type Turn = () => Promise<void>;
type AttentionSite = { kind: string; layer: number };

interface ModelConfig {
  vocab_size: number;
  target_vocab_size: number | null;
  d_model: number;
  d_ff: number;
  n_heads: number;
  n_encoder_layers: number;
  n_decoder_layers: number;
  d_k: number | null;
  d_v: number | null;
  attention_bias: boolean;
  fused_qkv: boolean;
  head_layout: string;
  fused_layout: string;
  scoring: string;
  norm: string;
  final_norm: boolean;
  layer_norm_eps: number;
  activation: string;
  positions: string;
  max_positions: number;
  tie_embeddings: boolean;
  scale_embeddings: boolean;
  embedding_norm: boolean;
  output_bias: boolean;
  unwritten: number[] | null;
  pad_id: number;
  unk_id: number;
  bos_id: number;
  eos_id: number;
  outputSize: number;
  keyWidth: number;
  valueWidth: number;
}

/** Bits of (head or 1, query, key), 1 = may attend. */
type AttentionMask = { bits: Uint8Array; heads: number; queries: number; keys: number };
type MaskRule = (queries: number, keys: number) => AttentionMask;
type MaskPreset = { name: string; settings?: PresetSettings };
type PresetSettings = { k?: number; width?: number; keys?: number[]; lengths?: number[]; key_lengths?: number[] | null };
type MaskEdit = { kind: string; layer?: number | null; presets?: MaskPreset[] | null; allowed?: AttentionMask | null };

type HeadEdit = AttentionSite & { head: number } & HeadChange;
type HeadChange = { gate?: number; mean?: ArrayLike<number>; pattern?: string };
type HeadEffect = {
  change?(output: Numbers): void;
  replace?(weights: Numbers, may: Uint8Array | null, position: number): void;
  width?: number;
};

type PositionEdit = { scale: number; shift: number; reverse: boolean; side: string };
/** Cosines and sines of the angles at a position. */
type Rotation = [cosines: Numbers, sines: Numbers];
type PositionEffect = { added: Numbers[] | null; rotations: Rotation[] | null; bias: Numbers | null };

/** An intervention, as a page asks for it. */
interface Under {
  masks?: MaskEdit[];
  heads?: HeadEdit[];
  positions?: Partial<PositionEdit> | null;
  sourceOrder?: number[] | null;
}

/** An intervention that was checked, with what records one pass. */
interface Pass {
  masks?: import("./masks.js").Masks | null;
  heads?: import("./heads.js").HeadEdits | null;
  positions?: PositionEdit | null;
  record?: import("./recording.js").Recording | import("./recording.js").FedForward;
  states?(states: Numbers[]): void;
  /** Takes hidden states that may be changed: what the first layer of an encoder reads at 0, then what each one writes. */
  stage?(stage: number, states: Numbers): void;
  /** What each residual connection of the decoder adds up to, in order. */
  sums?: Numbers[];
}

/** One attention, as it was recorded. */
type RecordedMap = AttentionSite & {
  heads: number;
  queries: number;
  keys: number;
  weights: Numbers;
  scores: Numbers;
  allowed: AttentionMask;
  q: Numbers;
  k: Numbers;
  v: Numbers;
  /** The one head whose scores and vectors are there, or null for none; absent where all heads' are. */
  only?: number | null;
};

type Sampling = { temperature: number; topK: number | null; topP: number | null; seed: number; samples: number };
interface Search {
  beam?: number;
  alpha?: number;
  sampling?: Sampling | null;
  prefix?: number[];
  given?: number;
  maxLength?: number | null;
  kept?: SearchPath[] | null;
  memory?: Numbers;
}
/** A hypothesis by its newest token. */
type SearchPath = { parent: SearchPath | null; token: number; logProb: number; total: number; length: number };
type FoundHypothesis = { ids: number[]; logProbs: number[]; score: number; finished: boolean };

/** Pieces as SentencePiece spells them. */
type Pieces = { tokens: string[]; ids: number[] };

interface Port {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
}

// Known in workers alone.
declare var WorkerGlobalScope: { new (): object } | undefined;
