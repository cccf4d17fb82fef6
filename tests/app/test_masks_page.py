import base64
import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.record.intervention import UNCHANGED, Intervention
from model.record.mask_presets import PRESETS
from model.trace.attention_map import AttentionKind, BoolArray
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp, tell_state
from tests.kit.shown import captions, headings, html, more, query, said
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.trace_payload import Decoded
from viz.draw.labels import axis_texts
from viz.links import mask_edits
from viz.links.mask_edits import EDITABLE, Edit
from viz.masks.batch_masks import batch_masks
from viz.masks.mask import Cell

OpenMasks = Callable[..., AppTest]

CROSS, ENCODER, DECODER = AttentionKind.CROSS, AttentionKind.ENCODER, AttentionKind.DECODER
SENTENCES = ("The cat eats.", "The dog sat on the mat.", "A woman reads a book.")
BATCH = {"sentence": SENTENCES[0], "batch": "\n".join(SENTENCES[1:])}
PAINTED = "0.{}.0"
"""What the page calls the mask of the first sentence and layer, by its kind."""

COMPONENTS = {
    "see": {"own"},
    "inside": {"with-mask", "without-mask"},
    "compare": {"compared", "compared-weights", "moved-heads"},
    "change": {"editor"},
}


@pytest.fixture
def open_masks(open_app: OpenApp) -> OpenMasks:
    """Opens the masks page at an address, with three sentences unless it names others."""
    return partial(open_app, page="masks", **BATCH, layer="0", head="0")


@pytest.fixture(scope="module")
def own(model: Translator) -> dict[AttentionKind, BoolArray]:
    """The model's own masks of the first sentence, as it lies in its batch."""
    targets = [model.translate(sentence).text for sentence in SENTENCES]
    padded = model.trace_batch(SENTENCES, targets).padded[0]
    return {kind: padded.attention(kind, 0).allowed for kind in EDITABLE}


def mounted(app: AppTest) -> dict[str, Any]:
    return {
        str(each.key).removeprefix("masks-"): each.proto
        for each in app.get("bidi_component")
        if each.proto.bytes[:4] == b"HSX1"
    }


def panel(app: AppTest, key: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = Decoded(mounted(app)[key].bytes).header["panels"][number]
    return found


def values(app: AppTest, key: str, number: int) -> Any:
    each = panel(app, key, number)
    return each["values"].reshape(len(each["queries"]), len(each["keys"]))


def paint(app: AppTest, named: str, allowed: BoolArray, **more: Any) -> AppTest:
    """Does what the browser does after a stroke."""
    bits = base64.b64encode(np.packbits(allowed).tobytes()).decode()
    rows, columns = allowed.shape
    stroke = {"name": named, "rows": rows, "columns": columns, "bits": bits} | more
    return tell_state(app, "masks-editor", {"edit": stroke})


def edits(app: AppTest) -> tuple[Edit, ...]:
    return mask_edits.parse(app.session_state["masks-edit"])


def translations(app: AppTest) -> tuple[str, str]:
    """Before, and after with what was removed left out."""
    shown = html(app).partition('<div class="change"')[2].partition("</section></div>")[0]
    shown = re.sub(r"<del.*?</del>", "", shown)
    before, after = (
        re.sub(r"\s+", " ", re.sub(r"<.*?>", "", text)).strip()
        for text in re.findall(r"<div>(.*?)</div>", shown, re.DOTALL)
    )
    return before, after


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=f"masks-{key}").click().run()


def link(*listed: Edit) -> str:
    return mask_edits.write(listed)


def batch_button(app: AppTest) -> str:
    """The text behind which the batch stands."""
    nodes = app.get("popover")
    return next(
        label for node in nodes if "sentence" in (label := node.proto.popover.label).lower()
    )


def closed(allowed: BoolArray, *places: Any) -> BoolArray:
    changed = allowed.copy()
    for place in places:
        changed[place] = False
    return changed


# ---- the parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EDITABLE)
@pytest.mark.parametrize("part", COMPONENTS)
def test_every_part_shows_its_pictures_for_every_attention(
    open_masks: OpenMasks, part: str, kind: AttentionKind
) -> None:
    app = open_masks(part=part, masked=str(kind), number="2")
    assert not app.exception
    assert COMPONENTS[part] == set(mounted(app)) - {"together"}
    assert not app.warning
    for key in COMPONENTS[part]:
        for each in Decoded(mounted(app)[key].bytes).header["panels"]:
            assert each["title"]
            assert each["alt"]
            rows = "Attention and layer" if key == "moved-heads" else "Query"
            assert each["queryTitle"].startswith(rows)
            columns = "Head" if key == "moved-heads" else "Key"
            assert each["keyTitle"].startswith(columns)


