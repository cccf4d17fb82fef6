"""Edited masks as short texts for addresses, and back; texts from links are never trusted."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from model.record.intervention import Intervention
from model.record.mask_edits import MaskEdits
from model.trace.attention_map import AttentionKind, BoolArray

MAX_LENGTH = 512
"""The most queries and keys of a mask."""

MAX_EDITS = 32
"""The most edits in one address."""

MAX_LAYER = 99
"""The highest layer number in an address."""

MAX_CHARACTERS = 60_000
"""Of all edits together, because browsers and servers limit the length of an address."""

EDITABLE = (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)
"""The kinds of attention whose masks can be edited."""

UNREADABLE = "The mask in the address cannot be read; copy the whole link again, or set it anew."
"""The message for a text that is not a mask; it does not repeat the text."""

_MASK = re.compile(r"([0-9]{1,6})x([0-9]{1,6})\.([A-Za-z0-9_-]*)")
_EDIT = re.compile(r"([a-z]+):(\*|[0-9]{1,3}(?:,[0-9]{1,3})*):([^:]*)")
_BETWEEN = "~"
_EVERY_LAYER = "*"

# Without zlib's header and checksum, which are 8 characters of an address.
_RAW_DEFLATE = -15


# Without slots, so that it can keep its text.
@dataclass(frozen=True, eq=False)
class Edit:
    """One mask in the place of the model's own.

    Attributes:
        layers: the layers it is for, counted from 0 and ascending; None for all of them.
        allowed: True = may attend, (query, key).

    Raises:
        ValueError: if the kind has no editable mask, a layer is named twice, is negative or above
            MAX_LAYER, no layer is named, or the mask is not boolean, empty or too large.
    """

    kind: AttentionKind
    layers: tuple[int, ...] | None
    allowed: BoolArray

    def __post_init__(self) -> None:
        if self.kind not in EDITABLE:
            raise ValueError(
                f"Masks can be edited in {', '.join(EDITABLE[:-1])} and {EDITABLE[-1]} attention; "
                f"there is no such attention as {self.kind}."
            )
        object.__setattr__(self, "kind", AttentionKind(self.kind))
        if self.layers is not None:
            object.__setattr__(self, "layers", _known_layers(self.layers))
        own = _checked(self.allowed).copy()
        own.setflags(write=False)
        object.__setattr__(self, "allowed", own)

    def __str__(self) -> str:
        if self.layers is None:
            return f"{self.kind} attention, all layers"
        noun = "layer" if len(self.layers) == 1 else "layers"
        return f"{self.kind} attention, {noun} {', '.join(map(str, self.layers))}"

    def require_layers(self, layers: Sequence[int]) -> None:
        """Raises ValueError if it is for a layer that a model does not have, given those it has."""
        missing = [layer for layer in self.layers or () if layer not in layers]
        if missing:
            raise ValueError(
                f"The edited mask is for layer {missing[0]} of {self.kind} attention, and this "
                f"model has layers 0 to {layers[-1]}."
            )

    def without_padding(self, n_source: int, n_target: int) -> Edit | None:
        """The same for a sentence alone; arguments and None as of `MaskEdits.without_padding`."""
        alone = MaskEdits({self.kind: self.allowed}).without_padding(n_source, n_target)
        return None if alone is None else replace(self, allowed=np.asarray(alone[self.kind]))

    @cached_property
    def text(self) -> str:
        """Its spelling in an address, such as "decoder:*:8x8.…"; computed once."""
        return f"{self.kind}:{_write_layers(self.layers)}:{encode(self.allowed)}"


def encode(allowed: BoolArray) -> str:
    """A mask as text that needs no escaping in an address.

    Its size, such as "11x11", a full stop, and the mask in base64url: each cell compared with its
    neighbour one up and one to the left, eight cells a byte, deflated (RFC 1951). Along diagonals
    most masks never change, so a band of any width takes about 20 characters.

    Args:
        allowed: (query, key), boolean.

    Raises:
        ValueError: if it is no boolean matrix, is empty, or is larger than MAX_LENGTH.
    """
    changes = _checked(allowed).copy()
    changes[1:, 1:] ^= allowed[:-1, :-1]
    deflate = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE)
    packed = deflate.compress(np.packbits(changes).tobytes()) + deflate.flush()
    n_queries, n_keys = allowed.shape
    return f"{n_queries}x{n_keys}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def decode(text: str, shape: tuple[int, int] | None = None) -> BoolArray:
    """The mask from a text of `encode`, (query, key), boolean.

    Memory and time are bounded by the size that the text states, whatever follows.

    Args:
        text: from an address, so from anyone.
        shape: how many queries and keys there must be; None takes any.

    Raises:
        ValueError: if the text is no mask, or its mask is of another size or too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"The mask in the address has {len(text):,} characters, and at most "
            f"{MAX_CHARACTERS:,} fit; set it anew."
        )
    match = _MASK.fullmatch(text)
    if match is None:
        raise ValueError(UNREADABLE)
    n_queries, n_keys = int(match[1]), int(match[2])
    require_shape((n_queries, n_keys), shape)
    if max(n_queries, n_keys) > MAX_LENGTH:
        raise ValueError(
            f"The edited mask is {n_queries} × {n_keys}; at most {MAX_LENGTH} × {MAX_LENGTH} fit."
        )
    if min(n_queries, n_keys) == 0:
        raise ValueError(UNREADABLE)
    bits = np.unpackbits(np.frombuffer(_inflate(match[3], -(-n_queries * n_keys // 8)), np.uint8))
    n_cells = n_queries * n_keys
    if bits[n_cells:].any():
        raise ValueError(UNREADABLE)
    allowed = bits[:n_cells].reshape(n_queries, n_keys).astype(np.bool_)
    for row in range(1, n_queries):
        allowed[row, 1:] ^= allowed[row - 1, :-1]
    return allowed


def require_shape(own: tuple[int, ...], shape: tuple[int, int] | None) -> None:
    """Raise ValueError for an edited mask of another shape; None accepts any."""
    if shape is not None and own != tuple(shape):
        raise ValueError(
            f"The edited mask is {own[0]} × {own[1]}, and this sentence makes "
            f"{shape[0]} × {shape[1]}."
        )


def write(edits: Iterable[Edit]) -> str:
    """Several edits as one text for an address, such as "decoder:*:8x8.…~cross:1,2:8x11.…".

    Raises:
        ValueError: if there are too many or two are for the same layer, or if their masks are too
            large for one address.
    """
    edits = tuple(edits)
    _require_compatible(edits)
    text = _BETWEEN.join(edit.text for edit in edits)
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"These masks take {len(text):,} characters, and an address has room for "
            f"{MAX_CHARACTERS:,}; edit fewer layers or a shorter sentence."
        )
    return text


def parse(
    text: str, shapes: Mapping[AttentionKind, tuple[int, int]] | None = None
) -> tuple[Edit, ...]:
    """The edits from a text of `write`, in its order; an empty text holds none.

    Args:
        text: from an address, so from anyone.
        shapes: how many queries and keys each kind of attention has; a kind that is missing, and
            None, take any.

    Raises:
        ValueError: if the text is too long or holds no edits, or an edit or its mask is wrong.
    """
    if not text:
        return ()
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"The masks in the address have {len(text):,} characters, and at most "
            f"{MAX_CHARACTERS:,} fit; set them anew."
        )
    # Counted before unpacking any mask.
    _require_few(text.count(_BETWEEN) + 1)
    edits = []
    for part in text.split(_BETWEEN):
        match = _EDIT.fullmatch(part)
        if match is None or match[1] not in EDITABLE:
            raise ValueError(UNREADABLE)
        kind = AttentionKind(match[1])
        shape = None if shapes is None else shapes.get(kind)
        layers = None if match[2] == _EVERY_LAYER else tuple(map(int, match[2].split(",")))
        edits.append(Edit(kind, layers, decode(match[3], shape)))
    _require_compatible(tuple(edits))
    return tuple(edits)


def intervention(edits: Iterable[Edit]) -> Intervention:
    """The intervention that replaces these masks."""
    masks: dict[Any, BoolArray] = {}
    for edit in edits:
        places = [edit.kind] if edit.layers is None else [(edit.kind, n) for n in edit.layers]
        masks |= dict.fromkeys(places, edit.allowed)
    return Intervention(masks=masks)


def _checked(allowed: BoolArray) -> BoolArray:
    if allowed.ndim != 2 or allowed.dtype != np.bool_:
        raise ValueError(
            "A mask to keep in an address must be a boolean array of the shape (query, key); this "
            f"one is of {allowed.dtype} and of the shape {allowed.shape}."
        )
    if not allowed.size or max(allowed.shape) > MAX_LENGTH:
        raise ValueError(
            f"A mask to keep in an address has 1 to {MAX_LENGTH} queries and keys; this one is "
            f"{allowed.shape[0]} × {allowed.shape[1]}."
        )
    return allowed


def _inflate(text: str, size: int) -> bytes:
    """The inflated bytes, exactly `size` of them."""
    inflate = zlib.decompressobj(_RAW_DEFLATE)
    packed = text + "=" * (-len(text) % 4)
    try:
        # One byte more than expected reveals a text that is too long.
        inflated = inflate.decompress(base64.urlsafe_b64decode(packed), size + 1)
    except (ValueError, zlib.error):
        raise ValueError(UNREADABLE) from None
    if len(inflated) != size or not inflate.eof or inflate.unused_data:
        raise ValueError(UNREADABLE)
    return inflated


def _known_layers(layers: Iterable[int]) -> tuple[int, ...]:
    known = tuple(sorted(layers))
    if not known:
        raise ValueError("An edit needs at least one layer; None stands for all of them.")
    if known[0] < 0 or known[-1] > MAX_LAYER:
        wrong = known[0] if known[0] < 0 else known[-1]
        raise ValueError(
            f"Layers are counted from 0 and go up to {MAX_LAYER} at most; there is no layer "
            f"{wrong}."
        )
    if len(set(known)) < len(known):
        raise ValueError(f"An edit names each layer once; this one has {_write_layers(known)}.")
    return known


def _write_layers(layers: tuple[int, ...] | None) -> str:
    return _EVERY_LAYER if layers is None else ",".join(map(str, layers))


def _require_few(count: int) -> None:
    if count > MAX_EDITS:
        raise ValueError(f"There are {count:,} edited masks; an address holds {MAX_EDITS} at most.")


def _require_compatible(edits: tuple[Edit, ...]) -> None:
    """A mask for all layers may go with one for some layers, which takes precedence there."""
    _require_few(len(edits))
    for one, other in combinations(edits, 2):
        if one.kind != other.kind or (one.layers is None) != (other.layers is None):
            continue
        if one.layers is None or other.layers is None:
            raise ValueError(f"Two edited masks are for {one}; keep one of them.")
        shared = sorted(set(one.layers) & set(other.layers))
        if shared:
            raise ValueError(
                f"Two edited masks are for layer {shared[0]} of {one.kind} attention; keep one of "
                "them."
            )
