"""A trace of the browser's engine, packed in the browser: the payload that Python packs."""

from __future__ import annotations

import base64
import itertools
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.explain.alignment_file import read_alignment
from model.explain.block_outputs import block_outputs
from model.explain.examples import read_examples
from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of
from model.explain.labels_file import read_labels
from model.explain.reading import AS_RECORDED, Reading, read
from model.paper.search import Search
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit.engine import in_node
from tests.kit.trace_payload import Decoded
from viz.browser.trace_payload import pack
from viz.decoding.attention import head_mean
from viz.decoding.payload import pack as pack_decoding
from viz.model_page.payload import pack as pack_figure
from viz.model_page.picture import figure_of_model
from viz.registry.pages import VIEWS
from viz.site.model import openings

pytestmark = pytest.mark.slow

CROSS, DECODER = AttentionKind.CROSS, AttentionKind.DECODER


def encoded(envelope: bytes) -> str:
    return base64.b64encode(envelope).decode()


def assert_alike(found: Any, expected: Any, place: str = "") -> None:
    """Equal, but for the last digits of numbers, and of bytes by 1."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            assert_alike(found[key], value, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_alike(one, other, f"{place}[{number}]")
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, place
        least = 1 if expected.dtype == np.uint8 else 1e-4
        np.testing.assert_allclose(found.astype(float), expected, rtol=0, atol=least, err_msg=place)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-4), place
    else:
        assert found == expected, place


def in_the_browser(page: str, **job: Any) -> dict[str, Any]:
    """What the browser packs for a page."""
    return Decoded(base64.b64decode(in_node("pack", page=page, **job))).header


def set_aside_openings_and_pairs(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Take out what may differ of the same trace, and compare it in its own way."""
    for kind, same in zip(expected["kinds"], found["kinds"], strict=True):
        # A head that opens was found in the template's own sentence.
        assert kind.pop("opening")
        assert same.pop("opening")
        n_queries, n_keys = (len(expected["axes"][kind[axis]]) for axis in ("queries", "keys"))
        weights = same["weights"].reshape(-1, kind["heads"], n_queries, n_keys)
        for layer, heads in enumerate(kind["facts"]):
            for head, facts in enumerate(heads):
                # Of equally strong pairs, rounding decides which comes first.
                pairs = facts.pop("pairs"), same["facts"][layer][head].pop("pairs")
                strengths = [[weights[layer, head, *cell] for cell in each] for each in pairs]
                assert strengths[0] == pytest.approx(strengths[1], abs=1e-4)


@pytest.mark.parametrize(
    "name", ["en-de", "toy-numbers-fused", "toy-dates-rotary", "toy-sort-alibi"]
)
def test_the_engine_packs_the_opening_pictures_as_python_does(name: str) -> None:
    """The whole model at work and the decoding, for another sentence than the template's."""
    folder = CHECKPOINTS / name
    model = load(folder, device="cpu")
    first, line = (each.source for each in read_examples(folder)[:2])
    line = f"{line} “quoted”, and-so 😀 on"
    templates, expected = (openings(model, folder, each) for each in (first, line))
    for page in ("model", "decoding"):
        job = {"folder": str(folder), "options": {}, "line": line}
        found = in_the_browser(page, **job, template=encoded(templates[page]))
        header = Decoded(expected[page]).header
        if page == "model":
            # What a trace opens with is told by its template alone.
            assert header.pop("selection")
            assert not found.pop("selection")
            set_aside_openings_and_pairs(found, header)
        assert_alike(found, header)


TOY = "toy-dates-rotary"


def test_heads_in_a_reading_stand_beside_the_model_as_it_was_recorded() -> None:
    """Both with what each head is worth."""
    folder = CHECKPOINTS / "en-de"
    model, survey = load(folder, device="cpu"), read_labels(folder)
    assert survey is not None
    first, line = (each.source for each in read_examples(folder)[:2])
    reading = Reading(words=True, specials=False, predicted=True)
    trace = model.trace(line)
    seen = [read(trace, each) for each in (AS_RECORDED, reading)]
    facts = [facts_of(each.maps) for each in seen]
    figure = figure_of_model(
        model,
        trace,
        seen[0],
        facts[0],
        table=read_alignment(folder),
        blocks=block_outputs(model, trace),
        labels=survey.labels,
        pages=list(VIEWS),
    )
    figure = replace(figure, effects=effects_of(model, trace).of())
    expected = Decoded(pack_figure(figure, key=f"en-de {line}", reading=(seen[1], facts[1]))).header
    found = in_the_browser(
        "model",
        folder=str(folder),
        options={},
        line=line,
        template=encoded(openings(model, folder, first)["model"]),
        reading=asdict(reading),
        measures=True,
    )
    beside = [Decoded(bytes(each.pop("reading"))).header for each in (found, expected)]
    for mine, pythons in ((found, expected), beside):
        assert mine.pop("selection") == {}
        assert not pythons.pop("selection")
        set_aside_openings_and_pairs(mine, pythons)
        assert_alike(mine, pythons)


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [(TOY, CROSS, 1), (TOY, CROSS, 3), (TOY, DECODER, 1), ("en-de", CROSS, 5)],
)
def test_steps_show_the_attention_of_the_heads_that_are_chosen(
    name: str, kind: AttentionKind, count: int
) -> None:
    """Of one kind only: the other is the mean of all its heads."""
    folder = CHECKPOINTS / name
    model, line = load(folder, device="cpu"), read_examples(folder)[0].source
    decoding = model.decode(line, search=Search())
    trace = model.trace_of(decoding.translation)
    sites = [site for site in trace.maps if site.kind is kind]
    heads = [(site, head) for head in (1, 0, 3, 2) for site in sites][:count]

    def packed(shown: list[Head]) -> bytes:
        means = (head_mean(trace, each, shown) for each in (CROSS, DECODER))
        return pack_decoding(decoding, trace.target, *means, name=line)

    template, expected = packed([]), Decoded(packed(heads)).header
    named = [{"kind": site.kind, "layer": site.layer, "head": head} for site, head in heads]
    job = {"folder": str(folder), "options": {}, "line": line, "template": encoded(template)}
    assert_alike(in_the_browser("decoding", **job, heads=named), expected)


