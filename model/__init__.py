"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""

from model.explain.alignment_error import alignment_error_rate
from model.explain.attribution_methods import attributions
from model.paper.search import Sampling, Search
from model.record.head_edits import Gate, HeadError, MeanAblation, ReplacedWeights
from model.record.intervention import Intervention
from model.record.mask_presets import PRESETS
from model.record.mask_rules import MaskError
from model.trace.translation import Decoding, DecodingStep, SearchNode, Translation
from model.translate.translator import BatchTrace, Translator, load

__all__ = [
    "PRESETS",
    "BatchTrace",
    "Decoding",
    "DecodingStep",
    "Gate",
    "HeadError",
    "Intervention",
    "MaskError",
    "MeanAblation",
    "ReplacedWeights",
    "Sampling",
    "Search",
    "SearchNode",
    "Translation",
    "Translator",
    "alignment_error_rate",
    "attributions",
    "load",
]
