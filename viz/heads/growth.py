"""How the heads of a model came to do what they do, while it was trained: measures as curves.

The curves are computed once, over the model's examples, for more steps of training than the
checkpoint keeps weights of, and lie beside them as growth.json; viz.shell.growth writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.labels import RULES, HeadValues, Label, Rule
from model.measures import MEASURES, ON_SOURCE
from model.trace import AttentionKind, FloatArray, Site
from viz.draw import style
from viz.draw.labels import escape_html

GROWN = {rule.measure: rule for rule in RULES}
"""What is measured at every step: what labels are earned by."""

NAMES = {measure.key: measure.name for measure in (*MEASURES, *ON_SOURCE)}

MIN_EXAMPLES = 5
"""Of which a measure must tell, or there is no curve."""

_DIGITS = 3
_HEIGHT, _AXIS = 340, 46
_UNTRAINED = 0.5
"""Where step 0 stands on an axis of logarithms."""


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """What heads did at several steps of one training run.

    Attributes:
        steps: of training, ascending.
        means: by measure and site the mean over the examples, (head, step); nan where they cannot
            tell.
        labels: by site, for each head the label that held over the examples at each step, or None.
    """

    steps: tuple[int, ...]
    means: Mapping[str, Mapping[Site, FloatArray]]
    labels: Mapping[Site, Sequence[Sequence[str | None]]]

    def of_kind(self, measure: str, kind: AttentionKind) -> dict[Site, FloatArray]:
        """The curves of one kind of attention; empty where it has no such measure."""
        curves = {s: each for s, each in self.means.get(measure, {}).items() if s.kind is kind}
        return curves if any(np.isfinite(each).any() for each in curves.values()) else {}

    def measures(self, kind: AttentionKind) -> tuple[str, ...]:
        """What there are curves of, of one kind of attention."""
        return tuple(key for key in GROWN if self.of_kind(key, kind))

    def most(self, site: Site, head: int) -> str | None:
        """What a head looks at most in the end, of the measures of its kind; None for none."""
        places = [key for key in self.measures(site.kind) if GROWN[key].place]
        ends = {key: float(self.means[key][site][head][-1]) for key in places}
        return max(places, key=lambda key: np.nan_to_num(ends[key], nan=-1.0), default=None)

    def kept(self) -> Iterator[tuple[Site, int, str, int]]:
        """Site, head and label of every head that has one in the end, and since which step."""
        for site, heads in self.labels.items():
            for head, labels in enumerate(heads):
                if (last := labels[-1]) is not None:
                    since = len(labels)
                    while since and labels[since - 1] == last:
                        since -= 1
                    yield site, head, last, self.steps[since]

    def with_labels(self, earned: Mapping[Site, Sequence[Label | None]]) -> Growth:
        """The same with the labels that heads have earned, and no other.

        Args:
            earned: by site, the label of each head.
        """
        kept = {
            site: [
                [text if label and label.earned and text == label.text else None for text in head]
                for head, label in zip(heads, earned.get(site, [None] * len(heads)), strict=True)
            ]
            for site, heads in self.labels.items()
        }
        return replace(self, labels=kept)

    def to_json(self) -> dict[str, Any]:
        """What growth.json holds, its numbers to three digits."""
        texts = [rule.text for rule in RULES]
        return {
            "steps": list(self.steps),
            "means": {
                key: {
                    str(site): [
                        [None if np.isnan(x) else round(float(x), _DIGITS) for x in head]
                        for head in curves
                    ]
                    for site, curves in sites.items()
                    if np.isfinite(curves).any()
                }
                for key, sites in self.means.items()
            },
            "labels": {
                str(site): [[text and texts.index(text) for text in head] for head in heads]
                for site, heads in self.labels.items()
            },
            "texts": texts,
        }

    @classmethod
    def from_json(cls, content: Any) -> Growth:
        """The inverse of `to_json`.

        Raises:
            ValueError: if it is not what `to_json` gives.
        """
        try:
            steps, texts = tuple(content["steps"]), content["texts"]
            labels = {
                _site(name): [[None if i is None else texts[i] for i in head] for head in heads]
                for name, heads in content["labels"].items()
            }
            means = {
                key: {_site(name): _curves(heads) for name, heads in content["means"][key].items()}
                for key in GROWN
            }
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise ValueError("a field is missing or of another kind") from error
        if not steps or any(type(step) is not int or step < 0 for step in steps):
            raise ValueError("steps are not whole numbers")
        if list(steps) != sorted(set(steps)):
            raise ValueError("steps do not ascend")
        words = [text for heads in labels.values() for head in heads for text in head]
        if any(text is not None and not isinstance(text, str) for text in words):
            raise ValueError("a label is no text")
        shapes = {site: {len(head) for head in heads} for site, heads in labels.items()}
        if any(lengths != {len(steps)} for lengths in shapes.values()):
            raise ValueError("a head lacks labels")
        for site, curves in (pair for sites in means.values() for pair in sites.items()):
            if site not in labels or curves.shape != (len(labels[site]), len(steps)):
                raise ValueError("a head lacks curves")
        return cls(steps, means, labels)


def growth_of(learned: Mapping[int, Mapping[Site, Sequence[HeadValues]]]) -> Growth:
    """The curves, from the values of every head at every step.

    A label stands where its rule holds of the examples themselves.

    Args:
        learned: by step, as model.labels.survey gives it.
    """
    steps = tuple(sorted(learned))
    sites = tuple(learned[steps[-1]])

    def mean(head: HeadValues, key: str) -> float:
        values = head.get(key, ())
        return float(np.mean(values)) if len(values) >= MIN_EXAMPLES else np.nan

    def label(head: HeadValues) -> str | None:
        for rule in RULES:
            values = head.get(rule.measure, ())
            if len(values) >= MIN_EXAMPLES and rule.holds(np.asarray(values)):
                return rule.text
        return None

    return Growth(
        steps,
        {
            key: {
                site: np.array(
                    [[mean(head, key) for head in learned[step][site]] for step in steps],
                    np.float32,
                ).T
                for site in sites
            }
            for key in GROWN
        },
        {
            site: [
                [label(head) for head in heads]
                for heads in zip(*(learned[step][site] for step in steps), strict=True)
            ]
            for site in sites
        },
    )


def _site(name: str) -> Site:
    kind, layer = name.split(".")
    return Site(AttentionKind(kind), int(layer))


def _curves(heads: Any) -> FloatArray:
    values = np.array([[np.nan if x is None else x for x in head] for head in heads], np.float32)
    if values.ndim != 2 or np.isinf(values).any() or (np.abs(values) > 1.01).any():
        raise ValueError
    return values


def growth_figure(
    growth: Growth,
    measure: str,
    kind: AttentionKind,
    chosen: tuple[int, int] | None = None,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """One measure of every head of a kind over the steps of training.

    Args:
        growth: of the model.
        measure: the key of one that the kind has.
        kind: of attention.
        chosen: layer and head of the one that stands out; None for none.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme, rule = style.look(dark), GROWN[measure]
    across = [max(step, _UNTRAINED) for step in growth.steps]
    data: list[dict[str, Any]] = []
    for site, curves in growth.of_kind(measure, kind).items():
        for head, curve in enumerate(curves):
            is_chosen = chosen == (site.layer, head)
            has_label = rule.text in growth.labels[site][head]
            color = theme.heads[0] if is_chosen else theme.heads[1] if has_label else theme.muted
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": across,
                    "y": curve,
                    "customdata": growth.steps,
                    "line": {"color": color, "width": 4 if is_chosen else 2 if has_label else 1},
                    "showlegend": False,
                    "name": f"layer {site.layer}, head {head}",
                    "zorder": 2 * is_chosen + has_label,
                    "hovertemplate": "step %{customdata:,}<br><b>%{y:.0%}</b>"
                    "<extra>%{fullData.name}</extra>",
                }
            )
    named = [
        *([("the head that is shown", theme.heads[0], 4, "solid")] if chosen else []),
        ("heads that earn the label", theme.heads[1], 2, "solid"),
        ("other heads", theme.muted, 1, "solid"),
        ("what the label takes", theme.text, 2, "dash"),
    ]
    data += [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [None],
            "y": [None],
            "name": name,
            "line": {"color": color, "width": width, "dash": dash},
        }
        for name, color, width, dash in named
    ]
    title = f"{NAMES[measure]}: {_short(kind)}"
    shared = style.layout(
        theme,
        title=escape_html(title),
        height=_HEIGHT,
        lines=["Across – steps of training, each mark ten times the last"] if narrow else [],
    )
    below = shared["margin"]["b"] + _AXIS + (2 * style.LEGEND_HEIGHT if narrow else 0)
    tick = {"tickfont": {"size": style.SMALL_FONT_SIZE}, "automargin": True}
    powers = [10**power for power in range(len(str(growth.steps[-1])))]
    layout = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "plot_bgcolor": style.CLEAR,
        "legend": style.legend_below(shared),
        "shapes": [
            {
                **{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y"},
                **{"y0": rule.least, "y1": rule.least},
                "line": {"color": theme.text, "width": 2, "dash": "dash"},
            }
        ],
        "xaxis": {
            "type": "log",
            "title": style.axis_title("" if narrow else "Steps of training"),
            "tickvals": [_UNTRAINED, *powers],
            "ticktext": ["0", *(f"{power:,}" for power in powers)],
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
        "yaxis": {
            "title": style.axis_title("" if narrow else _share(rule)),
            "range": [min(0.0, _least(growth, measure, kind)), 1],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
    }
    return go.Figure({"data": data, "layout": layout})


def _least(growth: Growth, measure: str, kind: AttentionKind) -> float:
    return min(float(np.nanmin(each)) for each in growth.of_kind(measure, kind).values())


def _share(rule: Rule) -> str:
    return "Share of the most" if rule.measure == "entropy_share" else "Share of the weight"


def _short(kind: AttentionKind) -> str:
    name = kind.full_name
    return name[:1].lower() + name[1:]


def growth_alt_text(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """The curves in words; arguments as in `growth_figure`."""
    curves = np.concatenate(list(growth.of_kind(measure, kind).values()))
    first, last = (curves[:, place][np.isfinite(curves[:, place])] for place in (0, -1))

    def among(values: FloatArray) -> str:
        if not len(values):
            return "nothing that can be told"
        return f"{float(values.min()):.0%} to {float(values.max()):.0%}"

    return (
        f"{NAMES[measure]} of the {len(curves)} heads of {_short(kind)} over {len(growth.steps)} "
        f"steps of training: {among(first)} after {growth.steps[0]:,} steps, {among(last)} after "
        f"{growth.steps[-1]:,}. {_kept_words(growth, measure, kind)}"
    )


def growth_caption(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """How to read the curves, in plain text."""
    return (
        "Each line is a head, from the untrained model on the left to the trained one on the "
        f"right: the mean over the model’s examples. A label takes {GROWN[measure].needs}, the "
        f"dashed line, and as much in most of the sentences. {_kept_words(growth, measure, kind)}"
    )


def _kept_words(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """Which heads end with the label of a measure, and since when."""
    text = GROWN[measure].text
    found = [
        f"layer {site.layer}, head {head} since step {since:,}"
        for site, head, label, since in growth.kept()
        if site.kind is kind and label == text
    ]
    if not found:
        return f"In the end no head “{text}”."
    verb = "is called" if len(found) == 1 else "are called"
    return f"In the end {len(found)} {verb} “{text}”: {'; '.join(found)}."
