"""What the pictures and sentences of a survey say, against its numbers."""

import math
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.explain.growth import Growth
from model.explain.label_rules import MIN_PASSING, MIN_SENTENCES, RULE
from model.explain.labels import Label
from model.explain.labels_file import read_labels
from model.explain.measures import EFFECT
from model.record.head_edits import TermWeights
from model.rules.weight_rules import RULES
from model.survey.corpus_survey import REACH, CorpusSurvey, Effect, Held
from model.survey.fitting import overlaps_of
from model.survey.survey_file import read_survey, save_survey
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.head import Head
from model.translate.translator import Translator
from tests.kit.pictures import require_same
from tests.kit.surveys import tiny_corpus_survey
from tests.kit.tiny_checkpoint import write_tiny_alignment
from viz.corpus.all_heads import AllHeads
from viz.corpus.found_maps import FoundMaps
from viz.corpus.pattern_heads import DrawnHeads
from viz.corpus.pattern_search import DRAWN, matches
from viz.corpus.quantities import OVERLAP, RULE_COST, ranked, value_of
from viz.corpus.rule_curve import SCORES, RulesCurve
from viz.corpus.rule_map import RuleBesideHead
from viz.corpus.sentences import (
    alignment_sentence,
    all_sentence,
    came_sentence,
    effect_sentence,
    label_sentence,
    no_survey,
    rule_sentence,
    rules_sentence,
    sample_sentence,
    times_less,
)
from viz.corpus.small_map import small_map
from viz.corpus.spread import HeadSpread, LookDistances
from viz.links.mask_edits import encode
from viz.save.picture import Layout

FOLDER = "tiny"
LAYOUTS = [Layout(), Layout(narrow=True, dark=True)]


@pytest.fixture(scope="module")
def survey(translator: Translator) -> CorpusSurvey:
    return tiny_corpus_survey(translator)


def _labelled(survey: CorpusSurvey, place: Head, held: Held) -> CorpusSurvey:
    """The survey with a head that looks at the previous token."""
    site, head = place
    heads = list(survey.heads[site])
    heads[head] = replace(heads[head], label="previous", held={"previous": held})
    return replace(survey, heads={**survey.heads, site: tuple(heads)})


def test_a_head_is_said_to_link_words_only_where_that_was_measured(tmp_path: Path) -> None:
    table = write_tiny_alignment(tmp_path)
    said = alignment_sentence(table, (Site(AttentionKind.CROSS, 1), 2))
    # By its own row 17 + 10 = 27%, one row later 58%.
    assert said is not None
    assert "is 27% (7 sentences, by the row that predicts a word)" in said
    assert alignment_sentence(table, (Site(AttentionKind.CROSS, 3), 0)) is None
    assert alignment_sentence(table, (Site(AttentionKind.ENCODER, 1), 2)) is None


def test_a_head_came_when_the_label_that_it_still_has_began() -> None:
    site, text = Site(AttentionKind.ENCODER, 0), RULE["previous"].text
    growth = Growth((0, 10, 20), {}, {site: [[None, text, text], [text, None, None]]})
    label = Label(text, "", measure="previous")
    said = came_sentence(growth, (site, 0), label)
    assert said == "It has done so since step 10 of 20 of its training."
    assert came_sentence(growth, (site, 0), Label(RULE["same"].text, "")) is None
    assert came_sentence(growth, (site, 1), label) is None


def test_the_page_says_which_sentences_the_model_was_trained_on(survey: CorpusSurvey) -> None:
    assert "training" not in sample_sentence(survey)
    some = replace(survey, held_out=survey.sample.sentences - 2)
    assert "2 of them are from its training; labels" in sample_sentence(some)
    older = replace(survey, missing=("distance",))
    assert "It lacks “Mean distance”; headscope survey" in sample_sentence(older)