def test_the_masks_shown_are_those_of_the_chosen_sentence(
    open_masks: OpenMasks, model: Translator
) -> None:
    padded = model.trace_batch(
        SENTENCES, [model.translate(sentence).text for sentence in SENTENCES]
    ).padded
    for number in (1, 2, 3):
        app = open_masks(number=str(number))
        expected = batch_masks(padded, number - 1)
        for place, kind in enumerate((ENCODER, DECODER, CROSS)):
            assert np.array_equal(values(app, "own", place), expected[kind].cells)
        assert batch_button(app) == f"Sentence {number} of a batch of 3, padded to the longest"
        app = open_masks(number=str(number), of="decoder")
        assert np.array_equal(values(app, "factors", 0), expected["causal"].cells)
        assert np.array_equal(values(app, "factors", 2), expected["decoder"].cells)
        assert np.array_equal(values(app, "mask-rows", 0), expected["source-padding"].cells)
        assert headings(app)[0] == f"The padding masks of sentence {number}"


def test_inside_a_head_the_weights_are_those_that_were_recorded(
    open_masks: OpenMasks, model: Translator
) -> None:
    app = open_masks(part="inside", masked="cross", layer="1", head="2")
    targets = [model.translate(sentence).text for sentence in SENTENCES]
    seen = model.trace_batch(SENTENCES, targets).padded[0].attention(CROSS, 1)
    assert np.allclose(values(app, "with-mask", 2), seen.weights[2], atol=1e-6)
    opened = values(app, "without-mask", 2)
    assert np.allclose(opened.sum(axis=-1), 1, atol=1e-5)
    assert opened[:, ~seen.allowed[0]].any()
    last = len(model.trace(SENTENCES[0]).target) - 1
    assert re.search(rf"All keys of .* \({last}\) are forbidden", captions(app))


def test_comparing_says_in_words_how_many_cells_differ(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="compare", a="1.decoder", b="preset.none")
    no_padding = own[DECODER][-1]
    count = int((~own[DECODER] & no_padding).sum())
    assert f"{count} of {own[DECODER].size} cells differ: only B allows {count}." in captions(app)
    titles = [panel(app, "compared", place)["title"] for place in range(3)]
    assert titles == ["A: Causal and padding", "B: Padding", "What differs"]


def test_causal_and_padding_are_compared_first_and_the_model_runs_under_each(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="compare")
    assert (app.session_state["masks-a"], app.session_state["masks-b"]) == (
        "1.causal",
        "1.target-padding",
    )
    titles = [panel(app, "compared", place)["title"] for place in range(3)]
    assert titles == ["A: Causal", "B: Padding", "What differs"]
    assert panel(app, "together", 0)["title"] == "A and B: Causal and padding"
    shape = own[DECODER].shape
    padding = np.broadcast_to(own[DECODER][-1], shape)
    drawn = [values(app, "compared", 0), values(app, "compared", 1), values(app, "together", 0)]
    causal = np.tril(np.ones(shape, dtype=np.bool_))
    for cells, allowed in zip(drawn, (causal, padding, own[DECODER]), strict=True):
        assert np.array_equal(cells == Cell.ALLOWED, allowed)
    weights = [values(app, "compared-weights", place) for place in range(2)]
    for each, allowed in zip(weights, (causal, padding), strict=True):
        assert not each[~allowed].any()
        np.testing.assert_allclose(each.sum(axis=-1), 1, atol=1e-5)


