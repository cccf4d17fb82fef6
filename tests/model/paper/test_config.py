"""A configuration survives its file, and refuses in sentences what it cannot build."""

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.paper.config import CHOICES, ConfigError, TransformerConfig
from model.paper.transformer import Transformer

CONFIGS = {
    "defaults": TransformerConfig(vocab_size=37000),
    "everything changed": TransformerConfig(
        vocab_size=31,
        d_model=15,
        d_ff=7,
        n_heads=4,
        n_encoder_layers=2,
        n_decoder_layers=3,
        d_k=5,
        output_bias=True,
        unwritten=(1, 2, 7),
        d_v=6,
        attention_bias=False,
        fused_qkv=True,
        scoring="additive",
        fused_attention=False,
        norm="pre",
        layer_norm_eps=1e-6,
        activation="gelu",
        dropout=0.0,
        positions="learned",
        max_positions=9,
        tie_embeddings=False,
        scale_embeddings=False,
        pad_id=3,
        unk_id=2,
        bos_id=1,
        eos_id=0,
    ),
    "one module per head": TransformerConfig(vocab_size=31, head_layout="per_head"),
    "two vocabularies": TransformerConfig(vocab_size=31, target_vocab_size=29),
    "published variants": TransformerConfig(
        vocab_size=31,
        fused_qkv=True,
        fused_layout="by_head",
        scoring="additive_shared",
        d_a=7,
        final_norm=True,
        embedding_norm=True,
        attention_dropout=0.2,
        activation_dropout=0.3,
    ),
}

UNBUILDABLE: dict[str, tuple[dict[str, Any], str]] = {
    "an empty vocabulary": ({"vocab_size": 0}, "vocab_size must be .* at least 1; it is 0"),
    "a negative width": ({"d_model": -4}, "d_model must be .* at least 1; it is -4"),
    "a target of no words": ({"target_vocab_size": 0}, "target_vocab_size must be .* at least 1"),
    "an end beyond the target's words": (
        {"target_vocab_size": 3},
        "eos_id lies outside the vocabulary of 3",
    ),
    "half a Transformer with two vocabularies": (
        {"target_vocab_size": 9, "n_encoder_layers": 0},
        "a decoder alone reads and writes with one",
    ),
    "no inner width": ({"d_ff": 0}, "d_ff must be"),
    "no heads": ({"n_heads": 0}, "n_heads must be"),
    "no layers": ({"n_encoder_layers": 0, "n_decoder_layers": 0}, "are both 0"),
    "fewer layers than none": ({"n_decoder_layers": -1}, "n_decoder_layers must be"),
    "no positions": ({"max_positions": 0}, "max_positions must be"),
    "keys of no width": ({"d_k": 0}, "d_k must be"),
    "values of no width": ({"d_v": 0}, "d_v must be"),
    "a width that heads do not share": (
        {"d_model": 10, "n_heads": 4},
        "d_model 10 does not divide by n_heads 4; give d_k and d_v",
    ),
    "a d_k without the d_v that sharing cannot give": (
        {"d_model": 10, "n_heads": 4, "d_k": 3},
        "does not divide",
    ),
    "sinusoids of odd width": ({"d_model": 15, "n_heads": 3}, "must be even; it is 15"),
    "an unknown norm": ({"norm": "sandwich"}, "norm is 'sandwich'; choose one of post, pre"),
    "an unknown activation": ({"activation": "tanh"}, "choose one of relu, gelu"),
    "unknown positions": (
        {"positions": "absolute"},
        "choose one of sinusoidal, sinusoidal_",
    ),
    "rotary positions of odd width": (
        {"positions": "rotary", "d_k": 3, "d_v": 3},
        "d_k must be even; it is 3",
    ),
    "rotary positions without a product": (
        {"positions": "rotary", "scoring": "additive"},
        "product of query and key, which additive scoring does not use",
    ),
    "dropout of all weights": ({"attention_dropout": 1.0}, r"attention_dropout must be in \[0, 1"),
    "a layout of rows that are apart": ({"fused_layout": "by_head"}, "fused_qkv, which is off"),
    "a shared v for heads kept apart": (
        {"scoring": "additive_shared", "head_layout": "per_head"},
        "one v for all heads",
    ),
    "a width that nothing has": ({"d_a": 8}, "scoring is scaled_dot_product; leave it out"),
    "an unknown scoring": ({"scoring": "cosine"}, "scoring is 'cosine'"),
    "an unknown layout": ({"head_layout": "grouped"}, "head_layout is 'grouped'"),
    "dropout of everything": ({"dropout": 1.0}, r"dropout must be in \[0, 1\); it is 1.0"),
    "negative dropout": ({"dropout": -0.1}, "dropout must be"),
    "dropout that is no number": ({"dropout": math.nan}, "dropout must be"),
    "an epsilon of zero": ({"layer_norm_eps": 0.0}, "layer_norm_eps must be"),
    "an epsilon that is no number": ({"layer_norm_eps": math.nan}, "layer_norm_eps must be"),
    "an infinite epsilon": ({"layer_norm_eps": math.inf}, "layer_norm_eps must be"),
    "fused projections of heads kept apart": (
        {"fused_qkv": True, "head_layout": "per_head"},
        "choose one of the two",
    ),
    "a special token outside the vocabulary": ({"eos_id": 31}, "eos_id lies outside .* of 31"),
    "a negative special token": ({"pad_id": -1}, "pad_id lies outside"),
}

