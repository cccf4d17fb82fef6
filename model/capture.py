"""Recording what attention does and editing its masks; the only file that registers hooks.

    install_taps(model)             once, when the model is loaded
    with recording() as seen:       around one forward pass, in any thread
        model(source, target)
    trace = seen.trace(source=..., target=..., ...)

    with editing({"decoder": allowed}):
        model(source, target)       under other masks than the model's own

    with editing_positions(PositionEdit(scale=0)):
        model(source, target)       with other positions than the model's own

A cached model is shared by every browser session. Hooks that come and go around a forward pass
would leak one person's sentence into another's; these stay, and ask a ContextVar who is recording
and another who edits. While nobody does in the present thread, these questions are all they cost.

Recording changes nothing for the caller. Our own attention is asked for its weights and then runs
the explicit formula, which gives the same logits bit for bit where the configuration already uses
it and to float32 rounding where torch's fused kernel would have run. torch's own attention is never
asked: its result changes with the request (a query without allowed keys gives zeros when no weights
are wanted and NaN when they are, and NaN spreads through the layers above). Its weights are
computed beside it from the same inputs and parameters, hence before dropout, also in training.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from model.attention import (
    MultiHeadAttention,
    PerHeadAttention,
    ScaledDotProductAttention,
    masked_softmax,
)
from model.masks import MaskEdits, MaskError, Masks, Rule, allowed_array
from model.positions import PositionalEncoding, PositionEdit, PositionError, Side
from model.trace import AttentionKind, AttentionMap, BoolArray, FloatArray, Site, Tokens, Trace
from model.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, decoding_position


class CaptureError(RuntimeError):
    """Nothing fitting was seen or edited, or a module cannot be; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttentionRecord:
    """One call of one attention, for the whole batch, as tensors without a graph.

    Attributes:
        weights: after the softmax and before dropout, (batch, head, query, key); rows with no
            allowed key are zeros.
        scores: before masking, (batch, head, query, key). An additive mask is not part of them.
        q: projected queries, (batch, head, query, d_k).
        k: projected keys, (batch, head, key, d_k).
        v: projected values, (batch, head, key, d_v).
        allowed: True = may attend, broadcastable to weights, or None for "all".
        extra_keys: names of keys at the end that the module added and the text does not have.
    """

    weights: Tensor
    scores: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    allowed: Tensor | None
    extra_keys: tuple[str, ...] = ()

    @property
    def n_queries(self) -> int:
        """Length of the query axis, padding included."""
        return self.weights.shape[2]

    @property
    def n_keys(self) -> int:
        """Length of the key axis, padding included and extra keys not."""
        return self.weights.shape[3] - len(self.extra_keys)


