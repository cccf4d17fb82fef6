import json
import re
import shutil
from collections.abc import Sequence
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.explain.ablation_results import Effects
from model.explain.attributing import cross_attributions, self_attributions
from model.explain.attribution import METHODS
from model.record.intervention import Intervention
from model.survey.over_texts import effects
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp, component, tell_state
from tests.kit.shown import captions, charts, html, more, plain, query, said
from tests.kit.tiny_checkpoint import (
    PAIRS,
    write_tiny_alignment,
    write_tiny_removal,
    write_tiny_snapshots,
)
from viz.draw.word_diff import diff_html
from viz.effects.alignment_map import NO_ALIGNMENT, alignment_sentences
from viz.effects.effect_map import change_words
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.price import price
from viz.effects.ranking import MapRanking
from viz.effects.removal_curve import NO_CURVES
from viz.effects.self_maps import SelfMap

SENTENCE, TRANSLATION = PAIRS[0]
CROSS = Site(AttentionKind.CROSS, 1)


@pytest.fixture
def open_effects(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""
    return partial(open_app, page="effects", sentence=SENTENCE)


@pytest.fixture(scope="module")
def found(model: Translator) -> Effects:
    return effects(model, SENTENCE)


def title(app: AppTest, key: str) -> str:
    text: str = charts(app)[key]["layout"]["title"]["text"]
    return text


def alt(app: AppTest, key: str) -> str:
    """A figure in words."""
    (shown,) = [each.proto.alt for each in app.get("plotly_chart") if each.proto.id.endswith(key)]
    return str(shown)


def without(app: AppTest) -> tuple[str, str, str]:
    """The line on what comes of heads that are off: what is off, the translation then, a price."""
    (line,) = re.findall(
        r'<div class="change line">(.*?</div>(?:<span>.*?</span>)?)</div>', html(app)
    )
    parts = re.fullmatch(r"<span>(.*?)</span><div>(.*?)</div>(?:<span>(.*?)</span>)?", line)
    assert parts
    left = re.sub(r"<del.*?</del>", "", parts[2])
    name, text, price = (
        " ".join(unescape(re.sub("<[^>]*>", "", part or "")).split())
        for part in (parts[1], left, parts[3])
    )
    return name, text, price


def test_the_map_is_of_the_whole_translation_and_names_the_greatest_effects(
    open_effects: OpenApp, found: Effects
) -> None:
    app = open_effects()
    assert list(charts(app)) == ["effects-map"]
    assert alt(app, "effects-map").startswith("What the translation loses without each head.")
    # The tab says what the map shows.
    assert not title(app, "effects-map")
    assert "Orange heads matter" in captions(app)
    assert any("0.7 halves the probability" in plain(each.value) for each in app.markdown)
    site, head, _ = found.ranked()[0]
    assert f"layer {site.layer}, head {head}, the translation’s log-probability" in more(app)
    assert not said(app)
    assert "change" not in html(app).split()


def test_a_figure_is_saved_by_its_menu_alone(open_effects: OpenApp) -> None:
    buttons = {
        key: json.loads(each.proto.config)["modeBarButtons"] == [["zoom2d", "resetScale2d"]]
        for shown in ("probability", "removal")
        for app in [open_effects(show=shown)]
        for key, each in zip(charts(app), app.get("plotly_chart"), strict=True)
    }
    assert buttons == {"effects-map": True, "effects-removal": True}


def test_a_target_token_is_chosen_and_kept_in_the_address(
    open_effects: OpenApp, found: Effects
) -> None:
    app = open_effects()
    chosen = app.selectbox(key="effects-token").set_value(2).run()
    assert query(chosen, "token") == "2"
    token = found.predictions.tokens[1].removeprefix("▁")
    assert token in alt(chosen, "effects-map")
    again = open_effects(token="2")
    assert charts(again)["effects-map"] == charts(chosen)["effects-map"]


def test_a_token_that_the_translation_does_not_have_is_the_whole_translation(
    open_effects: OpenApp,
) -> None:
    app = open_effects(token="99")
    assert alt(app, "effects-map").startswith("What the translation loses without each head.")
    assert app.selectbox(key="effects-token").value == 0


@pytest.mark.parametrize("present", ["", "1"])
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"off": "cross.1.2"}, "Without Cross 1.2"),
        ({"off": "cross.1.2-encoder.0.1"}, "Without Cross 1.2 and Encoder 0.1"),
        ({"off": "cross.1.0-cross.1.1-cross.1.2"}, "Without 3 heads"),
        ({"off": "cross.1.2", "gate": "40"}, "Cross 1.2 at 40%"),
        ({"off": "cross.1.2", "way": "uniform"}, "Cross 1.2: look at all keys alike"),
    ],
)
def test_what_is_switched_off_is_named_beside_the_translation_without_it(
    open_effects: OpenApp, asked: dict[str, str], named: str, present: str
) -> None:
    name, _, price = without(open_effects(**asked, present=present))
    assert name == named
    # The foot of a stage says it.
    assert bool(price) is not bool(present)


