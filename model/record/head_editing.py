"""Edits of single heads in a running model, as a context that the taps read.

    with editing_heads({("cross", 2, 3): 0}):
        model(source, target)       without that head

A head is edited between its attention function and W_O, so that decoding caches, beams and batches
are not affected. The model itself does not change, and other threads keep every head.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.paper.attention import masked_softmax
from model.paper.decoding_cache import decoding_position, decoding_tokens
from model.record.head_edits import (
    Gate,
    HeadEdits,
    HeadError,
    Heads,
    MeanAblation,
    ReplacedWeights,
    RuleWeights,
    TermWeights,
)
from model.record.recording import CaptureError
from model.record.scopes import Scope
from model.rules.weight_rules import SeenRows
from model.trace.attention_map import AttentionKind, BoolArray, Site

Output = tuple[Tensor, Tensor | None]
"""The result of an attention function: heads (batch, head, query, d_v), and weights or None."""


class HeadEditing:
    """The edits of heads in one thread."""

    def __init__(self, sentences: tuple[HeadEdits, ...]) -> None:
        self._sentences = sentences
        self._sites = {site for each in sentences for site in each.sites}
        self._met: set[Site] = set()
        self._seen: dict[Hashable, SeenRows] = {}

    def concerns(self, site: Site) -> bool:
        """Whether a head of the site is edited in any sentence."""
        return site in self._sites

    def edited(
        self,
        site: Site,
        part: int,
        parts: int,
        function: Any,
        request: Mapping[str, Any],
        output: Output,
    ) -> Output:
        """The edited result of one call of an attention function.

        Args:
            site: the function's site.
            part: its number among the functions that share the site's heads.
            parts: the number of functions that share them.
            function: the function.
            request: its arguments by name: q, k, v and allowed.
            output: its result; heads without an edit keep every bit.

        Raises:
            HeadError: if the site has no such head, a mean is not as long as the head's output, or
                the numbers of sentences and edits differ.
        """
        self._met.add(site)
        q, v = request["q"], request["v"]
        self._require_batch(len(q))
        n_heads = q.shape[1]
        heads, weights = output[0].clone(), None if output[1] is None else output[1].clone()
        for sentence, edits in enumerate(self._sentences):
            rows = slice(None) if len(self._sentences) == 1 else slice(sentence, sentence + 1)
            for head, edit in edits.at(site).items():
                if head >= n_heads * parts:
                    raise HeadError(
                        f"There is no head {head} at {site}; choose one from 0 to "
                        f"{n_heads * parts - 1}."
                    )
                own = head - part * n_heads
                if not 0 <= own < n_heads:
                    continue
                match edit:
                    case Gate(factor=0):
                        # Not a product, whose zeros would have signs.
                        heads[rows, own] = 0.0
                    case Gate(factor=factor):
                        heads[rows, own] *= factor
                    case MeanAblation(mean=mean):
                        heads[rows, own] = _fitting(mean, site, head, heads)
                    case ReplacedWeights():
                        replaced = _replaced(edit, site, head, own, rows, function, request)
                        heads[rows, own] = replaced @ v[rows, own]
                        if weights is not None:
                            weights[rows, own] = replaced
                    case RuleWeights() | TermWeights():
                        ruled = self._ruled(edit, site, head, own, sentence, request)
                        heads[rows, own] = ruled @ v[rows, own]
                        if weights is not None:
                            weights[rows, own] = ruled
        return heads, weights

    def _ruled(
        self,
        edit: RuleWeights | TermWeights,
        site: Site,
        head: int,
        own: int,
        sentence: int,
        request: Mapping[str, Any],
    ) -> Tensor:
        """A head's weights by a rule, in one sentence or in all of them, (batch, query, key)."""
        texts = texts_read.get()
        if texts is None:
            raise CaptureError(
                f"The rule for {site.head_name(head)} reads the sentence's tokens, which this pass "
                "does not name; run it by a Translator, or within reading_texts(…)."
            )
        q, k, mask = (request[name] for name in ("q", "k", "allowed"))
        allowed: BoolArray | None = None
        if mask is not None:
            full = mask.expand(*q.shape[:3], k.shape[2])
            allowed = full[:, own].cpu().numpy()
        if site.kind is AttentionKind.CROSS and decoding_tokens.get() is not None:
            # The queries of a step are the hypotheses of one sentence.
            hidden = None if allowed is None else allowed[0, :1]
            rows = [self._rows(texts, site.kind, row, hidden, edit) for row in range(q.shape[2])]
            weights = np.concatenate([edit.weights(each) for each in rows])[None]
        else:
            batch = range(len(q)) if len(self._sentences) == 1 else [sentence]
            rows = [
                self._rows(texts, site.kind, row, None if allowed is None else allowed[row], edit)
                for row in batch
            ]
            weights = np.stack([edit.weights(each) for each in rows])
        return torch.from_numpy(weights).to(q)

    def _rows(
        self,
        texts: TextsRead,
        kind: AttentionKind,
        row: int,
        allowed: BoolArray | None,
        edit: RuleWeights | TermWeights,
    ) -> SeenRows:
        """What rules may know of one row of the batch; heads and layers share it."""
        source, target, step = texts.of(kind, row)
        queries, keys = kind.axes(source, target, ())
        mask = None if allowed is None else allowed.tobytes()
        place = (kind, queries, keys, step, mask, id(edit.lexicon))
        if place not in self._seen:
            self._seen[place] = SeenRows(
                kind,
                queries,
                keys,
                positions=None if step is None else [step],
                allowed=allowed,
                lexicon=edit.lexicon,
            )
        return self._seen[place]

    def require_met(self) -> None:
        """Raises CaptureError if no attention ran at an edited site."""
        for site in sorted(self._sites - self._met):
            raise CaptureError(
                f"No attention ran at {site}, so its heads did not change; call "
                "install_taps(model) once, and edit sites that the model has and runs."
            )

    def _require_batch(self, batch: int) -> None:
        n_sentences = len(self._sentences)
        if n_sentences == 1:
            return
        if decoding_position.get() is not None:
            raise CaptureError(
                "Sentences leave a batch while it is decoded; decode sentences with edited heads "
                "one at a time."
            )
        if n_sentences != batch:
            raise HeadError(
                "Each sentence of the batch needs its own edits of heads; there are "
                f"{batch} sentences and {n_sentences} edits."
            )


