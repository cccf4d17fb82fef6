"""A value on the way to attention: where it came from, and what it may be."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from model.brief import Brief
from model.watch.axes import Axes, Dim, Piece, View, axes_met
from model.watch.call_sites import CallSite, Spot
from model.watch.columns import ColumnOrder, Layout
from model.watch.site_edit import SiteEdit


@dataclass(eq=False)
class Product(Brief):
    """A batched product that may become scores: QKᵀ, or its transpose where einsum turned it.

    The factors are (batch, row, width) and (batch, width, column), or without a batch, with what is
    known of both and where their axes come from.
    """

    left: Tensor
    right: Tensor
    nodes: tuple[Node, Node]
    views: tuple[View, View]
    is_parameter: Callable[[int | None], bool]

    @cached_property
    def dims(self) -> tuple[Dim, Dim, Dim]:
        """Batch, rows and columns."""
        return axes_met(self.views, self._matrix, self.is_parameter)

    @property
    def width(self) -> Dim:
        """The axes summed over."""
        return self.views[0].dims[-1]

    @property
    def _matrix(self) -> int | None:
        """The factor that no operation made; None if both or neither were made."""
        left, right = (node.made for node in self.nodes)
        return None if left == right else int(left)


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Brief):
    """A tensor on its way to a softmax.

    Attributes:
        product: the product it began as; None if it did not.
        summed: the queries and keys that additive attention added, if it began so.
        unmasked: the scores before the first mask, with their columns; None if there was no mask.
        masks: the keys that each mask allows, with the shape of its scores and their columns.
    """

    product: Product | None = None
    summed: tuple[Node, Node] | None = None
    unmasked: tuple[Tensor, ColumnOrder] | None = None
    masks: tuple[tuple[Tensor, torch.Size, ColumnOrder], ...] = ()


@dataclass(slots=True, eq=False)
class Softmax:
    """A softmax that ran, and the reason why it counts as no attention; None once it does.

    `key` and `run` are those of its spot.
    """

    place: CallSite
    shape: tuple[int, ...]
    reason: str | None
    key: Hashable
    run: int | None


@dataclass(slots=True, eq=False)
class Candidate(Brief):
    """The output of a softmax, until it meets values or is dropped.

    Attributes:
        weights: after the softmax and before dropout; None once they were taken.
        scores: before the softmax and before masks; None if not known.
        columns: of what the softmax was given.
        origin: what the scores were made of.
        spot: where in the model the softmax ran.
        softmax: what will be said of it.
        view: where its axes come from.
        given: what the softmax was given, where no mask is known; None once it was written over.
        edit: what is done to it; None for nothing.
        allowed: the mask of edited weights.
    """

    weights: Tensor | None
    scores: Tensor | None
    columns: ColumnOrder
    origin: Scores
    spot: Spot
    softmax: Softmax
    view: View
    given: Tensor | None = None
    edit: SiteEdit | None = None
    allowed: Tensor | None = None


@dataclass(slots=True, eq=False)
class Node(Brief):
    """The knowledge about one storage.

    Attributes:
        number: of the numbers in it; copies and casts keep it.
        reads: numbers of what the linear maps on the way to it read, the last first.
        made: whether an operation that was seen made it, unlike parameters and inputs.
        factor: the numbers that it was multiplied with as a whole since the last linear map.
        scores: set on its way to a softmax.
        candidate: the weights it holds.
        mixed: weights times values, before they are summed: the candidate and both factors.
        axes: where its axes come from.
        mapped: whether a linear map made it.
        changed: how weights were changed since their softmax: "dropout", "scaled" or "changed".
        noise: whether it was drawn at random, as dropout's mask is.
        events: a bit for each call of attention and each text that its numbers depend on.
        rows: how many rows the last linear map read, if these are all of a tensor; else 0.
        root: the number of the tensor that it began as, an input or a parameter; its own if none.
        layout: where the columns of its last axis come from.
    """

    number: int
    reads: tuple[int, ...] = ()
    made: bool = True
    factor: float = 1.0
    scores: Scores | None = None
    candidate: Candidate | None = None
    mixed: tuple[Candidate, Tensor, Tensor] | None = None
    axes: Axes | None = None
    mapped: bool = False
    changed: str | None = None
    noise: bool = False
    events: int = 0
    rows: int = 0
    root: int = -1
    layout: Layout | None = field(default=None, repr=False)
    alive: StorageWeakRef | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.root < 0:
            self.root = self.number

    def axes_of(self, x: Tensor) -> tuple[Dim, ...]:
        """The axes of one of its views."""
        assert self.axes is not None
        return View.of(x, self.axes).dims

    @property
    def as_piece(self) -> Piece:
        """What it is as a part of a larger tensor, of length 0."""
        return Piece(0, self.root, self.events, set(self.reads) <= {self.root})

    @property
    def source(self) -> int:
        """The number of what the last linear map on the way to it read."""
        return self.reads[0] if self.reads else self.number

    @property
    def leads(self) -> bool:
        """Whether it may be on its way to attention."""
        return self.scores is not None or self.candidate is not None

    def follows(self, other: Node) -> bool:
        """Whether it comes from the same product or softmax as another one."""
        if self.candidate is not None or other.candidate is not None:
            return self.candidate is other.candidate
        mine, theirs = self.scores, other.scores
        if mine is None or theirs is None or mine is theirs:
            return mine is theirs
        product = mine.product
        if product is not None or theirs.product is not None:
            return product is theirs.product
        return mine.summed is not None and mine.summed == theirs.summed

    def columns(self, x: Tensor) -> ColumnOrder:
        """The columns of one of its views."""
        return None if self.layout is None else self.layout.columns(x)

    def move(self, columns: ColumnOrder) -> None:
        """Say which columns stand along its last axis."""
        assert self.layout is not None
        self.layout = self.layout._replace(moved=columns)

    @property
    def lineage(self) -> tuple[int, ...]:
        """The ancestors of a pointwise function of it."""
        return self.reads or (self.number,)

    @property
    def origins(self) -> frozenset[int]:
        """This node and all its ancestors."""
        return frozenset((self.number, *self.reads))
