"""What a person waits for on the positions page, from the click to what is painted.

    python -m benchmarks.positions

The real app with a model of 512 dimensions and 512 positions, whose weights nobody trained: its
table and curves, the likeness of its positions, and the four matrices of a sentence of 512 tokens.

The clock runs inside the page, in headless Chromium: from the press of the pointer, in a listener
that is asked first, to the frame after the one that finds every figure of the topic drawn.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Browser, Page

from benchmarks._measure import interleaved, report
from benchmarks.browser import (
    CHECKPOINT,
    CHECKPOINTS_VARIABLE,
    VIEWPORT,
    Times,
    chromium,
    clock,
    running,
    settled,
    visitor,
)
from model.checkpoint import TOKENIZER, save_checkpoint
from model.config import TransformerConfig
from model.tokenizer import Tokenizer
from model.transformer import Transformer
from model.translator import load
from viz.position_terms import parts_figure
from viz.positions import by_offset_figure, encoding_heatmap, likeness_heatmap, waves

D_MODEL = POSITIONS = 512
TARGET = 500
"""Milliseconds to the last figure."""

TOPICS = {
    "The table": ("encoding", "waves", "circle", "pair-waves"),
    "Likeness": ("likeness", "by-offset"),
    "Meeting the words": ("parts", "terms"),
}
"""What is clicked on, and the figures that it brings."""

ELSEWHERE = "Shuffle the words"
"""A topic without a figure, from which each of the others is come to."""

# To the frame after the one in which all figures are there and hold what Plotly draws.
UNTIL_DRAWN = """keys => {
  window.drawn = new Promise((resolve, reject) => {
    const started = () => {
      const start = performance.now();
      const isDrawn = key => {
        const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
        return plot?._fullData?.length && plot.querySelector(".main-svg .xy, .main-svg .plot");
      };
      headscopeClock.seen(() => keys.every(isDrawn)).then(({ at }) => resolve(at - start), reject);
    };
    addEventListener("pointerdown", started, { capture: true, once: true });
  });
}"""


def write_checkpoint(folder: Path) -> None:
    """A model of the measured size; what it was trained for makes no difference to the time."""
    tokenizer = Tokenizer.load(CHECKPOINT / TOKENIZER)
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(
            vocab_size=len(tokenizer),
            d_model=D_MODEL,
            d_ff=64,
            n_heads=8,
            n_encoder_layers=1,
            n_decoder_layers=1,
            max_positions=POSITIONS,
        )
    )
    save_checkpoint(folder, model, tokenizer)


def sentence_of(tokenizer: Tokenizer, n_tokens: int) -> str:
    """Made-up words that are so many tokens, end token included.

    Raises:
        SystemExit: if the tokenizer has no word of one token to fill it up with.
    """
    chance = random.Random(0)
    words = [word for word in ("the", "cat", "dog", "man", "sat", "house", "on", "a") if
             len(tokenizer.encode(word)) == 1]
    if not words:
        raise SystemExit("The tokenizer has no short word of one token; add one to sentence_of.")
    return " ".join(chance.choices(words, k=n_tokens - 1))
