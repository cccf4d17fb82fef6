"""The scripts' own tests, which Node runs, with what Python says of the same numbers."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.explain.facts import facts_of, head_facts
from model.explain.head_numbers import written
from model.explain.measures import MEASURES, Measure
from model.explain.reading import ReadTrace, read
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.blocks import TEMPERATURES, Blocks
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Decoding, DecodingStep, SearchNode, Translation
from model.translate.translator import load
from tests.kit.engine import NODE
from tests.kit.heads_page import HALF_A_STEP, scale
from tests.kit.readings import head_of
from tests.viz.browser.test_matrices import a_mask, a_panel, told
from tests.viz.browser.test_trace_payload import a_trace, packed, with_masks_of_heads
from viz.acts.act import Act, Curve, Frame, States
from viz.browser import coarse_heads, matrices, trace_payload
from viz.browser.envelope import seal
from viz.browser.files import joined
from viz.browser.wave import pack_wave
from viz.compare.paired import PairedTraces
from viz.compare.payload import pack_pair
from viz.decoding.attention import HeadMean
from viz.decoding.payload import pack as pack_decoding
from viz.decoding.payload import pack_branches
from viz.draw import themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts
from viz.heads.several_heads import JointHeads
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure
from viz.model_page.payload import pack as pack_figure
from viz.site.corpus import survey_files
from viz.site.followed import followed

VIZ = Path(__file__).parents[3] / "viz"
LOOKS = {"light": themes.LIGHT, "dark": themes.DARK}
WEIGHTS = (0.0, 1e-4, 0.001, 0.01, 0.0499, 0.2, 0.333, 0.5, 0.77, 0.999, 1.0)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def heads(seen: ReadTrace) -> Iterator[dict[str, Any]]:
    """Every head: its cells and what is said of it, with all three kinds joined among them."""
    for site, found in seen.maps.items():
        for head in range(found.n_heads):
            yield {
                "attention": str(site.kind),
                "layer": site.layer,
                "head": head,
                "weights": found.head(head).weights.ravel().tolist(),
                "allowed": found.head(head).allowed.ravel().tolist(),
                "alt": head_of(found, head).alt,
                "queries": axis_texts(found.queries),
                "keys": axis_texts(found.keys),
            }
            if site.kind is AttentionKind.ENCODER:
                joint = JointHeads(seen, site.layer, head).panel
                assert joint.shown is not None
                yield {
                    "attention": trace_payload.JOINT,
                    "layer": site.layer,
                    "head": head,
                    "weights": joint.values.ravel().tolist(),
                    "allowed": joint.shown.ravel().tolist(),
                    "queries": axis_texts(joint.queries),
                    "keys": axis_texts(joint.keys),
                }


def colors() -> Iterator[dict[str, Any]]:
    """Weights, and between which colours theirs lies: the scale has 256 steps."""
    for (name, look), gamma, weight in product(LOOKS.items(), CONSTANTS["GAMMAS"], WEIGHTS):
        around = np.array([weight - HALF_A_STEP, weight + HALF_A_STEP], dtype=np.float32)
        low, high = np.sort(scale(around, look, gamma), axis=0)
        # Gamma is applied before a weight gets its step, and half a step around 0 is then much.
        exact = scale(np.array([weight]), look, gamma)[0]
        yield {
            "look": name,
            "gamma": gamma,
            "weight": weight,
            "low": (low if gamma == 1 else exact - 3).tolist(),
            "high": (high if gamma == 1 else exact + 3).tolist(),
        }


def measured() -> Iterator[tuple[str, float | None, str]]:
    """A measure's unit, a value of it, and how it is written."""
    for unit, value in product(("bits", "share", "correlation"), (*WEIGHTS, -0.25, np.nan)):
        measure = Measure("", "", unit, "", frozenset())
        yield unit, None if np.isnan(value) else value, written(measure, value)


