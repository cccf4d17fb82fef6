"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""

from model.intervention import Intervention
from model.mask_presets import PRESETS
from model.mask_rules import MaskError
from model.search import Sampling, Search
from model.translator import BatchTrace, Translation, Translator, load

__all__ = [
    "PRESETS",
    "BatchTrace",
    "Intervention",
    "MaskError",
    "Sampling",
    "Search",
    "Translation",
    "Translator",
    "load",
]
