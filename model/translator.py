"""A loaded checkpoint: text in, Translation and Trace out."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model.capture import install_taps, recording
from model.checkpoint import load_checkpoint
from model.decoding import Hypothesis, beam_search, greedy, sample
from model.linear import pack_linears
from model.tokenizer import Tokenizer
from model.trace import Tokens, Trace
from model.transformer import Transformer


class TextError(ValueError):
    """A text that cannot be translated; the message says why and what to do."""


class DeviceError(ValueError):
    """A device that this machine does not have; the message says what to choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Draw each token instead of searching for the best sentence; fields as in decoding.sample."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Translation:
    """One translated sentence.

    Attributes:
        text: the translation.
        tokens: its tokens, which end with </s> unless the length limit cut it.
        token_ids: their ids.
        score: log-probability over the length penalty, what the beam ranked by; nearer 0 is
            better.
        log_probs: natural logarithm of each token's probability, as long as tokens.
        finished: whether the model ended the sentence by itself.
        source_text: the sentence that was translated.
        source: its tokens, ending with </s>.
        unseen: its characters that the model never saw in training.
        distributions: (target, vocab) log-probabilities of every step, if they were asked for.
    """

    text: str
    tokens: tuple[str, ...]
    token_ids: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    finished: bool
    source_text: str
    source: Tokens
    unseen: tuple[str, ...]
    distributions: NDArray[np.float32] | None = None


