"""The figures of the app, for the Python that *Save* writes.

A picture is a class: `OneHead(hs.read(trace), hs.Site("cross", 3), head=2)` has a
`figure(hs.Layout())`, `numbers()`, a caption and an alternative text. The functions below the
imports draw the same figures; notebooks saved by older versions call them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from model.checkpoints.shipped import checkpoint_folder
from model.contrast.contrast import contrast_of as contrast_of
from model.contrast.head_sets import head_set as head_set
from model.contrast.head_sets import random_sets as random_sets
from model.contrast.logit_terms import logit_terms as logit_terms
from model.contrast.pairs import pair_of as pair_of
from model.contrast.paths import paths as paths
from model.explain.alignment_file import read_alignment as read_alignment
from model.explain.attribution_methods import cross_attributions as cross_attributions
from model.explain.attribution_methods import self_attributions as self_attributions
from model.explain.growth_file import read_growth as read_growth
from model.explain.head_ablation import effects_of as effects_of
from model.explain.head_ablation import example_means as example_means
from model.explain.head_ablation import removal as removal
from model.explain.head_ablation import rewritten as rewritten
from model.explain.position_measures import formula_table as formula_table
from model.explain.reading import ReadTrace, selected_maps
from model.explain.reading import site_map as site_map
from model.explain.removal_file import read_removal as read_removal
from model.survey.nearest import matched as _matched_places
from model.survey.survey_file import read_survey
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace
from model.translate.text_models import is_reader, load_reader
from model.translate.translator import load
from viz.compare.heads import HeadDifferences as HeadDifferences
from viz.compare.heads import HeadPair as HeadPair
from viz.compare.paired import PairedTraces as PairedTraces
from viz.compare.paired import matched as matched
from viz.compare.tracing import TracedWord as TracedWord
from viz.compare.words import PatchedWords as PatchedWords
from viz.corpus.all_heads import AllHeads as AllHeads
from viz.corpus.drawn_heads import DrawnHeads as DrawnHeads
from viz.corpus.found_maps import FoundMaps as FoundMaps
from viz.corpus.rule_curve import RulesCurve as RulesCurve
from viz.corpus.spread import HeadSpread as HeadSpread
from viz.corpus.spread import LookDistances as LookDistances
from viz.decoding.certainty import Certainty as Certainty
from viz.decoding.lens import LayerLens as LayerLens
from viz.decoding.search_results import ComparedSearches as ComparedSearches
from viz.decoding.search_results import SearchWidths as SearchWidths
from viz.decoding.search_tree import SearchTree as SearchTree
from viz.decoding.steps import OneStep as OneStep
from viz.draw.panel_figure import panel_figure as panel_figure
from viz.draw.panel_figure import panels_figure as panels_figure
from viz.draw.panels import Panel
from viz.effects.alignment_map import AlignmentMap as AlignmentMap
from viz.effects.contrast_map import ContrastMap as ContrastMap
from viz.effects.deciding_heads import DecidingHeads as DecidingHeads
from viz.effects.effect_map import EffectMap as EffectMap
from viz.effects.effect_map import WordMap as WordMap
from viz.effects.estimate_vs_deletion import MapBesideTruth as MapBesideTruth
from viz.effects.head_map import LOSS, HeadMap
from viz.effects.logit_waterfall import LogitWaterfall as LogitWaterfall
from viz.effects.path_graph import PathGraph as PathGraph
from viz.effects.ranking import MapRanking as MapRanking
from viz.effects.removal_curve import LOG_PROB, Curve
from viz.effects.removal_curve import TITLE as REMOVAL_TITLE
from viz.effects.removal_curve import ExamplesCurve as ExamplesCurve
from viz.effects.removal_curve import RemovalCurve as RemovalCurve
from viz.effects.self_maps import SelfMap as SelfMap
from viz.effects.two_words import WordsWithoutTokens as WordsWithoutTokens
from viz.heads.every_head import EveryHead as EveryHead
from viz.heads.lines import HeadLines as HeadLines
from viz.heads.matrices import WeightMatrices as WeightMatrices
from viz.heads.one_head import OneHead as OneHead
from viz.heads.query_key import QueryKey as QueryKey
from viz.heads.several_heads import ComparedHeads as ComparedHeads
from viz.heads.several_heads import JointHeads as JointHeads
from viz.heads.training_curves import HeadGrowth as HeadGrowth
from viz.links.head_refs import Head as _Head
from viz.links.head_refs import read_heads as _read_heads
from viz.links.link_interventions import Changes as _Changes
from viz.links.mask_edits import decode as _decode_mask
from viz.links.mask_edits import intervention as _masks_intervention
from viz.links.mask_edits import parse as _parse_masks
from viz.links.searches import of_every_width as _searches_of_every_width
from viz.masks.batch_masks import batch_masks as batch_masks
from viz.masks.compared import ComparedMasks as ComparedMasks
from viz.masks.compared import ComparedWeights as ComparedWeights
from viz.masks.compared import MovedHeads as MovedHeads
from viz.masks.compared import NamedMask as NamedMask
from viz.masks.compared import TwoMasks as TwoMasks
from viz.masks.compared import moved_heads as moved_heads
from viz.masks.compared import moved_panel as moved_panel
from viz.masks.head_in_batch import HeadInBatch as HeadInBatch
from viz.masks.head_in_batch import changed_panels as changed_panels
from viz.masks.inside import HeadSteps as HeadSteps
from viz.masks.log_probs import LogProbs as LogProbs
from viz.masks.mask import edited_mask as edited_mask
from viz.masks.mask import preset_mask as preset_mask
from viz.masks.own_masks import DecoderFactors as DecoderFactors
from viz.masks.own_masks import OneMask as OneMask
from viz.masks.own_masks import OtherMasks as OtherMasks
from viz.masks.painted import EditedWeights as EditedWeights
from viz.masks.painted import Edits as Edits
from viz.masks.panels import editor_panel as editor_panel
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


def matched_by_surveys(model: str, other: str) -> dict[_Head, _Head]:
    """For each head of a model, the head of another that behaves most alike, by their surveys.

    Both are names or folders. Empty where one has no survey or is a snapshot, and where their
    surveys are of other sentences.

    Raises:
        CheckpointError: if a survey is damaged.
    """
    if "@" in model + other:
        return {}
    surveys = [read_survey(checkpoint_folder(name)) for name in (model, other)]
    one, two = ({} if survey is None else survey.probes for survey in surveys)
    return _matched_places(one, two)


def trace_by(model: str, text: str, *, device: str = "auto") -> Trace:
    """What a model does on a text.

    Args:
        model: a name or a folder, one of Hugging Face's too, with "@0" for the first snapshot.
        text: to read or to translate.
        device: as of `hs.load`.

    Raises:
        CheckpointError, TextError, DeviceError: as of `hs.load` and `hs.load_reader`.
    """
    name, _, snapshot = model.partition("@")
    folder = checkpoint_folder(name)
    if is_reader(folder):
        return load_reader(folder, device=device).read(text).trace
    number = int(snapshot) if snapshot.isdecimal() else None
    return load(folder, device=device, snapshot=number).trace(text)


# Public names for functions with shorter names in their modules.
decode_mask = _decode_mask
# The name in saved notebooks.
chosen_maps = selected_maps
masks_intervention = _masks_intervention
parse_masks = _parse_masks
searches_of_every_width = _searches_of_every_width


def _drawing(picture: Callable[..., Picture]) -> Callable[..., Any]:
    """A function that draws a picture class, with the class's fields as arguments."""

    def draw(*fields: Any, narrow: bool = False, dark: bool = False, **named: Any) -> Any:
        return picture(*fields, **named).figure(Layout(narrow=narrow, dark=dark))

    return draw


