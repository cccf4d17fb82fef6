import re
from dataclasses import replace

import numpy as np
import pytest

from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, Site, Tokens
from model.trace.trace import Trace
from viz.draw import themes
from viz.draw.labels import NOTHING
from viz.draw.word_diff import Typed, translations_html
from viz.masks.batch_masks import EVERY_QUERY
from viz.masks.compared import most_moved, moved_heads, moved_panel, moved_words
from viz.masks.difference import mask_difference
from viz.masks.head_in_batch import HeadInBatch, changed_panels, sentence_name
from viz.masks.head_steps import HeadSteps
from viz.masks.mask import Cell, Mask
from viz.masks.painted import is_unchanged
from viz.masks.panels import EVERY, difference_panel, editor_panel, mask_panel, weights_panel
from viz.masks.preset_masks import preset_mask
from viz.masks.steps import fill_lesson, head_steps
from viz.masks.tables import grid_html, lesson_html

QUERIES = Tokens(("▁<b>x</b>", "▁cat", "</s>"), (5, 6, 3))
AT = HeadInBatch(("A cat",), 0, "", AttentionKind.CROSS, 0, 0)
KEYS = Tokens(("▁<b>x</b>", "▁cat", "</s>", "<pad>"), (5, 6, 3, 0))


def a_mask(
    allowed: BoolArray, queries: Tokens = QUERIES, kind: AttentionKind | None = AttentionKind.CROSS
) -> Mask:
    return preset_mask("A mask", allowed, queries, KEYS, kind=kind)


def everything(*forbidden: tuple[int, int]) -> BoolArray:
    allowed = np.ones((len(QUERIES), len(KEYS)), dtype=np.bool_)
    for cell in forbidden:
        allowed[cell] = False
    return allowed


def a_map(seed: int = 1) -> AttentionMap:
    random = np.random.default_rng(seed)
    allowed = everything((0, 3), (1, 3), (2, 3))
    scores = random.normal(size=(2, 3, 4)).astype(np.float32)
    powers = np.where(allowed, np.exp(scores), 0)
    return AttentionMap(
        Site(AttentionKind.CROSS, 0),
        weights=(powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32),
        allowed=allowed,
        queries=QUERIES,
        keys=KEYS,
        scores=scores,
        v=random.normal(size=(2, 4, 5)).astype(np.float32),
    )


def a_trace(seed: int = 1, text: str = "Eine Katze", log_prob: float = -1.0) -> Trace:
    seen = a_map(seed)
    return Trace(
        source=KEYS,
        target=QUERIES,
        predictions=QUERIES,
        text=text,
        source_text="A cat",
        maps={seen.site: seen},
        log_probs=np.full(3, log_prob, dtype=np.float32),
    )


def test_every_head_is_a_cell_that_says_how_much_of_its_weight_moved() -> None:
    first, second = Site(AttentionKind.ENCODER, 1), Site(AttentionKind.CROSS, 0)
    moved = {first: np.float32([0, 0.004]), second: np.float32([0.75, 0.2])}
    panel = moved_panel(moved)
    assert np.array_equal(panel.values, np.float32([[0, 0.004], [0.75, 0.2]]))
    assert panel.queries.tokens == ("Encoder·1", "Cross·0")
    assert panel.pointed == "{query}, head {key}"
    words = "2 of 4 heads moved at least 1% of their weight; the most, 75%, is that of "
    assert moved_words(moved) == f"{words}cross-attention, layer 0, head 0."
    assert moved_words(moved) in panel.alt
    assert most_moved(moved) == (second, 0)
    assert moved_words({first: moved[first]}) == "No head moved 1% of its weight or more."


def test_rows_of_padding_do_not_count_among_what_moved() -> None:
    seen = a_map()
    weights = seen.weights.copy()
    weights[:, 2] = weights[:, 2, ::-1]
    before, after = a_trace(), replace(a_trace(), maps={seen.site: replace(seen, weights=weights)})
    assert not moved_heads(before, after, (4, 2))[seen.site].any()
    assert moved_heads(before, after, (4, 3))[seen.site].all()


# ---- panels -------------------------------------------------------------------------------------


