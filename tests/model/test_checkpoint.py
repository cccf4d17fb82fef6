"""What a checkpoint folder keeps, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

import model.checkpoint as checkpoint_module
from model.checkpoint import (
    INDEX,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
    unique_state,
)
from model.tokenizer import Tokenizer


@pytest.fixture
def folder(checkpoint_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(checkpoint_folder, tmp_path / "copy")


def test_what_is_saved_in_single_precision_comes_back_bit_for_bit(folder, tmp_path):
    loaded = load_checkpoint(folder)
    save_checkpoint(
        tmp_path / "again", loaded.model, loaded.tokenizer, metrics={"bleu": 1.5}, half=False
    )
    again = load_checkpoint(tmp_path / "again")
    assert again.metrics == {"bleu": 1.5}
    assert again.model.config == loaded.model.config
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], value), name
    assert not again.model.training


def test_half_precision_halves_the_file_and_rounds_each_weight_once(folder, tmp_path):
    loaded = load_checkpoint(folder)
    save_checkpoint(tmp_path / "half", loaded.model, loaded.tokenizer)
    assert (tmp_path / "half" / WEIGHTS).stat().st_size < 0.6 * (folder / WEIGHTS).stat().st_size
    half = load_checkpoint(tmp_path / "half").model.state_dict()
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(half[name], value.half().float()), name


def test_tied_weights_are_stored_once_and_tied_again_after_loading(folder):
    model = load_checkpoint(folder).model
    names = set(unique_state(model))
    assert "source_embedding.weight" in names
    assert not {"target_embedding.weight", "output.weight"} & names
    assert model.output.weight is model.source_embedding.weight


def test_large_weights_are_split_into_shards_that_load_as_one(folder, tmp_path, monkeypatch):
    loaded = load_checkpoint(folder)
    monkeypatch.setattr(checkpoint_module, "SHARD_BYTES", 30_000)
    save_checkpoint(tmp_path / "shards", loaded.model, loaded.tokenizer, half=False)
    files = sorted((tmp_path / "shards").glob("*.safetensors"))
    assert len(files) > 2
    largest = max(value.nbytes for value in unique_state(loaded.model).values())
    assert all(file.stat().st_size < max(30_000, largest) + 8_000 for file in files)
    again = load_checkpoint(tmp_path / "shards").model.state_dict()
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(again[name], value), name


def test_saving_over_shards_leaves_none_behind(folder, tmp_path, monkeypatch):
    loaded = load_checkpoint(folder)
    with monkeypatch.context() as small:
        small.setattr(checkpoint_module, "SHARD_BYTES", 30_000)
        save_checkpoint(tmp_path / "same", loaded.model, loaded.tokenizer)
    save_checkpoint(tmp_path / "same", loaded.model, loaded.tokenizer)
    assert [file.name for file in (tmp_path / "same").glob("*.safetensors")] == [WEIGHTS]
    assert not (tmp_path / "same" / INDEX).exists()


def test_a_missing_folder_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(CheckpointError, match=r"no checkpoint folder .*\."):
        load_checkpoint(tmp_path / "nowhere")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.model"])
def test_a_missing_file_is_refused_with_its_name(folder, file):
    (folder / file).unlink()
    with pytest.raises(CheckpointError, match=file):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "tokenizer.model", "metrics.json"]
)
def test_a_damaged_file_is_refused_as_damaged(folder, file):
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[: len(whole) // 2] + b"\xff")
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(folder)


def test_a_configuration_that_does_not_fit_the_weights_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "d_ff": 100}))
    with pytest.raises(CheckpointError, match="do not fit"):
        load_checkpoint(folder)


def test_an_unknown_field_in_the_configuration_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "surprise": 1}))
    with pytest.raises(CheckpointError, match="surprise"):
        load_checkpoint(folder)


def test_a_tokenizer_of_another_size_is_refused(folder):
    Tokenizer.train(["one two three four"] * 5, vocab_size=270).save(folder / "tokenizer.model")
    with pytest.raises(CheckpointError, match="pieces"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["../elsewhere.safetensors", "/etc/passwd", 3])
def test_an_index_that_names_files_elsewhere_is_refused(folder, name):
    (folder / INDEX).write_text(json.dumps({"weight_map": {"source_embedding.weight": name}}))
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(folder)
