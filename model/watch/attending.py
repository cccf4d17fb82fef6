"""Weights times values: one call of an attention, in the shape (batch, head, query, key)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from model.record.sentence_map import AttentionRecord
from model.watch.arrangement import Arrangement, arranged
from model.watch.axes import Dim, parts_of
from model.watch.call_sites import Spot, storage_of
from model.watch.columns import Extra, aligned, extra_keys
from model.watch.handler import Recorder
from model.watch.keys import Keys, keys_met
from model.watch.masks import far_above
from model.watch.node import Candidate, Node, Product, Scores
from model.watch.site_edit import SiteEdit

_SUM_OFF = 1e-3
"""The tolerance for rows of weights that add up to 1, as half precision needs."""


def attend(mode: Recorder, node: Node, weights: Tensor, values: Tensor, output: Tensor) -> None:
    """Record a candidate that is multiplied with values, and do to the product what is asked.

    The node's candidate is what a softmax made; the weights came here as (…, query, key). Values
    are (…, key, d_v), and the output is their product or a view of it, which is edited in place.
    """
    candidate = node.candidate
    assert candidate is not None
    made, edit = candidate.weights, candidate.edit
    if made is None:
        if edit is not None and edit.of_output:
            raise edit.hidden("a module that uses its weights twice", "set its weights instead")
        return
    n_keys = made.shape[-1]
    if mode.places.is_parameter(values.untyped_storage()._cdata) and weights.shape[-1] != n_keys:
        candidate.softmax.reason = (
            "a learned matrix mixes its heads before they meet values (talking heads), so that no "
            "map is that of one head"
        )
        return
    keys: Keys | str = "what is summed with its weights is not the axis it runs over"
    if weights.shape[-1] <= n_keys and not _is_turned(candidate, node, weights, made):
        keys = _keys(mode, candidate, node, weights, made)
    arrangement: Arrangement | str = "it mixes rows of a parameter, as a soft lookup does"
    if not _is_parameter(values, candidate.spot):
        usual = _heads_apart(made, weights, candidate.spot.n_heads)
        arrangement = _arrangement(mode, candidate, made, usual)
    if isinstance(keys, str) or isinstance(arrangement, str):
        if edit is not None:
            raise edit.hidden("a module in which it was found to be no attention", "leave it out")
        candidate.softmax.reason = keys if isinstance(keys, str) else str(arrangement)
        return
    candidate.weights = None
    candidate.softmax.reason = None
    shape = arrangement.shape
    if edit is not None and edit.of_output:
        _require_as_made(edit, keys.made_of(made), weights)
        if not arrangement.plain:
            raise edit.hidden("a module that keeps heads before its batch", "set its weights")
        edit_output(edit, output, shape[:3])
    doubts = list(arrangement.doubts)
    acting, notes = _acting(candidate, node, made, weights, keys)
    if edit is not None and edit.of_weights and notes:
        raise edit.hidden(
            "a module that changes its weights before they meet values, so that the edit would "
            "not stand",
            "change the model's own code",
        )
    doubts += notes
    if not mode.log.wants(candidate.spot):
        return
    q, k, nodes = _queries_and_keys(candidate, arrangement)
    v = _heads_of(values, arrangement)
    first, end = keys.reached
    if v is not None and v.shape[2] == end - first < n_keys:
        # What takes a share of every row and gives nothing.
        v = F.pad(v, (0, 0, first, n_keys - end))
    allowed = candidate.allowed
    if allowed is None:
        allowed = _allowed(candidate, arrangement)
    weights = _straight(keys.text_first(acting), arrangement)
    scores = None if mode.log.keeping is not None else candidate.scores
    record = AttentionRecord(
        # What is kept goes to a file before the model's next operation.
        weights=_copied(weights, arrangement)
        if mode.log.keeping is None
        else arrangement.laid_out(weights.detach(), *shape[2:]),
        scores=_copied(_straight(keys.text_first(scores), arrangement), arrangement)
        if scores is not None and scores.shape == made.shape
        else None,
        q=q,
        # Added columns have no key.
        k=None if k is None or not keys.of_one else keys.text_first(k, 2),
        v=None if v is None else keys.text_first(v, 2),
        allowed=None if allowed is None else keys.text_first(allowed),
        extra_keys=keys.names,
        extra_before=keys.before,
    )
    mode.log.add_call(candidate.spot, record, nodes, tuple(doubts), splits=arrangement.splits)
    if mode.log.keeping is not None:
        # One layer of a long text is enough in memory.
        candidate.scores = candidate.given = None
        candidate.origin = Scores()
        mode.lineage.sweep()


def _keys(
    mode: Recorder, candidate: Candidate, node: Node, weights: Tensor, made: Tensor
) -> Keys | str:
    product = candidate.origin.product
    n_keys, extra = None, None
    if product is not None:
        sides = (
            (product.nodes[0], product.views[0].dims[-2]),
            (
                product.nodes[1],
                product.views[1].dims[-1],
            ),
        )
        n_keys = product.right.shape[-1]
        if _swapped(product, candidate):
            sides, n_keys = (sides[1], sides[0]), product.left.shape[-2]
        extra = extra_keys_of(mode, candidate.spot, *sides)
    return keys_met(made, candidate.columns, node.columns(weights), n_keys, extra)


def extra_keys_of(
    mode: Recorder, spot: Spot, queries: tuple[Node, Dim], keys: tuple[Node, Dim]
) -> Extra | None:
    """The keys that are no tokens, by what queries and keys were put together of."""
    (of_queries, rows), (of_keys, columns) = queries, keys
    parts = parts_of(columns)
    of_rows = parts_of(rows) or (of_queries.as_piece,)
    is_self = bool(of_queries.origins & of_keys.origins)
    texts = mode.log.roots_of(spot, {part.root for part in of_rows}) if is_self else set()
    if parts == of_rows:
        return None

    def kind_of(root: int) -> str:
        address = mode.lineage.address(root)
        if address is None:
            return "constant"
        return "parameter" if mode.places.is_parameter(address) else "input"

    return extra_keys(parts, texts, of_queries.events, kind_of)


def _arrangement(
    mode: Recorder, candidate: Candidate, made: Tensor, usual: tuple[int, int, int, int]
) -> Arrangement | str:
    product = candidate.origin.product
    return arranged(
        made.shape,
        candidate.view.dims,
        usual,
        candidate.spot.n_heads,
        mode.n_heads(candidate.spot),
        () if product is None else product.width,
        mode.places.is_parameter,
        product is not None or candidate.origin.summed is not None,
    )


def _straight(x: Tensor, arrangement: Arrangement) -> Tensor:
    """(…, query, key), with heads before queries."""
    return x.transpose(1, 2) if arrangement.turned else x


def _acting(
    candidate: Candidate, node: Node, made: Tensor, weights: Tensor, keys: Keys
) -> tuple[Tensor, tuple[str, ...]]:
    """The weights that reach the values, and remarks about them."""
    if node.changed in (None, "dropout"):
        return made, ()
    if node.changed == "scaled":
        return made, ("weights were multiplied with a number between softmax and product",)
    expected = keys.made_of(made)
    changed = "weights changed between softmax and product"
    if weights.numel() != expected.numel():
        return made, (f"{changed}; those of the softmax are shown",)
    reached = weights.reshape(expected.shape)
    if _equal(reached, expected):
        return made, ()
    dims = [dim for dim in node.axes_of(weights) if dim]
    before = [dim for dim in candidate.view.dims if dim]
    if weights.shape != made.shape and [len(dim) for dim in dims] != [len(dim) for dim in before]:
        lines = [line.root for dim in dims for _, line in dim]
        if lines != [line.root for dim in before for _, line in dim]:
            return made, (f"{changed}; those of the softmax are shown",)
    if weights.shape[-1] < made.shape[-1]:
        first, end = keys.reached
        reached = torch.cat([made[..., :first], reached.to(made.dtype), made[..., end:]], dim=-1)
    return reached.clone(), (f"{changed}; shown are those that reach the values",)


def edit_weights(candidate: Candidate, scores: Tensor) -> None:
    """Write other weights over what a softmax made of scores; errors as `SiteEdit.new_weights`."""
    made, edit = candidate.weights, candidate.edit
    assert made is not None
    assert edit is not None
    shape = _heads_apart(made, made, candidate.spot.n_heads)
    unmasked = None if candidate.scores is None else candidate.scores.reshape(*shape[:3], -1)
    plain = Arrangement(shape, shape[:2], (0, 1))
    weights, candidate.allowed = edit.new_weights(
        made.reshape(shape), scores.reshape(shape), unmasked, _allowed(candidate, plain)
    )
    made.copy_(weights.reshape(made.shape))


def edit_output(edit: SiteEdit, output: Tensor, shape: tuple[int, int, int]) -> None:
    """Change the heads' outputs at one place, in place; shape is (batch, head, query)."""
    heads = output.reshape(*shape, -1)
    edit.change_output(heads)
    if heads.untyped_storage()._cdata != output.untyped_storage()._cdata:
        output.copy_(heads.reshape(output.shape))


