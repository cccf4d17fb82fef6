"""The command line: `python -m viz export "The cat sat." --layer 3 --head 2 --out head.pdf`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import plotly.graph_objects as go
import torch

from model.__main__ import DEFAULT_CHECKPOINT
from model.checkpoint import CheckpointError
from model.decoding import DecodingError
from model.intervention import PositionError
from model.trace import AttentionKind, AttentionMap, FloatArray, Trace, TraceError
from model.translator import DeviceError, TextError, Translator, load
from viz.heads.measures import head_facts
from viz.heads.overview import chosen_maps, heads_overview
from viz.heads.query_key import query_key_figure
from viz.heads.reading import Reading, Seen, read
from viz.masks.mask import Mask, batch_masks
from viz.masks.panels import mask_figure
from viz.positions import encoding as positions
from viz.positions.terms import parts_figure, term_shares, terms_figure
from viz.save import cells, export
from viz.save.export import ExportError, Numbers
from viz.save.picture_numbers import likeness_numbers, offsets_numbers, parts_numbers, terms_numbers
from viz.shell.examples import head_labels, read_examples

KINDS = [str(kind) for kind in AttentionKind if kind is not AttentionKind.MODULE]

REFUSED = (
    *(CheckpointError, DecodingError, DeviceError, ExportError),
    *(IndexError, PositionError, TextError, TraceError),
)
"""Whose message is one sentence for the person who asked."""

IMAGES, NUMBERS, TEXTS = (".png", ".svg", ".pdf"), (".csv", ".json", ".npz"), (".html", ".py")
"""What a file can be, by its suffix."""

FIGURES_HELP = """figures:
  heads      every head of a kind of attention; with --layer or --head those of one layer or number,
             with both that head. As .html the whole heads view with its interaction, offline.
  head       one head: --attention, --layer, --head
  query-key  one weight from the inside: --query, --key
  mask       what the mask lets attention look at, and why not elsewhere: --attention, --layer
  positions  the model's table of positions for this sentence
  waves      dimensions of that table over position: --dimensions
  circle     a pair of dimensions as points: --dimensions (its first names the pair), --position
  likeness   how alike every two positions are; offsets: the same by how far apart they stand
  parts      word, scaling, position and their sum; terms: what the first layer's scores come from

files, by the suffix of --out:
  .png .svg .pdf   the picture; they need Chromium or Chrome on this machine
  .csv .json .npz  its numbers, exact
  .html            the picture with its interaction, in one file that needs no network
  .py              the Python that makes the picture in a notebook
"""


@dataclass
class Request:
    """What was asked for, with what has to be computed for it, once and only if needed."""

    arguments: argparse.Namespace
    text: str

    @cached_property
    def translator(self) -> Translator:
        """The checkpoint's."""
        # The threads of one small forward pass cost more than they bring.
        torch.set_num_threads(1)
        return load(self.arguments.checkpoint, device=self.arguments.device)

    @cached_property
    def trace(self) -> Trace:
        """Of the sentence and the model's translation of it, or the one that was given."""
        return self.translator.trace(self.text, self.arguments.target or None)

    @cached_property
    def seen(self) -> Seen:
        """The trace as it is to be read."""
        return read(self.trace, reading(self.arguments))

    @property
    def attention_map(self) -> AttentionMap:
        """The one layer that was asked for."""
        return export.site_map(self.seen, self.arguments.attention, self.layer)

    @property
    def maps(self) -> tuple[list[AttentionMap], list[int]]:
        """The layers and heads that were asked for: all, of one layer, or of one number."""
        asked = self.arguments
        return chosen_maps(self.seen, asked.attention, asked.layer, asked.head)

    @property
    def layer(self) -> int:
        """Where only one can be shown."""
        return self.arguments.layer or 0

    @property
    def head(self) -> int:
        """Where only one can be shown."""
        return self.arguments.head or 0

    @property
    def mask(self) -> Mask:
        """What the layer's attention may look at."""
        # Also refuses a layer that there is not, of which no mask was recorded.
        export.site_map(self.seen, self.arguments.attention, self.layer)
        return batch_masks([self.trace], 0, layer=self.layer)[self.arguments.attention]

    @property
    def table(self) -> FloatArray:
        """The model's table of positions, without rows that training is known not to reach."""
        return self.translator.position_table(self.translator.trained_positions())

    @property
    def sentence_table(self) -> FloatArray:
        """Its rows for the tokens of the sentence."""
        return self.translator.position_table(len(self.trace.source))

    @property
    def pair(self) -> int:
        """The pair of dimensions that the first one named belongs to."""
        if self.table.shape[1] % 2:
            raise ExportError("This model's dimensions are no pairs: their number is odd.")
        return self.dimensions[0] // 2

    @property
    def dimensions(self) -> list[int]:
        """Those asked for, all of which the table has."""
        most = self.table.shape[1]
        for dimension in self.arguments.dimensions:
            if not 0 <= dimension < most:
                raise ExportError(
                    f"There are the dimensions 0 to {most - 1}; there is no dimension {dimension}."
                )
        return list(self.arguments.dimensions)

    @property
    def base(self) -> float | None:
        """The base of the wavelengths; None where the model learned its positions."""
        return self.translator.positions.base

    @property
    def look(self) -> dict[str, Any]:
        """How figures are laid out and coloured."""
        return {"narrow": self.narrow, "dark": self.arguments.dark}

    @property
    def narrow(self) -> bool:
        """Whether one column has to do."""
        return bool(self.arguments.width == "column")


