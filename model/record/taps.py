"""The hooks on attention and positions, installed once, when a model is loaded.

All browser sessions share a cached model. Hooks that were added and removed around a forward pass
would leak one person's sentence into another's. These hooks stay; they read ContextVars for the
recording (model/record/recording.py), the edits (model/record/mask_editing.py,
model/record/head_editing.py) and the patches (model/record/patching.py) of the present thread.
Without any, reading them is the only cost.

Recording changes nothing for the caller. Asked for weights, our own attention runs the explicit
formula: the same logits bit for bit if the configuration uses it anyway, and to float32 rounding if
torch's fused kernel would have run. torch's own attention is never asked, because its result
depends on the request: a query without allowed keys gives zeros without weights and NaN with them,
and NaN spreads through the layers above. Its weights are computed separately from the same inputs
and parameters, hence before dropout, in training too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from model.paper.layers import DecoderLayer, EncoderLayer
from model.paper.multi_head import MultiHeadAttention, PerHeadAttention
from model.paper.single_stack import SelfDecoder, SelfDecoderLayer
from model.paper.transformer import Decoder, Encoder
from model.record.intervention import Side
from model.record.patches import Stage, Stream
from model.record.recording import CaptureError, CaptureWarning
from model.record.tap import FunctionTap, PositionTap, StreamTap, Tap
from model.record.torch_tap import TorchTap
from model.trace.attention_map import AttentionKind, Site

Adapter = Callable[[Any, Site], list[tuple[nn.Module, Tap]]]


def _batched_taps(attention: MultiHeadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    return [(attention.attention, FunctionTap(site))]


def _per_head_taps(attention: PerHeadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    heads = [head.get_submodule("attention") for head in attention.heads]
    return [(head, FunctionTap(site, part, len(heads))) for part, head in enumerate(heads)]


def _torch_taps(attention: nn.MultiheadAttention, site: Site) -> list[tuple[nn.Module, Tap]]:
    if type(attention).forward is not nn.MultiheadAttention.forward:
        raise CaptureError(
            f"{type(attention).__name__} replaces the forward of nn.MultiheadAttention, so its "
            "weights are unknown from outside; give it its own entry in ADAPTERS."
        )
    return [(attention, TorchTap(site))]


ADAPTERS: dict[type[nn.Module], Adapter] = {
    MultiHeadAttention: _batched_taps,
    PerHeadAttention: _per_head_taps,
    nn.MultiheadAttention: _torch_taps,
}
"""The taps of an attention module by its type, each with its function."""

ROLES: dict[tuple[type[nn.Module], str], AttentionKind] = {
    (SelfDecoderLayer, "self_attention"): AttentionKind.DECODER,
    (EncoderLayer, "self_attention"): AttentionKind.ENCODER,
    (DecoderLayer, "self_attention"): AttentionKind.DECODER,
    (DecoderLayer, "cross_attention"): AttentionKind.CROSS,
    (nn.TransformerEncoderLayer, "self_attn"): AttentionKind.ENCODER,
    (nn.TransformerDecoderLayer, "self_attn"): AttentionKind.DECODER,
    (nn.TransformerDecoderLayer, "multihead_attn"): AttentionKind.CROSS,
}
"""The role of an attention module, by the type of its owner and its name there."""


def install_taps(model: nn.Module) -> tuple[Site, ...]:
    """The sites that recordings of a model will have, after installing its hooks.

    Call it once, when the model is loaded; calling it again, or on a deep copy, adds no second
    hook. Layers are counted per kind, in the order of the model's modules. torch's encoder layers
    leave their fast path for good, because it skips hooks; outputs agree to float32 rounding.

    A CaptureWarning names attention that no adapter knows: modules whose class has "attention" in
    its name. Raises CaptureError if ADAPTERS knows none of the model's attention, or a subclass of
    a known one replaces its forward; then no hook is registered.
    """
    plan: list[tuple[nn.Module, Tap]] = []
    count: Counter[AttentionKind] = Counter()
    for attention, adapter, kind in _attentions(model, AttentionKind.MODULE, set()):
        plan += adapter(attention, Site(kind, count[kind]))
        count[kind] += 1
    missed = _missed(model)
    if not plan:
        raise CaptureError(
            f"{type(model).__name__} has no attention that can be recorded"
            f"{missed and ': '}{missed}; {_KNOWN}."
        )
    if missed:
        warnings.warn(
            f"Recordings of {type(model).__name__} will lack {missed}; {_KNOWN}.",
            CaptureWarning,
            stacklevel=2,
        )
    for function, tap in plan:
        present: Tap | None = _tap_on(function, Tap)
        if present is None:
            tap.attach(function)
        else:
            # A layer tapped alone, or in another model, has moved here.
            present.site = tap.site
    for module in model.modules():
        if isinstance(module, Encoder | Decoder) and _tap_on(module.positions, PositionTap) is None:
            is_decoder = isinstance(module, Decoder | SelfDecoder)
            PositionTap("decoder" if is_decoder else "encoder").attach(module.positions)
        if isinstance(module, Encoder | Decoder):
            _tap_streams(module)
    return tuple(sorted({tap.site for _, tap in plan}))


def _tap_streams(stack: Encoder | Decoder) -> None:
    """Install the taps on a stack's hidden states."""
    side: Side = "decoder" if isinstance(stack, Decoder | SelfDecoder) else "encoder"
    stages: list[tuple[Stage, nn.Module]] = [("embedding", stack.dropout)]
    for number, layer in enumerate(stack.layers):
        # Not the layer itself: while decoding it takes steps, of which a hook does not hear.
        stages.append((number, layer.get_submodule("feed_forward_residual")))
    if side == "encoder":
        stages.append(("output", stack.final_norm))
    for stage, module in stages:
        present: StreamTap | None = _tap_on(module, StreamTap)
        if present is None:
            StreamTap(Stream(side, stage)).attach(module)
        else:
            present.stream = Stream(side, stage)


