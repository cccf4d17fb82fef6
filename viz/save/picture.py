"""A picture: one class that page, stage, Save menu, command line and notebook all read."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import plotly.graph_objects as go

from model.brief import Brief
from model.files import write_whole
from model.trace.provenance import UNKNOWN, Provenance, note_on_models
from viz.charts.chart import Layout as Layout
from viz.save.formats import FILMS, IMAGES, NUMBERS
from viz.save.notebook import Lines, assigned, public
from viz.save.numbers import Numbers


class Picture(Brief, ABC):
    """One picture in all its forms.

    A subclass is a frozen dataclass of what it shows. It overrides the forms it has; nobody offers
    the others. `headscope/figures.py` lists it if it has Python.
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
        """Its title, in sentence case."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The stem of its files: letters, digits and hyphens, without "headscope"."""

    @property
    def texts(self) -> Mapping[str, str]:
        """What the model was given besides the sentence; saved with the numbers."""
        return {}

    @property
    def provenance(self) -> Provenance:
        """What is known of the run that it shows."""
        return next(iter(self._known), UNKNOWN)

    @property
    def _known(self) -> list[Provenance]:
        shown = (getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]
        known = (getattr(each, "provenance", UNKNOWN) for each in shown)
        return [each for each in known if each != UNKNOWN]

    @property
    def alt(self) -> str:
        """The figure in words, for people who do not see it."""
        raise NotImplementedError

    @property
    def caption(self) -> str:
        """One line of plain text: what to look at."""
        raise NotImplementedError

    @property
    def more(self) -> str:
        """What else helps to read the figure, in plain text; pages show it behind *More*."""
        return ""

    @property
    def full_caption(self) -> str:
        """The caption with all that stands behind *More*, for files."""
        if not self.has("caption"):
            return ""
        return f"{self.caption} {self.more} {note_on_models(self._known)}".strip()

    def figure(self, layout: Layout) -> go.Figure:
        """The figure."""
        raise NotImplementedError

    def film(self) -> Any:
        """Its motion, as a viz.save.film.Film."""
        raise NotImplementedError

    def numbers(self) -> Numbers:
        """The numbers it shows, as exact as they were recorded."""
        raise NotImplementedError

    def saved(self, given: Mapping[str, str]) -> Numbers:
        """The numbers with all that is known of them, for files.

        Args:
            given: what else is known, such as the sentence, by name.
        """
        numbers = self.numbers()
        known = {**self.provenance.texts, **given, **self.texts, **numbers.texts}
        return replace(numbers, texts={name: text for name, text in known.items() if text})

    def save(
        self,
        file: str | os.PathLike[str],
        *,
        width: str = "two-columns",
        scale: int = 2,
        dark: bool = False,
        given: Mapping[str, str] | None = None,
    ) -> None:
        """Write the picture to a file; its suffix says what is written: see `formats`.

        Args:
            width: of an image: "column", "two-columns", "slide", or a length such as "8.5cm".
            scale: of a PNG: 1 to 4 pixels for every 1/96 inch.
            dark: white on black.
            given: what else is known, by name: the sentence and the model stand below an image.

        Raises:
            ExportError: if it cannot be written so; the message says why.
        """
        from viz.save.image import is_narrow
        from viz.save.saving import content

        format = Path(file).suffix.lower().removeprefix(".")
        layout = Layout(narrow=is_narrow(width), dark=dark)
        known = self.provenance.texts | dict(given or {})
        write_whole(
            Path(file), content(self, format, layout, width=width, scale=scale, given=known)
        )

    @property
    def setup(self) -> Lines:
        """Lines of a notebook that compute fields, each under its field's name."""
        raise NotImplementedError

    def python(self, layout: Layout) -> Lines:
        """Lines that draw the same figure in a notebook; the last one is the figure.

        The fields that `setup` does not compute are written out where they differ from their
        defaults.
        """
        computed = assigned(self.setup)
        arguments = []
        # Those by keyword last, as in a call.
        for each in sorted(fields(self), key=lambda each: each.kw_only is True):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if each.name in computed:
                written = each.name
            elif value == each.default:
                continue
            else:
                written = public(value)
            arguments.append(written if each.default is MISSING else f"{each.name}={written}")
        name = type(self).__name__
        return [
            *self.setup,
            f"picture = hs.figures.{name}({', '.join(arguments)})",
            f"picture.figure({public(layout)})",
        ]

    def page(self, dark: bool) -> str:
        """A complete HTML document, dark or in the reader's own theme."""
        raise NotImplementedError

    @classmethod
    def has(cls, part: str) -> bool:
        """Whether this class overrides a part, by the name of its method."""
        return getattr(cls, part) is not getattr(Picture, part)

    @property
    def formats(self) -> list[str]:
        """The kinds of file it can be saved as."""
        offered = dict.fromkeys(IMAGES, self.has("figure"))
        offered |= dict.fromkeys(FILMS, self.has("film"))
        offered |= dict.fromkeys(NUMBERS, self.has("numbers"))
        offered["html"] = self.has("page") or self.has("figure")
        offered["py"] = self.has("figure") and (self.has("setup") or self.has("python"))
        return [format for format, is_offered in offered.items() if is_offered]
