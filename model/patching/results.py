"""Results of patching activations of one sentence into the run of another, without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.record.patches import Side, Stage
from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import FloatArray, Tokens
from model.trace.forms import form
from model.trace.provenance import UNKNOWN, Provenance

Pairs = tuple[tuple[int, int], ...]
"""Positions of aligned tokens: in the sentence that runs, and in the other one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patched(ArrayValue, Sized):
    """A sentence's run with activations of another sentence in it.

    Attributes:
        source: tokens of the sentence, ending with </s>.
        other_source: tokens of the other one.
        pairs: the aligned positions of both sources.
        patched_text: what the model writes for the sentence with the activations in place.
        predictions: the tokens that are read and scored, ending with </s>: the other sentence's
            translation, or a given one.
        log_probs: of the predictions in the sentence's own run, (target,).
        patched_log_probs: in the sentence's run with the activations.
    """

    sentence: str
    other: str
    source: Tokens
    other_source: Tokens
    pairs: Pairs
    text: str
    other_text: str
    patched_text: str
    predictions: Tokens
    log_probs: FloatArray
    other_log_probs: FloatArray
    patched_log_probs: FloatArray
    provenance: Provenance = UNKNOWN

    def frame(self) -> Any:
        """A pandas table, a row a prediction: `position`, `token`, and the log-probabilities.

        They are those in the sentence's own run, in the `other` one's and in the `patched` one.
        """
        return form("table", self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CausalTrace(ArrayValue, Sized):
    """How likely a translation is with one token's hidden states of another run put in.

    Attributes:
        other: the one whose hidden states it gets, a token after a stage at a time.
        source: tokens of the sentence, ending with </s>.
        target: what the decoder reads in both runs, starting with <s>.
        predictions: the tokens whose probability is measured.
        log_probs: of the predictions in the sentence's own run, (target,).
        encoder: with the states after a stage put in at a source token, by stage, (source,
            target); NaN for tokens without a counterpart in the other sentence.
        decoder: the same at a target token, (target, target).
    """

    sentence: str
    other: str
    source: Tokens
    target: Tokens
    predictions: Tokens
    log_probs: FloatArray
    other_log_probs: FloatArray
    encoder: Mapping[Stage, FloatArray]
    decoder: Mapping[Stage, FloatArray]
    provenance: Provenance = UNKNOWN

    def frame(self) -> Any:
        """A pandas table in long form, a row a state and a prediction.

        Columns are `side`, `stage`, `position` and `token` of the state, `predicted_position`,
        `predicted` and `log_prob`, which is not a number without a counterpart.
        """
        return form("table", self)

    def probabilities(self, side: Side, token: int) -> FloatArray:
        """The probability of one prediction, (stage, token of that side).

        Raises IndexError if there is no such prediction.
        """
        if not 0 <= token < len(self.predictions):
            raise IndexError(
                f"There is no target token {token}; choose one from 0 to "
                f"{len(self.predictions) - 1}."
            )
        stages = self.encoder if side == "encoder" else self.decoder
        found: FloatArray = np.exp(np.stack([each[:, token] for each in stages.values()]))
        return found

    @property
    def telling(self) -> int:
        """The prediction whose probability differs most between the two runs."""
        gap = np.exp(self.other_log_probs) - np.exp(self.log_probs)
        return int(np.abs(gap).argmax())