def _require_as_made(edit: SiteEdit, made: Tensor, weights: Tensor) -> None:
    """Which rows are a head's is only known of weights that stand as the softmax made them."""
    if made.numel() != weights.numel() or not _equal(weights.reshape(made.shape), made):
        raise edit.hidden(
            "a module that changes weights between softmax and values, as dropout does",
            "call model.eval() first, or set its weights instead",
        )


def _equal(weights: Tensor, made: Tensor) -> bool:
    """Whether weights are what the softmax made, NaN included."""
    made = made.to(weights.dtype)
    return torch.equal(weights, made) or torch.equal(weights.nan_to_num(2), made.nan_to_num(2))


def suspect(mode: Recorder, left: Tensor) -> None:
    """Note a left factor that looks like weights, although no softmax made it."""
    if left.shape[-1] < 2 or not left.is_floating_point() or left.numel() == 0:
        return
    # One row is enough to exclude most.
    row = left[(0,) * (left.dim() - 1)]
    if abs(float(row.sum()) - 1) > _SUM_OFF:
        return
    sums = left.sum(dim=-1)
    if bool((left >= 0).all()) and bool((abs(sums - 1) <= _SUM_OFF).all()):
        mode.log.add_suspicion(mode.places.here().place, tuple(left.shape))


def _is_turned(candidate: Candidate, node: Node, weights: Tensor, made: Tensor) -> bool:
    """Whether the product sums over queries: its factor is the transpose of the weights."""
    if weights.untyped_storage()._cdata != made.untyped_storage()._cdata:
        before = [{id(line) for _, line in dim} for dim in candidate.view.dims]
        summed = {id(line) for _, line in node.axes_of(weights)[-1]}
        return len(before) > 1 and bool(summed) and summed <= before[-2] and not summed & before[-1]
    rows, keys = weights.shape[-2:]
    return rows > 1 and keys > 1 and weights.stride(-1) > weights.stride(-2)