def test_a_label_is_said_with_how_often_it_held(survey: CorpusSurvey) -> None:
    place = Site(AttentionKind.ENCODER, 1), 2
    text = label_sentence(_labelled(survey, place, Held(90, 100)), place)
    assert text.startswith("This head looks at the previous token: it has at least 50% of")
    assert "in 90% of 100 sentences" in text
    assert "(95% interval 83% to 94%)" in text
    # No interval of one number.
    always = label_sentence(_labelled(survey, place, Held(2479, 2479)), place)
    assert "in 100% of 2,479 sentences" in always
    assert "(95% interval 99.8% to 100%)" in always


def test_without_a_label_the_closest_one_is_said(survey: CorpusSurvey) -> None:
    place = Site(AttentionKind.ENCODER, 0), 0
    assert label_sentence(survey, place, "Encoder 0.0") == (
        "Encoder 0.0 has no label: too few sentences can tell what it does."
    )
    site, head = place
    heads = list(survey.heads[site])
    heads[head] = replace(heads[head], held=dict.fromkeys(RULE, Held(10, MIN_SENTENCES)))
    many = replace(survey, heads={**survey.heads, site: tuple(heads)})
    label = many.label(place)
    assert label is not None
    share = f"{MIN_PASSING:.0%}"
    assert label_sentence(many, place) == (
        f"This head has no label: no pattern holds in {share} of the sentences. Closest: "
        f"{label.text}."
    )


def test_without_a_label_the_rule_is_said_with_its_number(survey: CorpusSurvey) -> None:
    place = Site(AttentionKind.ENCODER, 0), 1
    rule = Label("looks at commas: right in 70 of 100 rows", "It is.", earned=False, is_rule=True)
    ruled = replace(survey, labels={place[0]: (None, rule, None, None)})
    assert label_sentence(ruled, place) == f"This head: {rule.text}. It is."


@pytest.mark.parametrize("name", ["en-de", "en-de-childhood"])
def test_both_pages_say_the_same_of_every_head(name: str) -> None:
    corpus, labels = read_survey(CHECKPOINTS / name), read_labels(CHECKPOINTS / name)
    assert corpus is not None
    assert labels is not None
    for place in corpus.places:
        site, head = place
        label = labels.labels[site][head]
        assert label is not None
        if label.earned:
            assert label_sentence(corpus, place).startswith(f"This head {label.text}")
        else:
            said = label.reason if label.is_rule else f"Closest: {label.text}."
            assert label.text in label_sentence(corpus, place)
            assert label_sentence(corpus, place).endswith(said)
    # Heads on which the survey's own sentences differ.
    own = [corpus.of(place).in_words for place in corpus.places]
    said = [labels.labels[site][head] for site, head in corpus.places]
    assert any(
        one is not None and other is not None and one.text != other.text
        for one, other in zip(own, said, strict=True)
    )


def test_the_chart_below_is_in_the_order_of_what_it_draws(survey: CorpusSurvey) -> None:
    for site, head in survey.places:
        spread = HeadSpread(survey, FOLDER, site, head)
        medians = list(spread.figure(Layout()).data[-1].x)
        assert medians == sorted(medians, reverse=True)


def test_an_effect_is_said_with_its_rank(survey: CorpusSurvey) -> None:
    order = [place for place, _ in ranked(survey, EFFECT.key)]
    assert effect_sentence(survey, order[0]).endswith("of 32 heads, its effect is the largest.")
    assert effect_sentence(survey, order[6]).endswith("its effect is number 7.")
    assert times_less(survey.of(order[0]).effect) in effect_sentence(survey, order[0])


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect(math.log(3), 0.0, 5), "3 times less likely (95% interval 3 to 3, 5 sentences)"),
        (Effect(0.001, math.nan, 1), "as likely as before"),
        (
            Effect(0.1, 0.1, 5),
            "not clearly less likely: 1.11 times (95% interval 0.91 to 1.34, 5 sentences)",
        ),
        (Effect(-math.log(1.5), math.nan, 1), "1.50 times more likely"),
    ],
)
def test_a_loss_is_a_factor_of_probability(effect: Effect, text: str) -> None:
    assert times_less(effect) == text


def test_the_strongest_head_is_named_with_what_it_is_worth(survey: CorpusSurvey) -> None:
    (site, head), value = ranked(survey, "previous")[0]
    text = all_sentence(survey, "previous", EFFECT.key)
    assert text.startswith(f"{site.head_name(head)} has the largest weight on the previous token")
    assert f"{value:.0%}" in text
    assert "Without it, a translation is" in text


