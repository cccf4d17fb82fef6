"""Running a model on sentences: translating, recording, decoding, reading what it computed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.explain.block_outputs import (
    Offer,
    Stream,
    block_outputs,
    offer_on,
    outputs_on,
    stream_on,
)
from model.paper.search import Search
from model.record.intervention import UNCHANGED, Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.blocks import Blocks
from model.trace.logit_lens import LogitLens
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation
from model.translate.text_models import Reader
from model.translate.translator import Translator
from viz.positions import score_terms
from viz.service.job import Ask, of_model
from viz.service.loaded import reader
from viz.service.results import Batch, Decoded, Outcome, Timed, TimedAnswer
from viz.service.versions import ModelVersion


@of_model("Translating…")
def translate(model: Translator, sentence: str) -> Timed:
    """The model's translation of a sentence; see `viz.service.batching` for what comes with it."""
    started = time.perf_counter()
    translation = model.translate(sentence)
    return Timed(translation, time.perf_counter() - started, model.device.type)


@of_model("Reading…", load=reader)
def read(model: Reader, text: str) -> TimedAnswer:
    """What a model that reads one text makes of it."""
    started = time.perf_counter()
    answer = model.read(text)
    return TimedAnswer(answer, time.perf_counter() - started)


def own_translation(
    ask: Ask, version: ModelVersion, sentence: str, target: str, *_: object
) -> Translation | None:
    """The model's own translation, unless there is a target."""
    return None if target else ask(translate(version, sentence)).translation


@of_model(brings=own_translation)
def record(model: Translator, own: Translation | None, sentence: str, target: str = "") -> Trace:
    """Every head's attention on a sentence, with a target, or with the model's own if empty."""
    return model.trace(sentence, target) if own is None else model.trace_of(own)


def _targets(
    ask: Ask, version: ModelVersion, sentences: Sequence[str], target: str, *_: object
) -> list[str | Translation]:
    own = [ask(translate(version, each)).translation for each in sentences]
    return [target or own[0], *own[1:]]


@of_model(brings=_targets)
def record_batch(
    model: Translator,
    targets: list[str | Translation],
    sentences: tuple[str, ...],
    target: str = "",  # for `_targets`
) -> Batch:
    """Sentences padded to one length, as in training, and recorded in one pass.

    The target is for the first of them; empty for the model's own translation.
    """
    made = model.trace_batch(sentences, targets)
    return Batch(made.padded, made.source_lengths, made.target_lengths)


def _batch(
    ask: Ask, version: ModelVersion, sentences: tuple[str, ...], target: str, *_: object
) -> tuple[list[str | Translation], Batch]:
    # Its traces would only make the way to the worker longer.
    made = replace(ask(record_batch(version, sentences, target)), padded=())
    return _targets(ask, version, sentences, target), made


@of_model(brings=_batch)
def intervene(
    model: Translator,
    batch: tuple[list[str | Translation], Batch],
    sentences: tuple[str, ...],
    target: str,  # for `_batch`
    number: int,
    under: Intervention,
) -> Outcome:
    """What the model does with one sentence of a batch under an intervention.

    The number counts from 0, and masks are of the padded lengths.
    """
    targets, made = batch
    # In one pass all sentences stand at the same positions.
    other = Intervention(positions=under.positions)
    each = [under if place == number else other for place in range(len(sentences))]
    forced = model.trace_batch(sentences, targets, under=each).padded[number]
    alone = under.without_padding(made.n_source[number], made.n_target[number])
    if alone is None:
        # Decoded beside the longest sentence, for as much padding as in the batch.
        longest = sentences[made.n_source.index(max(made.n_source))]
        free = model.trace_batch([sentences[number], longest], under=[under, other]).traces[0]
    else:
        free = model.trace(sentences[number], under=alone)
    return Outcome(forced, free)


@of_model("Translating…")
def decode(
    model: Translator, sentence: str, search: Search, under: Intervention = UNCHANGED
) -> Decoded:
    """How a sentence is translated by a search under an intervention."""
    decoding = model.decode(sentence, search=search, under=under)
    trace = model.trace_of(decoding.translation, under=under)
    translation = replace(decoding.translation, distributions=None)
    return Decoded(replace(decoding, translation=translation), trace)


@of_model("Reading every layer…", brings=lambda ask, *arguments: ask(decode(*arguments)).trace)
def read_layers(
    model: Translator,
    trace: Trace,
    sentence: str,
    search: Search,
    under: Intervention = UNCHANGED,
) -> LogitLens:
    """Each decoder layer's prediction at every step of the translation that `decode` writes."""
    return model.logit_lens(trace, under=under)


@of_model("Reading every branch…", brings=lambda ask, *arguments: ask(decode(*arguments)).decoding)
def read_branches(
    model: Translator,
    decoding: Decoding,
    sentence: str,
    search: Search,
    under: Intervention = UNCHANGED,
) -> Mapping[Site, FloatArray]:
    """What every hypothesis of `decode` looked at, as `Translator.cross_attention` gives it."""
    return model.cross_attention(decoding, under=under)


@of_model("Translating…", brings=own_translation)
def read_blocks(
    model: Translator, own: Translation | None, sentence: str, target: str = ""
) -> Blocks:
    """What the blocks beside attention do on a sentence."""
    if own is None:
        return block_outputs(model, model.trace(sentence, target))
    # One pass instead of two: the tokens are known without the trace.
    return outputs_on(model, own.source.ids, [model.model.config.bos_id, *own.token_ids[:-1]])


Ids = tuple[tuple[int, ...], tuple[int, ...]]
"""What encoder and decoder read."""


def _ids(ask: Ask, version: ModelVersion, sentence: str, target: str, *_: object) -> Ids:
    trace = ask(record(version, sentence, target))
    return trace.source.ids, trace.target.ids


@of_model("Reading every layer…", brings=_ids)
def read_stream(
    model: Translator, ids: Ids, sentence: str, target: str, stack: AttentionKind
) -> Stream:
    """What feed-forward layers of the encoder, or of the decoder, add on a sentence."""
    return stream_on(model, *ids, stack)


@of_model("Reading the last layer…", brings=_ids)
def read_offer(model: Translator, ids: Ids, sentence: str, target: str, step: int) -> Offer:
    """What the decoder's last row becomes after a step, counted from 0."""
    read, written = ids
    return offer_on(model, read, written[: step + 1])


@of_model()
def term_shares(model: Translator, sentence: str) -> Mapping[str, NDArray[np.float64]]:
    """Which share of each head's scores comes from each term, in the encoder's first layer.

    The terms of a long sentence hold a hundred times what is kept, and take as long to make. There
    are none for additive attention, whose scores are no such sum: it raises PositionError.
    """
    return score_terms.term_shares(model.score_terms(sentence).terms)