def test_a_mask_has_one_name_and_is_drawn_alike_to_compare_and_to_change(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    for kind, name in itertools.product((DECODER, ENCODER), PRESETS):
        if kind not in PRESETS[name].kinds:
            continue
        compared = open_masks(part="compare", masked=str(kind), a=f"preset.{name}")
        cells = values(compared, "compared", 0)
        title = panel(compared, "compared", 0)["title"].removeprefix("A: ")
        options = compared.selectbox(key="masks-a").options
        assert len(set(options)) == len(options)
        edited = Edit(kind, None, cells == Cell.ALLOWED)
        changed = open_masks(part="change", masked=str(kind), edit=link(edited))
        assert np.array_equal(values(changed, "editor", 0), cells), name
        menu = changed.selectbox(key="masks-preset")
        shown = str(menu.options[menu.index]).removesuffix(" (the model’s own)")
        assert shown == title, name


def test_comparing_begins_with_what_changes_and_shows_which_of_all_heads_moved(
    open_masks: OpenMasks, model: Translator
) -> None:
    app = open_masks(part="compare", masked="cross", b="preset.first_token")
    assert list(mounted(app)) == ["compared", "compared-weights", "moved-heads"]
    assert "the translation" in headings(app)[0]
    moved = values(app, "moved-heads", 0)
    targets = [model.translate(sentence) for sentence in SENTENCES]
    rule = Intervention(masks={"cross": PRESETS["first_token"].rule()})
    own = model.trace_batch(SENTENCES, targets)
    narrowed = model.trace_batch(SENTENCES, targets, under=[rule, UNCHANGED, UNCHANGED])
    pairs = zip(own.traces[0].maps.values(), narrowed.traces[0].maps.values(), strict=True)
    expected = [np.abs(one.weights - other.weights).sum(-1).mean(-1) / 2 for one, other in pairs]
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    assert panel(app, "moved-heads", 0)["queries"][0] == "Encoder·0"
    assert f"of {moved.size} heads moved at least 1% of their weight" in more(app)
    # Of this attention, whose masks are compared: the first site of cross-attention is the sixth.
    layer, head = np.unravel_index(np.argmax(moved[5:]), moved[5:].shape)
    app = press(app, "most-moved")
    assert (app.session_state["masks-layer"], app.session_state["masks-head"]) == (layer, head)
    assert not [each for each in app.button if each.key == "masks-most-moved"]


def test_what_nobody_chose_to_compare_goes_along_with_sentence_and_attention(
    open_masks: OpenMasks,
) -> None:
    app = open_masks(part="compare", b="preset.first_token")
    app.session_state["masks-number"] = 2
    app.session_state["masks-masked"] = "cross"
    app.run()
    assert (app.session_state["masks-a"], app.session_state["masks-b"]) == (
        "2.cross",
        "preset.first_token",
    )


def test_a_mask_that_is_not_there_is_named_and_the_usual_one_compared(
    open_masks: OpenMasks,
) -> None:
    app = open_masks(part="compare", a="9.decoder", b="preset.none")
    assert "There is no mask “9.decoder” here; shown instead: Causal." in said(app)
    app = open_masks(part="compare", a="1.encoder")
    assert "There is no mask “1.encoder” here" in said(app)


# ---- the batch ----------------------------------------------------------------------------------


def test_one_sentence_alone_has_no_padding_and_no_choice_of_sentences(
    open_masks: OpenMasks,
) -> None:
    app = open_masks(batch=" \n\n")
    assert batch_button(app) == "One sentence needs no padding"
    assert not [box for box in app.selectbox if box.key == "masks-number"]
    assert set(np.unique(values(app, "own", 0))) == {Cell.ALLOWED}


def test_more_sentences_than_fit_are_left_out_and_counted(open_masks: OpenMasks) -> None:
    app = open_masks(batch="\n".join(source for source, _ in PAIRS))
    assert re.search("at most 6 sentences.* last 4 ", said(app))
    assert app.selectbox(key="masks-number").options == [f"Sentence {n}" for n in range(1, 7)]


def test_a_full_batch_leaves_nothing_out_and_says_nothing(open_masks: OpenMasks) -> None:
    app = open_masks(batch="\n".join(source for source, _ in PAIRS[:5]))
    assert not app.warning


def test_a_sentence_that_cannot_be_translated_is_named(open_masks: OpenMasks) -> None:
    app = open_masks(batch="The dog sleeps.\n漢字", part="change")
    assert not mounted(app)
    assert "Sentence 3, “漢字”, cannot be translated." in said(app)
    app.session_state["masks-batch"] = "The dog sleeps."
    app.run()
    assert "editor" in mounted(app)


def test_a_typed_target_is_what_teacher_forcing_gives(
    open_masks: OpenMasks, model: Translator
) -> None:
    target = "Die Katze isst."
    app = open_masks(part="change", target=target)
    assert "the decoder reads the target you typed" in captions(app)
    read = model.trace(SENTENCES[0], target).target
    assert panel(app, "editor", 0)["queries"][: len(read)] == axis_texts(read)
    assert translations(app)[0] == model.translate(SENTENCES[0]).text
    app.session_state["masks-number"] = 2
    app.run()
    assert "the decoder reads the model's own translation" in captions(app)


# ---- changing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EDITABLE)
def test_every_preset_is_applied_as_its_rule_says_and_padding_stays_forbidden(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray], kind: AttentionKind
) -> None:
    app = open_masks(part="change", masked=str(kind))
    shape = own[kind].shape
    no_padding = own[kind].any(axis=0)
    causal = np.tril(np.ones(shape, dtype=np.bool_))
    settings: dict[str, Any] = {
        "k": 1,
        "width": 2,
        "keys": (0,),
        "lengths": (shape[0],),
        "key_lengths": (shape[1],),
    }
    masks = [own[kind]]
    for name, preset in PRESETS.items():
        if kind not in preset.kinds:
            continue
        expected = preset(*shape, **{each: settings[each] for each in preset.settings}).numpy()
        if name == "block_diagonal":
            # Padding begins no sentence, so a single sentence is one block.
            expected = np.ones(shape, dtype=np.bool_)
        if not preset.over_padding:
            expected = expected & no_padding
        if kind is DECODER and name in ("block_words", "block_diagonal"):
            expected = expected & causal
        if any(np.array_equal(expected, each) for each in masks):
            # A mask of another name, which the menu has once.
            continue
        masks.append(expected)
        app.selectbox(key="masks-preset").select(name).run()
        assert not app.exception
        (edit,) = edits(app)
        assert (edit.kind, edit.layers) == (kind, None)
        assert np.array_equal(edit.allowed, expected), name
        assert query(app, "edit") == link(edit)
        assert app.selectbox(key="masks-preset").value == name
    assert len(app.selectbox(key="masks-preset").options) == len(masks)
    app.selectbox(key="masks-preset").select("own").run()
    assert edits(app) == ()


