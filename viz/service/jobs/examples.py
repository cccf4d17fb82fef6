"""The heads of a model on the examples of its checkpoint; nothing where there are none."""

from collections.abc import Mapping
from pathlib import Path

from model.explain.examples import example_traces, layers_read_later, read_examples
from model.explain.head_ablation import example_means
from model.explain.head_numbers import resting
from model.trace.attention_map import FloatArray, Site
from model.translate.translator import Translator
from viz.service.job import Ask, of_model
from viz.service.versions import ModelVersion


def _folder(ask: Ask, version: ModelVersion) -> Path:
    return version.folder


@of_model("Comparing the rows…", brings=_folder)
def find_later_rows(model: Translator, folder: Path) -> Mapping[int, bool]:
    """Which layers look at the source of a token in the row that has read it.

    See model.explain.source_rows.
    """
    return dict(layers_read_later(model, read_examples(folder)))


@of_model("Comparing the heads…", brings=_folder)
def count_resting(model: Translator, folder: Path) -> Mapping[str, tuple[int, int]]:
    """How many heads rest on the sentence's start or end or on punctuation.

    See model.explain.measures.
    """
    traces = example_traces(model, read_examples(folder))
    return resting(traces) if traces else {}


@of_model("Comparing the heads…", brings=_folder)
def average_heads(model: Translator, folder: Path) -> Mapping[Site, FloatArray]:
    """The mean of what each head gives, before W_O, over all queries; by site, (head, d_v)."""
    return example_means(model, folder)
