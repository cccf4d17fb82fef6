"""Weights in fewer bits, and arrays that stay in their file until somebody asks for them."""

from __future__ import annotations

import copy
import dataclasses
import gc
import io
import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.facts import facts_of
from model.explain.reading import read
from model.trace import array_archive, stored
from model.trace.attention_map import AttentionMap, Site, Tokens, TraceError
from model.trace.rounded_weights import PRECISION, restored, rounded
from model.trace.stored import FileArray, Stored
from model.trace.trace import Trace

HEADS, LENGTH = 3, 40


def softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def trace() -> Trace:
    numbers = np.random.default_rng(4)
    tokens = Tokens.unnamed(range(LENGTH))
    causal = np.tril(np.ones((LENGTH, LENGTH), np.bool_))
    maps = {}
    for layer in range(2):
        scores = numbers.normal(0, 4, (HEADS, LENGTH, LENGTH)).astype(np.float32)
        site = Site("decoder", layer)
        maps[site] = AttentionMap(
            site,
            weights=softmax(np.where(causal, scores, -np.inf)),
            allowed=causal,
            queries=tokens,
            keys=tokens,
            scores=scores,
            q=numbers.normal(size=(HEADS, LENGTH, 4)),
            k=numbers.normal(size=(HEADS, LENGTH, 4)),
            v=numbers.normal(size=(HEADS, LENGTH, 2)),
        )
    return Trace(
        source=Tokens(), target=tokens, predictions=Tokens(), text="", source_text="a", maps=maps
    )


