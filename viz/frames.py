"""Values as pandas tables: one head as a matrix, all else in long form, a row a number."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.contrast.results import Contrast, LogitTerms
from model.explain.ablation_results import Effects
from model.explain.attribution import Attributions
from model.explain.head_averages import HeadAverages
from model.explain.head_rules import RulesByHead
from model.patching.results import CausalTrace, Patched
from model.survey.corpus_survey import CorpusSurvey, Rules
from model.survey.sentence_index import FoundSentences
from model.trace.attention_map import AttentionMap, HeadAttention, Site, Tokens
from model.trace.head import Head
from model.trace.provenance import UNKNOWN
from model.trace.trace import Trace
from model.trace.translation import Decoding


def frame(value: Any) -> pd.DataFrame:
    """A value as a table, as its own `frame` describes it; `attrs` say where it comes from."""
    table = _table(value)
    table.attrs |= getattr(value, "provenance", UNKNOWN).texts
    return table


@singledispatch
def _table(value: Any) -> pd.DataFrame:
    raise TypeError(f"There is no table of a {type(value).__name__}.")


@_table.register
def _(head: HeadAttention) -> pd.DataFrame:
    return pd.DataFrame(
        head.weights,
        index=pd.Index(head.queries.tokens, name="query"),
        columns=pd.Index(head.keys.tokens, name="key"),
    )


@_table.register
def _(trace: Trace) -> pd.DataFrame:
    return _joined(map(_weights, trace.maps.values()))


@_table.register
def _(found: Effects) -> pd.DataFrame:
    axes = {"head": None, "position": ("token", found.predictions)}
    return _joined(
        _of_site(site) | _long(losses, axes) | {"loss": losses.ravel()}
        for site, losses in found.losses.items()
    )


@_table.register
def _(found: HeadAverages) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for site, means in found.mean.items():
        for number in range(len(means)):
            partner = found.partners.get(Head(site, number))
            other = (
                {"other_layer": partner.site.layer, "other_head": partner.number} if partner else {}
            )
            ends = {
                name: getattr(found, name)[site][number]
                for name in ("mean", "error", "low", "high")
            }
            rows.append(_columns(Head(site, number)) | other | ends | {"texts": len(found.texts)})
    return pd.DataFrame(rows)


@_table.register
def _(found: Attributions) -> pd.DataFrame:
    columns = []
    for each in found.maps:
        site = each.site
        queries, keys = (
            (found.target, found.source)
            if site is None
            else site.kind.axes(found.source, found.target, Tokens())
        )
        axes = {"query_position": ("query", queries), "key_position": ("key", keys)}
        of_site = {"kind": None, "layer": None} if site is None else _of_site(site)
        columns += [
            {"method": each.method, **of_site, "head": head}
            | _long(each.of(head), axes)
            | {"value": each.of(head).ravel()}
            for head in (None, *range(len(each.heads)))
        ]
    return _joined(columns).astype({"layer": "Int64", "head": "Int64", "kind": object})


@_table.register
def _(found: Contrast) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        _columns(Head(site, head)) | _two_words(pair, found.likeliest[site].tokens[head])
        for site, pairs in found.without.items()
        for head, pair in enumerate(pairs)
    ]
    rows += [
        {"position": place, "token": found.source.tokens[place]}
        | _two_words(pair, found.likeliest_deleted.tokens[place])
        for place, pair in enumerate(found.deleted)
    ]
    table = pd.DataFrame(rows).astype(dict.fromkeys(("layer", "head", "position"), "Int64"))
    table["loss"] = found.difference - (table["word"] - table["other"])
    return table


def _two_words(log_probs: NDArray[Any], likeliest: str) -> dict[str, Any]:
    return {"word": log_probs[0], "other": log_probs[1], "likeliest": likeliest}


@_table.register
def _(found: LogitTerms) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [{"part": "embedding", "value": found.embedding}]
    for part, by_site in (("decoder", found.decoder), ("cross", found.cross)):
        for site, values in by_site.items():
            for place, value in np.ndenumerate(values):
                at = dict(zip(("head", "position"), place, strict=False))
                rows.append({"part": part, "layer": site.layer, **at, "value": value})
    rows += [
        {"part": "feed_forward", "layer": layer, "value": value}
        for layer, value in enumerate(found.feed_forward)
    ]
    rows.append({"part": "biases", "value": found.biases})
    columns = ["part", "layer", "head", "position", "value"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:4], "Int64"))


@_table.register
def _(found: Patched) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "position": range(len(found.predictions)),
            "token": found.predictions.tokens,
            "own": found.log_probs,
            "other": found.other_log_probs,
            "patched": found.patched_log_probs,
        }
    )


@_table.register
def _(found: CausalTrace) -> pd.DataFrame:
    predicted = {"predicted_position": ("predicted", found.predictions)}
    return _joined(
        {"side": side, "stage": str(stage)}
        | _long(values, {"position": ("token", tokens), **predicted})
        | {"log_prob": values.ravel()}
        for side, tokens in (("encoder", found.source), ("decoder", found.target))
        for stage, values in getattr(found, side).items()
    )


@_table.register
def _(found: RulesByHead) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **_columns(head),
            **{name: getattr(each, name) for name in _OF_RULES},
            "said": ", ".join(each.said.names),
            "rule": ", ".join(each.rule.names),
        }
        for head, each in found.items()
    )


@_table.register
def _(rules: Rules) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **_columns(head),
            "rule": ", ".join(each.weights.rules),
            "overlap": each.overlap,
            "cost": each.cost.mean,
            "error": each.cost.error,
        }
        for head in rules.order
        for each in [rules.heads[head]]
    )


@_table.register
def _(found: FoundSentences) -> pd.DataFrame:
    rows = [(number, found.sources[number], does.name.lower()) for number, does in found.found]
    return pd.DataFrame(rows, columns=["number", "sentence", "does"])


@_table.register
def _(decoding: Decoding) -> pd.DataFrame:
    table = pd.DataFrame(map(asdict, decoding.nodes)).rename_axis("node").reset_index()
    return table.astype(dict.fromkeys(("parent", "ended", "rank"), "Int64"))


@_table.register
def _(survey: CorpusSurvey) -> pd.DataFrame:
    rows = []
    for head in survey.places:
        profile, label = survey.of(head), survey.label(head)
        rows.append(
            {
                **_columns(head),
                "label": label.text if label and label.says else "",
                **{name: measure.mean for name, measure in profile.measures.items()},
                "loss": profile.effect.mean,
                "error": profile.effect.error,
            }
        )
    return pd.DataFrame(rows)


_OF_RULES = ("right", "low", "high", "position", "said_overlap", "overlap", "shuffled", "cost")


def _columns(head: Head) -> dict[str, Any]:
    return {**_of_site(head.site), "head": head.number}


def _of_site(site: Site) -> dict[str, Any]:
    return {"kind": site.kind.value, "layer": site.layer}


def _weights(attention: AttentionMap) -> dict[str, Any]:
    axes = {
        "head": None,
        "query_position": ("query", attention.queries),
        "key_position": ("key", attention.keys),
    }
    weights = attention.weights
    return {
        **_of_site(attention.site),
        **_long(weights, axes),
        "weight": weights.ravel(),
        "allowed": np.broadcast_to(attention.allowed, weights.shape).ravel(),
    }


def _long(values: NDArray[Any], axes: Mapping[str, tuple[str, Tokens] | None]) -> dict[str, Any]:
    """Columns of a table, a row a value: its position on each axis, and the token there."""
    columns: dict[str, Any] = {}
    for (position, named), places in zip(axes.items(), np.indices(values.shape), strict=True):
        columns[position] = places.ravel()
        if named is not None:
            columns[named[0]] = np.array(named[1].tokens, dtype=object)[places.ravel()]
    return columns


def _joined(columns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    frames = [pd.DataFrame(each) for each in columns]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
