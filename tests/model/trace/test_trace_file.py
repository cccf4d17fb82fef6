"""What a saved trace may leave out, what it may not hold, and the example that is documented."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.trace import array_archive, trace_file
from model.trace.attention_map import NO_ID, AttentionKind, Tokens, TraceError
from model.trace.stored import MOST_BYTES
from model.trace.trace import Trace

DOCUMENT = Path(__file__).parents[3] / "docs" / "traces.md"


def documented(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the document's example writes."""
    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    monkeypatch.chdir(folder)
    exec(compile(example, str(DOCUMENT), "exec"), {})
    return folder / "mine.npz"


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    with np.load(documented(tmp_path, monkeypatch)) as opened:
        return dict(opened)


def file_of(entries: dict[str, Any]) -> io.BytesIO:
    file = io.BytesIO()
    np.savez(file, **entries)
    file.seek(0)
    return file


def test_the_documented_example_is_a_trace(entries: dict[str, Any]) -> None:
    trace = Trace.load(file_of(entries))
    assert [str(site) for site in trace.maps] == ["decoder.0", "decoder.1"]
    assert (trace.source, trace.predictions, trace.text) == (Tokens(), Tokens(), "")
    assert trace.target == Tokens(("The", "cat", "sat", "down"), (NO_ID,) * 4)
    assert trace.source_text == "The cat sat down"
    for site, seen in trace.maps.items():
        np.testing.assert_array_equal(seen.weights, entries[f"{site}.weights"])
        np.testing.assert_array_equal(seen.allowed, np.tril(np.ones((4, 4), dtype=bool)))


def test_what_the_document_says_is_what_is_read() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"`{trace_file.FORMAT}`" in text
    assert f"`{trace_file.ROUNDED}`" in text
    assert f"more than {array_archive.AT_ONCE >> 20} MiB stay in the file" in text
    assert f"more than {MOST_BYTES >> 30} GiB" in text
    assert f"to {trace_file.ROUNDING})" in text
    assert re.findall(r"^\| `(\w+)` \| (?:source|target|its own)", text, re.M) == list(
        AttentionKind
    )


def test_an_encoder_alone_a_module_and_a_sink_are_the_same_after_saving() -> None:
    weights = np.full((3, 2, 2), 0.5, np.float32)
    sunk = np.full((3, 2, 3), 1 / 3, np.float32)
    file = file_of(
        {
            "format": np.array("headscope-trace-2"),
            "source.tokens": np.array(["a", "b"]),
            "encoder.0.weights": weights,
            "encoder.1.weights": sunk,
            "encoder.1.keys.tokens": np.array(["a", "b", "[sink]"]),
            "module.0.weights": weights[:1],
            "module.0.queries.tokens": np.array(["0", "1"]),
            "module.0.keys.tokens": np.array(["x", "y"]),
            "contents": np.array(["encoder.0.weights"]),
        }
    )
    again = io.BytesIO()
    Trace.load(file).save(again)
    again.seek(0)
    trace = Trace.load(again)
    assert [str(site) for site in trace.maps] == ["encoder.0", "encoder.1", "module.0"]
    assert trace.target == Tokens()
    np.testing.assert_array_equal(trace.attention("encoder", 1).weights, sunk)
    assert trace.attention("encoder", 1).keys.tokens == ("a", "b", "[sink]")
    assert trace.attention("module", 0).keys.tokens == ("x", "y")
    assert trace.attention("encoder", 0).allowed.all()


def test_a_file_of_the_first_format_opens(entries: dict[str, Any]) -> None:
    old = entries | {
        "format": np.array("headscope-trace-1"),
        "text": np.array(""),
        **{f"{name}.tokens": np.array([], np.str_) for name in ("source", "predictions")},
        **{f"{name}.ids": np.array([], np.int64) for name in ("source", "predictions")},
        "target.ids": np.array([5, 6, 7, 8]),
    }
    assert Trace.load(file_of(old)).target.ids == (5, 6, 7, 8)


