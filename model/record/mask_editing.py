"""Editing masks and positions of a running model, by contexts that model/record/taps.py asks.

    with editing({"decoder": allowed}):
        model(source, target)       under other masks than the model's own

    with editing_positions(PositionEdit(scale=0)):
        model(source, target)       with other positions than the model's own

    with intervening([Intervention(...)]):
        model(source, target)       under everything that an intervention asks for, of heads too

The model itself is not changed: other threads that run it keep its own masks and positions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model.paper.decoding_cache import decoding_position
from model.paper.positions import PositionalEncoding
from model.record.head_editing import editing_heads
from model.record.intervention import (
    Intervention,
    MaskEdits,
    Masks,
    PositionEdit,
    PositionError,
    allowed_array,
)
from model.record.mask_rules import MaskError, Rule
from model.record.recording import CaptureError
from model.trace.attention_map import AttentionKind, BoolArray, Site


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
            for place in edits or ():
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
        queries, keys = site.kind.axes(lengths.source, target, None)
        return full if queries is None or keys is None else (queries, keys)


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


active_edits: ContextVar[Editing | None] = ContextVar("editing", default=None)
"""Whose masks hold in this thread; the taps ask."""


@contextmanager
def editing(
    masks: Masks | Sequence[Masks | None],
    *,
    lengths: Sequence[SentenceLengths] | None = None,
    exact: bool = True,
    sites: Sequence[Site] | None = None,
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
    if isinstance(masks, Sequence):
        each = tuple(None if one is None else _checked(one, sites) for one in masks)
    else:
        each = (_checked(masks, sites),) * (1 if lengths is None else len(lengths))
    if lengths is not None and len(lengths) != len(each):
        raise MaskError(
            f"Each sentence needs its masks and its lengths: there are {len(each)} and "
            f"{len(lengths)}."
        )
    edits = Editing(each, None if lengths is None else tuple(lengths), exact)
    token = active_edits.set(edits)
    try:
        yield
    finally:
        active_edits.reset(token)
    edits.require_met()


def _checked(masks: Masks, sites: Sequence[Site] | None) -> MaskEdits:
    edits = masks if isinstance(masks, MaskEdits) else MaskEdits(masks)
    if sites is not None:
        edits.require_sites(sites)
    return edits


class PositionEditing:
    """The positions that tokens get instead of the model's own, in one thread."""

    def __init__(self, edit: PositionEdit) -> None:
        self.edit = edit
        self.met = False


active_position_editing: ContextVar[PositionEditing | None] = ContextVar(
    "editing_positions", default=None
)


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
    moving = PositionEditing(edit)
    token = active_position_editing.set(moving)
    try:
        yield
    finally:
        active_position_editing.reset(token)
    if not (moving.met or edit.at_rest):
        raise CaptureError(
            "No position encoding ran that this edit concerns, so it changed nothing; call "
            "install_taps(model) once, and run the side that it names."
        )


@contextmanager
def intervening(
    under: Sequence[Intervention],
    *,
    lengths: Sequence[SentenceLengths] | None = None,
    exact: bool = True,
    sites: Sequence[Site] | None = None,
) -> Generator[None, None, None]:
    """Run every tapped model in this thread under interventions until the block ends.

    What an intervention leaves alone stays as it is around the block. The order of the source is
    for whoever gives the model its tokens; see `model.record.intervention.ordered`.

    Args:
        under: one for every sentence that runs, or one for each of a batch.
        lengths: as in `editing`.
        exact: as in `editing`.
        sites: as in `editing`.

    Raises:
        MaskError, CaptureError: as `editing`.
        HeadError: as `model.record.head_editing.editing_heads`.
        PositionError: as `editing_positions`, and if sentences of one batch are to have different
            positions.
    """
    masks = [each.masks or None for each in under]
    positions = {each.positions for each in under}
    if len(positions) > 1:
        raise PositionError(
            "All sentences of a batch stand at the same positions; give each the same edit of "
            "them, or run them one at a time."
        )
    with ExitStack() as stack:
        if any(masks):
            stack.enter_context(editing(masks, lengths=lengths, exact=exact, sites=sites))
        if any(each.heads for each in under):
            heads = [each.heads for each in under]
            stack.enter_context(editing_heads(heads, sites=sites))
        for edit in positions:
            if not edit.at_rest:
                stack.enter_context(editing_positions(edit))
        yield


def edited_rows(
    edit: PositionEdit, encoding: PositionalEncoding, length: int, start: int = 0
) -> Tensor:
    """What takes the place of `encoding(length, start)`, (length, d_model).

    Raises:
        PositionError: if the shift leads beyond the positions the model was made for.
        LengthError: if the encoding has no such rows.
    """
    positions = torch.arange(start, start + length, device=encoding.table.device)
    if edit.reverse:
        positions = positions.flip(0)
    last = start + length - 1 + edit.shift
    if edit.shift > 0 and last >= encoding.max_positions:
        raise PositionError(
            f"A shift by {edit.shift} takes position {start + length - 1} to {last}, and the "
            f"model has the positions 0 to {encoding.max_positions - 1}; shift by less."
        )
    positions = (positions + edit.shift).clamp(min=0)
    rows = encoding.extended(max(last, 0) + 1)[positions]
    return rows if edit.scale == 1 else rows * edit.scale
