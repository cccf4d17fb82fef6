"""Made-up labels of the tiny checkpoint's heads."""

import numpy as np

from model.explain.label_rules import MIN_SENTENCES
from model.explain.labels import Finding, Sample, Survey
from model.trace.attention_map import AttentionKind, Site


def values(passing: int, count: int = MIN_SENTENCES) -> np.ndarray:
    """Of so many sentences, those that pass far above the threshold and the rest below it."""
    return np.r_[np.full(passing, 0.9), np.full(count - passing, 0.3)]


def tiny_survey() -> Survey:
    """Of the tiny checkpoint's 32 heads: the first has a label, no other."""
    sites = [
        *(Site(AttentionKind.ENCODER, layer) for layer in range(2)),
        *(Site(kind, n) for kind in (AttentionKind.DECODER, AttentionKind.CROSS) for n in range(3)),
    ]
    none = Finding({"pairing": 0.1, "entropy_share": 0.5})
    heads = dict.fromkeys(sites, (none,) * 4)
    heads[sites[0]] = (Finding.of({"previous": values(470)}), none, none, none)
    return Survey(Sample("new.tsv", "CC0", 600), heads)
