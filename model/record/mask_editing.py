"""Edits of masks and positions in a running model, as contexts that the taps read.

    with editing({"decoder": allowed}):
        model(source, target)       with other masks

    with editing_positions(PositionEdit(scale=0)):
        model(source, target)       with other positions

    with intervening([Intervention(...)]):
        model(source, target)       under a whole intervention

The model itself does not change: other threads that run it keep its own masks and positions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model.paper.decoding_cache import decoding_position
from model.paper.encoding import PositionalEncoding
from model.record.head_editing import editing_heads
from model.record.intervention import Intervention, PositionEdit, PositionError
from model.record.mask_edits import MaskEdits, Masks, allowed_array
from model.record.mask_rules import MaskError, Rule
from model.record.patching import patching
from model.record.position_editing import editing_positions
from model.record.recording import CaptureError
from model.record.scopes import Scope
from model.trace.attention_map import AttentionKind, BoolArray, Site


@dataclass(frozen=True, slots=True)
class SentenceLengths:
    """Tokens of a sentence in a padded batch, without padding; no target while decoding."""

    source: int
    target: int | None = None


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass that needs masks.

    Attributes:
        site: the attention.
        n_heads: of the site.
        full: numbers of queries and keys, padding included. A decoding step counts as the last row
            of a pass over the positions so far.
        real: numbers of queries and keys, without the sentence's padding.
        position: of a decoding step, else None.
        exact: whether a matrix must have the pass's shape, instead of being cut and extended.
    """

    site: Site
    n_heads: int
    full: tuple[int, int]
    real: tuple[int, int]
    position: int | None
    exact: bool


class Editing:
    """The masks in place of the model's own, in one thread."""

    def __init__(
        self,
        sentences: tuple[MaskEdits | None, ...],
        lengths: tuple[SentenceLengths, ...] | None,
        exact: bool,
    ) -> None:
        self._sentences = sentences
        self._lengths = lengths
        self._exact = exact
        self._met: set[Site] = set()
        # Each rule's last result: every layer asks for the same lengths.
        self._built: dict[int, tuple[tuple[int, int], BoolArray]] = {}

    def concerns(self, site: Site) -> bool:
        """Whether any sentence has a mask for the site."""
        return any(each is not None and each.at(site) is not None for each in self._sentences)

    def allowed(
        self, site: Site, part: int, parts: int, q: Tensor, k: Tensor, own: Tensor | None
    ) -> Tensor | None:
        """The mask for one call of an attention function.

        Args:
            site: the function's site.
            part: its number among the functions that share the site's heads.
            parts: the number of functions that share them.
            q: projected queries, (batch, head, query, d_k).
            k: projected keys, (batch, head, key, d_k).
            own: the model's own mask, broadcastable to (batch, head, query, key), or None for all.

        Returns:
            boolean, (batch or 1, head or 1, query or 1, key), or None for all. If the edit changes
            nothing, it is `own` itself, so that no bit of the pass changes.

        Raises:
            MaskError: if a mask does not fit this pass.
        """
        self._met.add(site)
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
            new = None
            if mask is not None:
                real = self._without_padding(site, sentence, full)
                new = self._part_for(
                    mask, _Pass(site, n_heads * parts, full, real, position, exact)
                )
            if new is not None and len(new) > 1:
                new = new[part * n_heads : (part + 1) * n_heads]
            edited.append(_overwritten(before, new, n_rows, n_keys, q.device))
        heads = max(each.shape[1] for each in edited)
        rows = max(each.shape[2] for each in edited)
        allowed = torch.cat([each.expand(-1, heads, rows, -1) for each in edited])
        if own is None:
            return None if bool(allowed.all()) else allowed
        return own if torch.equal(*torch.broadcast_tensors(allowed, own)) else allowed

    def require_met(self) -> None:
        """Raises CaptureError if no attention ran at a place with a mask."""
        met = self._met | {site.kind for site in self._met}
        for edits in self._sentences:
            for place in edits or ():
                if place not in met:
                    raise CaptureError(
                        f"No attention ran at {place}, so its mask changed nothing; call "
                        "install_taps(model) once, and mask sites that the model has and runs."
                    )

    def _require_batch(self, batch: int, position: int | None) -> None:
        n_sentences = len(self._sentences)
        if position is not None:
            if n_sentences > 1:
                raise CaptureError(
                    "Sentences leave a batch while it is decoded; decode sentences with their own "
                    "masks one at a time."
                )
        elif n_sentences != batch and (n_sentences > 1 or self._lengths is not None):
            raise MaskError(
                "Each sentence of the batch needs its own masks and lengths; there are "
                f"{batch} sentences and {n_sentences} masks."
            )

    def _part_for(
        self, mask: BoolArray | Callable[[int, int], Any], run: _Pass
    ) -> BoolArray | None:
        """The part of a mask for a pass, (head or 1, query, key), from the first position on.

        It may have fewer rows and columns than the pass; None if it has no row for it.
        """
        if callable(mask):
            array = self._of_rule(mask, run)
        elif run.exact:
            array = _of_its_shape(mask, run)
        else:
            array = _cut(mask, run)
        if array.ndim == 3 and len(array) != run.n_heads:
            raise MaskError(
                f"The mask for {run.site} is for {len(array)} heads, but there are "
                f"{run.n_heads}; give it as many, or no axis of heads."
            )
        array = array[None] if array.ndim == 2 else array
        if run.position is None:
            return array
        return array[:, run.position :] if array.shape[1] > run.position else None

    def _of_rule(self, rule: Callable[[int, int], Any], run: _Pass) -> BoolArray:
        lengths = run.full if isinstance(rule, Rule) and rule.over_padding else run.real
        known = self._built.get(id(rule))
        if known is None or known[0] != lengths:
            known = lengths, allowed_array(run.site, rule(*lengths))
            self._built[id(rule)] = known
        array = known[1]
        if array.shape[-2:] != lengths:
            raise _misfit(array.shape, run, lengths)
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
    new: BoolArray | None,
    n_rows: int,
    n_keys: int,
    device: torch.device,
) -> Tensor:
    # The new mask lies over the model's own, which remains where the new one does not reach.
    if own is None:
        own = torch.ones((1, 1, 1, n_keys), dtype=torch.bool, device=device)
    if new is None:
        return own
    top = torch.tensor(new, device=device)
    heads, rows, columns = top.shape
    if (rows, columns) == (n_rows, n_keys):
        return top[None]
    below = own.expand(-1, max(heads, own.shape[1]), n_rows, n_keys).clone()
    below[:, :, :rows, :columns] = top
    return below


