"""Any bytes in the place of a talk, of a saved trace, and of each file of a checkpoint."""

import functools
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.checkpoints.shipped import CheckpointError
from model.explain.examples import read_examples
from model.trace import array_archive
from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from tests.kit.fuzz import altered, cases, damaged, json_values, limits, require_sentence, texts
from viz.heads.standalone import trace_page
from viz.talk import scenes, talk_reader
from viz.talk.ready import READY

TALK = READY.read_bytes()


def files(whole: bytes) -> st.SearchStrategy[bytes]:
    """A file's bytes: damaged, of JSON with other values where it is JSON, or of anything."""
    anything = st.one_of(
        st.binary(max_size=200),
        texts().map(lambda text: text.encode(errors="replace")),
        st.sampled_from([b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b"\x80\x04K\x01."]),
    )
    try:
        valid = json.loads(whole)
    except ValueError:
        return damaged(whole) | anything
    written = st.one_of(altered(valid), altered(valid), json_values()).map(
        lambda value: json.dumps(value, ensure_ascii=True).encode()
    )
    return st.one_of(written, written, damaged(whole), anything)


@cases(3500)
@given(data=files(TALK))
def test_any_file_is_a_talk_or_refused_in_a_sentence(data: bytes) -> None:
    with limits(seconds=2, megabytes=64):
        try:
            talk = talk_reader.parse(data)
        except scenes.TalkError as refused:
            require_sentence(refused)
            return
    assert talk_reader.parse(scenes.write(talk).encode()) == talk
    assert Path(scenes.file_name(talk)).name == scenes.file_name(talk)


# ---- traces --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(translator: Translator) -> bytes:
    file = io.BytesIO()
    translator.trace("The cat eats.").save(file)
    return file.getvalue()


def require_trace(data: bytes) -> None:
    with limits(seconds=5, megabytes=128):
        try:
            trace_page(Trace.load(io.BytesIO(data)))
        except TraceError as refused:
            require_sentence(refused)


@cases(2000)
@given(data=st.data())
def test_any_file_is_a_trace_or_refused_in_a_sentence(saved: bytes, data: st.DataObject) -> None:
    require_trace(data.draw(files(saved)))


@pytest.fixture(scope="module")
def rounded(translator: Translator) -> bytes:
    file = io.BytesIO()
    translator.trace("The cat eats.").save(file, bits=8)
    return file.getvalue()


@cases(1000)
@given(data=st.data())
def test_any_file_that_stays_on_the_disk_is_a_trace_or_refused_in_a_sentence(
    rounded: bytes, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_archive, "AT_ONCE", 0)
        path = Path(folder, "trace.npz")
        path.write_bytes(data.draw(files(rounded)))
        with limits(seconds=5, megabytes=128):
            try:
                for each in Trace.load(path).maps.values():
                    for number in range(each.n_heads):
                        each.head(number)
            except TraceError as refused:
                require_sentence(refused)


ARRAYS = st.one_of(
    st.integers(-1, 9).map(np.array),
    texts(2).map(lambda text: np.array(text.replace("\x00", ""))),
    st.lists(texts(1), max_size=4).map(lambda words: np.array(words, dtype=np.str_)),
    st.builds(
        lambda shape, kind: np.zeros(shape, kind),
        st.lists(st.sampled_from([0, 1, 2, 4, 7]), max_size=4),
        st.sampled_from(["f4", "f8", "f2", "?", "i8", "u1", "c8", "S3", "M8[s]", "f4,i4"]),
    ),
    st.sampled_from([np.full((4, 4, 4), np.nan, np.float32), np.zeros((2, 0), np.float32)]),
)


@cases(1000)
@given(data=st.data())
def test_any_arrays_are_a_trace_or_refused_in_a_sentence(saved: bytes, data: st.DataObject) -> None:
    with np.load(io.BytesIO(saved), allow_pickle=False) as opened:
        arrays = dict(opened)
    names = st.sampled_from(sorted(arrays))
    for name in data.draw(st.lists(names, max_size=3)):
        arrays.pop(name, None)
    other = st.sampled_from(["cross.9.weights", "cross.0.", "x", "odd.0.weights", "cross.1e3.q"])
    arrays |= data.draw(st.dictionaries(names | other, ARRAYS, max_size=3))
    file = io.BytesIO()
    pack = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    pack(file, allow_pickle=False, **arrays)
    require_trace(file.getvalue())


# ---- checkpoints ---------------------------------------------------------------------------------


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@functools.cache
def read_whole(path: Path) -> bytes:
    return path.read_bytes()


def require_checkpoint(folder: Path) -> None:
    with limits(seconds=10, megabytes=256):
        try:
            load(folder, device="cpu").translate("The cat eats.")
        except (CheckpointError, TextError) as refused:
            require_sentence(str(refused).replace(str(folder), "FOLDER"))


@cases(800)
@given(data=st.data())
def test_any_checkpoint_works_or_is_refused_in_a_sentence(
    checkpoint_folder: Path, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(checkpoint_folder, Path(parent) / "copy")
        known = sorted(file.name for file in checkpoint_folder.iterdir())
        name = data.draw(st.sampled_from([*known, "config.json", "model.safetensors"]))
        (folder / name).write_bytes(data.draw(files(read_whole(checkpoint_folder / name))))
        require_checkpoint(folder)


def safetensors(header: Any, body: bytes) -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + body


@cases(500)
@given(data=st.data())
def test_any_weights_fit_or_are_refused_in_a_sentence(
    checkpoint_folder: Path, data: st.DataObject
) -> None:
    whole = read_whole(checkpoint_folder / "model.safetensors")
    length = 8 + int.from_bytes(whole[:8], "little")
    header = data.draw(altered(json.loads(whole[8:length])))
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(checkpoint_folder, Path(parent) / "copy")
        (folder / "model.safetensors").write_bytes(safetensors(header, whole[length:]))
        require_checkpoint(folder)


@cases(500)
@given(data=json_values() | altered([{"source": "a", "translation": "b", "shows": "c"}] * 2))
def test_any_examples_are_sentences_or_none(data: Any) -> None:
    with tempfile.TemporaryDirectory() as parent:
        (Path(parent) / "examples.json").write_text(json.dumps(data), encoding="utf-8")
        with limits(seconds=2, megabytes=64):
            found = read_examples(Path(parent))
    assert all(isinstance(each.source, str) and each.source.strip() for each in found)
