"""The numbers behind the pictures that show more than one head: as exact as they were recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.terms import EmbeddingParts
from model.trace import AttentionKind, AttentionMap, FloatArray, Site, Tokens, Trace
from viz.draw.labels import axis_texts
from viz.draw.panels import Panel
from viz.heads.measures import MEASURES
from viz.heads.reading import PADDING
from viz.masks.mask import Mask
from viz.masks.steps import FillLesson, Stages
from viz.positions import encoding as positions
from viz.positions.terms import NeighbourHead
from viz.save.export import Numbers

Axes = dict[str, Tokens | Sequence[int]]
Arrays = dict[str, tuple[tuple[str, ...], NDArray[Any]]]


def panels_numbers(panels: Sequence[Panel]) -> Numbers:
    """The values of panels, each under its title; of categories, what each cell is called.

    Where a panel hides cells, a second array says which it shows.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    for panel in panels:
        name = _free(_word(panel.title), arrays)
        cells = _cells(axes, panel.queries, panel.keys, name)
        if panel.scale == "category":
            arrays[name] = (cells, np.array(list(panel.names), dtype=np.str_)[panel.values])
            continue
        arrays[name] = (cells, panel.values)
        if panel.shown is not None:
            arrays[f"{name}_shown"] = (cells, panel.shown)
    return Numbers({}, axes, arrays)


def masks_numbers(masks: Mapping[str, Mask]) -> Numbers:
    """Where each of several masks lets attention look, and the reason where it does not.

    Args:
        masks: by a name that the arrays begin with.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    for name, mask in masks.items():
        cells = _cells(axes, mask.queries, mask.keys, name)
        arrays[f"{name}_allowed"] = (cells, mask.allowed)
        arrays[f"{name}_reason"] = (cells, mask.said)
    return Numbers({}, axes, arrays)


def kinds_numbers(maps: Sequence[AttentionMap], head: int) -> Numbers:
    """One head number of several kinds of attention of one layer, each over its own tokens.

    Raises:
        IndexError: if there is no such head.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    for seen in maps:
        kind, one = str(seen.site.kind), seen.head(head)
        cells = _cells(axes, seen.queries, seen.keys, kind)
        arrays[f"{kind}_weight"] = (cells, one.weights)
        arrays[f"{kind}_allowed"] = (cells, one.allowed)
    return Numbers({"layer": maps[0].site.layer, "head": head}, axes, arrays)


def stages_numbers(seen: AttentionMap, head: int, one: Stages) -> Numbers:
    """One head from its scores to its output; masked scores are missing where the mask forbids."""
    cells = ("query", "key")
    arrays: Arrays = {
        "allowed": (cells, one.allowed),
        "score": (cells, one.scores),
        "masked_score": (cells, one.masked),
        "weight": (cells, one.weights),
        "length_of_weight_times_v": (cells, one.contributions),
        "length_of_output": (("query",), one.outputs),
    }
    return Numbers(_of_head(seen.site, head), {"query": seen.queries, "key": seen.keys}, arrays)


def changes_numbers(maps: Mapping[str, AttentionMap], head: int) -> Numbers:
    """One head's weights in two passes of the same tokens, and how they differ.

    Args:
        maps: the first and the second by what the arrays are to be called, such as "before".
        head: counted from 0.

    Raises:
        IndexError: if there is no such head.
    """
    first, second = (seen.head(head) for seen in maps.values())
    cells = ("query", "key")
    arrays: Arrays = {}
    for name, one in zip(maps, (first, second), strict=True):
        arrays[f"weight_{name}"] = (cells, one.weights)
        arrays[f"allowed_{name}"] = (cells, one.allowed)
    arrays["difference"] = (cells, second.weights - first.weights)
    return Numbers(_of_head(first.site, head), {"query": first.queries, "key": first.keys}, arrays)


