"""Every method beside its plain formula, on models of every kind."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model.explain.attribution import METHODS
from model.explain.attribution_methods import CLASSES
from model.explain.attribution_run import Run
from model.explain.decomposition import Sublayer, decompose
from model.paper.transformer import Transformer
from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, Site
from tests.kit.torch_twins import scatter

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre"},
    "a module per head": {"head_layout": "per_head"},
    "additive scoring, pre-norm, a module per head": {
        "scoring": "additive",
        "norm": "pre",
        "head_layout": "per_head",
    },
    "rotary positions": {"positions": "rotary"},
    "ALiBi": {"positions": "alibi"},
    "T5's relative bias": {"positions": "relative_bias"},
    "a learned temperature": {"scoring": "learned_temperature"},
    "no bias, d_k and d_v apart, fused, pre-norm": {
        "attention_bias": False,
        "d_k": 6,
        "d_v": 10,
        "fused_qkv": True,
        "norm": "pre",
    },
}
SOURCE = torch.tensor([7, 8, 9, 7, 3])
TARGET = torch.tensor([2, 11, 12, 13])
PREDICTIONS = torch.tensor([11, 12, 13, 3])
SITES = [Site(kind, layer) for kind in ("encoder", "decoder", "cross") for layer in (0, 1)]

site_cases = pytest.mark.parametrize("site", [SITES[0], SITES[2], SITES[5]], ids=str)


@pytest.fixture(params=list(CONFIGURATIONS.values()), ids=list(CONFIGURATIONS), scope="module")
def model(request: Any, build: Callable[..., Transformer]) -> Transformer:
    """In double precision, so that differences are of formulas and not of rounding."""
    made = build(**request.param)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        scatter(made)
    install_taps(made.double())
    return made


@pytest.fixture(scope="module")
def run(model: Transformer) -> Run:
    return Run(model, SOURCE, TARGET, PREDICTIONS)


def of(run: Run, name: str, site: Site, *, together: bool) -> Tensor:
    with torch.no_grad():
        return CLASSES[name].of(run, site, together=together)


def of_whole(run: Run, name: str) -> Tensor:
    with torch.no_grad():
        return CLASSES[name].whole(run)


def layer_of(model: Transformer, site: Site) -> Any:
    stack = model.encoder if site.kind is AttentionKind.ENCODER else model.decoder
    return stack.layers[site.layer]


def transformed(model: Transformer, sublayer: Sublayer, site: Site) -> Tensor:
    """v W_O of every head and key, head by head."""
    rows = []
    for head in range(model.config.n_heads):
        name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
        w_o = getattr(layer_of(model, site), name).head_matrices(head)[3]
        rows.append(sublayer.v[0, head] @ w_o)
    return torch.stack(rows)


@torch.no_grad()
def test_a_pass_taken_apart_is_the_models_own(model: Transformer) -> None:
    source, target = SOURCE.expand(2, -1), TARGET.expand(2, -1)
    with recording() as seen:
        logits = model(source, target)
    apart = decompose(model, source, target)
    torch.testing.assert_close(apart.logits, logits, atol=1e-12, rtol=0)
    assert sorted(apart.sublayers) == list(seen.sites) == sorted(SITES)
    for site, sublayer in apart.sublayers.items():
        torch.testing.assert_close(sublayer.weights, seen[site].weights, atol=1e-12, rtol=0)
        torch.testing.assert_close(sublayer.v, seen[site].v, atol=1e-12, rtol=0)


@torch.no_grad()
@site_cases
def test_the_parts_of_all_heads_and_the_bias_are_the_modules_output(
    model: Transformer, run: Run, site: Site
) -> None:
    sublayer = run.sublayers[site]
    parts = transformed(model, sublayer, site)
    torch.testing.assert_close(sublayer.transformed_values()[0], parts, atol=1e-12, rtol=0)
    output = torch.einsum("hqk,hkd->qd", sublayer.weights[0], parts)
    bias = sublayer.attention.w_o.bias
    torch.testing.assert_close(
        sublayer.update[0], output if bias is None else output + bias, atol=1e-12, rtol=0
    )
    # And what the layer makes of it is what the next layer reads.
    after = sublayer.rest(sublayer.residual(sublayer.x, lambda _: sublayer.update))
    above = Site(site.kind, 1)
    if site.layer == 0 and site.kind is not AttentionKind.CROSS:
        torch.testing.assert_close(after, run.sublayers[above].x, atol=1e-12, rtol=0)


@torch.no_grad()
@site_cases
def test_norms_are_the_lengths_of_what_each_key_adds(
    model: Transformer, run: Run, site: Site
) -> None:
    sublayer = run.sublayers[site]
    weights, parts = sublayer.weights[0], transformed(model, sublayer, site)
    heads, together = (of(run, "norms", site, together=each) for each in (False, True))
    for query in range(weights.shape[1]):
        for key in range(weights.shape[2]):
            added = weights[:, query, key, None] * parts[:, key]
            torch.testing.assert_close(heads[:, query, key], added.norm(dim=-1))
            torch.testing.assert_close(together[0, query, key], added.sum(dim=0).norm())


@torch.no_grad()
@site_cases
def test_with_residual_and_norm_the_vectors_add_up_to_what_the_sublayer_gives(
    model: Transformer, run: Run, site: Site
) -> None:
    sublayer = run.sublayers[site]
    norm, x = sublayer.residual.norm, sublayer.x[0]
    weights, parts = sublayer.weights[0], transformed(model, sublayer, site)
    # (query, key, d_model), and the residual as a vector of its own.
    added = torch.einsum("hqk,hkd->qkd", weights, parts)
    total = x + sublayer.update[0]
    deviation = (total.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()

    def normalized(vectors: Tensor) -> Tensor:
        if model.config.norm == "pre":
            return vectors
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        scale = deviation if vectors.dim() == 2 else deviation[:, None]
        return centred / scale * norm.weight

    own = torch.eye(len(x), dtype=x.dtype)
    is_self = site.kind is not AttentionKind.CROSS
    wanted = normalized(added + own[:, :, None] * x[:, None] if is_self else added)
    found = of(run, "residual_norms", site, together=True)[0]
    torch.testing.assert_close(found, wanted.norm(dim=-1))

    rest = normalized(torch.zeros_like(x) if is_self else x)
    bias = sublayer.attention.w_o.bias
    constant = torch.zeros_like(x) if bias is None else normalized(bias.expand_as(x))
    if model.config.norm == "post":
        constant = constant + norm.bias
    output = sublayer.residual(sublayer.x, lambda _: sublayer.update)[0]
    torch.testing.assert_close(wanted.sum(dim=1) + rest + constant, output)

    alone = torch.einsum("hqk,hkd->hqkd", weights, parts)[1]
    wanted = normalized(alone + own[:, :, None] * x[:, None] if is_self else alone)
    found = of(run, "residual_norms", site, together=False)[1]
    torch.testing.assert_close(found, wanted.norm(dim=-1))


def test_rollout_is_the_product_of_all_layers_below(run: Run) -> None:
    def mean(kind: AttentionKind, layer: int) -> Tensor:
        return run.sublayers[Site(kind, layer)].weights[0].mean(dim=0)

    encoder, decoder, cross = AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS
    half = {
        (kind, layer): 0.5 * mean(kind, layer) + 0.5 * torch.eye(n)
        for kind, n in ((encoder, 5), (decoder, 4))
        for layer in (0, 1)
    }
    source = half[encoder, 1] @ half[encoder, 0]
    found = of(run, "rollout", Site(encoder, 1), together=True)[0]
    torch.testing.assert_close(found, source)

    # Everything at once: source tokens and target tokens in one matrix, as if one encoder held
    # them, with a step for every sub-layer; source rows are those of the whole encoder.
    def whole(own: Tensor | None = None) -> Tensor:
        shares = torch.block_diag(source, torch.eye(4, dtype=source.dtype))
        for layer in (0, 1):
            within = torch.block_diag(torch.eye(5, dtype=source.dtype), half[decoder, layer])
            across = torch.eye(9, dtype=source.dtype)
            across[5:, 5:] *= 0.5
            last = own if own is not None and layer == 1 else mean(cross, layer)
            # A row takes from the encoder's output, whatever it has read before.
            memory = torch.cat([source, torch.zeros(5, 4, dtype=source.dtype)], dim=1)
            shares = across @ within @ shares
            shares[5:] += 0.5 * last @ memory
        return shares[5:]

    found = of(run, "rollout", Site(cross, 1), together=True)[0]
    torch.testing.assert_close(found, whole()[:, :5])
    torch.testing.assert_close(whole().sum(dim=1), torch.ones(4, dtype=source.dtype))
    own = run.sublayers[Site(cross, 1)].weights[0, 2]
    found = of(run, "rollout", Site(cross, 1), together=False)[2]
    torch.testing.assert_close(found, whole(own)[:, :5])

    first = of(run, "rollout", Site(decoder, 0), together=True)[0]
    torch.testing.assert_close(first, half[decoder, 0])
    second = of(run, "rollout", Site(decoder, 1), together=True)[0]
    torch.testing.assert_close(second, half[decoder, 1] @ (0.5 * half[decoder, 0]))
    # Of decoder self-attention and of the source, the rows' shares are complete.
    source_share = of(run, "rollout", Site(cross, 0), together=True)[0].sum(dim=-1)
    passed_on = half[decoder, 1] @ source_share
    torch.testing.assert_close(second.sum(dim=-1) + passed_on, torch.ones(4, dtype=source.dtype))


class ZeroedValues:
    """Projects like the module, but one key's value is zero in some heads."""

    def __init__(self, attention: Any, heads: slice, key: int) -> None:
        self.attend_heads, self.heads, self.key = attention.attend_heads, heads, key

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, *rest: Tensor | None) -> Any:
        v = v.clone()
        v[:, self.heads, self.key] = 0
        return self.attend_heads(q, k, v, *rest)


