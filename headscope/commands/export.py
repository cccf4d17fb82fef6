"""`headscope export "The cat sat." --head 2 --out head.pdf`."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import cached_property

import torch
from tqdm import tqdm

from headscope.commands.outputs import add_output
from headscope.commands.translate import add_checkpoint, add_search_options, asked_search
from headscope.figures import matched_by_surveys, trace_by
from model.checkpoints.checkpoint import CheckpointError, snapshots
from model.checkpoints.shipped import checkpoint_name
from model.contrast.contrast import contrast_of
from model.contrast.head_sets import head_set, random_sets
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import Pair, least_certain, next_likeliest, pair_of
from model.contrast.paths import paths
from model.contrast.results import Contrast, HeadSet, LogitTerms, Paths
from model.explain.ablation_results import Effects, ExamplesRemoval, Removal
from model.explain.alignment_file import read_alignment
from model.explain.alignment_table import AlignmentTable
from model.explain.attribution import METHODS, AttributionError, Attributions, SelfAttributions
from model.explain.attribution_methods import cross_attributions, self_attributions
from model.explain.block_outputs import block_outputs
from model.explain.examples import layers_read_later, read_examples
from model.explain.head_ablation import effects_of, example_means, removal
from model.explain.labels import Label
from model.explain.labels_file import read_labels
from model.explain.removal_file import read_removal
from model.files import write_whole
from model.paper.search import DecodingError, Search
from model.patching.causal_trace import causal_trace
from model.patching.patch import patch
from model.patching.results import CausalTrace, Patched
from model.record.head_edits import HeadError
from model.record.intervention import PositionError
from model.record.mask_rules import MaskError
from model.record.patches import PatchError
from model.trace.attention_map import AttentionKind, FloatArray, Site, TraceError
from model.trace.blocks import Blocks
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from viz.compare.view import VIEW as COMPARE
from viz.compare.view import by_part, read_patches
from viz.effects.removal_curve import MEASURES
from viz.links.request import Request
from viz.links.searches import Settings
from viz.registry.pictures import PICTURES
from viz.save import image, notebook
from viz.save.film import film
from viz.save.formats import FILMS, FORMATS, IMAGES, NUMBERS, ExportError
from viz.save.picture import Layout, Picture

KINDS = [str(kind) for kind in AttentionKind if kind is not AttentionKind.MODULE]

REFUSED = (
    *(AttributionError, CheckpointError, DecodingError, DeviceError, ExportError),
    *(HeadError, IndexError, MaskError, PatchError, PositionError, TextError, TraceError),
)
"""Errors whose message is one sentence for the user."""

FILES_HELP = """files, by the suffix of --out:
  .png .svg .pdf   the picture; they need Chromium or Chrome on this machine
  .gif .webm .mp4  the picture as a film of 5 to 20 s, of figures that move; likewise
  .csv .json .npz  its numbers, exact
  .html            the picture with its interaction, in one file that needs no network
  .py              the Python that makes the picture in a notebook
