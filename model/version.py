"""The version of Headscope, which CITATION.cff repeats with its date."""

VERSION = "1.0.0"
