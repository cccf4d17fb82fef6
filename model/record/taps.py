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

import inspect
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.paper.attention import ScaledDotProductAttention, masked_softmax
from model.paper.decoding_cache import decoding_position
from model.paper.multi_head import MultiHeadAttention, PerHeadAttention
from model.paper.positions import PositionalEncoding
from model.paper.single_stack import SelfDecoder, SelfDecoderLayer
from model.paper.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer
from model.record.head_editing import active_head_edits
from model.record.intervention import PositionError, Side
from model.record.mask_editing import active_edits, active_position_editing, edited_rows
from model.record.patches import Stage, Stream
from model.record.patching import active_activations
from model.record.recording import AttentionRecord, CaptureError, CaptureWarning, active_recording
from model.trace.attention_map import AttentionKind, Site


class PositionTap:
    """The hook on one side's positional encoding."""

    def __init__(self, side: Side) -> None:
        self.side: Side = side

    def attach(self, encoding: PositionalEncoding) -> None:
        """Register the hook."""
        encoding.register_forward_hook(self.after, with_kwargs=True)

    def after(
        self,
        encoding: PositionalEncoding,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Tensor,
    ) -> Tensor | None:
        """The forward hook: edited rows, if this thread edits positions."""
        moving = active_position_editing.get()
        if moving is None or not moving.edit.concerns(self.side):
            return None
        moving.met = True
        if moving.edit.reverse and decoding_position.get() is not None:
            raise PositionError(
                "While decoding, the length is unknown, so the decoder's positions cannot be "
                "reversed; give a target, or reverse the encoder's alone."
            )
        return edited_rows(moving.edit, encoding, *args, **kwargs)


class StreamTap:
    """The hook on the module whose output is the hidden states after a stage."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def attach(self, module: nn.Module) -> None:
        """Register the hook."""
        module.register_forward_hook(self.after)

    def after(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor | None:
        """The forward hook: other hidden states, if this thread has them patched."""
        handler = active_activations.get()
        return None if handler is None else handler.states(self.stream, output)


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Tap(ABC):
    """The hooks on one attention function.

    A tap holds no tensor and no module, so a model is copied together with its taps. Subclasses
    differ in `see`.

    Attributes:
        site: the function's site.
        part: its number among the functions that share the site's heads.
        parts: the number of functions that share them.
    """

    def __init__(self, site: Site, part: int = 0, parts: int = 1) -> None:
        self.site = site
        self.part = part
        self.parts = parts

    def attach(self, function: nn.Module) -> None:
        """Register the hooks."""
        # Inspecting a signature takes longer than the attention of a short sentence.
        self._signature = inspect.signature(function.forward)
        function.register_forward_hook(self.after, with_kwargs=True)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """A call's arguments by name, defaults included."""
        request = self._signature.bind(*args, **kwargs)
        request.apply_defaults()
        return request

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        """The forward hook: add the call to this thread's recording."""
        recorded = active_recording.get()
        if recorded is not None:
            request = self.bind(args, kwargs).arguments
            with torch.no_grad():
                recorded.add(self.site, self.part, self.parts, self.see(function, request, output))
        return None

    @abstractmethod
    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """The record of one call, by its arguments by name, defaults included, and its result."""


