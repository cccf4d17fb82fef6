import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import save_checkpoint
from model.explain.facts import head_facts
from model.explain.head_numbers import written
from model.explain.label_rules import RULES
from model.explain.labels import opening_heads
from model.explain.labels_file import save_labels
from model.explain.measures import MEASURES
from model.explain.reading import AS_RECORDED, Reading, read
from model.paper.config import TransformerConfig
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.record.intervention import Intervention
from model.survey.over_texts import effects
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit import apptest
from tests.kit.apptest import deliver, go_to, tell_state
from tests.kit.labels import tiny_survey
from tests.kit.readings import cell_of
from tests.kit.shown import captions, html, said, warnings
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.trace_payload import Decoded
from viz.browser.head_sentences import head_words
from viz.draw.labels import axis_texts
from viz.effects.price import price
from viz.registry.pages import DEFAULT_SENTENCE
from viz.service import session
from viz.service.questions import ModelQuestion

OpenApp = Callable[..., AppTest]

CROSS, ENCODER, DECODER = AttentionKind.CROSS, AttentionKind.ENCODER, AttentionKind.DECODER
LAYERS, HEADS = {ENCODER: 2, DECODER: 3, CROSS: 3}, 4
PLAIN = {
    **{"attention": "cross", "view": "heatmap", "cell": "", "range": ""},
    **{"compare": "", "order": "", "faint": "0", "only": "", "words": "0", "specials": "1"},
    **{"off": "", "renormalise": "0", "predicted": "0", "width": "wide"},
}
"""What the heads view tells as the page opens, beside layer and head, which depend on the model."""


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    """What the heads did on the sentence that the app opens with."""
    return load(checkpoints / "en-de", device="cpu").trace(DEFAULT_SENTENCE)


def component(app: AppTest) -> Any:
    """The heads view’s message to the browser, or None where it does not show."""
    found = [each.proto for each in app.get("bidi_component") if each.key == "heads-space"]
    return found[0] if found else None


def sent(app: AppTest) -> Decoded:
    return Decoded(component(app).bytes)


def told(app: AppTest) -> dict[str, str]:
    """What the browser is told to select."""
    selection: dict[str, str] = sent(app).header["selection"]
    return selection


def selected(app: AppTest) -> tuple[str, int, int]:
    return tuple(app.session_state[f"heads-{name}"] for name in ("attention", "layer", "head"))


def select(app: AppTest, **changes: str) -> AppTest:
    """Does what the browser does when something is selected in the heads view."""
    at = {name: str(app.session_state[f"heads-{name}"]) for name in ("layer", "head")}
    epoch = {"epoch": sent(app).header["epoch"]}
    return tell_state(app, "heads-space", {"rested": PLAIN | at | epoch | changes})


def opening(trace: Trace, kind: AttentionKind = CROSS) -> tuple[int, int]:
    """The head whose rows tell most about the token they look at, by the definition."""
    told = {}
    for site, seen in trace.maps.items():
        if site.kind is kind:
            for head, weights in enumerate(seen.weights.astype(np.float64)):
                mean = weights.mean(axis=0)
                ratio = np.log2(np.where(weights > 0, weights, 1) / np.where(mean > 0, mean, 1))
                told[site.layer, head] = float((weights * ratio).sum(axis=1).mean())
    return max(told, key=told.__getitem__)


def with_place(place: tuple[int, int]) -> dict[str, str]:
    """What the browser is told as the page opens, with this layer and head."""
    plain = {name: value for name, value in PLAIN.items() if name != "width"}
    return plain | {"layer": str(place[0]), "head": str(place[1])}


def click_row(app: AppTest, row: int) -> AppTest:
    """Does what the browser does when the box of a table's row is clicked."""
    state = json.dumps({"selection": {"rows": [row], "columns": [], "cells": []}})
    return deliver(app, WidgetState(id=table(app).proto.id, string_value=state))


def table(app: AppTest) -> Any:
    return app.dataframe[0]


