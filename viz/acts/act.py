"""An act: frames of one picture that play in ten seconds, as a page shows them and a film."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from model.trace.attention_map import AttentionKind, FloatArray
from model.trace.head import Head
from model.trace.provenance import UNKNOWN, Provenance
from model.trace.trace import Trace
from viz.browser.envelope import seal, steps_of
from viz.browser.files import joined
from viz.draw import themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import visible
from viz.draw.word_diff import word_diff
from viz.model_page.view import ACTS
from viz.save.document import document
from viz.save.film import Played
from viz.save.picture import Picture

HTML = '<div class="headscope act" aria-busy="true"></div>'

SECONDS: int = CONSTANTS["ACTS"]["SECONDS"]
"""For how long an act plays."""

MOST_LETTERS: int = CONSTANTS["ACTS"]["MOST_LETTERS"]
"""Of a translation that is shown: a model that has learned nothing writes on and on."""

Written = tuple[tuple[str, str], ...]
"""Pieces of a text in order, each with how it is marked: "" for not at all, "new", "word", "other"
or "pale"."""

KINDS = (AttentionKind.ENCODER, AttentionKind.CROSS, AttentionKind.DECODER)
"""The kinds of heads in the order in which they are drawn."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of an act.

    Attributes:
        name: of the moment, in a word or two.
        said: one sentence on what is seen.
        off: heads that are dark.
        trace: whose heads are drawn, by its place in `Act.traces`.
        stage: how much of the picture of hidden states has come; see `States`.
    """

    name: str
    written: Written
    said: str
    off: frozenset[Head] = frozenset()
    trace: int = 0
    stage: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A number at every frame, beside as many where chance chose.

    Attributes:
        up: what the number is.
        above: what holds above zero.
        below: what holds below zero.
        values: (frame,).
        others: (set, frame).
        names: of the line, and of the others.
    """

    up: str
    above: str
    below: str
    values: FloatArray
    others: FloatArray
    names: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Hidden states of two sentences, one of which crosses over from the second to the first.

    At the stages of `Frame.stage`, 0 shows the first sentence, 1 the second beside it, 2 the state
    that crosses, and 3 how likely the other word becomes with any one state instead.

    Attributes:
        stages: names of the rows, from below.
        first: tokens of the first sentence.
        second: of the second one.
        at: the row that crosses, its token in the first, and that in the second.
        shares: the probability of the other word with each state instead, (row, token of the
            first); NaN for a token without a counterpart.
    """

    stages: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    at: tuple[int, int, int]
    shares: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Act(Picture):
    """Frames of one picture.

    Attributes:
        act: its name in an address.
        read: the sentence.
        caption: how to read the picture, in one line.
    """

    act: str
    caption: str
    read: str
    frames: tuple[Frame, ...]
    traces: tuple[Trace, ...] = ()
    curve: Curve | None = None
    states: States | None = None
    known: Provenance = field(default=UNKNOWN, repr=False)

    origin: ClassVar[tuple[str, ...]] = ("sentence", "model")

    @property
    def title(self) -> str:
        return ACTS[self.act]

    @property
    def name(self) -> str:
        return f"act-{self.act}"

    @property
    def provenance(self) -> Provenance:
        return self.known

    @property
    def alt(self) -> str:
        return f"{self.title}. {' '.join(f'{each.name}: {each.said}' for each in self.frames)}"

    def pack(self, *, key: str, stage: bool = False, plays: bool = True) -> bytes:
        """The act for the browser, of payloads.json.

        Args:
            key: tells it from other acts; the browser plays each once by itself.
            stage: whether it is on a stage.
        """
        drawn = {site.kind for trace in self.traces for site in trace.maps}
        kinds = [kind for kind in KINDS if kind in drawn]
        values = {
            "payload": "act",
            "key": key,
            "title": self.title,
            "alt": self.alt,
            "stage": stage,
            "plays": plays,
            "seconds": SECONDS,
            "themes": themes.STAGE_THEMES if stage else themes.THEMES,
            "read": visible(self.read),
            "kinds": [_kind(kind, self.traces) for kind in kinds],
            "frames": [
                {
                    "name": each.name,
                    "said": visible(each.said),
                    "written": _shortened(each.written),
                    "off": [
                        [kinds.index(head.site.kind), head.site.layer, head.number]
                        for head in sorted(each.off)
                    ],
                    "trace": each.trace,
                    "stage": each.stage,
                }
                for each in self.frames
            ],
            "curve": None if self.curve is None else _curve(self.curve),
            "states": None if self.states is None else _states(self.states),
        }
        return seal(values)

    def page(self, dark: bool) -> str:
        return self._document(dark=dark or None, plays=True)

    def film(self) -> Played:
        return Played(
            lambda dark: self._document(dark=dark, plays=False, stage=True), SECONDS, most=SECONDS
        )

    def _document(self, *, dark: bool | None, plays: bool, stage: bool = False) -> str:
        return document(
            self.pack(key=self.title, stage=stage, plays=plays),
            title=f"{self.title} – {self.read}",
            html=HTML,
            css=joined("act/act.css"),
            script=joined(Path(__file__).with_name("standalone.js")),
            about=f"{self.caption} It asks nothing of any network.",
            provenance=self.provenance,
            dark=dark,
        )


def changed(before: str, after: str) -> Written:
    """A text in which the words that another one lacks are marked as new."""
    pieces = [
        (text, "new" if change == "added" else "")
        for change, text in word_diff(before, after)
        if change != "removed"
    ]
    # What was removed ahead of the first leaves its space.
    return tuple(
        (text if place else text.lstrip(), mark) for place, (text, mark) in enumerate(pieces)
    )


def n_changed(before: str, after: str) -> int:
    """How many words of the second text are not in the first."""
    return sum(len(text.split()) for text, mark in changed(before, after) if mark)


def plain(text: str) -> Written:
    """A text without a mark."""
    return ((text, ""),)


def _kind(kind: AttentionKind, traces: Sequence[Trace]) -> dict[str, Any]:
    maps = [[each for site, each in trace.maps.items() if site.kind is kind] for trace in traces]
    first = maps[0][0]
    return {
        "name": kind.full_name,
        "layers": len(maps[0]),
        "heads": first.n_heads,
        "rows": len(first.queries),
        "columns": len(first.keys),
        "weights": [[steps_of(each.weights) for each in own] for own in maps],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "up": curve.up,
        "above": curve.above,
        "below": curve.below,
        "names": list(curve.names),
        "values": np.asarray(curve.values, np.float64),
        "others": np.asarray(curve.others, np.float64),
        "count": len(curve.others),
    }


def _states(states: States) -> dict[str, Any]:
    return {
        "stages": list(states.stages),
        "first": list(states.first),
        "second": list(states.second),
        "at": list(states.at),
        "shares": np.nan_to_num(states.shares, nan=-1.0).astype(np.float64),
    }


def _shortened(written: Written) -> list[list[str]]:
    pieces, room = [], MOST_LETTERS
    for text, mark in written:
        shown = visible(text)
        if len(shown) > room:
            pieces.append([f"{shown[:room]}…", mark])
            break
        pieces.append([shown, mark])
        room -= len(shown)
    return pieces
