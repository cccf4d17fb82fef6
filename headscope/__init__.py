"""Every attention head of a Transformer, from Python.

    import headscope as hs

    trace = hs.load("en-de").trace("The cat sat.")  # a model that comes with Headscope, or a path
    hs.show(trace)                                  # every head, in the output of a cell
    with hs.watching() as seen:                     # any PyTorch module with attention in it
        my_model(**inputs)
    hs.open("mine.npz")                             # a trace or a model's folder, in the app

Each name is imported when it is first used, so that `import headscope` is quick.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # What is listed here is public, for type checkers and, by _HOMES, for Python.
    from headscope import figures as figures
    from headscope.in_app import Opened as Opened
    from headscope.in_app import open as open
    from model.alignment_error import alignment_error_rate as alignment_error_rate
    from model.alignment_error import read_aligned as read_aligned
    from model.attribution_methods import attributions as attributions
    from model.effects import effects as effects
    from model.head_edits import Gate as Gate
    from model.head_edits import MeanAblation as MeanAblation
    from model.head_edits import ReplacedWeights as ReplacedWeights
    from model.intervention import Intervention as Intervention
    from model.intervention import PositionEdit as PositionEdit
    from model.mask_presets import PRESETS as PRESETS
    from model.reader import load_reader as load_reader
    from model.recording import recording as recording
    from model.search import Sampling as Sampling
    from model.search import Search as Search
    from model.shipped import checkpoint_folder as checkpoint_folder
    from model.taps import install_taps as install_taps
    from model.trace import AttentionKind as AttentionKind
    from model.trace import AttentionMap as AttentionMap
    from model.trace import Site as Site
    from model.trace import Tokens as Tokens
    from model.trace import Trace as Trace
    from model.translator import Translator as Translator
    from model.translator import load as load
    from model.watch import watching as watching
    from model.word_alignment import mutual_argmax as mutual_argmax
    from model.word_alignment import word_map as word_map
    from viz.heads.reading import Reading as Reading
    from viz.heads.reading import read as read
    from viz.notebook import explore as explore
    from viz.notebook import show as show
    from viz.save.image import image as image
    from viz.save.picture import Layout as Layout

_HOMES = {
    name.asname: (node.module or "", name.name)
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom)
    for name in node.names
    if name.asname
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, own = _HOMES[name]
    if module == __name__:
        return import_module(f"{module}.{own}")
    value = globals()[name] = getattr(import_module(module), own)
    return value


def __dir__() -> list[str]:
    return __all__
