"""torch's own modules, watched: against what taps record, and bit for bit what they give unwatched.

Taps compute the same formula from a module's own parameters (model/record/taps.py), and
know nothing of operations; the two share the function that applies a mask.
"""

import copy

import pytest
import torch
from torch import Tensor, nn

from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, Site
from model.watch import Watched, watching

CONTEXTS = (torch.no_grad, torch.inference_mode, torch.enable_grad)
PADDING = torch.tensor([[False] * 4 + [True], [False] * 5])


def transformer(**options: object) -> nn.Transformer:
    torch.manual_seed(1)
    return nn.Transformer(16, 4, 2, 2, 32, batch_first=True, **options).eval()  # type: ignore[arg-type]


def texts(seed: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, 5, 16, generator=generator), torch.randn(2, 3, 16, generator=generator)


def masks() -> dict[str, Tensor]:
    return {
        "tgt_mask": nn.Transformer.generate_square_subsequent_mask(3),
        "src_key_padding_mask": PADDING,
        "memory_key_padding_mask": PADDING,
    }


def watched(model: nn.Module, *args: Tensor, **kwargs: object) -> tuple[Tensor, Watched]:
    with watching() as seen:
        output = model(*args, **kwargs)
    return output, seen


def names(seen: Watched) -> list[str]:
    return [str(each.site) for each in seen.sites]


ALL = ["encoder.0", "encoder.1", "decoder.0", "cross.0", "decoder.1", "cross.1"]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.filterwarnings("ignore:.*nested_tensor")
def test_a_whole_transformer_gives_what_taps_record(context, norm_first):
    model = transformer(norm_first=norm_first)
    tapped = copy.deepcopy(model)
    install_taps(tapped)
    with context():
        expected = model(*texts(), **masks())
        output, seen = watched(model, *texts(), **masks())
        with recording() as truth:
            tapped(*texts(), **masks())
    assert torch.equal(output, expected)
    assert names(seen) == ALL
    real = ~PADDING[:, None, :, None]
    for each in seen.sites:
        (call,) = each.calls
        tap = truth[each.site]
        # A row of padding is no text; the fast path leaves it out, and so its numbers differ.
        rows = real if each.site.kind is AttentionKind.ENCODER else torch.tensor(True)
        for name in ("weights", "scores", "q", "k", "v"):
            mine, theirs = getattr(call, name), getattr(tap, name)
            assert not mine.requires_grad
            if name in ("k", "v") and each.site.kind is not AttentionKind.DECODER:
                mine, theirs = mine * real, theirs * real
            elif name == "scores" and each.site.kind is not AttentionKind.DECODER:
                mine, theirs = (x.masked_fill(PADDING[:, None, None], 0.0) for x in (mine, theirs))
            torch.testing.assert_close(mine * rows, theirs * rows, atol=2e-6, rtol=0)
        allowed = torch.ones(call.weights.shape, dtype=torch.bool)
        assert torch.equal(allowed & call.allowed, allowed & tap.allowed)
        assert each.place.file == __file__


def test_places_are_named_as_in_the_model():
    model = transformer()
    with torch.enable_grad():
        _, seen = watched(model, *texts(), **masks())
    modules = dict(model.named_modules())
    assert [each.place.path for each in seen.sites] == [
        name for name, module in modules.items() if isinstance(module, nn.MultiheadAttention)
    ]
    assert {each.place.module for each in seen.sites} == {"MultiheadAttention"}


def test_a_layer_on_the_fast_path_is_the_same_as_beside_it():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    source, _ = texts()
    with torch.no_grad():
        _, fast = watched(layer, source, src_key_padding_mask=PADDING)
    _, slow = watched(layer, source, src_key_padding_mask=PADDING)
    assert fast.sites[0].place.module == "TransformerEncoderLayer"
    assert slow.sites[0].place.path == "self_attn"
    torch.testing.assert_close(
        fast.sites[0].calls[0].weights, slow.sites[0].calls[0].weights, atol=1e-6, rtol=0
    )
    assert not fast.sites[0].calls[0].weights[0, :, :, 4].any()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("mask", ["bool", "float"])
def test_torchs_attention_gives_its_own_weights(need_weights, dropout, mask):
    torch.manual_seed(3)
    attention = nn.MultiheadAttention(16, 4, dropout=dropout, batch_first=True).eval()
    source, target = texts()
    forbidden = torch.rand(3, 5) < 0.3
    forbidden[:, 0] = False
    given = forbidden if mask == "bool" else torch.where(forbidden, -torch.inf, 0.25)
    _, expected = attention(target, source, source, attn_mask=given, average_attn_weights=False)
    attention.train()
    _, seen = watched(attention, target, source, source, attn_mask=given, need_weights=need_weights)
    (site,) = seen.sites
    assert site.site == Site(AttentionKind.CROSS, 0)
    # Before dropout, also in training.
    torch.testing.assert_close(site.calls[0].weights, expected, atol=1e-6, rtol=0)
    assert torch.equal(site.calls[0].allowed.expand(2, 4, 3, 5), (~forbidden).expand(2, 4, 3, 5))


def test_gradients_are_those_of_an_unwatched_pass():
    model = transformer(dropout=0.0).train()
    model(*texts(), **masks()).sum().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    output, _ = watched(model, *texts(), **masks())
    output.sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)
