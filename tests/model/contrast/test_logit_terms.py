"""The terms of a difference of two logits."""

import numpy as np
import pytest
import torch

from model.contrast.contrast import contrast_of
from model.contrast.logit_terms import logit_terms
from tests.model.contrast.conftest import Case


def test_the_terms_sum_to_the_difference(case: Case) -> None:
    terms = logit_terms(*case)
    assert terms.total == pytest.approx(terms.difference, abs=1e-4)
    assert terms.difference == pytest.approx(contrast_of(*case).difference, abs=1e-4)


def test_there_is_a_term_for_every_part(case: Case) -> None:
    translator, trace, _ = case
    config, terms = translator.model.config, logit_terms(*case)
    assert len(terms.decoder) == len(terms.cross) == config.n_decoder_layers
    assert terms.feed_forward.shape == (config.n_decoder_layers,)
    for each in terms.cross.values():
        assert each.shape == (config.n_heads, len(trace.source))


def test_the_last_head_of_a_pre_norm_model_adds_its_vector_by_the_scale(case: Case) -> None:
    """An independent computation: the last cross-attention by hand, from the recorded trace."""
    translator, trace, pair = case
    model = translator.model
    if model.config.norm != "pre":
        pytest.skip("Later norms change what it adds.")
    site = translator.sites[-1]
    attention = model.decoder.layers[site.layer].cross_attention
    states: list[torch.Tensor] = []
    source, target, _ = translator.trace_ids(trace)
    with torch.inference_mode():
        model.hidden(source, target, states)
        state = states[-1][0, pair.step].double()
        norm = model.decoder.final_norm
        gain = norm.weight.double() / (state.var(correction=0) + norm.eps).sqrt()
        one, other = model.output.weight[list(pair.ids)].double()
        seen = trace.maps[site]
        for head, by_source in enumerate(logit_terms(*case).cross[site]):
            w_o = attention.head_matrices(head)[3].double()
            values = seen.weights[head, pair.step, :, None] * seen.v[head]
            added = torch.from_numpy(values).double() @ w_o
            terms = (added - added.mean(dim=-1, keepdim=True)) * gain @ (one - other)
            np.testing.assert_allclose(by_source, terms, atol=1e-5)
