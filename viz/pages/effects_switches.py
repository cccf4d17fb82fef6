"""Heads that are switched off: the fields for them, and what the model then writes."""

from typing import Any

import streamlit as st

from model.contrast.results import Contrast
from model.trace.attention_map import Site, Tokens
from model.trace.head import Head
from viz.draw import style
from viz.draw.labels import axis_texts, escape_markdown
from viz.draw.word_diff import translations_html, typed_in
from viz.effects.contrasted import moved
from viz.effects.effect_map import change_words
from viz.effects.price import price, price_words
from viz.effects.view import KEYS, VIEW, WAYS, EffectsView
from viz.links.head_refs import ALL_HEADS, MOST_HEADS
from viz.service import session
from viz.service.jobs.examples import average_heads
from viz.service.questions import OfModel
from viz.service.results import Outcome
from viz.shell import address
from viz.shell.head_picker import choose_heads
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, options

NO_MEANS = (
    "Replacing a head by its mean needs the model’s examples, and this model has none. Choose "
    "another way to switch heads off below."
)


ADDED = 4
"""How many more heads the button switches off: those with the largest effects."""


OFF_PARAMETER = VIEW.parameter("off")


OFF = KEYS("heads-off")
"""The key of the field of heads; the address has them as one text."""


def show_switches(view: EffectsView, ranked: list[tuple[Site, int, float]]) -> None:
    """Heads to switch off, and behind a button several at once and what is done to them."""
    names = {
        str(head): f"{head.short_name} ({style.number(loss)})"
        for site, number, loss in ranked
        for head in [Head(site, number)]
    }
    choose_heads(
        "Heads switched off, largest effects first",
        names,
        view.off,
        key=OFF,
        parameter="off",
        placeholder="None: choose a head, or click one above",
    )
    with options(KEYS("options")):
        show_buttons(view, ranked)
        menu("How to switch them off", WAYS, key=KEYS("way"), width=250)
        if view.way == "gate":
            st.slider(
                "Remaining share",
                0,
                99,
                view.gate,
                key=KEYS("gate"),
                format="%d%%",
                width=220,
                help="A factor before W_O; 0% removes the head.",
            )


def show_buttons(view: EffectsView, ranked: list[tuple[Site, int, float]]) -> None:
    """Buttons for several heads: those that matter most, all of a layer, none."""
    off = set(view.off)
    added = [head for site, number, _ in ranked if (head := Head(site, number)) not in off][:ADDED]
    st.button(
        f"Switch off the next {ADDED} by effect",
        icon=":material/trending_up:",
        key=KEYS("off-more"),
        on_click=address.change,
        kwargs={"off": (*view.off, *added)},
        disabled=not added or len(off) + len(added) > MOST_HEADS,
    )
    sites = sorted({site for site, _, _ in ranked})
    st.menu_button(
        "Switch off a layer",
        sites,
        key=KEYS("off-layer"),
        icon=":material/layers:",
        format_func=lambda site: f"{site.kind.full_name}, layer {site.layer}",
        on_click=switch_layer,
        args=(sum(site == sites[0] for site, _, _ in ranked),),
    )
    st.button(
        "All on",
        icon=":material/undo:",
        key=KEYS("off-none"),
        on_click=address.change,
        kwargs={"off": ()},
        disabled=not off,
    )


def switch_head(*cell: Any) -> None:
    """Switch the head of a clicked cell off, or on again; `cell` comes from a browser."""
    view = address.read(EffectsView)
    try:
        (head,) = OFF_PARAMETER.parse("{}.{}.{}".format(*cell))
    except (IndexError, TypeError, ValueError):
        # No map of this page sends that.
        return
    heads = [each for each in view.off if each != head]
    if len(heads) == len(view.off) < MOST_HEADS:
        heads.append(head)
    address.change(off=tuple(heads))


def switch_layer(n_heads: int) -> None:
    """Switch every head of the chosen site off."""
    site = st.session_state[KEYS("off-layer")]
    heads = dict.fromkeys(
        [*address.read(EffectsView).off, *((site, head) for head in range(n_heads))]
    )
    address.change(off=tuple(heads)[:MOST_HEADS])


def show_without(question: OfModel, view: EffectsView) -> None:
    """The translation without the heads beside the model's own, and the loss."""
    both = outcomes(question, view)
    if both is None:
        hint(NO_MEANS)
        return
    st.html(written_html(question, view, *both))
    before, after = (each.forced for each in both)
    assert before.log_probs is not None, "every trace of a translator holds them"
    assert after.log_probs is not None, "every trace of a translator holds them"
    words = price_words(before.predictions, before.log_probs, after.log_probs)
    st.markdown(escape_markdown(words))


def outcomes(question: OfModel, view: EffectsView) -> tuple[Outcome, Outcome] | None:
    """With all heads, and with some switched off; None where these need means and have none."""
    means = session.ask(average_heads(question.version)) if view.way == "mean" else {}
    if view.way == "mean" and not means:
        return None
    return session.run(question), session.run(question, view.intervention(means))


def written_html(question: OfModel, view: EffectsView, before: Outcome, after: Outcome) -> str:
    """Both translations as HTML, and the typed target."""
    typed = typed_in(question.target, before.forced.log_probs, after.forced.log_probs)
    names = (ALL_HEADS, view.changed_heads)
    return translations_html(before.free.text, after.free.text, names, dark=is_dark(), typed=typed)


def change_of(
    view: EffectsView, predictions: Tokens, both: tuple[Outcome, Outcome], contrast: Contrast | None
) -> str:
    """What the heads that are switched off change in what the map is about, in plain text."""
    done = view.changed_heads
    if contrast is not None and view.way == "gate" and not view.gate and len(view.off) == 1:
        ((site, head),) = view.off
        likeliest = contrast.likeliest[site].at([head])
        return f"{done}, {moved(contrast, contrast.without[site][head], likeliest)}."
    before, after = (each.forced.log_probs for each in both)
    assert before is not None, "every trace of a translator holds them"
    assert after is not None, "every trace of a translator holds them"
    place = view.place if contrast is None else contrast.step
    if place is None:
        return f"{done}, the unchanged translation is {price(before, after)}."
    loss = float(before[place] - after[place])
    token = axis_texts(predictions)[place]
    return f"{done}, “{token}” {change_words(float(before[place]), loss)}."
