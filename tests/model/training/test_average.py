"""The mean of weights of several runs becomes a checkpoint, from the command line."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint, unique_state
from model.checkpoints.folder_files import read_json, read_tensors
from model.checkpoints.shipped import CheckpointError
from model.training.average import main as average
from model.training.average import mean_weights
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's averaged/, and its weights/ of the steps 9 and 10: nothing, and twice as much."""
    folder = tmp_path_factory.mktemp("run")
    learned = load_checkpoint(write_tiny_checkpoint(folder / "learned"))
    metrics = {"step": 10, "valid_loss": 1.0, "valid": {"bleu": 1.0}, "steps": 10}
    save_checkpoint(folder / "averaged", learned.model, learned.tokenizer, metrics=metrics, bits=32)
    (folder / "weights").mkdir()
    state = {name: value.clone() for name, value in unique_state(learned.model).items()}
    for step, factor in ((9, 0.0), (10, 2.0)):
        scaled = {name: factor * value for name, value in state.items()}
        save_file(scaled, folder / "weights" / f"step-{step:07}.safetensors")
    return folder


def weights(run: Path) -> list[str]:
    return [str(file) for file in sorted((run / "weights").iterdir(), reverse=True)]


def test_the_mean_is_written_with_the_steps_it_comes_from(run, tmp_path, capsys):
    valid = tmp_path / "valid.tsv"
    valid.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    output = tmp_path / "mean"
    given = ["--checkpoint", str(run / "averaged"), "--weights", *weights(run)]
    assert average([*given, "--output", str(output), "--valid", str(valid)]) == 0
    written, last = load_checkpoint(output), load_checkpoint(run / "averaged")
    expected = unique_state(last.model)
    for name, value in unique_state(written.model).items():
        torch.testing.assert_close(value, expected[name])
    metrics = read_json(output / "metrics.json")
    # What was measured of the last weights is not said of the mean.
    assert metrics.keys() == {"averaged_steps", "steps", "valid"}
    assert metrics["averaged_steps"] == [9, 10]
    assert metrics["valid"]["sentences"] == len(PAIRS)
    assert f"BLEU {metrics['valid']['bleu']}" in capsys.readouterr().out


def test_without_sentences_it_says_no_score(run, tmp_path):
    output = tmp_path / "mean"
    given = ["--checkpoint", str(run / "averaged"), "--weights", *weights(run)]
    assert average([*given, "--output", str(output)]) == 0
    assert read_json(output / "metrics.json").keys() == {"averaged_steps", "steps"}


def test_half_precision_is_averaged_in_float32(tmp_path):
    files = []
    for index, value in enumerate((1.0, 1.0 + 2**-10)):
        files.append(tmp_path / f"step-{index}.safetensors")
        save_file({"w": torch.full((2,), value, dtype=torch.float16)}, files[-1])
    torch.testing.assert_close(
        mean_weights(files)["w"], torch.full((2,), 1 + 2**-11), rtol=0, atol=0
    )


def test_other_shapes_are_refused(run, tmp_path, capsys):
    other = tmp_path / "step-11.safetensors"
    save_file({"w": torch.zeros(2)}, other)
    with pytest.raises(CheckpointError, match="another shape"):
        mean_weights([Path(weights(run)[0]), other])
    given = ["--checkpoint", str(run / "averaged"), "--output", str(tmp_path / "mean"), "--weights"]
    assert average([*given, str(other)]) == 1
    assert "do not fit" in capsys.readouterr().err


def test_a_file_of_no_step_is_refused(run, tmp_path, capsys):
    other = tmp_path / "model.safetensors"
    save_file(read_tensors(Path(weights(run)[0])), other)
    given = ["--checkpoint", str(run / "averaged"), "--output", str(tmp_path / "mean"), "--weights"]
    assert average([*given, str(other)]) == 1
    assert str(other) in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()