def facts_of(app: AppTest) -> list[tuple[str, dict[str, str]]]:
    """Each list of facts: its heading, and what it says."""
    lists = re.findall(r"<h3>(.*?)</h3>.*?class=\"facts\">(.*?)(?=<style>|$)", html(app), re.DOTALL)
    found = []
    for heading, body in lists:
        # Names and values take turns; what a name means is folded below it.
        shown = re.split("<[^>]*>", re.sub("<small>.*?</small>", "", body))
        texts = [text for text in shown if text.strip()]
        found.append((heading, dict(zip(texts[::2], texts[1::2], strict=True))))
    return found


def charts(app: AppTest) -> list[Any]:
    return [chart.proto for chart in app.get("plotly_chart")]


def retype(app: AppTest, text: str) -> AppTest:
    return app.text_input(key="sentence").set_value(text).run()


def done(app: AppTest) -> str:
    found = re.search(r'data-done="(.*?)"', html(app))
    assert found is not None
    return found[1]


# ---- what is sent ------------------------------------------------------------------------------


def test_the_browser_gets_every_head_of_every_layer(open_app: OpenApp, trace: Trace) -> None:
    found = sent(open_app())
    for site, seen in trace.maps.items():
        assert found.shape(site.kind)[:2] == (LAYERS[site.kind], HEADS)
        assert np.allclose(found.weights(site.kind)[site.layer], seen.weights, atol=1e-5)
        assert found.axis(site.kind, "queries") == axis_texts(seen.queries)


def test_the_page_opens_with_cross_attention_and_the_address_stays_empty(
    open_app: OpenApp, trace: Trace
) -> None:
    app = open_app()
    layer, head = opening(trace)
    assert selected(app) == ("cross", layer, head)
    assert told(app) == with_place((layer, head))
    assert app.query_params == {}
    assert not app.warning
    assert done(app) == f"{sent(app).id}/cross/{layer}/{head}"


@pytest.mark.parametrize("kind", [ENCODER, DECODER, CROSS])
def test_each_kind_opens_with_the_head_that_says_most(
    open_app: OpenApp, trace: Trace, kind: AttentionKind
) -> None:
    app = open_app(attention=str(kind))
    assert selected(app) == (str(kind), *opening(trace, kind))
    assert sent(app).kind(kind)["opening"] == list(opening(trace, kind))


def test_a_sentence_of_one_word_without_special_tokens_opens_with_a_head(open_app: OpenApp) -> None:
    app = open_app(sentence="cat", specials="0", words="1")
    assert not app.exception
    assert selected(app)[0] == "cross"
    assert "no row to describe" in html(app) or "one word" in html(app)


def test_a_new_sentence_is_sent_with_the_same_selection(open_app: OpenApp) -> None:
    app = open_app(attention="encoder", layer="0", head="2")
    epoch, before = sent(app).header["epoch"], sent(app).id
    retype(app, "The dog sleeps.")
    assert sent(app).id != before
    assert sent(app).header["epoch"] == epoch
    assert selected(app) == ("encoder", 0, 2)
    assert app.query_params == {
        "sentence": "The dog sleeps.",
        "attention": "encoder",
        "layer": "0",
        "head": "2",
    }


def test_what_was_selected_in_the_browser_is_not_sent_back(open_app: OpenApp) -> None:
    app = open_app()
    before = component(app).bytes
    select(app, attention="encoder", layer="1", head="3")
    assert selected(app) == ("encoder", 1, 3)
    assert component(app).bytes == before
    assert app.query_params == {"attention": "encoder", "layer": "1", "head": "3"}
    assert done(app) == f"{sent(app).id}/encoder/1/3"


def test_a_selection_made_before_the_view_was_another_changes_nothing(open_app: OpenApp) -> None:
    app = open_app(attention="encoder", layer="0", head="2", cell="1.1")
    app.query_params = {"layer": "2", "head": "1"}
    before = {"epoch": sent(app).header["epoch"]}
    app.run()
    select(app, attention="encoder", layer="0", head="3", width="narrow", **before)
    assert selected(app) == ("cross", 2, 1)
    assert app.query_params == {"layer": "2", "head": "1"}
    assert told(app)["head"] == "1"