def log_probs_numbers(passes: Mapping[str, tuple[Tokens, FloatArray]]) -> Numbers:
    """The log-probability of each target token in several passes.

    Args:
        passes: tokens and their log-probabilities, by what the arrays are to be called.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    for name, (tokens, log_probs) in passes.items():
        axis = _axis(axes, "token", tokens, name)
        arrays[f"log_probability_{name}"] = ((axis,), log_probs)
    return Numbers({}, axes, arrays)


def grid_numbers(padded: Sequence[Trace]) -> Numbers:
    """The tokens of a batch, and which of them are padding."""
    arrays: Arrays = {}
    axes: Axes = {"in_batch": range(1, len(padded) + 1)}
    for side, rows in (
        ("source", [trace.source for trace in padded]),
        ("target", [trace.target for trace in padded]),
    ):
        axes[f"{side}_position"] = range(len(rows[0]))
        cells = ("in_batch", f"{side}_position")
        arrays[f"{side}_token"] = (cells, np.array([axis_texts(row) for row in rows], np.str_))
        is_padding = [[token == PADDING for token in row] for row in rows]
        arrays[f"{side}_is_padding"] = (cells, np.array(is_padding, dtype=np.bool_))
    return Numbers({}, axes, arrays)


def lesson_numbers(lesson: FillLesson, keys: Tokens) -> Numbers:
    """The softmax of one row in three ways; what is no number is missing."""
    return Numbers(
        {},
        {"key": keys},
        {
            "softmax_with_minus_infinity": (("key",), lesson.minus_infinity),
            "softmax_with_large_negative": (("key",), lesson.large_negative),
            "this_model": (("key",), lesson.model),
        },
    )


def facts_numbers(facts: Mapping[Site, Mapping[str, NDArray[np.floating[Any]]]]) -> Numbers:
    """The measures of every head, (layer, head) for each kind of attention.

    Args:
        facts: of viz.heads.measures.head_facts, by site.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    kinds = list(dict.fromkeys(site.kind for site in sorted(facts)))
    for kind in kinds:
        sites = [site for site in sorted(facts) if site.kind is kind]
        before = f"{kind}_" if len(kinds) > 1 else ""
        axes[f"{before}layer"] = [site.layer for site in sites]
        for measure in MEASURES:
            if kind in measure.kinds and all(measure.key in facts[site] for site in sites):
                values = np.stack([facts[site][measure.key] for site in sites])
                axes.setdefault("head", range(values.shape[1]))
                arrays[f"{before}{measure.key}"] = ((f"{before}layer", "head"), values)
    about: dict[str, str | int] = {"attention": str(kinds[0])} if len(kinds) == 1 else {}
    return Numbers(about, axes, arrays)


def likeness_numbers(table: FloatArray, *, cosine: bool) -> Numbers:
    """How alike every two positions of a table are."""
    alike = positions.likeness(table, cosine=cosine)
    cells = ("position", "other_position")
    places = range(len(alike))
    return Numbers({}, dict.fromkeys(cells, places), {_alike(cosine): (cells, alike)})


def offsets_numbers(table: FloatArray, *, cosine: bool) -> Numbers:
    """The same by how far apart two positions stand."""
    found = positions.by_offset(table, cosine=cosine)
    arrays = {"mean": found.mean, "least": found.low, "greatest": found.high}
    return Numbers(
        {},
        {"offset": found.offsets.tolist()},
        {f"{name}_{_alike(cosine)}": (("offset",), values) for name, values in arrays.items()},
    )


def parts_numbers(parts: EmbeddingParts) -> Numbers:
    """Word, scaled word, position and their sum, (token, dimension)."""
    cells = ("token", "dimension")
    arrays = {
        "word": parts.word,
        "scaled": parts.scaled,
        "position": parts.position,
        "sum": parts.sum,
    }
    return Numbers(
        {},
        {"token": parts.tokens, "dimension": range(parts.sum.shape[1])},
        {name: (cells, values) for name, values in arrays.items()},
    )


def terms_numbers(shares: Mapping[str, NDArray[np.float64]]) -> Numbers:
    """Which share of each head's scores comes from each term."""
    n_heads = len(next(iter(shares.values())))
    return Numbers(
        {"attention": str(AttentionKind.ENCODER), "layer": 0},
        {"head": range(n_heads)},
        {f"share_{name}": (("head",), share) for name, share in shares.items()},
    )


def neighbours_numbers(heads: Sequence[NeighbourHead]) -> Numbers:
    """Where heads of neighbours are, and their shares before and after an edit."""
    rows = ("rank",)
    columns: dict[str, NDArray[Any]] = {
        "attention": np.array([str(each.site.kind) for each in heads], dtype=np.str_),
        "layer": np.array([each.site.layer for each in heads], dtype=np.int64),
        "head": np.array([each.head for each in heads], dtype=np.int64),
        "neighbour": np.array([each.neighbour for each in heads], dtype=np.str_),
        "share_before": np.array([each.before for each in heads], dtype=np.float64),
        "share_after": np.array([each.after for each in heads], dtype=np.float64),
    }
    arrays = {name: (rows, values) for name, values in columns.items()}
    return Numbers({}, {"rank": range(1, len(heads) + 1)}, arrays)


def distances_numbers(tokens: Tokens, distances: Mapping[str, NDArray[Any]]) -> Numbers:
    """How far the encoder's row of each token moved, by what was done."""
    arrays = {f"distance_{_word(name)}": (("token",), values) for name, values in distances.items()}
    return Numbers({}, {"token": tokens}, arrays)


def _cells(axes: Axes, queries: Tokens, keys: Tokens, name: str) -> tuple[str, str]:
    return _axis(axes, "query", queries, name), _axis(axes, "key", keys, name)


def _axis(axes: Axes, usual: str, tokens: Tokens, name: str) -> str:
    """The name of an axis of these tokens: the usual one while all arrays share it."""
    if axes.setdefault(usual, tokens) == tokens:
        return usual
    axes[f"{name}_{usual}"] = tokens
    return f"{name}_{usual}"


def _of_head(site: Site, head: int) -> dict[str, str | int]:
    return {"attention": str(site.kind), "layer": site.layer, "head": head}


def _alike(cosine: bool) -> str:
    return "cosine" if cosine else "dot_product"


def _word(title: str) -> str:
    """A title as the name of an array: letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "values"


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number behind it if it is taken."""
    number = 1
    while (free := name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    return free
