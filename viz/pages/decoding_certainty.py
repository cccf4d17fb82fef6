"""How sure the model was of each token, and what else it might have written."""

import streamlit as st

from model.trace.attention_map import Tokens
from viz.decoding.certainty import Certainty, certainty_html, hesitant, percent
from viz.decoding.view import KEYS, DecodingView
from viz.draw.labels import escape_markdown, token_text
from viz.pages.decoded import Shown
from viz.service.results import Decoded
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import row

HESITATED = "The model hesitated at these steps; click another word, and it continues from there."
ALL_GIVEN = "All tokens were given; the model chose none."

LISTED, OFFERED = 4, 4
"""How many hesitant steps are listed, and how many other words for each."""


def show_certainty(asked: Shown) -> None:
    view, decoded = asked.view, asked.decoded
    translation, steps = decoded.decoding.translation, decoded.decoding.steps
    tokens = Tokens(translation.tokens, translation.token_ids, "sentencepiece")
    st.html(certainty_html(tokens, steps, dark=is_dark()))
    stage.say("How sure the model was of each token")
    show_picture(Certainty(decoded.decoding, asked.search, view.changes), KEYS("certainty"))
    if not stage.is_on():
        show_hesitation(view, decoded)


def show_hesitation(view: DecodingView, decoded: Decoded) -> None:
    """Where the model hesitated, with its likeliest other words."""
    steps = decoded.decoding.steps
    places = hesitant(steps)
    if places:
        st.caption(HESITATED)
    elif all(step.forced for step in steps):
        st.caption(ALL_GIVEN)
    else:
        st.caption("The model never hesitated: each token was the likeliest, with at least 50%.")
    for place in places[:LISTED]:
        show_others(view, decoded, place)


def show_others(view: DecodingView, decoded: Decoded, place: int) -> None:
    """One step and its likeliest other words, each as a button."""
    translation, step = decoded.decoding.translation, decoded.decoding.steps[place]
    written = escape_markdown(token_text(translation.tokens[place]))
    share = escape_markdown(percent(step.probability))
    with row():
        st.markdown(f"Step {place + 1}, **{written}** {share}, or", width="content")
        others = [
            each
            for each in zip(
                step.likeliest.tokens, step.likeliest.ids, step.probabilities, strict=True
            )
            if each[1] != translation.token_ids[place]
        ]
        for number, (token, token_id, probability) in enumerate(others[:OFFERED]):
            st.button(
                escape_markdown(f"{token_text(token)} {percent(probability)}"),
                key=KEYS("other", place, number),
                on_click=address.change,
                kwargs={
                    "taken": view.and_taken(place, [token_id], translation.token_ids),
                    "at": place + 1,
                },
            )