def test_a_selection_that_no_heads_view_makes_changes_nothing_illegal(open_app: OpenApp) -> None:
    app = open_app(layer="2", head="0")
    select(app, attention="<b>", layer="x", head="1", cell="a.b", compare="9", words="maybe")
    assert selected(app) == ("cross", 2, 1)
    assert not app.session_state["heads-cell"]
    assert not app.session_state["heads-words"]
    tell_state(app, "heads-space", {"rested": "cross"})
    assert selected(app) == ("cross", 2, 1)


def test_heads_are_ordered_by_what_switching_each_off_costs(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app(sentence="The man eats.", target="Der Mann isst.")
    (place,) = [
        place for place, each in enumerate(sent(app).header["measures"]) if each["key"] == "effect"
    ]
    assert sent(app).kind("cross")["facts"][0][0]["measures"][place] is None
    select(app, order="effect")
    assert app.query_params["order"] == "effect"
    found = effects(load(checkpoints / "en-de", device="cpu"), "The man eats.", "Der Mann isst.")
    for site, losses in found.of().items():
        for head, loss in enumerate(losses.tolist()):
            shown = sent(app).kind(site.kind)["facts"][site.layer][head]["measures"][place]
            assert shown == pytest.approx(loss, abs=1e-5)


def outcome(app: AppTest) -> Any:
    """What the translation above the page is told to become."""
    return json.loads(apptest.component(app, "headline-without").json)["outcome"]


def test_what_the_model_writes_without_heads_and_what_they_cost_is_told_the_translation_above(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app(sentence="The man eats.", layer="1", head="2")
    assert outcome(app) is None
    off = "cross.0.1-encoder.1.0"
    select(app, off=off)
    assert app.query_params["off"] == off
    model = load(checkpoints / "en-de", device="cpu")
    under = Intervention(heads={("cross", 0, 1): 0, ("encoder", 1, 0): 0})
    usual = model.trace("The man eats.")
    told, left = outcome(app), model.trace("The man eats.", usual.text, under=under)
    assert told["off"] == off
    words = told["words"]
    spelled = "".join(("" if each["joins"] else " ") + each["text"] for each in words)
    assert spelled.strip() == model.translate("The man eats.", under=under).text
    assert usual.log_probs is not None
    assert left.log_probs is not None
    assert price(usual.log_probs, left.log_probs) in told["price"]
    select(app, off="")
    assert outcome(app) is None
    assert "off" not in app.query_params


def test_a_target_of_ones_own_stays_and_is_what_the_price_is_of(open_app: OpenApp) -> None:
    app = open_app(sentence="The man eats.", target="Der Hund.", off="cross.0.1")
    assert outcome(app)["words"] is None
    assert outcome(app)["price"].startswith("The target you typed")
    assert outcome(app)["more"][0].startswith("By itself, the model now writes")


def test_a_head_that_the_model_does_not_have_stays_on(open_app: OpenApp) -> None:
    app = open_app(off="cross.9.0-cross.0.1")
    assert outcome(app)["off"] == "cross.0.1"
    assert "This model has no cross head 9.0" in said(app)


def test_heads_stay_off_for_the_next_sentence_and_on_the_effects_page(open_app: OpenApp) -> None:
    app = open_app(sentence="The man eats.", off="cross.0.1")
    app.text_input(key="sentence").set_value("A dog.").run()
    assert outcome(app)["off"] == "cross.0.1"
    app.query_params = {}
    go_to(app, "effects").run()
    assert app.query_params["off"] == "cross.0.1"


def test_on_a_stage_the_translation_stands_above_the_picture_while_heads_are_off(
    open_app: OpenApp,
) -> None:
    def large(app: AppTest) -> bool:
        return any('class="answer"' in each.proto.body for each in app.get("html"))

    app = open_app(sentence="The man eats.", present="1")
    assert not large(app)
    select(app, off="cross.0.1")
    assert large(app)


def test_a_reader_who_moves_among_heads_has_the_model_run_once(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app()
    question = ModelQuestion(checkpoints / "en-de", DEFAULT_SENTENCE)
    recorded = session.ask(question.record)
    translated = session.ask(question.translate)
    kept = len(session.result_store())
    for head in "0123":
        select(app, head=head)
        select(app, head=head, specials="0", words="1")
    assert len(session.result_store()) == kept
    assert all(each.trace is recorded for each in app.session_state["heads-prepared.kept"])
    assert session.ask(question.translate) is translated


def test_a_sentence_is_translated_and_recorded_once_for_everyone(
    open_app: OpenApp, checkpoints: Path
) -> None:
    (one,) = open_app(sentence="The man eats.").session_state["heads-prepared.kept"]
    (other,) = open_app(sentence="The man eats.", head="1").session_state["heads-prepared.kept"]
    assert one is not other
    assert one.trace is other.trace


def test_the_same_reading_of_the_same_trace_is_prepared_once(open_app: OpenApp) -> None:
    app = open_app()
    prepared = app.session_state["heads-prepared.kept"]
    select(app, head="3")
    assert app.session_state["heads-prepared.kept"] is prepared
    select(app, head="3", words="1")
    assert app.session_state["heads-prepared.kept"] is not prepared


# ---- the address -------------------------------------------------------------------------------


def test_an_address_sets_what_is_selected(open_app: OpenApp) -> None:
    asked = {
        **{"attention": "decoder", "layer": "1", "head": "3", "view": "lines", "cell": "1.0"},
        "range": "0-1.1-2",
        **{"compare": "0.1-1.3", "order": "entropy", "faint": "2", "only": "layer.1"},
        **{"words": "1", "specials": "0", "renormalise": "1", "predicted": "1"},
        **{"off": "cross.0.1-encoder.1.3"},
    }
    app = open_app(below="numbers", **asked)
    assert not app.warning
    assert told(app) == asked
    assert app.session_state["heads-below"] == "numbers"
    assert app.query_params == {"below": "numbers", **asked}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attention", "<script>alert(1)</script>"),
        ("layer", "*1*"),
        ("cell", "1.2\n"),
        ("faint", "5"),
    ],
)
def test_an_illegal_value_is_named_and_the_usual_one_taken(
    open_app: OpenApp, trace: Trace, name: str, value: str
) -> None:
    app = open_app(**{name: value})
    layer, head = opening(trace)
    assert len(app.warning) == 1
    assert f"The address asks for {name} “" in warnings(app)[0]
    assert len(warnings(app)[0]) < 300
    assert selected(app) == ("cross", layer, head)
    assert told(app) == with_place((layer, head))
    other = str((head + 1) % HEADS)
    select(app, head=other)
    assert not app.warning
    # From the first change on, the address names layer and head whatever the model opens with.
    assert app.query_params == {"layer": str(layer), "head": other}


@pytest.mark.parametrize(
    ("attention", "name", "most"),
    [
        ("cross", "layer", 2),
        ("encoder", "layer", 1),
        ("joint", "layer", 2),
        ("decoder", "head", 3),
    ],
)
def test_a_layer_or_head_beyond_the_models_is_named_and_the_last_one_shown(
    open_app: OpenApp, attention: str, name: str, most: int
) -> None:
    app = open_app(**{"attention": attention, name: str(most + 1)})
    # And says so still after a run that changes nothing, as another width causes one.
    for _ in range(2):
        assert len(app.warning) == 1
        assert f"no {name} {most + 1}" in warnings(app)[0]
        app.run()
    assert app.session_state[f"heads-{name}"] == most
    assert told(app)[name] == str(most)


@pytest.mark.parametrize("below", ["facts", "query-key", "numbers"])
def test_what_the_trace_does_not_have_is_left_to_the_browser(open_app: OpenApp, below: str) -> None:
    asked = {"cell": "99.99", "compare": "0.0-77.1", "only": "layer.77"}
    app = open_app(below=below, **asked)
    assert not app.exception
    assert asked.items() <= told(app).items()


def test_a_wrong_sentence_does_not_take_the_selection_with_it(open_app: OpenApp) -> None:
    app = open_app(attention="encoder", layer="0", head="2", below="numbers")
    retype(app, "")
    # The picture before stays, dimmed.
    assert selected(app) == ("encoder", 0, 2)
    assert component(app) is not None
    retype(app, "The cat eats.")
    assert selected(app) == ("encoder", 0, 2)
    assert app.session_state["heads-below"] == "numbers"
    assert told(app)["head"] == "2"


# ---- what stands below -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attention", "layer", "head"), [("encoder", 1, 3), ("decoder", 0, 0), ("cross", 2, 1)]
)
def test_facts_are_those_of_the_selected_head(
    open_app: OpenApp, trace: Trace, attention: str, layer: int, head: int
) -> None:
    app = open_app(attention=attention, layer=str(layer), head=str(head))
    site = Site(AttentionKind(attention), layer)
    facts = head_facts(trace.maps[site])
    ((heading, shown),) = facts_of(app)
    assert heading.endswith(f", layer {layer}, head {head}")
    assert shown == {
        measure.name: written(measure, float(facts[measure.key][head]))
        for measure in MEASURES
        if site.kind in measure.kinds
    }


