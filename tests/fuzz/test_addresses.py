"""Any address: each parameter of each page, as the pages declare them."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from model.trace.attention_map import AttentionKind
from tests.kit.fuzz import (
    LINK,
    MARKUP,
    altered,
    cases,
    json_values,
    limits,
    numbers,
    require_sentence,
    texts,
)
from viz.links import mask_edits
from viz.links.parameters import Parameter, View, parse, write
from viz.registry import pages

MASK = mask_edits.write([mask_edits.Edit(AttentionKind.DECODER, None, np.tri(4, dtype=np.bool_))])


def parameters(view: View) -> tuple[Parameter, ...]:
    return (*view.parameters, *(pages.SHARED if view.asks else ()), *pages.AROUND)


def written(parameter: Parameter) -> st.SearchStrategy[str]:
    """What might stand in an address under a name: what its table tells, and anything else."""
    told = re.findall(r"`([^`]+)`", parameter.values) + re.findall(
        r"(?:such as|:) ([^\s,]+)", f"{parameter.values} {parameter.meaning}"
    )
    default = "" if parameter.default is None else parameter.write(parameter.default)
    places = st.from_regex(r"[0-9]{1,4}([.-][0-9]{1,4}){0,9}", fullmatch=True)
    legal = st.sampled_from([*told, default, MASK, "0", "1", "2", "3.1", "en-de", "The cat eats."])
    return st.one_of(legal, legal, places, numbers().map(str), texts())


def queries(view: View) -> st.SearchStrategy[dict[str, str]]:
    usual = st.fixed_dictionaries(
        {}, optional={each.name: written(each) for each in parameters(view)}
    )
    # Mostly a few, so that what one asks for is reached and not refused before.
    names = st.lists(st.sampled_from([each.name for each in parameters(view)]), max_size=4)
    few = names.flatmap(
        lambda names: st.fixed_dictionaries(
            {each.name: written(each) for each in parameters(view) if each.name in names}
        )
    )
    unknown = st.dictionaries(texts(2), texts(2), max_size=2)
    return st.builds(lambda known, other: {**other, **known}, few | usual, unknown)


@pytest.mark.parametrize("name", pages.VIEWS)
@cases(1000)
@given(data=st.data())
def test_any_address_is_read_or_refused_in_sentences(name: str, data: st.DataObject) -> None:
    view = pages.VIEWS[name]
    query = data.draw(queries(view))
    with limits(seconds=2, megabytes=64):
        values, notices = parse(query, parameters(view))
    for notice in notices.values():
        require_sentence(notice)
    assert set(values) == {each.name for each in parameters(view)}
    again, wrong = parse(write(values, parameters(view)), parameters(view))
    assert (again, wrong) == (values, {})


# ---- pages ---------------------------------------------------------------------------------------


def shown(app: AppTest) -> Iterator[tuple[str, bool]]:
    """Every text that the browser would take for Markdown or for markup, and which it is."""
    for block in (app.main, app.sidebar):
        for element in block:
            proto = getattr(element, "proto", None)
            kind = getattr(element, "type", "")
            if kind == "html":
                yield proto.body, True
            elif kind in ("markdown", "caption", "alert", "error", "warning", "info", "success"):
                yield proto.body, bool(getattr(proto, "allow_html", False))
            elif label := getattr(proto, "label", ""):
                yield label, False


def require_harmless(app: AppTest) -> None:
    """Fails for a traceback, and for a person's text that is not shown as text."""
    assert not app.exception, app.exception
    for text, is_markup in shown(app):
        assert LINK not in text, text
        assert "![xfuzz](" not in text, text
        assert not is_markup or MARKUP not in text, text


@pytest.mark.parametrize("name", pages.VIEWS)
@cases(60)
@given(data=st.data())
def test_any_address_opens_its_page_without_a_traceback_or_markup(
    open_page, name: str, data: st.DataObject
) -> None:
    view = pages.VIEWS[name]
    # Half a character never comes through a browser.
    query = {
        key.encode(errors="replace").decode(): text.encode(errors="replace").decode()
        for key, text in data.draw(queries(view)).items()
    }
    with limits(seconds=60, megabytes=512):
        require_harmless(open_page(view, query))


METRICS = {
    **{"steps": 10, "target_tokens": 1e6, "longest": {"source": 9, "target": 9}},
    "test": {
        **{"bleu": 30.0, "chrf": 50.0, "sentences": 100, "data": "some"},
        **{"near": {"sentences": 1, "bleu": 2}, "far": {"sentences": 1, "bleu": 2}},
    },
}


@pytest.mark.parametrize("name", ["about", "positions"])
@cases(60)
@given(metrics=altered(METRICS) | json_values().map(lambda value: {"test": value}))
def test_whatever_a_checkpoint_says_of_itself_no_page_shows_a_traceback_or_markup(
    open_page, checkpoints: Path, name: str, metrics: dict
) -> None:
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(checkpoints / "en-de", Path(parent) / "en-de")
        (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
        with limits(seconds=60, megabytes=512):
            require_harmless(open_page(pages.VIEWS[name], {"topic": "learned"}, Path(parent)))
