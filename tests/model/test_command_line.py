"""`headscope translate`, as a person runs it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headscope.__main__ import main
from model.paper.search import Sampling, Search
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.full_disk import full_disk
from tests.kit.tiny_checkpoint import write_tiny_snapshots

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(checkpoint_folder, capsys):
    """Runs the command line in this process; gives (status, stdout, stderr)."""

    def run_command(*arguments, checkpoint=checkpoint_folder):
        status = main(["translate", "--checkpoint", str(checkpoint), *arguments])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run_command


def test_a_sentence_is_translated_and_nothing_else_printed(run):
    assert run("The cat sat on the mat.") == (0, "Die Katze saß auf der Matte.\n", "")


@pytest.mark.slow
def test_it_runs_as_a_module_and_reads_standard_input(checkpoint_folder):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "headscope",
            "translate",
            "-",
            "--checkpoint",
            str(checkpoint_folder),
        ],
        input="The cat eats.",
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        check=True,
    )
    assert result.stdout == "Die Katze frisst.\n"


def test_json_holds_tokens_scores_and_the_log_probability_of_every_step(run):
    status, output, _ = run("The cat eats.", "--json", "--beam", "2")
    assert status == 0
    found = json.loads(output)
    assert found["translation"] == "Die Katze frisst."
    assert found["source_tokens"][-1] == found["tokens"][-1] == "</s>"
    assert len(found["tokens"]) == len(found["log_probs"]) == len(found["token_ids"])
    penalty = ((5 + len(found["tokens"])) / 6) ** 0.6
    assert found["score"] == pytest.approx(sum(found["log_probs"]) / penalty)


def test_a_saved_trace_holds_every_matrix_by_name(run, tmp_path, translator):
    file = tmp_path / "cat.npz"
    status, _, _ = run("The cat eats.", "--save-trace", str(file))
    assert status == 0
    expected = translator.trace("The cat eats.")
    with np.load(file, allow_pickle=False) as arrays:
        for site, seen in expected.maps.items():
            np.testing.assert_array_equal(arrays[f"{site}.weights"], seen.weights)
            np.testing.assert_array_equal(arrays[f"{site}.scores"], seen.scores)
    assert Trace.load(file).text == "Die Katze frisst."


def test_a_given_target_is_what_the_trace_is_of(run, tmp_path):
    file = tmp_path / "dog.npz"
    status, _, _ = run("The cat eats.", "--target", "Der Hund schläft.", "--save-trace", str(file))
    assert status == 0
    assert Trace.load(file).text == "Der Hund schläft."


def test_samples_are_printed_best_first_and_repeat_with_their_seed(run, translator):
    asked = (
        "The dog eats.",
        "--samples",
        "4",
        "--seed",
        "4",
        "--temperature",
        "1.5",
        "--top-k",
        "9",
    )
    sampling = Sampling(n_samples=4, seed=4, temperature=1.5, top_k=9)
    found = translator.candidates("The dog eats.", search=Search(sampling=sampling))
    assert run(*asked)[1].splitlines() == [each.text for each in found]
    told = json.loads(run(*asked, "--json")[1])
    others = [each["score"] for each in told["other_samples"]]
    assert [told["score"], *others] == [each.score for each in found]


@pytest.mark.parametrize("option", ["--samples=1", "--temperature=1", "--top-p=1", "--seed=3"])
def test_any_option_of_sampling_draws(run, monkeypatch, option):
    asked = []
    decode = Translator.candidates
    monkeypatch.setattr(
        Translator,
        "candidates",
        lambda *_, search: asked.append(search) or decode(*_, search=search),
    )
    assert run("The cat eats.", option)[0] == 0
    assert asked[0].sampling is not None


def test_a_translation_begins_as_it_is_told_and_lengths_are_weighed(run, translator):
    _, output, _ = run("The cat eats.", "--prefix", "Der Hund", "--length-penalty", "2", "--json")
    search = Search(prefix=translator.prefix("Der Hund"), length_penalty=2)
    expected = translator.translate("The cat eats.", search=search)
    assert expected.text.startswith("Der Hund")
    assert json.loads(output)["score"] == expected.score


def test_a_character_never_seen_is_named_on_standard_error_and_the_rest_translated(run):
    status, output, error = run("The cat 猫 eats.")
    assert status == 0
    assert output.strip()
    assert "猫" in error
    assert "U+E000" in run("The cat \ue000 eats.")[2]
    assert run("The c\xadat sat on \u200bthe mat.") == (0, "Die Katze saß auf der Matte.\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([""], "empty"),
        (["  "], "empty"),
        (["word " * 200], "shorten"),
        (["猫猫"], "vocabulary lacks"),
        (["The cat.", "--device", "toaster"], "unknown"),
        (["The cat.", "--device", "cuda:99"], "no device"),
        (["The cat.", "--beam", "0"], "beam"),
        (["The cat.", "--beam", "9999"], "beam"),
        (["The cat.", "--length-penalty", "-1"], "length penalty"),
        (["The cat.", "--top-p", "3"], "top_p"),
        (["The cat.", "--samples", "0"], "n_samples"),
        (["The cat.", "--samples", "101"], "At most 100"),
        (["The cat.", "--temperature", "0"], "temperature"),
        (["The cat.", "--prefix", "Katze " * 90], "shorten"),
        (["The cat.", "--save-trace", "no/such/folder/x.npz"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_a_failure(run, arguments, sentence):
    status, output, error = run(*arguments)
    assert status == 1
    assert output == ""
    assert sentence in error
    assert error.count("\n") == 1
    assert error.endswith(".\n")
    assert "Traceback" not in error


def test_a_missing_and_a_damaged_checkpoint_are_one_sentence_each(run, checkpoint_folder, tmp_path):
    status, _, error = run("The cat.", checkpoint=tmp_path / "nowhere")
    assert (status, error.count("\n")) == (1, 1)
    assert "no checkpoint folder" in error
    damaged = shutil.copytree(checkpoint_folder, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"\x00" * 64)
    status, _, error = run("The cat.", checkpoint=damaged)
    assert (status, error.count("\n")) == (1, 1)
    assert "damaged" in error


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as left:
        main(["translate", "--help"])
    assert left.value.code == 0
    output = capsys.readouterr().out
    for option in ("--checkpoint", "--device", "--beam", "--json", "--save-trace"):
        assert option in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "a", "b"],
        ["translate", "a", "--beam", "x"],
        ["translate", "a", "--input", "b"],
    ],
)
def test_wrong_usage_is_status_two(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    capsys.readouterr()


def test_a_snapshot_of_the_training_translates_as_it_could_then(run, tmp_path):
    folder = write_tiny_snapshots(tmp_path / "tiny")
    last = run("The cat eats.", "--snapshot", "-1", checkpoint=folder)
    assert last == (0, "Die Katze frisst.\n", "")
    status, first, _ = run("The cat eats.", "--snapshot", "0", checkpoint=folder)
    assert (status, first == last[1]) == (0, False)
    status, _, said = run("The cat eats.", "--snapshot", "9", checkpoint=folder)
    assert status == 1
    assert "choose one from 0 to 3" in said


def test_on_a_full_disk_no_trace_is_written_and_one_sentence_says_so(run, tmp_path):
    file = tmp_path / "cat.npz"
    with full_disk():
        status, output, error = run("The cat eats.", "--save-trace", str(file))
    assert (status, output) == (1, "")
    assert error == f"'{file}' cannot be written: File too large.\n"
    assert list(tmp_path.iterdir()) == []
