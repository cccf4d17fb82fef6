from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CheckpointError
from model.explain.growth import GROWN, Growth, growth_of
from model.explain.growth_file import FILE, read_growth, write_growth
from model.explain.labels import Label
from model.trace.attention_map import AttentionKind, Site
from model.training.growth import card_with
from tests.kit.pictures import require_same, values
from viz.heads.training_curves import HeadGrowth
from viz.save.picture import Layout

ENCODER, CROSS = Site(AttentionKind.ENCODER, 0), Site(AttentionKind.CROSS, 1)
STEPS = (0, 1, 10, 100)
BACK, NEXT = GROWN["previous"].text, GROWN["next"].text


def head(**means: float) -> dict[str, Any]:
    """What a head does in five sentences alike."""
    return {key: np.full(5, mean) for key, mean in means.items()}


EARNED = {ENCODER: (Label(BACK, ""), Label("often the next token", "", earned=False))}


@pytest.fixture
def growth() -> Growth:
    """The first head of the encoder comes to look back, loses it and comes back to it."""
    back = [0.1, 0.7, 0.4, 0.8]
    return growth_of(
        {
            step: {
                ENCODER: (
                    head(previous=value, next=0.1),
                    head(previous=0.2, next=0.3),
                ),
                CROSS: ({"read_source": np.zeros(4)}, head(read_source=-0.05)),
            }
            for step, value in zip(STEPS, back, strict=True)
        }
    )


def test_curves_are_the_means_over_the_examples_at_each_step(growth: Growth) -> None:
    assert growth.steps == STEPS
    np.testing.assert_array_equal(
        growth.means["previous"][ENCODER], np.float32([[0.1, 0.7, 0.4, 0.8], [0.2] * 4])
    )
    assert growth.measures(AttentionKind.ENCODER) == ("previous", "next")
    assert growth.measures(AttentionKind.CROSS) == ("read_source",)
    assert growth.measures(AttentionKind.DECODER) == ()
    assert np.isnan(growth.means["read_source"][CROSS][0]).all()


def test_a_label_is_kept_since_the_step_from_which_it_never_went(growth: Growth) -> None:
    assert growth.labels[ENCODER] == [[None, BACK, None, BACK], [None] * 4]
    assert list(growth.lasting_labels()) == [(ENCODER, 0, BACK, 100)]


def test_a_label_of_the_examples_that_is_not_earned_on_new_sentences_goes(growth: Growth) -> None:
    assert list(growth.with_labels(EARNED).lasting_labels()) == [(ENCODER, 0, BACK, 100)]
    assert growth.with_labels(EARNED).labels[ENCODER] == growth.labels[ENCODER]
    other = {ENCODER: (Label(NEXT, ""), None)}
    assert not list(growth.with_labels(other).lasting_labels())
    below = {ENCODER: (Label(BACK, "", earned=False), None)}
    assert not list(growth.with_labels(below).lasting_labels())


def test_a_head_is_shown_by_what_it_does_most_in_the_end(growth: Growth) -> None:
    assert growth.most(ENCODER, 0) == "previous"
    assert growth.most(ENCODER, 1) == "next"
    assert growth.most(CROSS, 1) == "read_source"
    assert growth.most(Site(AttentionKind.DECODER, 0), 0) is None


def test_the_file_holds_them_to_three_digits(growth: Growth, tmp_path: Path) -> None:
    assert read_growth(tmp_path) is None
    write_growth(tmp_path, growth)
    found = read_growth(tmp_path)
    assert found is not None
    assert found.steps == growth.steps
    assert Growth.from_json(growth.to_json()).labels == growth.labels
    # Without labels.json, nothing is known of new sentences.
    assert not list(found.lasting_labels())
    for key, sites in growth.means.items():
        for site, curves in sites.items():
            if np.isfinite(curves).any():
                np.testing.assert_allclose(found.means[key][site], curves, atol=5e-4)
            else:
                assert site not in found.means[key]


DAMAGED: list[dict[str, Any]] = [
    {},
    {"steps": []},
    {"steps": [0, 1, 1, 2]},
    {"steps": [0, 1, 2]},
    {"steps": [-1, 0, 1, 2]},
    {"steps": [0, 1.5, 2, 3]},
    {"texts": []},
    {"texts": [1] * 20},
    {"labels": {"encoder.0": [[0, 0, 0, 0]]}},
    {"labels": {"nonsense": [[0, 0, 0, 0]]}},
    {"labels": []},
    {"means": {}},
    {"means": {key: {"encoder.0": [[9, 9, 9, 9]] * 2} for key in GROWN}},
    {"means": {key: {"encoder.0": [[0, 0, 0]] * 2} for key in GROWN}},
    {"means": {key: {"decoder.0": [[0, 0, 0, 0]] * 2} for key in GROWN}},
    {"means": {key: {"encoder.0": [["a"] * 4] * 2} for key in GROWN}},
]


