"""Two models, or two traces, head by head over many texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.__main__ import main
from headscope.comparing import PAIRED, compare
from model.paper.search import Search
from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.compare.paired import PairedTraces
from viz.frames import frame

TEXTS = ["The cat eats.", "The dog sleeps.", "The man sees the dog."]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_tiny_checkpoint(tmp_path_factory.mktemp("other"), steps=0), device="cpu")


def test_a_model_differs_in_nothing_from_itself(translator: Translator) -> None:
    found = compare(translator, translator, TEXTS)
    assert all(head == partner for head, partner in found.partners.items())
    assert max(np.max(means) for means in found.mean.values()) == 0
    assert found.note == ""


def test_heads_of_two_models_are_paired_once_and_their_shares_averaged(
    translator: Translator, other: Translator
) -> None:
    found = compare(translator, other, TEXTS)
    assert sorted(found.partners) == translator.heads
    assert sorted(found.partners.values()) == other.heads
    pairs = [
        PairedTraces(*(model.trace(text) for model in (translator, other)), "model", found.partners)
        for text in TEXTS
    ]
    for head in translator.heads[::5]:
        shares = [pair.moved[head] for pair in pairs]
        assert found.mean[head.site][head.number] == pytest.approx(np.mean(shares), abs=1e-5)
    assert found.note.endswith(PAIRED)
    assert found.note.startswith("Different models are compared: ")
    table = frame(found)
    assert [*table.columns[:5]] == ["kind", "layer", "head", "other_layer", "other_head"]
    again = pairs[0]
    assert compare(again.first, again.second).note == found.note


def test_what_cannot_be_compared_is_refused(translator: Translator, other: Translator) -> None:
    trace = translator.trace(TEXTS[0])
    no_maps = replace(trace, maps={})
    cases: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((translator, other), TextError, "no texts"),
        ((translator, other, []), TextError, "no texts"),
        ((translator, trace, TEXTS), TypeError, "two translators on texts, or two traces"),
        ((trace, trace, TEXTS), TypeError, "two translators on texts, or two traces"),
        ((trace, no_maps), TraceError, "no kind of attention"),
    ]
    for given, error, said in cases:
        with pytest.raises(error, match=said):
            compare(*given)
    with pytest.raises(TextError, match="beginning"):
        compare(translator, other, TEXTS, search=Search(prefix=(5,)))


def test_two_snapshots_of_a_training_are_compared_head_by_head(translator: Translator) -> None:
    def known(trace: Trace, weights: str) -> Trace:
        return replace(trace, provenance=replace(trace.provenance, model="m", weights=weights))

    one, two = (translator.trace(text) for text in TEXTS[:2])
    found = compare(known(one, "a" * 64), known(two, "b" * 64))
    assert all(head == partner for head, partner in found.partners.items())
    assert found.note == "Different models are compared: m (aaaaaaaa), m (bbbbbbbb)."


def test_a_folder_of_any_name_is_kept(translator: Translator, tmp_path: Path) -> None:
    one = compare(translator, translator, TEXTS, keep=tmp_path / "kept")
    assert [*(tmp_path / "kept").glob("compare-*.json")]
    assert compare(translator, translator, TEXTS, keep=tmp_path / "kept").ranked() == one.ranked()


def test_heads_without_a_shared_token_are_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.txt"
    file.write_text("The cat sat.\n", encoding="utf-8")
    assert main(["compare", "en-de", "toy-dates-rotary", "--input", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "cross.0." in printed
    assert "nan" not in printed
