"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""

from model.alignment_error import alignment_error_rate
from model.attribution_methods import attributions
from model.head_edits import Gate, HeadError, MeanAblation, ReplacedWeights
from model.intervention import Intervention
from model.mask_presets import PRESETS
from model.mask_rules import MaskError
from model.search import Sampling, Search
from model.translation import Decoding, DecodingStep, SearchNode, Translation
from model.translator import BatchTrace, Translator, load

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
