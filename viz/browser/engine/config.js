// The configuration of a model, and a sentence for each that this engine does not run.

/** @type {Record<string, string[]>} */
const RUN = {
  scoring: ["scaled_dot_product", "dot_product", "learned_temperature", "additive", "additive_shared"],
  positions: ["sinusoidal", "sinusoidal_fairseq", "learned", "rotary", "alibi", "relative_bias"],
  activation: ["relu", "gelu", "swish"],
  norm: ["pre", "post"],
  head_layout: ["batched", "per_head"],
  fused_layout: ["stacked", "by_head"],
};

const DEFAULTS = {
  target_vocab_size: null,
  d_model: 512,
  d_ff: 2048,
  n_heads: 8,
  n_encoder_layers: 6,
  n_decoder_layers: 6,
  d_k: null,
  d_v: null,
  attention_bias: true,
  fused_qkv: false,
  head_layout: "batched",
  fused_layout: "stacked",
  scoring: "scaled_dot_product",
  norm: "post",
  final_norm: false,
  layer_norm_eps: 1e-5,
  activation: "relu",
  positions: "sinusoidal",
  max_positions: 512,
  tie_embeddings: true,
  scale_embeddings: true,
  embedding_norm: false,
  output_bias: false,
  unwritten: null,
  pad_id: 0,
  unk_id: 1,
  bos_id: 2,
  eos_id: 3,
};

/** The fields of a config.json with their defaults (model/paper/config.py).
 *
 * Throws an Error that says what this engine does not run. */
/** @type {(fields: Partial<ModelConfig>) => ModelConfig} */
export function readConfig(fields) {
  const config = { vocab_size: 0, ...DEFAULTS, ...fields };
  /** @type {Record<string, unknown>} */
  const chosen = config;
  for (const [name, known] of Object.entries(RUN)) {
    if (!known.includes(String(chosen[name]))) {
      throw new Error(
        `This page does not run models whose ${name} is ${chosen[name]}; open the model in the app, or choose one ` +
          `whose ${name} is ${known.join(" or ")}.`,
      );
    }
  }
  if (!config.vocab_size) throw new Error("The model configuration lacks vocab_size.");
  return {
    ...config,
    outputSize: config.target_vocab_size ?? config.vocab_size,
    keyWidth: config.d_k ?? config.d_model / config.n_heads,
    valueWidth: config.d_v ?? config.d_model / config.n_heads,
  };
}
