"""A picture: one class, which page, stage, Save menu, command line and notebook all read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import plotly.graph_objects as go

from viz.save.formats import IMAGES, NUMBERS
from viz.save.notebook import Lines
from viz.save.numbers import Numbers


@dataclass(frozen=True, slots=True)
class Layout:
    """How a figure is laid out and coloured: for one column, for a slide, on a dark ground."""

    narrow: bool = False
    slide: bool = False
    dark: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """For figures of one part."""
        return {"narrow": self.narrow, "dark": self.dark}

    @property
    def panel_options(self) -> dict[str, Any]:
        """For figures of several panels."""
        return asdict(self)

    @property
    def python(self) -> str:
        """`options` as the end of a call, such as ", narrow=True"."""
        return _arguments(self.options)

    @property
    def panel_python(self) -> str:
        """`panel_options` as the end of a call."""
        return _arguments(self.panel_options)


class Picture(ABC):
    """One picture, and all that can be made of it.

    A subclass is a frozen dataclass of what it shows. It overrides what it has; what it does not
    override is not offered.
    """

    origin: ClassVar[tuple[str, ...]] = ("sentence", "model")
    """What its image names below the caption, of what it was made from."""

    @property
    def needs_model(self) -> bool:
        """Whether its Python loads the model."""
        return True

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, in sentence case."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of its files: letters, digits and hyphens, without "headscope" and a suffix."""

    @property
    def texts(self) -> Mapping[str, str]:
        """What was given to the model besides the sentence, to go with the numbers."""
        return {}

    @property
    def alt(self) -> str:
        """The figure in words, for those who do not see it."""
        raise NotImplementedError

    @property
    def caption(self) -> str:
        """How to read the figure, in plain text."""
        raise NotImplementedError

    def figure(self, layout: Layout) -> go.Figure:
        """Draw it."""
        raise NotImplementedError

    def numbers(self) -> Numbers:
        """Those it shows, as exact as they were recorded."""
        raise NotImplementedError

    def python(self, layout: Layout) -> Lines:
        """The lines that make the same figure in a notebook, the last of them it; see `code`."""
        raise NotImplementedError

    def page(self, dark: bool) -> str:
        """An HTML document of its own, dark or as its reader likes it."""
        raise NotImplementedError

    @classmethod
    def has(cls, part: str) -> bool:
        """Whether a picture of this class has a part, by the name of its method."""
        return getattr(cls, part) is not getattr(Picture, part)

    @property
    def formats(self) -> list[str]:
        """What it can be saved as."""
        offered = dict.fromkeys(IMAGES, self.has("figure"))
        offered |= dict.fromkeys(NUMBERS, self.has("numbers"))
        offered["html"] = self.has("page") or self.has("figure")
        offered["py"] = self.has("python")
        return [format for format, is_there in offered.items() if is_there]


def _arguments(options: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value}" for name, value in options.items() if value)
