"""Rules in words for every head of a model, each with how often it is right.

A rule is fitted on some sentences, its length is chosen on others, and what is told of it comes
from a third set (model.survey.head_sentences).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model.brief import Brief
from model.record.head_edits import TermWeights
from model.rules.phrases import Terms
from model.rules.weight_rules import Lexicon
from model.trace.attention_map import AttentionKind, Site
from model.trace.forms import form
from model.trace.head import Head

PREDICTS, OVERLAPS, BEYOND = 0.5, 0.6, 0.1
"""A rule says something of a head if it is right about the strongest key in this share of rows, or
if their weights overlap as much, and by so much more than those of a rule for shuffled weights:
even weights overlap with any spread."""


@dataclass(frozen=True, slots=True)
class RuleFinding(Brief):
    """A head's rule, and how well it does in sentences that neither fitted nor chose it.

    Attributes:
        said: the rule of a few terms that the sentence says.
        right: the share of rows whose strongest key it names.
        low: the lower end of that share's 95% interval, from the spread between sentences.
        high: its upper end.
        position: the same share for the best single position.
        said_overlap: of its weights with the head's, from 0 to 1.
        rule: the rule of up to model.survey.term_fitting.MOST terms.
        overlap: of its weights with the head's.
        shuffled: the overlap that a rule reaches that was fitted to the head's weights, each row
            shuffled, with such weights.
        halves: the overlap of two rules, one fitted on each half of the sentences.
        cost: what the log-probability of a translation loses on average if the rule of up to MOST
            terms stands in for the head; None where that was not measured.
    """

    said: Terms
    right: float
    low: float
    high: float
    position: float
    said_overlap: float
    rule: Terms
    overlap: float
    shuffled: float
    halves: float
    cost: float | None = None

    @property
    def predicts(self) -> bool:
        """Whether the sentence's rule says much of the head."""
        least = max(OVERLAPS, self.shuffled + BEYOND)
        return self.right >= PREDICTS or self.said_overlap >= least

    @property
    def text(self) -> str:
        """What the head does, with how often that is right."""
        says = self.said.text if self.predicts else "none of our rules predicts this head"
        return f"{says}: right in {100 * self.right:.0f} of 100 rows"

    @property
    def reason(self) -> str:
        """What the number means, and what to compare it with."""
        return (
            "It is right where it names the strongest key, in sentences that it never saw (95% "
            f"interval {100 * self.low:.0f} to {100 * self.high:.0f}; position alone: "
            f"{100 * self.position:.0f})."
        )


class RulesByHead(dict[Head, RuleFinding]):
    """The rule of each head."""

    def frame(self) -> Any:
        """A pandas table with a row a head: kind, layer, head, its terms, how right they are."""
        return form("table", self)


@dataclass(frozen=True, slots=True)
class HeadRules(Brief):
    """The rules of a model's heads.

    Attributes:
        weights: a digest of the model's weights, as model.checkpoints.weights_digest.
        data: the sentences' source.
        licence: of the sentences.
        fitted: how many sentences fitted the rules.
        chosen: how many others chose their lengths.
        judged: how many others gave the numbers.
        languages: of the source and of the target; empty for an unknown one.
        heads: each head's rule.
    """

    weights: str
    data: str
    licence: str
    fitted: int
    chosen: int
    judged: int
    languages: tuple[str, str]
    heads: Mapping[Head, RuleFinding]

    def frame(self) -> Any:
        """A pandas table of the heads' rules, as of `hs.head_rules`."""
        return RulesByHead(self.heads).frame()

    @property
    def order(self) -> list[Head]:
        """The heads, whose rules cost least first; where costs are unknown, by overlap."""
        ranks = {head: each.cost for head, each in self.heads.items() if each.cost is not None}
        if not self.has_costs:
            ranks = {head: -each.overlap for head, each in self.heads.items()}
        return sorted(self.heads, key=lambda head: (ranks[head], head))

    @property
    def has_costs(self) -> bool:
        """Whether the cost of every rule was measured."""
        return all(finding.cost is not None for finding in self.heads.values())

    def languages_of(self, kind: AttentionKind) -> tuple[str, str]:
        """The languages of the queries and of the keys."""
        return kind.axes(*self.languages, "")

    def edits(
        self, heads: Iterable[Head], lexicon: Lexicon | None, *, said: bool = False
    ) -> dict[Head, TermWeights]:
        """The rules of some heads, or those of their sentences, in place of their weights."""
        edits = {}
        for head in heads:
            terms = self.heads[head].said if said else self.heads[head].rule
            edits[head] = TermWeights(
                terms.names,
                terms.strengths,
                self.languages_of(head.site.kind),
                lexicon if head.site.kind is AttentionKind.CROSS else None,
            )
        return edits


def findings_to_json(heads: Mapping[Head, RuleFinding]) -> list[dict[str, Any]]:
    """The rules of heads, as the file has them."""
    return [
        {
            "head": [str(head.site.kind), head.site.layer, head.number],
            "said": _terms_to_json(finding.said),
            **{name: round(getattr(finding, name), 3) for name in _SHARES},
            **({} if finding.cost is None else {"cost": round(finding.cost, 4)}),
            "rule": _terms_to_json(finding.rule),
        }
        for head, finding in heads.items()
    ]


def findings_from_json(content: Iterable[Any]) -> Iterator[tuple[Head, RuleFinding]]:
    """The inverse of `findings_to_json`, without rules whose terms this version does not know."""
    for each in content:
        kind, layer, number = each["head"]
        said, rule = (_terms_from_json(each[name]) for name in ("said", "rule"))
        shares = {name: float(each[name]) for name in _SHARES}
        if not all(-0.001 <= share <= 1.001 for share in shares.values()):
            raise ValueError("a share is out of range")
        if said.are_known and rule.are_known:
            head = Head(Site(AttentionKind(kind), layer), number)
            cost = None if "cost" not in each else float(each["cost"])
            yield head, RuleFinding(said=said, rule=rule, **shares, cost=cost)


_SHARES = ("right", "low", "high", "position", "said_overlap", "overlap", "shuffled", "halves")


def _terms_to_json(terms: Terms) -> dict[str, float]:
    return dict(zip(terms.names, terms.strengths, strict=True))


def _terms_from_json(content: Mapping[str, Any]) -> Terms:
    return Terms(tuple(map(str, content)), tuple(float(each) for each in content.values()))
