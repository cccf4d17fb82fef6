"""The terms of rules: what they look at, and that they know no more than a head could."""

from __future__ import annotations

import numpy as np
import pytest

from model.record.head_edits import HeadError, TermWeights
from model.rules.phrases import EVENLY, Terms
from model.rules.terms import KEY_SETS, TermRows, is_term, terms_of
from model.rules.weight_rules import Lexicon, SeenRows
from model.rules.word_classes import CLASSES, classes_of, language_of
from model.trace.attention_map import AttentionKind

ENCODER, DECODER, CROSS = AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS
SOURCE = ("▁The", "▁dog", ",", "▁that", "▁I", "▁saw", ",", "▁has", "▁a", "▁gar", "den", ".", "</s>")
TARGET = ("<s>", "▁Der", "▁Hund", ",", "▁den", "▁ich", "▁sah", ",", "▁hat", "▁ein", "▁Spiel")
LEXICON = Lexicon({"▁Der": {"▁The": 0.9}, "▁Hund": {"▁dog": 0.9}, ",": {",": 0.9}})
LANGUAGES = {ENCODER: ("en", "en"), DECODER: ("de", "de"), CROSS: ("de", "en")}


def _seen(kind: AttentionKind, n_rows: int | None = None, position: int | None = None) -> SeenRows:
    queries = SOURCE if kind is ENCODER else TARGET[:n_rows]
    return SeenRows(
        kind,
        queries,
        queries if kind is DECODER else SOURCE,
        positions=None if position is None else [position],
        lexicon=LEXICON if kind is CROSS else None,
    )


def _keys(name: str, kind: AttentionKind = ENCODER) -> list[list[int]]:
    """The keys that each row of a term looks at."""
    cells = TermRows.over(_seen(kind), LANGUAGES[kind]).of(name)
    return [np.flatnonzero(row).tolist() for row in cells]


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("previous", 5, [4]),
        ("comma", 0, [2, 6]),
        ("stop", 3, [11]),
        ("article", 1, [0, 3, 8]),
        ("auxiliary", 0, [7]),
        ("piece", 0, [10]),
        ("content", 0, [1, 5, 9]),
        ("first content", 9, [1]),
        ("last content", 0, [9]),
        ("after article", 0, [1, 4, 9]),
        ("content before", 4, [1]),
        ("content before", 1, []),
        ("pronoun next", 1, [4]),
        ("clause", 4, [2, 3, 4, 5]),
        ("previous@comma", 6, [5]),
        ("previous@comma", 5, []),
        ("next@after comma", 7, [8]),
        ("last@end", 12, [12]),
        ("first@start", 0, [0]),
    ],
)
def test_a_term_looks_where_it_says(name: str, row: int, expected: list[int]) -> None:
    assert _keys(name)[row] == expected


def test_cross_attention_follows_the_translation() -> None:
    rows = TermRows.over(_seen(CROSS), LANGUAGES[CROSS])
    assert rows.of("current")[0].tolist() == [0] * len(SOURCE), "nothing is read yet"
    assert rows.of("current")[1:4].argmax(axis=-1).tolist() == [0, 1, 2]
    assert rows.of("after_current")[1:4].argmax(axis=-1).tolist() == [1, 2, 3]
    assert rows.of("upcoming")[:4].argmax(axis=-1).tolist() == [0, 1, 2, 3]
    assert rows.of("content after_current")[3].argmax() == 5
    done = rows.of("untranslated")[3]
    assert done[:3].max() < 0.5 < done[3:-1].min()
    assert not done[-1], "the sentence end is no word"


def test_what_followed_a_token_before_follows_it_again() -> None:
    tokens = ("a", "b", "c", "a", "b")
    of = {
        kind: TermRows.over(SeenRows(kind, tokens, tokens), ("", "")).of("after_again")
        for kind in (ENCODER, DECODER)
    }
    assert np.array_equal(of[ENCODER], of[DECODER])
    assert [np.flatnonzero(row).tolist() for row in of[ENCODER]] == [[4], [], [], [1], [2]]


def test_a_text_is_mirrored_at_its_end() -> None:
    read = ("a", "b", "c", "</s>")
    decoded = ("<s>", *read, "c", "b")

    def looked(kind: AttentionKind, tokens: tuple[str, ...]) -> list[list[int]]:
        cells = TermRows.over(SeenRows(kind, tokens, tokens), ("", "")).of("mirrored_in_text")
        return [np.flatnonzero(row).tolist() for row in cells]

    assert looked(ENCODER, read) == [[2], [1], [0], []]
    # The row of </s> writes the last letter, that of the letter just written the one before it.
    assert looked(DECODER, decoded) == [[], [], [], [], [3], [2], [1]]
    assert not any(looked(DECODER, decoded[:4])), "the end is not read yet"


@pytest.mark.parametrize("kind", LANGUAGES)
def test_an_unknown_language_has_no_terms_for_classes_that_its_lists_would_tell(
    kind: AttentionKind,
) -> None:
    left = terms_of(kind, ("", ""))
    assert {"comma", "name", "punctuation@stop", "first@start"} <= {*left} < {*terms_of(kind)}
    texts = [KEY_SETS[name.partition("@")[0]].text for name in left]
    assert not any("content" in text or "article" in text or "pieces in" in text for text in texts)
    assert terms_of(kind, ("de", "en")) == terms_of(kind)
    assert "comma@article" in terms_of(kind, ("de", ""))
    assert "article@comma" in terms_of(kind, ("", "en"))