def test_facts_begin_with_what_the_head_does_and_fold_what_measures_mean(
    open_app: OpenApp, trace: Trace
) -> None:
    shown = html(open_app(attention="encoder", layer="1", head="2"))
    seen = trace.maps[Site(ENCODER, 1)]
    sentence = head_words(seen, head_facts(seen))[2].sentence
    assert shown.index(sentence) < shown.index("Entropy")
    meanings = re.findall(r"<details><summary>.*?</summary><small>(.*?)</small></details>", shown)
    assert meanings == [m.meaning for m in MEASURES if ENCODER in m.kinds]


def test_facts_of_whole_words_without_special_tokens_say_what_they_count(
    open_app: OpenApp,
) -> None:
    shown = html(open_app(attention="encoder", words="1", specials="0"))
    listed = shown[shown.index('class="facts"') :]
    assert "special tokens left out" in listed
    assert "special tokens included" not in listed
    assert "Weight on the previous word" in listed
    assert not re.search(r"(?<!special )tokens?\b", listed)
    columns = table(open_app(attention="encoder", words="1", specials="0")).value.columns
    assert "Weight on the previous word" in columns


def test_the_column_of_labels_has_room_for_the_longest(open_app: OpenApp) -> None:
    columns = json.loads(table(open_app()).proto.columns)
    texts = [rule.text for rule in RULES]
    texts += [f"mostly {rule.place}, 100%" for rule in RULES if rule.place]
    # About seven pixels a letter, and the cell's own margins.
    assert columns["Label"]["width"] >= 7 * max(map(len, texts)) + 16


