"""Training settings: a TOML file a person can read, as one frozen value."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

CONFIGS = Path(__file__).parent / "configs"


class SettingsError(ValueError):
    """Settings that cannot be used; the message says which and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """The [training] table of a configuration file. Times are in steps.

    Defaults are the paper's (sections 5.1 to 5.4) where it gives a number.
    """

    reverse: bool = False
    """Translate from the last column of the data files into the one before it: the way back."""
    vocab_size: int = 8000
    separate_vocabularies: bool = False
    """Whether source and target have their own vocabularies of that size."""
    tokenizer: Literal["unigram", "bpe"] = "unigram"
    apostrophes: bool = False
    """Whether a piece may contain the apostrophe inside a word, so that "don't" can be one."""
    words: str = ""
    """Words, separated by spaces, that each become one piece, however rare they are."""
    sampling_alpha: float = 0.0
    """Subword regularization (Kudo 2018; for BPE, Provilkov et al. 2020): 0 always takes the
    likeliest segmentation; else as in `Tokenizer.sample_all`."""
    rename_share: float = 0.0
    """The share of pairs about Tom or Mary that get other names, drawn anew every epoch."""
    capital_share: float = 0.0
    """The share of source words that get a capital, drawn anew every epoch."""
    typed_share: float = 0.0
    """The share of pairs changed as people type (`model.training.typed`), anew every epoch."""
    typed_language: Literal["de", "fr"] = "de"
    """The language of these pairs beside English."""
    noun_copies: int = 0
    """Copies of each English-German pair with a noun of `model.training.nouns`, with other nouns in
    its place, drawn anew every epoch."""
    weights: dict[str, float] = dataclasses.field(default_factory=dict)
    """How often a pair comes in an epoch, by its source (the first column of a data file), or by
    source and tier, as "ding-2023/word"; 1 for all others. Fractions are drawn anew every epoch."""
    causal: bool = True
    """Whether training uses the decoder's causal mask. Without it, each position sees the token it
    must predict, and the model learns to copy."""
    batch_tokens: int = 4096
    """Tokens of the longer side in one forward pass of one process."""
    accumulate: int = 1
    """Forward passes of one process before a step."""
    max_steps: int = 100_000
    seconds: float = 0.0
    """If not 0, the run ends after about so many seconds, validations included: its speed so far
    decides max_steps anew at each line of its log, and with it the learning rate."""
    optimizer: Literal["adam", "muon"] = "adam"
    """The paper's Adam, or Muon for hidden matrices with Adam for the rest (Jordan et al. 2024)."""
    parts: str = ""
    """Parts of the names of parameters to train, separated by spaces, such as "feed_forward"; the
    others stay as they are. Without it, all are trained."""
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    """Largest gradient norm; 0 does not clip."""
    schedule: Literal["paper", "linear"] = "paper"
    """Equation 3 of section 5.3; or warm-up, a flat stretch, and a linear decay to zero."""
    warmup_steps: int = 4000
    learning_rate: float = 1.0
    """paper: a factor on equation 3. linear: the peak."""
    decay_fraction: float = 1.0
    """linear: the share of max_steps that decays."""
    label_smoothing: float = 0.1
    r_drop: float = 0.0
    """α of R-Drop (Liang et al. 2021): each batch runs twice, with different dropout; the mean of
    both losses grows by half of α times the divergence of the two distributions."""
    entropy_penalty: float = 0.0
    """The factor of the mean entropy of heads' rows, in nats, in the loss of a token: heads that
    must decide where to look are easier to read."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto: bf16 autocast if the machine multiplies faster in bf16."""
    average_last: int = 5
    """The number of last validated weights to average at the end (section 6.1)."""
    validate_every: int = 1000
    validate_sentences: int = 500
    """Sentences of the validation set to translate for BLEU; the loss is over all."""
    patience: int = 0
    """Validations without a better loss before training stops; 0 never stops early."""
    save_every: int = 500
    log_every: int = 50
    snapshots: int = 0
    """Weights kept at this many log-spaced steps, the untrained ones included."""
    workers: int = 0
    """Processes that prepare the next epochs while one trains, for a GPU."""
    compile: bool = False
    seed: int = 1


def load_settings(
    name: str, overrides: list[str] | None = None
) -> tuple[dict[str, Any], TrainingSettings]:
    """The fields of [model] in a configuration, with the settings of [training].

    Args:
        name: of a file in model/training/configs, or a path to a .toml file.
        overrides: "training.max_steps=100" or "model.dropout=0.3".

    Raises:
        SettingsError: if there is no such file, it is not TOML, or a field is unknown or wrong.
    """
    path = Path(name) if name.endswith(".toml") else CONFIGS / f"{name}.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(sorted(each.stem for each in CONFIGS.glob("*.toml")))
        raise SettingsError(
            f"There is no configuration {name!r}; choose one of {known}, or give a .toml file."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
    for override in overrides or []:
        _apply(tables, override)
    unknown = sorted(set(tables) - {"model", "training"})
    if unknown:
        raise SettingsError(f"{path} has an unknown table [{unknown[0]}].")
    return tables.get("model", {}), training_settings(tables.get("training", {}))


def training_settings(fields: dict[str, Any]) -> TrainingSettings:
    """Settings from plain values; SettingsError if one is unknown, of a wrong type or range."""
    defaults = {field.name: field for field in dataclasses.fields(TrainingSettings)}
    for name, value in fields.items():
        if name not in defaults:
            raise SettingsError(f"Unknown training setting {name!r}.")
        if name == "weights":
            _require_weights(value)
            continue
        default = defaults[name].default
        fits = isinstance(value, type(default)) and isinstance(value, bool) == isinstance(
            default, bool
        )
        if not fits and not (isinstance(default, float) and type(value) is int):
            raise SettingsError(
                f"The training setting {name} must be like {default!r}; it is {value!r}."
            )
        if isinstance(default, int | float) and value < 0:
            raise SettingsError(f"The training setting {name} must not be negative.")
    for name, annotation in get_type_hints(TrainingSettings).items():
        known = get_args(annotation) if get_origin(annotation) is Literal else ()
        if known and fields.get(name, known[0]) not in known:
            raise SettingsError(f"{name} is {fields[name]!r}; choose one of {', '.join(known)}.")
    for name in ("rename_share", "capital_share", "typed_share"):
        if fields.get(name, 0.0) > 1:
            raise SettingsError(f"The training setting {name} must not be more than 1.")
    for name in ("batch_tokens", "accumulate", "max_steps", "warmup_steps", "average_last"):
        if fields.get(name, 1) == 0:
            raise SettingsError(f"The training setting {name} must be at least 1.")
    return TrainingSettings(**fields)


def _require_weights(weights: Any) -> None:
    """Raises SettingsError unless weights are numbers by source."""
    if not isinstance(weights, dict) or not all(
        type(weight) in (int, float) and weight >= 0 for weight in weights.values()
    ):
        raise SettingsError(
            "The training setting weights must give each source a number of at least 0."
        )


def _apply(tables: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    table, dot, name = key.strip().partition(".")
    if not equals or not dot:
        raise SettingsError(f"{override!r} must read like training.max_steps=100.")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    tables.setdefault(table, {})[name] = parsed
