"""A trace knows its model, search and interventions, wherever it goes."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from model.checkpoints import weights_digest as digests
from model.checkpoints.checkpoint import WEIGHTS
from model.checkpoints.weights_digest import weights_digest
from model.trace.provenance import UNKNOWN, Provenance, exactly, note_on_models
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from model.version import VERSION
from tests.kit.tiny_checkpoint import write_tiny_snapshots

TEXT = "The cat eats."


@pytest.fixture(scope="module")
def loaded(checkpoint_folder: Path) -> Translator:
    return load(checkpoint_folder, device="cpu")


def test_a_trace_knows_model_search_and_interventions(
    loaded: Translator, checkpoint_folder: Path
) -> None:
    mask = np.ones((6, 6), np.bool_)
    under = hs.Intervention(masks={"encoder": mask}, heads={("cross", 1, 2): 0})
    known = loaded.trace(TEXT, search=hs.Search(beam=2), under=under).provenance
    assert known.model == checkpoint_folder.name
    assert known.weights == sha256((checkpoint_folder / WEIGHTS).read_bytes()).hexdigest()
    assert (known.dtype, known.headscope) == ("float32", VERSION)
    assert known.search == repr(hs.Search(beam=2))
    digest = sha256(mask.tobytes()).hexdigest()[:16]
    assert known.interventions == (
        f"Intervention(masks={{encoder: bool (6, 6) {digest}}}, "
        "heads={cross.1.2: Gate(factor=0.0)})"
    )
    plain = loaded.trace(TEXT, "Die Katze frisst.").provenance
    assert (plain.search, plain.interventions) == ("", "")
    assert [each.provenance for each in loaded.trace([TEXT])] == [loaded.trace(TEXT).provenance]
    batch = loaded.trace_batch([TEXT, TEXT], under=[hs.Intervention(), hs.Intervention()])
    assert batch.traces[0].provenance == loaded.trace(TEXT).provenance


def test_it_goes_through_a_file_a_part_and_a_reading(loaded: Translator, tmp_path: Path) -> None:
    trace = loaded.trace(TEXT)
    trace.save(tmp_path / "cat.npz", bits=8)
    again = Trace.load(tmp_path / "cat.npz")
    assert again.provenance == trace.provenance
    assert again.only("cross.0").provenance == trace.provenance
    assert hs.read(again, hs.Reading(words=True)).provenance == trace.provenance
    own = Trace.of(np.full((1, 2, 2), 0.5))
    assert own.provenance == UNKNOWN
    file = io.BytesIO()
    own.save(file)
    file.seek(0)
    with np.load(file) as arrays:
        assert not [name for name in arrays.files if name.startswith("provenance")]


def test_snapshots_are_told_apart_by_their_weights(tmp_path: Path) -> None:
    write_tiny_snapshots(tmp_path)
    first, last = (load(tmp_path, snapshot=number).provenance for number in (0, -1))
    assert first.is_of_another_model(last)
    assert last.weights == weights_digest(tmp_path) == load(tmp_path).provenance.weights


def test_weights_are_hashed_when_the_hash_is_asked_for_and_only_if_they_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny_snapshots(tmp_path)
    hashed: list[object] = []
    digest = digests._digest
    monkeypatch.setattr(digests, "_digest", lambda files: hashed.append(files) or digest(files))
    translator = load(tmp_path)
    found = hs.effects(translator, translator.trace(TEXT))
    assert not hashed
    assert found.provenance.texts["weights"] == translator.provenance.weights
    assert len(hashed) == 1
    again = load(tmp_path)
    for file in (tmp_path / "snapshots").iterdir():
        file.write_bytes(file.read_bytes() + b" ")
    assert again.provenance.weights == ""


def test_results_and_their_tables_say_it(loaded: Translator) -> None:
    trace = loaded.trace(TEXT)
    for found in (
        hs.effects(loaded, trace),
        hs.attributions(loaded, trace, methods=["weights"]),
        hs.contrast(loaded, TEXT, 0, "Hund"),
        hs.average(loaded, [TEXT], "entropy"),
        hs.effects(loaded, [TEXT]),
    ):
        assert found.provenance == trace.provenance
        assert found.frame().attrs == trace.provenance.texts


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (Provenance(model="a", weights="1"), Provenance(model="b", weights="1"), False),
        (Provenance(model="a", weights="1"), Provenance(model="a", weights="2"), True),
        (Provenance(model="a"), Provenance(model="b", weights="2"), True),
        (Provenance(model="a"), UNKNOWN, False),
    ],
)
def test_models_are_two_where_their_weights_are_or_else_their_names(
    one: Provenance, other: Provenance, differ: bool
) -> None:
    assert one.is_of_another_model(other) == differ
    assert bool(note_on_models([one, other, one])) == differ


def test_whatever_is_long_is_told_apart_by_a_hash() -> None:
    one, other = (tuple(range(start, start + 400)) for start in (0, 1))
    assert exactly(one) != exactly(other)
    assert len(exactly(one)) < 20
    assert exactly(hs.MeanAblation((1.0, 2.0))) == "MeanAblation(mean=(1.0, 2.0))"


def test_a_page_and_its_numbers_say_it(loaded: Translator) -> None:
    trace = loaded.trace(TEXT)
    page = hs.show(trace).page
    written = page.split('<meta name="provenance" content="')[1].split('">')[0]
    assert json.loads(written.replace("&quot;", '"')) == trace.provenance.texts
    assert f"asks nothing of any network. {trace.provenance}." in page
    unnamed = hs.show(Trace.of(np.full((1, 2, 2), 0.5))).page
    assert "asks nothing of any network.<" in unnamed
    picture = hs.figures.OneHead(hs.read(trace), hs.Site("cross", 1), 0)
    texts = picture.saved({"sentence": TEXT}).texts
    assert texts == trace.provenance.texts | {"sentence": TEXT}


def test_traces_of_two_models_are_not_shown_without_a_word(loaded: Translator) -> None:
    one = loaded.trace(TEXT)
    other = replace(one, provenance=replace(one.provenance, model="<b>", weights="f" * 64))
    assert "Different models" not in hs.show([one, one])._repr_html_()
    shown = hs.show([one, other])._repr_html_()
    assert shown.startswith("<p>Different models are compared: ")
    assert "&lt;b&gt; (ffffffff)" in shown
    pair = hs.figures.PairedTraces(one, other)
    assert pair.note in hs.figures.HeadDifferences(pair).more
    assert pair.note in hs.figures.HeadPair(pair).full_caption
