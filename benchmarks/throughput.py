"""Compares training speed with a plain loop around `nn.Transformer` of the same shape.

    python -m benchmarks.throughput --data en-de/train.tsv.xz

Both take the same batches in the same precision, run in turn, and their tokens are counted without
padding. The share of the hardware's peak (model FLOPs utilization, Chowdhery et al. 2022, appendix
B) counts the multiplications that the model's formula needs for those tokens, forward and backward,
and nothing that an implementation does beyond it.
"""

import dataclasses
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks._measure import interleaved, parser, ratio, report, row
from benchmarks.attention import TorchTransformer
from model.checkpoints.checkpoint import load_checkpoint
from model.paper.config import TransformerConfig
from model.paper.tokenizer import PAD
from model.paper.transformer import Transformer
from model.survey.parallel_text import read_pairs
from model.training.batches import Batch
from model.training.settings import load_settings
from model.training.trainer import Trainer
from model.translate.devices import resolve_device

PEAKS = {"NVIDIA H200": 989.5e12, "NVIDIA H100": 989.5e12, "NVIDIA A100": 312e12}
"""Manufacturers' figures for dense bf16 products, in operations per second, by name prefix."""

DTYPES = {"bf16": torch.bfloat16, "float32": torch.float32}

PAIRS = 40_000
"""The number of pairs of the corpus that make the batches."""


def plain_model(config: TransformerConfig) -> TorchTransformer:
    """nn.Transformer with the output tied to the embeddings, like ours."""
    model = TorchTransformer(config)
    nn.init.normal_(model.embedding.weight, std=config.d_model**-0.5)
    model.output.weight = model.embedding.weight
    return model


def operations(config: TransformerConfig, batch: Batch) -> float:
    """Multiplications and additions of the forward and backward pass, without padding."""
    d, f = config.d_model, config.d_ff
    n_source = (batch.source != PAD).sum(dim=1).double()
    n_target = (batch.labels != PAD).sum(dim=1).double()
    attention = 4 * d
    encoder = n_source * (8 * d * d + 4 * d * f) + attention * n_source**2
    # Causal rows look at half of the keys on average.
    own = n_target * 8 * d * d + attention * n_target * (n_target + 1) / 2
    cross = (n_target + n_source) * 4 * d * d + attention * n_target * n_source
    decoder = own + cross + n_target * 4 * d * f
    output = n_target * 2 * d * config.output_size
    forward = config.n_encoder_layers * encoder + config.n_decoder_layers * decoder + output
    return 3 * float(forward.sum())


def plain_steps(
    config: TransformerConfig, batches: Sequence[Batch], trainer: Trainer
) -> Callable[[], None]:
    """Training steps as in torch's tutorials, in the trainer's precision."""
    torch.manual_seed(1)
    model = plain_model(config).to(trainer.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    smoothing = trainer.settings.label_smoothing

    def steps() -> None:
        for batch in batches:
            there = batch.to(trainer.device)
            with trainer.autocast:
                logits = model(there.source, there.inputs)
                loss = F.cross_entropy(
                    logits.flatten(0, 1),
                    there.labels.flatten(),
                    ignore_index=PAD,
                    label_smoothing=smoothing,
                )
            loss.backward()
            if trainer.settings.clip_norm:
                nn.utils.clip_grad_norm_(model.parameters(), trainer.settings.clip_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    return steps


def our_steps(trainer: Trainer, batches: Sequence[Batch]) -> Callable[[], None]:
    """Training steps as in our trainer."""

    def steps() -> None:
        for batch in batches:
            trainer.take_step([batch], batch.target_tokens)

    trainer.model.train()
    return steps


def measured_peak(device: torch.device, precision: str, runs: int = 20) -> float:
    """Operations per second of large products: this machine's best in a precision."""
    size = 8192 if device.type == "cuda" else 2048
    one, other = (torch.randn(size, size, device=device).to(DTYPES[precision]) for _ in range(2))
    seconds = interleaved({"product": lambda: one @ other}, runs, device)["product"]
    return 2 * size**3 / min(seconds)


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = parser(__doc__ or "")
    options.set_defaults(runs=7)
    options.add_argument("--data", nargs="+", type=Path, required=True, help=".tsv or .tsv.xz")
    options.add_argument("--config", default="small", help="whose model and batches to take")
    options.add_argument("--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE")
    options.add_argument("--steps", type=int, default=20, help="batches in one run (default 20)")
    options.add_argument("--tokenizer-of", type=Path, default=Path("checkpoints/en-de"))
    arguments = options.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    device = resolve_device(arguments.device)
    fields, settings = load_settings(arguments.config, arguments.set)
    tokenizer = load_checkpoint(arguments.tokenizer_of).tokenizer
    config = TransformerConfig.from_dict({**fields, "vocab_size": len(tokenizer)})
    pairs = read_pairs(arguments.data)[:PAIRS]
    with tempfile.TemporaryDirectory() as folder:

        def trainer(**changes: Any) -> Trainer:
            torch.manual_seed(1)
            changed = dataclasses.replace(settings, **changes)
            model = Transformer(config)
            return Trainer(Path(folder), model, tokenizer, changed, pairs, pairs[:100], device)

        alike = trainer(optimizer="adam", rename_share=0.0, sampling_alpha=0.0)
        batches = alike.some_batches(arguments.steps)
        candidates = {
            "plain": plain_steps(config, batches, alike),
            "ours": our_steps(alike, batches),
        }
        if settings.optimizer != "adam":
            own = trainer(rename_share=0.0, sampling_alpha=0.0)
            candidates["muon"] = our_steps(own, batches)
        seconds = interleaved(candidates, arguments.runs, device)
    tokens = sum(batch.target_tokens for batch in batches)
    needed = sum(operations(config, batch) for batch in batches)
    precision = alike.precision
    peak = measured_peak(device, precision)
    stated = None
    if device.type == "cuda" and precision == "bf16":
        name = torch.cuda.get_device_name(device)
        stated = next((value for start, value in PEAKS.items() if name.startswith(start)), None)
    names = {
        "plain": "nn.Transformer, plain loop, AdamW",
        "ours": "ours, AdamW",
        "muon": f"ours, {settings.optimizer}",
    }
    rows = []
    for key, taken in seconds.items():
        median = statistics.median(taken)
        faster = 1 / ratio(seconds, key, "plain")
        shares = {"of_measured_peak": round(needed / median / peak, 4)}
        if stated:
            shares["of_stated_peak"] = round(needed / median / stated, 4)
        rows.append(
            row(
                names[key],
                taken,
                target_tokens_per_second=round(tokens / median),
                **shares,
                beside_plain=round(faster, 3),
                note=", ".join(
                    [
                        f"{tokens / median:,.0f} target tokens/s",
                        *(
                            f"{share:.1%} {kind.replace('_', ' ')}"
                            for kind, share in shares.items()
                        ),
                        f"{faster:.2f} times plain",
                    ]
                ),
            )
        )
    report(
        f"throughput-{arguments.config}",
        rows,
        device,
        config=arguments.config,
        overrides=arguments.set,
        steps=arguments.steps,
        batch_tokens=settings.batch_tokens,
        compile=settings.compile,
        precision=precision,
        target_tokens=tokens,
        operations=needed,
        measured_peak=peak,
        stated_peak=stated,
    )
    print(
        f"{len(batches)} steps of up to {settings.batch_tokens:,} tokens, {device}, in {precision}"
    )


if __name__ == "__main__":
    main()