def test_a_mask_has_the_colours_of_its_reasons_and_says_its_shape_and_type() -> None:
    mask = a_mask(everything((0, 3), (1, 3), (2, 3), (1, 0)))
    panel = mask_panel(mask, "Cross", sign="=")
    assert np.array_equal(panel.values, mask.cells)
    assert panel.colors == {"light": themes.LIGHT.cells, "dark": themes.DARK.cells}
    assert panel.names == mask.legend
    assert panel.note == f"{mask.shape}, bool"
    assert "target token just read" in panel.query_title
    assert "source token" in panel.key_title


def test_the_row_of_a_padding_mask_is_labelled_without_marked_spaces() -> None:
    mask = a_mask(np.ones((1, len(KEYS)), dtype=np.bool_), EVERY_QUERY, kind=None)
    assert mask_panel(mask, "Padding").queries == EVERY


def test_painting_begins_at_the_edit_and_keeps_the_models_reasons() -> None:
    own = a_mask(everything((0, 3), (1, 3), (2, 3)))
    allowed = everything((0, 3), (1, 3), (1, 1))
    panel = editor_panel(own, allowed, "The mask")
    assert panel.base is not None
    assert panel.start is not None
    assert np.array_equal(panel.base, own.cells)
    assert np.array_equal(panel.start, allowed)
    assert panel.values[0, 3] == Cell.PADDING
    assert panel.values[1, 1] == panel.by_edit == Cell.OTHER
    assert panel.values[2, 3] == Cell.ALLOWED


def test_each_cell_of_a_difference_has_the_colour_and_the_words_of_what_differs() -> None:
    first, second = a_mask(everything((0, 0), (1, 1))), a_mask(everything((0, 0), (2, 2)))
    panel = difference_panel(mask_difference(first, second))
    expected = {(0, 0): "both forbid", (1, 1): "only B allows", (2, 2): "only A allows"}
    order = ["both allow", "both forbid", "only A allows", "only B allows"]
    for cell in np.ndindex(panel.values.shape):
        place = int(panel.values[cell])
        answer = expected.get(cell, "both allow")
        assert panel.legend[place] == answer
        assert panel.names[place].startswith(f"{answer} (A")
        for name, look in (("light", themes.LIGHT), ("dark", themes.DARK)):
            assert panel.colors[name][place] == look.compared[order.index(answer)]


def test_weights_are_those_of_the_head_with_what_is_forbidden_hatched() -> None:
    seen = a_map()
    panel = weights_panel(seen, 1, "Weights")
    assert np.array_equal(panel.values, seen.weights[1])
    assert panel.shown is not None
    assert np.array_equal(panel.shown, seen.allowed)
    with pytest.raises(IndexError, match="no head 7"):
        weights_panel(seen, 7, "Weights")


def test_a_change_runs_from_minus_one_to_one_about_zero() -> None:
    before, after = a_map(1), a_map(2)
    *_, panel = changed_panels(before, after, 0, ("Before", "After"))
    assert (panel.scale, panel.low, panel.high) == ("signed", -1.0, 1.0)
    assert np.array_equal(panel.values, after.weights[0] - before.weights[0])


def test_the_steps_of_a_head_come_in_their_order_and_on_their_scales() -> None:
    seen = a_map()
    one = head_steps(seen, 0)
    panels = HeadSteps(AT, seen, one, limit=3.0, longest=2.0, hatched=True).panels
    assert [panel.scale for panel in panels] == ["signed", "signed", "weights", "weights"]
    assert [panel.high for panel in panels] == [3.0, 3.0, 1.0, 2.0]
    for panel, values in zip(
        panels, (one.scores, np.nan_to_num(one.masked), one.weights, one.contributions), strict=True
    ):
        assert np.array_equal(panel.values, values)
    assert panels[0].shown is None
    without = HeadSteps(AT, seen, one, limit=3.0, longest=2.0, hatched=False).panels
    assert all(panel.shown is None for panel in without)


# ---- tables and sentences -----------------------------------------------------------------------