def test_settings_of_a_preset_are_what_it_is_applied_with(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="cross")
    no_padding = own[CROSS].any(axis=0)
    app.selectbox(key="masks-preset").select("window").run()
    app.number_input(key="masks-preset-width").set_value(0).run()
    narrow = np.eye(*own[CROSS].shape, dtype=np.bool_) & no_padding
    assert np.array_equal(edits(app)[0].allowed, narrow)
    again = open_masks(part="change", masked="cross", edit=query(app, "edit"))
    assert again.selectbox(key="masks-preset").value == "window"
    assert again.number_input(key="masks-preset-width").value == 0
    app.selectbox(key="masks-preset").select("block_words").run()
    app.multiselect(key="masks-preset-keys").set_value([1, 2]).run()
    assert np.array_equal(edits(app)[0].allowed, closed(own[CROSS], np.s_[:, 1], np.s_[:, 2]))


def test_what_is_edited_is_said_and_by_whom(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="cross")
    assert "paint it: all 3 layers obey." in captions(app)
    paint(app, PAINTED.format("cross"), closed(own[CROSS], (0, 0)))
    assert "Edited by you: cross attention, all layers." in captions(app)
    assert app.selectbox(key="masks-preset").value == "edited"
    app = open_masks(part="change", masked="cross", edit=query(app, "edit"))
    assert "Edited by the link: cross attention, all layers." in captions(app)
    paint(app, PAINTED.format("cross"), own[CROSS])
    assert app.selectbox(key="masks-preset").value == "own"
    assert "paint it" in captions(app)


def test_without_any_mask_the_model_looks_at_padding(open_masks: OpenMasks) -> None:
    app = open_masks(part="change", masked="encoder")
    app.selectbox(key="masks-preset").select("ignore_padding").run()
    menu = app.selectbox(key="masks-preset")
    assert menu.options[menu.index] == "No mask"
    (edit,) = edits(app)
    assert edit.allowed.all()
    before, after = (values(app, "editor", number) for number in (1, 2))
    n_source = len(load_source(app))
    assert not before[:, n_source:].any()
    assert after[:n_source, n_source:].any()
    assert "changes nothing" not in said(app)


def load_source(app: AppTest) -> list[str]:
    return [token for token in panel(app, "editor", 0)["keys"] if token != "<pad>"]


