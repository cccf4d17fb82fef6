import json
import pickle
from typing import Any

import pytest

from model.trace.attention_map import AttentionKind, Site, TraceError
from model.trace.head import Head

CROSS_3_5 = Head(Site(AttentionKind.CROSS, 3), 5)


@pytest.mark.parametrize(
    "named",
    [
        ("cross", 3, 5),
        [AttentionKind.CROSS, 3, 5],
        (Site(AttentionKind.CROSS, 3), 5),
        CROSS_3_5,
        str(CROSS_3_5),
        CROSS_3_5.name,
        CROSS_3_5.short_name,
        " cross layer 3 head 5 ",
        "cross attention, layer 3, head 5",
    ],
)
def test_a_head_is_read_as_people_write_it(named: Any) -> None:
    assert Head.of(named) == CROSS_3_5
    assert type(Head.of(named)) is Head


@pytest.mark.parametrize("kind", [AttentionKind.ENCODER, AttentionKind.DECODER])
def test_names_are_read_back(kind: AttentionKind) -> None:
    head = Head(Site(kind, 11), 0)
    assert Head.of(str(head)) == Head.of(head.name) == Head.of(head.short_name) == head


@pytest.mark.parametrize(
    "named",
    [
        *("cross.3", "cross.3.5.1", "crossing.3.5", "cross.3.-5", "", "3.5", 5, None),
        *(("cross", 3), ("cross", -1, 2), ("cross", 1, -2), ("cross", 1.5, 2), ("x", 1, 2)),
        ("cross", 1, 2, 3),
    ],
)
def test_what_names_no_head_is_refused(named: Any) -> None:
    with pytest.raises(TraceError, match=r'as in \("cross", 2, 3\)'):
        Head.of(named)


def test_it_prints_as_people_write_it() -> None:
    assert f"{CROSS_3_5} {[CROSS_3_5]!r}" == "cross.3.5 [cross.3.5]"


def test_it_stands_for_the_pair_in_older_files() -> None:
    pair = (Site(AttentionKind.CROSS, 3), 5)
    assert {CROSS_3_5: 1}[pair] == 1  # type: ignore[index]
    assert pickle.loads(pickle.dumps(CROSS_3_5)) == CROSS_3_5
    assert json.dumps(str(CROSS_3_5)) == '"cross.3.5"'


def test_heads_sort_by_site_then_number() -> None:
    first, second = Head.of("encoder.1.0"), Head.of("decoder.0.2")
    assert sorted([CROSS_3_5, second, Head.of("decoder.0.1"), first]) == [
        first,
        Head.of("decoder.0.1"),
        second,
        CROSS_3_5,
    ]
