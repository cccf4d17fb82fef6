"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from model.files import unwritten, whole_file, write_folder, write_whole
from tests.kit.full_disk import full_disk


def test_a_file_is_replaced_by_what_was_written(tmp_path):
    for content in (b"first", b"second"):
        write_whole(tmp_path / "a.json", content)
        assert (tmp_path / "a.json").read_bytes() == content
    assert os.listdir(tmp_path) == ["a.json"]
    (tmp_path / "usual").write_bytes(b"")
    modes = {(tmp_path / name).stat().st_mode for name in ("usual", "a.json")}
    assert len(modes) == 1


def test_until_all_is_written_the_old_file_stands(tmp_path):
    write_whole(tmp_path / "a", b"old")
    with whole_file(tmp_path / "a") as opened:
        opened.write(b"new")
        opened.flush()
        assert (tmp_path / "a").read_bytes() == b"old"
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.parametrize("before", [b"old", None])
def test_on_a_full_disk_nothing_changes_and_nothing_is_left_behind(tmp_path, before):
    path = tmp_path / "a.npz"
    if before is not None:
        path.write_bytes(before)
    with full_disk(), pytest.raises(OSError, match="File too large") as failed:
        write_whole(path, b"x" * 100_000)
    assert os.listdir(tmp_path) == ([] if before is None else ["a.npz"])
    assert before is None or path.read_bytes() == before
    assert unwritten(failed.value) == f"'{path}' cannot be written: File too large."


def test_what_interrupts_the_writing_leaves_the_old_file(tmp_path):
    write_whole(tmp_path / "a", b"old")

    def write() -> None:
        with whole_file(tmp_path / "a") as opened:
            opened.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    write_whole("/dev/null", b"x")
    with pytest.raises(OSError, match="No space left") as failed:
        write_whole("/dev/full", b"x")
    assert failed.value.errno == errno.ENOSPC
    assert unwritten(failed.value) == "'/dev/full' cannot be written: No space left on device."
    assert not Path("/dev/null").is_file()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"x"


@pytest.mark.parametrize("name", ["no/such/folder", "x" * 300, "."])
def test_what_cannot_be_opened_is_named_as_it_was_asked_for(tmp_path, name):
    with pytest.raises(OSError, match=r".") as failed:
        write_whole(tmp_path / name, b"x")
    assert failed.value.filename == str(tmp_path / name)
    assert len(unwritten(failed.value)) < 300


@pytest.mark.parametrize("is_new", [True, False])
def test_a_folder_is_filled_whole_or_stays_as_it_was(tmp_path, is_new):
    folder = tmp_path / "all"
    if not is_new:
        folder.mkdir()
    with full_disk(), pytest.raises(OSError, match="File too large") as failed:
        write_folder(folder, {"a": b"x", "b": b"x" * 100_000})
    assert failed.value.filename == str(folder / "b")
    assert [*tmp_path.rglob("*")] == ([] if is_new else [folder])
    write_folder(folder, {"a": b"x", "b": b"y"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a": b"x", "b": b"y"}
    with pytest.raises(OSError, match="it is not empty"):
        write_folder(folder, {"a": b"z"})
    assert (folder / "a").read_bytes() == b"x"
