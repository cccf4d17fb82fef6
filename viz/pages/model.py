"""The first page: the paper's Figure 1 with a sentence in it, which is the way to all else."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.browser.model_view import model_view
from viz.draw import css
from viz.model_page.payload import pack
from viz.model_page.place import MODEL, Place, place_in, title_of
from viz.model_page.view import VIEW, ModelPageView
from viz.pages.model_acts import acts_of, show_act
from viz.pages.model_figure import asks_of, figure_of, key_of, open_asked
from viz.pages.model_pictures import pictures_at
from viz.registry.pages import SENTENCE, TARGET
from viz.service import session
from viz.service.model_menu import copies
from viz.service.questions import ModelQuestion, Question
from viz.shell import address, stage
from viz.shell.save_menu import save_button

KEY = VIEW.keys()

RESTS = ("moment", "place", "walk")
"""What the browser tells of where it came to rest."""

_SHOWN: Kept[str | None] = Kept(VIEW.keys("shown"), nothing)
"""What tells the sentence that was shown last from others."""

_KNOWN: Kept[ModelPageView | None] = Kept(VIEW.keys("known"), nothing)
"""What the browser shows of it."""

_SENT: Kept[tuple[int, ModelPageView]] = Kept(VIEW.keys("sent"), lambda: (0, ModelPageView()))
"""How many views the browser was sent that it did not come to itself, and the last of them."""


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
        _KNOWN.value = address.read(ModelPageView)


def _reached(name: str, value: Any) -> Any:
    """One of RESTS as a browser, and so anyone, gives it; ValueError for what it cannot be."""
    parameter = VIEW.parameter(name)
    if type(value) is not type(parameter.default):
        raise ValueError(value)
    return parameter.parse(str(value))


def on_example(question: Question) -> None:
    """Go on to the next example, as a picture that nobody watches asks."""
    if address.is_followed() or not isinstance(question, ModelQuestion):
        return
    examples = session.examples(question.folder)
    if not address.read(ModelPageView).kiosk or not examples:
        return
    sources = [each.source for each in examples]
    place = sources.index(question.sentence) + 1 if question.sentence in sources else 0
    example = examples[place % len(examples)]
    address.put(SENTENCE, example.source)
    # It cannot write them by itself.
    address.put(TARGET, example.translation if copies(question.folder) else "")
    address.change(moment=0, play=False, place="", walk=0)


def sent_view() -> tuple[int, ModelPageView]:
    """What the browser is sent: the same until a link, a scene or Back leads elsewhere."""
    if KEY not in st.session_state:
        # Another page was shown meanwhile, and this picture knows nothing yet.
        _KNOWN.value = None
    view = address.read(ModelPageView)
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
    act = address.read(ModelPageView).act
    if act and isinstance(question, ModelQuestion):
        show_act(question, act)
        return
    st.html(css.MODEL_CSS)
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
                acts=acts_of(question),
                stage=stage.is_on(),
                asks=asks_of(question),
                gives=True,
            ),
            key=KEY,
            on_open=partial(open_asked, KEY),
            on_rested=partial(on_rested, key, n_moments),
            on_example=partial(on_example, question),
        )
    # Where the browser is by now, which may be elsewhere than it was sent.
    now = address.read(ModelPageView)
    place = place_in(figure, now.place)
    if stage.is_on():
        stage.say(title_of(place, figure))
        stage.offer(keys_at(place, now.walk, walks=isinstance(question, ModelQuestion)))
        return
    save_button(pictures_at(place, figure, question), KEY, question=question)