def test_rules_are_said_with_their_cost(survey: CorpusSurvey) -> None:
    assert survey.rules is not None
    place = survey.rules.order[0]
    rule = survey.rules.heads[place]
    text = rule_sentence(rule)
    assert all(RULES[name].text in text for name in rule.weights.rules if name in RULES)
    assert f"overlaps by {rule.overlap:.0%}" in text
    assert value_of(survey, place, OVERLAP.key) == rule.overlap
    assert value_of(survey, place, RULE_COST.key) == rule.cost.mean
    cheap = survey.rules.cheap
    lost = survey.rules.bleu.ruled[0] - survey.rules.bleu.ruled[cheap]
    cost = f"a cost of {lost:.1f}" if lost >= 0.05 else "no cost in"
    said = f"{survey.rules.counts[cheap]} of 32 heads can be replaced by rules at {cost} BLEU"
    assert rules_sentence(survey).startswith(said)
    # Where no rules are cheap, the fewest that were tried are named with their cost.
    dear = replace(survey.rules.bleu, ruled=(40.0, 30.0, 10.0))
    costly = replace(survey, rules=replace(survey.rules, bleu=dear))
    assert rules_sentence(costly).startswith(
        "16 of 32 heads can be replaced by rules at a cost of 10.0 BLEU"
    )


