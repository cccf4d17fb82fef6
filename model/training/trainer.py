"""A training run: its steps, validations and saved states, in one process of maybe many."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from model.checkpoints.checkpoint import load_weights, save_checkpoint, unique_state
from model.checkpoints.folder_files import read_json, read_tensors, write_json
from model.files import write_whole
from model.paper.tokenizer import PAD, Tokenizer
from model.paper.transformer import Transformer
from model.survey.parallel_text import Pair
from model.training.average import mean_weights, step_of
from model.training.batches import BUCKETS, Batch, Batches
from model.training.epochs import Epochs, encoded
from model.training.evaluate import translate_all, translation_scores
from model.training.loss import divergence, smoothed_cross_entropy
from model.training.optimizers import optimizers, precision
from model.training.schedule import learning_rate, snapshot_steps
from model.training.settings import SettingsError, TrainingSettings
from model.training.sharpness import RowEntropies

STATE = "state"


@dataclasses.dataclass(slots=True)
class Progress:
    """The state of a run: all that its next step depends on besides weights and optimizer."""

    step: int = 0
    epoch: int = 0
    place: int = 0
    """Batches of the epoch already used, over all processes."""
    seconds: float = 0.0
    target_tokens: int = 0
    best_loss: float = float("inf")
    best_bleu: float = -1.0
    stale: int = 0
    """Validations since the best loss."""
    longest: dict[str, int] | None = dataclasses.field(
        default_factory=lambda: {"source": 0, "target": 0}
    )
    """Tokens of the longest source and target so far, end token included: the number of trained
    positions. None if that of an earlier training is unknown."""
    started_from: list[dict[str, int]] | None = dataclasses.field(default_factory=list)
    """`training_runs` of the checkpoint that gave the first weights; empty for random weights. None
    if that checkpoint does not say."""

    def lengthen(self, source: int, target: int) -> None:
        """Count a step with these numbers of tokens in its longest source and target."""
        if self.longest is not None:
            self.longest = {
                "source": max(self.longest["source"], source),
                "target": max(self.longest["target"], target),
            }


class Pace:
    """The speed of a run since this process began it, validations included."""

    def __init__(self, step: int, seconds: float) -> None:
        self._step = step
        self._seconds = seconds
        self._began = time.perf_counter()

    def last_step(self, seconds: float, step: int) -> int:
        """The last step of a run of so many seconds that now is at `step`: at least the next."""
        elapsed = time.perf_counter() - self._began
        left = max(0.0, seconds - self._seconds - elapsed)
        return step + max(1, int(left * (step - self._step) / elapsed))


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
        self.settings = settings
        self.tokenizer = tokenizer
        self.valid = valid
        self.device = device
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.model = model.to(device)
        self.epochs = Epochs(train, weights, tokenizer, settings)
        self.valid_batches = Batches(*encoded(valid, tokenizer), tokens=settings.batch_tokens)
        self.precision = precision(settings, device)
        self.optimizers = optimizers(self.model, settings, self.precision)
        self.entropies = RowEntropies(self.model) if settings.entropy_penalty else None
        forward: nn.Module = self.model
        if settings.compile:
            # A program for every shape of batch; by default torch stops at the eighth.
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
        progress = self.progress
        bar = tqdm(
            total=self.settings.max_steps,
            initial=progress.step,
            unit="step",
            disable=self.rank != 0,
            mininterval=2,
        )
        recent: list[tuple[Tensor, int]] = []
        self.model.train()
        groups = self._groups()
        pace = Pace(progress.step, progress.seconds)
        began = time.perf_counter()
        for batches, tokens, longest in groups:
            if progress.step >= self.settings.max_steps:
                break
            recent.append((self.take_step(batches, tokens), tokens))
            progress.target_tokens += tokens
            progress.lengthen(*longest)
            bar.update()
            settings = self.settings
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
                if not math.isfinite(loss):
                    raise SettingsError(
                        f"The loss is no number at step {progress.step}: the training diverged. "
                        "Lower training.learning_rate, or give model.norm=pre."
                    )
            if progress.step in self.snapshots and self.rank == 0:
                self._snapshot()
            if validates:
                self._validate(bar)
                if settings.patience and progress.stale >= settings.patience:
                    break
            if saves:
                self._save()
            if not recent:
                if settings.seconds and not last:
                    self._keep_pace(pace, bar)
                began = time.perf_counter()
        groups.close()
        bar.close()
        self._finish()

    def _keep_pace(self, pace: Pace, bar: tqdm[Any]) -> None:
        """Move the last step to the end of `settings.seconds`, for all processes alike."""
        steps = [pace.last_step(self.settings.seconds, self.progress.step)]
        if dist.is_initialized():
            dist.broadcast_object_list(steps, src=0)
        self.settings = dataclasses.replace(self.settings, max_steps=steps[0])
        bar.total = steps[0]

    def _groups(self) -> Generator[tuple[list[Batch], int, tuple[int, int]], None, None]:
        """This process's batches of each step, with all processes' target tokens and lengths."""
        progress = self.progress
        together = self.world * self.settings.accumulate
        for epoch in self.epochs.follow(progress.epoch):
            plan = epoch.epoch(self.settings.seed, progress.epoch)
            if len(plan) < together:
                raise SettingsError(
                    "The training data fill fewer batches than one step takes; "
                    "lower batch_tokens or accumulate."
                )
            while progress.place + together <= len(plan):
                group = plan[progress.place : progress.place + together]
                tokens = sum(epoch.target_tokens(indices) for _, indices in group)
                progress.place += together
                longest = epoch.longest(np.concatenate([each for _, each in group]))
                own = group[self.rank :: self.world]
                yield [epoch.build(*each) for each in own], tokens, longest
            progress.epoch += 1
            progress.place = 0

    def some_batches(self, count: int) -> list[Batch]:
        """The first batches of an epoch, for benchmarks."""
        batches = next(self.epochs.follow(self.progress.epoch))
        plan = batches.epoch(self.settings.seed, self.progress.epoch)
        return [batches.build(*each) for each in plan[:count]]

    def take_step(self, batches: list[Batch], tokens: int) -> Tensor:
        """The mean loss of a token in one training step over this process's batches.

        It stays on the device: reading it would wait for the step, while the next one could be
        prepared. `tokens` counts target tokens of all processes' batches.
        """
        settings, progress = self.settings, self.progress
        progress.step += 1
        # Dropout depends on seed, step and process alone: nothing to save, exact to resume.
        torch.manual_seed((settings.seed * 1_000_003 + progress.step) * 1009 + self.rank)
        rate = learning_rate(settings, self.model.config.d_model, progress.step)
        total = torch.zeros((), device=self.device)
        for number, batch in enumerate(batches, start=1):
            batch = batch.to(self.device)
            synchronize = self.world == 1 or number == len(batches)
            with contextlib.nullcontext() if synchronize else self._without_sync():
                loss = self._loss(batch)
                # DistributedDataParallel averages over processes; the step's loss is the mean
                # over the tokens of all.
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
        """The loss of a batch, summed over its target tokens."""
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
        # A model that copies writes worse the better it copies.
        better = scores["bleu"] > progress.best_bleu if settings.causal else not progress.stale
        progress.best_bleu = max(progress.best_bleu, scores["bleu"])
        if better:
            self._export("best", {"step": progress.step, **losses, "valid": scores})

    def _valid_loss(self, *, causal: bool) -> float:
        """Cross-entropy of a token in the validation set, in nats; every process takes a share."""
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
        """Export the mean of the last validated weights, with its scores."""
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
            # Every process gives its share to the first one.
            if (give := getattr(optimizer, "consolidate_state_dict", None)) is not None:
                give(to=0)
        if self.rank:
            return
        fresh = self.output / f"{STATE}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        try:
            self._write_state(fresh)
        except BaseException:
            # On a full disk, this makes room.
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        # Whenever the process is killed, the old or the new state is whole.
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
        # Older runs did not save their longest lengths, so these are unknown; nor their start, but
        # the command, given again, has just read it.
        unsaved = {"longest": None, "started_from": self.progress.started_from}
        self.progress = Progress(**{**unsaved, **read_json(folder / "progress.json")})
        load_weights(self.model, read_tensors(folder / "model.safetensors"), folder)
        for number, optimizer in enumerate(self.optimizers):
            saved = read_tensors(folder / f"optimizer-{number}.safetensors")
            state: dict[int, dict[str, Tensor]] = {}
            for key, value in saved.items():
                index, _, name = key.partition(".")
                state.setdefault(int(index), {})[name] = value
            # A sharded optimizer cannot give its state before it is gathered.
            groups = torch.optim.Optimizer.state_dict(optimizer)["param_groups"]
            optimizer.load_state_dict({"state": state, "param_groups": groups})

    def _trim_log(self) -> None:
        """Drop log lines after the last saved state: a resumed run repeats those steps."""
        path = self.output / "metrics.jsonl"
        if self.rank or not path.exists():
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        # On a full disk, the last line may be incomplete.
        whole = [line for line in lines if line.endswith("}")]
        repeatable = [line for line in whole if json.loads(line)["step"] <= self.progress.step]
        write_whole(path, "".join(f"{line}\n" for line in repeatable).encode())


def _mean_loss(recent: list[tuple[Tensor, int]]) -> float:
    """The mean loss of a token in these steps."""
    tokens = sum(count for _, count in recent)
    return float(sum(loss * count for loss, count in recent)) / tokens


def _loss_sum(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return smoothed_cross_entropy(logits.flatten(0, 1), labels.flatten(), smoothing, PAD)


def _cpu(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