def test_lines_do_not_ask_to_click_a_heatmap_that_is_not_there(open_app: OpenApp) -> None:
    (asked,) = open_app(below="query-key", view="lines").info
    assert asked.value.startswith("Choose Heatmap above, then click a cell")


@pytest.mark.parametrize(
    ("layer", "kinds"), [(1, [ENCODER, CROSS, DECODER]), (2, [CROSS, DECODER])]
)
def test_the_joint_picture_has_the_facts_of_all_the_heads_in_it(
    open_app: OpenApp, layer: int, kinds: list[AttentionKind]
) -> None:
    headings = [heading for heading, _ in facts_of(open_app(attention="joint", layer=str(layer)))]
    assert headings == [f"{kind.full_name}, layer {layer}, head 0" for kind in kinds]


@pytest.mark.parametrize("kind", [ENCODER, DECODER, CROSS])
def test_the_heads_of_the_shown_attention_are_in_one_table(
    open_app: OpenApp, trace: Trace, kind: AttentionKind
) -> None:
    shown = table(open_app(attention=str(kind))).value
    assert set(shown["Attention"]) == {kind.full_name}
    assert len(shown) == LAYERS[kind] * HEADS
    facts = head_facts(trace.maps[Site(kind, 1)])
    row = shown[shown["Layer"] == 1].iloc[2]
    assert row["Entropy"] == pytest.approx(facts["entropy"][2], abs=1e-5)
    assert row["Diagonal"] == pytest.approx(facts["diagonal"][2], abs=1e-5)
    assert row["Entropy, share of maximum"] == pytest.approx(facts["entropy_share"][2], abs=1e-5)


