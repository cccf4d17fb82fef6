"""A loaded checkpoint: text in, Translation and Trace out."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from reprlib import repr as shortened
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from model.checkpoints.checkpoint import load_checkpoint, longest_trained
from model.checkpoints.shipped import checkpoint_folder
from model.paper.decoding import (
    EXTRA_LENGTH,
    Hypothesis,
    PartialHypothesis,
    beam_search,
    greedy,
    length_penalty,
    sample,
    unsayable,
)
from model.paper.linear import multiplies_rows_apart, pack_linears
from model.paper.positions import LengthError, PositionalEncoding
from model.paper.search import AS_IN_THE_PAPER, Search
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import EncoderLayer, Transformer
from model.record.intervention import (
    UNCHANGED,
    Intervention,
    PositionEdit,
    PositionError,
    Side,
    ordered,
)
from model.record.mask_editing import SentenceLengths, intervening
from model.record.recording import recording
from model.record.score_terms import score_terms
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site, Tokens
from model.trace.logit_lens import LogitLens
from model.trace.terms import EmbeddingParts, HeadMatrices, ScoreTerms
from model.trace.trace import Trace
from model.trace.translation import LIKELIEST, Decoding, DecodingStep, Fate, SearchNode, Translation


class TextError(ValueError):
    """A text that cannot be translated; the message says why and what to do."""


class DeviceError(ValueError):
    """A device that this machine does not have; the message says what to choose."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchTrace:
    """Several sentences that went through a model in one padded batch.

    Attributes:
        source_lengths: tokens of each source, </s> included and padding not.
        target_lengths: tokens of each decoder input, <s> included and padding not.
        padded: a trace a sentence, with the rows and columns of its padding, labelled <pad>. What
            a row of padding predicts is <pad>, with the probability that the model gives it;
            training never looked at it.
        traces: the same without padding. Only where an edit lets words look at padding do their
            rows sum to less than 1; the rest is in `padded`.
    """

    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    padded: tuple[Trace, ...]
    traces: tuple[Trace, ...]


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
        self.sites = install_taps(self.model)
        """Every attention of the model, in the order of sites."""
        pack_linears(self.model)
        # Whether batches give what each sentence gives alone; None until the first has told.
        self._batches_are_exact: bool | None = None

    @property
    def max_tokens(self) -> int:
        """The most tokens that a source or a target may have, end token included."""
        return self.model.config.max_positions

    @property
    def positions(self) -> PositionalEncoding:
        """How the encoder knows order; the decoder's encoding is of the same kind."""
        return self.model.encoder.positions

    @property
    def has_final_norm(self) -> bool:
        """Whether the decoder has a norm after its last layer."""
        return not isinstance(self.model.decoder.final_norm, torch.nn.Identity)

    @property
    def n_parameters(self) -> int:
        """Trained numbers, a tied matrix counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def translate(
        self,
        text: str,
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention = UNCHANGED,
        keep_distributions: bool = False,
    ) -> Translation:
        """The best translation.

        Args:
            text: a sentence.
            search: how it is looked for, and what it must begin with.
            under: what the model is asked to do differently.
            keep_distributions: keep every step's log-probabilities of the whole vocabulary.

        Raises:
            TextError: if the text is empty, too long, or all of characters the model never saw.
            DecodingError: if the model's vocabulary is too small for the beam, or its prefix is too
                long for this text or of tokens that no translation holds.
            MaskError: if a mask does not fit the sentence, or the model has no such attention.
            HeadError: if the model has no such head, or a mean does not fit it.
            PositionError: if positions cannot be edited so, or the order misses a token.
        """
        return self._decoded(text, search, under, 1, keep_distributions)[0]

    def translate_batch(
        self,
        texts: Sequence[str],
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention = UNCHANGED,
    ) -> list[Translation]:
        """What `translate` gives of each text, bit for bit, in less time where that is possible.

        Texts that are decoded together share the products with the model's weights. They are
        neither padded nor do they see each other, and nothing of a translation depends on its
        batch. Where torch rounds otherwise for more rows, as on a GPU and on a CPU without AVX-512,
        they are decoded one by one; so they are if the first batch, which is translated both ways,
        differs in any bit, and under an intervention.

        Raises:
            TextError: as `translate`, for any of the texts.
            DecodingError, MaskError, HeadError, PositionError: as `translate`.
        """
        several = len(texts) > 1 and under == UNCHANGED and multiplies_rows_apart(self.model)
        if several and self._batches_are_exact:
            return self._translate_together(texts, search)
        alone = [self.translate(text, search=search, under=under) for text in texts]
        repeatable = search.sampling is None or search.sampling.seed is not None
        if several and repeatable and self._batches_are_exact is None:
            together = self._translate_together(texts, search)
            self._batches_are_exact = all(map(_same_bits, alone, together))
        return alone

    def _translate_together(self, texts: Sequence[str], search: Search) -> list[Translation]:
        sources = [self._source_ids(text, UNCHANGED) for text in texts]
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(sources):
            by_length.setdefault(len(ids), []).append(place)
        found = self._decode(
            [[sources[place] for place in places] for places in by_length.values()], search
        )
        order = [place for places in by_length.values() for place in places]
        translations = {
            place: self._translation(texts[place], sources[place], best[0])
            for place, best in zip(order, found, strict=True)
        }
        return [translations[place] for place in range(len(texts))]

    def prefix(self, text: str) -> tuple[int, ...]:
        """The token ids of a translation's beginning, for `Search`.

        The text is cut as if it ended there: half a word is tokens of its own, which a model has
        seldom met before the other half.

        Raises:
            TextError: if the text is too long or no text.
        """
        ids = self._encoded(text, "beginning")
        self._require_room(ids, text, "beginning")
        return tuple(ids)

    def candidates(
        self,
        text: str,
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention = UNCHANGED,
        keep_distributions: bool = False,
    ) -> list[Translation]:
        """What the search found, best first: `beam` translations, or as many as were sampled.

        A prefix that ends with the end token leaves one. Arguments and errors are those of
        `translate`.
        """
        return self._decoded(text, search, under, search.beam, keep_distributions)

    def _decoded(
        self,
        text: str,
        search: Search,
        under: Intervention,
        n_best: int,
        keep_distributions: bool,
    ) -> list[Translation]:
        ids = self._source_ids(text, under)
        room = self._room(len(ids), under.positions)
        with intervening([under], sites=self.sites):
            found = self._decode([[ids]], search, n_best, keep_distributions, room)[0]
        return [self._translation(text, ids, hypothesis) for hypothesis in found]

    def _decode(
        self,
        sources: list[list[list[int]]],
        search: Search,
        n_best: int = 1,
        keep_distributions: bool = False,
        max_length: int | None = None,
        paths: list[PartialHypothesis] | None = None,
    ) -> list[list[Hypothesis]]:
        """Of each sentence what was found, best first; sentences come grouped by their length."""
        tensors = [torch.tensor(each, device=self.device) for each in sources]
        asked: dict[str, Any] = {
            "alpha": search.length_penalty,
            "prefix": search.prefix,
            "max_length": max_length,
            "keep_distributions": keep_distributions,
        }
        if search.sampling is not None:
            samples = sample(self.model, *tensors, sampling=search.sampling, **asked)
            return [sorted(each, key=lambda found: -found.score) for each in samples]
        if search.beam == 1:
            return [[found] for found in greedy(self.model, *tensors, **asked)]
        return beam_search(
            self.model, *tensors, beam=search.beam, n_best=n_best, kept_paths=paths, **asked
        )

    def decode(
        self,
        text: str,
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention = UNCHANGED,
    ) -> Decoding:
        """The translation with a record of how it was found, kept while it was decoded.

        The translation is that of `translate`, bit for bit. Arguments and errors are those of
        `translate`.
        """
        ids = self._source_ids(text, under)
        room = self._room(len(ids), under.positions)
        paths: list[PartialHypothesis] = []
        with intervening([under], sites=self.sites):
            found = self._decode([[ids]], search, 1, True, room, paths)[0]
        if not paths:
            for hypothesis in found:
                paths += hypothesis.path()
        best = self._translation(text, ids, found[0])
        return Decoding(
            translation=best,
            steps=self._steps(best, len(search.prefix)),
            nodes=self._nodes(paths, found, search.length_penalty),
        )

    def _steps(self, translation: Translation, n_forced: int) -> tuple[DecodingStep, ...]:
        barred = unsayable(self.model.config, torch.device("cpu")).numpy()
        steps = []
        for step, log_probs in enumerate(cast("FloatArray", translation.distributions)):
            probabilities = np.exp(log_probs.astype(np.float64))
            choosable = np.where(np.isinf(barred), -1, probabilities)
            likeliest = np.argsort(-choosable, kind="stable")[:LIKELIEST]
            chosen = translation.token_ids[step]
            rest = np.delete(probabilities, likeliest)
            steps.append(
                DecodingStep(
                    likeliest=self.target_tokens(likeliest.tolist()),
                    probabilities=tuple(probabilities[likeliest].tolist()),
                    rest=float(rest.sum()),
                    probability=float(probabilities[chosen]),
                    rank=1 + int((choosable > probabilities[chosen]).sum()),
                    entropy=float(-(probabilities * log_probs / np.log(2)).sum()),
                    forced=step < n_forced,
                )
            )
        return tuple(steps)

    def _nodes(
        self, paths: list[PartialHypothesis], found: list[Hypothesis], alpha: float
    ) -> tuple[SearchNode, ...]:
        places = {id(path): place for place, path in enumerate(paths)}
        parents = [None if path.parent is None else places[id(path.parent)] for path in paths]
        depths: list[int] = []
        for parent in parents:
            depths.append(0 if parent is None else depths[parent] + 1)
        # Several samples may be the same.
        ranks: dict[tuple[int, ...], list[int]] = {}
        for number, each in enumerate(found):
            ranks.setdefault(each.token_ids, []).append(number)
        extended = set(parents)
        nodes = []
        for place, (path, step) in enumerate(zip(paths, depths, strict=True)):
            fate: Fate = "continued"
            rank = ended = score = None
            if place not in extended:
                same = ranks.get(tuple(each.token for each in path.steps()))
                rank = same.pop(0) if same else None
                fate, ended = "pruned", min(step + 1, max(depths))
            if path.token == self.model.config.eos_id or rank is not None:
                fate, ended = "cut", step
                score = path.total / length_penalty(step + 1, alpha)
            if path.token == self.model.config.eos_id:
                fate = "finished"
            nodes.append(
                SearchNode(
                    parent=parents[place],
                    token=self.tokenizer.target.pieces([path.token])[0],
                    token_id=path.token,
                    step=step,
                    log_prob=path.total,
                    fate=fate,
                    ended=ended,
                    score=score,
                    rank=rank,
                )
            )
        return tuple(nodes)

    def trace(
        self,
        text: str,
        target: str | None = None,
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention = UNCHANGED,
    ) -> Trace:
        """Everything every attention head did on a sentence.

        The translation is decoded first; then one teacher-forced pass over source and translation
        is recorded, which under the causal mask is what step-by-step decoding computes. Under a
        decoder mask that looks ahead the two differ: the pass sees tokens that decoding had not
        written yet.

        Args:
            text: a sentence.
            target: its translation; None lets the model translate.
            search: as in translate; a target needs none.
            under: as in translate. With a target, a matrix must have the trace's own shape, and the
                decoder's positions may be reversed too. The trace's source stands in the
                intervention's order.

        Raises:
            TextError: as translate, and for a target that is empty or too long.
            MaskError: as translate, and for a matrix of another shape.
            HeadError, PositionError: as translate.
        """
        if target is None:
            return self.trace_of(self.translate(text, search=search, under=under), under=under)
        source_ids = self._source_ids(text, under)
        predicted = self._target_ids(target)
        with intervening([under], sites=self.sites):
            return self._record([text], [source_ids], [target], [predicted])[0]

    def trace_of(self, translation: Translation, *, under: Intervention = UNCHANGED) -> Trace:
        """The trace of a translation that `translate` gave, without translating again.

        Args:
            translation: what was translated, its source in the order in which it was.
            under: what `translate` was given; matrices of decoder and cross-attention are cut and
                filled up as it does it.
        """
        with intervening([under], exact=False, sites=self.sites):
            return self._record(
                [translation.source_text],
                [list(translation.source.ids)],
                [translation],
                [list(translation.token_ids)],
            )[0]

    def cross_attention(
        self, decoding: Decoding, *, under: Intervention = UNCHANGED
    ) -> dict[Site, FloatArray]:
        """What every hypothesis of a search looked at while its last token was written.

        One pass a step of the search, over all hypotheses of that length, since a hypothesis must
        not see what was written after it.

        Args:
            decoding: as `decode` gave it.
            under: what `decode` was given.

        Returns:
            Of every layer's cross-attention, (head, node, source) weights.
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
                traces = self._record([text] * len(places), [source] * len(places), None, written)
            for place, trace in zip(places, traces, strict=True):
                for site, row in rows.items():
                    row[place] = trace.maps[site].weights[:, -1]
        return {
            site: np.stack([row[place] for place in range(len(decoding.nodes))], axis=1)
            for site, row in rows.items()
        }

    @torch.inference_mode()
    def logit_lens(self, trace: Trace, *, under: Intervention = UNCHANGED) -> LogitLens:
        """What the model would say at every step if it stopped after each decoder layer.

        Args:
            trace: as `trace` or `trace_of` gave it; its tokens are what is run again.
            under: what the trace was made under.
        """
        source, target = (
            torch.tensor([tokens.ids], device=self.device)
            for tokens in (trace.source, trace.target)
        )
        states: list[torch.Tensor] = []
        # Recorded, so that attention is computed as it was for the trace.
        with intervening([under], exact=False, sites=self.sites), recording():
            self.model.hidden(source, target, states)
        chosen = torch.tensor(trace.predictions.ids, device=self.device)[:, None]
        of_layers = []
        for state in states:
            logits = self.model.output(self.model.decoder.final_norm(state))
            log_probs = logits[0].float().log_softmax(dim=-1)
            own = log_probs.gather(1, chosen)
            choosable = log_probs + unsayable(self.model.config, self.device)
            best, likeliest = choosable.max(dim=-1)
            ranks = 1 + (choosable > own).sum(dim=-1)
            of_layers.append([x.cpu().numpy() for x in (own[:, 0], ranks, best, likeliest)])
        log_probs, ranks, best, likeliest = map(np.stack, zip(*of_layers, strict=True))
        return LogitLens(
            tokens=trace.predictions,
            log_probs=log_probs,
            ranks=ranks,
            likeliest=tuple(self.target_tokens(row.tolist()) for row in likeliest),
            likeliest_log_probs=best,
        )

    def trace_batch(
        self,
        texts: Sequence[str],
        targets: Sequence[str | Translation] | None = None,
        *,
        search: Search = AS_IN_THE_PAPER,
        under: Intervention | Sequence[Intervention] = UNCHANGED,
    ) -> BatchTrace:
        """Several sentences, padded to one length and recorded in one pass, as in training.

        Where the model translates, each sentence is decoded from its padded source, and so sees
        padding where its masks say so.

        Args:
            texts: sentences.
            targets: their translations; None lets the model translate. A text is cut into tokens
                and ended with </s>; a Translation has the tokens that the model wrote, which may be
                others for the same text, and no </s> where the length limit cut it.
            search: as in translate.
            under: as in trace, for all sentences or one for each. A matrix without the padding
                leaves the model's own mask there; one with it replaces everything. A rule is asked
                for the lengths without padding, unless it is made to go over padding, as that of
                the preset "ignore_padding". All sentences have the same positions.

        Raises:
            TextError: as trace, and if there is no list of texts, or not one target for each.
            MaskError, HeadError: as trace.
            PositionError: as trace, and if positions differ between sentences.
            ValueError: if there is not one intervention for each text.
        """
        if not texts or isinstance(texts, str):
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
            predicted = []
            padded = _padded(sources, self.model.config.pad_id)
            for ids, row, own in zip(sources, padded, each, strict=True):
                room = self._room(len(ids), own.positions)
                lengths = [SentenceLengths(len(ids))]
                with intervening([own], lengths=lengths, sites=self.sites):
                    found = self._decode([[row]], search, max_length=room)[0][0]
                predicted.append(list(found.token_ids))
        else:
            predicted = [
                self._target_ids(target) if isinstance(target, str) else list(target.token_ids)
                for target in targets
            ]
        lengths = [
            SentenceLengths(len(source), len(target))
            for source, target in zip(sources, predicted, strict=True)
        ]
        with intervening(each, lengths=lengths, exact=targets is not None, sites=self.sites):
            traces = self._record(texts, sources, targets, predicted)
        return BatchTrace(
            source_lengths=tuple(map(len, sources)),
            target_lengths=tuple(map(len, predicted)),
            padded=tuple(traces),
            traces=tuple(map(_without_padding, traces, lengths)),
        )

    def position_table(self, length: int | None = None, *, side: Side = "encoder") -> FloatArray:
        """The model's own table of position encodings, bit for bit.

        Args:
            length: rows; None gives as many as the model was made for. Sinusoids reach further, as
                they do for a longer text, and learned positions do not.
            side: "encoder" or "decoder".

        Returns:
            (position, d_model), float32, read-only.

        Raises:
            PositionError: if there is no such side, no table of this length, or none at all in a
                model that adds no positions to its embeddings.
        """
        encodings: dict[Side, PositionalEncoding] = {
            "encoder": self.model.encoder.positions,
            "decoder": self.model.decoder.positions,
        }
        if side not in encodings:
            raise PositionError(f"There is no side {side!r}; choose encoder or decoder.")
        self._require_added()
        encoding = encodings[side]
        length = encoding.max_positions if length is None else length
        if length < 1:
            raise PositionError(f"A table needs at least 1 position; {length} were asked for.")
        try:
            rows = encoding.extended(length)[:length]
        except LengthError:
            raise PositionError(
                f"This model learned {encoding.max_positions} positions and has no table of "
                f"{length}; choose at most {encoding.max_positions}."
            ) from None
        # A copy, or it would change with the model.
        table = rows.detach().float().cpu().numpy().copy()
        table.setflags(write=False)
        return table

    def trained_positions(self, side: Side = "encoder") -> int | None:
        """How many of the first rows of a learned `position_table` training reached.

        A row is trained by sentences that reach it; the rows after the longest one stay as they
        were drawn before training.

        Args:
            side: "encoder" or "decoder".

        Returns:
            None for a table that a formula makes, and where the checkpoint's metrics do not hold
            the length of the longest sentence.
        """
        longest = longest_trained(self.metrics)
        if not self.positions.is_learned or longest is None:
            return None
        longest_of_side = longest["source" if side == "encoder" else "target"]
        return min(longest_of_side, self.model.config.max_positions)

    @torch.inference_mode()
    def encode(self, text: str, *, under: Intervention = UNCHANGED) -> FloatArray:
        """What the encoder makes of a sentence: one row a source token, (source, d_model).

        Arguments and errors are those of `translate`. Row i belongs to the token that
        `source_order` puts in place i; the last row is that of </s>.
        """
        source = self._source(text, under)
        with intervening([under.of_encoder], sites=self.sites):
            return self.model.encode(source)[0].float().cpu().numpy()

    @torch.inference_mode()
    def embedding_parts(self, text: str, *, under: Intervention = UNCHANGED) -> EmbeddingParts:
        """Word and position of a sentence's tokens, and the sum that the encoder reads.

        Masks and heads have no part in it. Arguments and errors are those of `translate`, and
        PositionError for a model that adds no positions to its embeddings.
        """
        self._require_added()
        source = self._source(text, under)
        word = self.model.source_embedding(source)
        scaled = self.model.embed(self.model.source_embedding, source)
        with intervening([replace(under.of_encoder, masks={}, heads={})]):
            position = self.model.encoder.positions(source.shape[1])
        parts = {
            "word": word[0],
            "scaled": scaled[0],
            "position": position,
            "sum": (scaled + position)[0],
        }
        return EmbeddingParts(
            tokens=self.source_tokens(source[0].tolist()),
            **{name: x.float().cpu().numpy() for name, x in parts.items()},
        )

    @torch.inference_mode()
    def score_terms(self, text: str, *, under: Intervention = UNCHANGED) -> ScoreTerms:
        """What the scores of the encoder's first layer come from: words, positions, or both.

        Arguments and errors are those of `translate`, and PositionError for additive attention and
        for a model that adds no positions to its embeddings.
        """
        self._require_added()
        source = self._source(text, under)
        with recording() as seen, intervening([under.of_encoder], sites=self.sites):
            self.model.encode(source)
            position = self.model.encoder.positions(source.shape[1])
        layer = cast("EncoderLayer", self.model.encoder.layers[0])
        word = self.model.embed(self.model.source_embedding, source)[0]
        terms = score_terms(
            layer.self_attention,
            layer.self_residual.norm if layer.self_residual.pre else None,
            word,
            position,
        )
        scores = cast("torch.Tensor", seen[Site(AttentionKind.ENCODER, 0)].scores)[0]
        return ScoreTerms(
            tokens=self.source_tokens(source[0].tolist()),
            terms={name: x.float().cpu().numpy() for name, x in terms.items()},
            scores=scores.float().cpu().numpy(),
        )

    @torch.inference_mode()
    def head_matrices(self, site: Site, head: int) -> HeadMatrices:
        """The weight matrices of one head (section 3.2.2).

        Raises:
            ValueError: if the model has no such site.
            IndexError: if the site has no such head.
        """
        stack = self.model.encoder if site.kind is AttentionKind.ENCODER else self.model.decoder
        name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
        if site not in self.sites:
            raise ValueError(f"This model has no {site.kind} attention in layer {site.layer}.")
        matrices = getattr(stack.layers[site.layer], name).head_matrices(head)
        w_q, w_k, w_v, w_o = (each.float().cpu().numpy() for each in matrices)
        return HeadMatrices(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)

    def _require_added(self) -> None:
        if not self.positions.is_added:
            raise PositionError(
                f"Self-attention of this model {self.positions.acts}; nothing is added to its "
                "embeddings, so it has no table of encodings. Choose a model that adds positions."
            )

    def never_saw(self, what: str) -> str:
        """How a sentence begins about characters that the vocabulary of their text lacks."""
        side = "" if self.tokenizer.target is self.tokenizer else "on this side "
        return f"The model never saw {what} characters {side}in training"

    def source_tokens(self, token_ids: Sequence[int]) -> Tokens:
        """Token ids of what is read, with their spelling."""
        return Tokens(tokens=self.tokenizer.pieces(token_ids), ids=tuple(token_ids))

    def target_tokens(self, token_ids: Sequence[int]) -> Tokens:
        """Token ids of what is written, with their spelling."""
        return Tokens(tokens=self.tokenizer.target.pieces(token_ids), ids=tuple(token_ids))

    def _room(self, n_source: int, positions: PositionEdit) -> int | None:
        """The length limit of a translation whose positions are moved on; else None."""
        if positions.shift <= 0 or not positions.concerns("decoder"):
            return None
        room = self.model.config.max_positions - positions.shift
        return max(1, min(n_source + EXTRA_LENGTH, room))

    def _source(self, text: str, under: Intervention) -> torch.Tensor:
        # (1, source)
        return torch.tensor([self._source_ids(text, under)], device=self.device)

    @torch.inference_mode()
    def _record(
        self,
        texts: Sequence[str],
        sources: list[list[int]],
        targets: Sequence[str | Translation] | None,
        predicted: list[list[int]],
    ) -> list[Trace]:
        """Traces of one teacher-forced pass, with padding; without targets, of what was decoded."""
        config = self.model.config
        inputs = _padded([[config.bos_id, *ids[:-1]] for ids in predicted], config.pad_id)
        sources, labels = _padded(sources, config.pad_id), _padded(predicted, config.pad_id)
        with recording() as seen:
            logits = self.model(*(torch.tensor(x, device=self.device) for x in (sources, inputs)))
        chosen = torch.tensor(labels, device=self.device)[:, :, None]
        log_probs = logits.float().log_softmax(dim=-1).gather(2, chosen)[:, :, 0].cpu().numpy()
        return [
            seen.trace(
                sentence,
                source=self.source_tokens(sources[sentence]),
                target=self.target_tokens(inputs[sentence]),
                predictions=self.target_tokens(labels[sentence]),
                text=self.tokenizer.target.decode(predicted[sentence])
                if targets is None
                else _text(targets[sentence]),
                source_text=text,
                log_probs=log_probs[sentence],
            )
            for sentence, text in enumerate(texts)
        ]

    def require_room(self, text: str, what: str = "text") -> None:
        """Raises TextError, which says how much of it would fit, if a text is too long."""
        self._require_room(self._encoded(text, what), text, what)

    def _encoded(self, text: str, what: str) -> list[int]:
        try:
            text.encode()
        except UnicodeEncodeError:
            # From a shell, a byte that is no UTF-8; from elsewhere, half of a surrogate pair.
            raise TextError(f"The {what} holds half a character; write it anew.") from None
        return self._vocabulary(what).encode(text)

    def _vocabulary(self, what: str) -> Tokenizer:
        """Of the text that is read, or of what stands in the place of what is written."""
        return self.tokenizer if what == "text" else self.tokenizer.target

    def _require_room(self, ids: list[int], text: str, what: str) -> None:
        if len(ids) < self.max_tokens:
            return
        # Characters and not tokens: those a person can count.
        fitting = bisect_left(
            range(len(text)),
            self.max_tokens,
            key=lambda length: len(self._vocabulary(what).encode(text[:length])),
        )
        raise TextError(
            f"The {what} is too long: its first {fitting - 1:,} characters fill the "
            f"{self.max_tokens:,} tokens that the model takes; shorten it to that."
        )

    def _target_ids(self, target: str) -> list[int]:
        ids = self._encoded(target, "target")
        if not ids:
            raise TextError("The target is empty; type a translation, or leave it to the model.")
        self._require_room(ids, target, "target")
        return [*ids, self.model.config.eos_id]

    def _source_ids(self, text: str, under: Intervention) -> list[int]:
        ids = self._encoded(text, "text")
        if not ids:
            raise TextError("The text is empty; type a sentence to translate.")
        self._require_room(ids, text, "text")
        letters = {character for character in text if not character.isspace()}
        if letters and letters <= set(self.tokenizer.unseen_characters(text)):
            raise TextError(
                f"{self.never_saw('any of these')}; type a sentence in the language it reads."
            )
        return ordered([*ids, self.model.config.eos_id], under.source_order)

    def _translation(self, text: str, ids: list[int], hypothesis: Hypothesis) -> Translation:
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
        )


