"""What has made recordings of unmodified models go wrong: each once, with a model that does it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from model.record.intervention import Intervention
from model.record.recording import CaptureError
from model.watch import watching


class Attention(nn.Module):
    """Softmax written out, with the weights it used kept beside."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))
        self.used: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        weights = (self.query(x) @ self.key(x).transpose(-2, -1)).softmax(dim=-1)
        self.used.append(weights.detach().clone())
        return weights @ self.value(x)


class Layers(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


class Erasing(Attention):
    def forward(self, x: Tensor) -> Tensor:
        weights = (self.query(x) @ self.key(x).transpose(-2, -1)).softmax(dim=-1)
        self.used.append(weights.detach().clone())
        values = self.value(x)
        output = weights @ values
        weights.detach().zero_()
        values.detach().zero_()
        return output


class Checkpointed(Layers):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + checkpoint(layer, x, use_reentrant=False)
        return x


class Flexible(nn.Module):
    def __init__(self, mask: bool) -> None:
        super().__init__()
        self.mask = mask
        self.project = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )
        block = None
        if self.mask:
            block = create_block_mask(
                lambda b, h, q, k: q >= k, None, None, len(x[0]), len(x[0]), "cpu"
            )
        attended = flex_attention(q, k, v, block_mask=block)
        return attended.transpose(1, 2).flatten(2)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(4))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(5)


def test_nothing_is_installed_while_nobody_watches(x):
    model = Attention()
    with watching() as seen:
        pass
    model(x)
    assert not seen.sites
    assert torch._C._len_torch_dispatch_stack() == 0
    assert torch._dynamo.eval_frame._stance.stance == "default"


def test_a_block_that_raises_leaves_what_it_saw_and_nothing_else(x):
    def fail() -> None:
        model(x)
        raise ValueError("enough")

    model = Attention()
    with pytest.raises(ValueError, match="enough"), watching() as seen:
        fail()
    assert len(seen.sites) == 1
    assert torch._C._len_torch_dispatch_stack() == 0
    assert torch._dynamo.eval_frame._stance.stance == "default"


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_weights_are_those_used(x, context):
    model = Layers(Attention(), Attention())
    with context(), watching() as seen:
        model(x)
    assert [each.place.path for each in seen.sites] == ["layers.0", "layers.1"]
    for site, layer in zip(seen.sites, model.layers, strict=True):
        assert torch.equal(site.calls[0].weights[:, 0], layer.used[0])


def test_weights_wiped_out_after_use_were_copied_before(x):
    model = Erasing()
    with torch.no_grad(), watching() as seen:
        model(x)
        expected = model.value(x)
    (site,) = seen.sites
    assert torch.equal(site.calls[0].weights[:, 0], model.used[0])
    assert torch.equal(site.calls[0].v[:, 0], expected)


def test_a_shared_module_is_one_site_of_several_calls(x):
    shared = Attention()
    model = Layers(shared, shared, shared)
    with torch.no_grad(), watching() as seen:
        model(x)
    (site,) = seen.sites
    assert len(site.calls) == 3
    for call, used in zip(site.calls, shared.used, strict=True):
        assert torch.equal(call.weights[:, 0], used)
    assert "3 calls" in str(seen.report())


def test_a_checkpoint_computed_again_for_gradients_is_no_further_call(x):
    model = Checkpointed(Attention())
    with watching() as seen:
        model(x.requires_grad_()).sum().backward()
    assert len(model.layers[0].used) == 2
    assert [len(site.calls) for site in seen.sites] == [1]


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_is_seen(x, mask):
    model = Flexible(mask)
    with torch.no_grad():
        expected = model(x)
        with watching() as seen:
            output = model(x)
    assert torch.equal(output, expected)
    (site,) = seen.sites
    q, k, _ = (p.unflatten(-1, (2, 4)).transpose(1, 2) for p in model.project(x).chunk(3, -1))
    scores = q @ k.transpose(-2, -1) / 2
    if mask:
        scores = scores.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -torch.inf)
    weights = scores.softmax(dim=-1).detach()
    torch.testing.assert_close(site.calls[0].weights, weights, atol=1e-6, rtol=0)
    assert str(site.site) == ("decoder.0" if mask else "encoder.0")


@pytest.mark.slow
def test_a_compiled_model_keeps_its_graph(x):
    torch.compiler.reset()
    graphs = []

    def counted(graph: torch.fx.GraphModule, _: object) -> object:
        graphs.append(graph)
        return graph.forward

    class Pure(Attention):
        def forward(self, x: Tensor) -> Tensor:
            weights = (self.query(x) @ self.key(x).transpose(-2, -1)).softmax(dim=-1)
            return weights @ self.value(x)

    model = Pure()
    compiled = torch.compile(model, backend=counted, fullgraph=True)
    with torch.no_grad():
        # The first call ever is a recorded one, which poisons the graph where it is compiled.
        with watching() as seen:
            output = compiled(x)
        assert not graphs
        assert len(seen.sites) == 1
        plain = model(x)
        assert torch.equal(output, plain)
        compiled(x)
        assert len(graphs) == 1
    torch.compiler.reset()


