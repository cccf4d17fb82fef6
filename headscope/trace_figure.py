"""`trace.figure("cross", 3, 5).save("head.pdf")`: the pictures of `headscope export`, in a line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from headscope.commands import export
from headscope.commands.asked import Asked, given_by
from headscope.commands.pictures import PICTURES
from headscope.commands.request import Request
from model.arguments import unknown
from model.checkpoints.shipped import checkpoint_folder
from model.checkpoints.weights_digest import weights_digest
from model.trace.provenance import Provenance
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from viz.save.formats import ExportError
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

SEARCHES = frozenset(
    {"beam", "length_penalty", "prefix", "samples", "temperature", "top_k", "top_p", "seed"}
)

OF_FILES = frozenset({"out", "checkpoint", "help", "width", "scale", "dark"})
"""Options that the trace settles, or `save` takes."""


@dataclass(frozen=True, slots=True)
class TraceFigure:
    """A picture of a trace, which saves itself in a line and ends a notebook's cell.

    Attributes:
        picture: as in `hs.figures`.
        given: what is known of it, by name: the sentence, the model and its weights.
    """

    picture: Picture
    given: Mapping[str, str]

    def save(self, file: Any, **how: Any) -> None:
        """Write it; arguments and errors as of `save` of any picture."""
        self.picture.save(file, given=self.given, **how)

    def numbers(self) -> Numbers:
        """Its numbers, with all that is known of them."""
        return self.picture.saved(self.given)

    def frame(self) -> Any:
        """Its numbers as a pandas table."""
        return self.numbers().frame()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.picture.figure(Layout())._repr_mimebundle_(include, exclude)


class _OfTrace(Request):
    """A request of a trace; the model is looked for when a picture asks it."""

    @cached_property
    def translator(self) -> Translator:
        known: Provenance = self.trace.provenance
        folder = checkpoint_folder(known.model)
        if not (known.model and folder.is_dir() and weights_digest(folder) == known.weights):
            raise ExportError(
                f"The figure {self.arguments.figure} asks the model, which the trace does not "
                "hold; give it, as in translator=hs.load(…)."
            )
        return load(folder, device=self.arguments.device)


def figure_of(
    trace: Trace,
    name: str,
    layer: int | None = None,
    head: int | None = None,
    *,
    translator: Translator | None = None,
    other: Trace | str = "",
    **options: Any,
) -> TraceFigure:
    """A picture of a trace; arguments and errors as of `Trace.figure`."""
    is_kind = name in [*export.KINDS]
    if not is_kind and name not in PICTURES:
        raise unknown("figure", name, [*export.KINDS, *PICTURES])
    options |= {"attention": name} if is_kind else {}
    named: dict[str, Any] = {"figure": "heads" if is_kind else name, "layer": layer, "head": head}
    second = other if isinstance(other, Trace) else None
    if second is None:
        named["other"] = other
    elif trace.provenance.is_of_another_model(second.provenance):
        named["other_model"] = second.provenance.model
    if not trace.provenance.search and trace.text and trace.provenance.model:
        named["target"] = trace.text
    parser = argparse.ArgumentParser()
    export.fill(parser)
    parser.error = _refuse  # type: ignore[method-assign]
    argv = ["--out=figure.pdf", *_argv(parser, named | options), "--", trace.source_text]
    parsed = parser.parse_args(argv)
    asked = Asked(parsed, given_by(parser, argv))
    asked.wrong_usage = _refuse
    folder = checkpoint_folder(trace.provenance.model or "none")
    asked.checkpoint = folder if translator is None else translator.folder or folder
    request = _OfTrace(trace.source_text, asked)
    preset: dict[str, Any] = {
        "trace": trace,
        "first": trace,
        "translator": translator,
        "second": second,
    }
    if not SEARCHES & options.keys():
        preset["target"] = str(asked.target)
    vars(request).update({key: value for key, value in preset.items() if value is not None})
    picture = PICTURES[asked.figure].of(request)
    asked.require_all_read(f"the figure {name}")
    return TraceFigure(picture, trace.provenance.texts | {"sentence": trace.source_text})


def _argv(parser: argparse.ArgumentParser, options: Mapping[str, Any]) -> Iterator[str]:
    """Options as the command line has them."""
    known = {
        each.dest: each
        for each in parser._actions
        if each.option_strings and each.dest not in OF_FILES
    }
    for name, value in options.items():
        if name not in known:
            raise unknown("option of a figure", name, known)
        action = known[name]
        if value is None or value == action.default:
            continue
        yield action.option_strings[-1]
        if action.nargs == "+":
            yield from map(str, value if isinstance(value, list | tuple) else [value])
        elif action.nargs != 0:
            yield str(value)


def _refuse(message: str) -> NoReturn:
    raise ExportError(f"{message[0].upper()}{message[1:]}.".replace("--", ""))
