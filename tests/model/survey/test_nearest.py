"""Heads matched by behaviour: copies are found wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest

from model.survey.nearest import matched, nearest
from model.survey.probes import PROBES, probed
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS


@pytest.fixture(scope="module")
def measured(translator: Translator) -> dict[Site, FloatArray]:
    # The tiny model can read only its own sentences.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("model.survey.probes.PROBES", PAIRS)
        return dict(probed(translator))


def test_every_survey_measures_the_same_sentences(measured: dict[Site, FloatArray]) -> None:
    assert len(set(PROBES)) == len(PROBES)
    assert {each.shape[:2] for each in measured.values()} == {(4, len(PAIRS))}


def test_every_head_of_a_copy_finds_its_own_one_to_one(measured: dict[Site, FloatArray]) -> None:
    turned = {site: heads[::-1] for site, heads in measured.items()}
    found = matched(measured, turned)
    assert found == {(site, head): (site, 3 - head) for site in measured for head in range(4)}
    # With fewer heads there, some stay alone; measured on other sentences, all do.
    fewer = {site: heads[:1] for site, heads in measured.items()}
    some = matched(measured, fewer)
    assert len(some) == len(set(some.values())) == len(measured)
    assert not matched(measured, {site: heads[:, 1:] for site, heads in measured.items()})
    assert not matched(measured, {})


def test_a_permuted_copy_is_recovered_and_beats_the_null(
    measured: dict[Site, FloatArray],
) -> None:
    sites = list(measured)
    generator = np.random.default_rng(0)
    order = {site: generator.permutation(4) for site in sites}
    # Layers of one kind change places too.
    moved = {
        site: measured[same[-1 - same.index(site)]][order[site]]
        for site in sites
        for same in [[each for each in sites if each.kind is site.kind]]
    }
    closer = 0
    for site in sites:
        same = [each for each in sites if each.kind is site.kind]
        there = same[-1 - same.index(site)]
        for head in range(4):
            best = nearest(measured[site][head], moved, site.kind)[0]
            assert best.difference == pytest.approx(0)
            assert (best.site, best.head) == (there, list(order[there]).index(head))
            closer += best.difference < best.by_chance
    assert closer == 4 * len(sites)


def test_only_heads_of_the_same_kind_are_matched(measured: dict[Site, FloatArray]) -> None:
    own = measured[Site(AttentionKind.ENCODER, 0)][0]
    found = nearest(own, measured, AttentionKind.CROSS, most=2)
    assert [each.site.kind for each in found] == [AttentionKind.CROSS] * 2
    assert found[0].difference <= found[1].difference
