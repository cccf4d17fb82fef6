"""A training run small enough to be repeated: numbers spelled out in English and German."""

import json
from pathlib import Path

import numpy as np
import torch

from model.checkpoints.folder_files import read_tensors

WORDS = {
    "one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"
}  # fmt: skip
TOY = (
    "training.vocab_size=300",
    "training.tokenizer=bpe",
    "training.batch_tokens=256",
    "training.optimizer=adam",
    "training.learning_rate=0.003",
    "training.warmup_steps=5",
    "training.log_every=5",
    "training.precision=float32",
    "model.d_model=32",
    "model.d_ff=64",
    "model.n_heads=4",
    "model.n_encoder_layers=1",
    "model.n_decoder_layers=1",
)

WHOLE = (
    "training.max_steps=60",
    "training.validate_every=20",
    "training.save_every=10",
    "training.snapshots=5",
    "training.average_last=2",
)
"""What a run goes through from its beginning to its end: overrides of its settings."""


def write_corpus(folder: Path) -> Path:
    random = np.random.default_rng(1)
    lines = []
    for _ in range(400):
        words = random.choice(list(WORDS), random.integers(1, 7))
        lines.append(f"{' '.join(words)}\t{' '.join(WORDS[word] for word in words)}\n")
    (folder / "train.tsv").write_text("".join(lines[:340]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(lines[340:]), encoding="utf-8")
    return folder


def arguments(corpus: Path, output: Path, *overrides: str) -> list[str]:
    return [
        "--data", str(corpus / "train.tsv"), "--valid", str(corpus / "valid.tsv"),
        "--output", str(output), "--device", "cpu", "--set", *TOY, *overrides,
    ]  # fmt: skip


def final_weights(output: Path) -> dict[str, torch.Tensor]:
    return read_tensors(output / "state" / "model.safetensors")


def logged(output: Path) -> list[dict]:
    lines = (output / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def logged_scores(output: Path) -> list[tuple]:
    return [(line["step"], line.get("loss"), line.get("bleu")) for line in logged(output)]


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name
