"""Weights of long texts: in a file, in fewer bits, and of the sites that one names."""

from __future__ import annotations

import copy
import io
import math
import tempfile
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from model.record.recording import CaptureError
from model.trace.attention_map import Tokens, TraceError
from model.trace.trace import Trace
from model.watch import Watched, keeping, watching
from tests.model.watch.test_families import FAMILIES

HEADS, WIDTH, LENGTH = 2, 8, 12
TOLERANCE = {8: 0.02, 16: 1e-3, 32: 5e-7}


class Attention(nn.Module):
    """Self-attention, by hand or by torch's kernel, with a mask or without one."""

    def __init__(self, *, fused: bool, causal: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.fused, self.causal, self.n_heads = fused, causal, HEADS

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1)
        )
        if self.fused:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if self.causal:
                future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, -math.inf)
            out = scores.softmax(dim=-1) @ v
        return x + out.transpose(1, 2).flatten(2)


def model_of(*, fused: bool, causal: bool = False, layers: int = 3) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(*(Attention(fused=fused, causal=causal) for _ in range(layers)))


def text(length: int = LENGTH, batch: int = 1) -> Tensor:
    return torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(length))


def watched(model: nn.Module, *inputs: Any, **asked: Any) -> Watched:
    with torch.no_grad(), watching(**asked) as seen:
        model(*inputs)
    return seen


def require_close(kept: Trace, exact: Trace, tolerance: float) -> None:
    assert [*kept.maps] == [*exact.maps]
    for site, each in exact.maps.items():
        np.testing.assert_allclose(kept.maps[site].weights, each.weights, atol=tolerance)
        np.testing.assert_array_equal(kept.maps[site].allowed, each.allowed)
        assert kept.maps[site].scores is None
        assert kept.maps[site].q is None


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_what_is_kept_is_what_was_recorded(bits: Any, fused: bool, causal: bool) -> None:
    model = model_of(fused=fused, causal=causal)
    exact, kept = watched(model, text()), watched(model, text(), bits=bits)
    assert [str(each.site) for each in kept.sites] == [str(each.site) for each in exact.sites]
    assert kept.sites[0].site.kind == ("decoder" if causal else "encoder")
    trace = kept.trace()
    require_close(trace, exact.trace(), TOLERANCE[bits])
    assert {each.bits for each in trace.maps.values()} == {bits}
    assert trace.nbytes < exact.trace().nbytes / 2
    # It is written as it is kept, and nothing is rounded twice.
    file = io.BytesIO()
    trace.save(file)
    file.seek(0)
    again = Trace.load(file)
    assert again.precision == trace.precision
    for site, each in trace.maps.items():
        np.testing.assert_array_equal(again.maps[site].weights, each.weights)


