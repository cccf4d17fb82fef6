"""The first page: the paper's Figure 1 with a sentence in it, which is the way to all else."""

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from model.explain.alignment_file import read_alignment
from model.explain.reading import AS_RECORDED
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.browser.model_view import model_view
from viz.draw import css
from viz.links.parameters import write
from viz.model_page.arcs import arcs_of
from viz.model_page.asking import asks
from viz.model_page.payload import Figure, pack
from viz.model_page.picture import figure_of_model
from viz.model_page.place import MODEL, Place, place_in, title_of
from viz.model_page.view import VIEW, DoorView
from viz.pages.door_pictures import pictures_at
from viz.pages.heads_trace import prepare
from viz.registry.pages import SENTENCE, SHARED, TARGET, VIEWS
from viz.service import session
from viz.service.model_menu import copies
from viz.service.questions import OfModel, Question
from viz.shell import address, stage
from viz.shell.save_menu import save_button

KEY = VIEW.keys()

RESTS = ("moment", "place", "walk")
"""What the browser tells of where it came to rest."""

_SHOWN: Kept[str | None] = Kept(VIEW.keys("shown"), nothing)
"""What tells the sentence that was shown last from others."""

_KNOWN: Kept[DoorView | None] = Kept(VIEW.keys("known"), nothing)
"""What the browser shows of it."""

_SENT: Kept[tuple[int, DoorView]] = Kept(VIEW.keys("sent"), lambda: (0, DoorView()))
"""How many views the browser was sent that it did not come to itself, and the last of them."""


def figure_of(question: Question) -> Figure:
    """All that the picture shows of what is asked; of a whole Transformer, the blocks as well."""
    prepared = prepare(question, AS_RECORDED)
    if isinstance(question, OfModel):
        return figure_of_model(
            session.translator(question.checkpoint),
            prepared.trace,
            prepared.seen,
            prepared.facts,
            # Of a snapshot, only the finished model's heads were held against alignments.
            table=read_alignment(question.folder) if question.snapshot is None else None,
            blocks=session.ask(question.read_blocks),
            labels=prepared.labels,
            pages=list(VIEWS),
        )
    return Figure(
        trace=prepared.trace,
        seen=prepared.seen,
        facts=prepared.facts,
        arcs=arcs_of(prepared.trace, None),
        positions={},
        labels=prepared.labels,
        pages=[name for name, view in VIEWS.items() if not view.without_model],
    )


def key_of(question: Question) -> str:
    """What tells one sentence of one model from another."""
    checkpoint = question.checkpoint if isinstance(question, OfModel) else question.name
    written = repr((checkpoint, question.texts)).encode()
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def asks_of(question: Question) -> dict[str, Any] | None:
    """Where the browser asks for more, and about what; None without a model that answers."""
    if not isinstance(question, OfModel):
        return None
    return asks(
        question.name, question.sentence, target=question.target, snapshot=question.snapshot
    )


def on_open() -> None:
    """Go to a block's page, with the sentence and what was selected."""
    asked = message_of(KEY, "open")
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
    for name in ("attention", "layer", "head", "cell", "off", "section", "at"):
        try:
            if name in known:
                values[name] = known[name].parse(str(asked.get(name)))
        except ValueError:
            continue
    return write(values, known.values())


def on_rested(key: str, n_moments: int) -> None:
    """Keep the step and the place at which the browser came to rest."""
    rested = message_of(KEY, "rested")
    if not isinstance(rested, Mapping) or address.is_followed():
        return
    if (rested.get("key"), rested.get("epoch")) != (key, _SENT.value[0]):
        return
    try:
        reached = {name: _reached(name, rested[name]) for name in RESTS if name in rested}
    except ValueError:
        return
    if reached.get("moment", 0) <= n_moments:
        address.change(**reached, play=False)
        _KNOWN.value = address.read(DoorView)


def _reached(name: str, value: Any) -> Any:
    """One of RESTS as a browser, and so anyone, gives it; ValueError for what it cannot be."""
    parameter = VIEW.parameter(name)
    if type(value) is not type(parameter.default):
        raise ValueError(value)
    return parameter.parse(str(value))


def on_example(question: Question) -> None:
    """Go on to the next example, as a picture that nobody watches asks."""
    if address.is_followed() or not isinstance(question, OfModel):
        return
    examples = session.examples(question.folder)
    if not address.read(DoorView).kiosk or not examples:
        return
    sources = [each.source for each in examples]
    place = sources.index(question.sentence) + 1 if question.sentence in sources else 0
    example = examples[place % len(examples)]
    address.put(SENTENCE, example.source)
    # It cannot write them by itself.
    address.put(TARGET, example.translation if copies(question.folder) else "")
    address.change(moment=0, play=False, place="", walk=0)


def sent_view() -> tuple[int, DoorView]:
    """What the browser is sent: the same until a link, a scene or Back leads elsewhere."""
    if KEY not in st.session_state:
        # Another page was shown meanwhile, and this picture knows nothing yet.
        _KNOWN.value = None
    view = address.read(DoorView)
    if view != _KNOWN.value:
        _KNOWN.value = view
        _SENT.value = _SENT.value[0] + 1, view
    return _SENT.value


def keys_at(place: Place, stop: int, *, walks: bool) -> str:
    """What keys do on stage, in a few words.

    Args:
        stop: of the walk, counted from 1; 0 where nobody walks.
    """
    if stop:
        return "Left and right: stop of the walk"
    keys = "Arrow keys: neighbours"
    if place == MODEL:
        keys = "Arrow keys: step and layer · K: play · +: closer"
    elif place.at in ("stack", "block", "head", "row"):
        keys += " · Enter: closer"
    return f"{keys} · W: walk" if walks else keys


def show(question: Question) -> None:
    """The figure, for a question that has an answer."""
    st.html(css.DOOR_CSS)
    key = key_of(question)
    if _SHOWN.value not in (None, key) and not address.is_followed():
        # Another sentence plays from its beginning.
        address.change(moment=0, play=False, walk=0)
    _SHOWN.value = key
    epoch, view = sent_view()
    figure = figure_of(question)
    n_moments = max(len(figure.trace.target), len(figure.arcs.weights))
    with stage.picture():
        model_view(
            pack(
                figure,
                key=key,
                epoch=epoch,
                moment=view.moment,
                play=view.play,
                place=view.place,
                walk=view.walk,
                kiosk=view.kiosk,
                stage=stage.is_on(),
                asks=asks_of(question),
            ),
            key=KEY,
            on_open=on_open,
            on_rested=partial(on_rested, key, n_moments),
            on_example=partial(on_example, question),
        )
    # Where the browser is by now, which may be elsewhere than it was sent.
    now = address.read(DoorView)
    place = place_in(figure, now.place)
    if stage.is_on():
        stage.say(title_of(place, figure))
        stage.offer(keys_at(place, now.walk, walks=isinstance(question, OfModel)))
        return
    save_button(pictures_at(place, figure, question), KEY, question=question)
