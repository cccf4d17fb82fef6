"""Activation patching: parts of one sentence's run put into another's, and what comes of it.

Vig et al. 2020 ("Investigating Gender Bias in Language Models Using Causal Mediation Analysis")
replace single heads and neurons by their values under another sentence; Wang et al. 2023
("Interpretability in the Wild") and Goldowsky-Dill et al. 2023 ("Localizing Model Behavior with
Path Patching") replace sets of heads. Such a test says what the model computes from the replaced
activations in this pair of sentences, not what the part does elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from model.paper.log_probs import token_log_probs
from model.paper.search import Search
from model.patching.results import Pairs, Patched
from model.record.intervention import Intervention
from model.record.patches import Patch, PatchError, activation_of, side_of
from model.record.patching import Activations, patching, recording_activations
from model.trace.attention_map import FloatArray
from model.trace.token_runs import pairs
from model.trace.trace import Trace
from model.translate.translator import Translator

Parts = Mapping[Any, Sequence[int] | None] | Iterable[Any]
"""Heads and hidden states, for all aligned tokens, or each with the positions where it is put."""


def patch(
    translator: Translator,
    sentence: str,
    other: str,
    parts: Parts,
    *,
    target: str | None = None,
    search: Search | None = None,
) -> Patched:
    """A sentence's run with activations of another sentence in it, and the translation of that.

        hs.patch(translator, "My brother lost his keys.", "My sister lost her keys.",
                 [("encoder", "output")]).patched_text

    The method is activation patching, or causal mediation (Vig et al. 2020, section 3; Meng et al.
    2022, section 2; Wang et al. 2023, section 3), with heads as in path patching (Goldowsky-Dill et
    al. 2023) but with all paths from a part to the output open.

    Source tokens are aligned by their longest common subsequence, and those between shared tokens
    from left to right; a token without a counterpart keeps its own activations. Target tokens are
    aligned by position: activations of the decoder are those of a pass over the target.

    Args:
        other: the sentence whose activations are put in.
        parts: what is put in. A head ("cross", 2, 3) is its output before W_O, (token, d_v); a
            state ("encoder", 2) the output of layer 2, ("encoder", "embedding") what the first
            layer reads, ("encoder", "output") what cross-attention reads, (token, d_model). A
            mapping gives for each part the positions where it is put, source or target positions of
            `sentence` from 0, or None for all.
        target: the translation that both passes read, whose tokens are scored; None for the model's
            translation of `other`.

    Returns:
        log-probabilities in nats, (target,), of the target's tokens in the two runs and in the
        patched one; and what the model writes for each. The activations of the decoder while it
        writes are those that it has while it reads the target.

    Raises:
        PatchError: if a part or a position is unknown, or a source token has no counterpart.
        TextError, DecodingError: as `Translator.translate`.
    """
    return SentencePair(translator, sentence, other, target=target, search=search).patched(parts)


class SentencePair:
    """Two sentences of a model whose activations are recorded once.

    Arguments and errors as of `patch`.
    """

    def __init__(
        self,
        translator: Translator,
        sentence: str,
        other: str,
        *,
        target: str | None = None,
        search: Search | None = None,
        own: Trace | None = None,
        given: Trace | None = None,
    ) -> None:
        self.translator = translator
        self._search = search
        self.own = own or translator.trace(sentence, search=search)
        given = given or translator.trace(other, search=search)
        self.other_text = given.text
        self.given = given if target is None else translator.trace(other, target)
        self.pairs: Pairs = tuple(pairs(self.own.source.tokens, self.given.source.tokens))

    @property
    def ids(self) -> tuple[Tensor, Tensor, Tensor]:
        """Token ids of the sentence, of what the decoder reads, and of what it is to predict."""
        _, target, labels = self.translator.trace_ids(self.given)
        return self.translator.trace_ids(self.own)[0], target, labels

    @cached_property
    def own_run(self) -> tuple[Activations, FloatArray]:
        """The sentence's activations, reading the target, with its log-probabilities."""
        return self._run(self.ids[0])

    @cached_property
    def other_run(self) -> tuple[Activations, FloatArray]:
        """The other sentence's."""
        return self._run(self.translator.trace_ids(self.given)[0])

    def patches(self, parts: Parts) -> tuple[Patch, ...]:
        """The other sentence's activations of some parts, for the sentence's run."""
        wanted = parts if isinstance(parts, Mapping) else dict.fromkeys(parts)
        made = []
        for key, places in wanted.items():
            part = activation_of(key)
            counterparts = dict(self.pairs)
            if side_of(part) == "decoder":
                counterparts = {place: place for place in range(len(self.given.target))}
            chosen = list(counterparts) if places is None else list(places)
            for place in chosen:
                if place not in counterparts:
                    raise PatchError(
                        f"Token {place} has no counterpart in the other sentence; choose from "
                        f"{', '.join(map(str, counterparts))}."
                    )
            positions = {place: counterparts[place] for place in chosen}
            made.append(self.other_run[0].patch(part, positions))
        return tuple(made)

    def patched(self, parts: Parts) -> Patched:
        """The run with some parts put in."""
        patches = self.patches(parts)
        source, target, labels = self.ids
        with torch.inference_mode(), patching([patches]):
            scored = self._log_probs(self.translator.model(source, target), labels)
        written = self.translator.translate(
            self.own.source_text, search=self._search, under=Intervention(patches=patches)
        )
        return replace(self.unpatched, patched_text=written.text, patched_log_probs=scored)

    @property
    def unpatched(self) -> Patched:
        """Both runs as they are, and the first in place of a patched one."""
        return Patched(
            sentence=self.own.source_text,
            other=self.given.source_text,
            source=self.own.source,
            other_source=self.given.source,
            pairs=self.pairs,
            text=self.own.text,
            other_text=self.other_text,
            patched_text=self.own.text,
            predictions=self.given.predictions,
            log_probs=self.own_run[1],
            other_log_probs=self.other_run[1],
            patched_log_probs=self.own_run[1],
            provenance=self.given.provenance,
        )

    @torch.inference_mode()
    def _run(self, source: Tensor) -> tuple[Activations, FloatArray]:
        _, target, labels = self.ids
        with recording_activations() as activations:
            logits = self.translator.model(source, target)
        return activations, self._log_probs(logits, labels)

    def _log_probs(self, logits: Tensor, labels: Tensor) -> FloatArray:
        log_probs: FloatArray = token_log_probs(logits, labels)[0].cpu().numpy()
        return log_probs
