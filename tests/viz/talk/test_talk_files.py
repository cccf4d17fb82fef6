"""Talks as files of a folder: written whole, read back, and nothing else touched."""

import os
from pathlib import Path

import pytest

from tests.kit.full_disk import full_disk
from viz.desktop import desktop
from viz.talk import talk_files

SIZE = 100


def test_talks_are_kept_only_where_the_environment_names_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(talk_files.FOLDER, raising=False)
    assert talk_files.folder() is None
    monkeypatch.setenv(talk_files.FOLDER, "")
    assert talk_files.folder() is None
    monkeypatch.setenv(talk_files.FOLDER, str(tmp_path))
    assert talk_files.folder() == tmp_path


def test_the_window_names_the_folder_that_the_app_reads() -> None:
    # The window is started without what the app needs, so each has the name for itself.
    assert desktop.TALKS == talk_files.FOLDER


def test_what_was_kept_is_read_back_the_latest_last(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    assert talk_files.read(folder, 9, SIZE) == []
    marks = ["0a1b2c3d", "ffffffff", "00000000"]
    for time, mark in enumerate(marks):
        talk_files.store(folder, mark, f"grüße {mark}")
        os.utime(folder / f"{mark}.json", (time, time))
    everything = [(mark, f"grüße {mark}".encode()) for mark in marks]
    assert talk_files.read(folder, 9, SIZE) == everything
    assert talk_files.read(folder, 2, SIZE) == everything[1:]


def test_keeping_again_replaces_and_nothing_removes(tmp_path: Path) -> None:
    talk_files.store(tmp_path, "0a1b2c3d", "old")
    talk_files.store(tmp_path, "0a1b2c3d", "new")
    assert talk_files.read(tmp_path, 9, SIZE) == [("0a1b2c3d", b"new")]
    assert [each.name for each in tmp_path.iterdir()] == ["0a1b2c3d.json"]
    for _ in range(2):
        talk_files.store(tmp_path, "0a1b2c3d", None)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone_and_a_huge_one_is_not_read_whole(tmp_path: Path) -> None:
    for name in ("notes.json", "0a1b2c3d.json.new", "0A1B2C3D.json", "0a1b2c3d.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "11111111.json").mkdir()
    (tmp_path / "22222222.json").write_bytes(b"x" * 10 * SIZE)
    found = dict(talk_files.read(tmp_path, 9, SIZE))
    assert found == {"11111111": b"", "22222222": b"x" * (SIZE + 1)}


@pytest.mark.parametrize("mark", ["", "..", "../../etc", "0a1b2c3", "0a1b2c3dd", "0a1b2c3d\n"])
def test_what_is_no_mark_is_no_file(tmp_path: Path, mark: str) -> None:
    for text in ("x", None):
        with pytest.raises(ValueError, match="mark of a talk"):
            talk_files.store(tmp_path / "folder", mark, text)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_and_holds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises((FileExistsError, NotADirectoryError)):
        talk_files.store(file, "0a1b2c3d", "text")
    assert talk_files.read(file, 9, SIZE) == []


def test_on_a_full_disk_the_old_talk_stays_and_nothing_is_left_behind(tmp_path: Path) -> None:
    talk_files.store(tmp_path, "0a1b2c3d", "old")
    with full_disk(), pytest.raises(OSError, match="File too large"):
        talk_files.store(tmp_path, "0a1b2c3d", "x" * 100_000)
    assert [file.name for file in tmp_path.iterdir()] == ["0a1b2c3d.json"]
    assert talk_files.read(tmp_path, 9, SIZE) == [("0a1b2c3d", b"old")]
