"""Edits of single heads: checked values that can be compared and hashed, without torch.

    Intervention(heads={("cross", 2, 3): 0, ("encoder", 0, 1): "uniform"})

model/record/head_editing.py applies them to a model.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np

from model.brief import Brief, listed
from model.rules.terms import TermRows, is_term
from model.rules.weight_rules import BY_DISTANCE, REACH, RULES, Cells, Lexicon, SeenRows
from model.trace.attention_map import AttentionMap, Site, TraceError
from model.trace.head import Head

Pattern = Literal["uniform", "diagonal", "shuffled", "first"]
"""Patterns that replace a head's weights; see `ReplacedWeights`."""


class HeadError(ValueError):
    """An edit of a head that is invalid or does not fit; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A head's output times a factor, before W_O (Michel et al. 2019, section 2.3).

    Attributes:
        factor: from 0, which removes the head, to 1, which changes no bit.

    Raises:
        HeadError: if the factor is out of range.
    """

    factor: float

    def __post_init__(self) -> None:
        try:
            factor = math.nan if isinstance(self.factor, bool | str) else float(self.factor)
        except (TypeError, ValueError):
            factor = math.nan
        if not 0 <= factor <= 1:
            raise HeadError(
                "A gate must be a number from 0, which removes a head, to 1, which leaves it; it "
                f"is {self.factor!r}."
            )
        object.__setattr__(self, "factor", factor)


@dataclass(frozen=True, slots=True)
class MeanAblation(Brief):
    """The mean of a head's outputs in place of each output (Wang et al. 2022, section 2.1).

    Unlike a gate of 0, it removes only what is particular to this sentence.

    Attributes:
        mean: the head's output before W_O, (d_v,), averaged over all queries of many examples.

    Raises:
        HeadError: unless the mean has one axis of finite numbers.
    """

    mean: tuple[float, ...]

    def __post_init__(self) -> None:
        try:
            # This file does not import torch, but takes its tensors.
            mean: Any = self.mean
            array = np.asarray(mean.detach().cpu() if hasattr(mean, "detach") else mean, float)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.ndim != 1 or not array.size or not np.isfinite(array).all():
            raise HeadError(
                "The mean of a head's outputs must be finite numbers along one axis, (d_v,); "
                "average weights @ v over queries, as MeanAblation.over does."
            )
        object.__setattr__(self, "mean", tuple(array.tolist()))

    @classmethod
    def over(cls, maps: Iterable[AttentionMap], head: int) -> Self:
        """The mean of a head's outputs over every query of recorded examples, one map a sentence.

        Raises HeadError if there is no map, or one without values.
        """
        heads = [each.head(head) for each in maps]
        outputs = [each.weights @ each.v for each in heads if each.v is not None]
        if not outputs or len(outputs) < len(heads):
            raise HeadError("A mean needs at least one recorded example, and the values of each.")
        return cls(tuple(np.concatenate(outputs).mean(axis=0, dtype=np.float64).tolist()))


@dataclass(frozen=True, slots=True)
class ReplacedWeights:
    """A pattern of weights in place of a head's own, over the keys that its mask allows.

    Each row depends on the query's position and its allowed keys alone, so that decoding token by
    token gives the rows of the whole pass. A row without keys stays empty.

    Attributes:
        pattern: "uniform" attends to all keys alike; "diagonal" to the key at the query's position,
            or to the nearest key, the earlier of two; "first" to the first key; "shuffled" assigns
            a row's own weights to its keys at random.
        seed: of "shuffled"; a whole number from 0.

    Raises:
        HeadError: if there is no such pattern or seed.
    """

    pattern: Pattern
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pattern not in get_args(Pattern):
            raise HeadError(
                f"There is no pattern {self.pattern!r} of weights; choose one of "
                f"{', '.join(get_args(Pattern))}."
            )
        try:
            seed = operator.index(self.seed)
        except TypeError:
            seed = -1
        if seed < 0 or (seed and self.pattern != "shuffled"):
            raise HeadError(
                f"A seed is a whole number from 0 and for shuffled weights alone; it is "
                f"{self.seed!r} for {self.pattern} ones."
            )
        object.__setattr__(self, "seed", seed)