@torch.no_grad()
@site_cases
def test_value_zeroing_is_a_layer_run_with_a_value_that_is_zero(
    model: Transformer, run: Run, site: Site
) -> None:
    layer = copy.deepcopy(layer_of(model, site))
    name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
    attention, original = (getattr(each, name) for each in (layer, layer_of(model, site)))
    is_encoder = site.kind is AttentionKind.ENCODER
    stack = model.encoder if is_encoder else model.decoder
    self_site = Site(site.kind if is_encoder else AttentionKind.DECODER, site.layer)
    x = run.sublayers[self_site].x
    relative = stack.positions.relative(x.shape[1])
    inputs: tuple[Any, ...] = (x, None, relative)
    if not is_encoder:
        causal = torch.ones(4, 4, dtype=torch.bool).tril()[None, None]
        inputs = (x, model.encode(SOURCE[None]), causal, None, relative)
    whole = layer(*inputs)[0]
    n_keys = run.sublayers[site].weights.shape[-1]
    for heads, found in (
        (slice(None), of(run, "value_zeroing", site, together=True)[0]),
        (slice(2, 3), of(run, "value_zeroing", site, together=False)[2]),
    ):
        columns = []
        for key in range(n_keys):
            attention.attend_heads = ZeroedValues(original, heads, key)
            changed = layer(*inputs)[0]
            cosine = (changed * whole).sum(dim=-1) / changed.norm(dim=-1) / whole.norm(dim=-1)
            columns.append(1 - cosine)
        distances = torch.stack(columns, dim=-1)
        wanted = distances / distances.sum(dim=-1, keepdim=True)
        torch.testing.assert_close(found, wanted, atol=1e-9, rtol=1e-6)