"""


def _figures_help() -> str:
    listed = [
        textwrap.fill(
            picture.about,
            width=100,
            initial_indent=f"  {slug:<11}",
            subsequent_indent=" " * 13,
        )
        for slug, picture in PICTURES.items()
    ]
    return "\n".join(["figures:", *listed])


def fill(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    command.epilog = f"{_figures_help()}\n\n{FILES_HELP}"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("text", help="the sentence; - reads it from standard input")
    add_output(
        command,
        "--out",
        kinds=FORMATS,
        required=True,
        metavar="FILE",
        help="the file to write; its suffix decides what",
    )
    command.add_argument("--figure", choices=PICTURES, default="head")
    command.add_argument("--attention", choices=KINDS, default="cross")
    command.add_argument("--layer", type=int, metavar="N", help="from 0")
    command.add_argument("--head", type=int, metavar="N", help="from 0")
    command.add_argument("--query", type=int, default=0, metavar="N", help="position of the query")
    command.add_argument("--key", type=int, default=0, metavar="N", help="position of the key")
    command.add_argument(
        "--dimensions",
        type=int,
        nargs="+",
        default=[0],
        metavar="N",
        help="dimensions of the positions",
    )
    command.add_argument(
        "--position", type=int, default=0, metavar="N", help="position on the circle"
    )
    command.add_argument(
        "--token", type=int, metavar="N", help="target token, from 1 (default: all)"
    )
    command.add_argument(
        "--instead",
        default="",
        metavar="WORD",
        help="another word for the target token (default: the next likeliest)",
    )
    command.add_argument("--method", choices=METHODS, default="weights", help="method of a map")
    command.add_argument(
        "--measure", choices=MEASURES, default="log_prob", help="measure of a removal curve"
    )
    command.add_argument("--target", default="", help="a translation of your own")
    command.add_argument(
        "--off",
        default="",
        metavar="HEADS",
        help="heads switched off while decoding, such as cross.3.5-encoder.0.1",
    )
    command.add_argument(
        "--mask",
        default="",
        metavar="TEXT",
        help="masks edited while decoding, as in the address of the decoding page",
    )
    command.add_argument(
        "--against",
        default=Settings(beam=1).written,
        metavar="TEXT",
        help="the second search to compare, as in the address of the decoding page",
    )
    command.add_argument("--other", default="", metavar="TEXT", help="a second sentence")
    command.add_argument(
        "--other-model",
        default="",
        metavar="MODEL",
        help="a second model: a folder or a name, with @0 for its first snapshot",
    )
    command.add_argument(
        "--patched",
        default="encoder.output",
        metavar="PARTS",
        help="parts of the second sentence's run, as in the address of the comparing page, such as "
        "cross.2.3-encoder.1.at4 (default: encoder.output)",
    )
    add_checkpoint(command)
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    command.add_argument("--words", action="store_true", help="join the pieces of words")
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
        type=_width,
        default="two-columns",
        metavar="WIDTH",
        help="column (85 mm), two-columns (174 mm, the default), slide (13.33 in), or a length "
        "such as 8.5cm",
    )
    command.add_argument(
        "--scale",
        type=int,
        choices=image.SCALES,
        default=2,
        help="pixels of a PNG per 1/96 inch",
    )
    command.add_argument("--dark", action="store_true", help="dark background")
    add_search_options(command)


def _width(text: str) -> str:
    try:
        image.millimetres(text)
    except ExportError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


class _CommandRequest(Request):
    """A request answered by the model named on the command line."""

    @cached_property
    def translator(self) -> Translator:
        # One small forward pass is slower with several threads.
        torch.set_num_threads(1)
        return load(self.arguments.checkpoint, device=self.arguments.device)

    @cached_property
    def search(self) -> Search:
        return asked_search(self.arguments, self.translator)

    @cached_property
    def labels(self) -> Mapping[Site, tuple[Label | None, ...]]:
        survey = read_labels(self.arguments.checkpoint)
        return survey.labels if survey else {}

    @cached_property
    def effects(self) -> Effects:
        return effects_of(self.translator, self.trace)

    @cached_property
    def contrasted(self) -> tuple[Contrast, int, str]:
        contrast = contrast_of(self.translator, self.trace, self._pair)
        return contrast, self._place, self._other

    @cached_property
    def head_set(self) -> HeadSet:
        return head_set(self.translator, self.trace, self._pair)

    @cached_property
    def random_sets(self) -> FloatArray:
        size = len(self.head_set.heads)
        return random_sets(self.translator, self.trace, self._pair, size)

    @cached_property
    def logit_terms(self) -> LogitTerms:
        return logit_terms(self.translator, self.trace, self._pair)

    @cached_property
    def paths(self) -> Paths:
        means = example_means(self.translator, self.arguments.checkpoint)
        return paths(self.translator, self.trace, self._pair, means)

    @cached_property
    def _pair(self) -> Pair:
        return pair_of(self.translator, self.trace, self._place, self._other)

    @property
    def _place(self) -> int:
        return least_certain(self.trace) if self.token is None else self.token

    @cached_property
    def _other(self) -> str:
        asked: str = self.arguments.instead
        return asked or next_likeliest(self.translator, self.trace, self._place)

    @cached_property
    def second(self) -> Trace:
        if model := self.arguments.other_model:
            return trace_by(model, self.text, device=self.arguments.device)
        return self.translator.trace(self._second)

    @property
    def partners(self) -> tuple[Mapping[Head, Head], tuple[str, ...]]:
        models = self.folder, str(self.arguments.other_model)
        found = matched_by_surveys(*models)
        return found, models if found else ()

    @property
    def _second(self) -> str:
        other: str = self.arguments.other
        if not other.strip():
            raise ExportError("This figure compares two sentences; name the second with --other.")
        return other

    @cached_property
    def causal_trace(self) -> CausalTrace:
        return causal_trace(self.translator, self.text, self._second)

    @cached_property
    def patched(self) -> Patched:
        asked = self.arguments.patched
        try:
            parts = read_patches(COMPARE.parameter("patched").parse(asked))
        except ValueError as reason:
            raise ExportError(f"--patched is {asked!r}, {reason}.") from None
        return patch(self.translator, self.text, self._second, by_part(parts))

    @cached_property
    def removal(self) -> Removal:
        return removal(self.translator, self.trace, self.effects)

    @cached_property
    def examples_removal(self) -> ExamplesRemoval | None:
        model = self.translator
        return read_removal(
            self.arguments.checkpoint, len(model.sites) * model.model.config.n_heads
        )

    @cached_property
    def attributions(self) -> Attributions:
        return cross_attributions(self.translator, self.trace)

    @cached_property
    def self_attributions(self) -> SelfAttributions:
        site = Site(AttentionKind(self.arguments.attention), self.layer)
        return self_attributions(self.translator, self.trace, site, token=self.token)

    @cached_property
    def alignment(self) -> AlignmentTable | None:
        return read_alignment(self.arguments.checkpoint)

    @cached_property
    def blocks(self) -> Blocks:
        return block_outputs(self.translator, self.trace)

    @cached_property
    def growth(self) -> Sequence[tuple[int, Trace]]:
        folder, device = self.arguments.checkpoint, self.arguments.device
        return [
            (step, load(folder, device=device, snapshot=number).trace(self.text, self.trace.text))
            for number, step in enumerate(snapshots(folder))
        ]

    @cached_property
    def read_later(self) -> Mapping[int, bool]:
        return layers_read_later(self.translator, read_examples(self.arguments.checkpoint))


def _content(picture: Picture, request: Request, format: str) -> bytes:
    """The requested file."""
    if format not in picture.formats:
        raise ExportError(
            f"“{picture.title}” cannot be written as .{format}; choose one of "
            f"{' '.join(f'.{each}' for each in picture.formats)}."
        )
    arguments = request.arguments
    layout = Layout(narrow=image.is_narrow(arguments.width), dark=arguments.dark)
    if format == "html" and picture.has("page"):
        return picture.page(layout.dark).encode()
    if format in FILMS:
        with tqdm(total=100, unit="%", disable=None, leave=False) as bar:
            return film(
                picture,
                format,  # type: ignore[arg-type]
                dark=arguments.dark,
                **_written_below(picture, request),
                progress=lambda share: bar.update(round(100 * share) - bar.n),
            )
    if format in NUMBERS:
        return picture.numbers().encode(format)  # type: ignore[arg-type]
    # Python is drawn once too: a picture that cannot be drawn is refused here, not in a notebook.
    figure = picture.figure(layout)
    if format == "html":
        return image.page(figure, picture.title).encode()
    if format in IMAGES:
        return image.image(
            figure,
            format,  # type: ignore[arg-type]
            arguments.width,
            arguments.scale,
            title=picture.title,
            caption=picture.full_caption,
            **_written_below(picture, request),
        )
    checkpoint = checkpoint_name(arguments.checkpoint) if picture.needs_model else None
    return notebook.code(picture.python(layout), checkpoint=checkpoint).encode()


def _written_below(picture: Picture, request: Request) -> dict[str, str]:
    return {
        "sentence": request.text if "sentence" in picture.origin else "",
        "model": request.arguments.checkpoint.name if "model" in picture.origin else "",
    }


def run(arguments: argparse.Namespace) -> None:
    """Write the file."""
    format = arguments.out.suffix.lower().removeprefix(".")
    request = _CommandRequest(
        sys.stdin.read() if arguments.text == "-" else arguments.text,
        arguments,
        checkpoint_name(arguments.checkpoint),
    )
    picture = PICTURES[arguments.figure].of(request)
    write_whole(arguments.out, _content(picture, request, format))
