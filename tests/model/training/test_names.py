"""Other names for Tom and Mary."""

import re

from hypothesis import given
from hypothesis import strategies as st

from model.survey.parallel_text import Pair
from model.training.names import MEN, WOMEN, renamed

TOM = Pair("Tom said Tom's dog is old.", "Tom sagte, Toms Hund sei alt.")
BOTH = Pair("Tom loves Mary.", "Tom liebt Maria.")
NOBODY = Pair("The tomato is red.", "Die Tomate ist rot.")


def test_both_sides_get_the_same_name_and_keep_their_endings():
    for seed in range(40):
        [changed] = renamed([TOM], 1.0, seed)
        found = re.fullmatch(r"(\w+) said (\w+)'s dog is old\.", changed.source)
        if changed == TOM:
            # A name on s, x or z has no genitive with an s.
            continue
        assert found is not None
        assert found[1] == found[2]
        assert found[1] in MEN
        assert changed.target == f"{found[1]} sagte, {found[1]}s Hund sei alt."


def test_a_man_stays_a_man_and_a_woman_a_woman():
    changed = renamed([BOTH] * 50, 1.0, 3)
    assert {pair.source.split()[0] for pair in changed} <= set(MEN)
    assert {pair.source.split()[2].rstrip(".") for pair in changed} <= set(WOMEN)
    assert len(set(changed)) > 20
    for pair in changed:
        man, _, woman = pair.source.rstrip(".").split()
        assert pair.target == f"{man} liebt {woman}."


def test_pairs_that_do_not_name_them_equally_often_stay():
    uneven = Pair("Tom saw Tom.", "Tom sah sich.")
    assert renamed([uneven, NOBODY], 1.0, 1) == [uneven, NOBODY]


@given(st.integers(0, 2**31 - 1), st.floats(0, 1))
def test_the_same_seed_draws_the_same_names(seed, share):
    pairs = [TOM, BOTH, NOBODY] * 5
    assert renamed(pairs, share, seed) == renamed(pairs, share, seed)


def test_the_share_is_the_share_of_pairs_that_change():
    pairs = [BOTH] * 2000
    assert renamed(pairs, 0.0, 1) == pairs
    men = sum(not pair.source.startswith("Tom ") for pair in renamed(pairs, 0.3, 1))
    assert 500 < men < 700
