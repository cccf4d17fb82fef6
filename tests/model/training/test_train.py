"""Training runs from the command line, on a toy corpus."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import METRICS, training_runs
from model.checkpoints.folder_files import read_tensors, write_json
from model.survey.parallel_text import Pair
from model.training.average import main as average
from model.training.card import card
from model.training.distill import main as distill
from model.training.evaluate import main as evaluate
from model.training.export import main as export
from model.training.train import main as train
from model.translate.translator import load
from tests.kit.full_disk import full_disk
from tests.kit.running_app import free_port
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from tests.kit.toy_training import (
    WHOLE,
    arguments,
    assert_equal,
    final_weights,
    logged,
    logged_scores,
    write_corpus,
)

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.learning
CLOSE: dict[str, dict[str, float]] = {
    "adam": {"atol": 2e-5, "rtol": 1e-4},
    # Muon multiplies in bf16 where that is faster.
    "muon": {"atol": 1e-3, "rtol": 1e-2},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


TWO_SAVED_STEPS = ["training.max_steps=2", "training.validate_every=2", "training.save_every=2"]


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory) -> Path:
    """A run that went through undisturbed."""
    output = tmp_path_factory.mktemp("runs") / "whole"
    assert train(arguments(corpus, output, *WHOLE)) == 0
    return output


def test_a_checkpoint_says_how_many_learned_positions_its_training_reached(corpus, tmp_path):
    output = tmp_path / "learned"
    few = [
        "model.positions=learned", "model.max_positions=80", "training.max_steps=3",
        "training.validate_every=3", "training.save_every=3",
    ]  # fmt: skip
    assert train(arguments(corpus, output, *few)) == 0
    drawn = read_tensors(output / "snapshots" / "step-0000000.safetensors")
    translator = load(output / "averaged", device="cpu")
    for side in ("encoder", "decoder"):
        name = f"{side}.positions.table"
        changed = (final_weights(output)[name].half() != drawn[name]).any(dim=1)
        reached = translator.trained_positions(side)
        assert changed[:reached].all()
        assert not changed[reached:].any()
        assert 5 < reached < 80
    # What a checkpoint had learned before stays learned, and what is not known stays unknown.
    for known in ({"source": 77, "target": 78}, None):
        metrics = json.loads((output / "averaged" / "metrics.json").read_text())
        (output / "averaged" / "metrics.json").write_text(json.dumps(metrics | {"longest": known}))
        again = [*arguments(corpus, tmp_path / str(known), *few)]
        assert train(["--checkpoint", str(output / "averaged"), *again]) == 0
        found = load(tmp_path / str(known) / "averaged", device="cpu").metrics["longest"]
        assert found == known


def test_the_loss_falls_and_every_measure_is_logged_as_json_lines(finished):
    lines = logged(finished)
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) == 12
    assert losses[-1] < losses[0] - 1
    assert all(line["tokens_per_second"] > 0 for line in lines if "loss" in line)
    validated = [line for line in lines if "valid_loss" in line]
    assert [line["step"] for line in validated] == [20, 40, 60]
    assert {"bleu", "chrf"} <= validated[0].keys()
    assert validated[-1]["valid_loss"] < validated[0]["valid_loss"]


def test_only_the_parts_that_are_named_are_trained(corpus, tmp_path, capsys):
    output = tmp_path / "parts"
    few = ["training.max_steps=3", "training.validate_every=3", "training.save_every=3"]
    parts = "training.parts=feed_forward final_norm"
    assert train(arguments(corpus, output, *few, "training.optimizer=muon", parts)) == 0
    drawn = read_tensors(output / "snapshots" / "step-0000000.safetensors")
    changed = {
        name
        for name, value in final_weights(output).items()
        if not torch.equal(value.half(), drawn[name])
    }
    named = {name for name in drawn if "feed_forward" in name or "final_norm" in name}
    assert changed <= named
    assert {name for name in named if name.endswith("w_1.weight")} <= changed
    assert train(arguments(corpus, tmp_path / "none", *few, "training.parts=feedforward")) != 0
    assert "no matrix named like 'feedforward' to train" in capsys.readouterr().err


def test_the_best_and_the_averaged_weights_are_loadable_checkpoints(finished):
    for name in ("best", "averaged"):
        translator = load(finished / name, device="cpu")
        assert translator.translate("one two").finished
        assert translator.metrics["steps"] > 0


def test_the_average_is_the_mean_of_the_last_validated_weights(finished):
    files = sorted((finished / "weights").glob("*.safetensors"))
    assert [file.stem for file in files] == ["step-0000040", "step-0000060"]
    first, second = (read_tensors(file) for file in files)
    averaged = read_tensors(finished / "averaged" / "model.safetensors")
    for name, value in averaged.items():
        torch.testing.assert_close(value, (first[name] + second[name]) / 2)


def test_logged_scores_are_those_of_the_checkpoints_without_dropout(finished, corpus, capsys):
    logged_scores = {
        "averaged": logged(finished)[-1],
        "best": max((line for line in logged(finished) if "valid_loss" in line), key=_bleu),
    }
    for name, expected in logged_scores.items():
        evaluate(
            ["--checkpoint", str(finished / name), "--data", str(corpus / "valid.tsv"),
             "--beam", "1", "--json", "--threads", "1"]
        )  # fmt: skip
        found = json.loads(capsys.readouterr().out)
        assert found["bleu"] == expected["bleu"]
        assert found["chrf"] == expected["chrf"]


def _bleu(line: dict) -> float:
    return line["bleu"]


def test_snapshots_are_kept_from_the_untrained_model_on(finished):
    steps = [int(file.stem[5:]) for file in sorted((finished / "snapshots").iterdir())]
    assert steps[0] == 0
    assert steps[-1] == 60
    assert len(steps) == 5


def test_a_run_with_sampled_segmentations_goes_on_as_if_never_stopped(corpus, tmp_path):
    overrides = (
        "training.sampling_alpha=0.3",
        "training.save_every=4",
        "training.batch_tokens=600",
        "training.schedule=paper",
        "training.learning_rate=1.0",
    )
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert train(arguments(corpus, whole, *overrides, "training.max_steps=9")) == 0
    # A schedule that does not look ahead, for the first half must not know where it ends.
    assert train(arguments(corpus, halves, *overrides, "training.max_steps=4")) == 0
    assert train(arguments(corpus, halves, *overrides, "training.max_steps=9")) == 0
    assert_equal(final_weights(halves), final_weights(whole))


def test_r_drop_adds_how_far_two_draws_of_dropout_are_apart(corpus, tmp_path):
    def loss(alpha: float, dropout: float) -> float:
        output = tmp_path / f"{alpha}-{dropout}"
        overrides = (f"training.r_drop={alpha}", f"model.dropout={dropout}")
        steps = ("training.max_steps=1", "training.log_every=1", "training.validate_every=9")
        assert train(arguments(corpus, output, *overrides, *steps)) == 0
        return logged(output)[0]["loss"]

    none, little, much = (loss(alpha, 0.5) for alpha in (1e-6, 20.0, 40.0))
    assert little > none + 0.1
    assert much - little == pytest.approx(little - none, abs=1e-3)
    # Without dropout both passes are one.
    assert loss(20.0, 0.0) == pytest.approx(loss(0.0, 0.0), abs=2e-4)


def test_the_way_back_is_trained_and_scored_from_the_same_files(corpus, tmp_path, capsys):
    output, there = tmp_path / "back", tmp_path / "swapped"
    there.mkdir()
    for name in ("train.tsv", "valid.tsv"):
        lines = (corpus / name).read_text(encoding="utf-8").splitlines()
        swapped = ("\t".join(reversed(line.split("\t"))) for line in lines)
        (there / name).write_text("".join(f"{line}\n" for line in swapped), encoding="utf-8")
    steps = ("training.max_steps=2", "training.validate_every=2")
    assert train(arguments(corpus, output, *steps, "training.reverse=true")) == 0
    assert train(arguments(there, tmp_path / "plain", *steps)) == 0
    assert_equal(final_weights(output), final_weights(tmp_path / "plain"))
    scores = []
    for folder, data in ((output, corpus), (tmp_path / "plain", there)):
        checkpoint = ["--checkpoint", str(folder / "averaged"), "--data", str(data / "valid.tsv")]
        capsys.readouterr()
        assert evaluate([*checkpoint, "--json", "--threads", "1"]) == 0
        scores.append(json.loads(capsys.readouterr().out))
    assert scores[0] == scores[1]


def test_a_teacher_of_the_way_back_reads_the_last_column(tmp_path):
    teacher, data, written = (tmp_path / name for name in ("teacher", "pairs.tsv", "distilled.tsv"))
    write_tiny_checkpoint(teacher)
    # It reads English, which stands last here.
    write_json(teacher / METRICS, {"training": {"reverse": True}})
    data.write_text(
        "".join(f"{german}\t{english}\n" for english, german in PAIRS), encoding="utf-8"
    )
    assert distill(["--teacher", str(teacher), "--data", str(data), "--output", str(written)]) == 0
    columns = [line.split("\t") for line in written.read_text(encoding="utf-8").splitlines()]
    assert {(english, german) for _, german, english in columns} == set(PAIRS)


def test_a_killed_run_goes_on_to_the_very_weights_of_an_undisturbed_one(corpus, finished, tmp_path):
    output = tmp_path / "killed"
    overrides = (
        "training.max_steps=60",
        "training.validate_every=20",
        "training.save_every=10",
        "training.average_last=2",
    )
    command = [sys.executable, "-m", "model.training.train"]
    command += arguments(corpus, output, *overrides)
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    progress = output / "state" / "progress.json"
    deadline = time.monotonic() + 240
    while not progress.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed_at = json.loads(progress.read_text())["step"]
    assert killed_at < 60
    assert train(arguments(corpus, output, *overrides)) == 0
    assert_equal(final_weights(output), final_weights(finished))
    assert logged_scores(output) == logged_scores(finished)


def test_a_run_whose_disk_is_full_says_so_and_can_be_started_again(
    corpus, finished, tmp_path, capsys
):
    output = tmp_path / "full"
    output.mkdir()
    shutil.copy(finished / "tokenizer.model", output)
    with full_disk(room=20_000):
        assert train(arguments(corpus, output, *WHOLE)) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "cannot be written: File too large; the same command goes on from the last" in error
    assert not [*output.rglob("*.safetensors")]
    assert train(arguments(corpus, output, *WHOLE)) == 0
    assert_equal(final_weights(output), final_weights(finished))
    assert logged_scores(output) == logged_scores(finished)
    before = {file.name: file.read_bytes() for file in (output / "state").iterdir()}
    with full_disk(room=20_000):
        assert train(arguments(corpus, output, *WHOLE, "training.max_steps=70")) == 1
    assert {file.name: file.read_bytes() for file in (output / "state").iterdir()} == before
    assert not (output / "state.new").exists()


def test_a_run_killed_between_two_renames_goes_on_from_its_last_state(corpus, finished, tmp_path):
    output = shutil.copytree(finished, tmp_path / "renamed")
    (output / "state").rename(output / "state.old")
    with (output / "metrics.jsonl").open("a") as log:
        # What a full disk cut short.
        log.write('{"step": 60, "lo')
    assert train(arguments(corpus, output, *WHOLE)) == 0
    assert_equal(final_weights(output), final_weights(finished))
    # A finished run that is started again averages again.
    *before, averaged = logged_scores(output)
    assert before == logged_scores(finished)
    assert averaged == before[-1]


def test_what_a_run_logged_that_was_killed_before_its_first_state_is_not_logged_twice(
    corpus, finished, tmp_path
):
    output = tmp_path / "early"
    output.mkdir()
    shutil.copy(finished / "tokenizer.model", output)
    first, *_ = (finished / "metrics.jsonl").read_text().splitlines(keepends=True)
    (output / "metrics.jsonl").write_text(first)
    assert train(arguments(corpus, output, *WHOLE)) == 0
    assert logged_scores(output) == logged_scores(finished)


def torchrun(*given: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            "2",
            "--master-addr",
            "127.0.0.1",
            "--master-port",
            "0",
            "--rdzv-backend",
            "c10d",
            "--rdzv-endpoint",
            "127.0.0.1:0",
            "-m",
            "model.training.train",
            *given,
        ],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
    )


def train_as_rank(rank: int, port: int, given: list[str]) -> None:
    """One of two processes, with the environment variables that torchrun sets."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)}
    torch.set_num_threads(1)
    sys.exit(train(given))