def test_the_joint_picture_has_the_heads_of_all_three_in_its_table(open_app: OpenApp) -> None:
    shown = table(open_app(attention="joint", layer="0")).value
    assert len(shown) == sum(LAYERS.values()) * HEADS


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        ("encoder", ENCODER),
        ("decoder", DECODER),
        ("cross", CROSS),
        *(("joint", kind) for kind in LAYERS),
    ],
)
def test_the_row_of_a_head_selects_it(open_app: OpenApp, shown: str, kind: AttentionKind) -> None:
    app = open_app(attention=shown, layer="0", head="1", cell="1.1", compare="0.1-0.2")
    rows = table(app).value[["Attention", "Layer", "Head"]].values.tolist()
    click_row(app, rows.index([kind.full_name, 1, 3]))
    assert selected(app) == (str(kind), 1, 3)
    assert told(app)["attention"] == kind
    assert (told(app)["layer"], told(app)["head"]) == ("1", "3")
    assert (told(app)["cell"], told(app)["compare"]) == ("", "")
    assert facts_of(app)[0][0] == f"{kind.full_name}, layer 1, head 3"
    opened = {} if kind is CROSS else {"attention": str(kind)}
    assert app.query_params == {**opened, "layer": "1", "head": "3"}


def test_the_row_of_a_later_table_selects_a_head_of_that_table(open_app: OpenApp) -> None:
    app = open_app(attention="joint", layer="0")
    for head in (3, 1):
        rows = table(app).value[["Attention", "Layer", "Head"]].values.tolist()
        click_row(app, rows.index([DECODER.full_name, 1, head]))
        assert selected(app) == (str(DECODER), 1, head)


def test_the_numbers_are_the_weights_of_the_selected_head(open_app: OpenApp, trace: Trace) -> None:
    shown = table(open_app(below="numbers", attention="decoder", layer="1", head="3")).value
    seen = trace.maps[Site(DECODER, 1)]
    assert np.allclose(shown["Weight"].to_numpy(), seen.weights[3].ravel(), atol=1e-5)
    assert shown["Allowed"].tolist() == seen.allowed.ravel().tolist()
    assert "layer 1, head 3" in captions(open_app(below="numbers", layer="1", head="3"))


def test_the_joint_picture_has_a_table_a_part(open_app: OpenApp) -> None:
    app = open_app(below="numbers", attention="joint", layer="1")
    assert len(app.dataframe) == 3


def test_a_cell_in_the_address_is_looked_into(open_app: OpenApp, trace: Trace) -> None:
    app = open_app(below="query-key", attention="cross", layer="1", head="2", cell="3.1")
    (chart,) = charts(app)
    assert chart.alt == cell_of(trace.maps[Site(CROSS, 1)], 2, 3, 1).alt


def test_a_cell_that_is_clicked_opens_the_section_that_looks_into_it(
    open_app: OpenApp, trace: Trace
) -> None:
    app = select(open_app(), attention="encoder", layer="1", head="2", cell="2.3")
    assert app.session_state["heads-below"] == "query-key"
    (chart,) = charts(app)
    assert chart.alt == cell_of(trace.maps[Site(ENCODER, 1)], 2, 2, 3).alt
    assert app.query_params["cell"] == "2.3"


@pytest.mark.parametrize("part", [ENCODER, CROSS, DECODER])
def test_a_cell_of_the_joint_picture_belongs_to_one_of_its_parts(
    open_app: OpenApp, trace: Trace, part: AttentionKind
) -> None:
    n_source = len(trace.source)
    query = 2 if part is ENCODER else n_source + 2
    key = n_source + 1 if part is DECODER else 1
    app = open_app(below="query-key", attention="joint", layer="1", cell=f"{query}.{key}")
    (chart,) = charts(app)
    assert chart.alt == cell_of(trace.maps[Site(part, 1)], 0, 2, 1).alt


def test_a_cell_of_the_joint_picture_that_belongs_to_no_part_asks_for_another(
    open_app: OpenApp, trace: Trace
) -> None:
    outside = f"0.{len(trace.source)}"
    app = open_app(below="query-key", attention="joint", layer="1", cell=outside)
    assert not charts(app)
    assert "Click a cell" in app.info[0].value


CHOOSE = "Click a cell of the large heatmap"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        *(({}, CHOOSE), ({"cell": "99.0"}, CHOOSE), ({"cell": "0.99"}, CHOOSE)),
        ({"cell": "1.1", "words": "1", "sentence": "Thecatty sat."}, "has no query"),
    ],
)
def test_without_a_cell_that_can_be_looked_into_the_section_says_what_to_do(
    open_app: OpenApp, query: dict[str, str], said: str
) -> None:
    app = open_app(below="query-key", **query)
    assert not charts(app)
    assert said in app.info[0].value


