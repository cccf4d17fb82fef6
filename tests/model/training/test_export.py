"""A run with snapshots becomes a checkpoint folder with a card, from the command line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint, snapshot_file, snapshots
from model.checkpoints.folder_files import read_json, read_tensors
from model.explain.removal_file import read_removal
from model.survey.parallel_text import read_pairs
from model.training.export import main as export
from model.training.schedule import snapshot_steps
from model.training.settings import load_settings
from model.training.snapshots import snapshot_scores
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, SNAPSHOTS, write_tiny_snapshots

pytestmark = pytest.mark.slow

OTHER_CARD = """# another

## Data and licences

Tatoeba, CC BY 2.0 FR.

| source | pairs |

## Good at

Much.
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a finished run leaves: snapshots that the training kept, and averaged weights."""
    folder = tmp_path_factory.mktemp("runs") / "childhood"
    learned = write_tiny_snapshots(tmp_path_factory.mktemp("checkpoints") / "learned")
    (folder / "snapshots").mkdir(parents=True)
    for step in SNAPSHOTS:
        state = read_tensors(snapshot_file(learned, step))
        save_file(state, folder / "snapshots" / f"step-{step:07}.safetensors")
    finished = load_checkpoint(learned)
    metrics = {
        "averaged_steps": [SNAPSHOTS[-1]],
        "valid": {"bleu": 1.0},
        "steps": SNAPSHOTS[-1],
        "epochs": 3,
        "target_tokens": 1_200_000,
        "training_seconds": 300,
        "processes": 2,
        "device": "cpu",
        "training": {
            "batch_tokens": 2048,
            "accumulate": 1,
            "optimizer": "muon",
            "schedule": "linear",
            "label_smoothing": 0.1,
        },
    }
    save_checkpoint(folder / "averaged", finished.model, finished.tokenizer, metrics=metrics)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """valid.tsv, test.tsv with a sentence that the model never saw, and another model's card."""
    folder = tmp_path_factory.mktemp("data")
    lines = [f"{source}\t{target}\n" for source, target in PAIRS]
    (folder / "valid.tsv").write_text("".join(lines), encoding="utf-8")
    unknown = "The mat eats | a dog.\tDie Matte frisst einen | Hund.\n"
    (folder / "test.tsv").write_text("".join([*lines[:5], unknown]), encoding="utf-8")
    (folder / "card.md").write_text(OTHER_CARD, encoding="utf-8")
    return folder