def test_the_grid_hatches_padding_frames_one_sentence_and_shows_tokens_as_text() -> None:
    texts = [["<b>x</b>", "cat"], ["dog", "<pad>"]]
    is_padding = np.array([[False, False], [False, True]])
    found = grid_html({"Source": (texts, is_padding)}, 1, dark=False)
    assert "<b>x</b>" not in found
    assert "&lt;b&gt;x&lt;/b&gt;" in found
    assert found.count('class="padding"') == 1
    assert '<tr class="framed"><th>2</th>' in found
    assert '<tr class="framed"><th>1</th>' not in found


def test_the_lesson_has_a_row_for_each_way_and_says_not_a_number() -> None:
    lesson = fill_lesson(np.array([1.0, 2.0], dtype=np.float32), np.zeros(2, dtype=np.bool_))
    found = lesson_html(lesson, ["<i>a</i>", "b"], dark=True)
    assert found.count("<td>NaN</td>") == 2
    assert found.count("<td>0.50</td>") == 2
    assert found.count("<td>0.00</td>") == 2
    assert "<i>" not in found
    # A header that says nothing is read out as one.
    headers = re.findall(r"<th([^>]*)>(.*?)</th>", found)
    assert headers[0] == (' scope="row"', "Key")
    assert all(text and "scope=" in scope for scope, text in headers)


def test_two_translations_stand_beside_their_names_and_none_is_a_sign() -> None:
    found = translations_html("Die <b>Katze</b>", "", ("Before", "After"), dark=False)
    assert "<b>Katze</b>" not in found
    assert "Before" in found
    assert "<del" in found
    assert NOTHING in translations_html("", "", ("A", "B"), dark=False)


def test_a_typed_target_stands_above_what_is_written_freely() -> None:
    typed = Typed("Die <b>Katze</b>", (-9.3, -0.1))
    found = translations_html("", "Hund", ("Before", "After"), dark=False, typed=typed)
    assert "<b>Katze</b>" not in found
    head, before, after = found.split("<section")[1:]
    assert "Die &lt;b&gt;Katze&lt;/b&gt;" in head
    assert "probability less than 0.0001 (geometric mean). Written freely: nothing<" in before
    assert "probability 0.9 (geometric mean). Written freely: <ins" in after
    assert ">Hund</ins>" in after


def test_a_difference_is_counted_in_words() -> None:
    first = a_mask(everything((0, 0)))
    assert mask_difference(first, first).words == "None of the 12 cells differs."
    second = a_mask(everything((1, 1), (1, 2)))
    assert (
        mask_difference(first, second).words
        == "3 of 12 cells differ: only A allows 2, only B allows 1."
    )
    assert (
        mask_difference(a_mask(everything()), first).words
        == "1 of 12 cells differs: only A allows 1."
    )


def test_queries_with_nothing_left_are_named_and_else_nothing_is_said() -> None:
    assert a_mask(everything()).empty_words == ""
    allowed = everything()
    allowed[1] = False
    said = a_mask(allowed).empty_words
    assert "“cat” (1)" in said
    assert "zeros" in said


def test_runs_are_unchanged_only_if_words_weights_and_probabilities_are() -> None:
    one = a_trace()
    assert is_unchanged((one, one), (a_trace(), a_trace()))
    assert not is_unchanged((one, one), (one, replace(one, text="Ein Hund")))
    assert not is_unchanged((one, one), (a_trace(log_prob=-1.0001), one))
    assert not is_unchanged((one, one), (a_trace(seed=2), one))


def test_a_sentence_is_named_by_its_number_and_its_first_words() -> None:
    assert sentence_name(1, "A cat.") == "Sentence 2, “A cat.”"
    long = sentence_name(0, "word " * 40)
    assert long.endswith("…”")
    assert len(long) < 90


@pytest.mark.parametrize(
    ("mean", "said"),
    [(0.0, "more than 0.999"), (-5e-5, "more than 0.999"), (-0.004, "0.996"), (-1.0, "0.37")],
)
def test_a_probability_below_one_is_not_called_one(mean: float, said: str) -> None:
    typed = Typed("x", (mean, -20.0))
    found = translations_html("a", "b", ("A", "B"), dark=False, typed=typed)
    assert f"probability {said} (geometric mean)" in found
    assert "probability less than 0.0001 (geometric mean)" in found
