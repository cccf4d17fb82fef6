"""The picture of the model with what is asked in it, and where the browser asks for more."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model.explain.reading import AS_RECORDED
from viz.browser.asking import asks
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.draw.keys import Keys
from viz.heads.standalone import figure_of_trace
from viz.links.parameters import write
from viz.model_page.payload import Figure
from viz.model_page.picture import figure_of_model
from viz.pages.heads_trace import Prepared, prepare
from viz.registry.pages import SHARED, VIEWS
from viz.service import session
from viz.service.questions import ModelQuestion, Question
from viz.shell import address

SELECTED = (
    *("attention", "layer", "head", "view", "cell"),
    *("compare", "off", "section", "at", "act"),
)
"""What a picture may ask of the page that it opens."""

_SHOWN: Kept[tuple[Prepared, Figure] | None] = Kept(Keys("model_figure")("shown"), nothing)
"""What was shown last, whose arcs take time in a long text."""


def figure_of(question: Question) -> Figure:
    """All that the picture shows of what is asked; of a whole Transformer, the blocks as well."""
    prepared = prepare(question, AS_RECORDED)
    kept = _SHOWN.value
    if kept is None or kept[0] is not prepared:
        _SHOWN.value = kept = prepared, _figure(question, prepared)
    return kept[1]


def _figure(question: Question, prepared: Prepared) -> Figure:
    if isinstance(question, ModelQuestion):
        return figure_of_model(
            session.translator(question.checkpoint),
            prepared.trace,
            prepared.seen,
            prepared.facts,
            table=session.alignment(question.checkpoint),
            blocks=session.ask(question.read_blocks),
            labels=prepared.labels,
            pages=list(VIEWS),
        )
    figure = figure_of_trace(prepared.trace, prepared.seen, prepared.facts, prepared.labels)
    return replace(figure, pages=[name for name, view in VIEWS.items() if not view.without_model])


def key_of(question: Question) -> str:
    """What tells one sentence of one model from another."""
    checkpoint = question.checkpoint if isinstance(question, ModelQuestion) else question.name
    written = repr((checkpoint, question.texts)).encode()
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def asks_of(question: Question) -> dict[str, Any] | None:
    """Where the browser asks for more, and about what; None without a model that answers."""
    if not isinstance(question, ModelQuestion):
        return None
    return asks(
        question.name, question.sentence, target=question.target, snapshot=question.snapshot
    )


def open_asked(component: str) -> None:
    """Go to the page that the picture asks for, with the sentence and what was selected.

    Args:
        component: the key of the mounted picture.
    """
    asked = message_of(component, "open")
    page = asked.get("page") if isinstance(asked, Mapping) else None
    if not isinstance(page, str) or page not in VIEWS or address.is_followed():
        return
    view = VIEWS[page]
    _, query = address.current()
    shared = {each.name: query[each.name] for each in SHARED if each.name in query}
    address.navigate(view.name, (shared if view.asks else {}) | selected(view.name, asked))


def selected(page: str, asked: Mapping[str, Any]) -> dict[str, str]:
    """What a browser, and so anyone, asks a page to show, as far as it may be asked for."""
    known = {each.name: each for each in VIEWS[page].parameters}
    values: dict[str, Any] = {}
    for name in SELECTED:
        try:
            if name in known:
                values[name] = known[name].parse(str(asked.get(name)))
        except ValueError:
            continue
    return write(values, known.values())