def _picture(kind: Any, **attributes: Any) -> Any:
    """A picture of which only some attributes are known."""
    made: Any = type(kind.__name__, (kind,), {"name": "", **attributes})
    return made.__new__(made)


def Changes(mask: str = "", off: str | tuple[_Head, ...] = ()) -> _Changes:
    """Masks and heads that differ while decoding; older notebooks write the heads as a text."""
    return _Changes(mask, _read_heads(off) if isinstance(off, str) else off)


def effect_title(effects: Any, token: int | None) -> str:
    """The title of a map of losses."""
    return EffectMap(effects, token).title


def lens_figure(lens: Any, title: str = "", *, narrow: bool = False, dark: bool = False) -> Any:
    """The logit lens of a translation, under a title."""
    figure = LayerLens(lens, "").figure(Layout(narrow=narrow, dark=dark))
    return figure if narrow or not title else figure.update_layout(title_text=title)


def _seen(one: AttentionMap, sides: bool = True, by_prediction: bool = False) -> ReadTrace:
    """One map as a reading, of a source and a target or without."""
    maps = {one.site: one} | ({Site(AttentionKind.CROSS, 99): one} if sides else {})
    return ReadTrace(maps, {}, Tokens(), Tokens(), "", (), by_prediction)


def query_key_figure(
    one: AttentionMap,
    *cell: int,
    sides: bool = True,
    side_by_side: bool = False,
    dark: bool = False,
) -> Any:
    """One weight from the inside: of a head, a query and a key."""
    picture = QueryKey(_seen(one, sides), one.site, *cell)
    return picture.figure(Layout(narrow=not side_by_side, dark=dark))