@pytest.mark.parametrize("change", DAMAGED, ids=str)
def test_a_damaged_file_is_refused_in_a_sentence(
    growth: Growth, tmp_path: Path, change: dict[str, Any]
) -> None:
    (tmp_path / FILE).write_text(json.dumps(change and growth.to_json() | change))
    with pytest.raises(CheckpointError, match=r"is damaged: .*\. Delete it"):
        read_growth(tmp_path)


def curves(
    growth: Growth, measure: str = "previous", site: Site = ENCODER, head: int | None = None
) -> HeadGrowth:
    return HeadGrowth(growth, measure, site, head, "")


def test_the_head_that_is_shown_stands_out_and_so_do_those_with_the_label(growth: Growth) -> None:
    figure = curves(growth, head=1).figure(Layout())
    back, shown, *_ = figure.data
    assert (back.name, shown.name) == ("layer 0, head 0", "layer 0, head 1")
    assert shown.line.width > back.line.width > 1
    # Step 0 has no logarithm.
    assert back.x == (0.5, 1, 10, 100)
    assert back.customdata == STEPS
    assert figure.layout.xaxis.ticktext == ("0", "1", "2", "5", "10", "20", "50", "100")
    assert figure.layout.shapes[0].y0 == GROWN["previous"].least
    crossing = curves(growth, "read_source", CROSS).figure(Layout())
    assert crossing.layout.yaxis.range[0] < 0


@pytest.mark.parametrize(
    ("measure", "chosen", "named"),
    [
        ("previous", 0, ["the head that is shown", "other heads"]),
        ("previous", 1, ["the head that is shown", "heads with the label at some step"]),
        ("previous", None, ["heads with the label at some step", "other heads"]),
        ("next", None, ["other heads"]),
    ],
)
def test_the_legend_names_the_lines_that_are_drawn_and_no_other(
    growth: Growth, measure: str, chosen: int | None, named: list[str]
) -> None:
    figure = curves(growth, measure, head=chosen).figure(Layout())
    lines = [line for line in figure.data if line.x != (None,)]
    legend = [line for line in figure.data if line.x == (None,)]
    assert [line.name for line in legend] == [*named, "needed for the label"]
    assert {line.line.color for line in legend[:-1]} == {line.line.color for line in lines}


def test_the_axis_begins_where_the_measure_does_and_the_caption_says_so(growth: Growth) -> None:
    means = {
        key: {site: curves.copy() for site, curves in sites.items()}
        for key, sites in growth.means.items()
    }
    means["previous"][ENCODER][:, :2] = np.nan
    late = replace(growth, means=means)
    figure = curves(late).figure(Layout())
    assert figure.data[0].x == figure.data[0].customdata == (10, 100)
    assert figure.layout.xaxis.range == pytest.approx([0.99, 2.01])
    assert figure.layout.xaxis.ticktext == ("10", "20", "50", "100")
    for said in (curves(late).caption, curves(late).alt):
        assert "step 10" in said
        assert "untrained" not in said
    assert "cannot be measured" in curves(late).more
    assert "from the untrained model to step 100" in curves(growth).caption


def test_words_say_what_emerged_and_since_when(growth: Growth) -> None:
    kept = f"One head ends up with the label “{BACK}”: layer 0, head 0, from step 100 on."
    assert kept in curves(growth).more
    alt = curves(growth).alt
    assert kept in alt
    assert "10% to 20% at step 0, 20% to 80% at step 100" in alt
    assert re.search(f"No head .* “{NEXT}”", curves(growth, "next").more)


def test_the_picture_is_made_by_its_python_and_kept_with_its_numbers(
    growth: Growth, tmp_path: Path
) -> None:
    write_growth(tmp_path, growth)
    kept = read_growth(tmp_path)
    assert kept is not None
    picture = HeadGrowth(kept, "previous", ENCODER, 1, str(tmp_path))
    require_same(picture, tmp_path)
    assert values(picture, "previous").shape == (1, 2, 4)


def test_a_card_names_the_moments_once(growth: Growth) -> None:
    card = "# Model\n\n## How it learned\n\nSo.\n\n## Scores\n\nGood.\n"
    told = card_with(card, growth)
    assert f"| Encoder self-attention, layer 0, head 0 | {BACK} | 100 |" in told
    assert told.index("How it learned") < told.index("When heads emerged") < told.index("Scores")
    assert card_with(told, growth) == told
    assert "No head ends up" in card_with(told, replace(growth, labels={}))
