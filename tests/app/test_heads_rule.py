"""A head beside its rule on the heads page, and the translation that comes of rules."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from model.checkpoints.weights_digest import weights_digest
from model.explain.head_rules import HeadRules, RuleFinding
from model.explain.rules_file import HEAD_RULES, save_head_rules
from model.record.intervention import Intervention
from model.rules.phrases import Terms
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp
from tests.kit.shown import html, plain
from viz.corpus.rule_map import RuleBesideHead
from viz.draw.labels import upper_first
from viz.draw.word_diff import translations_html

SENTENCE = "The cat sat on the mat."
ASKED = {**{"sentence": SENTENCE, "attention": "cross", "layer": "1", "head": "2", "below": "rule"}}
PLACE, FITS = Head(Site(AttentionKind.CROSS, 1), 2), Head(Site(AttentionKind.ENCODER, 1), 3)
SAID, WHOLE = Terms(("first",), (9.0,)), Terms(("first", "last@punctuation"), (4.0, 9.0))


@pytest.fixture(scope="module")
def rules(checkpoints: Path, model: Translator) -> HeadRules:
    finding = RuleFinding(SAID, 0.83, 0.8, 0.86, 0.41, 0.7, WHOLE, 0.75, 0.2, 0.9)
    heads = [Head(site, head) for site in model.sites for head in range(4)]
    found = dict.fromkeys(heads, finding)
    found |= {FITS: replace(finding, overlap=0.9), PLACE: replace(finding, overlap=0.8)}
    digest = weights_digest(checkpoints / "en-de")
    return HeadRules(digest, "made up", "CC0", 200, 100, 300, ("en", "de"), found)


@pytest.fixture(scope="module")
def shelf(checkpoints: Path, rules: HeadRules, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shelf = tmp_path_factory.mktemp("ruled")
    shutil.copytree(checkpoints / "en-de", shelf / "en-de")
    save_head_rules(shelf / "en-de", rules)
    return shelf


def test_a_head_stands_beside_its_rule_and_a_toggle_adds_its_terms(
    open_app: OpenApp, shelf: Path, rules: HeadRules, model: Translator
) -> None:
    seen = model.trace(SENTENCE).maps[PLACE.site]
    app = open_app(folder=shelf, **ASKED)
    assert f"{upper_first(rules.heads[PLACE].text)}." in plain(
        " ".join(each.value for each in app.markdown)
    )
    for said, terms in ((True, SAID), (False, WHOLE)):
        edit = rules.edits([PLACE], None, said=said)[PLACE]
        picture = RuleBesideHead(seen, PLACE.number, edit, terms.text, SENTENCE)
        assert picture.alt in {each.proto.alt for each in app.get("plotly_chart")}
        app = app.toggle(key="heads-fuller").set_value(True).run()


@pytest.mark.parametrize("fuller", ["0", "1"])
@pytest.mark.parametrize("ruled", ["head", "kind", "best"])
def test_the_model_translates_with_rules_in_place_of_heads(
    open_app: OpenApp, shelf: Path, rules: HeadRules, model: Translator, ruled: str, fuller: str
) -> None:
    of_kind = [head for head in rules.heads if head.site.kind is PLACE.site.kind]
    heads = {"head": [PLACE], "kind": of_kind, "best": [FITS, PLACE]}[ruled]
    edits = rules.edits(heads, None, said=fuller == "0")
    own = model.translate(SENTENCE).text
    written = model.trace(SENTENCE, under=Intervention(heads=edits)).text
    names = ("With its heads", "With the rule" if ruled == "head" else "With rules")
    app = open_app(folder=shelf, ruled=ruled, fuller=fuller, best="2", **ASKED)
    assert translations_html(own, written, names, dark=False) in html(app)


def test_several_heads_follow_rules_those_first_that_cost_least(
    open_app: OpenApp, shelf: Path, rules: HeadRules, tmp_path: Path
) -> None:
    asked = {**ASKED, "ruled": "best", "best": "2"}
    assert (
        open_app(folder=shelf, **asked)
        .slider(key="heads-best")
        .label.endswith("overlap most with their heads")
    )
    cheap = {FITS: 0.01, PLACE: 0.02}
    heads = {head: replace(rule, cost=cheap.get(head, 0.3)) for head, rule in rules.heads.items()}
    shutil.copytree(shelf / "en-de", tmp_path / "en-de")
    save_head_rules(tmp_path / "en-de", replace(rules, heads=heads))
    app = open_app(folder=tmp_path, **asked)
    assert app.slider(key="heads-best").label.endswith("rules cost least")
    assert (
        "The costliest of these rules, alone and with all its terms, leaves a translation 98.0% "
        "as likely as it was (geometric mean of 300 sentences)."
    ) in [each.value for each in app.caption]


def test_a_model_without_rules_has_no_section_of_them(
    open_app: OpenApp, checkpoints: Path, shelf: Path, tmp_path: Path
) -> None:
    assert open_app(folder=checkpoints, **ASKED).session_state["heads-below"] == "facts"
    assert open_app(folder=shelf, **ASKED).session_state["heads-below"] == "rule"
    shutil.copytree(shelf / "en-de", tmp_path / "en-de")
    (tmp_path / "en-de" / HEAD_RULES).write_text("{}", encoding="utf-8")
    app = open_app(folder=tmp_path, **ASKED)
    assert app.session_state["heads-below"] == "facts", "a damaged file is named elsewhere"