STEP = 1e-5


@torch.no_grad()
@site_cases
def test_gradients_are_those_of_finite_differences(
    model: Transformer, run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
    attention = getattr(layer_of(model, site), name)
    attend_heads = attention.attend_heads
    # Before anything of the model is moved.
    product = of(run, "gradient_times_weight", site, together=False)
    chosen = Run(model, SOURCE, TARGET, PREDICTIONS, token=2)
    product_of_chosen = of(chosen, "gradient_times_weight", site, together=False)

    def log_probs(head: int, query: int, key: int, step: float) -> Tensor:
        def moved(q: Tensor, k: Tensor, v: Tensor, *rest: Tensor | None) -> Any:
            # A weight that is greater by a step gives so much more of a value.
            heads, weights = attend_heads(q, k, v, *rest)
            heads = heads.clone()
            heads[:, head, query] += step * v[:, head, key]
            return heads, weights

        monkeypatch.setattr(attention, "attend_heads", moved)
        logits = model(SOURCE[None], TARGET[None])[0]
        return logits.log_softmax(dim=-1)[range(4), PREDICTIONS]

    for head, query, key in ((0, 0, 0), (1, 3, 2), (3, 2, 1), (2, 2, 3)):
        higher, lower = (log_probs(head, query, key, step) for step in (STEP, -STEP))
        slopes = (higher - lower) / (2 * STEP)
        own = slopes.sum() if site.kind is AttentionKind.ENCODER else slopes[query]
        weight = run.sublayers[site].weights[0, head, query, key]
        found = product[head, query, key], product_of_chosen[head, query, key]
        torch.testing.assert_close(found, (own * weight, slopes[2] * weight), atol=1e-8, rtol=1e-5)


class FadedToken:
    """Attends like the module, but a share of one key's weight is taken away in every head."""

    def __init__(self, attention: Any, weights: Tensor, key: int, share: float) -> None:
        self.attend_heads, self.key = attention.attend_heads, key
        self.taken = share * weights[..., key, None]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, *rest: Tensor | None) -> Any:
        heads, weights = self.attend_heads(q, k, v, *rest)
        return heads - self.taken * v[:, :, self.key, None], weights


