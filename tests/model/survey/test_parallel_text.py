"""Reading parallel text."""

from __future__ import annotations

import lzma

import pytest

from model.survey.parallel_text import CorpusError, Pair, read_pairs


def test_the_last_two_columns_are_source_and_target_plain_or_compressed(tmp_path):
    (tmp_path / "a.tsv").write_text("Hello.\tHallo.\nBye.\tTschüss.\n", encoding="utf-8")
    with lzma.open(tmp_path / "b.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("tatoeba\tA\tYes.\tJa.\n")
    assert read_pairs([tmp_path / "a.tsv", tmp_path / "b.tsv.xz"]) == [
        Pair("Hello.", "Hallo."),
        Pair("Bye.", "Tschüss."),
        Pair("Yes.", "Ja."),
    ]


def test_a_line_without_a_tab_is_refused_with_its_number(tmp_path):
    (tmp_path / "a.tsv").write_text("Hello.\tHallo.\nBye.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"Line 2 .* no tab"):
        read_pairs([tmp_path / "a.tsv"])


def test_a_missing_an_empty_and_a_damaged_file_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read"):
        read_pairs([tmp_path / "none.tsv"])
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(CorpusError, match="is empty"):
        read_pairs([tmp_path / "empty.tsv"])
    (tmp_path / "damaged.tsv.xz").write_bytes(b"not xz at all")
    with pytest.raises(CorpusError, match="damaged"):
        read_pairs([tmp_path / "damaged.tsv.xz"])
    (tmp_path / "latin.tsv").write_bytes("Käse\tcheese\n".encode("latin-1"))
    with pytest.raises(CorpusError, match="UTF-8"):
        read_pairs([tmp_path / "latin.tsv"])
