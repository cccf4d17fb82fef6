"""The figures of the app, for the Python that *Save* writes.

A picture is a class: `OneHead(hs.read(trace), hs.Site("cross", 3), head=2)` has a
`figure(hs.Layout())`, `numbers()`, a caption and an alternative text. The functions below the
imports draw the same figures; notebooks saved by older versions call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.explain.alignment_file import read_alignment as read_alignment
from model.explain.attribution_methods import cross_attributions as cross_attributions
from model.explain.attribution_methods import self_attributions as self_attributions
from model.explain.head_ablation import effects_of as effects_of
from model.explain.head_ablation import removal as removal
from model.explain.head_ablation import rewritten as rewritten
from model.explain.position_measures import formula_table as formula_table
from model.explain.reading import chosen_maps as chosen_maps
from model.explain.reading import site_map as site_map
from model.explain.removal_file import read_removal as read_removal
from model.trace.attention_map import Site
from model.training.growth import read_growth as read_growth
from viz.decoding.certainty import Certainty as Certainty
from viz.decoding.lens import LayerLens as LayerLens
from viz.decoding.search import of_every_width as _searches_of_every_width
from viz.decoding.search_results import ComparedSearches as ComparedSearches
from viz.decoding.search_results import SearchWidths as SearchWidths
from viz.decoding.search_tree import SearchTree as SearchTree
from viz.decoding.steps import OneStep as OneStep
from viz.draw.heatmap import head_figure as head_figure
from viz.draw.panel_figure import panel_figure as panel_figure
from viz.draw.panel_figure import panels_figure as panels_figure
from viz.effects.alignment_map import AlignmentMap as AlignmentMap
from viz.effects.effect_map import EffectMap as EffectMap
from viz.effects.effect_map import WordMap as WordMap
from viz.effects.estimate_vs_deletion import MapBesideTruth as MapBesideTruth
from viz.effects.head_map import effect_figure as effect_figure
from viz.effects.ranking import MapRanking as MapRanking
from viz.effects.ranking import ranking_figure as ranking_figure
from viz.effects.ranking import ranking_title as ranking_title
from viz.effects.ranking import scores as _method_scores
from viz.effects.removal_curve import ExamplesCurve as ExamplesCurve
from viz.effects.removal_curve import RemovalCurve as RemovalCurve
from viz.effects.removal_curve import removal_figure as removal_figure
from viz.effects.self_maps import SelfMap as SelfMap
from viz.heads.lines import lines_figure as lines_figure
from viz.heads.matrices import WeightMatrices as WeightMatrices
from viz.heads.overview import heads_overview as heads_overview
from viz.heads.panels import compared_panels as compared_panels
from viz.heads.panels import joint_panel as joint_panel
from viz.heads.pictures import ComparedHeads as ComparedHeads
from viz.heads.pictures import EveryHead as EveryHead
from viz.heads.pictures import HeadLines as HeadLines
from viz.heads.pictures import JointHeads as JointHeads
from viz.heads.pictures import OneHead as OneHead
from viz.heads.pictures import QueryKey as QueryKey
from viz.heads.query_key import query_key_figure as query_key_figure
from viz.heads.training_curves import HeadGrowth as HeadGrowth
from viz.links.link_interventions import Changes as Changes
from viz.links.mask_edits import decode as _decode_mask
from viz.links.mask_edits import intervention as _masks_intervention
from viz.links.mask_edits import parse as _parse_masks
from viz.masks.log_probs import log_prob_bars as log_prob_bars
from viz.masks.mask import batch_masks as batch_masks
from viz.masks.mask import edited_mask as edited_mask
from viz.masks.mask import preset_mask as preset_mask
from viz.masks.panels import changed_panels as changed_panels
from viz.masks.panels import compared_panels as _compared_masks
from viz.masks.panels import editor_panel as editor_panel
from viz.masks.panels import factor_panels as factor_panels
from viz.masks.panels import mask_figure as mask_figure
from viz.masks.panels import moved_heads as moved_heads
from viz.masks.panels import moved_panel as moved_panel
from viz.masks.panels import other_panels as other_panels
from viz.masks.panels import step_panels as step_panels
from viz.masks.pictures import OneMask as OneMask
from viz.masks.steps import head_steps as head_steps
from viz.positions.embedding_sum import EmbeddingSum as EmbeddingSum
from viz.positions.neighbours import NeighbourHeads as NeighbourHeads
from viz.positions.neighbours import neighbour_heads as neighbour_heads
from viz.positions.score_terms import TermShares as TermShares
from viz.positions.score_terms import term_shares as term_shares
from viz.positions.shuffle import ShuffledDistances as ShuffledDistances
from viz.positions.shuffle import reordered as reordered
from viz.positions.similarity import ByOffset as ByOffset
from viz.positions.similarity import Similarity as Similarity
from viz.positions.table import FORMULA_TITLE as FORMULA_TITLE
from viz.positions.table import MODEL_TITLE
from viz.positions.table import Formula as Formula
from viz.positions.table import Positions as Positions
from viz.positions.waves import Circle as Circle
from viz.positions.waves import FormulaWaves as FormulaWaves
from viz.positions.waves import Waves as Waves
from viz.save.picture import Layout, Picture

# Public names for functions with shorter names in their modules.
compared_masks = _compared_masks
decode_mask = _decode_mask
masks_intervention = _masks_intervention
parse_masks = _parse_masks
method_scores = _method_scores
searches_of_every_width = _searches_of_every_width


def _drawing(picture: Callable[..., Picture]) -> Callable[..., Any]:
    """A function that draws a picture class, with the class's fields as arguments."""

    def draw(*fields: Any, narrow: bool = False, dark: bool = False, **named: Any) -> Any:
        return picture(*fields, **named).figure(Layout(narrow=narrow, dark=dark))

    return draw


def effect_title(effects: Any, token: int | None) -> str:
    """The title of a map of losses."""
    return EffectMap(effects, token).title


def lens_figure(lens: Any, title: str = "", *, narrow: bool = False, dark: bool = False) -> Any:
    """The logit lens of a translation, under a title."""
    figure = LayerLens(lens, "").figure(Layout(narrow=narrow, dark=dark))
    return figure if narrow or not title else figure.update_layout(title_text=title)


encoding_heatmap = _drawing(
    lambda table, title=MODEL_TITLE, **named: Positions(table, None, heading=title, **named)
)
waves = _drawing(Waves)
circle = _drawing(Circle)
likeness_heatmap = _drawing(Similarity)
by_offset_figure = _drawing(lambda table, cosine=False: ByOffset(table, cosine))
parts_figure = _drawing(lambda parts: EmbeddingSum(parts, ""))
terms_figure = _drawing(lambda shares: TermShares(shares, ""))
neighbours_figure = _drawing(NeighbourHeads)
distances_figure = _drawing(ShuffledDistances)
alignment_figure = _drawing(lambda table, **named: AlignmentMap(table, "", **named))
beside_figure = _drawing(
    lambda maps, method, site=None, head=None, **named: MapBesideTruth(
        maps, "", method=method, site=site, head=head, **named
    )
)
self_figure = _drawing(
    lambda maps, method, head=None, row=None, **named: SelfMap(
        maps, "", head=head, token=row, method=method, **named
    )
)
matrices_figure = _drawing(WeightMatrices)
growth_figure = _drawing(
    lambda grown, measure, kind, chosen: HeadGrowth(
        grown, measure, Site(kind, chosen[0]), chosen[1], ""
    )
)
