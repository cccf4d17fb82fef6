"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""

from model.translator import Sampling, Translation, Translator, load

__all__ = ["Sampling", "Translation", "Translator", "load"]