def _is_parameter(values: Tensor, spot: Spot) -> bool:
    if spot.module is None:
        return False
    return storage_of(values) in map(storage_of, spot.module.parameters())


def _heads_apart(made: Tensor, weights: Tensor, n_heads: int | None) -> tuple[int, int, int, int]:
    """The shape (batch, head, query, key) of a softmax's output.

    With three axes the first holds batch and heads, sentence by sentence, where the module says
    how many heads it has, and else the batch alone.
    """
    *leading, n_queries, n_keys = made.shape if made.dim() > 1 else (1, *made.shape)
    match leading:
        case []:
            # One query a sentence, where the product takes them so.
            if weights.dim() == 3 and weights.shape[-2] == 1 and weights.shape[0] == n_queries:
                return n_queries, 1, 1, n_keys
            return 1, 1, n_queries, n_keys
        case [n]:
            heads = n_heads if n_heads is not None and n % n_heads == 0 else 1
            return n // heads, heads, n_queries, n_keys
        case [batch, *heads]:
            return batch, torch.Size(heads).numel(), n_queries, n_keys
    raise AssertionError(leading)


def _queries_and_keys(
    candidate: Candidate, arrangement: Arrangement
) -> tuple[Tensor | None, Tensor | None, tuple[Node, Node] | None]:
    origin = candidate.origin
    product = origin.product
    if product is None:
        return None, None, origin.summed
    left, right = product.left, product.right.transpose(-2, -1)
    of_left, of_right = product.nodes
    if _swapped(product, candidate):
        left, right, of_left, of_right = right, left, of_right, of_left
    batch, heads, n_queries, _ = arrangement.shape
    if (left.shape[-2], left.numel()) != (n_queries, batch * heads * n_queries * left.shape[-1]):
        return None, None, origin.summed
    if arrangement.turned:
        return None, None, (of_left, of_right)
    q, k = _copied(left, arrangement), _heads_of(right, arrangement)
    # Models scale before or after the product; the scores show which.
    for x, node in ((q, of_left), (k, of_right)):
        if x is not None and node.factor != 1:
            x /= node.factor
    return q, k, (of_left, of_right)