def _fitting(mean: tuple[float, ...], site: Site, head: int, heads: Tensor) -> Tensor:
    if len(mean) != heads.shape[-1]:
        raise HeadError(
            f"The mean for {site.head_name(head)} has {len(mean)} numbers, but the head's output "
            f"has {heads.shape[-1]}; give as many."
        )
    return torch.tensor(mean, dtype=heads.dtype, device=heads.device)


def _replaced(
    edit: ReplacedWeights,
    site: Site,
    head: int,
    own: int,
    rows: slice,
    function: Any,
    request: Mapping[str, Any],
) -> Tensor:
    """The replaced weights of one head, in some sentences, (batch, query, key)."""
    q, k, mask = (request[name] for name in ("q", "k", "allowed"))
    shape = (*q.shape[:3], k.shape[2])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=q.device)
    step = decoding_position.get()
    # All rows of q in a decoding step are hypotheses at one position.
    positions = range(shape[2]) if step is None else [step] * shape[2]

    def weights() -> Tensor:
        scores = function.biased_scores(q, k, request["bias"])
        return masked_softmax(scores, request["allowed"])[rows, own]

    allowed = mask.expand(shape)[rows, own]
    return weights_in_place(edit, site, head, weights, allowed, positions, q.dtype)


def weights_in_place(
    edit: ReplacedWeights,
    site: Site,
    head: int,
    weights: Callable[[], Tensor],
    allowed: Tensor,
    positions: Sequence[int],
    dtype: torch.dtype,
) -> Tensor:
    """Weights to replace a head's own, (batch, query, key).

    Args:
        edit: the replacement.
        site: the head's site.
        head: its number there.
        weights: gives the head's own, (batch, query, key), for patterns that need them.
        allowed: True = may attend, (batch, query, key).
        positions: of the queries.
        dtype: of the result.
    """
    n_keys = allowed.shape[-1]
    if edit.pattern == "uniform":
        return _shared(allowed, dtype)
    if edit.pattern == "shuffled":
        own = weights()
        ranks = torch.tensor(
            np.stack([_ranks(edit.seed, site, head, each, n_keys) for each in positions]),
            device=allowed.device,
        )
        # The allowed keys from left to right, then in random order; masked keys come last.
        places = (~allowed).to(torch.uint8).argsort(dim=-1, stable=True)
        dealt = ranks.expand(allowed.shape).masked_fill(~allowed, torch.inf)
        return torch.zeros_like(own).scatter(
            -1, places, own.gather(-1, dealt.argsort(dim=-1, stable=True))
        )
    keys = torch.arange(n_keys, device=allowed.device)
    if edit.pattern == "first":
        target = torch.zeros(len(positions), 1, device=allowed.device)
    else:
        target = torch.tensor(positions, device=allowed.device)[:, None]
    distance = (keys - target).abs().to(torch.float32).expand(allowed.shape)
    # The first of several equally near keys.
    nearest = distance.masked_fill(~allowed, torch.inf).argmin(dim=-1, keepdim=True)
    return _shared((keys == nearest) & allowed, dtype)


