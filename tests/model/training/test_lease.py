"""What a lent GPU does in minutes, rehearsed on a CPU."""

import json
import shutil
import time
from pathlib import Path

import pytest
import torch

from model.checkpoints.checkpoint import METRICS
from model.checkpoints.folder_files import write_json
from model.checkpoints.shipped import CheckpointError
from model.training import lease as module
from model.training.device_checks import compared
from model.training.lease import PARTS, REPORT, Job, Lease, last_loss, main, trained
from model.training.leased import joined
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

LINES = "".join(f"{source}\t{target}\n" for source, target in PAIRS)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def lease(tmp_path) -> Lease:
    return Lease(tmp_path / "data", tmp_path / "work", tmp_path / "out", "cpu", tiny=True)


def run_of(lease: Lease, name: str, tiny: Path, kind: str = "averaged", bleu: float = 1.0) -> None:
    folder = lease.work / name / kind
    shutil.copytree(tiny, folder)
    write_json(folder / METRICS, {"valid": {"bleu": bleu}})


def python(name: str, code: str, **more) -> Job:
    return Job(name, ["-c", code], **more)


@pytest.mark.slow
def test_commands_run_together_and_what_takes_too_long_is_stopped(lease):
    began = time.monotonic()
    endless = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    lease.run([python("good", "print('done')"), python("long", endless)], until=3600)
    assert lease.took["good"]["finished"]
    # Without input there is nothing to wait for.
    assert time.monotonic() - began < 3600
    lease.run([python("endless", "while True: pass")], until=lease.now() + 1)
    assert not lease.took["endless"]["finished"]
    lease.run([python("lost", "while True: pass", lost=lambda: True)], until=3600)
    assert not lease.took["lost"]["finished"]
    lease.run([python("bad", "raise SystemExit('out of memory')")], until=3600)
    assert not lease.took["bad"]["finished"]
    assert "out of memory" in (lease.work / "bad.log").read_text()


def test_models_come_back_in_parts_in_order_as_far_as_they_fit(lease, tiny, tmp_path, monkeypatch):
    for name in ("en-de", "de-en", module.TEACHER):
        run_of(lease, name, tiny)
    size = sum(file.stat().st_size for file in tiny.iterdir())
    monkeypatch.setattr(module, "PART", size // 4)
    lease.write(["en-de", "de-en", module.TEACHER])
    parts = sorted(lease.out.glob("lease.zip.*"))
    assert 1 < len(parts) <= PARTS
    assert all(part.stat().st_size <= size // 4 for part in parts)
    too_large = json.loads((lease.out / REPORT).read_text())["too_large"]
    assert module.TEACHER in too_large
    assert "en-de" not in too_large
    folders = joined(lease.out, tmp_path / "leased")
    assert {folder.name for folder in folders} == {"en-de", "de-en", module.TEACHER} - {*too_large}
    source, target = PAIRS[0]
    assert load(folders[0], device="cpu").translate(source).text == target
    parts[-1].unlink()
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        joined(lease.out, tmp_path / "again")
    with pytest.raises(CheckpointError, match=r"name the folder that came back"):
        joined(tmp_path, tmp_path / "none")


def test_a_run_gives_the_better_of_its_mean_and_its_best_weights(lease, tiny):
    run = lease.work / "en-de"
    assert trained(run) is None
    run_of(lease, "en-de", tiny, "best", 30.0)
    assert trained(run) == run / "best"
    run_of(lease, "en-de", tiny, "averaged", 31.0)
    assert trained(run) == run / "averaged"
    run_of(lease, "de-en", tiny, "best", 30.0)
    run_of(lease, "de-en", tiny, "averaged", 20.0)
    assert trained(lease.work / "de-en") == lease.work / "de-en" / "best"


def test_the_last_loss_of_a_run_is_read_from_its_log(tmp_path):
    assert last_loss(tmp_path) is None
    log = '{"step": 2, "loss": 8.5}\n{"step": 4, "loss": 7.25}\n{"step": 4, "bleu": 1}\n{"step":'
    (tmp_path / "metrics.jsonl").write_text(log, encoding="utf-8")
    assert last_loss(tmp_path) == 7.25


def test_a_device_is_compared_with_another_within_bounds(tiny):
    one, other = load(tiny, device="cpu"), load(tiny, device="cpu")
    sentences = [source for source, _ in PAIRS[:2]]
    same = compared(one, other, sentences)
    assert same["passed"]
    assert same["equal_translations"] == 2
    with torch.no_grad():
        other.model.encoder.layers[0].self_attention.w_o.weight.mul_(1.5)
    assert not compared(one, other, sentences)["passed"]


@pytest.mark.learning
def test_a_rehearsal_brings_all_models_back(tmp_path):
    for pair in ("en-de", "en-fr"):
        (tmp_path / "data" / pair).mkdir(parents=True)
        (tmp_path / "data" / pair / "dev.tsv").write_text(LINES * 4, encoding="utf-8")
    arguments = [
        "--data",
        tmp_path / "data",
        "--out",
        tmp_path / "out",
        "--work",
        tmp_path / "work",
    ]
    options = ["--device", "cpu", "--tiny", "--seconds", "60", "--processes", "1"]
    for _ in range(4):
        status = main([str(each) for each in (*arguments, *options)])
        report = json.loads((tmp_path / "out" / REPORT).read_text())
        late = {name for name, job in report["took"].items() if not job["finished"]} - {"checks"}
        if not status and not late:
            break
        # A busy machine needs longer to import torch.
        options[options.index("--seconds") + 1] = str(4 * float(options[4]))
        shutil.rmtree(tmp_path / "work")
    folders = joined(tmp_path / "out", tmp_path / "leased")
    assert {folder.name for folder in folders} == {"en-de", module.TEACHER}
    assert not late
    assert load(folders[0], device="cpu").translate("The cat eats.").text is not None
