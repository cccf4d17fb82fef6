"""Tiny seeded models, the same on every run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.paper.config import TransformerConfig
from model.paper.transformer import Transformer
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

TINY: dict[str, Any] = {
    "vocab_size": 50,
    "d_model": 32,
    "d_ff": 64,
    "n_heads": 4,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "dropout": 0.0,
    "max_positions": 64,
}


# Session scope: it holds no state, and so hypothesis may use it.
@pytest.fixture(scope="session")
def build() -> Callable[..., Transformer]:
    """Makes a tiny model in eval mode; keyword arguments change its TransformerConfig."""

    def build_model(**overrides: Any) -> Transformer:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2017)
            return Transformer(TransformerConfig(**{**TINY, **overrides})).eval()

    return build_model


@pytest.fixture
def tiny_model(build: Callable[..., Transformer]) -> Transformer:
    """A fresh tiny model with the default configuration."""
    return build()


@pytest.fixture(scope="session")
def checkpoint_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that has learned a handful of sentences by heart; tests must not change it."""
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoints") / "tiny")


@pytest.fixture(scope="session")
def translator(checkpoint_folder: Path) -> Translator:
    """The same, loaded."""
    return load(checkpoint_folder, device="cpu")