def _swapped(product: Product, candidate: Candidate) -> bool:
    """Whether the product was KQᵀ, which einsum transposes by strides."""
    scores = candidate.weights if candidate.scores is None else candidate.scores
    if scores is None or scores.dim() < 2:
        return False
    sides = {line.side for _, line in candidate.view.dims[-1]}
    if sides in ({0}, {1}):
        return sides == {0}
    rows, columns = scores.shape[-2:]
    if rows == columns:
        return scores.stride(-1) > scores.stride(-2) and rows > 1
    return (product.left.shape[-2], product.right.shape[-1]) == (columns, rows)


def _heads_of(x: Tensor, arrangement: Arrangement) -> Tensor | None:
    """Keys or values as (batch, head, key, width); None if they are arranged otherwise."""
    batch, heads, _, n_keys = arrangement.shape
    width, length = x.shape[-1], x.shape[-2]
    if arrangement.turned or length > n_keys or x.numel() != batch * heads * length * width:
        return None
    return _copied(x, arrangement)


def _allowed(candidate: Candidate, arrangement: Arrangement) -> Tensor | None:
    joint: Tensor | None = None
    shape = arrangement.shape
    if not candidate.origin.masks:
        # A mask may arrive in ways that are not followed, such as by index; its effect shows it.
        given = candidate.given
        if given is None or given.numel() != torch.Size(shape).numel():
            return None
        above = far_above(given)
        uniform = bool((above == above[..., :1]).all()) and not bool(given.isneginf().any())
        if uniform or bool(above.all()):
            return None
        return arrangement.laid_out(_straight(above, arrangement), *shape[2:]).clone()
    for allowed, met, columns in candidate.origin.masks:
        by_head = allowed
        if (
            len(met) != 4
            or met[-1] != shape[-1]
            or columns != candidate.columns
            or not arrangement.plain
            or met[:2] != shape[:2]
        ):
            # Columns that no mask has covered may be attended to.
            free = allowed.new_ones(*met[:-1], shape[-1])
            known = aligned(allowed.expand(met), columns, candidate.columns, free)
            if known is None or known.numel() != torch.Size(shape).numel():
                return None
            by_head = known
            if arrangement.turned:
                by_head = by_head.reshape(shape[0], shape[2], shape[1], shape[3]).transpose(1, 2)
            by_head = arrangement.laid_out(by_head, *shape[2:])
        joint = by_head.clone() if joint is None else joint & by_head
    return joint


def _copied(x: Tensor, arrangement: Arrangement) -> Tensor:
    """A copy, because the model's next operation may overwrite the tensor."""
    rows = x.shape[-2] if x.dim() > 1 else 1
    if x.numel() != arrangement.shape[0] * arrangement.shape[1] * rows * x.shape[-1]:
        rows = arrangement.shape[2]
    shaped = arrangement.laid_out(x.detach(), rows, x.shape[-1])
    if shaped.untyped_storage()._cdata == x.untyped_storage()._cdata:
        return shaped.clone()
    return shaped