def _query_key(asked: Request) -> go.Figure:
    arguments = asked.arguments
    # Says in one sentence what is wrong with the cell.
    _query_key_numbers(asked)
    try:
        return query_key_figure(
            asked.attention_map,
            asked.head,
            arguments.query,
            arguments.key,
            side_by_side=not asked.narrow,
            dark=arguments.dark,
        )
    except ValueError as error:
        # This model's scores are no product of query and key.
        raise ExportError(str(error)) from error


def _query_key_numbers(asked: Request) -> Numbers:
    arguments = asked.arguments
    return export.query_key_numbers(asked.attention_map, asked.head, arguments.query, arguments.key)


def _shares(asked: Request) -> dict[str, positions.Values]:
    return term_shares(asked.translator.score_terms(asked.text).terms)


DRAW: Mapping[str, Callable[[Request], go.Figure]] = {
    "heads": lambda asked: heads_overview(*asked.maps, **asked.look),
    "head": lambda asked: export.head_figure(
        asked.seen, asked.arguments.attention, asked.layer, asked.head, **asked.look
    ),
    "query-key": _query_key,
    "mask": lambda asked: mask_figure(asked.mask, **asked.look),
    "positions": lambda asked: positions.encoding_heatmap(
        asked.sentence_table,
        tokens=asked.trace.source,
        trained=asked.translator.trained_positions(),
        **asked.look,
    ),
    "waves": lambda asked: positions.waves(
        asked.table, asked.dimensions, base=asked.base, **asked.look
    ),
    "circle": lambda asked: positions.circle(
        asked.table, asked.pair, asked.arguments.position, base=asked.base, **asked.look
    ),
    "likeness": lambda asked: positions.likeness_heatmap(asked.table, cosine=True, **asked.look),
    "offsets": lambda asked: positions.by_offset_figure(asked.table, cosine=True, **asked.look),
    "parts": lambda asked: parts_figure(asked.translator.embedding_parts(asked.text), **asked.look),
    "terms": lambda asked: terms_figure(_shares(asked), **asked.look),
}
"""Every figure by its name."""

COUNT: Mapping[str, Callable[[Request], Numbers]] = {
    "heads": lambda asked: export.heads_numbers(*asked.maps),
    "head": lambda asked: export.head_numbers(asked.attention_map, asked.head),
    "query-key": _query_key_numbers,
    "mask": lambda asked: export.mask_numbers(asked.mask),
    "positions": lambda asked: export.table_numbers(asked.sentence_table),
    "waves": lambda asked: export.table_numbers(asked.table, asked.dimensions),
    "circle": lambda asked: export.table_numbers(asked.table, (2 * asked.pair, 2 * asked.pair + 1)),
    "likeness": lambda asked: likeness_numbers(asked.table, cosine=True),
    "offsets": lambda asked: offsets_numbers(asked.table, cosine=True),
    "parts": lambda asked: parts_numbers(asked.translator.embedding_parts(asked.text)),
    "terms": lambda asked: terms_numbers(_shares(asked)),
}
"""The numbers of every figure, by its name."""