_KNOWN = (
    "Headscope knows its own MultiHeadAttention and PerHeadAttention, and torch's "
    "nn.MultiheadAttention; give others an entry in ADAPTERS"
)
_NAMED = 3


def _missed(model: nn.Module) -> str:
    """The names and classes of attention that no adapter knows; empty if there is none."""
    known = tuple(ADAPTERS)
    settled: list[str] = []
    missed = []
    for name, module in model.named_modules():
        # A module inside attention is a part of it.
        if any(name.startswith(f"{outer}." if outer else "") for outer in settled):
            continue
        named = "attention" in type(module).__name__.lower()
        if isinstance(module, known):
            settled.append(name)
        elif named and not any(isinstance(inner, known) for inner in module.modules()):
            settled.append(name)
            missed.append(f"{name or 'itself'} ({type(module).__name__})")
    more = [f"{len(missed) - _NAMED} more"] if len(missed) > _NAMED else []
    return ", ".join(missed[:_NAMED] + more)


def _attentions(
    module: nn.Module, kind: AttentionKind, visited: set[nn.Module]
) -> Iterator[tuple[nn.Module, Adapter, AttentionKind]]:
    # A module with several owners is one site, that of the first owner.
    if module in visited:
        return
    visited.add(module)
    for known in type(module).__mro__:
        if known in ADAPTERS:
            yield module, ADAPTERS[known], kind
            return
    for name, child in module.named_children():
        yield from _attentions(child, _role(module, name), visited)


def _role(owner: nn.Module, name: str) -> AttentionKind:
    for known in type(owner).__mro__:
        if (known, name) in ROLES:
            return ROLES[known, name]
    return AttentionKind.MODULE


def _tap_on(function: nn.Module, kind: type[Any]) -> Any:
    owners = (getattr(hook, "__self__", None) for hook in function._forward_hooks.values())
    return next((owner for owner in owners if isinstance(owner, kind)), None)
