"""A model as the browser takes it: its files, and a card that does not depend on a text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from safetensors.torch import save

from model.checkpoints.checkpoint import (
    language_pair,
    load_checkpoint,
    read_config,
    snapshot_file,
    snapshots,
    unique_state,
    well_read_tokens,
)
from model.checkpoints.eight_bits import quantized
from model.checkpoints.folder_files import INDEX, WEIGHTS, own_file
from model.checkpoints.import_vocabulary import VOCABULARY
from model.explain.alignment_file import read_alignment
from model.explain.block_outputs import block_outputs
from model.explain.examples import read_examples
from model.explain.facts import facts_of
from model.explain.labels_file import read_labels
from model.explain.reading import read
from model.paper.search import Search
from model.paper.table_tokenizer import TableTokenizer
from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator, load
from viz.decoding.attention import head_mean
from viz.decoding.payload import pack as pack_decoding
from viz.draw import themes
from viz.heads.standalone import opening
from viz.model_page.payload import pack as pack_figure
from viz.model_page.picture import figure_of_model
from viz.registry.pages import DEFAULT_SENTENCE, VIEWS
from viz.registry.sentences import USUAL
from viz.save.document import deflated
from viz.site.corpus import survey_files


class PackError(ValueError):
    """A model that no page can run; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A model to be sent to a browser.

    Attributes:
        name: of its folder.
        card: what the page knows of it before its weights are there, as plain values.
        weights: a safetensors file.
        tokenizer: a SentencePiece model.
        survey: files of its survey by name, as viz.site.corpus has them; empty without one.
    """

    name: str
    card: Mapping[str, Any]
    weights: bytes
    tokenizer: bytes
    survey: Mapping[str, bytes]


def packed(folder: Path, *, sentence: str = "", about: str = "") -> Packed:
    """The model of a checkpoint folder.

    Args:
        folder: of the checkpoint.
        sentence: that the page opens with; empty for the app's, or a model's first example.
        about: a sentence on the model, such as its licence.

    Raises:
        CheckpointError: if the folder is no checkpoint, or its survey is damaged.
        PackError: if the engine in the page does not run such a model.
        TextError: if the sentence cannot be translated.
    """
    require_runs(folder)
    model = load(folder, device="cpu")
    name = folder.resolve().name
    examples = [each.source for each in read_examples(folder)]
    reads = language_pair(name)[0]
    usual = USUAL.get(reads, DEFAULT_SENTENCE)
    first = sentence or (examples[0] if examples and reads != "en" else usual)
    card = {
        **model.provenance.texts,
        "name": name,
        "reads": reads,
        "well_read": well_read_tokens(model.metrics),
        "config": model.model.config.to_dict(),
        "sentence": first,
        "examples": examples,
        "about": about,
        "cells": {"light": themes.LIGHT.cells, "dark": themes.DARK.cells},
        "openings": {
            page: deflated(payload) for page, payload in openings(model, folder, first).items()
        },
    }
    tokenizer = model.tokenizer
    if isinstance(tokenizer, TableTokenizer):
        # As published, such weights are several times as large as a page can be.
        weights = save(quantized(unique_state(load_checkpoint(folder).model)))
        return Packed(name, card, weights, _tables(tokenizer), survey_files(folder))
    return Packed(name, card, _weights(folder), tokenizer.serialized, survey_files(folder))


def size_note(folder: Path) -> str:
    """How large a page with an imported model will be; empty for others, whose files say it.

    Raises PackError, CheckpointError as `packed`.
    """
    require_runs(folder)
    if not (folder / VOCABULARY).exists():
        return ""
    checkpoint = load_checkpoint(folder)
    count = sum(each.numel() for each in checkpoint.model.parameters())
    # Base64 writes three bytes as four; deflating takes a little off before.
    megabytes = (count + len(_tables(cast("TableTokenizer", checkpoint.tokenizer)))) * 4 / 3 / 1e6
    return f"{count:,} weights in 8 bits make a page of at most {megabytes:,.1f} MB."


def _tables(tokenizer: TableTokenizer) -> bytes:
    """The vocabularies of both sides, as engine/tables.js reads them."""
    sides = [
        {
            "model": b64encode(side.serialized).decode(),
            "table": dict(side.table),
            "frame": None if side.begins_with_code else asdict(side.frame),
        }
        for side in dict.fromkeys((tokenizer, tokenizer.target))
        if isinstance(side, TableTokenizer)
    ]
    return written(sides).encode()


def openings(model: Translator, folder: Path, sentence: str) -> dict[str, bytes]:
    """What the pages open with; their headers are the templates of all other sentences.

    Raises:
        TextError: if the sentence cannot be translated.
    """
    survey = read_labels(folder)
    labels = survey.labels if survey else {}
    decoding = model.decode(sentence, search=Search())
    trace = model.trace_of(decoding.translation)
    seen = read(trace)
    facts = facts_of(seen.maps)
    figure = figure_of_model(
        model,
        trace,
        seen,
        facts,
        table=read_alignment(folder),
        blocks=block_outputs(model, trace),
        labels=labels,
        pages=list(VIEWS),
    )
    return {
        # The heads page opens with the trace in it.
        "model": pack_figure(
            figure,
            key=f"{folder.resolve().name} {sentence}",
            selection=opening(seen, facts, labels),
        ),
        "decoding": pack_decoding(
            decoding,
            trace.target,
            head_mean(trace, AttentionKind.CROSS, ()),
            head_mean(trace, AttentionKind.DECODER, ()),
            name=sentence,
        ),
    }


def require_runs(folder: Path) -> None:
    """Raises PackError if the engine in a page does not run the model of a folder.

    Raises CheckpointError if its configuration cannot be read.
    """
    config = read_config(folder)
    if config.single_stack:
        raise PackError(
            "A page translates, which takes an encoder and a decoder, and this model has one of "
            "the two; open it in the app."
        )
    if config.target_vocab_size is not None and not (folder / VOCABULARY).exists():
        raise PackError("A page holds one vocabulary, and this model has two; open it in the app.")


def written(card: Mapping[str, Any] | Sequence[Any] | str) -> str:
    """Plain values as JSON that can stand in HTML."""
    return json.dumps(card, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _weights(folder: Path) -> bytes:
    if (folder / INDEX).exists():
        raise PackError(
            f"The weights of {folder} are in several files, too large for a page; save it in eight "
            "bits first."
        )
    steps = snapshots(folder)
    if steps and not (folder / WEIGHTS).exists():
        return snapshot_file(folder, steps[-1]).read_bytes()
    return own_file(folder, WEIGHTS).read_bytes()
