"""A search in words."""

from __future__ import annotations

from model.search import Search


def search_name(search: Search) -> str:
    """What a search is called, with its settings."""
    sampling = search.sampling
    if sampling is not None:
        number = "One sample" if sampling.n_samples == 1 else f"{sampling.n_samples} samples"
        settings = [f"temperature {sampling.temperature:g}"]
        if sampling.top_k is not None:
            settings.append(f"top-k {sampling.top_k}")
        if sampling.top_p is not None:
            settings.append(f"top-p {sampling.top_p:g}")
        if sampling.seed is not None:
            settings.append(f"seed {sampling.seed}")
        return ", ".join([number, *settings])
    penalty = f"length penalty {search.length_penalty:g}"
    if search.beam == 1:
        return f"Greedy decoding, {penalty}"
    return f"Beam of {search.beam}, {penalty}"