@pytest.fixture
def left_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size count as large."""
    monkeypatch.setattr(array_archive, "AT_ONCE", 0)


# ---- fewer bits ----------------------------------------------------------------------------------


@given(
    length=st.sampled_from([1, 2, 7, 100, 1024]),
    sharpness=st.sampled_from([0, 0.1, 1, 4, 30]),
    sink=st.sampled_from([0, 3, 9]),
    seed=st.integers(0, 99),
)
def test_eight_bits_keep_sums_and_nearly_every_weight(
    length: int, sharpness: float, sink: float, seed: int
) -> None:
    scores = np.random.default_rng(seed).normal(0, 1, (2, 5, length)) * sharpness
    scores[..., 0] += sink
    weights = softmax(scores)
    weights[0, 2] = 0
    steps, scales = rounded(weights)
    again = restored(steps, scales)
    assert (steps.dtype, scales.shape, again.dtype) == (np.uint8, (2, 5), np.float32)
    np.testing.assert_allclose(again.sum(axis=-1), weights.sum(axis=-1), atol=1e-5)
    assert (abs(again - weights) <= 0.02 * weights.max(axis=-1, keepdims=True)).all()
    if sharpness == sink == 0:
        np.testing.assert_allclose(again, weights, rtol=1e-6)
    # Whoever saves what was read loses nothing more.
    np.testing.assert_array_equal(rounded(again)[0], steps)


def test_a_sink_does_not_swallow_many_small_weights() -> None:
    weights = np.full((1, 1, 1024), 0.1 / 1023, np.float32)
    weights[..., 0] = 0.9
    again = restored(*rounded(weights))
    assert abs(again[0, 0, 0] - 0.9) < 0.005
    assert (again[0, 0, 1:] > 0).all()


@pytest.mark.parametrize("gap", [1, 5, 34, 89, 144])
def test_no_spacing_of_keys_makes_all_steps_round_alike(gap: int) -> None:
    for root in np.linspace(0.6, 60, 40):
        weights = np.zeros((1, 4096), np.float32)
        weights[0, ::gap] = (root / 255) ** 2
        weights[0, -1] = 1
        weights /= weights.sum()
        assert abs(restored(*rounded(weights)) - weights).max() <= 0.02 * weights.max()


@pytest.mark.parametrize(("bits", "tolerance"), [(8, 0.02), (16, 1e-3), (32, 0)])
def test_a_trace_is_saved_in_as_many_bits_as_asked(
    trace: Trace, bits: Any, tolerance: float
) -> None:
    file = io.BytesIO()
    trace.save(file, bits=bits)
    again = Trace.load(file)
    for site, each in trace.maps.items():
        np.testing.assert_allclose(again.maps[site].weights, each.weights, atol=tolerance)
        np.testing.assert_array_equal(again.maps[site].allowed, each.allowed)
        assert again.maps[site].bits == bits
        assert again.maps[site].scores is None
        assert again.maps[site].q is None
    assert again.precision == PRECISION[bits]
    assert read(again).notes == (() if bits == 32 else (PRECISION[bits],))
    # What is saved once more stays as it is.
    twice = io.BytesIO()
    again.save(twice)
    assert twice.getvalue() == file.getvalue()
    file.seek(0)
    with np.load(file) as opened:
        assert (str(opened["format"]) == "headscope-trace-3") == (bits == 8)
        assert opened["decoder.0.weights"].nbytes == bits // 8 * HEADS * LENGTH * LENGTH


def entries_of(trace: Trace, bits: Any = 8) -> dict[str, Any]:
    file = io.BytesIO()
    trace.save(file, bits=bits)
    file.seek(0)
    with np.load(file) as opened:
        return dict(opened)


@pytest.mark.parametrize(
    "scales",
    [
        np.ones((HEADS, LENGTH), np.float64),
        np.ones((HEADS, LENGTH - 1), np.float32),
        np.ones((), np.float32),
        np.array(["a"]),
    ],
)
def test_scales_that_do_not_fit_are_refused(trace: Trace, scales: Any) -> None:
    file = io.BytesIO()
    np.savez(file, **(entries_of(trace) | {"decoder.1.scales": scales}))
    with pytest.raises(TraceError, match=r"^decoder\.1\.scales must be 32-bit floats"):
        Trace.load(file)


@pytest.mark.parametrize(
    ("scale", "message"), [(np.nan, "contain NaN"), (-1, "from 0 to 1"), (0.5, "from 0 to 1")]
)
def test_scales_that_make_no_weights_are_refused(trace: Trace, scale: float, message: str) -> None:
    entries = entries_of(trace)
    entries["decoder.1.scales"][1, 2] = scale
    file = io.BytesIO()
    np.savez(file, **entries)
    with pytest.raises(TraceError, match=message):
        Trace.load(file)


# ---- what stays in its file ----------------------------------------------------------------------


def file_of(trace: Trace, folder: Path, bits: Any = None) -> Path:
    path = folder / "long.npz"
    trace.save(path, bits=bits)
    return path


@pytest.mark.parametrize("bits", [None, 8, 16, 32])
@pytest.mark.usefixtures("left_in_files")
def test_one_head_reads_what_belongs_to_it(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: Any
) -> None:
    whole = io.BytesIO()
    trace.save(whole, bits=bits)
    expected = Trace.load(whole).attention("decoder", 1).head(2)
    opened = Trace.load(file_of(trace, tmp_path, bits))
    read_bytes = []
    fill = stored.StoredFile.read
    monkeypatch.setattr(
        stored.StoredFile,
        "read",
        lambda file, at, array: (read_bytes.append(array.nbytes), fill(file, at, array)),
    )
    seen = opened.attention("decoder", 1)
    assert (seen.n_heads, seen.shape) == (HEADS, (HEADS, LENGTH, LENGTH))
    assert repr(opened) == repr(trace)
    assert read_bytes == []
    head = seen.head(2)
    for name in ("weights", "allowed", "scores", "q", "k", "v"):
        np.testing.assert_array_equal(getattr(head, name), getattr(expected, name))
    cells = LENGTH * LENGTH
    weights = cells * (bits or 32) // 8
    vectors = 4 * (cells + LENGTH * 10) if bits is None else 0
    assert sum(read_bytes) == weights + cells + vectors


@pytest.mark.usefixtures("left_in_files")
def test_measures_readings_and_copies_are_those_of_a_trace_in_memory(
    trace: Trace, tmp_path: Path
) -> None:
    opened = Trace.load(file_of(trace, tmp_path))
    assert all(isinstance(each.stored("weights"), Stored) for each in opened.maps.values())
    assert opened.nbytes == 0
    for site, facts in facts_of(read(trace).maps).items():
        for key, values in facts.items():
            np.testing.assert_array_equal(facts_of(read(opened).maps)[site][key], values)
    for again in (pickle.loads(pickle.dumps(opened)), copy.deepcopy(opened)):
        np.testing.assert_array_equal(
            again.attention("decoder", 0).scores, trace.attention("decoder", 0).scores
        )
    some = dataclasses.replace(opened, maps={Site("decoder", 1): opened.attention("decoder", 1)})
    assert isinstance(some.attention("decoder", 1).stored("q"), Stored)
    # Labels of a reading read no weights either.
    seen = opened.attention("decoder", 1)
    assert isinstance(seen.labelled(seen.queries, seen.keys).stored("weights"), Stored)
    weights = seen.weights
    assert seen.weights is weights
    with pytest.raises(ValueError, match="read-only"):
        weights[0] = 0


@pytest.mark.usefixtures("left_in_files")
def test_an_opened_file_can_be_replaced_and_is_closed_with_its_trace(
    trace: Trace, tmp_path: Path
) -> None:
    path = file_of(trace, tmp_path, 8)
    opened = Trace.load(path)
    opened.save(path)
    expected = restored(*rounded(trace.attention("decoder", 0).weights))
    np.testing.assert_array_equal(opened.attention("decoder", 0).weights, expected)
    np.testing.assert_array_equal(Trace.load(path).attention("decoder", 0).weights, expected)
    if os.path.isdir("/proc/self/fd"):
        assert held(path)
        del opened
        gc.collect()
        assert not held(path)


def held(path: Path) -> list[str]:
    """What this process has open of a file, also of the one that it replaced."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        # The folder itself was open for its list.
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [each for each in found if each.startswith(str(path))]