def test_a_stroke_runs_the_model_and_shows_what_changed(
    open_masks: OpenMasks, model: Translator, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="cross")
    allowed = closed(own[CROSS], np.s_[:, 1])
    paint(app, PAINTED.format("cross"), allowed)
    (edit,) = edits(app)
    assert np.array_equal(edit.allowed, allowed)
    assert query(app, "edit") == link(edit)
    targets = [model.translate(sentence).text for sentence in SENTENCES]
    under = [Intervention(masks={"cross": allowed}), UNCHANGED, UNCHANGED]
    expected = model.trace_batch(SENTENCES, targets, under=under).padded[0]
    after = values(app, "editor", 2)
    assert np.allclose(after, expected.attention(CROSS, 0).weights[0], atol=1e-6)
    assert not after[:, 1].any()
    n_source = int(own[CROSS][0].sum())
    free = model.trace(SENTENCES[0], under=Intervention(masks={"cross": allowed[:, :n_source]}))
    assert translations(app) == (targets[0], free.text)
    verb = "stays the same" if free.text == targets[0] else "changes"
    assert any(each.endswith(f"the translation {verb}") for each in headings(app))
    assert "Under teacher forcing, the given words change in probability" in headings(app)
    assert "Sentence 1, “The cat eats.”" in captions(app)


def test_a_link_is_unpacked_once_and_a_stroke_packed_once(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = link(Edit(DECODER, None, closed(own[DECODER], np.s_[:, 0])))
    encode, decode = (MagicMock(wraps=each) for each in (mask_edits.encode, mask_edits.decode))
    monkeypatch.setattr(mask_edits, "encode", encode)
    monkeypatch.setattr(mask_edits, "decode", decode)
    app = open_masks(part="change", masked="cross", edit=linked)
    assert (encode.call_count, decode.call_count) == (0, 1)
    for column in (1, 2):
        paint(app, PAINTED.format("cross"), closed(own[CROSS], np.s_[:, column]))
        # The edit of the link is packed too, when it is first written again.
        assert (encode.call_count, decode.call_count) == (1 + column, 1)


def test_a_painted_matrix_begins_anew_only_for_what_it_did_not_tell_itself(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="cross")

    def epoch() -> int:
        found: int = Decoded(mounted(app)["editor"].bytes).header["epoch"]
        return found

    first = epoch()
    paint(app, PAINTED.format("cross"), closed(own[CROSS], (0, 0)))
    assert epoch() == first
    app.selectbox(key="masks-preset").select("first_token").run()
    assert epoch() == first + 1
    press(app, "clear-0")
    assert epoch() == first + 2
    assert edits(app) == ()


def test_painting_the_models_own_mask_again_is_no_edit(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="decoder")
    paint(app, PAINTED.format("decoder"), closed(own[DECODER], (2, 0)))
    assert len(edits(app)) == 1
    paint(app, PAINTED.format("decoder"), own[DECODER])
    assert edits(app) == ()
    assert query(app, "edit") == ""


@pytest.mark.parametrize(
    "forged",
    [
        {"name": "1.decoder.0"},
        {"name": "0.cross.0"},
        {"rows": 3},
        {"columns": 10**9},
        {"bits": "*"},
        {"bits": ""},
        {"bits": "/" * 1_000_000},
        {"bits": None},
    ],
    ids=str,
)
def test_a_forged_stroke_edits_nothing(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray], forged: dict[str, Any]
) -> None:
    app = open_masks(part="change", masked="decoder")
    paint(app, PAINTED.format("decoder"), closed(own[DECODER], (2, 0)), **forged)
    assert not app.exception
    assert edits(app) == ()


