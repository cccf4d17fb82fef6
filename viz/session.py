"""What the app keeps between runs: loaded translators, translations and traces, all bounded."""

from __future__ import annotations

import functools
import gc
import os
import time
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

from model.checkpoint import CONFIG, CheckpointError
from model.trace import Trace
from model.translator import TextError, Translation, Translator, load

DEFAULT_SENTENCE = "The cat sat on the mat."
DEFAULT_CHECKPOINT = "en-de"

CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
"""Names another folder of checkpoints than the one that comes with the app."""

MAX_CHARACTERS = 5000
"""More than any model here has positions for; longer texts are refused before they are cut up."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A translation and the seconds it took when it was made."""

    translation: Translation
    seconds: float


def checkpoint_folder() -> Path:
    """The checkpoint that the app shows: en-de, or the first one there is.

    Raises:
        CheckpointError: if there is none.
    """
    named = os.environ.get(CHECKPOINTS_VARIABLE)
    folder = Path(named) if named else Path(__file__).parents[1] / "checkpoints"
    try:
        found = sorted(config.parent for config in folder.glob(f"*/{CONFIG}"))
    except OSError:
        found = []
    usual = folder / DEFAULT_CHECKPOINT
    # A folder en-de without a configuration is taken all the same: it is damaged, not absent.
    if usual.is_dir():
        return usual
    if found:
        return found[0]
    raise CheckpointError(
        f"There is no trained model in {folder} yet: put a checkpoint folder there, or set "
        f"{CHECKPOINTS_VARIABLE} to a folder that holds one."
    )


@st.cache_resource(max_entries=2, show_spinner="Loading the model…")
def translator(checkpoint: Path) -> Translator:
    """The checkpoint's translator, loaded once a process, on the GPU where there is one.

    Raises:
        CheckpointError: if the folder is incomplete or damaged.
    """
    # Several people's requests share the cores; more threads a request would only fight for them.
    torch.set_num_threads(1)
    return load(checkpoint)


# Translating takes a search and its result is small; a trace takes one pass and is large. So many
# translations are kept and few traces: a trace of 500 tokens holds about 200 MB.
@st.cache_resource(max_entries=512, show_spinner="Translating…")
def translate(checkpoint: Path, sentence: str) -> Timed:
    """The model's translation of a sentence.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: if the sentence is empty, too long, or of characters the model never saw.
    """
    if len(sentence) > MAX_CHARACTERS:
        raise TextError(
            f"The text has {len(sentence):,} characters and the app takes {MAX_CHARACTERS:,}; "
            "shorten it."
        )
    model = translator(checkpoint)
    started = time.perf_counter()
    translation = model.translate(sentence)
    return Timed(translation, time.perf_counter() - started)


@st.cache_resource(max_entries=12, show_spinner=False)
def trace(checkpoint: Path, sentence: str, target: str | None = None) -> Trace:
    """What every head did on a sentence; shared by all sessions, which is safe as it is frozen.

    Args:
        checkpoint: its folder.
        sentence: the source.
        target: a translation to record; None records the model's own.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: as `translate`, and for a target that is empty or too long.
    """
    if target is None:
        return translator(checkpoint).trace_of(translate(checkpoint, sentence).translation)
    return translator(checkpoint).trace(sentence, target)


@functools.cache
def settle() -> None:
    """Set everything loaded so far aside from the garbage collector, once a process.

    Streamlit collects garbage after every run. With torch and Plotly loaded that looks at half a
    million objects which never go away, and holds every session up for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