# What only a file can bring: a program's type checker sees these.
UNREADABLE: dict[str, tuple[Any, str]] = {
    "a list": ([1, 2], "must be a JSON object"),
    "nothing": (None, "must be a JSON object"),
    "no vocabulary": ({"d_model": 512}, "lacks vocab_size"),
    "unknown fields, all named": ({"vocab_size": 31, "z": 1, "a": 2}, "Unknown field.*: a, z"),
    "a number as text": ({"vocab_size": "31"}, "vocab_size .* unusable value: '31'"),
    "a number that is a truth value": ({"vocab_size": True}, "vocab_size .* unusable"),
    "a broken number": ({"vocab_size": 31, "d_model": 512.0}, "d_model .* unusable value: 512.0"),
    "a missing number": ({"vocab_size": 31, "d_model": None}, "d_model .* unusable value: None"),
    "a truth value as text": ({"vocab_size": 31, "fused_qkv": "yes"}, "fused_qkv .* unusable"),
    "a truth value as number": ({"vocab_size": 31, "fused_qkv": 1}, "fused_qkv .* unusable"),
    "a rate as text": ({"vocab_size": 31, "dropout": "0.1"}, "dropout .* unusable"),
    "a rate that is a truth value": ({"vocab_size": 31, "dropout": False}, "dropout .* unusable"),
    "a choice that is a list": ({"vocab_size": 31, "norm": ["pre"]}, "norm .* unusable"),
    "a width that is text": ({"vocab_size": 31, "d_k": "64"}, "d_k .* unusable"),
}


def refusal(build: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        build()
    text = str(refused.value)
    assert text.endswith("."), text
    assert len(text.split()) >= 4, text


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_configuration_survives_its_json_file(config: TransformerConfig) -> None:
    fields = json.loads(json.dumps(config.to_dict()))
    assert TransformerConfig.from_dict(fields) == config


def test_the_round_trip_is_checked_on_a_value_other_than_the_default_in_every_field() -> None:
    default = TransformerConfig(vocab_size=37000).to_dict()
    changed = [config.to_dict() for config in CONFIGS.values()]
    for name, value in default.items():
        assert any(each[name] != value for each in changed), name


def test_fields_that_a_file_leaves_out_take_their_defaults() -> None:
    assert TransformerConfig.from_dict({"vocab_size": 37000}) == CONFIGS["defaults"]


def test_the_defaults_are_the_base_model_of_table_3() -> None:
    base = CONFIGS["defaults"]
    assert (base.n_encoder_layers, base.n_decoder_layers) == (6, 6)
    assert (base.d_model, base.d_ff, base.n_heads) == (512, 2048, 8)
    assert (base.key_width, base.value_width) == (64, 64)
    assert base.dropout == 0.1
    assert (base.norm, base.activation, base.positions) == ("post", "relu", "sinusoidal")
    assert base.scoring == "scaled_dot_product"
    assert base.tie_embeddings
    assert base.scale_embeddings


def test_given_head_widths_replace_the_shared_ones() -> None:
    config = CONFIGS["everything changed"]
    assert (config.key_width, config.value_width) == (5, 6)


def test_a_configuration_cannot_be_changed_after_the_model_was_built_from_it() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CONFIGS["defaults"].d_model = 256  # type: ignore[misc]


@pytest.mark.parametrize(("fields", "message"), UNBUILDABLE.values(), ids=UNBUILDABLE)
def test_an_unbuildable_configuration_is_refused_in_a_sentence(
    fields: dict[str, Any], message: str
) -> None:
    refusal(lambda: TransformerConfig(**{"vocab_size": 31} | fields), message)
    refusal(lambda: TransformerConfig.from_dict({"vocab_size": 31} | fields), message)


@pytest.mark.parametrize(("fields", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_file_is_refused_in_a_sentence(fields: Any, message: str) -> None:
    refusal(lambda: TransformerConfig.from_dict(fields), message)


@given(
    st.dictionaries(
        st.sampled_from(list(CONFIGS["defaults"].to_dict())),
        st.none()
        | st.booleans()
        | st.integers(-2, 8)
        | st.floats()
        | st.sampled_from(["post", "pre", "learned", "additive", "per_head", "relu", ""])
        | st.lists(st.integers(), max_size=1)
        | st.just({}),
        max_size=6,
    )
)
def test_whatever_stands_in_the_file_is_either_buildable_or_refused(fields: dict[str, Any]) -> None:
    try:
        config = TransformerConfig.from_dict({"vocab_size": 8, "d_model": 8, "d_ff": 4} | fields)
    except ConfigError:
        return
    Transformer(config)


def test_every_field_that_chooses_offers_what_its_registry_holds() -> None:
    fields = {"norm", "activation", "positions", "scoring", "head_layout", "fused_layout"}
    assert set(CHOICES) == fields
    sizes = {"vocab_size": 8, "d_model": 16, "d_ff": 4}
    for field, names in CHOICES.items():
        for name in names:
            chosen = {field: name, "fused_qkv": field == "fused_layout"}
            Transformer(TransformerConfig(**sizes, **chosen))