def test_an_edit_holds_in_the_chosen_layers_alone(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    allowed = closed(own[CROSS], np.s_[:, 0])
    app = open_masks(part="change", masked="cross", edit=link(Edit(CROSS, (1,), allowed)))
    assert not values(app, "editor", 3).any(), "layer 0 is not edited"
    app.session_state["masks-layer"] = 1
    app.run()
    assert not values(app, "editor", 2)[:, 0].any()
    assert app.session_state["masks-layers-cross"] == [1]
    app.button_group(key="masks-layers-cross").set_value([0, 1]).run()
    assert edits(app)[0].layers == (0, 1)
    app.button_group(key="masks-layers-cross").set_value([0, 1, 2]).run()
    assert edits(app)[0].layers is None


def test_edits_of_two_attentions_hold_together_and_can_be_cleared_one_by_one(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    both = (
        Edit(CROSS, None, closed(own[CROSS], np.s_[:, 1])),
        Edit(DECODER, (0,), closed(own[DECODER], np.s_[2:, 1])),
    )
    app = open_masks(part="change", masked="cross", edit=link(*both))
    assert app.button(key="masks-clear-0").label == "Clear cross attention, all layers"
    assert app.button(key="masks-clear-1").label == "Clear decoder attention, layer 0"
    press(app, "clear-0")
    assert [edit.kind for edit in edits(app)] == [DECODER]
    app = open_masks(part="change", masked="cross", edit=link(*both))
    press(app, "clear-all")
    assert edits(app) == ()
    assert query(app, "edit") == ""


def test_masks_for_two_layers_are_painted_one_at_a_time(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    first, second = closed(own[CROSS], np.s_[:, 0]), closed(own[CROSS], np.s_[:, 1])
    both = (Edit(CROSS, (0,), first), Edit(CROSS, (1,), second))
    app = open_masks(part="change", masked="cross", layer="1", edit=link(*both))
    painted = closed(second, (0, 0))
    paint(app, "0.cross.1", painted)
    found = {edit.layers: edit.allowed for edit in edits(app)}
    assert np.array_equal(found[(0,)], first)
    assert np.array_equal(found[(1,)], painted)


def test_a_stroke_after_another_choice_paints_the_mask_that_was_chosen_last(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", masked="cross")
    app.selectbox(key="masks-layer").select(1).run()
    painted = closed(own[CROSS], (0, 0))
    paint(app, "0.cross.1", painted)
    assert np.array_equal(edits(app)[0].allowed, painted)


def test_an_edit_that_changes_nothing_is_said_to(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", edit=link(Edit(DECODER, None, own[DECODER])))
    assert "This edit changes nothing" in said(app)
    assert "Under teacher forcing, the given words keep their probability" in headings(app)
    app = open_masks(part="change", edit=link(Edit(CROSS, None, closed(own[CROSS], np.s_[:, 1]))))
    assert "changes nothing" not in said(app)
    assert "changes nothing" not in said(open_masks(part="change"))


def test_queries_without_a_key_are_named(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", edit=link(Edit(DECODER, None, closed(own[DECODER], 1))))
    named = panel(app, "editor", 0)["queries"][1]
    assert f"Nothing left to look at: “{named}” (1)." in said(app)


# ---- links --------------------------------------------------------------------------------------

JUNK = [
    "x",
    "decoder:*:5x5.AAAA",
    "decoder:*:999999x999999.AAAA",
    "decoder:*:9x9." + "A" * 50_000,
    "decoder:*:" + "~" * 1000,
    "<img src=x onerror=alert(1)>",
    "../../etc/passwd",
    "module:*:2x2.AAAA",
    "decoder:-1:2x2.AAAA",
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: junk[:30])
@pytest.mark.parametrize("part", ["change", "compare"])
def test_junk_in_a_link_is_refused_in_one_sentence(
    open_masks: OpenMasks, part: str, junk: str
) -> None:
    app = open_masks(part=part, edit=junk)
    assert not app.exception
    assert len(app.warning) == 1
    assert "own masks are shown" in said(app)
    assert "<img" not in said(app)
    assert set(mounted(app)) - {"together"} == COMPONENTS[part]
    assert edits(app) == ()


def test_with_ten_megabytes_of_junk_the_page_opens_as_without_an_address(
    open_masks: OpenMasks,
) -> None:
    # Streamlit passes no address of that length on.
    app = open_masks(part="change", edit="A" * 10_000_000)
    assert set(mounted(app)) == COMPONENTS["see"]
    assert app.session_state["masks-edit"] == ""


def test_a_link_for_another_sentence_says_both_sizes(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    rows, columns = own[CROSS].shape
    wrong = Edit(CROSS, None, np.ones((rows + 1, columns), dtype=np.bool_))
    app = open_masks(part="change", edit=link(wrong))
    assert re.search(rf"{rows + 1} × {columns}, .* {rows} × {columns}\.", said(app))


def test_a_link_for_a_layer_that_the_model_lacks_says_which_it_has(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray]
) -> None:
    app = open_masks(part="change", edit=link(Edit(DECODER, (7,), ~own[DECODER])))
    assert "for layer 7 of decoder attention, and this model has layers 0 to 2." in said(app)
    assert "editor" in mounted(app)


@pytest.mark.parametrize("kind", EDITABLE)
def test_a_link_opens_the_same_mask_again(
    open_masks: OpenMasks, own: dict[AttentionKind, BoolArray], kind: AttentionKind
) -> None:
    allowed = np.random.default_rng(5).random(own[kind].shape) < 0.7
    app = open_masks(part="change", masked=str(kind), edit=link(Edit(kind, None, allowed)))
    start = panel(app, "editor", 0)["start"]
    assert np.array_equal(start.reshape(allowed.shape), allowed)
    shown = {name: app.session_state[f"masks-{name}"] for name in ("masked", "layer", "head")}
    assert shown == {"masked": str(kind), "layer": 0, "head": 0}
