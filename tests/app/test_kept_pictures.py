"""Every picture that can be saved: its Python makes the same figure, its numbers are exact."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.intervention import Intervention, PositionEdit
from model.mask_presets import PRESETS
from model.trace import AttentionKind, Site, Trace
from viz.heads import pictures as heads_kept
from viz.heads.measures import head_facts
from viz.heads.reading import Reading, read
from viz.masks import mask as masks
from viz.masks import panels as mask_panels
from viz.masks import pictures as masks_kept
from viz.masks import steps
from viz.masks.edits import Edit, intervention
from viz.masks.mask import Mask, batch_masks
from viz.masks.page_chosen import Chosen
from viz.positions import pictures as positions_kept
from viz.positions.encoding import formula_table
from viz.positions.terms import neighbour_heads
from viz.save import cells
from viz.shell import save_menu as keep
from viz.shell import session
from viz.shell.save_menu import Look, Picture
from viz.shell.session import Question

SENTENCE = "The cat sat on the mat."
FURTHER = "A dog '); sleeps.\\"
AS_RECORDED = Reading()
LOOKS = [Look(), Look(narrow=True, dark=True), Look(slide=True)]

CROSS, DECODER, ENCODER = AttentionKind.CROSS, AttentionKind.DECODER, AttentionKind.ENCODER


@pytest.fixture(scope="module")
def question(checkpoints: Path) -> Question:
    return Question(checkpoints / "en-de", SENTENCE, "")


@pytest.fixture(scope="module")
def trace(question: Question) -> Trace:
    return session.trace(question.checkpoint, SENTENCE)


@pytest.fixture(scope="module")
def shown(question: Question, trace: Trace) -> Callable[..., heads_kept.Shown]:
    def show(
        reading: Reading = AS_RECORDED, sites: tuple[Site, ...] = (Site(CROSS, 1),), **selected: str
    ) -> heads_kept.Shown:
        seen = read(trace, reading)
        facts = {site: head_facts(each) for site, each in seen.maps.items()}
        selection = {"attention": str(sites[0].kind), "layer": "1", "head": "2", "compare": ""}
        selection["view"] = "heatmap"
        return heads_kept.Shown(
            question, reading, seen, facts, {}, sites, 2, {**selection, **selected}
        )

    return show


def chosen(question: Question, kind: AttentionKind = DECODER, target: str = "") -> Chosen:
    asked = Question(question.checkpoint, SENTENCE, target, further=(FURTHER,))
    return Chosen(asked, session.batch(asked), kind, 1, 2)


def made(picture: Picture, look: Look, question: Question) -> Any:
    """What the Python of a picture makes."""
    assert picture.cell is not None
    model = keep.model_of(question) if picture.needs_model else {}
    *lines, last = cells.code(picture.cell(look), **model).strip().splitlines()
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    return eval(last, space)


def require_same(picture: Picture, question: Question, looks: list[Look] = LOOKS) -> None:
    assert picture.figure is not None
    for look in looks:
        assert made(picture, look, question).to_json() == picture.figure(look).to_json()
    require_files(picture)


def require_files(picture: Picture) -> None:
    assert picture.numbers is not None
    numbers = picture.numbers()
    assert numbers.size
    assert numbers.encode("csv").count(b"\n") > 1
    assert set(json.loads(numbers.encode("json"))["arrays"]) == set(numbers.arrays)
    with np.load(io.BytesIO(numbers.encode("npz")), allow_pickle=False) as arrays:
        for name, (_, values) in numbers.arrays.items():
            np.testing.assert_array_equal(arrays[name], values)


def values(picture: Picture, name: str) -> Any:
    assert picture.numbers is not None
    return picture.numbers().arrays[name][1]


# ---- heads


def test_a_head_and_every_head_come_back_as_they_are_read(
    shown: Callable[..., heads_kept.Shown], question: Question
) -> None:
    for reading in (Reading(), Reading(words=True, specials=False, predicted=True)):
        now = shown(reading)
        head, every, view = heads_kept.pictures(now)
        require_same(head, question)
        require_same(every, question, LOOKS[:2])
        found = now.seen.maps[Site(CROSS, 1)]
        np.testing.assert_array_equal(values(head, "weight"), found.weights[2])
        np.testing.assert_array_equal(values(every, "weight")[1], found.weights)
        assert (view.formats, view.page is None) == (["html"], False)
        assert head.texts == ({"reading": " ".join(now.seen.notes)} if now.seen.notes else {})


def test_a_head_that_is_shown_as_lines_is_saved_as_lines_first(
    shown: Callable[..., heads_kept.Shown], question: Question, trace: Trace
) -> None:
    first, second, *_ = heads_kept.pictures(shown(Reading(predicted=True), view="lines"))
    assert (first.name, second.name) == ("cross-layer1-head2-lines", "cross-layer1-head2")
    require_same(first, question, LOOKS[:2])
    weights = trace.attention("cross", 1).weights[2]
    np.testing.assert_array_equal(values(first, "weight"), weights)


def test_compared_heads_stand_side_by_side(
    shown: Callable[..., heads_kept.Shown], question: Question, trace: Trace
) -> None:
    picture, *_ = heads_kept.pictures(shown(compare="1.2-0.3-2.0"))
    require_same(picture, question)
    for layer, head in ((1, 2), (0, 3), (2, 0)):
        weights = trace.attention("cross", layer).weights[head]
        np.testing.assert_array_equal(values(picture, f"layer_{layer}_head_{head}"), weights)


@pytest.mark.parametrize("compare", ["", "1.2", "0.3-2.0", "1.2-9.9"])
def test_what_the_explorer_does_not_compare_is_not_offered(
    shown: Callable[..., heads_kept.Shown], compare: str
) -> None:
    assert [each.name for each in heads_kept.pictures(shown(compare=compare))] == [
        "cross-layer1-head2",
        "cross-every-head",
        "heads",
    ]


def test_all_three_kinds_come_back_in_one_square(
    shown: Callable[..., heads_kept.Shown], question: Question, trace: Trace
) -> None:
    sites = (Site(ENCODER, 1), Site(CROSS, 1), Site(DECODER, 1))
    now = shown(sites=sites, attention="joint")
    picture, *single = heads_kept.pictures(now)
    require_same(picture, question, LOOKS[:2])
    assert picture.figure is not None
    drawn = picture.figure(Look()).data[0].z
    n = len(trace.source)
    np.testing.assert_array_equal(drawn[:n, :n], trace.attention("encoder", 1).weights[2])
    np.testing.assert_array_equal(drawn[n:, :n], trace.attention("cross", 1).weights[2])
    np.testing.assert_array_equal(drawn[n:, n:], trace.attention("decoder", 1).weights[2])
    for site in sites:
        seen = trace.maps[site]
        np.testing.assert_array_equal(values(picture, f"{site.kind}_weight"), seen.weights[2])
    assert [each.name for each in single[:3]] == [f"{site.kind}-layer1-head2" for site in sites]


def test_a_layer_that_the_encoder_lacks_leaves_its_part_of_the_square_empty(
    shown: Callable[..., heads_kept.Shown], question: Question
) -> None:
    sites = (Site(CROSS, 2), Site(DECODER, 2))
    picture, *_ = heads_kept.pictures(shown(sites=sites, attention="joint"))
    require_same(picture, question, LOOKS[:1])


def test_one_weight_from_the_inside_comes_back(
    shown: Callable[..., heads_kept.Shown], question: Question, trace: Trace
) -> None:
    picture = heads_kept.query_key(shown(), Site(CROSS, 1), 3, 1)
    require_same(picture, question, LOOKS[:2])
    weights = trace.attention("cross", 1).weights[2, 3]
    np.testing.assert_array_equal(values(picture, "weight"), weights)


def test_the_measures_of_heads_are_saved_as_numbers_alone(
    shown: Callable[..., heads_kept.Shown],
) -> None:
    now = shown()
    picture = heads_kept.measures(now)
    assert picture.formats == ["csv", "json", "npz"]
    require_files(picture)
    entropy = values(picture, "entropy")
    np.testing.assert_array_equal(entropy[2], now.facts[Site(CROSS, 2)]["entropy"])
    every = heads_kept.measures(shown(sites=(Site(ENCODER, 1), Site(CROSS, 1))))
    assert values(every, "encoder_entropy").shape == (2, 4)
    assert values(every, "cross_entropy").shape == (3, 4)


# ---- masks


def test_the_masks_of_a_batch_come_back(question: Question) -> None:
    now = chosen(question, target="Die Katze.")
    require_same(masks_kept.factors(now), question)
    require_same(masks_kept.others(now), question)
    np.testing.assert_array_equal(
        values(masks_kept.factors(now), "decoder_allowed"), now.own.allowed
    )
    grid = masks_kept.grid(now)
    require_files(grid)
    assert values(grid, "source_is_padding").shape == values(grid, "source_token").shape
    assert masks_kept.texts(now) == {
        "batch": f"{SENTENCE}\n{FURTHER}",
        "number_in_batch": "1",
    }


@pytest.mark.parametrize("hatched", [True, False])
def test_the_stages_of_a_head_come_back(question: Question, hatched: bool) -> None:
    now = chosen(question)
    with_mask = steps.stages(now.seen, now.head)
    everything = np.ones_like(with_mask.allowed)
    one = with_mask if hatched else steps.stages(now.seen, now.head, everything)
    picture = masks_kept.stages(now, one, limit=2.5, longest=1.25, hatched=hatched)
    require_same(picture, question)
    assert now.seen.scores is not None
    np.testing.assert_array_equal(values(picture, "score"), now.seen.scores[2])
    masked = values(picture, "masked_score")
    np.testing.assert_array_equal(np.isnan(masked), ~one.allowed)
    lesson = steps.fill_lesson(one.scores[0], np.zeros(len(now.seen.keys), dtype=np.bool_))
    require_files(masks_kept.lesson(now, lesson))


def slot(now: Chosen, name: str) -> Mask:
    """A mask by its name in the address, as the page makes it."""
    start, _, rest = name.partition(".")
    if start == "preset":
        preset = PRESETS[rest]
        allowed = preset(len(now.own.queries), len(now.own.keys), width=2).numpy()
        return masks.preset_mask(
            preset.title,
            allowed,
            now.own.queries,
            now.own.keys,
            kind=now.kind,
            reason=preset.reason,
            causal=preset.causal,
        )
    if start == "edited":
        return masks.edited_mask(now.masks[rest], closed(now))
    return batch_masks(now.batch.padded, int(start) - 1)[rest]


def closed(now: Chosen) -> Any:
    """The own mask with one cell more forbidden and a row without any key."""
    allowed = now.own.allowed.copy()
    allowed[3, 1] = False
    allowed[2] = False
    return allowed


@pytest.mark.parametrize(
    "names", [("1.decoder", "preset.window"), ("edited.decoder", "2.decoder"), ("1.causal",) * 2]
)
def test_compared_masks_and_what_they_do_come_back(
    question: Question, names: tuple[str, str]
) -> None:
    now = chosen(question)
    both = slot(now, names[0]), slot(now, names[1])
    titles = "A: “one”", "B: other\\"
    require_same(masks_kept.compared(now, both, names, titles), question)
    one, other = (
        session.run(now.question, Intervention(masks={now.kind: mask.allowed})) for mask in both
    )
    maps = one.forced.attention(now.kind, 1), other.forced.attention(now.kind, 1)
    weights = masks_kept.compared_weights(now, both, names, titles, maps)
    require_same(weights, question, LOOKS[:1])
    np.testing.assert_array_equal(values(weights, "weight_under_b"), maps[1].weights[2])
    lengths = now.batch.n_source[0], now.batch.n_target[0]
    panel = mask_panels.moved_panel(mask_panels.moved_heads(one.forced, other.forced, lengths))
    require_same(masks_kept.moved(now, both, names, titles, panel), question, LOOKS[:1])
    probable = masks_kept.compared_log_probs(now, both, names, titles, one, other)
    require_same(probable, question, LOOKS[:2])
    n_target = now.batch.n_target[0]
    assert one.forced.log_probs is not None
    np.testing.assert_array_equal(
        values(probable, "log_probability_a"), one.forced.log_probs[:n_target]
    )
    assert probable.texts["mask_a"] == titles[0]


def test_masks_of_different_sizes_are_drawn_without_a_difference(question: Question) -> None:
    now = chosen(question)
    names = ("1.decoder", "1.encoder")
    both = slot(now, names[0]), slot(now, names[1])
    picture = masks_kept.compared(now, both, names, ("A", "B"))
    require_same(picture, question, LOOKS[:1])
    assert values(picture, "b_allowed").shape == both[1].cells.shape


@pytest.mark.parametrize("layers", [None, (1,)])
def test_a_painted_mask_and_what_it_does_come_back(
    question: Question, layers: tuple[int, ...] | None
) -> None:
    now = chosen(question)
    edits = (Edit(now.kind, layers, closed(now)),)
    before, after = session.run(now.question), session.run(now.question, intervention(edits))
    maps = tuple(each.forced.attention(now.kind, 1) for each in (before, after))
    picture = masks_kept.edited(now, closed(now), edits, maps)
    require_same(picture, question, LOOKS[:1])
    np.testing.assert_array_equal(values(picture, "weight_after"), maps[1].weights[2])
    np.testing.assert_array_equal(values(picture, "allowed_after"), closed(now))
    require_same(masks_kept.edited_log_probs(now, edits, before, after), question, LOOKS[:1])
    assert picture.texts["edited"] == str(edits[0])
    assert picture.texts["edit"].startswith("decoder:")
    untouched = masks_kept.edited(now, now.own.allowed, (), (maps[0], maps[0]))
    require_same(untouched, question, LOOKS[:1])
    assert untouched.texts["edited"] == "none"


def test_the_panels_of_a_page_and_of_its_figure_are_the_same(question: Question) -> None:
    every = chosen(question).masks
    titles = [each.title for each in mask_panels.other_panels(every)]
    assert titles == ["Encoder", "Cross-attention", "Source padding", "Target padding"]


# ---- positions


def test_every_picture_of_positions_comes_back(question: Question, trace: Trace) -> None:
    model = session.translator(question.checkpoint)
    table = model.position_table()
    short = model.position_table(len(trace.source))
    base = 10000.0
    pictures = [
        positions_kept.table(short, SENTENCE, trace.source),
        positions_kept.table(table),
        positions_kept.waves(table, (0, 3), base),
        positions_kept.waves(table, (2, 3), base, 4),
        positions_kept.circle(table, 1, 4, base),
        positions_kept.likeness(table, True),
        positions_kept.likeness(table, False),
        positions_kept.offsets(table, False),
        positions_kept.parts(model.embedding_parts(SENTENCE), SENTENCE),
        positions_kept.shares(session.term_shares(question.checkpoint, SENTENCE), SENTENCE),
        positions_kept.formula(formula_table(8, 20, 50.0), 50.0),
        positions_kept.formula_waves(formula_table(8, 20, 50.0), (0, 4), 50.0),
    ]
    for picture in pictures:
        require_same(picture, question, LOOKS[:2])
    np.testing.assert_array_equal(values(pictures[0], "value"), short)


@pytest.mark.parametrize(
    "edit", [PositionEdit(), PositionEdit(scale=0.5, shift=-2, side="encoder")]
)
def test_heads_of_neighbours_come_back(question: Question, edit: PositionEdit) -> None:
    before = session.run(question)
    after = session.run(question, Intervention(positions=edit))
    heads = neighbour_heads(before.forced, after.forced)
    picture = positions_kept.neighbours(heads, SENTENCE, edit)
    require_same(picture, question, LOOKS[:2])
    assert values(picture, "share_after").tolist() == [each.after for each in heads]
    assert picture.texts["edit"] == ("none" if edit.at_rest else repr(edit))


def test_shuffled_words_come_back(question: Question, trace: Trace) -> None:
    model = session.translator(question.checkpoint)
    n_words = len(trace.source) - 1
    order = (*range(1, n_words), 0)
    place = [*order, n_words]
    distances = {}
    for name, scale in (("with positions", 1), ("without positions", 0)):
        edit = PositionEdit(scale=scale)
        before = model.encode(SENTENCE, under=Intervention(positions=edit))
        after = model.encode(SENTENCE, under=Intervention(positions=edit, source_order=order))
        distances[name] = np.linalg.norm(after - before[place], axis=-1)
    tokens = type(trace.source)(
        tuple(trace.source.tokens[each] for each in place),
        tuple(trace.source.ids[each] for each in place),
    )
    picture = positions_kept.distances(tokens, distances, SENTENCE, order)
    require_same(picture, question, LOOKS[:2])
    assert values(picture, "distance_with_positions") is distances["with positions"]


# ---- what goes with them


def test_names_of_files_hold_nothing_of_the_sentence(
    shown: Callable[..., heads_kept.Shown], question: Question
) -> None:
    names = [each.name for each in heads_kept.pictures(shown())]
    names += [masks_kept.factors(chosen(question)).name, masks_kept.grid(chosen(question)).name]
    for name in names:
        assert name.replace("-", "").isalnum(), name
        assert name.isascii(), name


def test_numbers_say_of_which_model_sentence_and_target_they_are(tmp_path: Path) -> None:
    asked = Question(tmp_path / "en-de", "A dog.", "Ein Hund.")
    assert keep.texts_of(asked) == {
        "sentence": "A dog.",
        "checkpoint": "en-de",
        "target": "Ein Hund.",
    }
    step = Question(tmp_path / "en-de" / "snapshots" / "step-10.safetensors", "A dog.", "", 3)
    assert keep.model_of(step) == {"checkpoint": str(tmp_path / "en-de"), "snapshot": 3}
    assert "snapshot=3)" in cells.code(["1"], **keep.model_of(step))


def test_a_shipped_model_is_named_as_a_notebook_in_this_folder_finds_it() -> None:
    root = Path(keep.__file__).parents[2]
    shipped = Question(root / "checkpoints" / "en-de", SENTENCE, "")
    assert keep.model_of(shipped) == {"checkpoint": "checkpoints/en-de", "snapshot": None}