def panels() -> dict[str, Any]:
    random = np.random.default_rng(5)
    category = random.integers(0, 3, (3, 4)).astype(np.uint8)
    signed = random.uniform(-2, 2, (2, 3)).astype(np.float32)
    given = (
        a_panel(),
        a_panel(2, 3, values=signed, scale="signed", low=-2.0, high=2.0, shown=signed > -1),
        a_mask(category, base=category, start=category == 0, by_edit=2),
    )
    return {
        "envelope": encoded(matrices.pack(given)),
        "values": [panel.values.ravel().tolist() for panel in given],
        "shown": [None if each.shown is None else each.shown.ravel().tolist() for each in given],
        "start": (category == 0).ravel().tolist(),
    }


def on_stage() -> str:
    model = load("toy-reverse", device="cpu")
    head = Head.of("cross.0.1")
    return encoded(followed(model, "a b", off=[head], head=head, effects=True))


def a_survey() -> dict[str, str]:
    files = survey_files(CHECKPOINTS / "en-de-childhood")
    return {name: encoded(content) for name, content in files.items()}


def an_act() -> str:
    heads = frozenset({Head.of("cross.0.1")})
    frames = tuple(
        Frame(f"{len(off)} off", (("Katze", "word"),), "A cat.", off=off)
        for off in (frozenset(), heads)
    )
    curve = Curve("Lead", "a", "b", np.ones(2), np.zeros((3, 2)), ("one", "other"))
    states = States(("Embedding",), ("a",), ("b",), (0, 0, 0), np.ones((1, 1)))
    trace = load("toy-reverse", device="cpu").trace("a b")
    given = {"act": "minds", "caption": "", "read": "a cat", "frames": frames}
    return encoded(Act(**given, traces=(trace,), curve=curve, states=states).pack(key="a"))


def a_decoding() -> dict[str, Any]:
    """Three steps, in the second of which a token is given that is none of the likeliest."""
    ids = (11, 12, 3)
    translation = Translation(
        **{"text": "Katze", "source_text": "cat", "score": -1.0, "finished": True, "unseen": ()},
        tokens=("▁Kat", "ze", "</s>"),
        token_ids=ids,
        log_probs=(-0.5, -4.6, -0.1),
        source=Tokens(("▁cat", "</s>"), (21, 3)),
    )
    step = DecodingStep(
        likeliest=Tokens(("▁Hund", "▁Kat"), (10, 11)),
        probabilities=(0.5, 0.25),
        **{"rest": 0.25, "probability": 0.25, "rank": 2, "entropy": 1.5, "forced": False},
    )
    given = replace(step, probability=0.01, rank=3, forced=True)
    random = np.random.default_rng(3)
    cross = np.array([[0.5, 0.5], [0.75, 0.25], [1, 0]], np.float32)
    own = np.tril(random.random((3, 3))).astype(np.float32)
    envelope = pack_decoding(
        Decoding(translation=translation, steps=(step, given, step), nodes=()),
        Tokens(("<s>", "▁Kat", "ze"), (2, 11, 12)),
        HeadMean("", cross, ()),
        HeadMean("", own, ()),
        name="",
    )
    return {
        "envelope": encoded(envelope),
        "cross": cross.tolist(),
        "own": own.tolist(),
        "texts": ["Kat", "ze", "</s>"],
    }


