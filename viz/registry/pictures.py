"""The pictures that the command line makes, by their names there."""

from __future__ import annotations

from viz.decoding.pictures import (
    Certainty,
    ComparedSearches,
    LayerLens,
    OneStep,
    SearchTree,
    SearchWidths,
)
from viz.effects.alignment_map import AlignmentMap
from viz.effects.effect_map import EffectMap
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.ranking import MapRanking
from viz.effects.removal_curve import ExamplesCurve, RemovalCurve
from viz.heads.pictures import EveryHead, OneHead, QueryKey, WeightMatrices
from viz.links.request import Exported
from viz.masks.pictures import OneMask
from viz.positions.pictures import (
    ByOffset,
    Circle,
    EmbeddingSum,
    Positions,
    Similarity,
    TermShares,
    Waves,
)

_CLASSES: tuple[type[Exported], ...] = (
    *(EveryHead, OneHead, QueryKey, WeightMatrices, OneMask),
    *(EffectMap, RemovalCurve, ExamplesCurve, MapBesideTruth, MapRanking, AlignmentMap),
    *(OneStep, SearchTree, Certainty, ComparedSearches, SearchWidths, LayerLens),
    *(Positions, Waves, Circle, Similarity, ByOffset, EmbeddingSum, TermShares),
)

PICTURES = {picture.slug: picture for picture in _CLASSES}
"""To add one, write a class with a slug in its wing and name it above."""