class Recording:
    """What the taps saw between the two ends of a `with recording()`."""

    def __init__(self) -> None:
        self._calls: dict[Site, list[AttentionRecord]] = {}
        # Heads of a site that run one after another wait here until the last of them is seen.
        self._parts: dict[Site, list[AttentionRecord]] = {}

    @property
    def sites(self) -> tuple[Site, ...]:
        """Every site that was recorded, in the order of sites."""
        return tuple(sorted(self._calls))

    def calls(self, site: Site) -> tuple[AttentionRecord, ...]:
        """Every call of a site, in order: several after step-by-step decoding, for example.

        Raises:
            CaptureError: if the site was not recorded.
        """
        if site not in self._calls:
            listing = ", ".join(map(str, self.sites))
            raise CaptureError(
                f"Nothing was recorded at {site}; there is {listing or 'no record at all'}."
            )
        return tuple(self._calls[site])

    def __getitem__(self, site: Site) -> AttentionRecord:
        """The one call of a site.

        Raises:
            CaptureError: if the site was not recorded, or more than once.
        """
        calls = self.calls(site)
        if len(calls) > 1:
            raise CaptureError(
                f"{site} ran {len(calls)} times in this recording; record a single pass, or "
                "choose among calls()."
            )
        return calls[0]

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)

    def maps(
        self,
        sentence: int = 0,
        *,
        source: Tokens | None = None,
        target: Tokens | None = None,
        axes: Mapping[Site, tuple[Tokens, Tokens]] | None = None,
    ) -> dict[Site, AttentionMap]:
        """One sentence of the batch, without its padding.

        Labels cover the sentence from its first position on; what lies beyond them is padding and
        is left out. Where labels are None, the positions 0, 1, … of the whole axis take their
        place, as they do for attention of unknown role. Keys that a module added by itself keep
        their place at the end.

        Args:
            sentence: index into the batch.
            source: labels of the encoder's tokens.
            target: labels of the decoder's inputs.
            axes: labels (queries, keys) of single sites, which come before source and target.

        Raises:
            CaptureError: if nothing was recorded, a site ran twice, there is no such sentence, or
                the labels do not fit what was recorded.
        """
        if not self._calls:
            raise CaptureError(
                "Nothing was recorded; call install_taps(model) once and run the model inside "
                "`with recording()`."
            )
        by_kind = {
            AttentionKind.ENCODER: (source, source),
            AttentionKind.DECODER: (target, target),
            AttentionKind.CROSS: (target, source),
            AttentionKind.MODULE: (None, None),
        }
        maps = {}
        for site in self.sites:
            queries, keys = (axes or {}).get(site, by_kind[site.kind])
            maps[site] = _sentence_map(site, self[site], sentence, queries, keys)
        return maps

    def trace(
        self,
        sentence: int = 0,
        *,
        source: Tokens | None = None,
        target: Tokens | None = None,
        predictions: Tokens | None = None,
        text: str = "",
        source_text: str = "",
        log_probs: FloatArray | None = None,
        axes: Mapping[Site, tuple[Tokens, Tokens]] | None = None,
    ) -> Trace:
        """One sentence of the batch as a trace; arguments as in `maps` and in Trace.

        Raises:
            CaptureError: as `maps` does.
            TraceError: if the lengths of labels, predictions and log_probs disagree.
        """
        if source is None:
            source = self._positions(AttentionKind.ENCODER, "n_keys")
        if target is None:
            target = self._positions(AttentionKind.DECODER, "n_queries")
        return Trace(
            source=source,
            target=target,
            predictions=Tokens() if predictions is None else predictions,
            text=text,
            source_text=source_text,
            maps=self.maps(sentence, source=source, target=target, axes=axes),
            log_probs=log_probs,
        )

    def add(self, site: Site, part: int, parts: int, record: AttentionRecord) -> None:
        """Store what a tap saw.

        Args:
            site: where.
            part: which of the functions that share the site's heads, from 0.
            parts: how many functions share them.
            record: what the function did for its heads.
        """
        if part == 0:
            self._parts[site] = []
        seen = self._parts[site]
        seen.append(record)
        if part == parts - 1:
            self._calls.setdefault(site, []).append(_join_heads(seen))
            del self._parts[site]

    def _positions(self, own: AttentionKind, cross_axis: str) -> Tokens:
        # The text nobody named is as long as its own attention, or as its side of cross-attention.
        for site in self.sites:
            if site.kind is own:
                return Tokens.unnamed(range(self[site].n_queries))
            if site.kind is AttentionKind.CROSS:
                return Tokens.unnamed(range(getattr(self[site], cross_axis)))
        return Tokens()


_active: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording() -> Generator[Recording, None, None]:
    """Record every tapped attention that runs in this thread until the block ends.

    Other threads are not recorded, whatever model they share with this one. Inside another
    recording, the inner one records and the outer one does not. What was seen stays readable after
    the block, also when the block raised.
    """
    seen = Recording()
    token = _active.set(seen)
    try:
        yield seen
    finally:
        _active.reset(token)


@dataclass(frozen=True, slots=True)
class SentenceLengths:
    """How long one sentence of a padded batch is without its padding.

    Attributes:
        source: tokens that the encoder reads.
        target: tokens that the decoder reads, or None while they are being decoded.
    """

    source: int
    target: int | None = None


@dataclass(frozen=True, slots=True)
class _Pass:
    """Where masks are asked for.

    Attributes:
        site: which attention.
        n_heads: all of the site's.
        full: its queries and keys, padding included. A decoding step counts as the last row of a
            pass over the positions so far.
        real: the same without the sentence's padding.
        position: of a decoding step, else None.
        exact: whether a matrix must have the pass's shape, instead of being cut and filled up.
    """

    site: Site
    n_heads: int
    full: tuple[int, int]
    real: tuple[int, int]
    position: int | None
    exact: bool


