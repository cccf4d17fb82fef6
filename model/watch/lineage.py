"""The ancestry of each tensor while a model runs, by its storage.

Views share a storage and so need no entry. A storage's address is reused after its end; an entry
holds a weak reference, which keeps the address and not the numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from model.watch.axes import Axes, View, outside, unknown
from model.watch.axes import made as made_of
from model.watch.columns import Layout
from model.watch.node import Node

NO_VALUES = "what it made was multiplied with no values"
"""The reason why a softmax does not count, until it meets values."""
N_READ = 2
"""The number of linear maps to look back; low-rank projections use two on the way to q and k."""


class Lineage:
    """The nodes of all living storages seen so far."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._numbers = itertools.count()
        self._outside: dict[int, int] = {}
        self._sweep_at = 2048

    def known(self, x: Tensor) -> Node | None:
        """A tensor's node; None if it was never seen."""
        return self._nodes.get(x.untyped_storage()._cdata)

    def of(self, x: Tensor) -> Node:
        """A tensor's node; one never seen comes from outside."""
        node = self.known(x)
        if node is None:
            node = self.put(x, Node(next(self._numbers), made=False), outside(x))
            self._outside[node.number] = x.untyped_storage()._cdata
        return node

    def address(self, root: int) -> int | None:
        """The address of a tensor from outside; None for one that is made of nothing."""
        return self._outside.get(root)

    def view(self, x: Tensor) -> View:
        """A tensor's axes."""
        axes = self.of(x).axes
        assert axes is not None
        return View.of(x, axes)

    def read_by(self, operands: Iterable[Tensor]) -> tuple[list[Node], list[View]]:
        """The nodes of all tensors that an operation reads."""
        nodes, views = [], []
        for x in operands:
            node = self.of(x)
            assert node.axes is not None
            nodes.append(node)
            views.append(View.of(x, node.axes))
        return nodes, views

    def events(self, operands: Iterable[Any]) -> int:
        """The calls and texts that any of an operation's operands depends on.

        Whole numbers depend on none: tokens chosen by a model are another text.
        """
        found = 0
        for x in operands:
            if isinstance(x, Tensor):
                if x.is_floating_point() and x.layout is torch.strided:
                    node = self.known(x)
                    found |= 0 if node is None else node.events
            elif type(x) in (list, tuple):
                found |= self.events(x)
        return found

    def add_events(self, results: Any, events: int) -> None:
        """Let an operation's results depend on calls and texts."""
        if isinstance(results, Tensor):
            if results.is_floating_point() and results.layout is torch.strided:
                node = self.known(results)
                if node is None:
                    axes = Axes(tuple) if results.is_nested else outside(results)
                    node = self.put(results, Node(next(self._numbers), made=False), axes)
                node.events |= events
        elif isinstance(results, (list, tuple)):
            for each in results:
                self.add_events(each, events)

    def fresh(self, root: int = -1) -> Node:
        """A node without known ancestors, but with the number of what it began as."""
        return Node(next(self._numbers), root=root)

    def follow(self, parent: Node) -> Node:
        """The node of a pointwise function of another; it inherits the other's role."""
        return Node(
            next(self._numbers),
            parent.lineage,
            parent.made,
            scores=parent.scores,
            candidate=parent.candidate,
            changed=parent.changed,
            noise=parent.noise,
            rows=parent.rows,
            root=parent.root,
        )

    def read(self, parent: Node, x: Tensor) -> Node:
        """The node of a linear map of another, which reads the rows of x."""
        reads = (parent.number, *parent.reads)[:N_READ]
        rows = prod(x.shape[:-1])
        if parent.layout is None or prod(parent.layout.shape[:-1]) != rows:
            rows = 0
        return Node(next(self._numbers), reads, mapped=True, rows=rows, root=parent.root)

    def put(self, x: Tensor, node: Node, axes: Axes | None = None) -> Node:
        """Keep a node for a tensor's storage; axes are None where they are not known."""
        if axes is None:
            shape = tuple(x.shape)
            axes = made_of(x, lambda: map(unknown, shape), ())
        node.axes = axes
        storage = x.untyped_storage()
        written = self._nodes.get(storage._cdata)
        if written is not None:
            node.layout = written.layout
        elif not x.is_nested:
            node.layout = Layout.of(x)
        node.alive = StorageWeakRef(storage)
        self._nodes[storage._cdata] = node
        if len(self._nodes) > self._sweep_at:
            self.sweep()
        return node

    def sweep(self) -> None:
        """Forget storages that are gone, with the scores known of them."""
        self._nodes = {
            key: each
            for key, each in self._nodes.items()
            if each.alive is not None and not each.alive.expired()
        }
        self._sweep_at = max(2048, 2 * len(self._nodes))