@torch.no_grad()
def test_for_the_whole_model_gradients_are_those_of_fading_out_a_source_token(
    model: Transformer, run: Run
) -> None:
    found = CLASSES["gradient_times_weight"].whole(run)

    def log_probs(key: int, share: float) -> Tensor:
        faded = copy.deepcopy(model)
        for site in SITES:
            name = {"encoder": "self_attention", "cross": "cross_attention"}.get(site.kind)
            if name is not None:
                attention = getattr(layer_of(faded, site), name)
                weights = run.sublayers[site].weights
                attention.attend_heads = FadedToken(attention, weights, key, share)
        logits = faded(SOURCE[None], TARGET[None])[0]
        return logits.log_softmax(dim=-1)[range(4), PREDICTIONS]

    for key in (0, 3):
        lost = (log_probs(key, -STEP) - log_probs(key, STEP)) / (2 * STEP)
        torch.testing.assert_close(found[:, key], lost, atol=1e-7, rtol=1e-5)


@torch.no_grad()
def test_for_the_whole_model_other_maps_are_the_mean_of_layers_and_rollout_the_last(
    run: Run,
) -> None:
    for name in ("weights", "norms", "residual_norms", "value_zeroing"):
        layers = [of(run, name, site, together=True)[0] for site in SITES[4:]]
        torch.testing.assert_close(CLASSES[name].whole(run), (layers[0] + layers[1]) / 2)
    rollout = of(run, "rollout", SITES[5], together=True)[0]
    torch.testing.assert_close(CLASSES["rollout"].whole(run), rollout)


@torch.no_grad()
@pytest.mark.parametrize("side", [("encoder", "cross"), ("decoder",)], ids=str)
def test_integrated_gradients_add_up_to_what_a_prediction_loses_without_attention(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, side: tuple[str, ...]
) -> None:
    # More steps than in use, along a smooth curve: their error is small.
    points, shares = np.polynomial.legendre.leggauss(32)
    steps = np.stack([points + 1, shares]) / 2
    monkeypatch.setattr("model.explain.attribution_run._STEPS", steps)
    model = build(activation="gelu").double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        scatter(model)
    install_taps(model)
    run = Run(model, SOURCE, TARGET, PREDICTIONS, token=2)
    sites = [site for site in SITES if site.kind in side]
    maps = [of(run, "integrated_gradients", site, together=True) for site in sites]
    of_model = of_whole(run, "integrated_gradients").sum(dim=1)

    def log_probs() -> Tensor:
        return model(SOURCE[None], TARGET[None])[0].log_softmax(dim=-1)[range(4), PREDICTIONS]

    whole = log_probs()
    for site in sites:
        name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
        attention = getattr(layer_of(model, site), name)

        def nothing(*given: Any, attend: Any = attention.attend_heads) -> Any:
            heads, weights = attend(*given)
            return torch.zeros_like(heads), weights

        monkeypatch.setattr(attention, "attend_heads", nothing)
    losses = whole - log_probs()
    near = {"atol": 0.01 * float(losses.abs().max()), "rtol": 0.0}
    assert losses.abs().max() > 0.1
    torch.testing.assert_close(torch.stack([each.sum() for each in maps]).sum(), losses[2], **near)
    if "cross" in side:
        torch.testing.assert_close(of_model, losses, **near)


def test_gradients_of_many_rows_are_those_of_each(
    tiny_model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model.double()
    install_taps(model)
    whole = Run(model, SOURCE, TARGET, PREDICTIONS)
    chosen = Run(model, SOURCE, TARGET, PREDICTIONS, token=1)
    wanted = (whole.gradients, chosen.gradients, whole.first_order_losses)
    # One and three of its four rows at a time.
    for cells in (1, 3 * 5**2):
        monkeypatch.setattr("model.explain.attribution_run._CELLS", cells)
        parts = Run(model, SOURCE, TARGET, PREDICTIONS)
        of_chosen = Run(model, SOURCE, TARGET, PREDICTIONS, token=1)
        found = (parts.gradients, of_chosen.gradients, parts.first_order_losses)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(of_chosen.first_order_losses, whole.first_order_losses)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_model_whose_parameters_take_no_gradient_has_gradients_of_weights(
    tiny_model: Transformer,
) -> None:
    install_taps(tiny_model)
    wanted = Run(tiny_model, SOURCE, TARGET, PREDICTIONS).gradients
    tiny_model.requires_grad_(False)
    for site, found in Run(tiny_model, SOURCE, TARGET, PREDICTIONS).gradients.items():
        torch.testing.assert_close(found, wanted[site])


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_fits_the_contract(run: Run, name: str) -> None:
    for site in SITES:
        sublayer = run.sublayers[site]
        heads, together = (of(run, name, site, together=each) for each in (False, True))
        assert heads.shape == sublayer.weights.shape[1:]
        assert together.shape == (1, *heads.shape[1:])
        assert heads.isfinite().all()
        assert together.isfinite().all()
        assert not heads.requires_grad


def test_something_is_said_of_every_method() -> None:
    assert list(METHODS) == list(CLASSES)
    for each in METHODS.values():
        assert all((each.title, each.unit, each.paper, each.leaves_out))
        assert each.leaves_out.endswith(".")