class Editing:
    """The masks that attention gets instead of the model's own, in one thread."""

    def __init__(
        self,
        sentences: tuple[MaskEdits | None, ...],
        lengths: tuple[SentenceLengths, ...] | None,
        exact: bool,
    ) -> None:
        self._sentences = sentences
        self._lengths = lengths
        self._exact = exact
        self._seen: set[Site] = set()
        # What each rule gave last: every layer asks it for the same lengths.
        self._built: dict[int, tuple[tuple[int, int], BoolArray]] = {}

    def concerns(self, site: Site) -> bool:
        """Whether any sentence has a mask for the site."""
        return any(each is not None and each.at(site) is not None for each in self._sentences)

    def allowed(
        self, site: Site, part: int, parts: int, q: Tensor, k: Tensor, own: Tensor | None
    ) -> Tensor | None:
        """What one call of an attention function may attend to.

        Args:
            site: where the function belongs.
            part: which of the functions that share the site's heads it is, from 0.
            parts: how many functions share them.
            q: projected queries, (batch, head, query, d_k).
            k: projected keys, (batch, head, key, d_k).
            own: the model's own mask, broadcastable to (batch, head, query, key), or None for all.

        Returns:
            boolean, (batch or 1, head or 1, query or 1, key), or None for all. It is `own` itself
            where the edit forbids and allows the same, so that not one bit of the pass changes.

        Raises:
            MaskError: if a mask does not fit this pass.
        """
        self._seen.add(site)
        if not self.concerns(site):
            return own
        whole = own if own is None or own.dim() == 4 else own[(None,) * (4 - own.dim())]
        position = decoding_position.get()
        self._require_batch(len(q), position)
        n_heads, n_keys = q.shape[1], k.shape[2]
        # All rows of q in a decoding step are hypotheses at one position.
        n_rows = q.shape[2] if position is None else 1
        full = (n_rows if position is None else position + 1), n_keys
        exact = position is None and (
            self._exact or site.kind not in (AttentionKind.DECODER, AttentionKind.CROSS)
        )
        edited = []
        for sentence, edits in enumerate(self._sentences):
            before = whole
            if whole is not None and len(whole) == len(self._sentences):
                before = whole[sentence : sentence + 1]
            mask = None if edits is None else edits.at(site)
            drawn = None
            if mask is not None:
                real = self._without_padding(site, sentence, full)
                drawn = self._drawn(mask, _Pass(site, n_heads * parts, full, real, position, exact))
            if drawn is not None and len(drawn) > 1:
                drawn = drawn[part * n_heads : (part + 1) * n_heads]
            edited.append(_overwritten(before, drawn, n_rows, n_keys, q.device))
        heads = max(each.shape[1] for each in edited)
        rows = max(each.shape[2] for each in edited)
        allowed = torch.cat([each.expand(-1, heads, rows, -1) for each in edited])
        if own is None:
            return None if bool(allowed.all()) else allowed
        return own if torch.equal(*torch.broadcast_tensors(allowed, own)) else allowed

    def require_met(self) -> None:
        """Check that every place that was named has been met.

        Raises:
            CaptureError: if no attention ran at one of them.
        """
        met = self._seen | {site.kind for site in self._seen}
        for edits in self._sentences:
            for place in () if edits is None else edits.places:
                if place not in met:
                    raise CaptureError(
                        f"No attention ran at {place}, so its mask changed nothing; call "
                        "install_taps(model) once, and mask what the model has and runs."
                    )

    def _require_batch(self, batch: int, position: int | None) -> None:
        n_sentences = len(self._sentences)
        if position is not None:
            if n_sentences > 1:
                raise CaptureError(
                    "Sentences of a batch that is decoded come and go; decode those that have "
                    "masks of their own one at a time."
                )
        elif n_sentences != batch and (n_sentences > 1 or self._lengths is not None):
            raise MaskError(
                "Each sentence of the batch needs its own masks and lengths: there are "
                f"{batch} and {n_sentences}."
            )

    def _drawn(self, mask: BoolArray | Callable[[int, int], Any], asked: _Pass) -> BoolArray | None:
        """What a mask says about a pass, (head or 1, query, key) from the first position on.

        It may have fewer rows and columns than the pass; None if it says nothing.
        """
        if callable(mask):
            array = self._of_rule(mask, asked)
        elif asked.exact:
            array = _of_its_shape(mask, asked)
        else:
            array = _cut(mask, asked)
        if array.ndim == 3 and len(array) != asked.n_heads:
            raise MaskError(
                f"The mask for {asked.site} is for {len(array)} heads, but there are "
                f"{asked.n_heads}; give it as many, or no axis of heads."
            )
        array = array[None] if array.ndim == 2 else array
        if asked.position is None:
            return array
        return array[:, asked.position :] if array.shape[1] > asked.position else None

    def _of_rule(self, rule: Callable[[int, int], Any], asked: _Pass) -> BoolArray:
        lengths = asked.full if isinstance(rule, Rule) and rule.over_padding else asked.real
        known = self._built.get(id(rule))
        if known is None or known[0] != lengths:
            known = lengths, allowed_array(asked.site, rule(*lengths))
            self._built[id(rule)] = known
        array = known[1]
        if array.shape[-2:] != lengths:
            raise _misfit(array.shape, asked, lengths)
        return array

    def _without_padding(self, site: Site, sentence: int, full: tuple[int, int]) -> tuple[int, int]:
        if self._lengths is None:
            return full
        lengths = self._lengths[sentence]
        target = full[0] if lengths.target is None else lengths.target
        match site.kind:
            case AttentionKind.ENCODER:
                return lengths.source, lengths.source
            case AttentionKind.DECODER:
                return target, target
            case AttentionKind.CROSS:
                return target, lengths.source
        return full


