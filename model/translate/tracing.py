"""Traces of a model: recorded teacher-forced passes over sentences with their translations."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import torch

from model.arguments import checked_methods
from model.brief import Brief
from model.paper.linear import multiplies_rows_apart
from model.paper.log_probs import token_log_probs
from model.paper.search import Search
from model.record.head_editing import TextsRead, reading_texts
from model.record.intervention import UNCHANGED, Intervention
from model.record.mask_editing import SentenceLengths, intervening
from model.record.recording import recording
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation
from model.translate.searching import TOGETHER, TranslatingModel
from model.translate.sentences import TextError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchTrace(Brief):
    """Traces of several sentences that ran in one padded batch.

    Attributes:
        source_lengths: tokens of each source, </s> included, without padding.
        target_lengths: tokens of each decoder input, <s> included, without padding.
        padded: a trace for each sentence, with the rows and columns of its padding, labelled <pad>.
            Rows of padding predict <pad>, with the probability that the model gives it; training
            never used it.
        traces: the same without padding. If an edit lets words attend to padding, their rows sum to
            less than 1; the rest is in `padded`.
    """

    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    padded: tuple[Trace, ...]
    traces: tuple[Trace, ...]


@checked_methods
class TracedModel(TranslatingModel):
    """A model whose attention is recorded; arguments and errors as in `TranslatingModel`."""

    @overload
    def trace(
        self,
        text: str,
        target: str | None = ...,
        *,
        search: Search | None = ...,
        under: Intervention = ...,
    ) -> Trace: ...

    @overload
    def trace(
        self,
        text: list[str] | tuple[str, ...],
        target: Sequence[str] | None = ...,
        *,
        search: Search | None = ...,
        under: Intervention = ...,
    ) -> Iterator[Trace]: ...

    def trace(
        self,
        text: str | Sequence[str],
        target: str | Sequence[str] | None = None,
        *,
        search: Search | None = None,
        under: Intervention = UNCHANGED,
    ) -> Trace | Iterator[Trace]:
        """The attention of every head on a sentence, or on each of several as they are asked for.

        The model translates first; then one teacher-forced pass over source and translation is
        recorded. Under the causal mask this computes the same as step-by-step decoding. Under a
        decoder mask that looks ahead the two differ: the pass sees tokens that decoding had not
        written yet.

        Args:
            target: its translation, or one for each text; None lets the model translate.
            search: the method of decoding, without a target.
            under: the intervention. With a target, a matrix must have the trace's own shape, and
                the decoder's positions may be reversed too. The trace's source stands in the
                intervention's order.
        """
        if not isinstance(text, str):
            if isinstance(target, str) or (target is not None and len(target) != len(text)):
                raise TextError("Each text needs its own target; give as many of both.")
            self.require_all_readable(text)
            return self._trace_each(text, target, search, under)
        if target is not None and not isinstance(target, str):
            raise TextError("One text has one target; give a string.")
        if target is None:
            return self.trace_of(self.translate(text, search=search, under=under), under=under)
        source_ids = self._source_ids(text, under)
        predicted = self._target_ids(target, self.tokenizer.opening(text))
        with intervening([under], sites=self.sites):
            return self._record([text], [source_ids], [target], [predicted], [under])[0]

    def _trace_each(
        self,
        texts: Sequence[str],
        targets: Sequence[str] | None,
        search: Search | None,
        under: Intervention,
    ) -> Iterator[Trace]:
        if targets is not None:
            for text, target in zip(texts, targets, strict=True):
                yield self.trace(text, target, under=under)
            return
        together = under == UNCHANGED and multiplies_rows_apart(self.model)
        for start in range(0, len(texts), TOGETHER):
            some = list(texts[start : start + TOGETHER])
            translations = self.translate(some, search=search, under=under)
            if together:
                yield from self._traces_together(translations)
            else:
                for each in translations:
                    yield self.trace_of(each, under=under)

    def trace_of(self, translation: Translation, *, under: Intervention = UNCHANGED) -> Trace:
        """The trace of a translation from `translate` under the same intervention.

        Matrices for decoder and cross-attention are cut and extended as in decoding.
        """
        with intervening([under], exact=False, sites=self.sites):
            return self._record(
                [translation.source_text],
                [list(translation.source.ids)],
                [translation],
                [list(translation.token_ids)],
                [under],
            )[0]

    def _traces_together(self, translations: Sequence[Translation]) -> list[Trace]:
        """The trace of each; those whose sources and targets are equally long share a pass."""
        by_shape: dict[tuple[int, int], list[int]] = {}
        for place, each in enumerate(translations):
            by_shape.setdefault((len(each.source), len(each.token_ids)), []).append(place)
        traces: dict[int, Trace] = {}
        for places in by_shape.values():
            own = [translations[place] for place in places]
            recorded = self._record(
                [each.source_text for each in own],
                [list(each.source.ids) for each in own],
                own,
                [list(each.token_ids) for each in own],
                [UNCHANGED] * len(own),
            )
            traces |= dict(zip(places, recorded, strict=True))
        return [traces[place] for place in range(len(translations))]

    def cross_attention(
        self, decoding: Decoding, *, under: Intervention = UNCHANGED
    ) -> dict[Site, FloatArray]:
        """Cross-attention of every hypothesis of a search while it wrote its last token.

        For every layer's cross-attention, weights (head, node, source). Hypotheses of one length
        share a pass, since none may see what came after it. The intervention is the decoding's.
        """
        text, source = decoding.translation.source_text, list(decoding.translation.source.ids)
        steps: defaultdict[int, list[int]] = defaultdict(list)
        for place, node in enumerate(decoding.nodes):
            steps[node.step].append(place)
        rows: dict[Site, dict[int, FloatArray]] = {
            site: {} for site in self.sites if site.kind is AttentionKind.CROSS
        }
        for places in steps.values():
            written = [list(decoding.token_ids(decoding.nodes[place])) for place in places]
            with intervening([under], exact=False, sites=self.sites):
                count = len(places)
                traces = self._record(
                    [text] * count, [source] * count, None, written, [under] * count
                )
            for place, trace in zip(places, traces, strict=True):
                for site, row in rows.items():
                    row[place] = trace.maps[site].weights[:, -1]
        return {
            site: np.stack([row[place] for place in range(len(decoding.nodes))], axis=1)
            for site, row in rows.items()
        }

    def trace_batch(
        self,
        texts: Sequence[str],
        targets: Sequence[str | Translation] | None = None,
        *,
        search: Search | None = None,
        under: Intervention | Sequence[Intervention] = UNCHANGED,
    ) -> BatchTrace:
        """Traces of several sentences, padded to one length and recorded in one pass.

        If the model translates, it decodes each sentence from its padded source, and so sees
        padding where masks allow it.

        Args:
            targets: their translations; None lets the model translate. A text is tokenized and
                ends with </s>; a Translation keeps the model's own tokens, which can differ for the
                same text, and lacks </s> where the length limit cut it.
            under: one intervention for all sentences, or one for each. A matrix without the padding
                keeps the model's mask there; one with padding replaces everything. A rule is called
                with lengths without padding, unless it covers padding, as the preset
                "ignore_padding" does. All sentences have the same positions.

        Raises:
            TextError: also if `texts` is empty, or there is not one target for each.
            PositionError: also if positions differ between sentences.
            ValueError: if there is not one intervention for each text.
        """
        if not len(texts):
            raise TextError("A batch is a list of texts; give at least one.")
        if targets is not None and len(targets) != len(texts):
            raise TextError(
                f"Each text needs one target: there are {len(texts)} and {len(targets)}."
            )
        each = [under] * len(texts) if isinstance(under, Intervention) else list(under)
        if len(each) != len(texts):
            raise ValueError(
                f"A batch runs under one intervention, or one for each text; there are "
                f"{len(texts)} texts and {len(each)} interventions."
            )
        sources = [self._source_ids(text, own) for text, own in zip(texts, each, strict=True)]
        if targets is None:
            predicted = self._written(texts, sources, each, search or self.search)
        else:
            predicted = [
                self._target_ids(target, self.tokenizer.opening(text))
                if isinstance(target, str)
                else list(target.token_ids)
                for text, target in zip(texts, targets, strict=True)
            ]
        lengths = [
            SentenceLengths(len(source), len(target))
            for source, target in zip(sources, predicted, strict=True)
        ]
        with intervening(each, lengths=lengths, exact=targets is not None, sites=self.sites):
            traces = self._record(
                texts, sources, targets, predicted, each, repr(search or self.search)
            )
        return BatchTrace(
            source_lengths=tuple(map(len, sources)),
            target_lengths=tuple(map(len, predicted)),
            padded=tuple(traces),
            traces=tuple(map(_without_padding, traces, lengths)),
        )

    def _written(
        self,
        texts: Sequence[str],
        sources: list[list[int]],
        under: Sequence[Intervention],
        search: Search,
    ) -> list[list[int]]:
        """Token ids of each translation, decoded one by one from padded sources."""
        written = []
        padded = _padded(sources, self.model.config.pad_id)
        for text, ids, row, own in zip(texts, sources, padded, under, strict=True):
            opening = self.tokenizer.opening(text)
            room = self._room(len(ids), own.positions)
            lengths = [SentenceLengths(len(ids))]
            with intervening([own], lengths=lengths, sites=self.sites):
                best = self._decode([[row]], search, opening, max_length=room)[0][0]
            written.append(list(best.token_ids))
        return written

    @torch.inference_mode()
    def _record(
        self,
        texts: Sequence[str],
        sources: list[list[int]],
        targets: Sequence[str | Translation] | None,
        predicted: list[list[int]],
        under: Sequence[Intervention],
        search: str = "",
    ) -> list[Trace]:
        """Traces of one teacher-forced pass, with padding; None as targets decodes `predicted`."""
        config = self.model.config
        inputs = _padded([[config.bos_id, *ids[:-1]] for ids in predicted], config.pad_id)
        sources, labels = _padded(sources, config.pad_id), _padded(predicted, config.pad_id)
        source, target, label = (
            torch.tensor(ids, device=self.device) for ids in (sources, inputs, labels)
        )
        read = TextsRead(
            [self.source_tokens(ids).tokens for ids in sources],
            [self.target_tokens(ids).tokens for ids in inputs],
            self.tokenizer.target.pieces,
        )
        with recording() as recorded, reading_texts(read):
            logits = self.model(source, target)
        log_probs = token_log_probs(logits, label).cpu().numpy()
        return [
            recorded.trace(
                sentence,
                source=self.source_tokens(sources[sentence]),
                target=self.target_tokens(inputs[sentence]),
                predictions=self.target_tokens(labels[sentence]),
                text=self.tokenizer.target.decode(predicted[sentence])
                if targets is None
                else _text(targets[sentence]),
                source_text=text,
                log_probs=log_probs[sentence],
                provenance=self.provenance_of(
                    _search(targets[sentence]) if targets else search, under[sentence]
                ),
            )
            for sentence, text in enumerate(texts)
        ]


def _text(target: str | Translation) -> str:
    return target if isinstance(target, str) else target.text


def _search(target: str | Translation) -> str:
    return "" if isinstance(target, str) else target.provenance.search


def _padded(sentences: list[list[int]], pad_id: int) -> list[list[int]]:
    width = max(map(len, sentences))
    return [ids + [pad_id] * (width - len(ids)) for ids in sentences]


def _without_padding(trace: Trace, lengths: SentenceLengths) -> Trace:
    columns, rows = slice(lengths.source), slice(lengths.target)
    return replace(
        trace,
        source=trace.source[columns],
        target=trace.target[rows],
        predictions=trace.predictions[rows],
        maps={
            site: each.part(queries, keys, each.queries[queries], each.keys[keys])
            for site, each in trace.maps.items()
            for queries, keys in [site.kind.axes(columns, rows, slice(None))]
        },
        log_probs=None if trace.log_probs is None else trace.log_probs[rows],
    )