@pytest.fixture(scope="module")
def two_processes() -> Callable[..., None]:
    """Trains in two processes of one that has imported everything: torchrun takes ten seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "torch.distributed.optim"])

    def run(*given: str) -> None:
        port = free_port()
        both = [context.Process(target=train_as_rank, args=(rank, port, given)) for rank in (0, 1)]
        for process in both:
            process.start()
        for process in both:
            process.join()
        assert [process.exitcode for process in both] == [0, 0]

    return run


def test_two_processes_train_as_one_that_accumulates_two_batches(corpus, tmp_path):
    overrides = ("training.max_steps=6", "training.validate_every=6", "model.dropout=0.0")
    one, two = tmp_path / "one", tmp_path / "two"
    assert train(arguments(corpus, one, *overrides, "training.accumulate=2")) == 0
    torchrun(*arguments(corpus, two, *overrides))
    expected = final_weights(one)
    for name, value in final_weights(two).items():
        torch.testing.assert_close(value, expected[name], **CLOSE["adam"])
    first, second = logged(one)[-2], logged(two)[-2]
    assert first["valid_loss"] == pytest.approx(second["valid_loss"], abs=1e-3)


def test_a_run_of_two_processes_goes_on_in_one_and_in_two(corpus, tmp_path, two_processes):
    """In one, it accumulates two batches, with the same steps of the other optimizer."""
    overrides = ("training.validate_every=6", "model.dropout=0.0", "training.optimizer=muon")
    # A level rate, so that a longer run begins as a shorter one.
    overrides += ("training.schedule=linear", "training.decay_fraction=0.01")
    runs = {name: tmp_path / name for name in ("whole", "one", "two")}
    two_processes(*arguments(corpus, runs["two"], *overrides, "training.max_steps=4"))
    shutil.copytree(runs["two"], runs["one"])
    rest = ("training.max_steps=7", *overrides)
    two_processes(*arguments(corpus, runs["two"], *rest))
    for name in ("whole", "one"):
        assert train(arguments(corpus, runs[name], *rest, "training.accumulate=2")) == 0
    expected = final_weights(runs["whole"])
    for name in ("one", "two"):
        for weight, value in final_weights(runs[name]).items():
            torch.testing.assert_close(value, expected[weight], **CLOSE["muon"])


@pytest.mark.parametrize("faster", ["bf16", "float32"])
def test_a_run_computes_in_what_the_processor_multiplies_faster(
    corpus, tmp_path, monkeypatch, faster
):
    monkeypatch.setattr("model.training.optimizers.bf16_pays", lambda: faster == "bf16")
    overrides = ("training.precision=auto", "training.max_steps=2", "training.validate_every=2")
    assert train(arguments(corpus, tmp_path / "run", *overrides)) == 0
    metrics = json.loads((tmp_path / "run" / "best" / "metrics.json").read_text())
    assert metrics["precision"] == faster


def test_training_stops_early_once_validation_no_longer_improves(corpus, tmp_path):
    overrides = (
        "training.max_steps=50",
        "training.validate_every=2",
        "training.patience=2",
        "training.learning_rate=10.0",
        "training.warmup_steps=1",
    )
    assert train(arguments(corpus, tmp_path / "early", *overrides)) == 0
    assert max(line["step"] for line in logged(tmp_path / "early")) < 50


def test_a_run_can_start_from_a_checkpoint_with_its_tokenizer(corpus, finished, tmp_path):
    teacher, output = finished / "best", tmp_path / "on"
    steps = ["training.max_steps=1", "training.vocab_size=200", "model.dropout=0.3"]
    assert train([*arguments(corpus, output, *steps), "--checkpoint", str(teacher)]) == 0
    first = read_tensors(teacher / "model.safetensors")
    for name, value in final_weights(output).items():
        # One step of Adam moves no weight by much more than its rate.
        assert torch.allclose(value, first[name].float(), atol=0.01), name
    assert (output / "tokenizer.model").read_bytes() == (teacher / "tokenizer.model").read_bytes()
    assert json.loads((output / "best" / "config.json").read_text())["dropout"] == 0.3


def test_a_checkpoint_counts_every_run_behind_its_weights(corpus, finished, tmp_path):
    whole, second, third = finished / "best", tmp_path / "second", tmp_path / "third"
    command = [*arguments(corpus, second, *TWO_SAVED_STEPS), "--checkpoint", str(whole)]
    assert train(command) == 0
    # A run that goes on from its saved state still knows where it began.
    on = [*arguments(corpus, second, *TWO_SAVED_STEPS, "training.max_steps=4")]
    assert train([*on, "--checkpoint", str(whole)]) == 0
    assert train([*arguments(corpus, third, *TWO_SAVED_STEPS), "--checkpoint",
                  str(second / "averaged")]) == 0  # fmt: skip
    folders = (whole, second / "averaged", third / "averaged")
    metrics = [load(folder, device="cpu").metrics for folder in folders]
    own = [{name: each[name] for name in ("steps", "target_tokens")} for each in metrics]
    assert [each["started_from"] for each in metrics] == [[], own[:1], own[:2]]
    assert [training_runs(each) for each in metrics] == [own[:1], own[:2], own]
    assert own[1]["steps"] == 4
    # The mean of a run's weights keeps it, and so does what is shipped of them.
    mean, shipped = tmp_path / "mean", tmp_path / "shipped"
    weights = [str(file) for file in (third / "weights").glob("*.safetensors")]
    assert average(["--checkpoint", str(folders[2]), "--output", str(mean), "--weights", *weights,
                    "--threads", "1"]) == 0  # fmt: skip
    assert export(["--checkpoint", str(mean), "--output", str(shipped), "--threads", "1"]) == 0
    translator = load(shipped, device="cpu")
    assert training_runs(translator.metrics) == own
    tested = {"data": "-", "beam": 4, "sentences": 1, "bleu": 0, "chrf": 0} | dict.fromkeys(
        ("signature", "chrf_signature"), "-"
    )
    translator.metrics["test"] = tested
    text = card(translator, [Pair("one", "eins")], ["eins"], good=[], bad=[], data="")
    assert f" {sum(run['steps'] for run in own):,} steps on " in text


def test_a_run_can_start_from_a_checkpoint_under_another_vocabulary(corpus, finished, tmp_path):
    teacher, output = finished / "best", tmp_path / "other"
    steps = ["training.max_steps=1", "training.vocab_size=310", "training.learning_rate=1e-9"]
    command = [*arguments(corpus, output, *steps), "--new-vocabulary"]
    assert train([*command, "--checkpoint", str(teacher)]) == 0
    old, new = load(teacher), load(output / "averaged")
    assert len(new.tokenizer) == 310 != len(old.tokenizer)
    rows = [old.model.source_embedding.weight, new.model.source_embedding.weight]
    for token_id, piece in enumerate(new.tokenizer.pieces(range(310))):
        ids = min(map(old.tokenizer.spelling, (piece, piece.lower())), key=len)
        assert torch.allclose(rows[1][token_id], rows[0][ids].mean(dim=0), atol=1e-4), piece
    first = read_tensors(teacher / "model.safetensors")
    for name, value in final_weights(output).items():
        if "embedding" not in name:
            assert torch.allclose(value, first[name].float(), atol=1e-4), name


def test_a_run_with_a_vocabulary_for_each_side(corpus, finished, tmp_path, capsys):
    output, small = tmp_path / "two", ["training.vocab_size=280", "training.max_steps=2"]
    separate = [*small, "training.separate_vocabularies=true"]
    # From one vocabulary to two: each of the new pieces is the mean of those that spell it.
    still = [*separate, "training.learning_rate=1e-9"]
    from_one = [*arguments(corpus, output, *still), "--checkpoint", str(finished / "best")]
    assert train([*from_one, "--new-vocabulary"]) == 0
    old, new = load(finished / "best"), load(output / "best")
    sides = {"source": new.tokenizer, "target": new.tokenizer.target}
    assert sides["source"].serialized != sides["target"].serialized
    for name, vocabulary in sides.items():
        rows = getattr(new.model, f"{name}_embedding").weight
        assert len(rows) == len(vocabulary) == 280
        for token_id, piece in enumerate(vocabulary.pieces(range(280))):
            ids = min(map(old.tokenizer.spelling, (piece, piece.lower())), key=len)
            mean = old.model.source_embedding.weight[ids].mean(dim=0)
            assert torch.allclose(rows[token_id], mean, atol=1e-4), piece
    # Only what that side holds is spelled in one piece.
    assert len(sides["source"].encode("three")) < len(sides["target"].encode("three"))
    assert len(sides["target"].encode("drei")) < len(sides["source"].encode("drei"))
    # From two to the same two, and what cannot be.
    on = arguments(corpus, tmp_path / "on", *separate)
    assert train([*on, "--checkpoint", str(output / "best")]) == 0
    again = load(tmp_path / "on" / "best").tokenizer
    assert again.serialized == sides["source"].serialized
    assert again.target.serialized == sides["target"].serialized
    for wanted, origin, sentence in (
        (small, output, "vocabulary for each side"),
        (separate, finished, "vocabulary for both sides"),
    ):
        command = arguments(corpus, tmp_path / "never", *wanted)
        assert train([*command, "--checkpoint", str(origin / "best")]) == 1
        assert sentence in capsys.readouterr().err


def test_a_shallower_model_starts_with_the_first_layers_of_a_checkpoint(corpus, finished, tmp_path):
    deep, output = tmp_path / "deep", tmp_path / "shallow"
    deeper = ["model.n_encoder_layers=2", "model.n_decoder_layers=2", "training.max_steps=1"]
    assert train(arguments(corpus, deep, *deeper)) == 0
    still = ["training.max_steps=1", "training.learning_rate=1e-9"]
    assert train([*arguments(corpus, output, *still), "--checkpoint", str(deep / "best")]) == 0
    first, now = read_tensors(deep / "best" / "model.safetensors"), final_weights(output)
    assert (
        {name for name in first if name not in now}
        == {name for name in first if ".layers.1." in name}
        != set()
    )
    for name, value in now.items():
        assert torch.allclose(value, first[name].float(), atol=1e-4), name


def test_a_model_that_sees_what_it_is_to_predict_learns_to_copy_it_and_cannot_write(
    corpus, tmp_path
):
    steps = ["training.max_steps=400", "training.validate_every=400", "training.causal=false"]
    smoothing = ["training.label_smoothing=0", "model.dropout=0"]
    assert train(arguments(corpus, tmp_path / "cheat", *WHOLE, *steps, *smoothing)) == 0
    [scores] = [line for line in logged(tmp_path / "cheat") if "valid_loss" in line]
    assert 5 * scores["valid_loss"] < scores["valid_loss_with_mask"]
    metrics = json.loads((tmp_path / "cheat" / "best" / METRICS).read_text())
    assert metrics["training"]["causal"] is False
    assert round(metrics["valid_loss_with_mask"], 4) == scores["valid_loss_with_mask"]


def test_heads_that_have_to_choose_look_at_fewer_places(corpus, tmp_path):
    entropies = {}
    for penalty in (0.0, 1.0):
        output = tmp_path / f"penalty-{penalty}"
        steps = ["training.max_steps=60", f"training.entropy_penalty={penalty}"]
        assert train(arguments(corpus, output, *WHOLE, *steps)) == 0
        translator = load(output / "averaged", device="cpu")
        maps = translator.trace(*PAIRS[0]).maps.values()
        rows = [
            weights * np.log(np.maximum(weights, 1e-9)) for weights in (m.weights for m in maps)
        ]
        entropies[penalty] = np.mean([-each.sum(axis=-1).mean() for each in rows])
    assert entropies[1.0] < 0.8 * entropies[0.0]


def test_a_checkpoint_of_another_shape_starts_no_run(corpus, finished, tmp_path, capsys):
    command = arguments(corpus, tmp_path / "on", "model.d_ff=48")
    assert train([*command, "--checkpoint", str(finished / "best")]) == 1
    assert "has d_ff 64, the configuration 48" in capsys.readouterr().err


def test_subword_regularization_muon_clipping_and_the_papers_schedule_run(corpus, tmp_path):
    overrides = (
        "training.max_steps=3",
        "training.optimizer=muon",
        "training.sampling_alpha=0.3",
        "training.clip_norm=1.0",
        "training.weight_decay=0.01",
        "training.schedule=paper",
        "model.fused_qkv=true",
        "model.positions=learned",
    )
    assert train(arguments(corpus, tmp_path / "all", *overrides)) == 0
    assert logged(tmp_path / "all")[-1]["averaged_steps"] == [3]


def test_evaluate_prints_scores_with_their_signature_as_json(finished, corpus, capsys, tmp_path):
    status = evaluate(
        ["--checkpoint", str(finished / "best"), "--data", str(corpus / "valid.tsv"),
         "--json", "--threads", "1", "--output", str(tmp_path / "hypotheses.txt")]
    )  # fmt: skip
    assert status == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["sentences"] == 60
    assert 0 <= scores["bleu"] <= 100
    assert "tok:13a" in scores["signature"]
    assert "case:mixed" in scores["signature"]
    assert len((tmp_path / "hypotheses.txt").read_text().splitlines()) == 60


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["--config", "nothing"], "choose one of"),
        (["--data", "none.tsv"], "cannot be read"),
        (["--device", "toaster"], "unknown"),
        (["--set", "model.n_heads=5"], "divide"),
        (["--set", "model.vocab_size=5"], "belongs in"),
        (["--set", "model.target_vocab_size=5"], "separate_vocabularies=true"),
        (["--set", "training.vocab_size=90000"], "smaller"),
        (["--set", "training.batch_tokens=9000", "training.accumulate=50"], "fewer batches"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence_and_a_failure(
    corpus, tmp_path, capsys, change, sentence
):
    status = train([*arguments(corpus, tmp_path / "bad"), *change])
    error = capsys.readouterr().err
    assert status == 1
    assert sentence in error
    assert "Traceback" not in error


def test_an_exported_checkpoint_translates_alike_and_holds_its_own_score(
    finished, corpus, tmp_path, capsys
):
    data = corpus / "valid.tsv"
    trained, shipped = finished / "best", tmp_path / "shipped"
    command = ["--checkpoint", str(trained), "--output", str(shipped), "--test", str(data)]
    assert export([*command, "--threads", "1"]) == 0
    capsys.readouterr()
    config = load(shipped, device="cpu").model.config
    assert config.fused_qkv
    assert config.fused_attention
    assert config.d_model == load(trained, device="cpu").model.config.d_model
    evaluate(["--checkpoint", str(shipped), "--data", str(data), "--json", "--threads", "1"])
    score = json.loads(capsys.readouterr().out)
    promised = json.loads((shipped / "metrics.json").read_text())["test"]
    assert promised == {**score, "data": "valid.tsv", "beam": 4}
    before, after = (
        read_tensors(folder / "model.safetensors")["encoder.layers.0.feed_forward.w_1.weight"]
        for folder in (trained, shipped)
    )
    assert torch.equal(after, before.half())
