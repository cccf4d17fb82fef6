import html
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.trace.attention_map import Tokens
from viz.draw.labels import (
    CONTINUED,
    MAX_LABEL,
    axis_labels,
    axis_texts,
    character_name,
    escape_html,
    escape_markdown,
    token_text,
    visible,
)

WORD_JOINER = "\u2060"


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("▁Katze", "Katze"),
        ("ze", "…ze"),
        ("4", "…4"),
        ("ß", "…ß"),
        ("▁", "␣"),
        ("▁▁a", "␣a"),
        (".", "."),
        ("▁(", "("),
        ("<s>", "<s>"),
        ("</s>", "</s>"),
        ("<pad>", "<pad>"),
        ("<unk>", "<unk>"),
        ("<0xF0>", "<0xF0>"),
        ("en_XX", "en_XX"),
        ("deu_Latn", "deu_Latn"),
        ("en_Xx", "…en_Xx"),
        ("▁a\u00a0b", "a␣b"),
        ("", "∅"),
    ],
)
def test_a_token_reads_as_a_word_or_as_the_rest_of_one(token: str, text: str) -> None:
    assert token_text(token) == text


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("<s>", "&lt;s&gt;"),
        ("</s>", "&lt;/s&gt;"),
        ("▁<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("<0xF0>", "&lt;0xF0&gt;"),
        ("▁&lt;", "&amp;lt;"),
        ("▁\"'", "\"'"),
    ],
)
def test_markup_in_a_token_is_shown_as_text(token: str, label: str) -> None:
    assert escape_html(token_text(token)) == label


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1bc", "a␀b␛c"),
        ("a\nb\tc", "a␊b␉c"),
        ("\x7f\x85", "␡⟨U+0085⟩"),
        ("a\u202eb\u2066c", "a⟨U+202E⟩b⟨U+2066⟩c"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\u3164\u2800", "⟨U+3164⟩⟨U+2800⟩"),
        ("\u0301a", "◌\u0301a"),
        ("Ä漢🐈", "Ä漢🐈"),
    ],
)
def test_characters_that_nobody_could_see_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_control_or_direction_character_survives(text: str) -> None:
    categories = {unicodedata.category(character) for character in visible(text)}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text())
def test_no_label_holds_a_tag_or_an_entity_of_its_own(text: str) -> None:
    label = escape_html(token_text(text))
    assert "<" not in label
    assert ">" not in label
    assert html.unescape(label) == token_text(text)


def test_a_right_to_left_token_is_kept_to_itself() -> None:
    assert token_text("▁שלום") == "\u2068שלום\u2069"


def test_a_long_label_is_cut() -> None:
    text = token_text("▁" + "a" * 1000)
    assert len(text) == MAX_LABEL
    assert text.endswith("…")


def test_an_axis_has_one_label_a_position_even_where_tokens_repeat() -> None:
    tokens = Tokens(("▁the", "▁the", "<s>"), (5, 5, 2))
    assert axis_texts(tokens) == ["the", "the", "<s>"]
    assert axis_labels(tokens) == ["the", "the", "&lt;s&gt;"]


def test_labels_that_are_no_tokens_are_not_taken_for_rests_of_words() -> None:
    assert axis_texts(Tokens.unnamed(range(3))) == ["0", "1", "2"]
    assert not any(CONTINUED in text for text in axis_texts(Tokens.unnamed(["ab", "c"])))


def test_quotes_stay_as_they_are_because_plotly_would_spell_out_their_entities() -> None:
    assert escape_html("\"a\" 'b'") == "\"a\" 'b'"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("*a*", r"\*a\*"),
        ("$x$", r"\$x\$"),
        ("`c`", r"\`c\`"),
        ("[a](b)", r"\[a\]\(b\)"),
        ("# h", r"\# h"),
        ("    code", "code"),
        ("a\nb", "a␊b"),
    ],
)
def test_markdown_is_shown_letter_by_letter(text: str, markdown: str) -> None:
    assert escape_markdown(text) == markdown


@pytest.mark.parametrize(
    "text",
    [":cat:", ":material/home:", ":red[x]", "->", "<->", "--", ">=", "www.a.b", "a@b.c", "x://y"],
)
def test_what_streamlit_replaces_after_markdown_is_broken_up_unseen(text: str) -> None:
    escaped = escape_markdown(text)
    assert WORD_JOINER in escaped
    assert escaped.replace(WORD_JOINER, "").replace("\\", "") == text


@given(st.text(alphabet=st.characters(blacklist_characters="\\" + WORD_JOINER)))
def test_escaping_for_markdown_loses_no_character(text: str) -> None:
    escaped = escape_markdown(text)
    assert escaped.replace("\\", "").replace(WORD_JOINER, "") == visible(text).strip()


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\xad", "U+00AD soft hyphen"),
        ("\ufeff", "U+FEFF zero width no-break space"),
        ("\u3164", "U+3164 hangul filler"),
        ("\ue000", "U+E000"),
        ("\x07", "U+0007"),
        ("猫", "猫"),
        ("é", "é"),
    ],
)
def test_a_character_that_nobody_sees_goes_by_its_number_and_name(
    character: str, name: str
) -> None:
    assert character_name(character) == name