def arguments(run: Path, output: Path, data: Path) -> list[str]:
    return [
        "--checkpoint", str(run), "--output", str(output), "--snapshots",
        "--valid", str(data / "valid.tsv"), "--test", str(data / "test.tsv"),
        "--card", str(data / "card.md"), "--threads", "1", "--orders", "1",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def shipped(run: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("shipped") / "en-de-childhood"
    assert export(arguments(run, output, data)) == 0
    return output


def test_every_snapshot_of_the_run_is_shipped_once_and_computes_the_same(run, shipped):
    assert snapshots(shipped) == SNAPSHOTS
    assert not [*shipped.glob("*.safetensors")]
    source, target = torch.tensor([[7, 8, 9, 3]]), torch.tensor([[2, 7, 8]])
    model = load_checkpoint(run / "averaged").model
    for place, step in enumerate(SNAPSHOTS):
        found = load_checkpoint(shipped, snapshot=place).model
        assert found.config.fused_qkv
        assert found.config.fused_attention
        state = read_tensors(run / "snapshots" / f"step-{step:07}.safetensors")
        model.load_state_dict(state, strict=False)
        with torch.inference_mode():
            torch.testing.assert_close(
                found(source, target), model(source, target), atol=1e-4, rtol=1e-4
            )


def test_the_metrics_tell_of_each_snapshot_what_the_shipped_files_can_do(shipped, data):
    listed = read_json(shipped / "metrics.json")["snapshots"]
    assert [each["step"] for each in listed] == list(SNAPSHOTS)
    pairs = read_pairs([data / "valid.tsv"])
    for place in (0, len(SNAPSHOTS) - 1):
        expected = snapshot_scores(load(shipped, device="cpu", snapshot=place), pairs)
        assert listed[place] == {"step": SNAPSHOTS[place], **expected}
    assert listed[-1]["bleu"] == 100
    entropy = listed[0]["entropy"]
    assert [np.shape(entropy[kind]) for kind in ("encoder", "decoder", "cross")] == [
        (2, 4), (3, 4), (3, 4)
    ]  # fmt: skip


def test_what_holds_of_the_averaged_weights_alone_is_not_said_of_the_last_ones(shipped):
    metrics = read_json(shipped / "metrics.json")
    assert "averaged_steps" not in metrics
    assert "valid" not in metrics
    assert metrics["steps"] == SNAPSHOTS[-1]
    assert metrics["test"]["beam"] == 4
    assert metrics["test"]["sentences"] == 6


def test_the_good_examples_are_translated_exactly_as_they_promise(shipped):
    listed = json.loads((shipped / "examples.json").read_text(encoding="utf-8"))
    translator = load(shipped, device="cpu")
    # What so small a model learns of six sentences differs from one processor to another.
    assert len(listed) in (5, 6)
    for each in listed:
        assert translator.translate(each["source"]).text == each["translation"]
        assert each["shows"].endswith(".")


def test_what_is_left_without_heads_is_computed_over_the_examples(shipped):
    found = read_removal(shipped, 32)
    assert found.sentences == len(json.loads((shipped / "examples.json").read_text("utf-8")))
    assert len(found.log_prob.at_random) == 1
    assert found.chrf.least_first[0] == 100
    assert found.log_prob.least_first[-1] < found.log_prob.least_first[0]


def test_the_card_tells_shape_learning_scores_training_data_and_what_comes_out_how(shipped):
    card = (shipped / "card.md").read_text(encoding="utf-8")
    metrics = read_json(shipped / "metrics.json")
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert headings == [
        "# en-de-childhood", "## How it learned", "## Scores", "## Training",
        "## Data and licences", "## Good at", "## Bad at",
    ]  # fmt: skip
    assert "| 1,120 | " in card
    assert f"{metrics['test']['bleu']:.1f}" in card
    assert metrics["test"]["signature"] in card
    assert "1120 steps" in card
    assert "Hardware: cpu" in card
    assert "Tatoeba, CC BY 2.0 FR." in card
    assert "Much." not in card
    for source, target in PAIRS[:2]:
        assert f"| {source} | {target} | " in card


def test_a_bar_in_a_sentence_stays_within_its_cell(shipped):
    card = (shipped / "card.md").read_text(encoding="utf-8")
    (line,) = [line for line in card.splitlines() if line.startswith("| The mat eats")]
    assert line.startswith("| The mat eats \\| a dog. | ")
    assert line.replace("\\|", "").count("|") == 4


def test_exporting_twice_gives_the_same_files_to_the_byte(run, data, shipped, tmp_path):
    again = tmp_path / "en-de-childhood"
    assert export(arguments(run, again, data)) == 0
    files = sorted(path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    for file in files:
        assert (shipped / file).read_bytes() == (again / file).read_bytes(), file


@pytest.fixture
def broken(run: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may damage."""
    return shutil.copytree(run, tmp_path / "run")


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert export(arguments) == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def test_a_run_without_snapshots_is_refused(broken, data, tmp_path, capsys):
    shutil.rmtree(broken / "snapshots")
    error = refused(arguments(broken, tmp_path / "new", data), capsys)
    assert "kept no snapshots" in error
    assert not (tmp_path / "new").exists()


def test_only_the_steps_that_are_asked_for_are_shipped_and_the_last(run, data, tmp_path, capsys):
    output = tmp_path / "new"
    command = [*arguments(run, output, data), "--steps", str(SNAPSHOTS[1])]
    assert export(command) == 0
    assert snapshots(output) == (SNAPSHOTS[1], SNAPSHOTS[-1])
    listed = read_json(output / "metrics.json")["snapshots"]
    assert [each["step"] for each in listed] == [SNAPSHOTS[1], SNAPSHOTS[-1]]
    error = refused([*arguments(run, tmp_path / "newer", data), "--steps", "0", "3"], capsys)
    assert f"no snapshot of step 3; it has those of {', '.join(map(str, SNAPSHOTS))}" in error
    assert not (tmp_path / "newer").exists()


def test_an_unfinished_run_is_refused(broken, data, tmp_path, capsys):
    shutil.rmtree(broken / "averaged")
    assert "not finished" in refused(arguments(broken, tmp_path / "new", data), capsys)


def test_a_run_that_stopped_before_its_last_snapshot_is_refused(broken, data, tmp_path, capsys):
    (broken / "snapshots" / f"step-{SNAPSHOTS[-1]:07}.safetensors").unlink()
    error = refused(arguments(broken, tmp_path / "new", data), capsys)
    assert f"snapshot is of step {SNAPSHOTS[-2]}" in error


@pytest.mark.parametrize("content", [None, "# another\n", "## Data and licences\n\n## Good at\n"])
def test_a_card_that_does_not_tell_of_data_is_refused(run, data, tmp_path, capsys, content):
    card = tmp_path / "other.md"
    if content is not None:
        card.write_text(content, encoding="utf-8")
    command = arguments(run, tmp_path / "new", data)
    command[command.index("--card") + 1] = str(card)
    assert str(card) in refused(command, capsys)


@pytest.mark.parametrize(("given", "needed"), [("--snapshots", "--valid"), ("--card", "--test")])
def test_what_another_option_needs_is_asked_for(run, data, tmp_path, capsys, given, needed):
    command = arguments(run, tmp_path / "new", data)
    place = command.index(needed)
    del command[place : place + 2]
    with pytest.raises(SystemExit):
        export(command)
    assert f"{given} needs {needed}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "kinds", "told"),
    [
        ((), {torch.float16}, "| files | safetensors in half precision, computed in "),
        (
            ("--bits", "8"),
            {torch.int8, torch.float16, torch.float32},
            "| files | safetensors with matrices in eight bits, one scale per row, computed in ",
        ),
    ],
)
def test_a_trained_model_is_stored_in_as_many_bits_as_are_asked_for_and_its_card_says_so(
    run, data, tmp_path, given, kinds, told
):
    command = arguments(run / "averaged", tmp_path / "en-de-new", data)
    command.remove("--snapshots")
    assert export([*command, *given]) == 0
    stored = read_tensors(tmp_path / "en-de-new" / "model.safetensors")
    assert {value.dtype for value in stored.values()} == kinds
    assert told in (tmp_path / "en-de-new" / "card.md").read_text(encoding="utf-8")


def test_snapshots_are_not_stored_in_eight_bits(run, data, tmp_path, capsys):
    with pytest.raises(SystemExit):
        export([*arguments(run, tmp_path / "new", data), "--bits", "8"])
    assert "in half precision" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_configuration_of_the_shipped_snapshots_keeps_its_first_and_last_weights():
    _, settings = load_settings("childhood")
    steps = snapshot_steps(settings.snapshots, settings.max_steps)
    assert steps[0] == 0
    assert steps[-1] == settings.max_steps
    assert len(steps) >= 40
    assert settings.patience == 0


def test_the_shipped_childhood_takes_at_most_60_mb():
    folder = Path(__file__).parents[3] / "checkpoints" / "en-de-childhood"
    if not folder.is_dir():
        pytest.skip("the shipped checkpoint en-de-childhood is not here")
    assert 0 < sum(file.stat().st_size for file in folder.rglob("*")) < 60e6
