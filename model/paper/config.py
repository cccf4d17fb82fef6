"""The configuration of a Transformer, one frozen value stored beside its weights."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, Literal, Self, get_args

Norm = Literal["post", "pre"]
FusedLayout = Literal["stacked", "by_head"]

CHOICES: dict[str, Collection[str]] = {
    "norm": get_args(Norm),
    "fused_layout": get_args(FusedLayout),
}
"""The allowed values of a field. Each registry enters its own: those of activation, positions,
scoring and head_layout."""

MOST = {
    "vocab_size": 2**20,
    "target_vocab_size": 2**20,
    "d_model": 2**16,
    "d_ff": 2**18,
    "n_heads": 2**10,
    "d_k": 2**16,
    "d_v": 2**16,
    "d_a": 2**16,
    "n_encoder_layers": 2**9,
    "n_decoder_layers": 2**9,
    "max_positions": 2**16,
}
"""The largest allowed sizes: beyond every published model, yet too small to stop a machine."""

_NAME = re.compile(r"\w{1,40}")


class ConfigError(ValueError):
    """A configuration that describes no possible Transformer; the message says what to change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerConfig:
    """The configuration of a Transformer: every published variant is a value, not a fork.

    The defaults are the base model of Vaswani et al. 2017, table 3. Source and target share one
    vocabulary (section 5.1) unless `target_vocab_size` gives the target its own. Raises ConfigError
    if a size is not positive, a choice is unknown, or two fields disagree.
    """

    vocab_size: int
    target_vocab_size: int | None = None
    """Pieces of the target's own vocabulary; None if source and target share one."""
    d_model: int = 512
    d_ff: int = 2048
    n_heads: int = 8
    n_encoder_layers: int = 6
    """0 makes a decoder alone, without cross-attention (model/paper/single_stack.py)."""
    n_decoder_layers: int = 6
    """0 makes an encoder alone."""
    d_k: int | None = None
    """Width of one head's queries and keys; None means d_model / n_heads, as in section 3.2.2."""
    d_v: int | None = None
    """Width of one head's values; None means d_model / n_heads."""
    attention_bias: bool = True
    """Whether the four attention projections add a bias."""
    fused_qkv: bool = False
    """Whether W_Q, W_K and W_V are one parameter. The function is the same."""
    head_layout: str = "batched"
    """All heads in one matrix, or one small attention module per head, concatenated."""
    fused_layout: FusedLayout = "stacked"
    """Order of the fused parameter's rows: W_Q, W_K, W_V; or head by head."""
    scoring: str = "scaled_dot_product"
    d_a: int | None = None
    """Width of v in additive scoring with a shared v; None means d_k."""
    fused_attention: bool = True
    """Whether torch's fused kernel runs unless a caller asks for weights."""
    norm: Norm = "post"
    """LayerNorm(x + Sublayer(x)) as in section 3.1, or x + Sublayer(LayerNorm(x))."""
    final_norm: bool = False
    """Whether a post-norm stack ends with another norm, as a pre-norm stack always does."""
    layer_norm_eps: float = 1e-5
    activation: str = "relu"
    dropout: float = 0.1
    """On each sub-layer's output and on the embedding sums, as in section 5.4."""
    attention_dropout: float = 0.0
    """On attention weights, after the softmax."""
    activation_dropout: float = 0.0
    """Inside the feed-forward network, after the activation."""
    positions: str = "sinusoidal"
    """The positional encoding, a name in ENCODINGS."""
    max_positions: int = 512
    """Rows of a learned table; a formula's table starts with as many and grows on demand."""
    tie_embeddings: bool = True
    """Whether source embedding, target embedding and output projection are one matrix (section
    3.4); with two vocabularies, the last two."""
    scale_embeddings: bool = True
    """Whether embeddings are multiplied by the square root of d_model (section 3.4)."""
    embedding_norm: bool = False
    """Whether the sum of embeddings and positions is normalised, as in BART."""
    output_bias: bool = False
    """Whether the logits have a learned bias, one number for each piece, as in Marian."""
    unwritten: tuple[int, ...] | None = None
    """Ids that no search writes; None for padding, the start token and <unk>."""
    pad_id: int = 0
    unk_id: int = 1
    bos_id: int = 2
    eos_id: int = 3

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "d_ff", "n_heads", "max_positions"):
            _require_whole(name, getattr(self, name))
        for name in ("n_encoder_layers", "n_decoder_layers"):
            _require_whole(name, getattr(self, name), least=0)
        if not self.n_encoder_layers + self.n_decoder_layers:
            raise ConfigError(
                "n_encoder_layers and n_decoder_layers are both 0; give one of them layers."
            )
        for name in ("d_k", "d_v", "d_a", "target_vocab_size"):
            if getattr(self, name) is not None:
                _require_whole(name, getattr(self, name))
        for name, most in MOST.items():
            if (getattr(self, name) or 0) > most:
                raise ConfigError(f"{name} is larger than {most:,}, the most allowed.")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name} is {shortened(getattr(self, name))}; "
                    f"choose one of {', '.join(choices)}."
                )
        if (self.d_k is None or self.d_v is None) and self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model {self.d_model} does not divide by n_heads {self.n_heads}; "
                "give d_k and d_v, or change one of the two."
            )
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(
                    f"{name} must be in [0, 1); it is {shortened(getattr(self, name))}."
                )
        if not 0 < self.layer_norm_eps <= 1:
            raise ConfigError(
                "layer_norm_eps must be above 0 and at most 1; "
                f"it is {shortened(self.layer_norm_eps)}."
            )
        # A registry holds names alone, or values that can check the configuration.
        for name, choices in CHOICES.items():
            if isinstance(choices, Mapping):
                require = getattr(choices[getattr(self, name)], "require", None)
                if require is not None:
                    require(self)
        if self.fused_qkv and self.head_layout == "per_head":
            raise ConfigError(
                "fused_qkv packs all heads in one parameter, which the per_head layout keeps "
                "apart; choose one of the two."
            )
        if self.fused_layout == "by_head" and not self.fused_qkv:
            raise ConfigError(
                "fused_layout orders the rows of fused_qkv, which is off; turn it on."
            )
        if self.d_a is not None and self.scoring != "additive_shared":
            raise ConfigError(
                f"d_a is a width of additive_shared scoring, and scoring is {self.scoring}; "
                "leave it out."
            )
        if not all(0 <= each < self.output_size for each in self.unwritten or ()):
            raise ConfigError(f"unwritten holds ids outside the vocabulary of {self.output_size}.")
        if self.eos_id in self.barred:
            raise ConfigError("No translation ends where </s> is unwritten; leave eos_id out.")
        for name in ("pad_id", "unk_id", "bos_id", "eos_id"):
            for size in (self.vocab_size, self.output_size):
                if not 0 <= getattr(self, name) < size:
                    raise ConfigError(f"{name} lies outside the vocabulary of {size}.")
        if self.single_stack and self.target_vocab_size is not None:
            raise ConfigError(
                f"target_vocab_size is the size of a second vocabulary, but {self.single_stack} "
                "reads and writes with one; leave it out."
            )

    @property
    def output_size(self) -> int:
        """Pieces of the vocabulary that the model writes with."""
        return self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def barred(self) -> tuple[int, ...]:
        """`unwritten`, resolved."""
        if self.unwritten is not None:
            return self.unwritten
        return self.pad_id, self.bos_id, self.unk_id

    @property
    def vocabularies(self) -> str:
        """The sizes of its vocabularies, in words."""
        if self.target_vocab_size is None:
            return f"{self.vocab_size:,} pieces"
        return f"{self.vocab_size:,} source and {self.target_vocab_size:,} target pieces"

    @property
    def single_stack(self) -> str:
        """The kind of a model with one stack, such as "an encoder alone"; empty for others."""
        if not self.n_decoder_layers:
            return "an encoder alone"
        return "" if self.n_encoder_layers else "a decoder alone"

    @property
    def key_width(self) -> int:
        """d_k of one head, resolved."""
        return self.d_k if self.d_k is not None else self.d_model // self.n_heads

    @property
    def value_width(self) -> int:
        """d_v of one head, resolved."""
        return self.d_v if self.d_v is not None else self.d_model // self.n_heads

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values for config.json."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The configuration with these fields, as `to_dict` gives them.

        Raises ConfigError if a field is unknown, missing or of the wrong type.
        """
        if not isinstance(fields, dict):
            raise ConfigError("The model configuration must be a JSON object.")
        known = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - set(known))
        if unknown:
            named = [name if _NAME.fullmatch(name) else shortened(name) for name in unknown[:8]]
            raise ConfigError(f"Unknown field in the model configuration: {', '.join(named)}.")
        if "vocab_size" not in fields:
            raise ConfigError("The model configuration lacks vocab_size.")
        for name, value in fields.items():
            _require_type(name, value, str(known[name].type))
        # JSON has no tuples.
        return cls(**{name: _frozen(value) for name, value in fields.items()})


def _require_whole(name: str, value: object, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(
            f"{name} must be a whole number of at least {least}; it is {shortened(value)}."
        )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _require_type(name: str, value: object, annotation: str) -> None:
    if annotation == "bool":
        fits = isinstance(value, bool)
    elif annotation == "float":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif annotation.startswith("tuple"):
        fits = value is None or (
            isinstance(value, list | tuple) and all(type(each) is int for each in value)
        )
    elif annotation.startswith("int"):
        optional = "None" in annotation
        fits = (isinstance(value, int) and not isinstance(value, bool)) or (
            optional and value is None
        )
    else:
        fits = isinstance(value, str)
    if not fits:
        raise ConfigError(
            f"{name} in the model configuration has an unusable value: {shortened(value)}."
        )