def a_figure() -> dict[str, Any]:
    """Figure 1 of two layers and three heads, on a target of two words and a source of two."""
    random = np.random.default_rng(11)
    source = Tokens(("▁The", "▁cat", "</s>"), (10, 11, 3))
    target = Tokens(("<s>", "▁Kat", "ze"), (2, 20, 21))
    axes = {
        AttentionKind.ENCODER: (source, source),
        AttentionKind.DECODER: (target, target),
        AttentionKind.CROSS: (target, source),
    }
    maps = {}
    for kind, (queries, keys) in axes.items():
        for layer in range(2):
            allowed = np.ones((len(queries), len(keys)), bool)
            if kind is AttentionKind.DECODER:
                allowed = np.tril(allowed)
            weights = random.random((3, *allowed.shape)) * allowed
            weights /= weights.sum(axis=-1, keepdims=True)
            site = Site(kind, layer)
            maps[site] = AttentionMap(
                site, weights=weights, allowed=allowed, queries=queries, keys=keys
            )
    trace = Trace(
        source=source,
        target=target,
        predictions=Tokens(("▁Kat", "ze", "</s>"), (20, 21, 3)),
        text="Katze",
        source_text="The cat",
        maps=maps,
        log_probs=np.log([0.5, 0.25, 0.75]),
    )
    # The rest is one more token.
    probabilities = np.array([[0.5, 0.2, 0.1], [0.5, 0.25, 0.1], [0.1, 0.1, 0.75]], np.float32)
    whole = np.column_stack([probabilities, 1 - probabilities.sum(axis=-1)]).astype(np.float64)
    powers = whole[:, None] ** (1 / np.array(TEMPERATURES)[:, None])
    blocks = Blocks(
        added={
            AttentionKind.ENCODER: np.array([[1, 2, 4], [4, 2, 1]], np.float32),
            AttentionKind.DECODER: np.array([[3, 2, 1], [1, 2, 3]], np.float32),
        },
        likeliest=tuple(Tokens(("▁Kat", "ze", "</s>"), (20, 21, 3)) for _ in range(3)),
        probabilities=probabilities,
        normalizers=np.log(powers.sum(axis=-1)),
    )
    arcs = arcs_of(trace, None)
    seen = read(trace)
    figure = Figure(
        trace=trace,
        seen=seen,
        facts=facts_of(seen.maps),
        arcs=arcs,
        blocks=blocks,
        positions={AttentionKind.ENCODER: random.normal(size=(3, 4)).astype(np.float32)},
        labels={},
    )
    return {
        "envelope": encoded(pack_figure(figure, key="a")),
        "arcs": arcs.weights.tolist(),
        "at": (powers / powers.sum(axis=-1, keepdims=True))[..., :3].tolist(),
        "weights": {str(site): seen.weights.reshape(3, -1).tolist() for site, seen in maps.items()},
    }


def branches() -> dict[str, Any]:
    """A tree whose first token goes on in two ways, both found, beside one that was pruned."""
    rows = (
        (None, "▁Kat", -0.5, "continued", None),
        (None, "▁Hund", -1.5, "pruned", None),
        (0, "ze", -1.0, "continued", None),
        (0, "</s>", -4.0, "finished", 1),
        (2, "</s>", -1.25, "finished", 0),
    )
    nodes: list[SearchNode] = []
    for place, (parent, token, log_prob, fate, rank) in enumerate(rows):
        step = 0 if parent is None else nodes[parent].step + 1
        score = None if rank is None else log_prob
        nodes.append(
            SearchNode(
                **{"parent": parent, "token": token, "token_id": place, "step": step},
                **{"log_prob": log_prob, "fate": fate, "ended": None, "score": score, "rank": rank},
            )
        )
    translation = Translation(
        **{"text": "Katze", "source_text": "cat", "score": -1.25, "finished": True, "unseen": ()},
        **{"tokens": (), "token_ids": (), "log_probs": ()},
        source=Tokens(("▁cat", "</s>"), (21, 3)),
    )
    decoding = Decoding(translation=translation, steps=(), nodes=tuple(nodes))
    weights = np.array([[1, 0], [0, 1], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], np.float32)
    return {
        "envelope": encoded(pack_branches(decoding, HeadMean("", weights, ()), chart="")),
        "without": encoded(pack_branches(decoding, None, chart="")),
        "weights": weights.tolist(),
    }


def answers() -> dict[str, str]:
    """Answers to each question of the model's picture, in an envelope."""
    rows = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    words = [{"text": "ab", "tokens": ["a", "b"], "first": 0, "joins": False, "special": False}]
    vectors = {"q": rows, "k": rows, "v": rows[:, :1], "d": 2, "dv": 1, "scores": rows @ rows.T}
    listed = {"texts": ["a", "␣", "b"], "ids": [3, 4, 5]}
    numbers = {"logits": [2.5, 1e-7, -1], "shares": [0.5, 0.1, 0.05]}
    values: dict[str, dict[str, Any]] = {
        "head": {**vectors, "divisor": None},
        "added": {"size": 2, "into": rows, "gains": -rows},
        "next": {"size": 2, "vocabulary": 9, "hidden": rows[0], "rows": rows, **listed, **numbers},
        "instead": {"text": "ab", "words": words, "tokens": ["a", "b", "</s>"]},
        "without": {"text": "ab", "words": words, "changed": True, "price": "None."},
    }
    return {name: encoded(seal({"payload": name, **each})) for name, each in values.items()}