READINGS = [Reading(*flags) for flags in itertools.product((False, True), repeat=4)]


def read_in_the_browser(name: str, line: str, **job: Any) -> tuple[dict[str, Any], list[Any]]:
    """The engine's trace of a line, and what is read of it under each of READINGS."""
    readings = [asdict(reading) for reading in READINGS]
    folder = str(CHECKPOINTS / name)
    given = {"under": {}, "template": None, **job}
    found = in_node("read", folder=folder, options={}, line=line, readings=readings, **given)
    return found["trace"], found["read"]


@pytest.mark.parametrize("name", ["en-de", "toy-count-temperature", "toy-dates-rotary"])
def test_the_engine_packs_what_python_packs(name: str) -> None:
    """Under every reading."""
    folder = CHECKPOINTS / name
    model, survey = load(folder, device="cpu"), read_labels(folder)
    labels = survey.labels if survey else {}
    first, line = (each.source for each in read_examples(folder)[:2])
    trace = model.trace(line)

    def packed(given: Trace, effects: Any, reading: Reading = AS_RECORDED) -> bytes:
        seen = read(given, reading)
        return pack(seen, facts_of(seen.maps), labels, effects=effects)

    template = encoded(packed(model.trace(first), {}))
    losses = effects_of(model, trace).of()
    _, read_there = read_in_the_browser(name, line, template=template)
    for reading, each in zip(READINGS, read_there, strict=True):
        python, browser = packed(trace, losses, reading), base64.b64decode(each["envelope"])
        expected, found = (Decoded(one).header for one in (python, browser))
        set_aside_openings_and_pairs(found, expected)
        assert_alike(found, expected, str(reading))


def tokens_of(side: dict[str, Any]) -> Tokens:
    return Tokens(tuple(side["tokens"]), tuple(side["ids"]))


def weights_of(found: dict[str, Any]) -> tuple[Any, Any]:
    """The weights and the mask of a map of the browser."""
    shape = found["queries"], found["keys"]
    weights = np.array(found["weights"], np.float32).reshape(found["heads"], *shape)
    allowed = np.array(found["allowed"]["bits"], bool).reshape(-1, *shape)
    return weights, allowed if len(allowed) > 1 else allowed[0]


def as_recorded(found: dict[str, Any]) -> Trace:
    """Python's trace with the engine's numbers put in."""
    source, target, predictions = (
        tokens_of(found[side]) for side in ("source", "target", "predictions")
    )
    maps = {}
    for each in found["maps"]:
        kind = AttentionKind(each["kind"])
        queries, keys = kind.axes(source, target, Tokens())
        weights, allowed = weights_of(each)
        site = Site(kind, each["layer"])
        maps[site] = AttentionMap(
            site, weights=weights, allowed=allowed, queries=queries, keys=keys
        )
    return Trace(
        source=source,
        target=target,
        predictions=predictions,
        text=found["text"],
        source_text=found["sourceText"],
        maps=maps,
    )


# Rows that may look nowhere, alike for all heads and not: a word's row is the mean of the others.
EMPTY_ROWS = {"masks": [{"kind": "encoder", "presets": [{"name": "strictly_causal"}]}]}
OWN_ROWS = {
    "masks": [
        {
            "kind": "cross",
            "allowed": {
                "bits": [int((cell // 4 + cell // 16) % 3 > 0) for cell in range(8 * 4 * 4)],
                **{"heads": 8, "queries": 4, "keys": 4},
            },
        }
    ]
}


@pytest.mark.parametrize(
    ("name", "line", "under"),
    [
        ("en-de", "“Rewritten 漢!” Mr. Smith-Jones", {}),
        ("en-de", "She rewrites hyperparameters.", EMPTY_ROWS),
        ("en-de", "The cat sat.", OWN_ROWS),
        ("de-en", "Donaudampfschifffahrt ist schön.", {}),
        ("toy-dates-rotary", "2024-02-29", {}),
        ("toy-reverse", "a b c", {}),
    ],
)
def test_a_trace_is_read_as_python_reads_it(name: str, line: str, under: dict[str, Any]) -> None:
    """Under every reading, to 1e-6, given the same weights."""
    recorded, read_there = read_in_the_browser(name, line, under=under)
    trace = as_recorded(recorded)
    for reading, each in zip(READINGS, read_there, strict=True):
        expected, found = read(trace, reading), each["seen"]
        for seen, same in zip(expected.maps.values(), found["maps"], strict=True):
            assert (tokens_of(same["rows"]), tokens_of(same["columns"])) == (
                seen.queries,
                seen.keys,
            )
            weights, allowed = weights_of(same)
            np.testing.assert_allclose(weights, seen.weights, rtol=0, atol=1e-6)
            assert np.array_equal(allowed, seen.allowed)
        assert {kind: tokens_of(labels) for kind, labels in found["beside"].items()} == {
            **expected.beside
        }
        for mine, theirs in (
            (found["spans"], expected.spans),
            (found["besideSpans"], expected.beside_spans),
        ):
            assert {name: tuple(map(tuple, each)) for name, each in mine.items()} == {**theirs}
        assert found["notes"] == list(expected.notes)
        assert found["byPrediction"] == expected.by_prediction
