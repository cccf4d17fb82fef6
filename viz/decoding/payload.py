"""A decoding for the browser, which plays it without the server."""

from typing import Any

from model.trace.attention_map import Tokens
from model.trace.token_schemes import WORD_START, special
from model.trace.translation import Decoding
from viz.browser.envelope import seal
from viz.decoding.attention import HeadMean
from viz.decoding.tree import fate_words, paths
from viz.draw import themes
from viz.draw.labels import CONTINUED, axis_texts, token_text


def pack(
    decoding: Decoding,
    target: Tokens,
    cross: HeadMean,
    own: HeadMean,
    *,
    name: str,
    epoch: int = 0,
    step: int = 0,
    stage: bool = False,
) -> bytes:
    """A decoding for the browser, of payloads.json.

    Args:
        target: what the decoder reads, <s> first.
        name: of the decoding; comes back with every message about it.
        epoch: the browser takes over `step` once for every new epoch or name.
        step: the first one shown, from 0.
    """
    ids = decoding.translation.token_ids
    values = {
        "payload": "decoding",
        "name": name,
        "epoch": epoch,
        "step": step,
        "stage": stage,
        "themes": themes.STAGE_THEMES if stage else themes.THEMES,
        "source": _tokens(decoding.translation.source),
        # The last token is never read.
        "target": _tokens(target + Tokens(decoding.translation.tokens[-1:], ids[-1:])),
        "cross": _attention(cross),
        "own": _attention(own),
        "steps": [
            {
                "texts": axis_texts(step.likeliest),
                "ids": list(step.likeliest.ids),
                "probabilities": list(step.probabilities),
                "chosen": step.likeliest.ids.index(ids[place])
                if ids[place] in step.likeliest.ids
                else None,
                "probability": step.probability,
                "rank": step.rank,
                "forced": step.forced,
            }
            for place, step in enumerate(decoding.steps)
        ],
    }
    return seal(values)


def pack_branches(decoding: Decoding, cross: HeadMean | None, *, chart: str) -> bytes:
    """The hypotheses of a search for the browser, each with its attention.

    Args:
        cross: row t is what node t looked at; None if the tree is too large for that.
    """
    nodes = decoding.nodes
    values = {
        "payload": "branches",
        "chart": chart,
        "themes": themes.THEMES,
        "source": _tokens(decoding.translation.source),
        "cross": None if cross is None else _attention(cross),
        "nodes": [
            {
                "text": token_text(node.token).removeprefix(CONTINUED),
                "joins": node.parent is not None
                and not node.token.startswith(WORD_START)
                and not special(node.token),
                "parent": node.parent,
                "words": fate_words(nodes, place),
            }
            for place, node in enumerate(nodes)
        ],
        "ends": [path[-1] for path in paths(decoding)],
    }
    return seal(values)


def _tokens(tokens: Tokens) -> list[dict[str, Any]]:
    """Texts, and whether each continues the token before it without a space."""
    return [
        {"text": text.removeprefix(CONTINUED), "joins": joins}
        for text, joins in zip(axis_texts(tokens), _joins(tokens), strict=True)
    ]


def _joins(tokens: Tokens) -> list[bool]:
    return [
        place > 0
        and not token.startswith(WORD_START)
        and not special(token)
        and not special(tokens.tokens[place - 1])
        for place, token in enumerate(tokens.tokens)
    ]


def _attention(mean: HeadMean) -> dict[str, Any]:
    return {"name": mean.name, "weights": mean.weights}