def _overwritten(
    own: Tensor | None,
    drawn: BoolArray | None,
    n_rows: int,
    n_keys: int,
    device: torch.device,
) -> Tensor:
    # What was drawn lies over the model's own mask, which stays wherever it does not reach.
    if own is None:
        own = torch.ones((1, 1, 1, n_keys), dtype=torch.bool, device=device)
    if drawn is None:
        return own
    top = torch.tensor(drawn, device=device)
    heads, rows, columns = top.shape
    if (rows, columns) == (n_rows, n_keys):
        return top[None]
    below = own.expand(-1, max(heads, own.shape[1]), n_rows, n_keys).clone()
    below[:, :, :rows, :columns] = top
    return below


def _of_its_shape(mask: BoolArray, asked: _Pass) -> BoolArray:
    rows, columns = mask.shape[-2:]
    fits = rows in (asked.real[0], asked.full[0]) and columns in (asked.real[1], asked.full[1])
    if not fits:
        raise _misfit(mask.shape, asked, asked.real)
    return mask


def _cut(mask: BoolArray, asked: _Pass) -> BoolArray:
    # The target grows while it is decoded; the source is known from the start.
    rows, columns = (
        padded if length == padded else min(length, real)
        for length, padded, real in zip(mask.shape[-2:], asked.full, asked.real, strict=True)
    )
    if asked.site.kind is AttentionKind.CROSS and columns < mask.shape[-1]:
        padded = f", {asked.full[1]} with padding" if asked.full[1] != asked.real[1] else ""
        raise MaskError(
            f"The mask for {asked.site} has {mask.shape[-1]} keys, but the source has "
            f"{asked.real[1]} tokens{padded}; give it no more keys than that."
        )
    return mask[..., :rows, :columns]


def _misfit(shape: tuple[int, ...], asked: _Pass, wanted: tuple[int, int]) -> MaskError:
    padded = ""
    if asked.full != wanted:
        padded = f" ({asked.full[0]} and {asked.full[1]} with padding)"
    return MaskError(
        f"The mask for {asked.site} has the shape {shape}, but this pass has {wanted[0]} queries "
        f"and {wanted[1]} keys{padded}; give it the shape {wanted} or {(asked.n_heads, *wanted)}."
    )


_editing: ContextVar[Editing | None] = ContextVar("editing", default=None)