def test_an_old_link_to_a_figure_opens_the_page_without_a_notice(open_app: OpenApp) -> None:
    app = open_app(below="figure", attention="decoder", layer="1", head="3")
    assert not [*app.exception, *app.error, *app.warning, *app.info]
    assert app.session_state["heads-below"] == "facts"
    assert "figure" not in app.segmented_control(key="heads-below").options
    assert selected(app) == ("decoder", 1, 3)


def test_the_page_warns_that_a_weight_is_no_explanation(open_app: OpenApp) -> None:
    assert "not why the model" in captions(open_app())


# ---- ways of reading ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ({"words": "1"}, Reading(words=True)),
        ({"specials": "0"}, Reading(specials=False)),
        ({"specials": "0", "renormalise": "1"}, Reading(specials=False, renormalise=True)),
        ({"predicted": "1"}, Reading(predicted=True)),
        ({"renormalise": "1"}, Reading()),
    ],
)
def test_the_browser_gets_the_trace_as_it_is_read(
    open_app: OpenApp, trace: Trace, query: dict[str, str], reading: Reading
) -> None:
    figure, seen = sent(open_app(**query)), read(trace, reading)
    sent_along = figure.header["reading"]
    assert (sent_along is None) == (reading == AS_RECORDED)
    found = figure if sent_along is None else Decoded(sent_along.tobytes())
    # The figure shows what was recorded, whatever the reading.
    for site, each in trace.maps.items():
        assert np.allclose(figure.weights(site.kind)[site.layer], each.weights, atol=1e-5)
    assert found.header["notes"] == list(seen.notes)
    for site, each in seen.maps.items():
        assert np.allclose(found.weights(site.kind)[site.layer], each.weights, atol=1e-5)
        assert found.axis(site.kind, "queries") == axis_texts(each.queries)
        assert found.axis(site.kind, "keys") == axis_texts(each.keys)


# ---- several checkpoints -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint, and an untrained one with fewer layers and heads."""
    folder = tmp_path_factory.mktemp("two")
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    tokenizer = Tokenizer.load(folder / "en-de" / "tokenizer.model")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        model = Transformer(
            TransformerConfig(
                vocab_size=len(tokenizer),
                d_model=16,
                d_ff=16,
                n_heads=2,
                n_encoder_layers=1,
                n_decoder_layers=1,
                max_positions=64,
            )
        )
    save_checkpoint(folder / "small", model, tokenizer, bits=32)
    return folder


def test_another_checkpoint_shows_its_own_heads_and_the_selection_moves_into_its_range(
    open_app: OpenApp, two: Path
) -> None:
    app = open_app(folder=two, attention="cross", layer="2", head="3", target="Die Katze.")
    assert sent(app).shape("cross")[:2] == (3, 4)
    app.selectbox(key="checkpoint").set_value("small").run()
    assert sent(app).shape("cross")[:2] == (1, 2)
    assert selected(app) == ("cross", 0, 1)
    assert (told(app)["layer"], told(app)["head"]) == ("0", "1")
    expected = load(two / "small", device="cpu").trace(DEFAULT_SENTENCE, "Die Katze.")
    assert np.allclose(
        sent(app).weights("cross")[0], expected.maps[Site(CROSS, 0)].weights, atol=1e-5
    )
    assert app.query_params["checkpoint"] == "small"


def test_a_model_that_is_chosen_again_shows_the_head_it_showed_last(
    open_app: OpenApp, two: Path
) -> None:
    app = open_app(folder=two, attention="cross", layer="1", head="3", target="Die Katze.")
    app.selectbox(key="checkpoint").set_value("small").run()
    select(app, layer="0", head="0")
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert selected(app) == ("cross", 1, 3)
    assert (app.query_params["layer"], app.query_params["head"]) == ("1", "3")
    assert not app.warning
    app.selectbox(key="checkpoint").set_value("small").run()
    assert selected(app) == ("cross", 0, 0)
    # A link is followed wherever the model was left.
    app.query_params = {"layer": "2", "head": "1"}
    app.run()
    assert selected(app) == ("cross", 2, 1)