class Translator:
    """A model, its vocabulary and a device. Safe to share among threads."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        device: torch.device | str = "cpu",
        metrics: dict[str, Any] | None = None,
        name: str = "",
    ) -> None:
        self.device = torch.device(device)
        self.model = model.eval().to(self.device)
        self.tokenizer = tokenizer
        self.metrics = metrics or {}
        self.name = name
        install_taps(self.model)
        pack_linears(self.model)

    @property
    def max_tokens(self) -> int:
        """The most tokens that a source or a target may have, end token included."""
        return self.model.config.max_positions

    @property
    def n_parameters(self) -> int:
        """Trained numbers, a tied matrix counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def translate(
        self,
        text: str,
        *,
        beam: int = 4,
        alpha: float = 0.6,
        sampling: Sampling | None = None,
        keep_distributions: bool = False,
    ) -> Translation:
        """The best translation.

        Args:
            text: a sentence.
            beam: width of the beam search; 1 decodes greedily.
            alpha: of the length penalty (section 6.1).
            sampling: draw instead of searching; beam and alpha then do nothing.
            keep_distributions: keep every step's log-probabilities of the whole vocabulary.

        Raises:
            TextError: if the text is empty, too long, or all of characters the model never saw.
            DecodingError: if a setting is out of range.
        """
        return self._decode(text, beam, 1, alpha, sampling, keep_distributions)[0]

    def candidates(
        self,
        text: str,
        *,
        beam: int = 4,
        alpha: float = 0.6,
        sampling: Sampling | None = None,
        keep_distributions: bool = False,
    ) -> list[Translation]:
        """What the search found, best first: `beam` translations, or one where nothing is searched.

        Arguments and errors are those of `translate`.
        """
        return self._decode(text, beam, beam, alpha, sampling, keep_distributions)

    def _decode(
        self,
        text: str,
        beam: int,
        n_best: int,
        alpha: float,
        sampling: Sampling | None,
        keep_distributions: bool,
    ) -> list[Translation]:
        ids = self._source_ids(text)
        source = torch.tensor([ids], device=self.device)
        if sampling is not None:
            found = sample(
                self.model,
                source,
                temperature=sampling.temperature,
                top_k=sampling.top_k,
                top_p=sampling.top_p,
                seed=sampling.seed,
                keep_distributions=keep_distributions,
            )
        elif beam == 1:
            found = greedy(self.model, source, keep_distributions=keep_distributions)
        else:
            found = beam_search(
                self.model,
                source,
                beam=beam,
                alpha=alpha,
                n_best=n_best,
                keep_distributions=keep_distributions,
            )[0]
        unseen = self.tokenizer.unseen_characters(text)
        return [self._translation(text, ids, unseen, hypothesis) for hypothesis in found]

    def trace(
        self,
        text: str,
        target: str | None = None,
        *,
        beam: int = 4,
        alpha: float = 0.6,
        sampling: Sampling | None = None,
    ) -> Trace:
        """Everything every attention head did on a sentence.

        The translation is decoded first; then one teacher-forced pass over source and translation
        is recorded, which under the causal mask is what step-by-step decoding computes.

        Args:
            text: a sentence.
            target: its translation; None lets the model translate.
            beam: as in translate.
            alpha: as in translate.
            sampling: as in translate.

        Raises:
            TextError: as translate, and for a target that is empty or too long.
        """
        if target is None:
            return self.trace_of(self.translate(text, beam=beam, alpha=alpha, sampling=sampling))
        ids = self._source_ids(text)
        target_ids = self.tokenizer.encode(target)
        if not target_ids:
            raise TextError("The target is empty; type a translation, or leave it to the model.")
        if len(target_ids) >= self.max_tokens:
            raise TextError(
                f"The target has {len(target_ids) + 1} tokens and the model takes "
                f"{self.max_tokens}; shorten it."
            )
        return self._record(text, ids, target, [*target_ids, self.model.config.eos_id])

    def trace_of(self, translation: Translation) -> Trace:
        """The trace of a translation that `translate` gave, without translating again."""
        return self._record(
            translation.source_text,
            list(translation.source.ids),
            translation.text,
            list(translation.token_ids),
        )

    def tokens(self, token_ids: list[int] | tuple[int, ...]) -> Tokens:
        """Token ids with their spelling."""
        return Tokens(tokens=self.tokenizer.pieces(token_ids), ids=tuple(token_ids))

    @torch.inference_mode()
    def _record(self, text: str, ids: list[int], target: str, predicted: list[int]) -> Trace:
        inputs = [self.model.config.bos_id, *predicted[:-1]]
        source = torch.tensor([ids], device=self.device)
        labels = torch.tensor(predicted, device=self.device)
        with recording() as seen:
            logits = self.model(source, torch.tensor([inputs], device=self.device))
        log_probs = logits[0].float().log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
        return seen.trace(
            source=self.tokens(ids),
            target=self.tokens(inputs),
            predictions=self.tokens(predicted),
            text=target,
            source_text=text,
            log_probs=log_probs.cpu().numpy(),
        )

    def _source_ids(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text)
        if not ids:
            raise TextError("The text is empty; type a sentence to translate.")
        if len(ids) >= self.max_tokens:
            raise TextError(
                f"The text has {len(ids) + 1} tokens and the model takes {self.max_tokens}; "
                "shorten it."
            )
        letters = {character for character in text if not character.isspace()}
        if letters and letters <= set(self.tokenizer.unseen_characters(text)):
            raise TextError(
                "The model never saw any of these characters in training; "
                "type a sentence in the language it reads."
            )
        return [*ids, self.model.config.eos_id]

    def _translation(
        self, text: str, ids: list[int], unseen: tuple[str, ...], hypothesis: Hypothesis
    ) -> Translation:
        kept = hypothesis.distributions
        return Translation(
            text=self.tokenizer.decode(hypothesis.token_ids),
            tokens=self.tokenizer.pieces(hypothesis.token_ids),
            token_ids=hypothesis.token_ids,
            score=hypothesis.score,
            log_probs=hypothesis.log_probs,
            finished=hypothesis.finished,
            source_text=text,
            source=self.tokens(ids),
            unseen=unseen,
            distributions=None if kept is None else kept.cpu().numpy(),
        )


def resolve_device(name: str) -> torch.device:
    """A device by name; "auto" takes a CUDA GPU where there is one, else the CPU.

    Raises:
        DeviceError: if the name is unknown or the machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise DeviceError(f"The device {name!r} is unknown; choose auto, cpu or cuda.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"This machine has no device {name!r} that torch can use; choose auto or cpu."
        )
    return device


def load(checkpoint: str | PathLike[str], *, device: str = "auto") -> Translator:
    """A translator from a checkpoint folder.

    Args:
        checkpoint: a folder with config.json, weights and tokenizer.
        device: "auto", "cpu", "cuda" or "cuda:1".

    Raises:
        CheckpointError: if the folder is missing, incomplete or damaged.
        DeviceError: if the machine has no such device.
    """
    path = Path(checkpoint)
    place = resolve_device(device)
    loaded = load_checkpoint(path)
    return Translator(
        loaded.model, loaded.tokenizer, device=place, metrics=loaded.metrics, name=path.name
    )
