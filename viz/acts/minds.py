"""The model's two minds: heads go dark, strongest first, until another word wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.contrast.results import Contrast, HeadSet
from model.trace.attention_map import FloatArray, Tokens
from model.trace.blocks import Blocks
from model.trace.head import Head
from model.trace.token_schemes import WORD_START
from model.trace.trace import Trace
from viz.acts.act import Act, Curve, Frame, Written
from viz.draw.constants import CONSTANTS
from viz.draw.style import count_of
from viz.effects.contrasted import probability, quoted
from viz.model_page.arcs import words_of

RANDOM_ORDERS: int = CONSTANTS["ACTS"]["RANDOM_ORDERS"]
"""How many random orders of heads stand beside the strongest."""


def close_words(trace: Trace, blocks: Blocks) -> list[tuple[int, str]]:
    """Words that were close: places of a translation with another word, the closest first.

    Args:
        blocks: of the trace, whose likeliest tokens are looked through.

    Returns:
        Places from 0, each with how the likeliest other token is spelled. Only whole words are
        named: tokens that begin a word, of letters alone, at a place where the written word is
        one token.
    """
    found = []
    predictions = trace.predictions
    for place, likeliest in enumerate(blocks.likeliest):
        own, following = predictions.tokens[place], predictions.tokens[place + 1 : place + 2]
        if not _is_word(own) or any(each[:1].isalpha() for each in following):
            continue
        shares = dict(zip(likeliest.tokens, map(float, blocks.probabilities[place]), strict=False))
        others = [
            (share, token)
            for token, share in shares.items()
            if _is_word(token) and token.lower() != own.lower()
        ]
        if own in shares and others:
            share, other = max(others)
            if share < shares[own]:
                found.append((share / shares[own], place, other.removeprefix(WORD_START)))
    return [(place, other) for _, place, other in sorted(found, reverse=True)]


def _is_word(token: str) -> bool:
    word = token.removeprefix(WORD_START)
    return token.startswith(WORD_START) and len(word) > 1 and word.isalpha()


def strongest_first(found: HeadSet, contrast: Contrast) -> tuple[Head, ...]:
    """A set's heads by what the word loses without each alone, the most first."""
    losses = contrast.losses
    return tuple(sorted(found.heads, key=lambda head: -float(losses[head.site][head.number])))


def divided(
    trace: Trace, contrast: Contrast, place: int, heads: Sequence[Head], log_probs: FloatArray
) -> Act:
    """The act.

    Args:
        place: of the word in the translation, from 0.
        heads: that go dark, in this order; without all of them, the other word is likelier.
        log_probs: as `model.contrast.head_sets.darkened` gives them.
    """
    word, other = quoted(contrast.word), quoted(contrast.other)
    leads = log_probs[:, :, 0] - log_probs[:, :, 1]
    others = int(np.count_nonzero(leads[1:, -1] <= 0))
    frames = []
    for size in range(len(heads) + 1):
        one, two = map(float, log_probs[0, size, :2])
        off = f"Without {count_of(size, 'head')}" if size else "With every head"
        frames.append(
            Frame(
                f"{count_of(size, 'head')} off" if size else "All heads",
                _written(trace.predictions, place, contrast, one > two),
                f"{off}, {word} has a probability of {probability(one)}, {other} of "
                f"{probability(two)}."
                + (_end(len(heads), others, other) if size == len(heads) else ""),
                off=frozenset(heads[:size]),
            )
        )
    return Act(
        act="minds",
        caption=f"Every square is a head; a crossed one gives nothing. Below, how far {word} is "
        f"ahead of {other} while heads go, strongest first, and in {RANDOM_ORDERS} random orders.",
        read=trace.source_text,
        frames=tuple(frames),
        traces=(trace,),
        curve=Curve(
            up="Lead (nats)",
            above=f"{word} is likelier",
            below=f"{other} is likelier",
            values=leads[0],
            others=leads[1:],
            names=("strongest first", "at random"),
        ),
        known=trace.provenance,
    )


def _end(n_heads: int, others: int, other: str) -> str:
    chosen = "one head" if n_heads == 1 else "as many heads"
    return (
        f" {other} is ahead. Without {chosen} at random, it is in {others or 'none'} of "
        f"{RANDOM_ORDERS} tries."
    )


def _written(predictions: Tokens, place: int, contrast: Contrast, is_ahead: bool) -> Written:
    def pieces() -> Iterator[tuple[str, str]]:
        for number, each in enumerate(word for word in words_of(predictions) if not word.special):
            space = "" if number == 0 or each.joins else " "
            if each.first <= place < each.end:
                text = contrast.word if is_ahead else contrast.other
                yield f"{space}{text}", "word" if is_ahead else "other"
            else:
                yield f"{space}{each.text}", "pale" if each.first > place else ""

    return tuple(pieces())