def _of_its_shape(mask: BoolArray, run: _Pass) -> BoolArray:
    rows, columns = mask.shape[-2:]
    fits = rows in (run.real[0], run.full[0]) and columns in (run.real[1], run.full[1])
    if not fits:
        raise _misfit(mask.shape, run, run.real)
    return mask


def _cut(mask: BoolArray, run: _Pass) -> BoolArray:
    # The target grows while it is decoded; the source is known from the start.
    rows, columns = (
        padded if length == padded else min(length, real)
        for length, padded, real in zip(mask.shape[-2:], run.full, run.real, strict=True)
    )
    if run.site.kind is AttentionKind.CROSS and columns < mask.shape[-1]:
        padded = f", {run.full[1]} with padding" if run.full[1] != run.real[1] else ""
        raise MaskError(
            f"The mask for {run.site} has {mask.shape[-1]} keys, but the source has "
            f"{run.real[1]} tokens{padded}; give it no more keys than that."
        )
    return mask[..., :rows, :columns]


def _misfit(shape: tuple[int, ...], run: _Pass, wanted: tuple[int, int]) -> MaskError:
    padded = ""
    if run.full != wanted:
        padded = f" ({run.full[0]} and {run.full[1]} with padding)"
    return MaskError(
        f"The mask for {run.site} has the shape {shape}, but this pass has {wanted[0]} queries "
        f"and {wanted[1]} keys{padded}; give it the shape {wanted} or {(run.n_heads, *wanted)}."
    )


active_edits: Scope[Editing] = Scope("editing()")
"""The edits of masks in this thread, which the taps read."""


