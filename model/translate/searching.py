"""Translations of a model: greedy, by beam search or sampled, one by one or in batches."""

from collections.abc import Sequence
from typing import Any, overload

import torch

from model.arguments import checked_methods
from model.paper.beam_search import beam_search
from model.paper.decoding import EXTRA_LENGTH, Hypothesis, PartialHypothesis, greedy, sample
from model.paper.linear import multiplies_rows_apart
from model.paper.search import Search
from model.record.head_editing import TextsRead, reading_texts
from model.record.intervention import UNCHANGED, Intervention, PositionEdit
from model.record.mask_editing import intervening
from model.trace.translation import Decoding, Translation
from model.translate.search_record import decoding_steps, search_nodes
from model.translate.sentences import ModelWithVocabulary

TOGETHER = 32
"""Texts of a batch: more are not quicker."""


@checked_methods
class TranslatingModel(ModelWithVocabulary):
    """A model that translates.

    Its methods share these arguments:

        text: a sentence.
        search: the method of decoding; its prefix is the beginning of the translation. None for the
            model's own, `self.search`.
        under: the intervention; the model runs under it.

    and these errors:

        TextError: if a text is empty, too long, or has only characters the vocabulary lacks.
        DecodingError: if the vocabulary is too small for the beam, the prefix is too long for the
            text, or no translation can begin with it.
        MaskError: if a mask does not fit the sentence, or the model has no such attention.
        HeadError: if the model has no such head, or a mean does not fit it.
        PositionError: if positions cannot be edited so, or the source order misses a token.
    """

    # Whether batches give the bits that each sentence gives alone; None before the first batch.
    _batches_are_exact: bool | None = None

    @overload
    def translate(
        self,
        text: str,
        *,
        search: Search | None = ...,
        under: Intervention = ...,
        keep_distributions: bool = ...,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: list[str] | tuple[str, ...],
        *,
        search: Search | None = ...,
        under: Intervention = ...,
        keep_distributions: bool = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | Sequence[str],
        *,
        search: Search | None = None,
        under: Intervention = UNCHANGED,
        keep_distributions: bool = False,
    ) -> Translation | list[Translation]:
        """The best translation, or one for each of several texts, as in `translate_batch`.

        With `keep_distributions`, also each step's log-probabilities.
        """
        if not isinstance(text, str):
            self.require_all_readable(text)
            if keep_distributions:
                return [self._decoded(each, search, under, True)[0] for each in text]
            return [
                each
                for start in range(0, len(text), TOGETHER)
                for each in self.translate_batch(
                    text[start : start + TOGETHER], search=search, under=under
                )
            ]
        return self._decoded(text, search, under, keep_distributions)[0]

    def candidates(
        self,
        text: str,
        *,
        search: Search | None = None,
        under: Intervention = UNCHANGED,
        keep_distributions: bool = False,
    ) -> list[Translation]:
        """All results of a search, best first: `beam` translations, or every sample.

        A prefix that ends with the end token leaves one.
        """
        return self._decoded(text, search, under, keep_distributions)

    def decode(
        self, text: str, *, search: Search | None = None, under: Intervention = UNCHANGED
    ) -> Decoding:
        """The translation of `translate`, bit for bit, with a record of its decoding."""
        search = search or self.search
        ids = self._source_ids(text, under)
        room = self._room(len(ids), under.positions)
        paths: list[PartialHypothesis] = []
        opening = self.tokenizer.opening(text)
        with intervening([under], sites=self.sites):
            results = self._decode([[ids]], search, opening, True, room, paths)[0]
        if not paths:
            for hypothesis in results:
                paths += hypothesis.path(len(opening))
        best = self._translation(text, ids, results[0], search, under)
        return Decoding(
            translation=best,
            steps=decoding_steps(self, best, n_forced=len(_begun(search.prefix, opening))),
            nodes=search_nodes(self, paths, results, search=search),
        )

    def translate_batch(
        self,
        texts: Sequence[str],
        *,
        search: Search | None = None,
        under: Intervention = UNCHANGED,
        exact: bool = True,
    ) -> list[Translation]:
        """The translation of each text, the bits of `translate`, in less time where possible.

        Texts of a batch share the products with the model's weights. They are not padded and do
        not see each other. They are decoded one by one under an intervention; where torch rounds
        several rows otherwise than one, as on a GPU and on a CPU without AVX-512; and after a first
        batch, decoded both ways, that differed in any bit.

        Where `exact` is False, rounding keeps no texts apart: scores may differ from those of
        `translate` in their last digits, and so may a translation where two are equally likely.
        """
        search = search or self.search
        several = len(texts) > 1 and under == UNCHANGED
        if several and not exact:
            return self._translate_together(texts, search)
        several = several and multiplies_rows_apart(self.model)
        if several and self._batches_are_exact:
            return self._translate_together(texts, search)
        alone = [self.translate(text, search=search, under=under) for text in texts]
        repeatable = search.sampling is None or search.sampling.seed is not None
        if several and repeatable and self._batches_are_exact is None:
            together = self._translate_together(texts, search)
            self._batches_are_exact = all(map(_same_bits, alone, together))
        return alone

    def prefix(self, text: str) -> tuple[int, ...]:
        """Token ids of a translation's beginning, for `Search`.

        The tokenizer cuts the text as if it ended there: half a word becomes tokens that a model
        seldom sees before the other half.
        """
        ids = self._encoded(text, "beginning")
        self._require_room(ids, text, "beginning")
        return tuple(ids)

    def _translate_together(self, texts: Sequence[str], search: Search) -> list[Translation]:
        sources = [self._source_ids(text, UNCHANGED) for text in texts]
        openings = {self.tokenizer.opening(text) for text in texts}
        if len(openings) > 1:
            return [self.translate(text, search=search) for text in texts]
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(sources):
            by_length.setdefault(len(ids), []).append(place)
        results = self._decode(
            [[sources[place] for place in places] for places in by_length.values()],
            search,
            openings.pop(),
        )
        order = [place for places in by_length.values() for place in places]
        translations = {
            place: self._translation(texts[place], sources[place], best[0], search, UNCHANGED)
            for place, best in zip(order, results, strict=True)
        }
        return [translations[place] for place in range(len(texts))]

    def _decoded(
        self, text: str, search: Search | None, under: Intervention, keep_distributions: bool
    ) -> list[Translation]:
        ids = self._source_ids(text, under)
        room = self._room(len(ids), under.positions)
        with intervening([under], sites=self.sites):
            asked = search or self.search
            opening = self.tokenizer.opening(text)
            results = self._decode([[ids]], asked, opening, keep_distributions, room)[0]
        return [self._translation(text, ids, each, asked, under) for each in results]

    def _decode(
        self,
        sources: list[list[list[int]]],
        search: Search,
        opening: tuple[int, ...],
        keep_distributions: bool = False,
        max_length: int | None = None,
        paths: list[PartialHypothesis] | None = None,
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each sentence, best first; sentences come grouped by length.

        The model is given their opening, which costs nothing.
        """
        read = TextsRead(
            [self.source_tokens(ids).tokens for group in sources for ids in group],
            None,
            self.tokenizer.target.pieces,
        )
        with reading_texts(read):
            return self._found(sources, search, opening, keep_distributions, max_length, paths)

    def _found(
        self,
        sources: list[list[list[int]]],
        search: Search,
        opening: tuple[int, ...],
        keep_distributions: bool,
        max_length: int | None,
        paths: list[PartialHypothesis] | None,
    ) -> list[list[Hypothesis]]:
        tensors = [torch.tensor(each, device=self.device) for each in sources]
        options: dict[str, Any] = {
            "alpha": search.length_penalty,
            "rules": search.rules,
            "prefix": _begun(search.prefix, opening),
            "given": len(opening),
            "max_length": max_length,
            "keep_distributions": keep_distributions,
        }
        if search.sampling is not None:
            samples = sample(self.model, *tensors, sampling=search.sampling, **options)
            return [sorted(each, key=lambda hypothesis: -hypothesis.score) for each in samples]
        if search.beam == 1:
            return [[hypothesis] for hypothesis in greedy(self.model, *tensors, **options)]
        return beam_search(self.model, *tensors, beam=search.beam, kept_paths=paths, **options)

    def _room(self, n_source: int, positions: PositionEdit) -> int | None:
        """The length limit of a translation if the decoder's positions are shifted; else None."""
        if positions.shift <= 0 or not positions.concerns("decoder"):
            return None
        room = self.model.config.max_positions - positions.shift
        return max(1, min(n_source + EXTRA_LENGTH, room))

    def _translation(
        self,
        text: str,
        ids: list[int],
        hypothesis: Hypothesis,
        search: Search,
        under: Intervention,
    ) -> Translation:
        kept = hypothesis.distributions
        return Translation(
            text=self.tokenizer.target.decode(hypothesis.token_ids),
            tokens=self.tokenizer.target.pieces(hypothesis.token_ids),
            token_ids=hypothesis.token_ids,
            score=hypothesis.score,
            log_probs=hypothesis.log_probs,
            finished=hypothesis.finished,
            source_text=text,
            source=self.source_tokens(ids),
            unseen=self.tokenizer.unseen_characters(text),
            distributions=None if kept is None else kept.cpu().numpy(),
            provenance=self.provenance_of(repr(search), under),
        )


def _begun(prefix: Sequence[int], opening: tuple[int, ...]) -> tuple[int, ...]:
    """A prefix with a translation's opening, which that of another translation has already."""
    begins = tuple(prefix[: len(opening)]) == opening
    return tuple(prefix) if begins else (*opening, *prefix)


def _same_bits(one: Translation, other: Translation) -> bool:
    return (one.token_ids, one.log_probs, one.score) == (
        other.token_ids,
        other.log_probs,
        other.score,
    )
