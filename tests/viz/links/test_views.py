"""What the address of each page takes, and what it names as illegal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.links.parameters import parse, write
from viz.registry.pages import VIEWS

ILLEGAL = {
    "heads": {
        "attention": ["Cross", "", "<script>alert(1)</script>", "$x$" * 1000],
        "layer": ["-1", "1.5", "", "x", "<b>1</b>", "*1*", "1e9", "０", "1000"],
        "view": ["", "Lines", "list"],
        "cell": ["1", "1.2.3", "-1.2", "1.x", "1,2", "1.2\n", "11111.1"],
        "range": ["1-2", "1-2.3", "-1-2.3-4", "1-2.3-4.5-6", "1-2.3-x", "11111-2.3-4"],
        "compare": ["1", "1.2-", "-1.2", "1.2 1.3", "-".join(["1.2"] * 9)],
        "order": ["best", "Entropy"],
        "faint": ["-1", "5", "0.5"],
        "only": ["layer", "layer.", "head.x", "query.1"],
        "off": ["1.2", "module.0.0", "cross.1.2-", "<b>"],
        "below": ["", "Facts", "../.."],
    },
    "positions": {
        "topic": ["Table", "", "../..", "<script>alert(1)</script>"],
        "length": ["512", "all"],
        "waves": ["x", "0,1", "0.1.", ".".join("123456789"), "99999", "0.-1"],
        "pair": ["-1", "1.5", "", "x", "4096", "٣"],
        "at": ["-1", "1e3", "4096"],
        "scale": ["101", "-1", "0.5", "50%"],
        "shift": ["17", "-17", "x"],
        "side": ["Both", "left"],
        "shuffled": ["a.b", "1..2", "1,0", "-1.0", "1000.0", ".".join(["0"] * 513)],
        "d_model": ["1", "1025", "x"],
        "rows": ["0", "1", "1025"],
        "base": ["1", "0", "1e4", "100001"],
    },
}


@pytest.mark.parametrize(
    ("page", "name", "value"),
    [
        (page, name, value)
        for page, illegal in ILLEGAL.items()
        for name, values in illegal.items()
        for value in values
    ],
)
def test_an_illegal_value_is_named_and_the_usual_one_taken(
    page: str, name: str, value: str
) -> None:
    parameters = VIEWS[page].parameters
    values, notices = parse({name: value}, parameters)
    assert values == {each.name: each.default for each in parameters}
    assert notices.keys() == {name}
    assert notices[name].startswith(f"The address asks for {name} “")
    assert len(notices[name]) < 300


@pytest.mark.parametrize("page", VIEWS)
@given(text=st.text(st.characters(codec="utf-8")))
def test_any_text_gives_a_legal_value_on_every_page(page: str, text: str) -> None:
    parameters = VIEWS[page].parameters
    values, _ = parse({each.name: text for each in parameters}, parameters)
    assert parse(write(values, parameters), parameters) == (values, {})
