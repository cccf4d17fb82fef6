"""A request of `headscope export`, with what pictures of it need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from headscope.commands.asked import Asked
from headscope.commands.translate import asked_search
from headscope.figures import matched_by_surveys, trace_by
from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import checkpoint_name
from model.contrast.contrast import contrast_of
from model.contrast.head_sets import head_set, random_sets
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import Pair, least_certain, next_likeliest, pair_of
from model.contrast.paths import paths
from model.contrast.results import Contrast, HeadSet, LogitTerms, Paths
from model.explain.ablation_results import Effects, ExamplesRemoval, Removal
from model.explain.alignment_file import read_alignment
from model.explain.alignment_table import AlignmentTable
from model.explain.attributing import cross_attributions, self_attributions
from model.explain.attribution import Attributions
from model.explain.block_outputs import block_outputs
from model.explain.examples import layers_read_later, read_examples
from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of, example_means, removal
from model.explain.labels import Label
from model.explain.labels_file import read_labels
from model.explain.reading import Reading, ReadTrace, read, selected_maps
from model.explain.removal_file import read_removal
from model.explain.self_attribution import SelfAttributions
from model.paper.search import Search
from model.patching.causal_trace import causal_trace
from model.patching.patch import patch
from model.patching.results import CausalTrace, Patched
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Decoding
from model.translate.translator import Translator, load
from viz.compare.view import VIEW as COMPARE
from viz.compare.view import by_part, read_patches
from viz.links.head_refs import heads_parameter
from viz.links.link_interventions import Changes
from viz.links.mask_edits import parse
from viz.model_page.payload import Figure
from viz.model_page.picture import figure_of_model
from viz.save.formats import ExportError


@dataclass(frozen=True, eq=False)
class Request:
    """A request of the command line, with the results it needs, each computed once at first use."""

    text: str
    arguments: Asked

    @property
    def folder(self) -> str:
        """The checkpoint's, as a notebook reads it."""
        return checkpoint_name(self.arguments.checkpoint)

    @cached_property
    def translator(self) -> Translator:
        """The model."""
        # One small forward pass is slower with several threads.
        torch.set_num_threads(1)
        return load(self.arguments.checkpoint, device=self.arguments.device)

    @cached_property
    def search(self) -> Search:
        """The method of decoding."""
        return asked_search(self.arguments, self.translator)

    @cached_property
    def labels(self) -> Mapping[Site, tuple[Label | None, ...]]:
        """The labels of heads by site; empty if unknown."""
        survey = read_labels(self.arguments.checkpoint)
        return survey.labels if survey else {}

    @cached_property
    def effects(self) -> Effects:
        """The losses of the translation without each head."""
        return effects_of(self.translator, self.trace)

    @cached_property
    def contrasted(self) -> tuple[Contrast, int, str]:
        """Two words, the place of the first from 0, and the second as it was asked for.

        They are the requested target token, or the least certain one, and the requested other word,
        or the next likeliest.
        """
        contrast = contrast_of(self.translator, self.trace, self._pair)
        return contrast, self._place, self._other

    @cached_property
    def head_set(self) -> HeadSet:
        """The fewest heads without which the other word is likelier."""
        return head_set(self.translator, self.trace, self._pair)

    @cached_property
    def random_sets(self) -> FloatArray:
        """Log-probabilities under random sets as large."""
        size = len(self.head_set.heads)
        return random_sets(self.translator, self.trace, self._pair, size)

    @cached_property
    def logit_terms(self) -> LogitTerms:
        """The terms of the difference between the two words' logits."""
        return logit_terms(self.translator, self.trace, self._pair)

    @cached_property
    def paths(self) -> Paths:
        """The ways from the source to the difference of the two words."""
        means = example_means(self.translator, self.arguments.checkpoint)
        return paths(self.translator, self.trace, self._pair, means)

    @cached_property
    def _pair(self) -> Pair:
        return pair_of(self.translator, self.trace, self._place, self._other)

    @property
    def _place(self) -> int:
        return least_certain(self.trace) if self.token is None else self.token

    @cached_property
    def _other(self) -> str:
        asked: str = self.arguments.instead
        return asked or next_likeliest(self.translator, self.trace, self._place)

    @cached_property
    def first(self) -> Trace:
        """The trace of the sentence with the model's own translation, for comparisons."""
        return self.translator.trace(self.text)

    @cached_property
    def second(self) -> Trace:
        """The trace of the second sentence, or of the sentence in the second model."""
        if model := self.arguments.other_model:
            return trace_by(model, self.text, device=self.arguments.device)
        return self.translator.trace(self._second)

    @property
    def partners(self) -> tuple[Mapping[Head, Head], tuple[str, ...]]:
        """For heads of the model, those of the second one that surveys found alike, and both names.

        Empty without two surveys.
        """
        models = self.folder, str(self.arguments.other_model)
        found = matched_by_surveys(*models)
        return found, models if found else ()

    @property
    def _second(self) -> str:
        other: str = self.arguments.other
        if not other.strip():
            raise ExportError("This figure compares two sentences; name the second with --other.")
        return other

    @cached_property
    def causal_trace(self) -> CausalTrace:
        """What the second sentence's states restore in the first, one token at a time."""
        return causal_trace(self.translator, self.text, self._second)

    @cached_property
    def patched(self) -> Patched:
        """The sentence's run with the requested parts of the second sentence's."""
        asked = self.arguments.patched
        try:
            parts = read_patches(COMPARE.parameter("patched").parse(asked))
        except ValueError as reason:
            raise ExportError(f"--patched is {asked!r}, {reason}.") from None
        return patch(self.translator, self.text, self._second, by_part(parts))

    @cached_property
    def removal(self) -> Removal:
        """The translation's log-probability while heads are removed one after another."""
        return removal(self.translator, self.trace, self.effects)

    @cached_property
    def examples_removal(self) -> ExamplesRemoval | None:
        """The scores of the model's examples while heads are removed; None without the file."""
        model = self.translator
        return read_removal(
            self.arguments.checkpoint, len(model.sites) * model.model.config.n_heads
        )

    @cached_property
    def attributions(self) -> Attributions:
        """Maps of cross-attention, with the effect of deleting source tokens."""
        return cross_attributions(self.translator, self.trace)

    @cached_property
    def self_attributions(self) -> SelfAttributions:
        """Maps of the requested site of self-attention."""
        return self_attributions(self.translator, self.trace, self.site, token=self.token)

    @cached_property
    def alignment(self) -> AlignmentTable | None:
        """The alignment errors of heads; None without the file."""
        return read_alignment(self.arguments.checkpoint)

    @cached_property
    def whole_model(self) -> Figure:
        """What the picture of the whole model shows."""
        seen = read(self.trace)
        return figure_of_model(
            self.translator,
            self.trace,
            seen,
            facts_of(seen.maps),
            table=self.alignment,
            blocks=block_outputs(self.translator, self.trace),
            labels=self.labels,
        )

    @cached_property
    def growth(self) -> Sequence[tuple[int, Trace]]:
        """The trace at each snapshot of the training, with its step; empty without snapshots.

        Every snapshot reads the finished model's translation.
        """
        folder, device = self.arguments.checkpoint, self.arguments.device
        return [
            (step, load(folder, device=device, snapshot=number).trace(self.text, self.trace.text))
            for number, step in enumerate(snapshots(folder))
        ]

    @cached_property
    def read_later(self) -> Mapping[int, bool]:
        """Whether each layer looks at a token's source in the row that has read the token."""
        return layers_read_later(self.translator, read_examples(self.arguments.checkpoint))

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
            renormalise=not asked.specials and asked.renormalise,
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
        if own or self.search == self.translator.search:
            return own
        return self.translator.translate(self.text, search=self.search).text

    @property
    def site(self) -> Site:
        """The requested kind of attention and layer, in the model."""
        kind = AttentionKind(self.arguments.attention)
        layers = [each.layer for each in self.translator.sites if each.kind is kind]
        if self.layer not in layers:
            raise IndexError(
                f"There is no layer {self.layer} of {kind} attention; choose one of "
                f"{', '.join(map(str, layers))}."
            )
        return Site(kind, self.layer)

    @property
    def attention_map(self) -> AttentionMap:
        """The map of the requested layer, which has the requested head."""
        return selected_maps(self.seen, self.arguments.attention, self.layer, self.head)[0][0]

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

    @cached_property
    def source(self) -> Tokens:
        """The tokens of the sentence."""
        return self.translator.embedding_parts(self.text).tokens

    @property
    def sentence_table(self) -> FloatArray:
        """The table's rows for the tokens of the sentence."""
        return self.translator.position_table(len(self.source))

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