@dataclass(frozen=True, slots=True)
class RuleWeights(Brief):
    """What a rule, or a mixture of rules, says in place of a head's own weights.

    A row for which none of the rules has a key spreads its weight evenly; where one has none, the
    others share its part. The rules read the sentence's tokens, so only models that write text can
    run under them: `Translator`, with its traces, translations and effects.

    Attributes:
        rules: names of `model.rules.weight_rules.RULES`, or BY_DISTANCE.
        shares: of each rule, positive.
        table: the share of each distance from -REACH to REACH, for BY_DISTANCE.
        lexicon: of the model's languages, for rules that look for a token's source.

    Raises:
        HeadError: if there is no such rule, or the shares are not one for each.
    """

    rules: tuple[str, ...]
    shares: tuple[float, ...] = (1.0,)
    table: tuple[float, ...] = ()
    lexicon: Lexicon | None = None

    def __post_init__(self) -> None:
        for name in self.rules:
            if name not in RULES and name != BY_DISTANCE:
                raise HeadError(
                    f"There is no rule {name!r} for a head's weights; choose one of "
                    f"{', '.join((*RULES, BY_DISTANCE))}."
                )
        if not self.rules or len(self.shares) != len(self.rules) or min(self.shares) <= 0:
            raise HeadError(
                f"Each rule needs its share above 0: there are {len(self.rules)} rules and the "
                f"shares {self.shares}."
            )
        if (BY_DISTANCE in self.rules) != (len(self.table) == 2 * REACH + 1):
            raise HeadError(
                f"The rule {BY_DISTANCE} needs a table of {2 * REACH + 1} shares, and no other "
                f"rule takes one; it has {len(self.table)}."
            )

    def weights(self, rows: SeenRows) -> Cells:
        """The weights of some rows, (query, key); rows of no allowed key are zero."""
        mixed = np.zeros(rows.shape)
        for name, share in zip(self.rules, self.shares, strict=True):
            mixed += share * rows.cells(name, self.table if name == BY_DISTANCE else ())
        totals = mixed.sum(axis=-1, keepdims=True)
        return np.where(totals > 0, mixed / np.where(totals > 0, totals, 1), rows.cells("evenly"))


@dataclass(frozen=True, slots=True)
class TermWeights(Brief):
    """A softmax of named terms in place of a head's own weights.

    A key's score is the sum of the terms' strengths times what they give it. As with `RuleWeights`,
    only models that write text can run under it. Without any term, all keys get the same.

    Attributes:
        terms: names of places, or of places for some rows, as `model.rules.terms.terms_of` lists.
        strengths: of each term; a negative one keeps weight away.
        languages: of queries and of keys, for classes of words; empty for an unknown one.
        lexicon: of the model's languages, for terms that look for a token's source.

    Raises:
        HeadError: if there is no such term, or the strengths are not one finite number for each.
    """

    terms: tuple[str, ...]
    strengths: tuple[float, ...]
    languages: tuple[str, str] = ("", "")
    lexicon: Lexicon | None = None

    def __post_init__(self) -> None:
        for name in self.terms:
            if not is_term(name):
                raise HeadError(
                    f"There is no term {name!r} for a head's weights; model.rules.terms lists them."
                )
        if len(self.strengths) != len(self.terms) or not np.isfinite(self.strengths).all():
            raise HeadError(
                f"Each term needs its strength, a finite number: there are {len(self.terms)} terms "
                f"and the strengths {self.strengths}."
            )

    def weights(self, rows: SeenRows) -> Cells:
        """The weights of some rows, (query, key); rows of no allowed key are zero."""
        terms = TermRows.over(rows, self.languages)
        scores = np.zeros(rows.shape)
        for name, strength in zip(self.terms, self.strengths, strict=True):
            scores += strength * terms.of(name)
        if rows.allowed is not None:
            scores = np.where(rows.allowed, scores, -np.inf)
        highest = scores.max(axis=-1, keepdims=True)
        shares = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
        totals = shares.sum(axis=-1, keepdims=True)
        return np.divide(shares, totals, out=np.zeros(rows.shape), where=totals > 0)


