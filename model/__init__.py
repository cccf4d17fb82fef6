"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""

from model.mask_presets import PRESETS
from model.masks import MaskError
from model.translator import BatchTrace, Sampling, Translation, Translator, load

__all__ = [
    "PRESETS",
    "BatchTrace",
    "MaskError",
    "Sampling",
    "Translation",
    "Translator",
    "load",
]