def test_why_there_is_no_survey_is_one_sentence_with_the_command() -> None:
    assert "headscope survey mine --data" in no_survey("mine")
    assert "choose its last training step" in no_survey("mine", is_snapshot=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_picture_is_drawn_of_its_numbers(survey: CorpusSurvey, layout: Layout) -> None:
    site, head = Site(AttentionKind.DECODER, 1), 3
    spread = HeadSpread(survey, FOLDER, site, head)
    figure = spread.figure(layout)
    medians = [survey.of((site, head)).measures[key].quantiles[10] for key in spread.keys]
    assert list(figure.data[-1].x) == medians
    others = [len(spread.others(key)) for key in spread.keys]
    assert len(figure.data[0].x) == sum(others)
    far = LookDistances(survey, FOLDER, site, head).figure(layout)
    # The decoder never looks ahead.
    assert list(far.data[0].x) == list(range(-REACH, 1))
    assert sum(far.data[0].y) == pytest.approx(1, abs=1e-5)
    heads = AllHeads(survey, FOLDER, "previous", EFFECT.key)
    points = sum(len(each.x) for each in heads.figure(layout).data)
    assert points == len(heads.points) == 20, "cross-attention has no previous token"
    for score in SCORES:
        curve = RulesCurve(survey, FOLDER, score)
        drawn = curve.figure(layout)
        assert list(drawn.data[0].y) == list(curve.lines.ruled)
        assert list(drawn.data[1].y) == list(curve.lines.removed)
        assert drawn.data[-1].y[0] == pytest.approx(curve.lines.ruled[0])


def test_a_point_begins_with_its_head(survey: CorpusSurvey) -> None:
    figure = AllHeads(survey, FOLDER, EFFECT.key, OVERLAP.key).figure(Layout())
    named = {point[0] for trace in figure.data for point in trace.customdata}
    assert named == {f"{site}.{head}" for site, head in survey.places}


def test_a_rule_stands_beside_its_head(survey: CorpusSurvey, translator: Translator) -> None:
    assert survey.rules is not None
    trace = translator.trace("The cat sat on the mat.")
    for place in (survey.rules.order[0], Head(Site(AttentionKind.CROSS, 1), 2)):
        rule = survey.rules.heads[place]
        picture = RuleBesideHead(
            trace.maps[place[0]], place[1], rule.weights, "looks there", trace.source_text
        )
        for layout in LAYOUTS:
            own, ruled = (
                each.z
                for each in picture.figure(layout).data
                if each.name in ("The head", "Its rule")
            )
            np.testing.assert_array_equal(own, trace.maps[place[0]].weights[place[1]])
            np.testing.assert_allclose(ruled.sum(axis=-1), 1, atol=1e-5)
        expected = overlaps_of([trace], {place: rule.weights})[place]
        assert picture.overlap == pytest.approx(expected, abs=1e-5)
        assert f"{expected:.0%}" in picture.more


def test_a_rule_is_marked_where_it_is_right_and_where_it_is_not() -> None:
    tokens = ("▁the", "▁cat", ",", "▁the", "</s>")
    axis = Tokens(tokens, tuple(range(5)), "sentencepiece")
    weights = np.eye(5)[[0, 0, 0, 2, 2]]
    seen = AttentionMap(
        Site(AttentionKind.DECODER, 0),
        weights=weights[None].astype(np.float32),
        allowed=np.tri(5, dtype=np.bool_),
        queries=axis,
        keys=axis,
    )
    rule = TermWeights(("previous", "comma"), (2.0, 2.0))
    picture = RuleBesideHead(seen, 0, rule, "looks at commas", "The cat, the")
    # The first row has no choice, and in the fourth one the comma is the previous token too.
    assert picture.strongest == ([(1, 0), (3, 2)], [(2, 0), (4, 2)], [])
    assert "in 2 of 4 rows" in picture.caption
    rings = [(2, 1), (4, 3)]
    assert replace(picture, rule=TermWeights(("previous",), (2.0,))).strongest[2] == rings


def test_sentences_that_were_found_are_saved_as_maps_of_one_head(
    folder: Path, translator: Translator
) -> None:
    site = Site(AttentionKind.CROSS, 1)
    traces = [translator.trace(text) for text in ("The cat sat on the mat.", "A man sees the dog.")]
    picture = FoundMaps(traces, site, 2, "2 of 9 sentences have these words.")
    for layout in LAYOUTS:
        drawn = picture.figure(layout).data[:2]
        for trace, each in zip(traces, drawn, strict=True):
            np.testing.assert_array_equal(each.z, trace.maps[site].weights[2])
    require_same(picture, folder)
    assert all(trace.source_text in picture.alt for trace in traces)


def test_a_pattern_is_saved_beside_the_heads_that_look_there(
    folder: Path, translator: Translator
) -> None:
    trace = translator.trace("The cat sat on the mat.")
    rows, keys = trace.maps[Site(AttentionKind.ENCODER, 0)].weights.shape[1:]
    drawn = np.eye(rows, keys, -1, dtype=np.bool_)
    picture = DrawnHeads(trace, AttentionKind.ENCODER, encode(drawn))
    pattern, *heads = picture.panels
    best = matches(trace.maps, drawn, AttentionKind.ENCODER)[: len(heads)]
    np.testing.assert_array_equal(pattern.values == DRAWN, drawn)
    for panel, match in zip(heads, best, strict=True):
        np.testing.assert_array_equal(panel.values, trace.maps[match.site].weights[match.head])
    require_same(picture, folder)


def test_a_small_map_has_a_cell_for_each_weight_and_no_markup_of_tokens(
    translator: Translator,
) -> None:
    attention = translator.trace("A man sees the <dog>.").maps[Site(AttentionKind.DECODER, 0)]
    image = small_map(attention, 1)
    svg = b64decode(image.partition("base64,")[2].partition('"')[0]).decode()
    assert svg.count("<rect") == int(attention.allowed.sum())
    assert "<dog" not in svg


def test_its_python_reads_the_survey_again(
    survey: CorpusSurvey, folder: Path, translator: Translator
) -> None:
    save_survey(folder, survey)
    site = Site(AttentionKind.ENCODER, 0)
    lines = HeadSpread(survey, str(folder), site, 1).python(Layout())
    scope: dict[str, object] = {}
    *rest, last = lines
    exec("\n".join(["import headscope as hs", *rest, f"figure = {last}"]), scope)
    drawn = HeadSpread(survey, str(folder), site, 1).figure(Layout())
    found = scope["figure"]
    assert np.allclose(found.data[-1].x, drawn.data[-1].x, atol=1e-3)  # type: ignore[attr-defined]