def _same_bits(one: Translation, other: Translation) -> bool:
    return (one.token_ids, one.log_probs, one.score) == (
        other.token_ids,
        other.log_probs,
        other.score,
    )


def _text(target: str | Translation) -> str:
    return target if isinstance(target, str) else target.text


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
            site: _part(seen, *site.kind.axes(columns, rows, slice(None)))
            for site, seen in trace.maps.items()
        },
        log_probs=None if trace.log_probs is None else trace.log_probs[rows],
    )


def _part(seen: AttentionMap, queries: slice, keys: slice) -> AttentionMap:
    def cut(
        array: NDArray[np.float32] | None, rows: slice, columns: slice = slice(None)
    ) -> NDArray[np.float32] | None:
        return None if array is None else array[..., rows, columns]

    return replace(
        seen,
        weights=seen.weights[..., queries, keys],
        allowed=seen.allowed[..., queries, keys],
        queries=seen.queries[queries],
        keys=seen.keys[keys],
        scores=cut(seen.scores, queries, keys),
        q=cut(seen.q, queries),
        k=cut(seen.k, keys),
        v=cut(seen.v, keys),
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
        raise DeviceError(f"The device {shortened(name)} is unknown; choose auto, cpu or cuda.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"This machine has no device {shortened(name)} that torch can use; choose auto or cpu."
        )
    return device


def load(
    checkpoint: str | PathLike[str], *, device: str = "auto", snapshot: int | None = None
) -> Translator:
    """A translator from a checkpoint folder.

    Args:
        checkpoint: the name of a model that comes with Headscope, such as "en-de"; or a folder
            with config.json, weights and tokenizer.
        device: "auto", "cpu", "cuda" or "cuda:1".
        snapshot: the model as it was during its training, where the folder holds that: a place in
            `model.checkpoints.checkpoint.snapshots`, counted from 0, or from the end if negative.
            None gives the trained model.

    Raises:
        CheckpointError: if the folder is missing, incomplete or damaged, or has no such snapshot.
        DeviceError: if the machine has no such device.
    """
    path = checkpoint_folder(checkpoint)
    place = resolve_device(device)
    loaded = load_checkpoint(path, snapshot=snapshot)
    metrics = loaded.metrics
    if snapshot is not None:
        # That is what the whole training met, and the first steps may not have met it yet.
        metrics = {name: value for name, value in metrics.items() if name != "longest"}
    return Translator(loaded.model, loaded.tokenizer, device=place, metrics=metrics, name=path.name)
