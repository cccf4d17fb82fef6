"""The functions that notebooks of older versions call: they draw what the pictures draw."""

from __future__ import annotations

from pathlib import Path

import headscope as hs
from model.explain.alignment_file import read_alignment
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.save.picture import Layout

SENTENCE = "The cat sat on the mat."
NARROW = {"narrow": True, "dark": True}


def test_functions_of_older_notebooks_draw_the_pictures(
    folder: Path, translator: Translator
) -> None:
    figures, trace = hs.figures, translator.trace(SENTENCE)
    effects, cross = hs.effects(translator, SENTENCE), Site("cross", 1)
    losses = figures.EffectMap(effects, 1)
    title = figures.effect_title(effects, 1)
    maps = figures.cross_attributions(translator, trace)
    self_maps = figures.self_attributions(translator, trace, Site("decoder", 1))
    lens, table = translator.logit_lens(trace), read_alignment(folder)
    for drawn, picture in (
        (figures.effect_figure(effects.of(1), title, **NARROW), losses),
        (
            figures.beside_figure(maps, "norms", cross, 2, later=True, token=1, **NARROW),
            figures.MapBesideTruth(maps, SENTENCE, "", cross, 2, True, 1, "norms"),
        ),
        (
            figures.self_figure(self_maps, "rollout", 2, row=1, **NARROW),
            figures.SelfMap(self_maps, SENTENCE, "", 2, 1, "rollout"),
        ),
        (figures.alignment_figure(table, **NARROW), figures.AlignmentMap(table, "")),
        (figures.lens_figure(lens, "", **NARROW), figures.LayerLens(lens, SENTENCE)),
    ):
        assert drawn.to_json() == picture.figure(Layout(narrow=True, dark=True)).to_json()


def test_functions_of_older_notebooks_draw_heads(trace: Trace) -> None:
    figures, seen = hs.figures, hs.read(trace, hs.Reading(predicted=True))
    one, row = seen.maps[Site("cross", 1)], "Query: target token predicted"
    maps, _ = figures.chosen_maps(seen, "decoder")
    for drawn, picture in (
        (figures.head_figure(seen, "cross", 1, 2, **NARROW), figures.OneHead(seen, one.site, 2)),
        (
            figures.lines_figure(one, 2, query_title=row, sides=True, **NARROW),
            figures.HeadLines(seen, one.site, 2),
        ),
        (
            figures.query_key_figure(one, 2, 3, 1, sides=True, dark=True),
            figures.QueryKey(seen, one.site, 2, 3, 1),
        ),
        (figures.heads_overview(maps, [3], **NARROW), figures.EveryHead(seen, "decoder", None, 3)),
        (
            figures.panel_figure(figures.joint_panel(seen, 1, 2), **NARROW),
            figures.JointHeads(seen, 1, 2),
        ),
        (
            figures.panel_figure(figures.compared_panels(seen, "cross", [(1, 2)])[0], **NARROW),
            figures.ComparedHeads(seen, "cross", [(1, 2)]),
        ),
    ):
        if isinstance(picture, figures.ComparedHeads):
            assert (drawn.data[0].z == picture.panels[0].values).all()
        else:
            assert drawn.to_json() == picture.figure(Layout(narrow=True, dark=True)).to_json()


def test_a_lens_of_older_notebooks_takes_a_title(translator: Translator) -> None:
    lens = translator.logit_lens(translator.trace(SENTENCE))
    figures = hs.figures
    assert figures.lens_figure(lens, "Mine").layout.title.text == "Mine"


def test_panels_of_older_notebooks_are_those_of_the_pictures(translator: Translator) -> None:
    figures, trace = hs.figures, translator.trace(SENTENCE)
    masks = figures.batch_masks([trace], 0)
    a, b, titles = masks["decoder"], masks["causal"], ("A: “one”", "B: C: other")
    both = figures.TwoMasks(
        figures.NamedMask("1.decoder", "“one”", a), figures.NamedMask("1.causal", "C: other", b)
    )
    at = figures.HeadInBatch((SENTENCE,), 0, "", "decoder", 1, 2)
    seen = trace.attention("decoder", 1)
    steps = figures.head_steps(seen, 2)
    sides = [(trace.predictions, trace.log_probs)] * 2
    probable = figures.LogProbs(at, both, tuple(sides)).figure(Layout(narrow=True, dark=True))
    for drawn, picture in (
        (figures.compared_masks(a, b, titles), figures.ComparedMasks(at, both)),
        (figures.factor_panels(masks), figures.DecoderFactors(at, masks)),
        (figures.other_panels(masks), figures.OtherMasks(at, masks)),
        (
            figures.step_panels(seen, steps, limit=2.0, longest=1.0, hatched=True),
            figures.HeadSteps(at, seen, steps, 2.0, 1.0, True),
        ),
    ):
        again = figures.panels_figure(drawn, title=picture.title)
        assert again.to_json() == picture.figure(Layout()).to_json()
    bars = figures.log_prob_bars(*sides[0], *sides[1], ("A", "B"), **NARROW)
    assert bars.to_json() == probable.to_json()


def test_heads_that_older_notebooks_write_as_a_text_are_switched_off() -> None:
    cross, encoder = (Site("cross", 1), 2), (Site("encoder", 0), 1)
    changes = hs.figures.Changes("", "cross.1.2-encoder.0.1")
    assert changes == hs.figures.Changes(off=(cross, encoder))
    assert changes.under == hs.Intervention(heads={cross: 0, encoder: 0})
