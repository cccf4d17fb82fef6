"""The pictures that the command line makes, by their names there."""

from __future__ import annotations

from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.tracing import TracedWord
from viz.compare.words import PatchedWords
from viz.decoding.certainty import Certainty
from viz.decoding.lens import LayerLens
from viz.decoding.search_results import ComparedSearches, SearchWidths
from viz.decoding.search_tree import SearchTree
from viz.decoding.steps import OneStep
from viz.door.picture import PlayedSentence
from viz.effects.alignment_map import AlignmentMap
from viz.effects.contrast_map import ContrastMap
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.effect_map import EffectMap
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.ranking import MapRanking
from viz.effects.removal_curve import ExamplesCurve, RemovalCurve
from viz.effects.two_words import WordsWithoutTokens
from viz.heads.childhood import Childhood
from viz.heads.every_head import EveryHead
from viz.heads.matrices import WeightMatrices
from viz.heads.one_head import OneHead
from viz.heads.query_key import QueryKey
from viz.links.request import Exported
from viz.masks.own_masks import OneMask
from viz.masks.window import OpeningWindow
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.score_terms import TermShares
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Positions
from viz.positions.waves import Circle, Waves

_CLASSES: tuple[type[Exported], ...] = (
    *(PlayedSentence, EveryHead, OneHead, QueryKey, WeightMatrices, Childhood),
    *(OneMask, OpeningWindow),
    *(EffectMap, RemovalCurve, ExamplesCurve, MapBesideTruth, MapRanking, AlignmentMap),
    *(ContrastMap, WordsWithoutTokens, DecidingHeads, LogitWaterfall, PathGraph),
    *(HeadDifferences, HeadPair, TracedWord, PatchedWords),
    *(OneStep, SearchTree, Certainty, ComparedSearches, SearchWidths, LayerLens),
    *(Positions, Waves, Circle, Similarity, ByOffset, EmbeddingSum, TermShares),
)

PICTURES = {picture.slug: picture for picture in _CLASSES}
"""To add one, write a class with a slug in its wing and name it above."""