def pair() -> dict[str, Any]:
    """Two runs, and every head's difference."""
    runs = PairedTraces(a_trace(), a_trace(("▁The", "▁cat", "▁the", "</s>")))
    lines = [("", runs.first.text, runs.second.text)]
    shown = {"names": ("one", "two"), "lines": lines, "heard": 0, "shown": runs.most_moved}
    return {
        "envelope": encoded(pack_pair(runs, **shown)),
        "differences": [runs.difference(head).ravel().tolist() for head in runs.heads],
    }


def painted() -> Iterator[dict[str, Any]]:
    """Masks, and what `matrices.read_edit` reads as each."""
    random = np.random.default_rng(7)
    for shape in ((1, 1), (2, 4), (3, 5), (9, 7)):
        allowed = random.random(shape) < 0.5
        edit = told(allowed, name="")
        read_back = matrices.read_edit(edit, "", shape)
        assert read_back is not None
        assert np.array_equal(read_back, allowed)
        yield {"allowed": allowed.ravel().tolist(), "columns": shape[1], "bits": edit["bits"]}


def components() -> list[Path]:
    """The scripts that Streamlit runs, each with all that it imports."""
    scripts = sorted((VIZ / "browser").rglob("*.js"))
    return [path for path in scripts if "\nexport default " in path.read_text(encoding="utf-8")]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Where Node finds what Python wrote."""
    seen = read(a_trace(("▁The", "▁cat", "▁the", "</s>")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_payload, "EXACT_CELLS", 0)
        coarse = packed(seen)
        patch.setattr(coarse_heads, "FEW", 0)
        patch.setattr(coarse_heads, "SIDE", 2)
        patches = coarse_heads.coarse_heads(seen)
    assert patches is not None
    asked = {"trace": patches.token, "kind": "encoder", "layer": 1, "heads": [0, 2]}
    found = {
        "exact": encoded(packed(seen)),
        "pending": encoded(packed(seen, effects={})),
        "coarse": encoded(coarse),
        "patches": encoded(packed(seen, coarse=patches)),
        "whole": encoded(seal(coarse_heads.asked_heads(asked))),
        "mixed": encoded(packed(read(with_masks_of_heads(a_trace())))),
        "heads": list(heads(seen)),
        "looks": themes.THEMES,
        "colors": list(colors()),
        "inks": [
            [name, place / (len(look.weights) - 1), look.ink(place / (len(look.weights) - 1))]
            for name, look in LOOKS.items()
            for place in range(len(look.weights))
        ],
        "luminances": [
            [color, themes.luminance(color)] for look in LOOKS.values() for color in look.heads
        ],
        "measured": list(measured()),
        "measures": {
            kind: [
                measure.key
                for measure in MEASURES
                if any(
                    not np.isnan(head_facts(found)[measure.key]).all()
                    for site, found in seen.maps.items()
                    if site.kind is kind
                )
            ]
            for kind in (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)
        },
        "panels": panels(),
        "painted": list(painted()),
        "decoding": a_decoding(),
        "branches": branches(),
        "answers": answers(),
        "pair": pair(),
        "wave": encoded(pack_wave("", np.eye(3, 2, dtype=np.float32), ["", ""], ["cat"])),
        "figure": a_figure(),
        "followed": on_stage(),
        "act": an_act(),
        "survey": {
            name: encoded(each)
            for name, each in survey_files(CHECKPOINTS / "en-de-childhood").items()
        },
        "bundles": {str(path.relative_to(VIZ)): joined(path) for path in components()},
    }
    file = tmp_path_factory.mktemp("javascript") / "fixtures.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    return {**os.environ, "HEADSCOPE_FIXTURES": str(file)}


@pytest.mark.parametrize(
    "path", sorted(VIZ.rglob("*.test.js")), ids=lambda path: str(path.relative_to(VIZ))
)
def test_a_script_passes_its_own_tests(path: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=spec", path],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