@pytest.mark.parametrize(
    ("asked", "edit"),
    [({}, 0), ({"gate": "50"}, 0.5), ({"way": "uniform"}, "uniform"), ({"way": "first"}, "first")],
)
def test_without_heads_the_translation_is_marked_where_it_changes_and_has_its_price(
    open_effects: OpenApp, model: Translator, asked: dict[str, str], edit: Any
) -> None:
    app = open_effects(off="cross.1.0-cross.1.1-cross.1.2-cross.1.3", **asked)
    under = Intervention(heads={(CROSS, head): edit for head in range(4)})
    own, after = model.translate(SENTENCE), model.translate(SENTENCE, under=under)
    usual, left = (model.trace_of(own, under=each).log_probs for each in (Intervention(), under))
    assert usual is not None
    assert left is not None
    _, text, cost = without(app)
    assert (text, cost) == (after.text, f"the unchanged translation is {price(usual, left)}")
    assert diff_html(own.text, after.text) in html(app)
    # Behind More.
    assert f"to {float(left.sum()):.2f}".replace("-", "−") in more(app)
    assert len(app.multiselect(key="effects-heads-off").value) == 4
    assert bool(app.get("slider")) is (asked.get("way") is None)


def test_a_head_gives_its_mean_over_the_examples(
    open_effects: OpenApp, checkpoints: Path, tmp_path: Path, model: Translator
) -> None:
    folder = tmp_path / "checkpoints"
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    examples = [{"source": one, "translation": other, "shows": "."} for one, other in PAIRS[:3]]
    (folder / "en-de" / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    outputs = []
    for pair in PAIRS[:3]:
        seen = model.trace(*pair).maps[CROSS].head(2)
        assert seen.v is not None
        # (query, d_v)
        outputs.append(seen.weights @ seen.v)
    mean = np.concatenate(outputs).mean(axis=0)
    app = open_effects(folder=folder, off="cross.1.2", way="mean")
    under = Intervention(heads={(CROSS, 2): mean})
    own, after = model.translate(SENTENCE), model.translate(SENTENCE, under=under)
    assert without(app)[1] == after.text
    left = model.trace_of(own, under=under).log_probs
    assert left is not None
    assert f"to {float(left.sum()):.2f}".replace("-", "−") in more(app)


def test_without_examples_there_is_no_mean_and_the_page_says_so(open_effects: OpenApp) -> None:
    app = open_effects(off="cross.1.2", way="mean")
    assert "this model has none" in " ".join(each.value for each in app.info)
    assert 'class="change line"' not in html(app)
    assert list(charts(app)) == ["effects-map"]


def test_heads_are_switched_off_and_on_by_the_list_and_by_buttons(
    open_effects: OpenApp, found: Effects
) -> None:
    app = open_effects()
    app.multiselect(key="effects-heads-off").set_value(["cross.0.1", "encoder.1.2"]).run()
    assert query(app, "off") == "cross.0.1-encoder.1.2"
    assert 'class="change line"' in html(app)
    app.button(key="effects-off-none").click().run()
    assert query(app, "off") == ""
    assert 'class="change line"' not in html(app)
    assert app.button(key="effects-off-none").disabled
    app.button(key="effects-off-more").click().run()
    greatest = "-".join(f"{site}.{head}" for site, head, _ in found.ranked()[:4])
    assert query(app, "off") == greatest
    app.button(key="effects-off-more").click().run()
    assert query(app, "off").count("-") == 7
    assert query(app, "off").startswith(greatest)


def switches(app: AppTest) -> Any:
    """The crosses as the browser is told of them."""
    return json.loads(component(app, "effects-map-clicks").json)


def click(app: AppTest, *cells: Sequence[Any]) -> AppTest:
    """Does what the browser does when cells of the map are clicked before it is answered."""
    clicks = [[number, *cell] for number, cell in enumerate(cells, switches(app)["heard"] + 1)]
    return tell_state(app, "effects-map-clicks", {"clicks": clicks})


def crosses(app: AppTest) -> list[list[Any]]:
    return list(switches(app)["off"])


def test_a_click_on_a_head_switches_it_off_and_another_on_again(open_effects: OpenApp) -> None:
    app = open_effects(off="encoder.1.2")
    before = charts(app)
    click(app, ("cross", 0, 1))
    assert query(app, "off") == "encoder.1.2-cross.0.1"
    assert app.multiselect(key="effects-heads-off").value == ["encoder.1.2", "cross.0.1"]
    assert crosses(app) == [["encoder", 1, 2], ["cross", 0, 1]]
    click(app, ("encoder", 1, 2))
    assert query(app, "off") == "cross.0.1"
    click(app, ("cross", 0, 1))
    assert query(app, "off") == ""
    assert crosses(app) == []
    # Another figure would be drawn anew, and be another chart.
    assert charts(app) == before


def test_clicks_that_came_together_all_count_and_each_only_once(open_effects: OpenApp) -> None:
    app = open_effects()
    first, second, third = ("cross", 0, 1), ("encoder", 1, 2), ("decoder", 2, 3)
    click(app, first, second)
    assert query(app, "off") == "cross.0.1-encoder.1.2"
    assert switches(app)["heard"] == 2
    # The browser had not heard of the answer.
    tell_state(app, "effects-map-clicks", {"clicks": [[1, *first], [2, *second], [3, *third]]})
    assert query(app, "off") == "cross.0.1-encoder.1.2-decoder.2.3"


@pytest.mark.parametrize("cell", [("cross", -1, 0), ("<b>", 0, 0), ("cross", "0.1-cross.1", 2), ()])
def test_a_click_that_the_map_does_not_send_changes_nothing(
    open_effects: OpenApp, cell: tuple[Any, ...]
) -> None:
    app = click(open_effects(off="cross.1.2"), cell)
    assert query(app, "off") == "cross.1.2"
    assert not app.exception


def test_all_heads_off_leave_no_more_to_switch_off(
    open_effects: OpenApp, model: Translator
) -> None:
    every = "-".join(f"{site}.{head}" for site in model.sites for head in range(4))
    app = open_effects(off=every)
    assert app.button(key="effects-off-more").disabled
    price = more(app).partition("of the unchanged translation")[2]
    assert np.isfinite(float(price.split(" to −")[1].partition(":")[0].rstrip(".")))


def test_heads_that_the_model_does_not_have_are_named_and_left_out(open_effects: OpenApp) -> None:
    app = open_effects(off="cross.9.0-cross.1.0-cross.1.77")
    assert "This model has no cross head 9.0" in said(app)
    assert app.multiselect(key="effects-heads-off").value == ["cross.1.0"]


@pytest.mark.parametrize(
    "asked",
    [
        {"off": "cross.1"},
        {"off": "module.0.0"},
        {"off": "-cross.0.0"},
        {"off": "cross.0.0-"},
        {"off": "../.."},
        {"way": "none"},
        {"gate": "100"},
        {"token": "-1"},
        {"show": "red"},
    ],
)
def test_what_an_address_gets_wrong_is_said_and_the_page_is_shown(
    open_effects: OpenApp, asked: dict[str, str]
) -> None:
    app = open_effects(**asked)
    assert f"The address asks for {next(iter(asked))} " in said(app)
    assert list(charts(app)) == ["effects-map"]


def test_the_words_that_change_are_counted_on_demand(
    open_effects: OpenApp, model: Translator
) -> None:
    app = open_effects(show="words")
    assert list(charts(app)) == ["effects-words"]
    own = model.translate(SENTENCE).text
    different = sum(
        model.translate(SENTENCE, under=Intervention(heads={(site, head): 0})).text != own
        for site in model.sites
        for head in range(4)
    )
    assert f"{different} of the 32 heads" in captions(app)
    assert not [each for each in app.selectbox if each.key == "effects-token"]


def test_heads_are_removed_one_after_another_on_demand(
    open_effects: OpenApp, model: Translator
) -> None:
    target = PAIRS[1][1]
    app = open_effects(show="removal", target=target)
    assert list(charts(app)) == ["effects-removal"]
    every = {(site, head): 0 for site in model.sites for head in range(4)}
    none_left = model.trace(SENTENCE, target, under=Intervention(heads=every)).log_probs
    assert none_left is not None
    (alt,) = [each.proto.alt for each in app.get("plotly_chart")]
    assert f"to {float(none_left.sum()):.2f} without any".replace("-", "−") in alt
    assert NO_CURVES in " ".join(each.value for each in app.info)


def test_curves_over_the_examples_stand_below_those_of_the_sentence(
    open_effects: OpenApp, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    write_tiny_snapshots(folder / "en-de")
    write_tiny_removal(folder / "en-de")
    app = open_effects(folder=folder, show="removal")
    assert list(charts(app)) == ["effects-removal", "effects-log_prob", "effects-chrf"]
    on_stage = open_effects(folder=folder, show="removal", present="1", curve="chrf")
    assert title(on_stage, "stage-effects-removal") == "Examples: chrF"
    step, direction = on_stage.session_state["stage-cue.kept"].steps["ArrowRight"]
    assert (step.key, step.to(direction)) == ("effects-curve", "sentence")
    earlier = open_effects(folder=folder, show="removal", step="0")
    assert list(charts(earlier)) == ["effects-removal"]
    assert "last training step" in " ".join(each.value for each in earlier.info)
    (folder / "en-de" / "removal.json").write_text("{}", encoding="utf-8")
    damaged = open_effects(folder=folder, show="removal")
    assert list(charts(damaged)) == ["effects-removal"]
    assert "removal.json is damaged" in said(damaged)


def test_an_estimate_stands_beside_the_truth_and_all_are_ranked(
    open_effects: OpenApp, model: Translator, tmp_path: Path, checkpoints: Path
) -> None:
    folder = tmp_path / "checkpoints"
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    pairs = PAIRS[2:5]
    examples = [
        {"source": source, "translation": target, "shows": "A sentence."}
        for source, target in pairs
    ]
    (folder / "en-de" / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    app = open_effects(folder=folder, show="maps", method="norms", layer_head="1.2", token="1")
    assert list(charts(app)) == ["effects-maps", "effects-ranking"]
    found = cross_attributions(model, model.trace(SENTENCE))
    place = CROSS, 2
    alt = MapBesideTruth(found, SENTENCE, site=CROSS, head=2, method="norms").alt
    assert alt in [each.proto.alt for each in app.get("plotly_chart")]
    assert MapRanking(found, SENTENCE, site=CROSS, head=2, token=0).sentences[0] in more(app)
    assert not app.multiselect
    app.toggle(key="effects-examples").set_value(True).run()
    assert query(app, "examples") == "1"
    held = [cross_attributions(model, model.trace(*pair)) for pair in pairs]
    means = {
        method: np.mean([each.correlation(method, *place).mean for each in held])
        for method in METHODS
    }
    assert "Over 3 examples of this model" in more(app)
    assert f"rank correlation {max(means.values()):.2f} [" in more(app)


def test_a_method_stands_beside_the_weights_of_self_attention_which_nothing_ranks(
    open_effects: OpenApp, model: Translator
) -> None:
    app = open_effects(
        show="maps", mapped="encoder", layer_head="1.2", method="gradient_times_weight", token="2"
    )
    site = Site(AttentionKind.ENCODER, 1)
    found = self_attributions(model, SENTENCE, site, token=1)
    expected = SelfMap(found, SENTENCE, head=2, token=1, method="gradient_times_weight")
    assert list(charts(app)) == ["effects-self-maps"]
    assert [each.proto.alt for each in app.get("plotly_chart")] == [expected.alt]
    assert "both rows and columns are source tokens" in said(app)
    app.selectbox(key="effects-method").set_value("norms").run()
    assert title(app, "effects-self-maps").startswith("Norms of encoder self-attention, layer 1")
    # Of no target token, so none is offered.
    assert not [each for each in app.selectbox if each.key == "effects-token"]
    ranked = open_effects(show="maps", mapped="decoder", method="all", present="1")
    assert title(ranked, "stage-effects-maps").startswith("Weights of decoder self-attention")


def test_a_link_of_an_older_version_opens_the_same_view(open_effects: OpenApp) -> None:
    older = open_effects(colored="maps", whose="1.2", method="norms")
    newer = open_effects(show="maps", layer_head="1.2", method="norms")
    assert (query(older, "colored"), query(older, "whose")) == ("maps", "1.2")
    assert [each.proto.alt for each in older.get("plotly_chart")] == [
        each.proto.alt for each in newer.get("plotly_chart")
    ]
    # What a person changes then is written by the names of today.
    older.selectbox(key="effects-method").set_value("weights").run()
    assert (query(older, "show"), query(older, "layer_head")) == ("maps", "1.2")
    assert "colored" not in older.query_params


def test_a_part_of_the_model_that_there_is_not_is_the_whole_model(open_effects: OpenApp) -> None:
    app = open_effects(show="maps", layer_head="9.1")
    assert "This model has no cross-attention 9.1; shown: the whole model." in said(app)
    assert title(app, "effects-maps") == "Weights of the whole model, beside the truth"


def test_on_stage_keys_go_from_estimate_to_estimate_and_to_their_ranking(
    open_effects: OpenApp,
) -> None:
    app = open_effects(show="maps", present="1")
    assert title(app, "stage-effects-maps").startswith("Weights of the whole model")
    step, direction = app.session_state["stage-cue.kept"].steps["ArrowLeft"]
    assert (step.key, step.to(direction)) == ("effects-method", "all")
    ranked = open_effects(show="maps", present="1", method="all")
    assert title(ranked, "stage-effects-maps").startswith("Agreement with the truth")
    assert ranked.session_state["stage-cue.kept"].shown.startswith("Closest to the truth: ")


def test_alignment_errors_are_shown_where_the_checkpoint_keeps_them(
    open_effects: OpenApp, tmp_path: Path, checkpoints: Path
) -> None:
    without = open_effects(show="alignment")
    assert not charts(without)
    assert NO_ALIGNMENT in said(without)
    folder = tmp_path / "checkpoints"
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    table = write_tiny_alignment(folder / "en-de")
    app = open_effects(folder=folder, show="alignment")
    assert list(charts(app)) == ["effects-alignment"]
    for sentence in alignment_sentences(table):
        assert sentence in more(app)
    on_stage = open_effects(folder=folder, show="alignment", present="1")
    assert list(charts(on_stage)) == ["stage-effects-alignment"]
    assert (
        on_stage.session_state["stage-cue.kept"].shown == "Fewest errors: head 0.0, output row, 0%"
    )


def test_a_target_of_ones_own_is_what_is_measured(open_effects: OpenApp, model: Translator) -> None:
    target = PAIRS[1][1]
    app = open_effects(target=target, token="1")
    expected = effects(model, SENTENCE, target)
    token = expected.predictions.tokens[0].removeprefix("▁")
    assert f"“{token}”" in alt(app, "effects-map")
    probability = f"{float(np.exp(expected.log_probs[0])):.2g}"
    assert probability[:3] in more(app)


def test_on_stage_the_map_stands_alone_and_keys_go_through_the_tokens(
    open_effects: OpenApp, found: Effects
) -> None:
    app = open_effects(present="1")
    assert list(charts(app)) == ["stage-effects-effects"]
    assert not app.multiselect
    cue = app.session_state["stage-cue.kept"]
    assert cue.shown == "Effect of each head on: the whole translation"
    step, direction = cue.steps["ArrowDown"]
    assert (step.key, step.to(direction)) == ("effects-token", 1)
    assert len(step.options) == len(found.predictions) + 1
    without = open_effects(present="1", off="cross.1.0")
    assert 'class="change line"' in html(without)
    # What the head does stands there, also where both translations read alike.
    alone = found.losses[Site(AttentionKind.CROSS, 1)][0]
    cost = price(found.log_probs, found.log_probs - alone)
    expected = f"Without Cross 1.0, the unchanged translation is {cost}."
    assert without.session_state["stage-cue.kept"].shown == expected
    word = open_effects(present="1", off="cross.1.0", token="1")
    token = found.predictions.tokens[0].removeprefix("▁")
    changed = change_words(float(found.log_probs[0]), float(alone[0]))
    assert word.session_state["stage-cue.kept"].shown == f"Without Cross 1.0, “{token}” {changed}."
    # Where the window is wide enough, cells have their numbers.
    tell_state(without, "width", {"abreast": 2})
    texts = [
        each
        for each in charts(without)["stage-effects-effects"]["data"]
        if each["type"] == "scatter"
    ]
    assert any("." in text for each in texts for text in each.get("text", ()))


def test_on_stage_the_map_of_words_stands_alone(open_effects: OpenApp) -> None:
    app = open_effects(present="1", show="words")
    assert title(app, "stage-effects-effects-words") == "How many words each head changes"
    cue = app.session_state["stage-cue.kept"]
    assert cue.shown in captions(open_effects(show="words"))
    # It is of no token.
    assert cue.steps.keys() == {"ArrowLeft", "ArrowRight"}


def test_each_snapshot_of_a_model_has_effects_of_its_own(
    open_effects: OpenApp, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    write_tiny_snapshots(folder / "en-de")
    first, last = (open_effects(folder=folder, step=step) for step in ("0", "1120"))
    assert charts(first)["effects-map"]["data"] != charts(last)["effects-map"]["data"]
