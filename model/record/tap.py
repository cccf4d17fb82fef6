"""What a tap is: hooks on one attention module that read and edit one of its passes."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from model.paper.decoding_cache import decoding_position
from model.paper.encoding import PositionalEncoding
from model.record.head_editing import active_head_edits
from model.record.intervention import PositionError, Side
from model.record.mask_editing import active_edits, edited_rows
from model.record.patches import Stream
from model.record.patching import active_activations
from model.record.position_editing import active_position_editing
from model.record.recording import active_recording
from model.record.sentence_map import AttentionRecord
from model.trace.attention_map import Site


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