@pytest.mark.parametrize("kind", LANGUAGES)
def test_no_term_knows_a_later_token(kind: AttentionKind) -> None:
    """A row computed over the whole sentence equals that of a step that has read no further."""
    whole = TermRows.over(_seen(kind), LANGUAGES[kind])
    for position in range(len(TARGET)):
        step = TermRows.over(_seen(kind, position + 1, position), LANGUAGES[kind])
        for name in terms_of(kind):
            cells = step.of(name)
            # In the whole pass a decoder has keys ahead too, which its mask hides.
            assert whole.of(name)[position, : cells.shape[1]] == pytest.approx(cells[0]), name


def test_every_term_is_finite_and_has_words() -> None:
    for kind, languages in LANGUAGES.items():
        rows = TermRows.over(_seen(kind), languages)
        for name in terms_of(kind):
            assert is_term(name)
            assert rows.of(name).shape == rows.seen.shape
            assert np.isfinite(rows.of(name)).all(), name
    assert not is_term("nowhere")
    assert not is_term("previous@nobody")


def test_classes_come_from_the_language() -> None:
    assert classes_of("▁The", "en") == {"function", "article"}
    assert classes_of("▁The", "de") == {"content", "name"}
    assert "auxiliary" in classes_of("▁hat", "de")
    assert "negation" in classes_of("▁ne", "fr")
    assert classes_of("</s>", "en") == frozenset()
    assert classes_of("den", "en") == {"piece"}
    assert classes_of("den", "") == {"content"}, "tokens of an unknown language may be whole words"
    for language in ("en", "de", "fr"):
        assert {
            name for word in ("the", "der", "le") for name in classes_of(f"▁{word}", language)
        } <= set(CLASSES)


def test_the_language_is_that_of_most_words() -> None:
    assert language_of([SOURCE]) == "en"
    assert language_of([TARGET]) == "de"
    assert language_of([("▁Le", "▁chat", "▁est", "▁sur", "▁la", "▁table", ".")]) == "fr"
    assert language_of([("a", "b", "c", "7")]) == ""


@pytest.mark.parametrize("kind", LANGUAGES)
def test_weights_are_a_softmax_over_allowed_keys(kind: AttentionKind) -> None:
    seen = _seen(kind)
    seen.allowed = np.tri(*seen.shape, dtype=bool) if kind is DECODER else np.ones(seen.shape, bool)
    seen.allowed[2] = False
    rule = TermWeights(("first", "comma"), (2.0, -1.0), LANGUAGES[kind], seen.lexicon)
    weights = rule.weights(seen)
    assert weights.sum(axis=-1) == pytest.approx([float(n != 2) for n in range(len(weights))])
    assert not weights[~seen.allowed].any()
    row = weights[-1]
    assert row[0] / row[1] == pytest.approx(np.exp(2))
    comma = seen.keys.index(",")
    assert row[comma] / row[1] == pytest.approx(np.exp(-1))


def test_a_key_that_is_hidden_does_not_drown_the_others() -> None:
    seen = _seen(ENCODER)
    seen.allowed = np.ones(seen.shape, bool)
    seen.allowed[:, 0] = False
    weights = TermWeights(("first",), (5000.0,)).weights(seen)
    assert weights[:, 1:] == pytest.approx(1 / (len(SOURCE) - 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("nowhere",), (1.0,)), "no term 'nowhere'"),
        ((("first",), ()), "1 terms and the strengths"),
        ((("first",), (float("nan"),)), "a finite number"),
    ],
)
def test_a_rule_of_unknown_terms_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(HeadError, match=message):
        TermWeights(*arguments)


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (Terms((), ()), EVENLY),
        (Terms(("previous",), (2.0,)), "looks at the previous token"),
        (
            Terms(("comma", "previous", "first@article"), (-1.0, 3.0, 2.0)),
            "looks at the previous token; from articles, looks at the first token; avoids commas",
        ),
        (
            Terms(("current", "upcoming", "last"), (3.0, 2.0, 1.0)),
            "looks at the word just translated, the likely next word to translate or the sentence "
            "end",
        ),
        (
            Terms(("first@function", "same", "first", "far"), (3.0, 2.0, 1.0, -1.0)),
            "looks at its own token or the first token, above all from function words; avoids "
            "distant tokens",
        ),
        (
            Terms(("first@stop", "first@comma", "same@piece"), (1.0, 1.0, 1.0)),
            "from sentence-final marks or commas, looks at the first token; from pieces inside "
            "words, looks at its own token",
        ),
        (
            Terms(("same", "first", "first@stop", "same@comma"), (1.0, 1.0, 1.0, 1.0)),
            "looks at its own token, above all from commas; looks at the first token, above all "
            "from sentence-final marks",
        ),
        (Terms(("far@stop",), (-2.0,)), "from sentence-final marks, avoids distant tokens"),
    ],
)
def test_a_rule_reads_as_english(terms: Terms, text: str) -> None:
    assert terms.text == text
    assert terms.is_short


def test_one_term_is_always_short_enough() -> None:
    for kind in LANGUAGES:
        assert all(Terms((name,), (1.0,)).is_short for name in terms_of(kind))


def test_no_two_places_have_one_text() -> None:
    texts = [place.text for place in KEY_SETS.values()]
    assert len(set(texts)) == len(texts)
