"""Heads that are switched off: the fields for them, and what the model then writes."""

from typing import Any

import streamlit as st

from model.contrast.results import Contrast
from model.trace.attention_map import Site
from model.trace.head import Head
from viz.draw import style
from viz.draw.labels import axis_texts, escape_markdown
from viz.draw.word_diff import change_line
from viz.effects.contrast_map import without_head
from viz.effects.effect_map import change_words
from viz.effects.price import price, price_words
from viz.effects.view import KEYS, VIEW, WAYS, EffectsView
from viz.links.head_refs import MOST_HEADS
from viz.pages.effects_asked import Asked
from viz.service import session
from viz.service.jobs.examples import average_heads
from viz.service.results import Outcome
from viz.shell import address, tab_row
from viz.shell.head_picker import choose_heads
from viz.shell.theme import is_dark
from viz.shell.widgets import CAPTIONED, hint, menu, more, row

NO_MEANS = (
    "Replacing a head by its mean needs the model’s examples, and this model has none. Choose "
    "another way to switch heads off in Options."
)


ADDED = 4
"""How many more heads the button switches off: those with the largest effects."""


OFF_PARAMETER = VIEW.parameter("off")


OFF = KEYS("heads-off")
"""The key of the field of heads; the address has them as one text."""


def offer_switches(view: EffectsView, ranked: list[tuple[Site, int, float]]) -> None:
    """Behind *Options*: heads to switch off, several at once, and what is done to them."""
    names = {
        str(head): f"{head.short_name} ({style.number(loss)})"
        for site, number, loss in ranked
        for head in [Head(site, number)]
    }
    with tab_row.options():
        choose_heads(
            "Heads switched off, largest effects first",
            names,
            view.off,
            key=OFF,
            parameter="off",
            placeholder="None: choose a head, or click one on the map",
        )
        show_buttons(view, ranked)
        menu("How to switch them off", WAYS, key=KEYS("way"))
        if view.way == "gate":
            st.slider(
                "Remaining share",
                0,
                99,
                view.gate,
                key=KEYS("gate"),
                format="%d%%",
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


def show_without(asked: Asked, contrast: Contrast | None = None) -> None:
    """What the model writes without the heads that are off, in a line; what it costs in detail."""
    both = outcomes(asked) if asked.view.off else None
    if both is None:
        if asked.view.off:
            hint(NO_MEANS)
        return
    before, after = (each.forced.log_probs for each in both)
    assert before is not None, "every trace of a translator holds them"
    assert after is not None, "every trace of a translator holds them"
    with row(key=CAPTIONED(KEYS("without"))):
        st.html(written_line(asked, both, what_changes(asked, both, contrast)))
        more(escape_markdown(price_words(asked.trace.predictions, before, after)), KEYS("without"))


def outcomes(asked: Asked) -> tuple[Outcome, Outcome] | None:
    """With all heads, and with some switched off; None where these need means and have none."""
    question, view = asked.question, asked.view
    means = session.ask(average_heads(question.version)) if view.way == "mean" else {}
    if view.way == "mean" and not means:
        return None
    return session.run(question), session.run(question, view.intervention(means))


def written_line(asked: Asked, both: tuple[Outcome, Outcome], note: str = "") -> str:
    """The translation with its changes marked, as HTML."""
    before, after = (each.free.text for each in both)
    name = asked.view.changed_heads + (", written freely" if asked.question.target else "")
    return change_line(before, after, name, note, dark=is_dark())


def what_changes(
    asked: Asked, both: tuple[Outcome, Outcome], contrast: Contrast | None = None
) -> str:
    """What the heads that are switched off change in what the map is about, in plain text."""
    view = asked.view
    if contrast is not None and view.way == "gate" and not view.gate and len(view.off) == 1:
        ((site, head),) = view.off
        return without_head(contrast, site, head)
    before, after = (each.forced.log_probs for each in both)
    assert before is not None, "every trace of a translator holds them"
    assert after is not None, "every trace of a translator holds them"
    place = view.place if contrast is None else contrast.step
    if place is None or not view.has_token:
        what = "typed target" if asked.question.target else "unchanged translation"
        return f"the {what} is {price(before, after)}"
    loss = float(before[place] - after[place])
    token = axis_texts(asked.trace.predictions)[place]
    return f"“{token}” {change_words(float(before[place]), loss)}"