def reading(arguments: argparse.Namespace) -> Reading:
    """How the trace is read."""
    return Reading(
        words=arguments.words,
        specials=arguments.specials,
        renormalise=arguments.renormalise and not arguments.specials,
        predicted=arguments.by_prediction,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m viz", description="The pictures of Headscope without its app."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "export",
        help="write a figure, its numbers, or the whole heads view to a file",
        description="Write a figure, its numbers, or the whole heads view to a file.",
        epilog=FIGURES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("text", help="the sentence; - reads it from standard input")
    command.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="its suffix says what to write"
    )
    command.add_argument("--figure", choices=get_args(export.Figure), default="head")
    command.add_argument("--attention", choices=KINDS, default="cross")
    command.add_argument("--layer", type=int, metavar="N", help="from 0")
    command.add_argument("--head", type=int, metavar="N", help="from 0")
    command.add_argument("--query", type=int, default=0, metavar="N", help="position of the query")
    command.add_argument("--key", type=int, default=0, metavar="N", help="position of the key")
    command.add_argument(
        "--dimensions", type=int, nargs="+", default=[0], metavar="N", help="of the positions"
    )
    command.add_argument("--position", type=int, default=0, metavar="N", help="on the circle")
    command.add_argument("--target", default="", help="a translation of your own")
    command.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT, metavar="DIR")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    command.add_argument("--words", action="store_true", help="whole words, not pieces of words")
    command.add_argument(
        "--no-specials", dest="specials", action="store_false", help="hide <s> and </s>"
    )
    command.add_argument(
        "--renormalise", action="store_true", help="with --no-specials, rows add up to 1 again"
    )
    command.add_argument(
        "--by-prediction", action="store_true", help="name rows by the token predicted"
    )
    command.add_argument(
        "--width",
        choices=export.WIDTHS,
        default="two-columns",
        help="85 mm, 174 mm (the default) or 13.33 in",
    )
    command.add_argument(
        "--scale",
        type=int,
        choices=export.SCALES,
        default=2,
        help="pixels of a PNG for every 1/96 inch",
    )
    command.add_argument("--dark", action="store_true", help="on a dark ground")
    return parser


def _page(asked: Request) -> str:
    """The whole heads view."""
    # Slow to load, as it brings Streamlit along, and no other file needs it.
    from viz.heads.standalone import heads_page

    arguments = asked.arguments
    maps, _ = asked.maps
    places = [site.layer for site in asked.seen.maps if site.kind is maps[0].site.kind]
    selection = {"attention": arguments.attention}
    if arguments.layer is not None:
        selection["layer"] = str(places.index(arguments.layer))
    if arguments.head is not None:
        selection["head"] = str(arguments.head)
    return heads_page(
        asked.seen,
        {site: head_facts(each) for site, each in asked.seen.maps.items()},
        head_labels(asked.translator, read_examples(arguments.checkpoint)),
        title=f"{asked.trace.source_text} – {asked.trace.text}",
        selection=selection,
        dark=True if arguments.dark else None,
    )


def _content(asked: Request) -> bytes:
    """The file that was asked for."""
    arguments = asked.arguments
    suffix = arguments.out.suffix.lower()
    name = arguments.figure
    if suffix == ".html" and name == "heads":
        return _page(asked).encode()
    if name == "heads" and arguments.layer is not None and arguments.head is not None:
        # All heads of one layer and one number are one head, and that is worth its tokens' names.
        name = "head"
    if suffix in NUMBERS:
        return COUNT[name](asked).encode(suffix.removeprefix("."))
    figure = DRAW[name](asked)
    if suffix == ".py":
        return _notebook_cell(asked, name).encode()
    if suffix == ".html":
        return export.page(figure).encode()
    return export.image(figure, suffix.removeprefix("."), arguments.width, arguments.scale)


def _notebook_cell(asked: Request, name: export.Figure) -> str:
    arguments = asked.arguments
    usual = arguments.checkpoint == DEFAULT_CHECKPOINT
    lines = export.notebook_lines(
        asked.text,
        name,
        attention=arguments.attention,
        layer=arguments.layer,
        head=arguments.head,
        query=arguments.query,
        key=arguments.key,
        dimensions=arguments.dimensions,
        position=arguments.position,
        target=arguments.target,
        reading=reading(arguments),
        narrow=asked.narrow,
        dark=arguments.dark,
    )
    checkpoint = "checkpoints/en-de" if usual else str(arguments.checkpoint)
    return cells.code(lines, checkpoint=checkpoint)


def _export(arguments: argparse.Namespace) -> None:
    known = (*IMAGES, *NUMBERS, *TEXTS)
    if arguments.out.suffix.lower() not in known:
        raise ExportError(
            f"The name of the file says what to write, and {arguments.out.name} does not; end it "
            f"in one of {' '.join(known)}."
        )
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    content = _content(Request(arguments, text))
    arguments.out.write_bytes(content)


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status: 0, or 2 for what cannot be done."""
    arguments = _parser().parse_args(argv)
    try:
        _export(arguments)
    except REFUSED as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename} cannot be written: {error.strerror}.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