def test_an_address_opens_a_checkpoint_with_its_own_heads(open_app: OpenApp, two: Path) -> None:
    app = open_app(folder=two, checkpoint="small", head="1", target="Die Katze.")
    assert sent(app).shape("encoder")[:2] == (1, 2)
    assert selected(app) == ("cross", 0, 1)
    assert not app.error


def with_examples(two: Path, count: int) -> Path:
    """The folder of checkpoints, the first with so many examples."""
    examples = [
        {"source": source, "translation": text, "shows": "A sentence."}
        for source, text in PAIRS[:count]
    ]
    folder = two.parent / f"{two.name}-{count}-examples"
    shutil.copytree(two, folder)
    (folder / "en-de" / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    return folder


def test_labels_and_facts_are_those_of_the_checkpoint_with_examples(
    open_app: OpenApp, two: Path, trace: Trace
) -> None:
    folder = with_examples(two, len(PAIRS))
    save_labels(folder / "en-de", tiny_survey())
    app = open_app(folder=folder)
    labels = session.labels(folder / "en-de")
    found = sent(app)
    for site, names in labels.items():
        entries = found.kind(site.kind)["facts"][site.layer]
        assert [entry["label"] for entry in entries] == [
            label.text if label and label.earned else None for label in names
        ]
        assert [entry["tendency"] for entry in entries] == [
            None if label is None or label.earned else label.text for label in names
        ]
    layer, head = opening_heads(trace.maps, labels)[CROSS]
    assert selected(app)[1:] == (layer, head)
    shown = labels[Site(CROSS, layer)][head]
    assert shown is not None
    assert shown.reason in html(app)
    assert (shown.text in html(app)) != shown.earned


def test_examples_alone_give_no_label(open_app: OpenApp, two: Path, trace: Trace) -> None:
    app = open_app(folder=with_examples(two, len(PAIRS) - 1))
    assert not sent(app).header["surveyed"]
    assert selected(app)[1:] == opening(trace)


def test_a_label_is_shown_with_its_share_and_interval(open_app: OpenApp, two: Path) -> None:
    folder = two.parent / f"{two.name}-labelled"
    shutil.copytree(two, folder)
    save_labels(folder / "en-de", tiny_survey())
    app = open_app(folder=folder, attention="encoder", layer="0", head="0")
    assert "in 94% of 500 sentences (92–96%), at least half does." in html(app)
    assert sent(app).kind("encoder")["facts"][0][0]["share"] == "94% of 500 sentences (92–96%)"
    assert "94% of 500 sentences (92–96%)" in list(app.dataframe[0].value["Holds in"])


def test_broken_labels_are_said_and_the_page_stands(open_app: OpenApp, two: Path) -> None:
    folder = two.parent / f"{two.name}-broken"
    shutil.copytree(two, folder)
    (folder / "en-de" / "labels.json").write_text("{}")
    app = open_app(folder=folder)
    assert not app.exception
    assert any("labels.json is damaged" in note for note in sent(app).header["notes"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b"\xff\xfe"),
        ("config.json", b'{"vocab_size": 10, "n_heads": 7}'),
        ("model.safetensors", b"not safetensors"),
        ("tokenizer.model", b"not a tokenizer"),
        ("metrics.json", b"[]"),
        ("config.json", None),
        ("model.safetensors", None),
        ("tokenizer.model", None),
    ],
)
def test_a_damaged_checkpoint_is_named_in_one_sentence_and_shows_no_heads(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    (folder / "en-de" / name).unlink()
    if content is not None:
        (folder / "en-de" / name).write_bytes(content)
    app = open_app(folder=folder)
    assert len(app.error) == 1
    assert "\n" not in app.error[0].value
    assert component(app) is None


def test_a_folder_of_checkpoints_that_is_not_there_shows_no_heads(
    open_app: OpenApp, tmp_path: Path
) -> None:
    app = open_app(folder=tmp_path / "nowhere", layer="1", below="numbers")
    assert len(app.error) == 1
    assert component(app) is None
