"""The example sentences of a checkpoint, with the attention of its heads on them."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.checkpoints.checkpoint import EXAMPLES
from model.checkpoints.folder_files import own_file, parse_json
from model.checkpoints.shipped import CheckpointError
from model.explain.labels import HeadValues, survey
from model.explain.source_rows import read_later, token_sources
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that comes with a checkpoint, its translation, and what it shows in a sentence."""

    source: str
    translation: str
    shows: str


def read_examples(folder: Path) -> tuple[Example, ...]:
    """The examples in a checkpoint folder; none if the file is missing or malformed."""
    try:
        listed = parse_json(own_file(folder, EXAMPLES))
        examples = tuple(
            Example(entry["source"], entry["translation"], entry["shows"]) for entry in listed
        )
    except (CheckpointError, TypeError, KeyError):
        return ()
    fields = [field for each in examples for field in (each.source, each.translation, each.shows)]
    return examples if all(isinstance(field, str) and field.strip() for field in fields) else ()


def example_values(
    translator: Translator, examples: Sequence[Example]
) -> Mapping[Site, tuple[HeadValues, ...]]:
    """The measures of each head on each example that this model can read."""
    traces = example_traces(translator, examples)
    return survey((trace, token_sources(translator, trace)) for trace in traces)


def layers_read_later(translator: Translator, examples: Sequence[Example]) -> Mapping[int, bool]:
    """`read_later` over the examples that this model can read."""
    traces = example_traces(translator, examples)
    return read_later(traces, [token_sources(translator, trace) for trace in traces])


def example_traces(translator: Translator, examples: Sequence[Example]) -> list[Trace]:
    """Traces of each example that this model can read, with its translation."""
    traces = []
    for example in examples:
        with contextlib.suppress(TextError):
            traces.append(translator.trace(example.source, example.translation))
    return traces
