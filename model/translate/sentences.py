"""A model with its vocabulary: sentences as token ids, checked before the model reads them."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from model.arguments import checked_methods
from model.paper.encoding import PositionalEncoding
from model.paper.linear import pack_linears
from model.paper.search import AS_IN_THE_PAPER, Search
from model.paper.tokenizer import Tokenizer, normalize
from model.paper.transformer import Transformer
from model.record.intervention import UNCHANGED, Intervention, ordered
from model.record.taps import install_taps
from model.trace.attention_map import Tokens, TraceError
from model.trace.head import Head
from model.trace.provenance import Provenance, exactly
from model.trace.trace import Trace
from model.version import VERSION


class TextError(ValueError):
    """A text that cannot be translated; the message says why and what to do."""


@checked_methods
class ModelWithVocabulary:
    """A model with its vocabulary, on a device. Safe to share among threads.

    Attributes:
        sites: every attention of the model, in the order of sites.
        search: how it writes unless asked for another search.
        folder: from which other processes can load it; None if they cannot.
        provenance: what traces say of the model.
    """

    folder: Path | None = None

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        device: torch.device | str = "cpu",
        metrics: dict[str, Any] | None = None,
        name: str = "",
        search: Search = AS_IN_THE_PAPER,
        provenance: Provenance | None = None,
    ) -> None:
        self.device = torch.device(device)
        self.model = model.eval().to(self.device)
        self.tokenizer = tokenizer
        self.metrics = metrics or {}
        self.name = name
        self.search = search
        self.provenance = provenance or Provenance(model=name, headscope=VERSION)
        self.sites = install_taps(self.model)
        pack_linears(self.model)

    def __repr__(self) -> str:
        config = self.model.config
        stacks = f"{config.n_encoder_layers} + {config.n_decoder_layers} layers"
        size = f"{stacks} of {config.n_heads} heads, d_model {config.d_model}"
        count = f"{self.n_parameters:,} parameters"
        return f"{type(self).__name__}({self.name!r}, {size}, {count}, {self.device})"

    @property
    def heads(self) -> list[Head]:
        """Every head, in the order of sites."""
        return [Head(site, n) for site in self.sites for n in range(self.model.config.n_heads)]

    @property
    def max_tokens(self) -> int:
        """The most tokens of a source or a target, end token included."""
        return self.model.config.max_positions

    @property
    def positions(self) -> PositionalEncoding:
        """The encoder's positional encoding; the decoder's is of the same kind."""
        return self.model.encoder.positions

    @property
    def has_final_norm(self) -> bool:
        """Whether the decoder has a norm after its last layer."""
        return not isinstance(self.model.decoder.final_norm, torch.nn.Identity)

    @property
    def norm(self) -> str:
        """Where each block normalises: "pre" or "post"."""
        return self.model.config.norm

    @property
    def n_parameters(self) -> int:
        """Trained numbers, a tied matrix counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def source_tokens(self, token_ids: Sequence[int]) -> Tokens:
        """Token ids of a source, with their spelling."""
        return Tokens(self.tokenizer.pieces(token_ids), tuple(token_ids), "sentencepiece")

    def target_tokens(self, token_ids: Sequence[int]) -> Tokens:
        """Token ids of a target, with their spelling."""
        return Tokens(self.tokenizer.target.pieces(token_ids), tuple(token_ids), "sentencepiece")

    def trace_ids(self, trace: Trace) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Token ids of a trace's source, target and predictions, (1, token) each.

        Raises TraceError if the trace is another model's.
        """
        if self.provenance.is_of_another_model(trace.provenance):
            raise TraceError(
                f"trace is of the model {trace.provenance.model_in_words}, and the translator has "
                f"{self.provenance.model_in_words}; record the text with this translator."
            )
        source, target, predictions = (
            torch.tensor([tokens.ids], device=self.device)
            for tokens in (trace.source, trace.target, trace.predictions)
        )
        return source, target, predictions

    def lacks(self, what: str) -> str:
        """The beginning of a sentence about characters that the vocabulary lacks."""
        side = "" if self.tokenizer.target is self.tokenizer else " for this side"
        return f"The model’s vocabulary{side} lacks {what} characters"

    def require_room(self, text: str, what: str = "text") -> None:
        """Raises TextError if a text is too long; the message says how much of it would fit."""
        self._require_room(self._encoded(text, what), text, what)

    def require_readable(self, text: str) -> None:
        """Raises TextError if the model cannot translate a text; the message says why."""
        self._source_ids(text, UNCHANGED)

    def require_all_readable(self, texts: Sequence[str]) -> None:
        """Raises TextError if the model cannot translate one of several texts; it says which."""
        for number, text in enumerate(texts, start=1):
            try:
                self.require_readable(text)
            except TextError as error:
                raise TextError(f"Text {number:,}: {error}") from None

    def target_ids(self, text: str) -> list[int]:
        """Token ids of a word or more of a translation; TextError as for a translation."""
        return self._target_ids(text)[:-1]

    def provenance_of(self, search: str, under: Intervention) -> Provenance:
        """The provenance of a run, with its search as it is written."""
        changes = "" if under == UNCHANGED else exactly(under)
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        return replace(self.provenance, dtype=dtype, search=search, interventions=changes)

    def _source(self, text: str, under: Intervention) -> torch.Tensor:
        # (1, source)
        return torch.tensor([self._source_ids(text, under)], device=self.device)

    def _source_ids(self, text: str, under: Intervention) -> list[int]:
        ids = self._encoded(text, "text")
        if not ids:
            raise TextError("The text is empty; type a sentence to translate.")
        if unknown := self.tokenizer.unknown_languages(text):
            raise TextError(
                f"The model has no language {', '.join(unknown)}; name one that it was trained on."
            )
        before, after = self.tokenizer.around(text)
        ids = [*before, *ids]
        self._require_room([*ids, *after], text, "text")
        letters = set(normalize(self.tokenizer.read_as(text))) - {" "}
        if letters and letters <= set(self.tokenizer.unseen_characters(text)):
            raise TextError(
                f"{self.lacks('all of these')}; type a sentence in the language it reads."
            )
        return [*ordered([*ids, self.model.config.eos_id], under.source_order), *after]

    def _target_ids(self, target: str, opening: Sequence[int] = ()) -> list[int]:
        ids = self._encoded(target, "target")
        if not ids:
            raise TextError("The target is empty; type a translation, or leave it to the model.")
        self._require_room(ids, target, "target")
        return [*opening, *ids, self.model.config.eos_id]

    def _encoded(self, text: str, what: str) -> list[int]:
        try:
            text.encode()
        except UnicodeEncodeError:
            # From a shell, a byte that is no UTF-8; from elsewhere, half of a surrogate pair.
            raise TextError(f"The {what} contains half a character; write it anew.") from None
        return self._vocabulary(what).encode(text)

    def _vocabulary(self, what: str) -> Tokenizer:
        return self.tokenizer if what == "text" else self.tokenizer.target

    def _require_room(self, ids: list[int], text: str, what: str) -> None:
        if len(ids) < self.max_tokens:
            return
        # In characters, which a person can count, and not in tokens.
        fitting = bisect_left(
            range(len(text)),
            self.max_tokens,
            key=lambda length: len(self._vocabulary(what).encode(text[:length])),
        )
        raise TextError(
            f"The {what} is too long: its first {fitting - 1:,} characters fill the "
            f"{self.max_tokens:,} tokens that the model takes; shorten it to that."
        )
