"""The masks page on a stage: the main matrices of each part, and what keys change there."""

from collections.abc import Sequence

import streamlit as st

from viz.browser.matrices import matrices
from viz.draw.labels import escape_markdown
from viz.links.mask_edits import EDITABLE
from viz.masks.mask import mask_difference
from viz.masks.pictures import ComparedMasks, DecoderFactors, HeadSteps
from viz.masks.steps import head_steps
from viz.masks.view import PARTS
from viz.pages.masks_selection import NO_SCORES, Chosen, largest_score
from viz.service import session
from viz.shell import stage


def offer_keys(chosen: Chosen, part: str) -> None:
    """What keys change, and what the foot says."""
    sentence = chosen.sentences[chosen.number]
    own = session.translate(chosen.question.checkpoint, sentence).translation.text
    typed = chosen.question.target if chosen.number == 0 else ""
    stage.name(sentence, typed or own)
    more = {"v": stage.Step("part", list(PARTS), part, cycles=True)}
    if part == "compare":
        # Which masks there are is known only where they are compared.
        stage.offer("V: part", more=more)
        return
    if part == "see":
        numbers = range(1, len(chosen.sentences) + 1)
        stage.offer(
            "Left and right: sentence · V: part",
            across=stage.Step("number", numbers, chosen.number + 1),
            more=more,
        )
        return
    kinds = [str(kind) for kind in EDITABLE]
    stage.offer(
        "Arrow keys: layer and head · V: part · A: attention",
        across=stage.Step("head", range(chosen.seen.n_heads), chosen.head),
        down=stage.Step("layer", chosen.trace.layers(chosen.kind), chosen.layer),
        more={**more, "a": stage.Step("masked", kinds, str(chosen.kind), cycles=True)},
    )
    stage.say(f"{PARTS[part]}: {chosen.at.title}")


def show_factors(chosen: Chosen) -> None:
    """How the decoder's mask is made."""
    stage.say(f"How the decoder's mask of sentence {chosen.number + 1} is made")
    with stage.picture():
        matrices(DecoderFactors(chosen.at, chosen.masks).panels, key="factors", stage=True)


def show_steps(chosen: Chosen) -> None:
    """From scores to output, with the mask."""
    seen = chosen.seen
    if seen.scores is None or seen.v is None:
        st.info(NO_SCORES, icon=":material/info:")
        return
    inside = head_steps(seen, chosen.head)
    limit, longest = largest_score(chosen, inside), max(float(inside.contributions.max()), 1e-6)
    picture = HeadSteps(chosen.at, seen, inside, limit, longest, hatched=True)
    with stage.picture():
        matrices(picture.panels, key="with-mask", stage=True)


def show_compared(picture: ComparedMasks, names: Sequence[str]) -> None:
    """Two masks, and where they differ; `names` are those of all that can be compared."""
    stage.say("Two masks compared")
    stage.offer(
        "Up and down: mask A · Left and right: mask B",
        across=stage.Step("b", names, picture.both.b.name),
        down=stage.Step("a", names, picture.both.a.name),
    )
    try:
        mask_difference(*picture.both.masks)
    except ValueError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
    with stage.picture():
        matrices(picture.panels, key="compared", stage=True)
