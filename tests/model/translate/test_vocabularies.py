"""A vocabulary for each side: what is read goes through the one, what is written the other."""

import json
import shutil
from bisect import bisect_left
from pathlib import Path

import pytest
import torch

from model.checkpoints.checkpoint import load_checkpoint
from model.checkpoints.export_hf import ExportError, export
from model.checkpoints.folder_files import read_tensors
from model.checkpoints.shipped import CheckpointError
from model.paper.tokenizer import EOS
from model.survey.parallel_text import Pair
from model.training.evaluate import evaluate_checkpoint
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("models") / "en-de", separate=True)


@pytest.fixture(scope="module")
def two(folder: Path) -> Translator:
    return load(folder, device="cpu")


def test_each_side_has_its_own_pieces_and_matrices(folder, two):
    config = two.model.config
    assert (config.vocab_size, config.target_vocab_size, config.output_size) == (370, 360, 360)
    assert two.tokenizer.target is not two.tokenizer
    assert tuple(two.model.source_embedding.weight.shape) == (370, 48)
    assert tuple(two.model.output.weight.shape) == (360, 48)
    # Only the target's are one matrix, and it is stored once.
    stored = read_tensors(folder / "model.safetensors")
    assert {name for name in stored if "embedding" in name or "output" in name} == {
        "source_embedding.weight",
        "target_embedding.weight",
    }
    loaded = load_checkpoint(folder).model
    assert loaded.output.weight is loaded.target_embedding.weight
    assert loaded.source_embedding.weight is not loaded.target_embedding.weight


@torch.no_grad()
def test_logits_are_products_with_the_targets_embeddings(folder):
    checkpoint = load_checkpoint(folder)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    source = torch.tensor([[*tokenizer.encode(PAIRS[0][0]), EOS]])
    target = torch.tensor([[2, *tokenizer.target.encode(PAIRS[0][1])]])
    by_hand = model.hidden(source, target) @ model.target_embedding.weight.T
    torch.testing.assert_close(model(source, target), by_hand)
    state = model.start(source)
    for place in range(target.shape[1]):
        step = model.step(target[:, place], state)
        torch.testing.assert_close(step, by_hand[:, place], atol=1e-4, rtol=1e-4)


def test_what_is_read_and_what_is_written_are_spelled_by_their_own(two):
    for english, german in PAIRS:
        found = two.translate(english)
        assert found.text == german
        assert found.source.ids == (*two.tokenizer.encode(english), EOS)
        assert found.source.tokens == two.tokenizer.pieces(found.source.ids)
        assert found.token_ids == (*two.tokenizer.target.encode(german), EOS)
        assert found.tokens == two.tokenizer.target.pieces(found.token_ids)
        trace = two.trace(english)
        assert trace.source.tokens == found.source.tokens
        assert trace.predictions.tokens == found.tokens
        assert trace.target.tokens == ("<s>", *found.tokens[:-1])
        typed = two.trace(english, german)
        assert typed.predictions == trace.predictions
    # The same id stands for other pieces.
    ids = range(300, 360)
    assert two.tokenizer.pieces(ids) != two.tokenizer.target.pieces(ids)


def test_a_target_that_is_too_long_is_counted_in_its_own_pieces(two):
    german = "Die Katze frisst. " * 30
    fitting, otherwise = (
        bisect_left(
            range(len(german)),
            two.max_tokens,
            key=lambda end, side=side: len(side.encode(german[:end])),
        )
        for side in (two.tokenizer.target, two.tokenizer)
    )
    assert fitting != otherwise
    with pytest.raises(TextError, match=f"target is too long: its first {fitting - 1:,} char"):
        two.trace("The cat eats.", german)


def test_a_test_set_is_scored_with_both(folder):
    written, scores = evaluate_checkpoint(folder, [Pair(*each) for each in PAIRS], device="cpu")
    assert written == [german for _, german in PAIRS]
    assert scores["bleu"] == 100


def test_files_that_do_not_fit_are_refused_in_a_sentence(folder, tmp_path):
    copy = tmp_path / "copy"

    def broken() -> Path:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        return copy

    (broken() / "target_tokenizer.model").unlink()
    with pytest.raises(CheckpointError, match="no readable tokenizer at "):
        load_checkpoint(copy)
    shutil.copy(broken() / "tokenizer.model", copy / "target_tokenizer.model")
    with pytest.raises(CheckpointError, match="its target tokenizer has 370 pieces and its model"):
        load_checkpoint(copy)
    config = json.loads((broken() / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"target_vocab_size": None}))
    with pytest.raises(CheckpointError, match="do not fit"):
        load_checkpoint(copy)
    with pytest.raises(ExportError, match="their own vocabularies"):
        export(folder, tmp_path / "exported")
