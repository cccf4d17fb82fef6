"""Our lean losses against torch's."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from model.training.loss import divergence, smoothed_cross_entropy


@given(
    st.integers(1, 12), st.integers(2, 40), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 999)
)
def test_loss_and_gradient_are_torchs(tokens, vocab, smoothing, seed):
    torch.manual_seed(seed)
    logits = (3 * torch.randn(tokens, vocab)).requires_grad_()
    labels = torch.randint(0, vocab, (tokens,))
    loss = smoothed_cross_entropy(logits, labels, smoothing, ignored=0)
    (gradient,) = torch.autograd.grad(loss * 0.7, logits)
    expected = F.cross_entropy(
        logits, labels, ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    (expected_gradient,) = torch.autograd.grad(expected * 0.7, logits)
    torch.testing.assert_close(loss, expected, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(gradient, expected_gradient, atol=1e-6, rtol=1e-5)


def test_the_logits_are_left_as_they_were():
    logits = torch.randn(4, 7, requires_grad=True)
    before = logits.detach().clone()
    smoothed_cross_entropy(logits, torch.tensor([1, 2, 3, 0]), 0.1, ignored=0).backward()
    assert torch.equal(logits.detach(), before)


def test_half_precision_logits_are_summed_in_single_precision():
    torch.manual_seed(1)
    logits = torch.randn(2000, 50).bfloat16().requires_grad_()
    labels = torch.randint(1, 50, (2000,))
    loss = smoothed_cross_entropy(logits, labels, 0.1, ignored=0)
    expected = F.cross_entropy(logits.float(), labels, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(loss, expected, atol=0.01, rtol=1e-6)
    loss.backward()
    assert logits.grad.dtype == torch.bfloat16


@given(st.integers(1, 12), st.integers(2, 40), st.integers(0, 999))
def test_divergence_and_both_gradients_are_torchs_mean_of_both_kl_divergences(tokens, vocab, seed):
    torch.manual_seed(seed)
    first, second = ((3 * torch.randn(tokens, vocab)).requires_grad_() for _ in range(2))
    labels = torch.randint(0, vocab, (tokens,))
    found = divergence(first, second, labels, ignored=0)
    gradients = torch.autograd.grad(found * 0.7, (first, second))
    one, other = (logits[labels != 0].log_softmax(dim=-1) for logits in (first, second))
    expected = 0.5 * (
        F.kl_div(one, other, log_target=True, reduction="sum")
        + F.kl_div(other, one, log_target=True, reduction="sum")
    )
    expected_gradients = torch.autograd.grad(expected * 0.7, (first, second))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(gradients, expected_gradients, atol=1e-5, rtol=1e-5)