def weights_with(value: float) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        entries["decoder.1.weights"][2, 3, 1] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (weights_with(np.nan), r"^The weights of decoder\.1 contain NaN"),
        (weights_with(np.inf), "contain NaN or infinity"),
        (weights_with(-0.1), "must lie from 0 to 1"),
        (weights_with(7), "must lie from 0 to 1"),
        (weights_with(0), "those of head 2 and query 3 add up to 0"),
        (lambda e: e.pop("target.tokens"), "damaged: it lacks target.tokens"),
        (lambda e: e.update({"decoder.0.weights": np.zeros(())}), r"shape \(head, query, key\)"),
        (lambda e: e.update({"decoder.0.weights": np.zeros((4, 4, 5))}), r"need \(4, 4, 4\)"),
        (lambda e: e.update({"target.tokens": np.array([1, 2, 3, 4])}), "list of strings"),
        (lambda e: e.update(text=np.array([object()])), "text in the file holds Python objects"),
    ],
)
def test_what_is_no_attention_is_refused(
    entries: dict[str, Any], change: Callable[[dict[str, Any]], None], message: str
) -> None:
    change(entries)
    with pytest.raises(TraceError, match=message):
        Trace.load(file_of(entries))


def test_weights_that_could_not_be_read_again_are_not_saved(entries: dict[str, Any]) -> None:
    trace = Trace.load(file_of(entries))
    seen = trace.attention("decoder", 0)
    twice = trace_file.AttentionMap(
        seen.site,
        weights=seen.weights / 2,
        allowed=seen.allowed,
        queries=seen.queries,
        keys=seen.keys,
    )
    with pytest.raises(TraceError, match="add up to 1"):
        Trace(
            source=trace.source,
            target=trace.target,
            predictions=Tokens(),
            text="",
            source_text="",
            maps={seen.site: twice},
        ).save(io.BytesIO())


def packed(header: bytes, body: bytes = b"") -> io.BytesIO:
    """An archive of one array that says of itself what `header` says."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        archive.writestr("format.npy", start + header + body)
    file.seek(0)
    return file


def test_an_array_that_says_it_is_huge_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(array_archive.np, "ndarray", lambda *given, **_: made.append(given))
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (900000000,), }\n"
    with pytest.raises(TraceError, match="no saved trace"):
        Trace.load(packed(header, b"\0" * 400))
    assert made == []


def test_too_many_bytes_are_refused_before_any_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(TraceError, match="too large: its arrays hold more than 1 MiB"):
        Trace.load(packed(b"", b"\0" * (1 << 20)), most_bytes=1 << 20)


def test_a_layer_number_has_an_end(tmp_path):
    file = tmp_path / "long.npz"
    np.savez(
        file,
        format=np.array("headscope-trace-2"),
        contents=np.array([], dtype=np.str_),
        **{"encoder.99999999999999999999.weights": np.ones((1, 1, 1), np.float32)},
    )
    with pytest.raises(TraceError, match=r"unknown entry, encoder\.9{20}\.weights"):
        Trace.load(file)


@pytest.mark.parametrize("name", ["target.tokens", "decoder.0.weights"])
@pytest.mark.parametrize("spelled", ["{}.npy", "{}"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused_and_not_settled_by_the_last(
    entries: dict[str, Any], name: str, spelled: str
) -> None:
    file = file_of(entries)
    again = io.BytesIO()
    np.save(again, entries[name])
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(spelled.format(name), again.getvalue())
    file.seek(0)
    with pytest.raises(TraceError, match=f"holds {re.escape(name)} twice"):
        Trace.load(file)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("target.tokens", r"save it as text: np\.array\(texts, dtype=np\.str_\)\.$"),
        ("contents", r"save it as text"),
        ("target.ids", r"save it as whole numbers"),
        ("decoder.0.weights", r"save it as numbers of one shape"),
    ],
)
def test_python_objects_are_named_with_how_to_save_them(
    entries: dict[str, Any], name: str, advice: str
) -> None:
    entries[name] = np.array(["a", 1, None, "b"], dtype=object)
    with pytest.raises(TraceError, match=f"{re.escape(name)} in the file.*{advice}"):
        Trace.load(file_of(entries))