@contextmanager
def editing(
    masks: Masks | Sequence[Masks | None],
    *,
    lengths: Sequence[SentenceLengths] | None = None,
    exact: bool = True,
    sites: Iterable[Site] | None = None,
) -> Generator[None, None, None]:
    """Replace masks of every tapped model that runs in this thread until the block ends.

    A mask replaces the model's own, which can so be lifted as well as narrowed. The model itself
    is not changed, and other threads keep its own masks. Inside another editing, the inner one
    holds alone. Recordings show the masks that were used. A query that is left no key gets weights
    of zero, and of what attention gives only the bias.

    In a teacher-forced pass a matrix has the shape of the pass. While a sentence is decoded step by
    step its length is not known: the query at step t takes row t, cut to the t + 1 target keys that
    exist, so nothing can look ahead there, whatever a mask allows. Rows and columns that a matrix
    lacks then follow the model's own mask; a rule is asked for t + 1 queries and gives the last.

    Args:
        masks: for every sentence that runs; or a sequence of them, one for each of a batch, None
            where a sentence keeps the model's masks. Each is {place: mask}: a place is a kind of
            attention for all its layers, a Site or a (kind, layer); a mask is boolean, (query, key)
            or (head, query, key), or a rule that gives one for any numbers of queries and keys.
        lengths: of each sentence without padding, or None where nothing is padded. A mask may then
            end at the padding, which keeps the model's own mask, or cover it too.
        exact: whether a teacher-forced pass takes decoder and cross masks of its own shape alone;
            otherwise they are cut and filled up as in step-by-step decoding.
        sites: those of the model, to refuse others at once.

    Raises:
        MaskError: if a mask is none or does not fit the pass, or a place is not among sites.
        CaptureError: if attention is to be masked that cannot be (nn.MultiheadAttention), or, when
            the block ends, none ran at a place that has a mask.
    """
    known = None if sites is None else tuple(sites)
    if isinstance(masks, Sequence):
        each = tuple(None if one is None else MaskEdits(one, known) for one in masks)
    else:
        each = (MaskEdits(masks, known),) * (1 if lengths is None else len(lengths))
    if lengths is not None and len(lengths) != len(each):
        raise MaskError(
            f"Each sentence needs its masks and its lengths: there are {len(each)} and "
            f"{len(lengths)}."
        )
    edits = Editing(each, None if lengths is None else tuple(lengths), exact)
    token = _editing.set(edits)
    try:
        yield
    finally:
        _editing.reset(token)
    edits.require_met()


class _PositionEditing:
    """The positions that tokens get instead of the model's own, in one thread."""

    def __init__(self, edit: PositionEdit) -> None:
        self.edit = edit
        self.met = False


_moving: ContextVar[_PositionEditing | None] = ContextVar("editing_positions", default=None)


@contextmanager
def editing_positions(edit: PositionEdit) -> Generator[None, None, None]:
    """Give every tapped model that runs in this thread other positions until the block ends.

    The model itself is not changed, and other threads keep its own positions. Inside another such
    block, the inner one holds alone. In a padded batch, `reverse` counts from the end of the
    padding.

    Raises:
        PositionError: if a shift leads beyond the positions the model was made for, or the decoder
            is to reverse what it has not written yet.
        CaptureError: if, when the block ends, no encoding that the edit concerns ran.
    """
    moving = _PositionEditing(edit)
    token = _moving.set(moving)
    try:
        yield
    finally:
        _moving.reset(token)
    if not (moving.met or edit.at_rest):
        raise CaptureError(
            "No position encoding ran that this edit concerns, so it changed nothing; call "
            "install_taps(model) once, and run the side that it names."
        )


class PositionTap:
    """The hook on one side's positional encoding.

    Attributes:
        side: whose positions it gives.
    """

    def __init__(self, side: Side) -> None:
        self.side: Side = side

    def attach(self, encoding: PositionalEncoding) -> None:
        """Register the hook."""
        encoding.register_forward_hook(self.after, with_kwargs=True)

    def after(
        self,
        encoding: PositionalEncoding,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Tensor,
    ) -> Tensor | None:
        """The forward hook: other rows for whoever edits positions in this thread."""
        moving = _moving.get()
        if moving is None or not moving.edit.concerns(self.side):
            return None
        moving.met = True
        if moving.edit.reverse and decoding_position.get() is not None:
            raise PositionError(
                "A sentence that is being decoded has no known length, so the decoder's positions "
                "cannot be reversed; give its target, or reverse the encoder's alone."
            )
        return moving.edit.rows(encoding, *args, **kwargs)


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Tap(ABC):
    """The hooks on one attention function.

    A tap knows where it sits and holds no tensor and no module, so a model is copied together with
    its taps. What a kind of attention needs of its own is in `see`.

    Attributes:
        site: where the function belongs.
        part: which of the functions that share the site's heads this is, from 0.
        parts: how many functions share them.
    """

    def __init__(self, site: Site, part: int = 0, parts: int = 1) -> None:
        self.site = site
        self.part = part
        self.parts = parts

    def attach(self, function: nn.Module) -> None:
        """Register the hooks."""
        # Reading a signature takes longer than the attention of a short sentence.
        self._signature = inspect.signature(function.forward)
        function.register_forward_hook(self.after, with_kwargs=True)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """A call's arguments by name, defaults included."""
        request = self._signature.bind(*args, **kwargs)
        request.apply_defaults()
        return request

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        """The forward hook: hand what happened to whoever records in this thread."""
        seen = _active.get()
        if seen is None:
            return
        request = self.bind(args, kwargs).arguments
        with torch.no_grad():
            seen.add(self.site, self.part, self.parts, self.see(function, request, output))

    @abstractmethod
    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """What one call did.

        Args:
            function: the module that ran.
            request: its arguments by name, defaults included.
            output: what it returned.
        """


