"""The record of a decoding: its steps, and the tree of hypotheses it searched."""

from typing import cast

import numpy as np
import torch

from model.paper.decoding import Hypothesis, PartialHypothesis
from model.paper.log_probs import unsayable
from model.paper.search import Search
from model.trace.attention_map import FloatArray
from model.trace.translation import LIKELIEST, DecodingStep, Fate, SearchNode, Translation
from model.translate.sentences import ModelWithVocabulary


def decoding_steps(
    translator: ModelWithVocabulary, translation: Translation, *, n_forced: int
) -> tuple[DecodingStep, ...]:
    """The steps of a translation that kept its distributions; a prefix forced the first ones."""
    barred = unsayable(translator.model.config, torch.device("cpu")).numpy()
    steps = []
    for step, log_probs in enumerate(cast("FloatArray", translation.distributions)):
        probabilities = np.exp(log_probs.astype(np.float64))
        sayable = np.where(np.isinf(barred), -1, probabilities)
        likeliest = np.argsort(-sayable, kind="stable")[:LIKELIEST]
        probability = probabilities[translation.token_ids[step]]
        rest = np.delete(probabilities, likeliest)
        steps.append(
            DecodingStep(
                likeliest=translator.target_tokens(likeliest.tolist()),
                probabilities=tuple(probabilities[likeliest].tolist()),
                rest=float(rest.sum()),
                probability=float(probability),
                rank=1 + int((sayable > probability).sum()),
                entropy=float(-(probabilities * log_probs / np.log(2)).sum()),
                forced=step < n_forced,
            )
        )
    return tuple(steps)


def search_nodes(
    translator: ModelWithVocabulary,
    paths: list[PartialHypothesis],
    results: list[Hypothesis],
    *,
    search: Search,
) -> tuple[SearchNode, ...]:
    """The tree of a search, parents first: its paths in that order, its results best first."""
    places = {id(path): place for place, path in enumerate(paths)}
    parents = [None if path.parent is None else places[id(path.parent)] for path in paths]
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent is None else depths[parent] + 1)
    # Several samples may be the same.
    ranks: dict[tuple[int, ...], list[int]] = {}
    for number, result in enumerate(results):
        ranks.setdefault(result.token_ids, []).append(number)
    extended = set(parents)
    eos_id = translator.model.config.eos_id
    nodes = []
    for place, (path, step) in enumerate(zip(paths, depths, strict=True)):
        fate: Fate = "continued"
        rank = ended = score = None
        if place not in extended:
            same = ranks.get(tuple(each.token for each in path.steps()))
            rank = same.pop(0) if same else None
            fate, ended = "pruned", min(step + 1, max(depths))
        if path.token == eos_id or rank is not None:
            fate, ended = "finished" if path.token == eos_id else "cut", step
            score = path.total / search.penalty(step + 1)
        nodes.append(
            SearchNode(
                parent=parents[place],
                token=translator.tokenizer.target.pieces([path.token])[0],
                token_id=path.token,
                step=step,
                log_prob=path.total,
                fate=fate,
                ended=ended,
                score=score,
                rank=rank,
            )
        )
    return tuple(nodes)
