"""Train a Transformer: `python -m model.training.train --data FILE… --output DIR`.

One process on a CPU or a GPU; many through `torchrun`. A killed run goes on from its last saved
state when the same command is given again, and then ends with the weights it would have had.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import save
from torch import Tensor, nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.benchmark import Timer
from tqdm import tqdm

from model.checkpoints.checkpoint import (
    TARGET_TOKENIZER,
    TOKENIZER,
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    load_weights,
    longest_trained,
    read_json,
    read_tensors,
    read_tokenizer,
    save_checkpoint,
    save_tokenizer,
    training_runs,
    unique_state,
    write_json,
)
from model.files import unwritten, write_whole
from model.paper.config import ConfigError, TransformerConfig
from model.paper.tokenizer import PAD, Tokenizer, TokenizerError
from model.paper.transformer import Transformer
from model.training.average import mean_weights, step_of
from model.training.batches import BUCKETS, Batch, Batches
from model.training.capitals import capitalized
from model.training.corpus import CorpusError, Pair, read_pairs, read_weights
from model.training.evaluate import translate_all, translation_scores
from model.training.loss import divergence, smoothed_cross_entropy
from model.training.mixture import drawn
from model.training.muon import Float32Muon
from model.training.names import renamed
from model.training.nouns import with_other_nouns
from model.training.schedule import learning_rate, snapshot_steps
from model.training.settings import SettingsError, TrainingSettings, load_settings
from model.training.sharpness import RowEntropies
from model.translate.devices import DeviceError, resolve_device

STATE = "state"


@dataclasses.dataclass(slots=True)
class Progress:
    """Where a run stands: all that its next step depends on besides weights and optimizer."""

    step: int = 0
    epoch: int = 0
    place: int = 0
    """Batches of the epoch already seen, over all processes."""
    seconds: float = 0.0
    target_tokens: int = 0
    best_loss: float = float("inf")
    best_bleu: float = -1.0
    stale: int = 0
    """Validations since the best loss."""
    longest: dict[str, int] | None = dataclasses.field(
        default_factory=lambda: {"source": 0, "target": 0}
    )
    """Tokens of the longest source and the longest target of a step so far, end token included: as
    many positions have been trained. None where that of an earlier training is not known."""
    started_from: list[dict[str, int]] | None = dataclasses.field(default_factory=list)
    """`training_runs` of the checkpoint whose weights the run started from; empty where it started
    from random ones. None where that checkpoint does not say."""

    def lengthen(self, source: int, target: int) -> None:
        """Count a step whose longest source and target have so many tokens."""
        if self.longest is not None:
            self.longest = {
                "source": max(self.longest["source"], source),
                "target": max(self.longest["target"], target),
            }


class Trainer:
    """One training run in one process, which may be one of many."""

    def __init__(
        self,
        output: Path,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: TrainingSettings,
        train: list[Pair],
        valid: list[Pair],
        device: torch.device,
        weights: list[float] | None = None,
    ) -> None:
        self.output = output
        self.weights = weights
        self.settings = settings
        self.tokenizer = tokenizer
        self.valid = valid
        self.device = device
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.model = model.to(device)
        self.train_pairs = train
        self.batches: Batches | None = None
        self.valid_batches = self._encode(valid, sampling_alpha=0.0)
        self.precision = _precision(settings, device)
        self.optimizers = _optimizers(self.model, settings, self.precision)
        self.entropies = RowEntropies(self.model) if settings.entropy_penalty else None
        forward: nn.Module = self.model
        if settings.compile:
            # A program for every shape of batch; by default torch gives up after the eighth.
            torch._dynamo.config.recompile_limit = 2 * len(BUCKETS) ** 2
            # Not in place: validation, of other shapes and in eval mode, would be compiled too.
            forward = cast(nn.Module, torch.compile(self.model, dynamic=False))
        if self.world > 1:
            forward = DistributedDataParallel(forward, gradient_as_bucket_view=True)
        self.forward = forward
        self.autocast = torch.autocast(
            device.type, torch.bfloat16, enabled=self.precision == "bf16"
        )
        self.progress = Progress()
        self.snapshots = set(snapshot_steps(settings.snapshots, settings.max_steps))

    def run(self) -> None:
        """Train to the last step or until validation stops improving."""
        old, state = self.output / f"{STATE}.old", self.output / STATE
        if not self.rank and old.exists() and not state.exists():
            # Killed between two renames.
            old.rename(state)
        if dist.is_initialized():
            dist.barrier()
        if (state / "progress.json").exists():
            self._restore()
        elif self.rank == 0:
            self._snapshot()
        self._trim_log()
        settings, progress = self.settings, self.progress
        bar = tqdm(
            total=settings.max_steps,
            initial=progress.step,
            unit="step",
            disable=self.rank != 0,
            mininterval=2,
        )
        recent: list[tuple[Tensor, int]] = []
        self.model.train()
        began = time.perf_counter()
        for batches, tokens, longest in self._groups():
            if progress.step >= settings.max_steps:
                break
            recent.append((self.take_step(batches, tokens), tokens))
            progress.target_tokens += tokens
            progress.lengthen(*longest)
            bar.update()
            last = progress.step == settings.max_steps
            logs, saves, validates = (
                last or progress.step % every == 0
                for every in (settings.log_every, settings.save_every, settings.validate_every)
            )
            if logs or saves or validates:
                loss = _mean_loss(recent)
                elapsed = time.perf_counter() - began
                progress.seconds += elapsed
                if logs:
                    speed = sum(tokens for _, tokens in recent) / elapsed
                    self._log_training(bar, loss, speed)
                recent.clear()
            if progress.step in self.snapshots and self.rank == 0:
                self._snapshot()
            if validates:
                self._validate(bar)
                if settings.patience and progress.stale >= settings.patience:
                    break
            if saves:
                self._save()
            if not recent:
                began = time.perf_counter()
        bar.close()
        self._finish()

    def _groups(self) -> Iterator[tuple[list[Batch], int, tuple[int, int]]]:
        """For each step, forever: this process's batches; the target tokens and longest of all."""
        progress = self.progress
        together = self.world * self.settings.accumulate
        while True:
            self.batches = self._epoch_batches()
            plan = self.batches.epoch(self.settings.seed, progress.epoch)
            if len(plan) < together:
                raise SettingsError(
                    "The training data fill fewer batches than one step takes; "
                    "lower batch_tokens or accumulate."
                )
            while progress.place + together <= len(plan):
                group = plan[progress.place : progress.place + together]
                tokens = sum(self.batches.target_tokens(indices) for _, indices in group)
                progress.place += together
                longest = self.batches.longest(np.concatenate([each for _, each in group]))
                own = group[self.rank :: self.world]
                yield [self.batches.build(*each) for each in own], tokens, longest
            progress.epoch += 1
            progress.place = 0

    def _epoch_batches(self) -> Batches:
        settings = self.settings
        varies = (
            settings.sampling_alpha
            or settings.rename_share
            or settings.capital_share
            or settings.noun_copies
            or self.weights
        )
        if self.batches is None or varies:
            pairs, seed = self.train_pairs, self._epoch_seed()
            if self.weights:
                pairs = drawn(pairs, self.weights, seed)
            pairs = _varied(pairs, settings, seed)
            return self._encode(pairs, sampling_alpha=settings.sampling_alpha)
        return self.batches

    def _epoch_seed(self) -> int:
        """By epoch, so that a resumed run and every process draw the same."""
        return (self.settings.seed * 1_000_003 + self.progress.epoch) % 2**31

    def _encode(self, pairs: list[Pair], *, sampling_alpha: float) -> Batches:
        sides = (
            (self.tokenizer, [pair.source for pair in pairs]),
            (self.tokenizer.target, [pair.target for pair in pairs]),
        )
        if sampling_alpha:
            seed = self._epoch_seed()
            encoded = [
                vocabulary.sample_all(texts, alpha=sampling_alpha, seed=seed)
                for vocabulary, texts in sides
            ]
        else:
            encoded = [vocabulary.encode_all(texts) for vocabulary, texts in sides]
        return Batches(*encoded, tokens=self.settings.batch_tokens)

    def some_batches(self, count: int) -> list[Batch]:
        """The first batches of an epoch, for a measurement."""
        batches = self._epoch_batches()
        plan = batches.epoch(self.settings.seed, self.progress.epoch)
        return [batches.build(*each) for each in plan[:count]]

    def take_step(self, batches: list[Batch], tokens: int) -> Tensor:
        """One step over this process's batches.

        Args:
            batches: those of this process.
            tokens: target tokens of all processes' batches.

        Returns:
            the mean loss of a token of them, on the device: reading it would wait for the step, and
            nothing is to wait while the next one can be prepared.
        """
        settings, progress = self.settings, self.progress
        progress.step += 1
        # Dropout follows from seed, step and process alone: nothing to save, exact to resume.
        torch.manual_seed((settings.seed * 1_000_003 + progress.step) * 1009 + self.rank)
        rate = learning_rate(settings, self.model.config.d_model, progress.step)
        total = torch.zeros((), device=self.device)
        for number, batch in enumerate(batches, start=1):
            batch = batch.to(self.device)
            synchronize = self.world == 1 or number == len(batches)
            with contextlib.nullcontext() if synchronize else self._without_sync():
                loss = self._loss(batch)
                # DistributedDataParallel averages over processes; the step's loss is a mean
                # over its tokens, wherever they were.
                (loss * (self.world / tokens)).backward()
            total += loss.detach()
        if settings.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip_norm)
        for optimizer in self.optimizers:
            for parameters in optimizer.param_groups:
                parameters["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return total * (self.world / tokens)

    def _loss(self, batch: Batch) -> Tensor:
        """What a batch is to lessen, summed over its target tokens."""
        loss = self._translation_loss(batch)
        if self.entropies is None:
            return loss
        passes = 2 if self.settings.r_drop else 1
        ids = (batch.source.repeat(passes, 1), batch.inputs.repeat(passes, 1))
        return loss + self.settings.entropy_penalty / passes * self.entropies.total(*ids)

    def _translation_loss(self, batch: Batch) -> Tensor:
        settings = self.settings
        if not settings.r_drop:
            with self.autocast:
                logits = self.forward(batch.source, batch.inputs, causal=settings.causal)
            return _loss_sum(logits, batch.labels, settings.label_smoothing)
        # Twice in one batch: dropout is drawn for each row by itself.
        with self.autocast:
            twice = batch.source.repeat(2, 1), batch.inputs.repeat(2, 1)
            logits = self.forward(*twice, causal=settings.causal)
        loss = _loss_sum(logits, batch.labels.repeat(2, 1), settings.label_smoothing)
        first, second = (half.flatten(0, 1) for half in logits.chunk(2))
        apart = divergence(first, second, batch.labels.flatten(), PAD)
        return 0.5 * (loss + settings.r_drop * apart)

    def _without_sync(self) -> contextlib.AbstractContextManager[None]:
        assert isinstance(self.forward, DistributedDataParallel)
        return self.forward.no_sync()

    @torch.no_grad()
    def _validate(self, bar: tqdm[Any]) -> None:
        progress, settings = self.progress, self.settings
        self.model.eval()
        loss = self._valid_loss(causal=settings.causal)
        losses = {"valid_loss": loss}
        if not settings.causal:
            losses["valid_loss_with_mask"] = self._valid_loss(causal=True)
        sample = self.valid[: settings.validate_sentences]
        own = sample[self.rank :: self.world]
        translations = translate_all(self.model, self.tokenizer, [pair.source for pair in own])
        gathered: list[Any] = [translations]
        if self.world > 1:
            gathered = [None] * self.world
            dist.all_gather_object(gathered, translations)
        merged = [""] * len(sample)
        for rank, part in enumerate(gathered):
            merged[rank :: self.world] = part
        scores = translation_scores(merged, [pair.target for pair in sample])
        progress.stale = 0 if loss < progress.best_loss else progress.stale + 1
        progress.best_loss = min(loss, progress.best_loss)
        self.model.train()
        if self.rank:
            progress.best_bleu = max(progress.best_bleu, scores["bleu"])
            return
        rounded = {name: round(value, 4) for name, value in losses.items()}
        self._log(**rounded, bleu=scores["bleu"], chrf=scores["chrf"])
        bar.write(
            f"step {progress.step}: validation loss {loss:.3f}, "
            f"BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}"
        )
        weights = self.output / "weights"
        weights.mkdir(exist_ok=True)
        file = weights / f"step-{progress.step:07}.safetensors"
        write_whole(file, save(_cpu(unique_state(self.model))))
        for stale in sorted(weights.glob("step-*.safetensors"))[: -settings.average_last]:
            stale.unlink()
        # One that cheats is the better at it, the worse it writes.
        better = scores["bleu"] > progress.best_bleu if settings.causal else not progress.stale
        progress.best_bleu = max(progress.best_bleu, scores["bleu"])
        if better:
            self._export("best", {"step": progress.step, **losses, "valid": scores})

    def _valid_loss(self, *, causal: bool) -> float:
        """Cross-entropy a token over the validation set, in nats, with the causal mask or without.

        The model is in eval mode; every process takes its share.
        """
        totals = torch.zeros(2, dtype=torch.float64)
        for shape, indices in self.valid_batches.epoch(0, 0)[self.rank :: self.world]:
            batch = self.valid_batches.build(shape, indices).to(self.device)
            with self.autocast:
                logits = self.model(batch.source, batch.inputs, causal=causal)
            totals[0] += _loss_sum(logits, batch.labels, 0.0).item()
            totals[1] += batch.target_tokens
        if self.world > 1:
            totals = totals.to(self.device)
            dist.all_reduce(totals)
        return float(totals[0] / totals[1])

    def _finish(self) -> None:
        """Average the last validated weights and keep them where they translate better."""
        if self.rank:
            return
        files = sorted((self.output / "weights").glob("step-*.safetensors"))
        if not files:
            return
        load_weights(self.model, mean_weights(files), self.output / "weights")
        self.model.eval()
        sample = self.valid[: self.settings.validate_sentences]
        translations = translate_all(self.model, self.tokenizer, [pair.source for pair in sample])
        scores = translation_scores(translations, [pair.target for pair in sample])
        steps = [step_of(file) for file in files]
        self._log(averaged_steps=steps, bleu=scores["bleu"], chrf=scores["chrf"])
        self._export("averaged", {"averaged_steps": steps, "valid": scores})
        print(f"Average of steps {steps}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}")

    def _export(self, name: str, metrics: dict[str, Any]) -> None:
        progress = self.progress
        metrics |= {
            "steps": progress.step,
            "epochs": progress.epoch,
            "target_tokens": progress.target_tokens,
            "longest": progress.longest,
            "started_from": progress.started_from,
            "training_seconds": round(progress.seconds),
            "processes": self.world,
            "device": str(self.device),
            "precision": self.precision,
            "training": dataclasses.asdict(self.settings),
        }
        save_checkpoint(self.output / name, self.model, self.tokenizer, metrics=metrics, bits=32)

    def _snapshot(self) -> None:
        folder = self.output / "snapshots"
        folder.mkdir(exist_ok=True)
        state = {name: value.half() for name, value in _cpu(unique_state(self.model)).items()}
        write_whole(folder / f"step-{self.progress.step:07}.safetensors", save(state))

    def _log_training(self, bar: tqdm[Any], loss: float, speed: float) -> None:
        if self.rank:
            return
        bar.set_postfix(loss=f"{loss:.3f}", tok_s=f"{speed:,.0f}")
        rate = learning_rate(self.settings, self.model.config.d_model, self.progress.step)
        self._log(loss=round(loss, 4), tokens_per_second=round(speed), learning_rate=rate)

    def _log(self, **values: Any) -> None:
        progress = self.progress
        line = {
            "step": progress.step,
            "epoch": progress.epoch,
            "target_tokens": progress.target_tokens,
            "seconds": round(progress.seconds, 1),
            **values,
        }
        with (self.output / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        for optimizer in self.optimizers:
            if isinstance(optimizer, ZeroRedundancyOptimizer):
                # Every process gives its share to the first one.
                optimizer.consolidate_state_dict(to=0)
        if self.rank:
            return
        fresh = self.output / f"{STATE}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        try:
            self._write_state(fresh)
        except BaseException:
            # On a full disk that makes room.
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        # A kill at any moment leaves the old state or the new one whole.
        old = self.output / f"{STATE}.old"
        shutil.rmtree(old, ignore_errors=True)
        if (self.output / STATE).exists():
            (self.output / STATE).rename(old)
        fresh.rename(self.output / STATE)
        shutil.rmtree(old, ignore_errors=True)

    def _write_state(self, fresh: Path) -> None:
        write_whole(fresh / "model.safetensors", save(_cpu(unique_state(self.model))))
        for number, optimizer in enumerate(self.optimizers):
            tensors = {
                f"{index}.{name}": torch.as_tensor(value)
                for index, values in optimizer.state_dict()["state"].items()
                for name, value in values.items()
            }
            write_whole(fresh / f"optimizer-{number}.safetensors", save(_cpu(tensors)))
        write_json(fresh / "progress.json", dataclasses.asdict(self.progress))

    def _restore(self) -> None:
        folder = self.output / STATE
        # A run that began before lengths were counted does not know its longest. One that began
        # before its start was kept has it from the command, which is the same again.
        unsaved = {"longest": None, "started_from": self.progress.started_from}
        self.progress = Progress(**{**unsaved, **read_json(folder / "progress.json")})
        load_weights(self.model, read_tensors(folder / "model.safetensors"), folder)
        for number, optimizer in enumerate(self.optimizers):
            saved = read_tensors(folder / f"optimizer-{number}.safetensors")
            state: dict[int, dict[str, Tensor]] = {}
            for key, value in saved.items():
                index, _, name = key.partition(".")
                state.setdefault(int(index), {})[name] = value
            # One whose state is shared out has none of its own to tell before it was gathered.
            groups = torch.optim.Optimizer.state_dict(optimizer)["param_groups"]
            optimizer.load_state_dict({"state": state, "param_groups": groups})

    def _trim_log(self) -> None:
        """Drop what a killed run logged after its last saved state: those steps come again."""
        path = self.output / "metrics.jsonl"
        if self.rank or not path.exists():
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        # On a full disk the last one may be cut short.
        whole = [line for line in lines if line.endswith("}")]
        kept = [line for line in whole if json.loads(line)["step"] <= self.progress.step]
        write_whole(path, "".join(f"{line}\n" for line in kept).encode())


def _optimizers(
    model: Transformer, settings: TrainingSettings, precision: str
) -> list[torch.optim.Optimizer]:
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        hidden = parameter.ndim == 2 and not name.startswith(("source_", "target_", "output"))
        table = "positions" in name or name.endswith("attention.w")
        (matrices if hidden and not table else others).append(parameter)
    adam: dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-9, "fused": True}
    if settings.optimizer == "muon":
        muon: dict[str, Any] = {
            "weight_decay": settings.weight_decay,
            # Updates as large as Adam's, so that both share a learning rate.
            "adjust_lr_fn": "match_rms_adamw",
        }
        slow_in_bf16 = precision == "float32" and matrices[0].device.type == "cpu"
        kind = Float32Muon if slow_in_bf16 else torch.optim.Muon
        return [
            # Making a matrix orthogonal costs about as much as a batch: every process takes some.
            ZeroRedundancyOptimizer(matrices, kind, **muon)
            if dist.is_initialized()
            else kind(matrices, **muon),
            torch.optim.AdamW(others, weight_decay=0.0, **adam),
        ]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [torch.optim.AdamW(groups, **adam)]


def _precision(settings: TrainingSettings, device: torch.device) -> str:
    """What the products of a run are computed in: "float32" or "bf16"."""
    if settings.precision != "auto":
        return settings.precision
    bf16 = torch.cuda.is_bf16_supported() if device.type == "cuda" else _bf16_pays()
    return "bf16" if bf16 else "float32"


def _bf16_pays() -> bool:
    """Whether this processor multiplies faster in bf16 than in float32.

    Its instructions do not tell: with avx512_bf16, an AMD EPYC of Zen 5 is more than twice as fast
    in bf16, and an Intel Xeon without AMX half as fast.
    """

    def seconds(dtype: torch.dtype) -> float:
        one, other = (torch.randn(512, 512).to(dtype) for _ in range(2))
        timer = Timer("one @ other", globals={"one": one, "other": other})
        return float(timer.blocked_autorange(min_run_time=0.05).median)

    faster = seconds(torch.bfloat16) < seconds(torch.float32)
    if dist.is_initialized():
        # All processes do the same, whatever each of them measured.
        agreed = [faster]
        dist.broadcast_object_list(agreed, src=0)
        faster = agreed[0]
    return faster


def _mean_loss(recent: list[tuple[Tensor, int]]) -> float:
    """The mean over the tokens of these steps."""
    tokens = sum(count for _, count in recent)
    return float(sum(loss * count for loss, count in recent)) / tokens


def _loss_sum(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return smoothed_cross_entropy(logits.flatten(0, 1), labels.flatten(), smoothing, PAD)


def _cpu(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model.training.train",
        description="Train a translation model. Given again, the command resumes a killed run.",
    )
    parser.add_argument("--data", nargs="+", type=Path, required=True, help=".tsv or .tsv.xz files")
    parser.add_argument("--valid", type=Path, required=True, help="a .tsv file to validate on")
    parser.add_argument("--output", type=Path, required=True, help="the run's folder")
    parser.add_argument("--config", default="small", help="a named configuration or a .toml file")
    parser.add_argument(
        # torchrun would take --start for its own --start-method.
        "--checkpoint",
        type=Path,
        help="one of that shape, or with more layers, to start from, with its tokenizer",
    )
    parser.add_argument(
        "--new-vocabulary",
        action="store_true",
        help="of the settings, not the checkpoint's; each piece starts as the mean of those that "
        "spell it there",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="TABLE.FIELD=VALUE",
        help="change the configuration, such as training.max_steps=100",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads of each process (default 1)"
    )
    return parser


def _device(name: str) -> torch.device:
    device = resolve_device(name)
    if device.type == "cuda":
        # torchrun gives each process of a machine a GPU of its own.
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", device.index or 0)))
        torch.cuda.set_device(device)
    return device


def _make_tokenizer(settings: TrainingSettings, pairs: list[Pair]) -> Tokenizer:
    """A vocabulary for the pairs, or one for each side."""
    # A word of one in a thousand sentences becomes a piece in a vocabulary of any use.
    words = settings.words.split() * (len(pairs) // 1000 + 1)
    varied = _varied(pairs, settings, settings.seed)

    def trained(texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(
            chain(texts, words),
            settings.vocab_size,
            model_type=settings.tokenizer,
            apostrophes=settings.apostrophes,
        )

    if not settings.separate_vocabularies:
        return trained(text for pair in varied for text in pair)
    source, target = (trained(pair[side] for pair in varied) for side in (0, 1))
    return Tokenizer(source.serialized, target)


def _require_sides(
    kept: Tokenizer, settings: TrainingSettings, arguments: argparse.Namespace
) -> None:
    """Check that a checkpoint has as many vocabularies as are wanted, or can be given a second."""
    has_two, wants_two = kept.target is not kept, settings.separate_vocabularies
    if has_two and not wants_two:
        raise SettingsError(
            f"The model of {arguments.checkpoint} has a vocabulary for each side; give --set "
            "training.separate_vocabularies=true, or leave --checkpoint out."
        )
    if wants_two and not has_two and not arguments.new_vocabulary:
        raise SettingsError(
            f"The model of {arguments.checkpoint} has one vocabulary for both sides; add "
            "--new-vocabulary, or leave separate_vocabularies out."
        )


def _varied(pairs: list[Pair], settings: TrainingSettings, seed: int) -> list[Pair]:
    """The pairs with other nouns, names and capitals, as the settings want them."""
    pairs = with_other_nouns(pairs, settings.noun_copies, seed)
    return capitalized(renamed(pairs, settings.rename_share, seed), settings.capital_share, seed)


def carried_over(state: dict[str, Tensor], old: Tokenizer, new: Tokenizer) -> dict[str, Tensor]:
    """Weights for another vocabulary (Mosin et al. 2021, "Vocabulary Transfer").

    Args:
        state: a model's weights.
        old: the vocabulary that they were trained with, with the target's.
        new: the other; the target has its own there if it has it in the old one.

    Returns:
        the same weights, but embeddings and output have a row for each new piece: the mean of the
        old pieces that spell it, or the old piece of the same word in lower case.
    """
    source, target = "source_embedding.weight", "target_embedding.weight"
    moved = dict(state)
    if new.target is not new:
        # One matrix was for both.
        moved.setdefault(target, state[source])
    sides = {source: (old, new)} | dict.fromkeys(
        (target, "output.weight"), (old.target, new.target)
    )
    for name, (before, after) in sides.items():
        if name in moved:
            moved[name] = _respelled(moved[name], before, after)
    return moved


def _respelled(table: Tensor, old: Tokenizer, new: Tokenizer) -> Tensor:
    spellings = (
        min(map(old.spelling, (piece, piece.lower())), key=len)
        for piece in new.pieces(range(len(new)))
    )
    return torch.stack([table[ids].mean(dim=0) for ids in spellings])


def _config_to_go_on(
    wanted: TransformerConfig, start: Checkpoint, origin: Path
) -> TransformerConfig:
    """The configuration of a checkpoint's model, trained as the wanted one would be.

    A model of fewer layers starts with the first ones of the checkpoint's.

    Raises:
        SettingsError: if the two compute different functions of their layers.
    """
    found = start.model.config
    # What changes how a model is trained or laid out, and not what it computes.
    alike = dataclasses.replace(
        found,
        dropout=wanted.dropout,
        fused_attention=wanted.fused_attention,
        vocab_size=wanted.vocab_size,
        target_vocab_size=wanted.target_vocab_size,
        n_encoder_layers=min(wanted.n_encoder_layers, found.n_encoder_layers),
        n_decoder_layers=min(wanted.n_decoder_layers, found.n_decoder_layers),
    )
    laid_out = dataclasses.replace(wanted, fused_qkv=found.fused_qkv)
    for field in dataclasses.fields(alike):
        mine, theirs = getattr(laid_out, field.name), getattr(alike, field.name)
        if mine != theirs:
            raise SettingsError(
                f"The model of {origin} has {field.name} {theirs!r}, the configuration {mine!r}; "
                f"give --set model.{field.name}={theirs}, or leave --checkpoint out."
            )
    return alike


def train(arguments: argparse.Namespace) -> None:
    """One process of a run, as the command line describes it."""
    torch.set_num_threads(arguments.threads)
    device = _device(arguments.device)
    model_fields, settings = load_settings(arguments.config, arguments.set)
    if "vocab_size" in model_fields:
        raise SettingsError("vocab_size belongs in [training]; the model takes the tokenizer's.")
    if "target_vocab_size" in model_fields:
        raise SettingsError(
            "target_vocab_size is the tokenizer's; give training.separate_vocabularies=true."
        )
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    first = not dist.is_initialized() or dist.get_rank() == 0
    pairs, valid = (
        read_pairs(paths, reverse=settings.reverse) for paths in (arguments.data, [arguments.valid])
    )
    sources = read_weights(arguments.data, settings.weights) if settings.weights else None
    arguments.output.mkdir(parents=True, exist_ok=True)
    start = load_checkpoint(arguments.checkpoint) if arguments.checkpoint else None
    kept = start.tokenizer if start is not None else None
    if kept is not None:
        _require_sides(kept, settings, arguments)
    # An earlier start of this run may have made it.
    if first and not (arguments.output / TOKENIZER).exists():
        made = kept if kept and not arguments.new_vocabulary else _make_tokenizer(settings, pairs)
        save_tokenizer(arguments.output, made)
    if dist.is_initialized():
        dist.barrier()
    separate = (arguments.output / TARGET_TOKENIZER).exists()
    tokenizer = read_tokenizer(arguments.output, separate=separate)
    sizes = {
        "vocab_size": len(tokenizer),
        "target_vocab_size": len(tokenizer.target) if separate else None,
    }
    config = TransformerConfig.from_dict({**model_fields, **sizes})
    if start is not None:
        config = _config_to_go_on(config, start, arguments.checkpoint)
    if first:
        run = {"model": config.to_dict(), "training": dataclasses.asdict(settings)}
        write_json(arguments.output / "run.json", run)
    torch.manual_seed(settings.seed)
    model = Transformer(config)
    if start is not None:
        weights = unique_state(start.model)
        if arguments.new_vocabulary:
            weights = carried_over(weights, start.tokenizer, tokenizer)
        first_layers = {
            name: weight for name, weight in weights.items() if name in model.state_dict()
        }
        load_weights(model, first_layers, arguments.checkpoint)
    trainer = Trainer(
        arguments.output, model, tokenizer, settings, pairs, valid, device, weights=sources
    )
    if start is not None:
        # What was trained before stays trained.
        trainer.progress.longest = longest_trained(start.metrics)
        trainer.progress.started_from = training_runs(start.metrics)
    if first:
        size = sum(parameter.numel() for parameter in trainer.model.parameters())
        print(
            f"{size / 1e6:.1f} million parameters, {len(pairs):,} pairs, "
            f"{trainer.world} process(es) on {device.type}",
            flush=True,
        )
    trainer.run()


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        train(arguments)
    except (
        CheckpointError, ConfigError, CorpusError, DeviceError, SettingsError, TokenizerError
    ) as error:  # fmt: skip
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"{unwritten(error).removesuffix('.')}; the same command goes on from the last saved "
            "state.",
            file=sys.stderr,
        )
        return 1
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
