"""Values as pandas tables: one head as a matrix, all else in long form, a row a number."""

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
from model.trace.attention_map import AttentionMap, HeadAttention, Tokens
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
    frames = [_site_frame(attention) for attention in trace.maps.values()]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


@_table.register
def _(found: Effects) -> pd.DataFrame:
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "kind": site.kind.value,
                    "layer": site.layer,
                    "head": heads,
                    "position": tokens,
                    "token": _named(found.predictions)[tokens],
                    "loss": losses.ravel(),
                }
            )
            for site, losses in found.losses.items()
            for heads, tokens in [_places(losses)]
        ],
        ignore_index=True,
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
    frames = []
    for each in found.maps:
        site = each.site
        queries, keys = (
            (found.target, found.source)
            if site is None
            else site.kind.axes(found.source, found.target, Tokens())
        )
        for head in (None, *range(len(each.heads))):
            values = each.of(head)
            rows, columns = _places(values)
            frames.append(
                pd.DataFrame(
                    {
                        "method": each.method,
                        "kind": None if site is None else site.kind.value,
                        "layer": pd.Series([None if site is None else site.layer] * len(rows)),
                        "head": pd.Series([head] * len(rows)),
                        "query_position": rows,
                        "query": _named(queries)[rows],
                        "key_position": columns,
                        "key": _named(keys)[columns],
                        "value": values.ravel(),
                    }
                ).astype({"layer": "Int64", "head": "Int64", "kind": object})
            )
    return pd.concat(frames, ignore_index=True)


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
    frames = []
    for side, tokens in (("encoder", found.source), ("decoder", found.target)):
        for stage, values in getattr(found, side).items():
            rows, columns = _places(values)
            frames.append(
                pd.DataFrame(
                    {
                        "side": side,
                        "stage": str(stage),
                        "position": rows,
                        "token": _named(tokens)[rows],
                        "predicted_position": columns,
                        "predicted": _named(found.predictions)[columns],
                        "log_prob": values.ravel(),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


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
    return {"kind": head.site.kind.value, "layer": head.site.layer, "head": head.number}


def _places(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row and the column of each cell, in the order of `ravel`."""
    rows, columns = np.indices(values.shape).reshape(2, -1)
    return rows, columns


def _named(tokens: Tokens) -> NDArray[np.object_]:
    return np.array(tokens.tokens, dtype=object)


def _site_frame(attention: AttentionMap) -> pd.DataFrame:
    weights = attention.weights
    heads, queries, keys = (places.ravel() for places in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "kind": attention.site.kind.value,
            "layer": attention.site.layer,
            "head": heads,
            "query_position": queries,
            "query": np.array(attention.queries.tokens, dtype=object)[queries],
            "key_position": keys,
            "key": np.array(attention.keys.tokens, dtype=object)[keys],
            "weight": weights.ravel(),
            "allowed": np.broadcast_to(attention.allowed, weights.shape).ravel(),
        }
    )
