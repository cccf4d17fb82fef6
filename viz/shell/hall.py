"""A question to the hall, from the stage: where a head looks, or what comes next.

While phones follow, a page offers a question about what it shows (`show`). The speaker asks it,
closes it, and returns to the picture; each is a press of one key or button.
"""

from functools import partial

from model.trace.attention_map import AttentionMap, Tokens
from model.trace.translation import DecodingStep
from viz.browser.hall import hall_question
from viz.browser.messages import message_of
from viz.draw.keys import Keys
from viz.draw.labels import axis_texts, visible
from viz.shell import speaker_view, stage
from viz.shell.polls import MOST_CHOICES, POLLS, Asked

HALL = Keys("hall")()

KEY_HELP = "Q: ask the hall"

MOST_CANDIDATES = 4
"""Of what comes next."""


def is_there() -> bool:
    """Whether phones follow this stage."""
    return stage.is_on() and bool(speaker_view.code())


def of_row(seen: AttentionMap, head: int, query: int) -> Asked | None:
    """Where a head looks from a query, counted from 0; None with nothing to choose."""
    if query >= len(seen.queries):
        return None
    row = seen.head(head)
    keys = [key for key, may in enumerate(row.allowed[query]) if may]
    if not 2 <= len(keys) <= MOST_CHOICES:
        return None
    texts, queries = axis_texts(seen.keys), axis_texts(seen.queries)
    # Of self-attention, the choices name the query as well, unless it may not see itself.
    is_own = seen.site.kind.query_side == seen.site.kind.key_side and query in keys
    return Asked(
        "key",
        choices=[texts[key] for key in keys],
        truth=[float(row.weights[query, key]) for key in keys],
        context=[] if is_own else queries,
        at=keys.index(query) if is_own else query,
        head=(str(seen.site.kind), seen.site.layer, head),
        named=seen.site.head_name(head),
    )


def of_step(step: DecodingStep, before: Tokens, sentence: str) -> Asked | None:
    """What comes next in a translation; None with nothing to choose.

    Args:
        before: what is written.
    """
    likeliest: dict[str, float] = {}
    for text, probability in zip(axis_texts(step.likeliest), step.probabilities, strict=True):
        if len(likeliest) < MOST_CANDIDATES:
            likeliest.setdefault(text, float(probability))
    if len(likeliest) < 2:
        return None
    # In this order they do not tell which one is first.
    choices = sorted(likeliest, key=str.casefold)
    return Asked(
        "word",
        choices=choices,
        truth=[likeliest[text] for text in choices],
        context=axis_texts(before),
        at=len(before),
        head=None,
        named=visible(sentence),
    )


def show(offered: Asked | None) -> None:
    """The button, and over the picture the question that stands.

    Args:
        offered: what can be asked about the view.
    """
    if not is_there():
        return
    poll = POLLS.at(speaker_view.code(), speaker_view.site_view())
    hall_question(
        offered.about if offered else None,
        poll.view if poll else None,
        poll.asked.named if poll else "",
        speaker_view.poll_address(poll) if poll else "",
        key=HALL,
        on_press=partial(_press, offered),
    )


def _press(offered: Asked | None) -> None:
    """Ask, close or end, as the browser says; each only from the state that it saw."""
    code, place = speaker_view.code(), speaker_view.site_view()
    poll = POLLS.at(code, place)
    match message_of(HALL, "pressed"):
        case [str(name), int()] if code and name == (poll.name if poll else ""):
            if poll is None:
                if offered is not None:
                    POLLS.ask(code, offered, place)
            elif poll.is_open:
                poll.close()
            else:
                POLLS.end(code)


def answered() -> str:
    """How many answers to the last question counted and how many did not; "" without one."""
    poll = POLLS.of(speaker_view.code())
    if poll is None:
        return ""
    reasons = sorted((poll.refused + POLLS.refused).items())
    refused = ", ".join(f"{count:,} {reason}" for reason, count in reasons) or "none"
    return f"Last question: {sum(poll.guesses):,} answered. Answers refused: {refused}."
