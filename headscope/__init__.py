"""Every attention head of a Transformer, from Python.

    import headscope as hs

    trace = hs.load("en-de").trace("The cat sat.")  # a model that comes with Headscope, or a path
    hs.show(trace)                                  # every head, in a cell's output
    with hs.watching() as seen:                     # any PyTorch module with attention in it
        my_model(**inputs)
    hs.open("mine.npz")                             # a trace or a model's folder, in the app

Each name is imported when it is first used, so that `import headscope` is quick.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.arguments import checked
from model.trace.forms import FORMS
from model.version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    # The public names, for type checkers; _HOMES provides them to Python.
    from headscope import figures as figures
    from headscope.comparing import compare as compare
    from headscope.in_app import Opened as Opened
    from headscope.in_app import open as open
    from model.checkpoints.shipped import existing_folder as checkpoint_folder  # noqa: F401
    from model.contrast.contrast import contrast as contrast
    from model.explain.alignment_error import alignment_error_rate as alignment_error_rate
    from model.explain.alignment_error import read_aligned as read_aligned
    from model.explain.attributing import attributions as attributions
    from model.explain.reading import Reading as Reading
    from model.explain.reading import read as read
    from model.explain.word_alignment import mutual_argmax as mutual_argmax
    from model.explain.word_alignment import word_map as word_map
    from model.paper.search import Sampling as Sampling
    from model.paper.search import Search as Search
    from model.patching.causal_trace import causal_trace as causal_trace
    from model.patching.patch import patch as patch
    from model.record.head_edits import Gate as Gate
    from model.record.head_edits import MeanAblation as MeanAblation
    from model.record.head_edits import ReplacedWeights as ReplacedWeights
    from model.record.intervention import Intervention as Intervention
    from model.record.intervention import PositionEdit as PositionEdit
    from model.record.mask_presets import PRESETS as PRESETS
    from model.record.recording import recording as recording
    from model.record.taps import install_taps as install_taps
    from model.survey.head_sentences import head_rules as head_rules
    from model.survey.over_texts import average as average
    from model.survey.over_texts import effects as effects
    from model.survey.survey_file import read_sentences as read_sentences
    from model.survey.survey_file import read_survey as read_survey
    from model.trace.attention_map import AttentionKind as AttentionKind
    from model.trace.attention_map import AttentionMap as AttentionMap
    from model.trace.attention_map import Site as Site
    from model.trace.attention_map import Tokens as Tokens
    from model.trace.trace import Trace as Trace
    from model.translate.text_models import load_reader as load_reader
    from model.translate.translator import Translator as Translator
    from model.translate.translator import load as load
    from model.watch import watching as watching
    from viz.notebook import explore as explore
    from viz.notebook import show as show
    from viz.save.film import film as film
    from viz.save.image import image as image
    from viz.save.picture import Layout as Layout

_HOMES = {
    name.asname: (node.module or "", name.name)
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom)
    for name in node.names
    if name.asname and not name.asname.startswith("_")
}

__all__ = sorted(_HOMES)


def _page(trace: Trace) -> str:
    from viz.notebook import show

    return show(trace)._repr_html_()


def _table(value: Any) -> Any:
    from viz.frames import frame

    return frame(value)


def _figure(trace: Trace, *arguments: Any, **named: Any) -> Any:
    from headscope.trace_figure import figure_of

    return figure_of(trace, *arguments, **named)


FORMS.update({"page": _page, "table": _table, "figure": _figure})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        # With these, Python asks after the nearest name.
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    module, own = _HOMES[name]
    if module == __name__:
        return import_module(f"{module}.{own}")
    value = getattr(import_module(module), own)
    value = globals()[name] = checked(value) if isfunction(value) else value
    return value


def __dir__() -> list[str]:
    return __all__
