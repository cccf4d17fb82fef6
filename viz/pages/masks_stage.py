"""The masks page on a stage: the main matrices of each part, and the keys."""

from collections.abc import Sequence

from viz.browser.matrices import matrices
from viz.links.mask_edits import EDITABLE
from viz.masks.compared import ComparedMasks
from viz.masks.head_steps import HeadSteps
from viz.masks.own_masks import DecoderFactors
from viz.masks.steps import head_steps
from viz.masks.view import KEYS, PARTS
from viz.pages.masks_selection import NO_SCORES, Selection, largest_score
from viz.service import session
from viz.service.jobs.running import translate
from viz.shell import stage
from viz.shell.widgets import hint


def offer_keys(selection: Selection, part: str) -> None:
    """The keys of the part, and the texts of the foot."""
    sentence = selection.sentences[selection.number]
    own = session.ask(translate(selection.question.version, sentence)).translation.text
    typed = selection.question.target if selection.number == 0 else ""
    stage.name(sentence, typed or own)
    more = {"v": stage.Step(KEYS("part"), list(PARTS), part, cycles=True)}
    if part == "compare":
        # `show_compared` knows the masks, and offers the other keys.
        stage.offer("V: part", more=more)
        return
    if part == "see":
        numbers = range(1, len(selection.sentences) + 1)
        stage.offer(
            "Left and right: sentence · V: part",
            across=stage.Step(KEYS("number"), numbers, selection.number + 1),
            more=more,
        )
        return
    kinds = [str(kind) for kind in EDITABLE]
    stage.offer(
        "Arrow keys: layer and head · V: part · A: attention",
        across=stage.Step(KEYS("head"), range(selection.attention.n_heads), selection.head),
        down=stage.Step(KEYS("layer"), selection.trace.layers(selection.kind), selection.layer),
        more={**more, "a": stage.Step(KEYS("masked"), kinds, str(selection.kind), cycles=True)},
    )
    stage.say(f"{PARTS[part]}: {selection.at.title}")


def show_factors(selection: Selection) -> None:
    """How the decoder's mask is made."""
    stage.say(f"How the decoder's mask of sentence {selection.number + 1} is made")
    with stage.picture():
        matrices(
            DecoderFactors(selection.at, selection.masks).panels, key=KEYS("factors"), stage=True
        )


def show_steps(selection: Selection) -> None:
    """From scores to output, with the mask."""
    attention = selection.attention
    if attention.scores is None or attention.v is None:
        hint(NO_SCORES)
        return
    inside = head_steps(attention, selection.head)
    limit, longest = largest_score(selection, inside), max(float(inside.contributions.max()), 1e-6)
    picture = HeadSteps(selection.at, attention, inside, limit, longest, hatched=True)
    with stage.picture():
        matrices(picture.panels, key=KEYS("with-mask"), stage=True)


def show_compared(picture: ComparedMasks, names: Sequence[str]) -> None:
    """Two masks and their difference; `names` are all masks that can be compared."""
    stage.say("Two masks compared")
    stage.offer(
        "Up and down: mask A · Left and right: mask B",
        across=stage.Step(KEYS("b"), names, picture.both.b.name),
        down=stage.Step(KEYS("a"), names, picture.both.a.name),
    )
    with stage.picture():
        # More than three cannot be read from the back row.
        matrices(picture.panels[:3], key=KEYS("compared"), stage=True)