class FunctionTap(Tap):
    """A tap on one of our attention functions, which returns its weights on request."""

    def attach(self, function: nn.Module) -> None:
        """Register the hooks, with the one that asks for weights."""
        function.register_forward_pre_hook(self.before, with_kwargs=True)
        super().attach(function)

    def before(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments | None:
        """The forward pre-hook, the only place that changes a call before it runs."""
        records, edits = active_recording.get() is not None, active_edits.get()
        if not records and edits is None:
            return None
        request = self.bind(args, kwargs)
        if records:
            request.arguments["need_weights"] = True
        if edits is not None:
            q, k, own = (request.arguments[name] for name in ("q", "k", "allowed"))
            request.arguments["allowed"] = edits.allowed(
                self.site, self.part, self.parts, q, k, own
            )
        return request.args, request.kwargs

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        """The forward hook: the output with edited and patched heads, which is also recorded."""
        edits, handler = active_head_edits.get(), active_activations.get()
        edited = output
        if edits is not None and edits.concerns(self.site):
            request = self.bind(args, kwargs).arguments
            edited = edits.edited(self.site, self.part, self.parts, function, request, output)
        if handler is not None:
            heads = handler.heads(self.site, self.part, self.parts, edited[0])
            edited = heads, edited[1]
        super().after(function, args, kwargs, edited)
        return None if edited is output else edited

    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """The inputs with the returned weights; scores are computed again."""
        q, k, v = (request[name].detach() for name in ("q", "k", "v"))
        return AttentionRecord(
            weights=output[1].detach(),
            scores=function.biased_scores(q, k, request["bias"]),
            q=q,
            k=k,
            v=v,
            allowed=request["allowed"],
        )


class TorchTap(Tap):
    """A tap on nn.MultiheadAttention, which may return weights of any layout, means or none.

    It handles every form of arguments: batch first or second, no batch, nested tensors, boolean and
    additive masks. Like torch, it assumes that the hint `is_causal` describes attn_mask. Masks and
    heads cannot be edited.
    """

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        """The forward hook; it refuses an edit instead of ignoring it."""
        edits, head_edits = active_edits.get(), active_head_edits.get()
        if edits is not None and edits.concerns(self.site):
            raise CaptureError(
                f"{self.site} is a {type(function).__name__}, whose mask cannot be replaced; edit "
                "attention built of this project's modules, or pass the mask to the model itself."
            )
        if head_edits is not None and head_edits.concerns(self.site):
            raise CaptureError(
                f"{self.site} is a {type(function).__name__}, whose heads cannot be edited; edit "
                "attention built of this project's modules."
            )
        return super().after(function, args, kwargs, output)

    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """The record by the module's formula, from its inputs and parameters."""
        texts = [request[name] for name in ("query", "key", "value")]
        padding, mask = request["key_padding_mask"], request["attn_mask"]
        if texts[0].is_nested:
            # torch nests self-attention only; the lengths give the padding mask.
            texts, padding = _unnest(texts[0])
        elif texts[0].dim() == 2:
            texts = [text.unsqueeze(0) for text in texts]
            padding = None if padding is None else padding.unsqueeze(0)
        elif not function.batch_first:
            texts = [text.transpose(0, 1) for text in texts]
        q, k, v = _torch_projections(function, *texts)
        extra_keys: tuple[str, ...] = ()
        if function.bias_k is not None:
            k, v = (
                torch.cat([x, _split_heads(function, added.expand(len(x), 1, -1))], dim=2)
                for x, added in ((k, function.bias_k), (v, function.bias_v))
            )
            extra_keys += ("[bias]",)
        if function.add_zero_attn:
            k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
            extra_keys += ("[zero]",)
        scores = _TORCH_FORMULA.scores(q, k)
        allowed, added = _torch_masks(padding, mask, len(q), len(extra_keys))
        weights = masked_softmax(scores if added is None else scores + added, allowed)
        return AttentionRecord(
            weights=weights, scores=scores, q=q, k=k, v=v, allowed=allowed, extra_keys=extra_keys
        )


_TORCH_FORMULA = ScaledDotProductAttention()

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


def _split_heads(attention: Any, x: Tensor) -> Tensor:
    # (batch, token, head * width) -> (batch, head, token, width)
    heads: Tensor = x.unflatten(-1, (attention.num_heads, -1))
    return heads.transpose(1, 2)


def _torch_projections(
    attention: Any, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    if attention.in_proj_weight is not None:
        weights = attention.in_proj_weight.chunk(3)
    else:
        weights = attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight
    bias = attention.in_proj_bias
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        _split_heads(attention, F.linear(x, weight, bias))
        for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _unnest(nested: Tensor) -> tuple[list[Tensor], Tensor]:
    padded = nested.to_padded_tensor(0.0)
    lengths = torch.tensor([len(text) for text in nested.unbind()], device=padded.device)
    padding = torch.arange(padded.shape[1], device=padded.device) >= lengths[:, None]
    return [padded] * 3, padding


def _torch_masks(
    padding: Tensor | None, mask: Tensor | None, batch: int, n_extra_keys: int
) -> tuple[Tensor | None, Tensor | None]:
    """The allowed keys of torch's two masks, and the sum of their additive parts.

    Both are (batch, head, query, key). For torch, a boolean True forbids, and so does -inf in an
    additive mask.
    """
    masks = []
    if padding is not None:
        masks.append(padding[:, None, None, :])
    if mask is not None:
        # (query, key), or (batch * head, query, key)
        masks.append(mask[None, None] if mask.dim() == 2 else mask.unflatten(0, (batch, -1)))
    allowed: Tensor | None = None
    added: Tensor | None = None
    for each in masks:
        if each.dtype == torch.bool:
            may = ~each
        else:
            may = each > -torch.inf
            finite = F.pad(each.masked_fill(~may, 0.0), (0, n_extra_keys))
            added = finite if added is None else added + finite
        may = F.pad(may, (0, n_extra_keys), value=True)
        allowed = may if allowed is None else allowed & may
    return allowed, added
