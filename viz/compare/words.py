"""The probabilities of the second sentence's words in both runs, and with a patch in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.patching.results import Patched
from model.record.patches import Stream
from viz.compare.tracing import chance
from viz.compare.view import by_part, listed, part_name, read_patches
from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.links.request import Request
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

_HEIGHT, _AXIS = 230, 58


@dataclass(frozen=True, slots=True, eq=False)
class PatchedWords(Picture):
    """How likely each word of the second translation is, before and after patching.

    Attributes:
        patched: the run.
        parts: what was put in, as the address writes it.
    """

    slug = "patched"
    about = "each word's probability with parts (--patched) of a second sentence (--other) put in"

    patched: Patched
    parts: str

    title = "How likely each word of the second translation is"
    name = "compare-words"

    @classmethod
    def of(cls, request: Request) -> PatchedWords:
        return cls(request.patched, request.arguments.patched)

    @property
    def _names(self) -> str:
        """What was put in, in words."""
        runs = self.patched
        source, target = axis_texts(runs.source), ["<s>", *axis_texts(runs.predictions)]
        return listed(part_name(*each, source, target) for each in read_patches(self.parts))

    @property
    def texts(self) -> Mapping[str, str]:
        return {"second_sentence": self.patched.other, "patched": self._names}

    @property
    def caption(self) -> str:
        return (
            "Three probabilities a word: in the first sentence, in the second, and in the first "
            f"with {self._names} from the second."
        )

    @property
    def more(self) -> str:
        return (
            "All three runs read the second sentence’s translation up to each word. A patch "
            "replaces these activations and lets everything after them run on."
        )

    @property
    def alt(self) -> str:
        rows = self._probabilities
        texts = side_texts(self.patched.predictions)
        moved = int(np.abs(rows[2] - rows[0]).argmax())
        return (
            f"{self.title}. Dots for each of {style.count_of(len(texts), 'word')}. Most changed: "
            f"“{texts[moved]}”, from {chance(float(rows[0, moved]))} to "
            f"{chance(float(rows[2, moved]))}."
        )

    @property
    def _probabilities(self) -> Any:
        """In the first run, in the second and in the patched one, (3, target)."""
        runs = self.patched
        return np.exp(np.stack([runs.log_probs, runs.other_log_probs, runs.patched_log_probs]))

    def figure(self, layout: Layout) -> go.Figure:
        """Three dots a word, and a line from the first run to the patched one."""
        theme = themes.page(layout.dark)
        rows = self._probabilities
        tokens = [escape_html(each) for each in side_texts(self.patched.predictions, layout.narrow)]
        places = list(range(len(tokens)))
        spec = {
            **style.plain_layout(
                theme,
                title="Probability of each word" if layout.narrow else self.title,
                height=_HEIGHT,
                below=style.BOTTOM + _AXIS,
                top=0,
            ),
            "xaxis": style.axis(
                "",
                tokens,
                style.label_step(len(tokens), 12 if layout.narrow else 40),
                range=[-0.6, len(tokens) - 0.4],
            ),
            "yaxis": style.value_axis(theme, "", range=[-0.04, 1.04], tickformat=".0%"),
        }
        line = {
            "type": "scatter",
            "mode": "lines",
            "x": [x for place in places for x in (place, place, None)],
            "y": [y for place in places for y in (rows[0, place], rows[2, place], None)],
            "line": {"color": theme.muted, "width": 2},
            "hoverinfo": "skip",
            "showlegend": False,
        }
        looks = (
            ("First sentence", theme.accent, "circle-open", 13),
            ("Second sentence", theme.compared[3], "circle-open", 19),
            ("First, patched", theme.text, "circle", 9),
        )
        dots = [
            {
                "type": "scatter",
                "mode": "markers",
                "x": places,
                "y": values,
                "name": name,
                "marker": {"symbol": symbol, "size": size, "color": color, "line": {"width": 2}},
                "hovertemplate": f"<b>%{{x}}</b><br>{name} <b>%{{y:.1%}}</b><extra></extra>",
            }
            for (name, color, symbol, size), values in zip(looks, rows, strict=True)
        ]
        return go.Figure({"data": [line, *dots], "layout": spec})

    @property
    def setup(self) -> Lines:
        parts = {
            (part.side, part.stage)
            if isinstance(part, Stream)
            else (str(part[0].kind), part[0].layer, part[1]): tokens
            for part, tokens in by_part(read_patches(self.parts)).items()
        }
        return [
            f"first, second = {self.patched.sentence!r}, {self.patched.other!r}",
            f"patched = hs.patch(translator, first, second, {parts!r})",
        ]

    def numbers(self) -> Numbers:
        axis = ("target",)
        runs = self.patched
        return Numbers(
            {},
            {"target": runs.predictions},
            {
                "log_prob_first": (axis, runs.log_probs),
                "log_prob_second": (axis, runs.other_log_probs),
                "log_prob_patched": (axis, runs.patched_log_probs),
            },
        )