def compared_panels(seen: ReadTrace, kind: str, heads: Sequence[tuple[int, int]]) -> list[Panel]:
    """Several heads of one kind of attention."""
    return ComparedHeads(seen, AttentionKind(kind), heads).panels


def joint_panel(seen: ReadTrace, layer: int, head: int) -> Panel:
    """One head number of all three kinds of attention."""
    return JointHeads(seen, layer, head).panel


head_figure = _drawing(
    lambda seen, kind, layer, head: OneHead(seen, site_map(seen, kind, layer).site, head)
)
lines_figure = _drawing(
    lambda one, head, query_title="", sides=True: HeadLines(
        _seen(one, sides, "predicted" in (query_title or "")), one.site, head
    )
)
heads_overview = _drawing(
    lambda maps, heads: EveryHead(
        ReadTrace({each.site: each for each in maps}, {}, Tokens(), Tokens(), "", ()),
        maps[0].site.kind,
        head=heads[0] if len(heads) == 1 else None,
    )
)


def compared_masks(a: Any, b: Any, titles: tuple[str, str]) -> list[Panel]:
    """Two masks and what differs, under titles such as "A: decoder"."""
    named = [
        NamedMask("", title.partition(": ")[2], mask)
        for mask, title in zip((a, b), titles, strict=True)
    ]
    panels: list[Panel] = _picture(ComparedMasks, both=TwoMasks(*named)).panels
    return panels


def factor_panels(masks: dict[str, Any]) -> list[Panel]:
    """How the decoder's mask is made."""
    panels: list[Panel] = _picture(DecoderFactors, masks=masks).panels
    return panels


def other_panels(masks: dict[str, Any]) -> list[Panel]:
    """All masks but the decoder's."""
    panels: list[Panel] = _picture(OtherMasks, masks=masks).panels
    return panels


def step_panels(seen: Any, steps: Any, **named: Any) -> list[Panel]:
    """What happens inside a head."""
    panels: list[Panel] = _picture(HeadSteps, seen=seen, steps=steps, **named).panels
    return panels


def ranking_title(site: Site | None, head: int | None) -> str:
    """The title of the bars of methods."""
    return str(_picture(MapRanking, site=site, head=head).title)


def method_scores(
    attributions: Any, site: Site | None = None, head: int | None = None, **named: Any
) -> list[Any]:
    """How well every method agrees with the truth, the best first."""
    return MapRanking(attributions, "", site=site, head=head, **named).scores


effect_figure = _drawing(
    lambda values, title, unit=LOSS, off=(), numbered=True: _picture(
        HeadMap, values=values, title=title, unit=unit, off=off, numbered=numbered
    )
)
ranking_figure = _drawing(
    lambda ranked, title, marked="", of_token=False: _picture(
        MapRanking, scores=ranked, title=title, marked=marked, token=0 if of_token else None
    )
)
removal_figure = _drawing(
    lambda removal, title=REMOVAL_TITLE, value=LOG_PROB: _picture(
        Curve, removal=removal, title=title, value=value
    )
)
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
mask_figure = _drawing(lambda mask: OneMask(mask, 0, ""))
log_prob_bars = _drawing(
    lambda tokens_a, log_probs_a, tokens_b, log_probs_b, names: _picture(
        LogProbs,
        under=SimpleNamespace(names=names),
        sides=((tokens_a, log_probs_a), (tokens_b, log_probs_b)),
    )
)
growth_figure = _drawing(
    lambda grown, measure, kind, chosen: HeadGrowth(
        grown, measure, Site(kind, chosen[0]), chosen[1], ""
    )
)
