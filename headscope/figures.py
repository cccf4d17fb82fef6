"""The figures of the app, for the Python that *Save* writes.

A picture is a class: `OneHead(hs.read(trace), hs.Site("cross", 3), head=2)` has a
`figure(hs.Layout())`, `numbers()`, a caption and an alternative text.
"""

from inspect import isfunction as _isfunction

from model.arguments import checked as _checked
from model.checkpoints.shipped import checkpoint_folder as _checkpoint_folder
from model.contrast.contrast import contrast_of as contrast_of
from model.contrast.head_sets import head_set as head_set
from model.contrast.head_sets import random_sets as random_sets
from model.contrast.logit_terms import logit_terms as logit_terms
from model.contrast.pairs import pair_of as pair_of
from model.contrast.paths import paths as paths
from model.explain.alignment_file import read_alignment as read_alignment
from model.explain.attributing import cross_attributions as cross_attributions
from model.explain.attributing import self_attributions as self_attributions
from model.explain.growth_file import read_growth as read_growth
from model.explain.head_ablation import effects_of as effects_of
from model.explain.head_ablation import example_means as example_means
from model.explain.head_ablation import removal as removal
from model.explain.head_ablation import rewritten as rewritten
from model.explain.position_measures import formula_table as formula_table
from model.explain.reading import site_map as site_map
from model.explain.removal_file import read_removal as read_removal
from model.survey.nearest import matched as _matched_places
from model.survey.survey_file import read_survey as _read_survey
from model.trace.attention_map import AttentionKind as AttentionKind
from model.trace.head import Head as _Head
from model.trace.trace import Trace as _Trace
from model.translate.text_models import is_reader as _is_reader
from model.translate.text_models import load_reader as _load_reader
from model.translate.translator import load as _load
from viz.charts.panel_figure import panel_figure as panel_figure
from viz.charts.panel_figure import panels_figure as panels_figure
from viz.compare.head_pair import HeadPair as HeadPair
from viz.compare.heads import HeadDifferences as HeadDifferences
from viz.compare.paired import PairedTraces as PairedTraces
from viz.compare.paired import matched as matched
from viz.compare.tracing import TracedWord as TracedWord
from viz.compare.words import PatchedWords as PatchedWords
from viz.corpus.all_heads import AllHeads as AllHeads
from viz.corpus.found_maps import FoundMaps as FoundMaps
from viz.corpus.pattern_heads import DrawnHeads as DrawnHeads
from viz.corpus.rule_curve import RulesCurve as RulesCurve
from viz.corpus.spread import HeadSpread as HeadSpread
from viz.corpus.spread import LookDistances as LookDistances
from viz.decoding.certainty import Certainty as Certainty
from viz.decoding.lens import LayerLens as LayerLens
from viz.decoding.search_results import ComparedSearches as ComparedSearches
from viz.decoding.search_results import SearchWidths as SearchWidths
from viz.decoding.search_tree import SearchTree as SearchTree
from viz.decoding.steps import OneStep as OneStep
from viz.effects.alignment_map import AlignmentMap as AlignmentMap
from viz.effects.contrast_map import ContrastMap as ContrastMap
from viz.effects.deciding_heads import DecidingHeads as DecidingHeads
from viz.effects.effect_map import EffectMap as EffectMap
from viz.effects.effect_map import WordMap as WordMap
from viz.effects.estimate_vs_deletion import MapBesideTruth as MapBesideTruth
from viz.effects.logit_waterfall import LogitWaterfall as LogitWaterfall
from viz.effects.path_graph import PathGraph as PathGraph
from viz.effects.ranking import MapRanking as MapRanking
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
from viz.links.link_interventions import Changes as Changes
from viz.links.mask_edits import decode as _decode_mask
from viz.links.mask_edits import intervention as _masks_intervention
from viz.links.mask_edits import parse as _parse_masks
from viz.links.searches import of_every_width as _searches_of_every_width
from viz.masks.batch_masks import batch_masks as batch_masks
from viz.masks.batch_masks import repeated as repeated
from viz.masks.compared import ComparedMasks as ComparedMasks
from viz.masks.compared import ComparedWeights as ComparedWeights
from viz.masks.compared import MovedHeads as MovedHeads
from viz.masks.compared import NamedMask as NamedMask
from viz.masks.compared import TwoMasks as TwoMasks
from viz.masks.compared import moved_heads as moved_heads
from viz.masks.compared import moved_panel as moved_panel
from viz.masks.head_in_batch import HeadInBatch as HeadInBatch
from viz.masks.head_in_batch import changed_panels as changed_panels
from viz.masks.head_steps import HeadSteps as HeadSteps
from viz.masks.log_probs import LogProbs as LogProbs
from viz.masks.own_masks import AttentionMasks as AttentionMasks
from viz.masks.own_masks import DecoderFactors as DecoderFactors
from viz.masks.own_masks import OneMask as OneMask
from viz.masks.own_masks import PaddingRows as PaddingRows
from viz.masks.painted import EditedWeights as EditedWeights
from viz.masks.painted import Edits as Edits
from viz.masks.panels import editor_panel as editor_panel
from viz.masks.preset_masks import edited_mask as edited_mask
from viz.masks.preset_masks import preset_mask as preset_mask
from viz.masks.steps import head_steps as head_steps
from viz.positions.circle import Circle as Circle
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
from viz.positions.table import Formula as Formula
from viz.positions.table import Positions as Positions
from viz.positions.waves import FormulaWaves as FormulaWaves
from viz.positions.waves import Waves as Waves
from viz.positions.word_sum import WordSum as WordSum


def matched_by_surveys(model: str, other: str) -> dict[_Head, _Head]:
    """For each head of a model, the head of another that behaves most alike, by their surveys.

    Both are names or folders. Empty where one has no survey or is a snapshot, and where their
    surveys are of other sentences.

    Raises:
        CheckpointError: if a survey is damaged.
    """
    if "@" in model + other:
        return {}
    surveys = [_read_survey(_checkpoint_folder(name)) for name in (model, other)]
    one, two = ({} if survey is None else survey.probes for survey in surveys)
    return _matched_places(one, two)


def trace_by(model: str, text: str, *, device: str = "auto") -> _Trace:
    """What a model does on a text.

    Args:
        model: a name or a folder, one of Hugging Face's too, with "@0" for the first snapshot.

    Raises:
        CheckpointError, TextError, DeviceError: as of `hs.load` and `hs.load_reader`.
    """
    name, _, snapshot = model.partition("@")
    folder = _checkpoint_folder(name)
    if _is_reader(folder):
        return _load_reader(folder, device=device).read(text).trace
    number = int(snapshot) if snapshot.isdecimal() else None
    return _load(folder, device=device, snapshot=number).trace(text)


# Public names for functions with shorter names in their modules.
decode_mask = _decode_mask
masks_intervention = _masks_intervention
parse_masks = _parse_masks
searches_of_every_width = _searches_of_every_width

for _name, _each in [*globals().items()]:
    if _isfunction(_each) and not _name.startswith("_"):
        globals()[_name] = _checked(_each)