def _shared(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """Rows that attend uniformly to the True keys; zeros in rows without any."""
    return keys.to(dtype) / keys.sum(dim=-1, keepdim=True).clamp(min=1)


def _ranks(seed: int, site: Site, head: int, position: int, n_keys: int) -> Any:
    # The first numbers of a stream do not depend on its length, so a row's shuffle does not depend
    # on keys that are masked or not written yet.
    salt = [seed, list(AttentionKind).index(site.kind), site.layer, head, position]
    return np.random.default_rng(salt).random(n_keys)


@dataclass(frozen=True, slots=True)
class TextsRead:
    """The tokens of the sentences that a model runs over, for rules that read them.

    Attributes:
        sources: of each sentence of the batch, padding included.
        targets: the decoder's input of each; None while decoding.
        spelled: gives the spelling of target ids.
    """

    sources: Sequence[tuple[str, ...]]
    targets: Sequence[tuple[str, ...]] | None
    spelled: Callable[[Sequence[int]], tuple[str, ...]]

    def of(
        self, kind: AttentionKind, row: int
    ) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
        """Source and target of a row of the batch, and the step of decoding that asks."""
        read = decoding_tokens.get()
        if read is None or kind is AttentionKind.ENCODER:
            targets = self.targets or ()
            return self.sources[row], targets[row] if row < len(targets) else (), None
        source = self.sources[row if len(self.sources) == len(read) else 0]
        return source, self.spelled(read[row].tolist()), decoding_position.get()


texts_read: Scope[TextsRead] = Scope("reading_texts()")
"""What the model runs over in this thread."""


@contextmanager
def reading_texts(texts: TextsRead) -> Generator[None, None, None]:
    """Name the tokens that models run over in this thread, until the block ends."""
    with texts_read.holding(texts):
        yield


active_head_edits: Scope[HeadEditing] = Scope("editing_heads()")
"""The edits of heads in this thread, which the taps read."""


@contextmanager
def editing_heads(
    heads: Heads | Sequence[Heads], *, sites: Sequence[Site] | None = None
) -> Generator[None, None, None]:
    """Edit heads of every tapped model that runs in this thread, until the block ends.

    In nested blocks, only the inner one applies. Recordings show the weights in use: a gate or a
    mean changes a head's output, not its weights; replaced weights are recorded in place of the
    head's own, with its own scores.

    Args:
        heads: edits as `HeadEdits` takes them, for every sentence; or a sequence of them, one for
            each sentence of a batch.
        sites: the model's sites, to refuse others at once.

    Raises:
        HeadError: if a head or an edit is invalid, or does not fit the model.
        CaptureError: if a head cannot be edited (nn.MultiheadAttention), or, when the block ends,
            no attention ran at its site.
    """
    edited = heads if isinstance(heads, Sequence) else [heads]
    each = tuple(one if isinstance(one, HeadEdits) else HeadEdits(one) for one in edited)
    if sites is not None:
        for one in each:
            one.require_sites(sites)
    edits = HeadEditing(each)
    with active_head_edits.holding(edits):
        yield
    edits.require_met()