class FunctionTap(Tap):
    """On one of our attention functions, which gives its weights when it is asked."""

    def attach(self, function: nn.Module) -> None:
        """Register the hooks, that which asks for weights included."""
        function.register_forward_pre_hook(self.before, with_kwargs=True)
        super().attach(function)

    def before(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments | None:
        """The forward pre-hook, and the only place where a request is changed before it runs."""
        records, edits = _active.get() is not None, _editing.get()
        if not records and edits is None:
            return None
        request = self.bind(args, kwargs)
        if records:
            request.arguments["need_weights"] = True
        if edits is not None:
            q, k, own = (request.arguments[name] for name in ("q", "k", "allowed"))
            request.arguments["allowed"] = edits.allowed(
                self.site, self.part, self.parts, q, k, own
            )
        return request.args, request.kwargs

    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """Tensors that went in and the weights that came out; scores are computed again."""
        q, k, v = (request[name].detach() for name in ("q", "k", "v"))
        return AttentionRecord(
            weights=output[1].detach(),
            scores=function.scores(q, k),
            q=q,
            k=k,
            v=v,
            allowed=request["allowed"],
        )


class TorchTap(Tap):
    """On nn.MultiheadAttention, which may give weights of any layout, averaged ones or none.

    Takes every form of its arguments: batch first or second, no batch, nested tensors, boolean and
    additive masks. A hint `is_causal` is believed to describe attn_mask, as torch believes it.
    Its masks cannot be edited.
    """

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        """The forward hook, which refuses an edit instead of ignoring it."""
        edits = _editing.get()
        if edits is not None and edits.concerns(self.site):
            raise CaptureError(
                f"{self.site} is a {type(function).__name__}, whose mask cannot be replaced; edit "
                "attention built of this project's modules, or pass the mask to the model itself."
            )
        super().after(function, args, kwargs, output)

    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """The module's own formula, on its own inputs and parameters."""
        texts = [request[name] for name in ("query", "key", "value")]
        padding, mask = request["key_padding_mask"], request["attn_mask"]
        if texts[0].is_nested:
            # torch nests self-attention only; there the lengths stand for the padding mask.
            texts, padding = _unnest(texts[0])
        elif texts[0].dim() == 2:
            texts = [text.unsqueeze(0) for text in texts]
            padding = None if padding is None else padding.unsqueeze(0)
        elif not function.batch_first:
            texts = [text.transpose(0, 1) for text in texts]
        q, k, v = _torch_projections(function, *texts)
        extra_keys: tuple[str, ...] = ()
        if function.bias_k is not None:
            k, v = (
                torch.cat([x, _split_heads(function, added.expand(len(x), 1, -1))], dim=2)
                for x, added in ((k, function.bias_k), (v, function.bias_v))
            )
            extra_keys += ("[bias_k]",)
        if function.add_zero_attn:
            k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
            extra_keys += ("[zero]",)
        scores = _TORCH_FORMULA.scores(q, k)
        allowed, added = _torch_masks(padding, mask, len(q), len(extra_keys))
        weights = masked_softmax(scores if added is None else scores + added, allowed)
        return AttentionRecord(
            weights=weights, scores=scores, q=q, k=k, v=v, allowed=allowed, extra_keys=extra_keys
        )


_TORCH_FORMULA = ScaledDotProductAttention()

Adapter = Callable[[Any, Site], list[tuple[nn.Module, Tap]]]


def _batched_taps(attention: MultiHeadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    return [(attention.attention, FunctionTap(site))]


def _per_head_taps(attention: PerHeadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    heads = [head.get_submodule("attention") for head in attention.heads]
    return [(head, FunctionTap(site, part, len(heads))) for part, head in enumerate(heads)]


def _torch_taps(attention: nn.MultiheadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    if type(attention).forward is not nn.MultiheadAttention.forward:
        raise CaptureError(
            f"{type(attention).__name__} replaces the forward of nn.MultiheadAttention, so its "
            "weights cannot be told from outside; give it an entry of its own in ADAPTERS."
        )
    return [(attention, TorchTap(site))]


ADAPTERS: dict[type[nn.Module], Adapter] = {
    MultiHeadAttention: _batched_taps,
    PerHeadAttention: _per_head_taps,
    nn.MultiheadAttention: _torch_taps,
}
"""Which taps an attention module takes, by its type: each with the function it sits on."""

ROLES: dict[tuple[type[nn.Module], str], AttentionKind] = {
    (EncoderLayer, "self_attention"): AttentionKind.ENCODER,
    (DecoderLayer, "self_attention"): AttentionKind.DECODER,
    (DecoderLayer, "cross_attention"): AttentionKind.CROSS,
    (nn.TransformerEncoderLayer, "self_attn"): AttentionKind.ENCODER,
    (nn.TransformerDecoderLayer, "self_attn"): AttentionKind.DECODER,
    (nn.TransformerDecoderLayer, "multihead_attn"): AttentionKind.CROSS,
}
"""What an attention module is for, by the type of its owner and its name there."""


def install_taps(model: nn.Module) -> tuple[Site, ...]:
    """Make a model recordable; call it once when the model is loaded.

    Layers are counted per kind, in the order of the model's modules. Calling it again, or on a
    deep copy of a tapped model, adds no second hook. torch's encoder layers leave their fast path
    for good, because it skips hooks; their outputs agree to float32 rounding.

    Returns:
        the sites that recordings of this model will hold.

    Raises:
        CaptureError: if the model holds no attention that ADAPTERS knows, or one that only looks
            like it; no hook is registered then.
    """
    plan: list[tuple[nn.Module, Tap]] = []
    count: Counter[AttentionKind] = Counter()
    for attention, adapter, kind in _attentions(model, AttentionKind.MODULE, set()):
        plan += adapter(attention, Site(kind, count[kind]))
        count[kind] += 1
    if not plan:
        raise CaptureError(
            f"{type(model).__name__} holds no attention that can be recorded; known are "
            f"{', '.join(known.__name__ for known in ADAPTERS)}."
        )
    for function, tap in plan:
        present: Tap | None = _tap_on(function, Tap)
        if present is None:
            tap.attach(function)
        else:
            # A layer that was tapped alone, or in another model, has moved here.
            present.site = tap.site
    for module in model.modules():
        if isinstance(module, Encoder | Decoder) and _tap_on(module.positions, PositionTap) is None:
            PositionTap("encoder" if isinstance(module, Encoder) else "decoder").attach(
                module.positions
            )
    return tuple(sorted({tap.site for _, tap in plan}))


def _attentions(
    module: nn.Module, kind: AttentionKind, visited: set[nn.Module]
) -> Iterator[tuple[nn.Module, Adapter, AttentionKind]]:
    # A module shared by several owners is one site, that of its first owner.
    if module in visited:
        return
    visited.add(module)
    for known in type(module).__mro__:
        if known in ADAPTERS:
            yield module, ADAPTERS[known], kind
            return
    for name, child in module.named_children():
        yield from _attentions(child, _role(module, name), visited)


def _role(owner: nn.Module, name: str) -> AttentionKind:
    for known in type(owner).__mro__:
        if (known, name) in ROLES:
            return ROLES[known, name]
    return AttentionKind.MODULE


def _tap_on(function: nn.Module, kind: type[Any]) -> Any:
    owners = (getattr(hook, "__self__", None) for hook in function._forward_hooks.values())
    return next((owner for owner in owners if isinstance(owner, kind)), None)


def _join_heads(parts: list[AttentionRecord]) -> AttentionRecord:
    if len(parts) == 1:
        return parts[0]
    # Heads that share one mask were all given the same tensor.
    shared = all(part.allowed is parts[0].allowed for part in parts)
    return AttentionRecord(
        weights=torch.cat([part.weights for part in parts], dim=1),
        scores=torch.cat([part.scores for part in parts], dim=1),
        q=torch.cat([part.q for part in parts], dim=1),
        k=torch.cat([part.k for part in parts], dim=1),
        v=torch.cat([part.v for part in parts], dim=1),
        allowed=parts[0].allowed if shared else torch.cat([*map(_full_mask, parts)], dim=1),
    )


def _full_mask(record: AttentionRecord) -> Tensor:
    allowed = record.allowed
    if allowed is None:
        allowed = torch.ones((), dtype=torch.bool, device=record.weights.device)
    return allowed.expand(record.weights.shape)


def _split_heads(attention: Any, x: Tensor) -> Tensor:
    # (batch, token, head * width) -> (batch, head, token, width)
    heads: Tensor = x.unflatten(-1, (attention.num_heads, -1))
    return heads.transpose(1, 2)


def _torch_projections(
    attention: Any, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    if attention.in_proj_weight is not None:
        weights = attention.in_proj_weight.chunk(3)
    else:
        weights = attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight
    bias = attention.in_proj_bias
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        _split_heads(attention, F.linear(x, weight, bias))
        for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _unnest(nested: Tensor) -> tuple[list[Tensor], Tensor]:
    padded = nested.to_padded_tensor(0.0)
    lengths = torch.tensor([len(text) for text in nested.unbind()], device=padded.device)
    padding = torch.arange(padded.shape[1], device=padded.device) >= lengths[:, None]
    return [padded] * 3, padding


def _torch_masks(
    padding: Tensor | None, mask: Tensor | None, batch: int, n_extra_keys: int
) -> tuple[Tensor | None, Tensor | None]:
    """What torch's two masks allow, and what they add to scores; both (batch, head, query, key).

    In torch's attention a boolean True forbids. An additive mask forbids where it is -inf.
    """
    masks = []
    if padding is not None:
        masks.append(padding[:, None, None, :])
    if mask is not None:
        # (query, key), or (batch * head, query, key)
        masks.append(mask[None, None] if mask.dim() == 2 else mask.unflatten(0, (batch, -1)))
    allowed: Tensor | None = None
    added: Tensor | None = None
    for each in masks:
        if each.dtype == torch.bool:
            may = ~each
        else:
            may = each > -torch.inf
            finite = F.pad(each.masked_fill(~may, 0.0), (0, n_extra_keys))
            added = finite if added is None else added + finite
        may = F.pad(may, (0, n_extra_keys), value=True)
        allowed = may if allowed is None else allowed & may
    return allowed, added


def _sentence_map(
    site: Site,
    record: AttentionRecord,
    sentence: int,
    queries: Tokens | None,
    keys: Tokens | None,
) -> AttentionMap:
    batch = record.weights.shape[0]
    if not 0 <= sentence < batch:
        raise CaptureError(
            f"The batch holds {batch} sentences, counted from 0; there is no sentence {sentence}."
        )
    queries = Tokens.unnamed(range(record.n_queries)) if queries is None else queries
    keys = Tokens.unnamed(range(record.n_keys)) if keys is None else keys
    for axis, labels, length in (
        ("queries", queries, record.n_queries),
        ("keys", keys, record.n_keys),
    ):
        if len(labels) > length:
            raise CaptureError(f"{site} has {length} {axis}, but {len(labels)} labels were given.")
    rows = slice(len(queries))
    if record.weights[sentence, :, rows, len(keys) : record.n_keys].any():
        raise CaptureError(
            f"{site} attends to keys after the {len(keys)} that have labels; label every token, "
            "and let padding come last."
        )

    def kept(x: Tensor, axis: int) -> Tensor:
        x = x[sentence]
        if not record.extra_keys:
            return x.narrow(axis, 0, len(keys))
        positions = [*range(len(keys)), *range(record.n_keys, record.weights.shape[3])]
        return x.index_select(axis, torch.tensor(positions, device=x.device))

    return AttentionMap(
        site,
        weights=_array(kept(record.weights, 2)[:, rows]),
        allowed=_allowed_array(record, lambda allowed: kept(allowed, 2)[:, rows]),
        queries=queries,
        keys=keys + Tokens.unnamed(record.extra_keys),
        scores=_array(kept(record.scores, 2)[:, rows]),
        q=_array(record.q[sentence, :, rows]),
        k=_array(kept(record.k, 1)),
        v=_array(kept(record.v, 1)),
    )


def _allowed_array(
    record: AttentionRecord, sentence_of: Callable[[Tensor], Tensor]
) -> NDArray[np.bool_]:
    # Expanding costs no memory: (batch, head, query, key) -> (head, query, key) of one sentence.
    by_head = sentence_of(_full_mask(record))
    allowed = record.allowed
    heads_share = allowed is None or allowed.dim() < 3 or allowed.shape[-3] == 1
    if heads_share or bool((by_head == by_head[:1]).all()):
        by_head = by_head[0]
    return _array(by_head, torch.bool)


def _array(x: Tensor, dtype: torch.dtype = torch.float32) -> NDArray[Any]:
    x = x.to("cpu", dtype)
    # A part of a batch would keep the whole batch alive.
    if x.untyped_storage().nbytes() > x.numel() * x.element_size():
        x = x.clone(memory_format=torch.contiguous_format)
    return x.numpy()
