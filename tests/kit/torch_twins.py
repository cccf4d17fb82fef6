"""Torch's and Hugging Face's attention and layers beside ours, with the same parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from model.checkpoints.export_hf import hugging_face_config, hugging_face_state
from model.paper.attention import AdditiveAttention, ScaledDotProductAttention
from model.paper.layers import DecoderLayer, EncoderLayer
from model.paper.multi_head import MultiHeadAttention
from model.paper.transformer import Transformer

Direction = Literal["theirs to ours", "ours to theirs"]
DIRECTIONS: tuple[Direction, ...] = ("theirs to ours", "ours to theirs")

_ATTENTION = (ScaledDotProductAttention, AdditiveAttention, nn.MultiheadAttention)


def scatter(module: nn.Module) -> None:
    """Move every parameter off its initial value: zero biases and unit norms compare nothing."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))


def twin(ours: nn.Module, theirs: nn.Module, direction: Direction) -> None:
    """Give both modules the same parameters, whatever they were before."""
    scatter(ours)
    scatter(theirs)
    pairs = list(_tensors(ours, theirs))
    # A parameter left out of the copy would make every comparison below meaningless.
    for module, side in ((ours, [a for a, _ in pairs]), (theirs, [b for _, b in pairs])):
        assert sum(p.numel() for p in module.parameters()) == sum(part.numel() for part in side)
    with torch.no_grad():
        for mine, torchs in pairs:
            if direction == "theirs to ours":
                mine.copy_(torchs)
            else:
                torchs.copy_(mine)


def twin_stacks(ours: Transformer, theirs: nn.Transformer, direction: Direction) -> None:
    """The same for all layers and final norms of both stacks."""
    for mine, torchs in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for layer, their_layer in zip(mine.layers, torchs.layers, strict=True):
            twin(layer, their_layer, direction)
        if torchs.norm is not None:
            twin(mine.final_norm, torchs.norm, direction)


def _tensors(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    # Views of the parameters, so that writing to either side writes to its module.
    if isinstance(ours, MultiHeadAttention) and isinstance(theirs, nn.MultiheadAttention):
        yield from _attention_tensors(ours, theirs)
        return
    if not isinstance(ours, EncoderLayer | DecoderLayer):
        for name, parameter in ours.named_parameters():
            yield parameter.detach(), theirs.get_parameter(name).detach()
        return
    pairs: list[tuple[nn.Module, Any]] = [
        (ours.self_attention, theirs.self_attn),
        (ours.self_residual.norm, theirs.norm1),
        (ours.feed_forward.w_1, theirs.linear1),
        (ours.feed_forward.w_2, theirs.linear2),
    ]
    if isinstance(ours, DecoderLayer):
        pairs += [
            (ours.cross_attention, theirs.multihead_attn),
            (ours.cross_residual.norm, theirs.norm2),
            (ours.feed_forward_residual.norm, theirs.norm3),
        ]
    else:
        pairs.append((ours.feed_forward_residual.norm, theirs.norm2))
    for mine, torchs in pairs:
        yield from _tensors(mine, torchs)


def _attention_tensors(
    ours: MultiHeadAttention, theirs: nn.MultiheadAttention
) -> Iterator[tuple[Tensor, Tensor]]:
    yield from _tensors(ours.w_o, theirs.out_proj)
    for leaf in ("weight", "bias"):
        packed = getattr(theirs, f"in_proj_{leaf}")
        if packed is None:
            continue
        if ours.fused_qkv:
            yield getattr(ours.w_qkv, leaf).detach(), packed.detach()
            continue
        thirds = packed.detach().chunk(3)
        for projection, third in zip((ours.w_q, ours.w_k, ours.w_v), thirds, strict=True):
            yield getattr(projection, leaf).detach(), third


@contextmanager
def weights_seen(module: nn.Module) -> Iterator[list[Tensor]]:
    """Ask every attention inside, ours or torch's, for its weights; they come in calling order."""
    seen: list[Tensor] = []

    def ask(attention: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        kwargs = kwargs | {"need_weights": True}
        if isinstance(attention, nn.MultiheadAttention):
            kwargs["average_attn_weights"] = False
        return args, kwargs

    def keep(_: nn.Module, __: Any, output: tuple[Tensor, Tensor]) -> None:
        seen.append(output[1])

    handles = []
    for each in module.modules():
        if isinstance(each, _ATTENTION):
            handles.append(each.register_forward_pre_hook(ask, with_kwargs=True))
            handles.append(each.register_forward_hook(keep))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def hugging_face_twin(ours: Transformer, **options: Any) -> Any:
    """Marian's model, or for pre-norm Pegasus's, with our parameters; options go to its config."""
    # Seconds, which only the worker that comes here shall pay.
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    config = AutoConfig.for_model(**hugging_face_config(ours.config), **options)
    theirs = AutoModelForSeq2SeqLM.from_config(config).eval()
    state = hugging_face_state(ours)
    # Sines and cosines by their formula, in their order, are those that ours become.
    for name in (f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")):
        torch.testing.assert_close(state[name], theirs.get_parameter(name), atol=1e-6, rtol=0)
    # A tied matrix is a parameter once.
    assert state.keys() == {name for name, _ in theirs.named_parameters()}
    theirs.load_state_dict(state, strict=False)
    return theirs
