"""The alignment errors of cross-attention against hand-made alignments, stored in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from model.brief import Brief
from model.explain.alignment_error import AlignmentError, ErrorRate

DIGITS = 6
"""The stored decimals of a share."""


class Read(NamedTuple):
    """A way to read word links off cross-attention: a head, or all of a layer together for None.

    `later` uses the row that reads a target word, not the one that predicts it.
    """

    layer: int
    head: int | None
    later: bool

    @property
    def name(self) -> str:
        """Such as "head 0.5, one row later"."""
        weights = f"layer {self.layer}" if self.head is None else f"head {self.layer}.{self.head}"
        return f"{weights}, {'one row later' if self.later else 'output row'}"


class Combination(NamedTuple):
    """The best of `n_candidates` ways to link words, by heads in words and a rule "row ∩ column".

    The map is "weights" or "norms". Its error rate is on the same pairs, so optimistic.
    """

    heads: str
    map: str
    rule: str
    n_candidates: int
    rate: ErrorRate


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentTable(Brief):
    """Error rates of one checkpoint on the pairs of a gold set's file.

    `rates` are by weights and row argmax, of every layer and head in both rows; `diagonal` links
    each word with the one at the same relative place.
    """

    gold: str
    n_pairs: int
    diagonal: ErrorRate
    rates: Mapping[Read, ErrorRate]
    best: tuple[Combination, ...]

    def to_json(self) -> dict[str, Any]:
        """The content of alignment.json, with shares rounded to DIGITS decimals."""
        return {
            "gold": self.gold,
            "pairs": self.n_pairs,
            "diagonal": _written(self.diagonal),
            "rates": [read._asdict() | _written(rate) for read, rate in self.rates.items()],
            "best": [{**each._asdict(), "rate": _written(each.rate)} for each in self.best],
        }

    @classmethod
    def from_json(cls, data: Any) -> AlignmentTable:
        """The inverse of `to_json`; AlignmentError if the table is malformed, or lacks a head."""
        try:
            rates = {
                Read(_count(each["layer"]), _head(each["head"]), each["later"] is True): _rate(each)
                for each in data["rates"]
            }
            best = tuple(
                Combination(
                    heads=_text(each["heads"]),
                    map=_text(each["map"]),
                    rule=_text(each["rule"]),
                    n_candidates=_count(each["n_candidates"]),
                    rate=_rate(each["rate"]),
                )
                for each in data["best"]
            )
            table = cls(
                gold=_text(data["gold"]),
                n_pairs=_count(data["pairs"]),
                diagonal=_rate(data["diagonal"]),
                rates=rates,
                best=best,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise AlignmentError("The table of alignment errors is malformed.") from error
        if not best or set(rates) != set(table.reads()):
            raise AlignmentError("The table of alignment errors is incomplete.")
        return table

    def reads(self) -> list[Read]:
        """Every layer and head in both rows."""
        layers = range(1 + max((each.layer for each in self.rates), default=-1))
        heads = range(self.n_heads)
        return [
            Read(layer, head, later)
            for later in (False, True)
            for layer in layers
            for head in (*heads, None)
        ]

    @property
    def n_heads(self) -> int:
        """The number of heads of a layer."""
        return 1 + max((each.head for each in self.rates if each.head is not None), default=-1)


def _written(rate: ErrorRate) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in asdict(rate).items()}


def _rate(data: Any) -> ErrorRate:
    shares = {name: float(data[name]) for name in ("error", "precision", "recall", "low", "high")}
    if not all(0 <= share <= 1 for share in shares.values()):
        raise ValueError("a share lies outside 0 to 1")
    return ErrorRate(**shares)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1000:
        raise ValueError("no count")
    return value


def _head(value: Any) -> int | None:
    return None if value is None else _count(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
