"""A pattern drawn on a sentence, and the heads that look there."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.explain.head_rows import allowed_per_head
from model.explain.label_rules import HALF
from model.survey.fitting import seen_rows
from model.survey.sentence_index import FOUND_BY
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, Site
from viz.draw import style, themes
from viz.draw.axis_names import key_title, row_noun
from viz.draw.panels import Panel

NOT_DRAWN, NOT_ALLOWED, DRAWN = range(3)
NAMES = ("not drawn", "not allowed", "drawn")


@dataclass(frozen=True, slots=True)
class Match:
    """How much a head looks where a pattern was drawn.

    Attributes:
        share: the weight on drawn cells, over the rows that have some and a choice.
        by_chance: the same for a head that spreads its weight evenly.
    """

    site: Site
    head: int
    share: float
    by_chance: float

    @property
    def beyond(self) -> float:
        """The share beyond chance, as a share of the most there could be."""
        return (self.share - self.by_chance) / max(1 - self.by_chance, 1e-9)

    @property
    def is_one(self) -> bool:
        """Whether the head does what was drawn: with half of its weight, not just by chance."""
        return self.share >= HALF and self.beyond >= HALF


def matches(
    maps: Mapping[Site, AttentionMap], drawn: BoolArray, kind: AttentionKind
) -> list[Match]:
    """The heads of a kind of attention, those that look most where a pattern was drawn first.

    Args:
        drawn: the pattern, (query, key).

    Returns:
        Nothing if no row with a choice has a drawn cell.
    """
    found = []
    for site, attention in maps.items():
        if site.kind is not kind:
            continue
        allowed = allowed_per_head(attention.allowed)[0]
        there = drawn & allowed
        rows = there.any(axis=-1) & (np.count_nonzero(allowed, axis=-1) >= 2)
        if not rows.any():
            continue
        chance = (there.sum(axis=-1) / np.maximum(allowed.sum(axis=-1), 1))[rows].mean()
        shares = np.where(there, attention.weights, 0).sum(axis=-1)[:, rows].mean(axis=-1)
        found += [Match(site, head, float(each), float(chance)) for head, each in enumerate(shares)]
    return sorted(found, key=lambda match: (-match.share, match.site, match.head))


def drawn_sentence(found: list[Match]) -> str:
    """Which head does what was drawn, or that none does."""
    if not found:
        return "Draw on the grid: click the cells where a head should look."
    best, every = found[0], len(found)
    name = f"{best.site.head_name(best.head)}, with {style.percent(best.share)} of its weight there"
    doing = sum(match.is_one for match in found)
    if not doing:
        return (
            f"No head looks there: of {every}, the nearest is {name}; even spreading gives "
            f"{style.percent(best.by_chance)}."
        )
    return (
        f"{style.count_of(doing, 'head')} of {every} {'looks' if doing == 1 else 'look'} there "
        f"with at least half of the weight. First: {name}; even spreading gives "
        f"{style.percent(best.by_chance)}."
    )


LIKE = 0.5
"""The share of the cells of a drawing and a rule together that both must have."""


def rule_drawn(attention: AttentionMap, drawn: BoolArray) -> str | None:
    """The rule that says best what was drawn, over the rows that have some; None for none."""
    seen, choice = seen_rows(attention, None)
    rows = choice & drawn.any(axis=-1)
    shares = {}
    for name in FOUND_BY[attention.site.kind]:
        there = seen.cells(name)[rows] > 0
        both, either = there & drawn[rows], there | drawn[rows]
        shares[name] = int(both.sum()) / max(int(either.sum()), 1)
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= LIKE else None


def drawing_panel(attention: AttentionMap, drawn: BoolArray) -> Panel:
    """The grid to draw on, with what is drawn so far."""
    kind = attention.site.kind
    allowed = allowed_per_head(attention.allowed)[0]
    base = np.where(allowed, NOT_DRAWN, NOT_ALLOWED).astype(np.uint8)
    return Panel(
        title="Where should a head look?",
        values=np.where(drawn & allowed, DRAWN, base).astype(np.uint8),
        queries=attention.queries,
        keys=attention.keys,
        alt=f"A grid to draw on: {style.count_of(int((drawn & allowed).sum()), 'cell')} drawn.",
        names=NAMES,
        colors={
            name: (theme.weights[0], theme.forbidden, theme.accent)
            for name, theme in (("light", themes.LIGHT), ("dark", themes.DARK))
        },
        query_title=f"Query: {row_noun(kind)}",
        key_title=key_title(kind),
        # Hatched, as in every picture of a head.
        shown=allowed,
        base=base,
        # Painting takes cells away from what a row may see; here, what is taken away is drawn.
        start=~drawn,
        by_edit=DRAWN,
    )
