"""What the captions of the decoding page say of tokens that may not be written, and of norms."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from model.paper.search import Search
from model.paper.transformer import Transformer
from model.translate.translator import load
from viz.decoding.certainty import Certainty
from viz.decoding.lens import NEAR, LayerLens
from viz.decoding.steps import OneStep

ROOT = Path(__file__).parents[3]
SENTENCE = "He has bought a new computer."


def test_captions_rank_only_what_may_be_written() -> None:
    translator = load(ROOT / "checkpoints" / "en-de-cheating", device="cpu")
    found = translator.decode(SENTENCE)
    distribution = np.exp(translator.translate(SENTENCE, keep_distributions=True).distributions[0])
    start = translator.tokenizer.pieces(range(4)).index("<s>")
    # By far the likeliest, and yet not among the ten.
    assert distribution[start] > 0.9
    assert start not in found.steps[0].likeliest.ids
    trace = translator.trace_of(found.translation)
    said = [
        OneStep(found, trace, Search()).caption,
        OneStep(found, trace, Search()).alt,
        Certainty(found, Search()).caption,
        LayerLens(translator.logit_lens(trace), SENTENCE).caption,
        NEAR,
    ]
    for each in said:
        assert "may write" in each, each


@pytest.mark.parametrize(
    ("norm", "final_norm", "told"),
    [
        ("pre", False, "has a final norm"),
        ("post", True, "has a final norm"),
        ("post", False, "has no norm"),
    ],
)
def test_the_lens_tells_whether_there_is_a_norm_after_the_last_layer(
    checkpoints: Path, tmp_path: Path, norm: str, final_norm: bool, told: str
) -> None:
    tiny = load_checkpoint(checkpoints / "en-de")
    config = dataclasses.replace(tiny.model.config, norm=norm, final_norm=final_norm)
    save_checkpoint(tmp_path / "tiny", Transformer(config), tiny.tokenizer, bits=32)
    translator = load(tmp_path / "tiny", device="cpu")
    lens = translator.logit_lens(translator.trace(SENTENCE))
    assert told in LayerLens(lens, SENTENCE, final_norm=translator.has_final_norm).more
