"""Models that read one text: an encoder or a decoder alone, and Hugging Face models.

model = hs.load_reader("toy-reverse-decoder")
answer = model.read("c a b")
answer.trace        what every head did
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from model.checkpoints.checkpoint import (
    is_single_stack,
    load_single_stack,
    read_config,
)
from model.checkpoints.folder_files import CONFIG
from model.checkpoints.import_hf import says_model_type
from model.checkpoints.shipped import checkpoint_folder
from model.checkpoints.weights_digest import provenance_of
from model.paper.single_stack import DecoderOnly, SingleStack
from model.paper.tokenizer import Tokenizer
from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import Tokens
from model.trace.provenance import Provenance
from model.trace.text_result import Answer, FolderFacts, Purpose, sizes_of
from model.translate.devices import resolve_device
from model.translate.hf_folder import folder_facts, is_foreign, load_foreign
from model.translate.hf_model import ForeignModel
from model.translate.sentences import TextError


def is_reader(directory: Path) -> bool:
    """Whether a folder has such a model."""
    try:
        config = (directory / CONFIG).stat()
    except OSError:
        return False
    return _is_reader(directory, config.st_mtime_ns, config.st_size)


@lru_cache(maxsize=256)
def _is_reader(directory: Path, changed: int, size: int) -> bool:
    return is_foreign(directory) or is_single_stack(directory)


def reader_facts(directory: Path) -> FolderFacts:
    """The facts in a folder's configuration without its model; errors as of `read_json`."""
    if says_model_type(directory):
        return folder_facts(directory)
    config = read_config(directory)
    return FolderFacts("", config.single_stack, sizes_of(config.to_dict()))


def load_reader(directory: str | os.PathLike[str], *, device: str = "auto") -> Reader:
    """The model in a folder, or of a name that comes with Headscope; ours or Hugging Face's.

    A Hugging Face model of any class is run by transformers and recorded from outside.

    The device is "auto", "cpu", "cuda" or "cuda:1".

    Raises:
        CheckpointError: if the folder cannot be opened.
        DeviceError: if the machine has no such device.
    """
    folder = checkpoint_folder(directory)
    if says_model_type(folder):
        return load_foreign(folder, device=device)
    return StackReader.load(folder, device=device)


class StackReader:
    """An encoder or a decoder alone with its vocabulary."""

    def __init__(
        self,
        model: SingleStack,
        tokenizer: Tokenizer,
        *,
        metrics: dict[str, Any],
        device: torch.device,
        provenance: Provenance,
    ) -> None:
        self.model, self.tokenizer = model.to(device).eval(), tokenizer
        self.metrics, self.device = metrics, device
        self.provenance, self.name = provenance, provenance.model
        self.n_parameters = sum(each.numel() for each in model.parameters())
        install_taps(self.model)

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> StackReader:
        """The model in one of our folders; arguments and errors as `load_reader`."""
        place = resolve_device(device)
        model, tokenizer, metrics = load_single_stack(folder)
        known = provenance_of(folder)
        return cls(model, tokenizer, metrics=metrics, device=place, provenance=known)

    def write(self, text: str) -> str:
        """The model's output for a text, without a trace; errors as `read`."""
        with torch.inference_mode():
            return self.tokenizer.decode(self._write(self._ids(text))[1])

    def read(self, text: str) -> Answer:
        """The model's result for a text, with its trace; TextError if it is empty or too long.

        An encoder writes a token for each it reads. A decoder continues the text first, then reads
        all of it in one pass.
        """
        prompt = self._ids(text)
        with torch.inference_mode():
            read, written = self._write(prompt)
            with recording() as recorded:
                logits = self.model(self._tensor(read))[0]
            log_probs, predicted = (each.cpu() for each in logits.log_softmax(-1).max(-1))
        tokens, writes_on = self._tokens(read), isinstance(self.model, DecoderOnly)
        trace = recorded.trace(
            source=Tokens() if writes_on else tokens,
            target=tokens if writes_on else Tokens(),
            predictions=self._tokens(predicted.tolist()) if writes_on else Tokens(),
            text=self.tokenizer.decode(written),
            source_text=text,
            log_probs=log_probs.numpy() if writes_on else None,
            provenance=self.provenance,
        )
        return Answer(
            trace=trace,
            finished=not writes_on or written[-1:] == [self.model.config.eos_id],
            n_written=len(written),
            fills=(),
            purpose=Purpose.CONTINUE if writes_on else Purpose.LABEL,
            n_parameters=self.n_parameters,
            device=self.device.type,
        )

    def _write(self, prompt: list[int]) -> tuple[list[int], list[int]]:
        """The tokens that the model reads, then those that it writes."""
        if not isinstance(self.model, DecoderOnly):
            written = self.model(self._tensor(prompt))[0].argmax(-1).tolist()
            # The prediction at the end token is no part of the text.
            return prompt, written[:-1]
        room = self.model.config.max_positions - len(prompt)
        whole = self.model.write(self._tensor(prompt), room)[0].tolist()
        return whole[:-1], whole[len(prompt) :]

    def _ids(self, text: str) -> list[int]:
        if not text.strip():
            raise TextError("The text is empty; type one.")
        config = self.model.config
        ids = [*self.tokenizer.encode(text), config.eos_id]
        if isinstance(self.model, DecoderOnly):
            ids = [config.bos_id, *ids]
        # A decoder needs room for its output.
        most = config.max_positions // (2 if isinstance(self.model, DecoderOnly) else 1)
        if len(ids) > most:
            raise TextError(
                f"The text has {len(ids):,} tokens, but this model takes {most:,}; shorten it."
            )
        return ids

    def _tensor(self, ids: list[int]) -> torch.Tensor:
        return torch.tensor([ids], device=self.device)

    def _tokens(self, ids: list[int]) -> Tokens:
        return Tokens(self.tokenizer.pieces(ids), tuple(ids), "sentencepiece")


Reader = StackReader | ForeignModel
"""A model that reads one text."""
