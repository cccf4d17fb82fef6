import unicodedata
from pathlib import Path

import numpy as np
import pytest

from model.explain.alignment_error import (
    COLUMNS,
    AlignedPair,
    AlignmentError,
    Link,
    alignment_error_rate,
    read_aligned,
    turned,
)

GOLD = Path(__file__).parents[3] / "benchmarks" / "gold" / "en-de.tsv"


def pair(sure: set[Link], possible: set[Link] | None = None) -> AlignedPair:
    """A pair with these links; its words are of no matter."""
    every = sure | (possible or set())
    return AlignedPair(1, "", "", (), (), frozenset(sure), frozenset(every))


def a_file(folder: Path, *lines: str) -> Path:
    file = folder / "gold.tsv"
    file.write_text("\n".join(["\t".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    return file


def a_line(links: str = "0-0 1p1", nulls: str = "\t2") -> str:
    return f"7\tIch ja.\tI do .\tIch ja\tI do .\t{links}\t{nulls}"


def test_the_error_rate_is_that_of_the_published_example() -> None:
    # The example in the documentation of NLTK's nltk.translate.metrics.alignment_error_rate.
    gold = [pair({(0, 0), (1, 1), (2, 2)})]
    assert alignment_error_rate([{(0, 0), (1, 2), (2, 1)}], gold).error == pytest.approx(2 / 3)


def test_precision_recall_and_error_rate_are_those_of_the_definition() -> None:
    # Two sentences with |S| = 3 + 1 and |P| = 5 + 1. Of the links made, |A| = 3 + 2, three are
    # possible, (0, 0), (2, 3) and (0, 0), and two of these are sure, the first and the last.
    gold = [pair({(0, 0), (1, 1), (2, 2)}, {(2, 3), (3, 3)}), pair({(0, 0)})]
    rate = alignment_error_rate([{(0, 0), (2, 3), (3, 1)}, {(0, 0), (1, 0)}], gold)
    assert rate.precision == pytest.approx(3 / 5)
    assert rate.recall == pytest.approx(2 / 4)
    assert rate.error == pytest.approx(1 - (2 + 3) / (5 + 4))


def test_possible_links_cost_nothing_whether_they_are_made_or_not() -> None:
    gold = [pair({(0, 0), (1, 1)}, {(2, 2)})]
    for made in ({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2)}):
        rate = alignment_error_rate([made], gold)
        assert (rate.error, rate.precision, rate.recall) == (0, 1, 1)


def test_without_links_made_there_is_no_precision() -> None:
    rate = alignment_error_rate([set()], [pair({(0, 0)})])
    assert np.isnan(rate.precision)
    assert (rate.error, rate.recall) == (1, 0)


def test_the_interval_is_that_of_sentences_drawn_again() -> None:
    # Half of the sentences are right and half are wrong, so that a sample's error rate is the share
    # of wrong ones among 40 draws.
    gold = [pair({(0, 0)})] * 40
    predicted = [{(0, 0)}] * 20 + [{(1, 1)}] * 20
    rate = alignment_error_rate(predicted, gold)
    assert rate.error == 0.5
    spread = 1.96 * np.sqrt(0.5 * 0.5 / 40)
    assert rate.low == pytest.approx(0.5 - spread, abs=0.03)
    assert rate.high == pytest.approx(0.5 + spread, abs=0.03)
    assert rate == alignment_error_rate(predicted, gold)


def test_an_interval_without_variation_is_a_point() -> None:
    rate = alignment_error_rate([{(0, 0)}] * 3, [pair({(0, 0)})] * 3)
    assert (rate.low, rate.error, rate.high) == (0, 0, 0)


def test_the_way_back_has_the_same_links_with_the_sides_exchanged() -> None:
    gold = read_aligned(GOLD)
    pair, back = gold[0], gold[0].turned()
    assert (back.source, back.target_words) == (pair.target, pair.source_words)
    assert {(b, a) for a, b in back.sure} == pair.sure < pair.possible
    assert back.turned() == pair
    made = [frozenset({(0, 0), (1, 2)}) for _ in gold]
    forth = alignment_error_rate(made, gold)
    assert alignment_error_rate([*map(turned, made)], [each.turned() for each in gold]) == forth


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="1 pairs and 2 sets"):
        alignment_error_rate([set(), set()], [pair({(0, 0)})])
    with pytest.raises(ValueError, match="nothing to measure"):
        alignment_error_rate([set()], [pair(set())])


def test_a_file_is_read_with_its_sure_and_possible_links(tmp_path: Path) -> None:
    assert read_aligned(a_file(tmp_path, a_line())) == (
        AlignedPair(
            7,
            "Ich ja.",
            "I do .",
            ("Ich", "ja"),
            ("I", "do", "."),
            frozenset({(0, 0)}),
            frozenset({(0, 0), (1, 1)}),
        ),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("7\tIch", "Line 2 of .* has 2 columns; it needs 8"),
        (a_line().replace("7", "x", 1), "starts with 'x'; it must start with a number"),
        (a_line("0-0 1~1"), "has the link '1~1'; write 3-4"),
        (a_line("0-0 0p0 1p1"), "links 0 and 0 twice"),
        (a_line("0-0 1p3"), "names the target word 3, but there are 3, counted from 0"),
        (a_line("0-0 2p1"), "names the source word 2, but there are 2"),
        (a_line("0-0 1p1", "\t1 2"), r"links the target word 1 \(do\) and names it as one without"),
        (a_line("0-0", "\t1 2"), r"does not mention the source word 1 \(ja\)"),
        (a_line("0-0 1p1", "\tzwei"), "names 'zwei' as target words; give their numbers"),
    ],
)
def test_a_malformed_line_is_told_by_its_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(AlignmentError, match=message):
        read_aligned(a_file(tmp_path, line))


def test_a_file_without_its_columns_or_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gold.tsv"
    for content, message in (
        (b"", "is empty"),
        (b"a\tb\n", "must name the columns line, source"),
        (b"\xff\xfe", "cannot be read"),
    ):
        file.write_bytes(content)
        with pytest.raises(AlignmentError, match=message):
            read_aligned(file)
    with pytest.raises(AlignmentError, match="cannot be read"):
        read_aligned(tmp_path / "none.tsv")


def test_the_gold_set_has_a_hundred_pairs_no_two_alike() -> None:
    gold = read_aligned(GOLD)
    assert len(gold) == 100
    for side in ("line", "source", "target"):
        assert len({getattr(each, side) for each in gold}) == 100


def test_the_words_of_the_gold_set_are_those_of_its_sentences() -> None:
    for each in read_aligned(GOLD):
        for text, words in (
            (each.source, each.source_words),
            (each.target, each.target_words),
        ):
            assert "".join(words) == text.replace(" ", "")
            spoken = [word for word in words if any(map(str.isalnum, word))]
            assert 5 <= len(spoken) <= 16
            # A mark of punctuation is a word by itself.
            for word in set(words) - set(spoken):
                assert len(word) == 1
                assert unicodedata.category(word)[0] == "P"


def test_marks_that_end_a_sentence_of_the_gold_set_are_surely_linked() -> None:
    # A rule that can be told without reading; what the reader of the file refuses is told above.
    for each in read_aligned(GOLD):
        last = len(each.source_words) - 1, len(each.target_words) - 1
        assert last in each.sure