def test_the_compilers_stance_returns_with_the_last_of_several_threads():
    def stance() -> str:
        return str(torch._dynamo.eval_frame._stance.stance)

    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with watching():
            first_in.set()
            second_in.wait()
        first_out.set()

    def second() -> str:
        first_in.wait()
        with watching():
            second_in.set()
            first_out.wait()
            return stance()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        assert pool.submit(second).result() == "force_eager"
    assert stance() == "default"


def test_threads_do_not_see_one_another():
    both = threading.Barrier(2)

    def run(length: int) -> list[tuple[int, ...]]:
        with torch.no_grad(), watching() as seen:
            both.wait()
            model(torch.randn(1, length, 8))
            both.wait()
        return [tuple(call.weights.shape) for site in seen.sites for call in site.calls]

    model = Attention()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, (3, 4)))
    assert found == [[(1, 1, 3, 3)], [(1, 1, 4, 4)]]


def test_a_thread_of_the_models_own_is_not_seen_and_the_report_says_so(x):
    model = Attention()
    with watching() as seen, ThreadPoolExecutor(1) as pool:
        pool.submit(model, x).result()
    assert not seen.sites
    assert any("in threads" in each for each in seen.report().invisible)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("grad", [torch.no_grad, torch.inference_mode])
def test_a_traced_model_is_recorded_in_order(x, grad):
    class Pure(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(8, 24)

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.project(x).chunk(3, dim=-1)
            return (q @ k.transpose(-2, -1)).softmax(dim=-1) @ v

    model = Layers(Pure(), Pure()).eval()
    with torch.no_grad(), watching() as expected:
        model(x)
    traced = torch.jit.trace(model, x)
    with grad(), watching() as seen:
        traced(x)
    assert len(seen.sites) == len(expected.sites) == 2
    for mine, theirs in zip(seen.sites, expected.sites, strict=True):
        assert torch.equal(mine.calls[0].weights, theirs.calls[0].weights)


@pytest.mark.slow
def test_an_exported_model_is_recorded_in_order(x):
    model = Layers(
        *(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(2))
    ).eval()
    exported = torch.export.export(model, (x,)).module()
    with torch.no_grad(), watching() as expected:
        model(x)
    with torch.no_grad(), watching() as seen:
        exported(x)
        exported(x)
    assert [len(site.calls) for site in seen.sites] == [2, 2]
    for mine, theirs in zip(seen.sites, expected.sites, strict=True):
        torch.testing.assert_close(
            mine.calls[1].weights, theirs.calls[0].weights, atol=1e-6, rtol=0
        )


def test_autocast_is_followed_through_its_casts(x):
    model = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    with torch.autocast("cpu", torch.bfloat16):
        expected = model.eval()(x[:, :4], x)
        with watching() as seen:
            output = model(x[:, :4], x)
    assert torch.equal(output, expected)
    assert [str(each.site) for each in seen.sites] == ["decoder.0", "cross.0"]
    assert seen.sites[1].calls[0].weights.shape == (2, 2, 4, 6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_quantised_model_is_recorded(x):
    model = Layers(Attention())
    quantised = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8)
    with torch.no_grad():
        expected = quantised(x)
        with watching() as seen:
            output = quantised(x)
    assert torch.equal(output, expected)
    (site,) = seen.sites
    assert str(site.site) == "encoder.0"
    assert torch.equal(site.calls[0].weights[:, 0], quantised.layers[0].used[-1])


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_attention_of_nested_tensors_is_told(x, context):
    texts = torch.nested.nested_tensor([x[0], x[1, :4]], layout=torch.strided)

    def attend() -> Tensor:
        split = (part.view(2, -1, 2, 4).transpose(1, 2) for part in (texts, texts, texts))
        return F.scaled_dot_product_attention(*(part.contiguous() for part in split))

    with context():
        expected = attend()
        with watching() as seen:
            output = attend()
    for mine, theirs in zip(output.unbind(), expected.unbind(), strict=True):
        assert torch.equal(mine, theirs)
    (other,) = seen.report().others
    assert "nested, sparse or meta tensor" in other.reason


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_attention_of_jagged_tensors_is_told(context):
    with context():
        texts = torch.nested.nested_tensor(
            [torch.randn(6, 16), torch.randn(4, 16)], layout=torch.jagged
        )
        maps = [nn.Linear(16, 16) for _ in range(3)]

        def attend() -> Tensor:
            split = (each(texts).unflatten(-1, [2, 8]).transpose(1, 2) for each in maps)
            return F.scaled_dot_product_attention(*split)

        expected = attend()
        with watching() as seen:
            output = attend()
    assert torch.equal(output.values(), expected.values())
    assert not seen.sites
    (other,) = seen.report().others
    assert "nested, sparse or meta tensor" in other.reason


def test_jagged_tensors_pass_unharmed(x):
    texts = torch.nested.nested_tensor([x[0], x[1, :4]], layout=torch.jagged)
    project = nn.Linear(8, 8)
    with torch.no_grad():
        expected = project(texts).relu()
        with watching() as seen:
            output = project(texts).relu()
    assert torch.equal(output.values(), expected.values())
    assert not seen.report().suspicions


LOSSES: dict[str, Callable[[nn.Module, Tensor], Any]] = {
    "grad": lambda model, x: torch.func.grad(lambda x: model(x).sum())(x),
    "grad of parameters": lambda model, x: torch.func.grad(
        lambda own: torch.func.functional_call(model, own, x).sum()
    )(dict(model.named_parameters())),
    "of each sentence": lambda model, x: torch.vmap(
        torch.func.grad(lambda own, x: torch.func.functional_call(model, own, x).sum()), (None, 0)
    )(dict(model.named_parameters()), x),
    "jvp": lambda model, x: torch.func.jvp(model, (x,), (x,)),
    "vjp": lambda model, x: torch.func.vjp(model, x)[1](x),
    "jacrev": lambda model, x: torch.func.jacrev(model)(x),
    "hessian": lambda model, x: torch.func.hessian(lambda x: model(x).sum())(x[:1, :2]),
    "linearize": lambda model, x: torch.func.linearize(model, x)[1](x),
    "functionalize": lambda model, x: torch.func.functionalize(model)(x),
    "graph": lambda model, x: make_fx(torch.func.grad(lambda x: model(x).sum()))(x)(x),
    "export": lambda model, x: torch.export.export(model, (x,)).module()(x),
}


class Plain(Attention):
    def forward(self, x: Tensor) -> Tensor:
        return (self.query(x) @ self.key(x).mT).softmax(dim=-1) @ self.value(x)


class FusedAttention(Attention):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each(x)[:, None] for each in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(q, k, v)[:, 0]


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("make", [Plain, FusedAttention])
@pytest.mark.parametrize("transform", LOSSES)
def test_functional_transforms_give_what_they_give_without_a_recording(transform, make, context, x):
    model = make().eval()
    run = LOSSES[transform]
    with context():
        try:
            expected = run(model, x)
        except (NotImplementedError, RuntimeError):
            pytest.skip("torch cannot do this itself")
        with watching() as seen:
            found = run(model, x)
        for mine, theirs in zip(tree_leaves(found), tree_leaves(expected), strict=True):
            assert torch.equal(mine, theirs)
    with torch.no_grad(), watching() as alone:
        model(x)
    if transform in ("hessian", "of each sentence"):
        with pytest.raises(CaptureError, match=r"under torch\.vmap, whose axis"):
            seen.trace()
    else:
        assert torch.equal(seen.sites[0].calls[0].weights, alone.sites[0].calls[0].weights)


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp"])
def test_derivatives_of_what_is_edited_are_refused_for_they_would_be_wrong(transform, x):
    model = Plain().eval()
    with torch.no_grad(), watching() as seen:
        model(x)
    without = Intervention(heads={("encoder", 0, 0): 0})
    with (
        pytest.raises(CaptureError, match=r"no gradients, or wrong ones; .*outside of torch\.func"),
        torch.no_grad(),
        watching(without, like=seen),
    ):
        LOSSES[transform](model, x)


def sparse(x: Tensor) -> Tensor:
    return (x[0].to_sparse() @ x[1].T) + (x[0] @ x[1].T.to_sparse())


def spectrum(x: Tensor) -> Tensor:
    waves = torch.fft.fft(x)
    return (waves @ waves.mT * (0.5 + 1j) + waves[0, 0, 0]).abs()


def on_meta(x: Tensor) -> Tensor:
    weights = (x.to("meta") @ x.to("meta").mT / torch.tensor(2.0, device="meta")).softmax(dim=-1)
    return torch.ones((weights @ x.to("meta")).shape)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("function", [sparse, spectrum, on_meta])
def test_what_is_not_followed_passes_unharmed(function, context, x):
    with context():
        expected = function(x)
        with watching() as seen:
            output = function(x)
    assert torch.equal(output, expected)
    assert not seen.sites


def test_of_two_blocks_inside_one_another_the_inner_records(x):
    model = Attention()
    with torch.no_grad(), watching() as outer:
        with watching() as inner:
            model(x)
        assert not outer.sites
        assert not outer.report().others
        model(x)
    assert [len(seen.sites[0].calls) for seen in (outer, inner)] == [1, 1]