HeadEdit = Gate | MeanAblation | ReplacedWeights | RuleWeights | TermWeights
"""An edit of a head."""

# Any stands for the ways to name a head and an edit; HeadEdits lists them.
Heads = Mapping[Any, Any]


class HeadEdits(Mapping[Head, HeadEdit]):
    """Checked edits by head, in the order of sites.

    A head is named as in `Head.of`. An edit is a Gate, a MeanAblation, a
    ReplacedWeights, a RuleWeights or a TermWeights, or for short the gate's number, the pattern's
    name or the mean's array. A gate of 1 does nothing and is left out. Raises HeadError if a head
    or an edit is invalid, or a head has two edits.
    """

    def __init__(self, heads: Heads) -> None:
        if not isinstance(heads, Mapping):
            raise HeadError(
                'Edits of heads go by the head, as in {("cross", 2, 3): 0}; '
                f"the type {type(heads).__name__} does not say which."
            )
        edits: dict[Head, HeadEdit] = {}
        for key, value in heads.items():
            try:
                head = Head.of(key)
            except TraceError as error:
                raise HeadError(str(error)) from None
            if head in edits:
                raise HeadError(f"There are two edits for {head.name}; give one.")
            edits[head] = _edit(head, value)
        self._by_head = {head: edits[head] for head in sorted(edits) if edits[head] != Gate(1)}

    def __getitem__(self, head: Head) -> HeadEdit:
        return self._by_head[head]

    def __iter__(self) -> Iterator[Head]:
        return iter(self._by_head)

    def __len__(self) -> int:
        return len(self._by_head)

    def __hash__(self) -> int:
        return hash(tuple(self._by_head.items()))

    def __repr__(self) -> str:
        return f"{{{listed([f'{head}: {edit!r}' for head, edit in self.items()])}}}"

    def __eq__(self, other: object) -> bool:
        return self._by_head == other._by_head if isinstance(other, HeadEdits) else NotImplemented

    def at(self, site: Site) -> Mapping[int, HeadEdit]:
        """The edits at a site, by the head's number."""
        return self._by_site.get(site, {})

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites with edits."""
        return tuple(self._by_site)

    def require_sites(self, sites: Iterable[Site]) -> None:
        """Raises HeadError if a head is at none of a model's sites."""
        known = tuple(sites)
        for site in self.sites:
            if site not in known:
                raise HeadError(
                    f"This model has no {site} with heads to edit; it has "
                    f"{', '.join(map(str, known))}."
                )

    @cached_property
    def _by_site(self) -> dict[Site, dict[int, HeadEdit]]:
        by_site: dict[Site, dict[int, HeadEdit]] = {}
        for (site, head), edit in self._by_head.items():
            by_site.setdefault(site, {})[head] = edit
        return by_site


def _edit(head: Head, value: Any) -> HeadEdit:
    if isinstance(value, Gate | MeanAblation | ReplacedWeights | RuleWeights | TermWeights):
        return value
    if isinstance(value, str):
        return ReplacedWeights(value)  # type: ignore[arg-type]
    if isinstance(value, Sequence) or (hasattr(value, "ndim") and value.ndim > 0):
        return MeanAblation(tuple(value))
    if isinstance(value, int | float | np.number):
        return Gate(float(value) if not isinstance(value, bool) else value)
    raise HeadError(
        f"The edit of {head.name} must be a gate from 0 to 1, a pattern of weights "
        f"({', '.join(get_args(Pattern))}) or the mean of its outputs; {value!r} is none of these."
    )