@pytest.mark.usefixtures("left_in_files")
def test_damage_is_found_in_the_head_that_has_it(trace: Trace, tmp_path: Path) -> None:
    entries = entries_of(trace, 32)
    entries["decoder.1.weights"][2, 3, 1] = 7
    path = tmp_path / "damaged.npz"
    np.savez(path, **entries)
    seen = Trace.load(path).attention("decoder", 1)
    seen.head(1)
    with pytest.raises(TraceError, match=r"weights of decoder\.1 must lie from 0 to 1"):
        seen.head(2)
    entries["decoder.1.weights"][2, 3] = 0.5 / LENGTH
    np.savez(path, **entries)
    with pytest.raises(TraceError, match=r"head 2 and query 3 add up to 0\.5"):
        Trace.load(path).attention("decoder", 1).head(2)
    with pytest.raises(TraceError, match=r"head 2 and query 3 add up to 0\.5"):
        Trace.load(path).save(io.BytesIO())


@pytest.mark.usefixtures("left_in_files")
def test_a_file_that_becomes_shorter_is_refused(trace: Trace, tmp_path: Path) -> None:
    path = file_of(trace, tmp_path, 32)
    opened = Trace.load(path)
    os.truncate(path, 2000)
    with pytest.raises(TraceError, match="became shorter after it was opened"):
        opened.attention("decoder", 1).head(0)


@pytest.mark.usefixtures("left_in_files")
def test_compressed_entries_are_read_whole_and_count(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.npz"
    np.savez_compressed(path, **entries_of(trace, 32))
    seen = Trace.load(path).attention("decoder", 0)
    np.testing.assert_array_equal(seen.weights, trace.attention("decoder", 0).weights)
    monkeypatch.setattr(array_archive, "MOST_BYTES", 20_000)
    with pytest.raises(TraceError, match="too large"):
        Trace.load(path)
    # What stays in the file does not.
    assert Trace.load(file_of(trace, tmp_path, 32)).attention("decoder", 0).n_heads == HEADS


@pytest.mark.usefixtures("left_in_files")
def test_more_than_fits_is_refused_before_it_is_allocated(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Trace.load(file_of(trace, tmp_path, 8))
    monkeypatch.setattr(stored, "MOST_BYTES", 4 * LENGTH * LENGTH)
    monkeypatch.setattr(FileArray, "_read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(TraceError, match="take single heads"):
        _ = opened.attention("decoder", 0).weights


@pytest.mark.usefixtures("left_in_files")
def test_a_directory_that_points_elsewhere_is_refused(trace: Trace, tmp_path: Path) -> None:
    path = file_of(trace, tmp_path, 32)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("decoder.0.weights.npy")
    # The entry says that it goes on beyond the end of the file.
    at = content.index(b"PK\1\2")
    at = content.index(b"decoder.0.weights.npy", at) - 46
    content[at + 20 : at + 28] = (entry.file_size * 1000).to_bytes(4, "little") * 2
    path.write_bytes(content)
    with pytest.raises(TraceError, match="damaged or is no saved trace"):
        Trace.load(path)
