"""`headscope export "The cat sat." --head 2 --out head.pdf`."""

import argparse
import sys
import textwrap

from tqdm import tqdm

from headscope.commands.asked import Asked, add_device
from headscope.commands.outputs import add_output
from headscope.commands.pictures import PICTURES
from headscope.commands.request import Request
from headscope.commands.translate import add_checkpoint, add_search_options
from model.checkpoints.shipped import CheckpointError
from model.checkpoints.weights_digest import provenance_of
from model.explain.attribution import METHODS, AttributionError
from model.files import write_whole
from model.paper.search import DecodingError
from model.record.head_edits import HeadError
from model.record.intervention import PositionError
from model.record.mask_rules import MaskError
from model.record.patches import PatchError
from model.trace.attention_map import AttentionKind, TraceError
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from viz.effects.removal_curve import MEASURES
from viz.links.searches import Settings
from viz.save import image
from viz.save.formats import FILMS, FORMATS, IMAGES, NUMBERS, ExportError
from viz.save.picture import Layout, Picture
from viz.save.saving import content

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
            initial_indent=f"  {slug:<11}  ",
            subsequent_indent=" " * 15,
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
    add_device(command)
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


def known_of(picture: Picture, request: Request) -> dict[str, str]:
    """What goes with a picture: its sentence, and where it comes from."""
    folder = request.arguments.checkpoint
    model = provenance_of(folder).texts if "model" in picture.origin else {}
    return model | ({"sentence": request.text} if "sentence" in picture.origin else {})


def run(arguments: Asked) -> None:
    """Write the file."""
    format = arguments.out.suffix.lower().removeprefix(".")
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    request = Request(text, arguments)
    picture = PICTURES[arguments.figure].of(request)
    # Whatever is not read here is refused below, as it would change nothing.
    is_laid_out = format not in (*FILMS, *NUMBERS) and not (
        format == "html" and picture.has("page")
    )
    layout = Layout(
        narrow=is_laid_out and image.is_narrow(arguments.width),
        dark=format not in NUMBERS and arguments.dark,
    )
    with tqdm(total=100, unit="%", disable=None if format in FILMS else True, leave=False) as bar:
        written = content(
            picture,
            format,
            layout,
            width=arguments.width if format in IMAGES else "two-columns",
            scale=arguments.scale if format == "png" else 1,
            given=known_of(picture, request),
            checkpoint=request.folder,
            progress=lambda share: bar.update(round(100 * share) - bar.n),
        )
    arguments.require_all_read(f"the figure {arguments.figure} as .{format}")
    write_whole(arguments.out, written)