def test_labels_choose_a_sentence_without_its_padding() -> None:
    model = model_of(fused=False)
    exact, kept = (watched(model, text(batch=2), bits=bits) for bits in (None, 16))
    trace = kept.trace(1)
    require_close(trace, exact.trace(1), 1e-3)
    padded = F.pad(torch.ones(2, 1, 1, 9, dtype=torch.bool), (0, 3))

    class Padded(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(x, x, x, attn_mask=padded)

    x = text(batch=2).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    exact, kept = (watched(Padded(), x, bits=bits) for bits in (None, 16))
    labels = Tokens.unnamed(range(9))
    require_close(kept.trace(1, source=labels), exact.trace(1, source=labels), 1e-3)
    with pytest.raises(CaptureError, match="attends to keys after the 5"):
        kept.trace(source=Tokens.unnamed(range(5)))


@pytest.mark.parametrize("fused", [True, False])
def test_only_the_named_sites_are_recorded(fused: bool) -> None:
    model = model_of(fused=fused)
    short = watched(model, text(4))
    exact = watched(model, text())
    seen = watched(model, text(), like=short, sites=["encoder.1", short.sites[2].site])
    assert [str(each.site) for each in seen.sites] == ["encoder.1", "encoder.2"]
    for each in seen.sites:
        (call,) = each.calls
        whole = next(one for one in exact.sites if one.site == each.site).calls[0]
        torch.testing.assert_close(call.weights, whole.weights, rtol=0, atol=0)
        assert call.q is not None
    assert seen.report().others == ()
    trace = watched(model, text(), like=short, sites=["encoder.1"], bits=8).trace(
        sites=["encoder.1"]
    )
    assert [str(site) for site in trace.maps] == ["encoder.1"]


def test_sites_need_a_look_that_knows_them() -> None:
    model = model_of(fused=True)
    with pytest.raises(CaptureError, match=r"pass what that saw as watching\(…, like=seen\)"):
        watched(model, text(), sites=["encoder.0"])
    with pytest.raises(CaptureError, match=r"There is no encoder\.7 here"):
        watched(model, text(), like=watched(model, text(4)), sites=["encoder.7"])
    with pytest.raises(TraceError, match="in 8, 16 or 32 bits, not in 4"):
        watched(model, text(), bits=4)
    with pytest.raises(TraceError, match="in 8, 16 or 32 bits, not in 12"):
        watched(model, text(4)).trace().save(io.BytesIO(), bits=12)  # type: ignore[arg-type]


def test_the_size_is_said_before_and_the_sites_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = model_of(fused=True)
    short = watched(model, text(4))
    assert short.size(1000) == 3 * HEADS * 1000**2
    assert short.size(1000, bits=32) == 4 * short.size(1000)
    seen = watched(model, text(600), like=short, bits=8, progress=True)
    said = capsys.readouterr().err
    assert "About 0.00 GB of weights" in said
    assert "3/3" in said
    file = io.BytesIO()
    seen.trace().save(file)
    masks = 3 * 600**2
    assert short.size(600) + masks < len(file.getvalue()) < 1.02 * (short.size(600) + masks)


class Usage(NamedTuple):
    free: int


def test_a_full_disk_is_said_before_or_when_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(fused=True)
    short = watched(model, text(4))
    with monkeypatch.context() as patch:
        patch.setattr(keeping.shutil, "disk_usage", lambda _: Usage(100))
        with pytest.raises(CaptureError, match="set TMPDIR to another folder"):
            watched(model, text(), like=short, bits=8)

    class Full(io.FileIO):
        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

    def full(**_: Any) -> Full:
        return Full(tempfile.mkstemp()[0], "rb+")

    monkeypatch.setattr(keeping.tempfile, "TemporaryFile", full)
    with pytest.raises(CaptureError, match=r"cannot be written to .*: No space left on device"):
        watched(model, text(), bits=8)


def test_weights_that_are_no_shares_are_kept_exactly() -> None:
    class Differential(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            scores = x @ x.transpose(-2, -1)
            return (scores.softmax(dim=-1) - 0.3 * (-scores).softmax(dim=-1)) @ x

    class Overflowing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x @ x.transpose(-2, -1)).softmax(dim=-1) @ x

    nan = text()
    nan[0, 3] = math.nan
    for model, x in ((Differential(), text()), (Overflowing(), nan)):
        exact, kept = (watched(model, x, bits=bits) for bits in (None, 8))
        (one,), (other,) = exact.sites[0].calls, kept.sites[0].calls
        torch.testing.assert_close(other.weights, one.weights, equal_nan=True, rtol=0, atol=0)
        assert kept.sites[0].notes == exact.sites[0].notes


def test_memory_holds_one_layer_whatever_their_number() -> None:
    model = model_of(fused=False, causal=True, layers=6)
    alive = []

    class Counting(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for layer in model.children():
                x = layer(x)
                held = {
                    id(each.untyped_storage()): each.untyped_storage().nbytes()
                    for node in mode.lineage._nodes.values()
                    for each in tensors_of(node)
                }
                alive.append(sum(held.values()))
            return x

    def tensors_of(node: Any) -> list[Tensor]:
        found = (
            [] if node.scores is None or node.scores.unmasked is None else [node.scores.unmasked[0]]
        )
        candidate = node.candidate
        if candidate is not None:
            found += [candidate.weights, candidate.scores, candidate.given]
        return [each for each in found if each is not None]

    with torch.no_grad(), watching(bits=8):
        mode: Any = _get_current_dispatch_mode()
        Counting()(text(64))
    one_layer = HEADS * 64 * 64 * 4
    assert len(alive) == 6
    assert max(alive) <= 2 * one_layer


# ---- the shapes of real models -------------------------------------------------------------------

LONG = 200
REAL = {
    "BertModel": {"max_position_embeddings": LONG},
    "GPT2LMHeadModel": {"n_positions": LONG},
    "WhisperForConditionalGeneration": {"max_source_positions": LONG, "max_target_positions": LONG},
    "MarianMTModel": {"max_position_embeddings": LONG},
}


def long_inputs(name: str) -> dict[str, Tensor]:
    ids = torch.arange(LONG)[None] % 30 + 5
    match name:
        case "WhisperForConditionalGeneration":
            sound = torch.linspace(-1, 1, 8 * 2 * LONG).reshape(1, 8, 2 * LONG)
            return {"input_features": sound, "decoder_input_ids": ids[:, :40]}
        case "MarianMTModel":
            return {"input_ids": ids, "decoder_input_ids": ids[:, :40]}
    return {"input_ids": ids}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_long_texts_have_hugging_face_s_own_weights(name: str, attention: str) -> None:
    (family,) = (each for each in FAMILIES if each.model == name)
    config = getattr(transformers, family.config)(**family.options | REAL[name])
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    eager = getattr(transformers, name)(config).eval()
    other = copy.deepcopy(config)
    other._attn_implementation = attention
    model = getattr(transformers, name)(other).eval()
    model.load_state_dict(eager.state_dict())
    inputs = long_inputs(name)
    with torch.no_grad():
        expected = family.attentions(eager(**inputs, output_attentions=True))
        with watching() as short:
            model(
                **{
                    key: each[..., : 2 * 8] if each.dim() == 2 else each
                    for key, each in inputs.items()
                }
            )
        for bits in (8, 32):
            with watching(bits=bits, like=short) as seen:
                model(**inputs)
            assert len(seen.sites) == len(expected)
            for site, own in zip(seen.sites, expected, strict=True):
                assert own is not None
                torch.testing.assert_close(site.calls[0].weights, own, rtol=0, atol=TOLERANCE[bits])
