"""A request of the command line, as pictures read it."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from model.contrast.results import Contrast, HeadSet, LogitTerms, Paths
from model.explain.ablation_results import Effects, ExamplesRemoval, Removal
from model.explain.alignment_table import AlignmentTable
from model.explain.attribution import Attributions, SelfAttributions
from model.explain.labels import Label
from model.explain.reading import Reading, ReadTrace, read, selected_maps, site_map
from model.paper.search import AS_IN_THE_PAPER, Search
from model.patching.results import CausalTrace, Patched
from model.record.intervention import Intervention, Side
from model.trace.attention_map import AttentionMap, FloatArray, Site
from model.trace.blocks import Blocks
from model.trace.head import Head
from model.trace.logit_lens import LogitLens
from model.trace.terms import EmbeddingParts, HeadMatrices, ScoreTerms
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation
from viz.links.head_refs import heads_parameter
from viz.links.link_interventions import Changes
from viz.links.mask_edits import parse
from viz.save.formats import ExportError
from viz.save.picture import Picture


class Encoding(Protocol):
    """How a model knows order."""

    base: ClassVar[float | None]
    is_added: ClassVar[bool]
    acts: ClassVar[str]


class Translator(Protocol):
    """What pictures ask of model.translate.translator.Translator, which says what each gives."""

    @property
    def positions(self) -> Encoding: ...  # noqa: D102
    @property
    def has_final_norm(self) -> bool: ...  # noqa: D102
    @property
    def norm(self) -> str: ...  # noqa: D102
    @property
    def n_parameters(self) -> int: ...  # noqa: D102
    def translate(self, text: str, *, search: Search) -> Translation: ...  # noqa: D102
    def trace(self, text: str, target: str | None = None) -> Trace: ...  # noqa: D102
    def decode(self, text: str, *, search: Search, under: Intervention) -> Decoding: ...  # noqa: D102
    def trace_of(self, translation: Translation, *, under: Intervention) -> Trace: ...  # noqa: D102
    def logit_lens(self, trace: Trace, *, under: Intervention) -> LogitLens: ...  # noqa: D102
    def position_table(  # noqa: D102
        self, length: int | None = None, *, side: Side = "encoder"
    ) -> FloatArray: ...
    def trained_positions(self) -> int | None: ...  # noqa: D102
    def embedding_parts(self, text: str) -> EmbeddingParts: ...  # noqa: D102
    def score_terms(self, text: str) -> ScoreTerms: ...  # noqa: D102
    def head_matrices(self, site: Site, head: int) -> HeadMatrices: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Request(ABC):
    """A request of the command line, with the results it needs, each computed once at first use.

    Attributes:
        text: the sentence.
        arguments: of the command line.
        folder: the checkpoint's, as a notebook reads it.
    """

    text: str
    arguments: argparse.Namespace
    folder: str

    @property
    @abstractmethod
    def translator(self) -> Translator:
        """The model."""

    @property
    @abstractmethod
    def search(self) -> Search:
        """The method of decoding."""

    @property
    @abstractmethod
    def labels(self) -> Mapping[Site, tuple[Label | None, ...]]:
        """The labels of heads by site; empty if unknown."""

    @property
    @abstractmethod
    def effects(self) -> Effects:
        """The losses of the translation without each head."""

    @property
    @abstractmethod
    def contrasted(self) -> tuple[Contrast, int, str]:
        """Two words, the place of the first from 0, and the second as it was asked for.

        They are the requested target token, or the least certain one, and the requested other word,
        or the next likeliest.
        """

    @property
    @abstractmethod
    def head_set(self) -> HeadSet:
        """The fewest heads without which the other word is likelier."""

    @property
    @abstractmethod
    def random_sets(self) -> FloatArray:
        """Log-probabilities under random sets as large."""

    @property
    @abstractmethod
    def logit_terms(self) -> LogitTerms:
        """The terms of the difference between the two words' logits."""

    @property
    @abstractmethod
    def paths(self) -> Paths:
        """The ways from the source to the difference of the two words."""

    @property
    @abstractmethod
    def second(self) -> Trace:
        """The trace of the second sentence, or of the sentence in the second model."""

    @property
    @abstractmethod
    def partners(self) -> tuple[Mapping[Head, Head], tuple[str, ...]]:
        """For heads of the model, those of the second one that surveys found alike, and both names.

        Empty without two surveys.
        """

    @property
    @abstractmethod
    def causal_trace(self) -> CausalTrace:
        """What the second sentence's states restore in the first, one token at a time."""

    @property
    @abstractmethod
    def patched(self) -> Patched:
        """The sentence's run with the requested parts of the second sentence's."""

    @property
    @abstractmethod
    def removal(self) -> Removal:
        """The translation's log-probability while heads are removed one after another."""

    @property
    @abstractmethod
    def examples_removal(self) -> ExamplesRemoval | None:
        """The scores of the model's examples while heads are removed; None without the file."""

    @property
    @abstractmethod
    def attributions(self) -> Attributions:
        """Maps of cross-attention, with the effect of deleting source tokens."""

    @property
    @abstractmethod
    def self_attributions(self) -> SelfAttributions:
        """Maps of the requested site of self-attention."""

    @property
    @abstractmethod
    def alignment(self) -> AlignmentTable | None:
        """The alignment errors of heads; None without the file."""

    @property
    @abstractmethod
    def blocks(self) -> Blocks:
        """What the blocks beside attention do."""

    @property
    @abstractmethod
    def growth(self) -> Sequence[tuple[int, Trace]]:
        """The trace at each snapshot of the training, with its step; empty without snapshots.

        Every snapshot reads the finished model's translation.
        """

    @property
    @abstractmethod
    def read_later(self) -> Mapping[int, bool]:
        """Whether each layer looks at a token's source in the row that has read the token."""

    @cached_property
    def trace(self) -> Trace:
        """The trace of the sentence with its translation, the model's or the given one."""
        return self.translator.trace(self.text, self.target or None)

    @cached_property
    def decoding(self) -> Decoding:
        """The record of decoding under the requested changes."""
        return self.decode(self.search)

    def decode(self, search: Search) -> Decoding:
        """The record of decoding with another search."""
        return self.translator.decode(self.text, search=search, under=self.changes.under)

    @cached_property
    def changes(self) -> Changes:
        """The requested changes while decoding."""
        mask, off = self.arguments.mask, self.arguments.off
        try:
            parse(mask)
        except ValueError as error:
            raise ExportError(str(error)) from None
        try:
            return Changes(mask, heads_parameter("off", "").parse(off))
        except ValueError as reason:
            raise ExportError(f"--off is {off!r}, {reason}.") from None

    @property
    def token(self) -> int | None:
        """The requested target token, from 0; None for all."""
        return self.token_of(len(self.trace.predictions))

    def token_of(self, count: int) -> int | None:
        """The requested target token of a translation with `count` tokens."""
        token = self.arguments.token
        if token is not None and not 1 <= token <= count:
            raise ExportError(
                f"Target tokens count from 1 to {count}; there is no target token {token}."
            )
        return None if token is None else int(token) - 1

    @property
    def reading(self) -> Reading:
        """How traces are read."""
        asked = self.arguments
        return Reading(
            words=asked.words,
            specials=asked.specials,
            renormalise=asked.renormalise and not asked.specials,
            predicted=asked.by_prediction,
        )

    @cached_property
    def seen(self) -> ReadTrace:
        """The trace under the requested reading."""
        return read(self.trace, self.reading)

    @cached_property
    def target(self) -> str:
        """The given translation, or that of another search than the default; else empty."""
        own = str(self.arguments.target)
        if own or self.search == AS_IN_THE_PAPER:
            return own
        return self.translator.translate(self.text, search=self.search).text

    @property
    def attention_map(self) -> AttentionMap:
        """The map of the requested layer."""
        return site_map(self.seen, self.arguments.attention, self.layer)

    @property
    def maps(self) -> tuple[list[AttentionMap], list[int]]:
        """The requested maps, then heads: all, of one layer, or of one number."""
        asked = self.arguments
        return selected_maps(self.seen, asked.attention, asked.layer, asked.head)

    @property
    def layer(self) -> int:
        """The requested layer, if a picture shows only one."""
        return self.arguments.layer or 0

    @property
    def head(self) -> int:
        """The requested head, if a picture shows only one."""
        return self.arguments.head or 0

    @property
    def table(self) -> FloatArray:
        """The model's table of positions, without rows known to be untrained."""
        return self.translator.position_table(self.translator.trained_positions())

    @property
    def sentence_table(self) -> FloatArray:
        """The table's rows for the tokens of the sentence."""
        return self.translator.position_table(len(self.trace.source))

    @property
    def pair(self) -> int:
        """The pair of dimensions with the first requested one."""
        if self.table.shape[1] % 2:
            raise ExportError("This model has an odd number of dimensions, so they form no pairs.")
        return self.dimensions[0] // 2

    @property
    def dimensions(self) -> list[int]:
        """The requested dimensions."""
        most = self.table.shape[1]
        for dimension in self.arguments.dimensions:
            if not 0 <= dimension < most:
                raise ExportError(
                    f"Dimensions count from 0 to {most - 1}; there is no dimension {dimension}."
                )
        return list(self.arguments.dimensions)


class Exported(Protocol):
    """A class of pictures that the command line can make, by its slug."""

    slug: ClassVar[str]
    about: ClassVar[str]

    @classmethod
    def of(cls, request: Request) -> Picture:
        """The picture that was asked for."""
        ...