@contextmanager
def editing(
    masks: Masks | Sequence[Masks | None],
    *,
    lengths: Sequence[SentenceLengths] | None = None,
    exact: bool = True,
    sites: Sequence[Site] | None = None,
) -> Generator[None, None, None]:
    """Replace masks of every tapped model that runs in this thread, until the block ends.

    A mask replaces the model's own, so it can remove a mask as well as narrow it. In nested blocks,
    only the inner one applies. Recordings show the masks in use. A query without any key gets
    weights of zero, and the output bias alone.

    In a teacher-forced pass, a matrix has the shape of the pass. While decoding, the length is
    unknown: the query at step t uses row t, cut to the t + 1 target keys so far, so nothing can
    look ahead, whatever a mask allows. Where a matrix lacks rows or columns, the model's own mask
    applies; a rule is called for t + 1 queries and its last row is used.

    Args:
        masks: {place: mask} for every sentence; or a sequence of them, one for each sentence of a
            batch, None for the model's own. A place is a kind of attention for all its layers, a
            Site or a (kind, layer). A mask is boolean, (query, key) or (head, query, key), or a
            rule that gives one for any numbers of queries and keys.
        lengths: of each sentence without padding; None if there is no padding. A mask may then end
            before the padding, where the model's own mask applies, or include it.
        exact: whether a teacher-forced pass requires decoder and cross masks of its shape;
            otherwise they are cut and extended as while decoding.
        sites: the model's sites, to refuse others at once.

    Raises:
        MaskError: if a mask is invalid or does not fit the pass, or a place is not among sites.
        CaptureError: if attention cannot be masked (nn.MultiheadAttention), or, when the block
            ends, none ran at a place with a mask.
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
    with active_edits.holding(edits):
        yield
    edits.require_met()


def _checked(masks: Masks, sites: Sequence[Site] | None) -> MaskEdits:
    edits = masks if isinstance(masks, MaskEdits) else MaskEdits(masks)
    if sites is not None:
        edits.require_sites(sites)
    return edits


@contextmanager
def intervening(
    under: Sequence[Intervention],
    *,
    lengths: Sequence[SentenceLengths] | None = None,
    exact: bool = True,
    sites: Sequence[Site] | None = None,
) -> Generator[None, None, None]:
    """Run every tapped model in this thread under interventions, until the block ends.

    Parts that an intervention does not change remain as around the block. The caller reorders the
    source, with `model.record.intervention.ordered`. Other arguments, and errors, are those of
    `editing`, `editing_heads`, `patching` and `editing_positions`.

    Args:
        under: one intervention for every sentence, or one for each of a batch.
        lengths: of each sentence without padding.
        exact: whether decoder and cross masks must have the pass's shape.
        sites: the model's sites.

    Raises:
        PositionError: also if positions differ between sentences of a batch.
    """
    masks = [each.masks or None for each in under]
    positions = {each.positions for each in under}
    if len(positions) > 1:
        raise PositionError(
            "All sentences of a batch share their positions; give each the same edit, or run them "
            "one at a time."
        )
    with ExitStack() as stack:
        if any(masks):
            stack.enter_context(editing(masks, lengths=lengths, exact=exact, sites=sites))
        if any(each.heads for each in under):
            heads = [each.heads for each in under]
            stack.enter_context(editing_heads(heads, sites=sites))
        if any(each.patches for each in under):
            stack.enter_context(patching([each.patches for each in under]))
        for edit in positions:
            if not edit.at_rest:
                stack.enter_context(editing_positions(edit))
        yield


def edited_rows(
    edit: PositionEdit, encoding: PositionalEncoding, length: int, start: int = 0
) -> Tensor:
    """The edited rows in place of `encoding(length, start)`, (length, d_model).

    Raises PositionError if the shift leads beyond the model's positions, and LengthError if the
    encoding has no such rows.
    """
    positions = torch.arange(start, start + length, device=encoding.table.device)
    if edit.reverse:
        positions = positions.flip(0)
    last = start + length - 1 + edit.shift
    if edit.shift > 0 and last >= encoding.max_positions:
        raise PositionError(
            f"A shift by {edit.shift} moves position {start + length - 1} to {last}, but the "
            f"model has positions 0 to {encoding.max_positions - 1}; shift by less."
        )
    positions = (positions + edit.shift).clamp(min=0)
    rows = encoding.extended(max(last, 0) + 1)[positions]
    return rows if edit.scale == 1 else rows * edit.scale
