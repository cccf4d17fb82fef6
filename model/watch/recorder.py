"""The mode that sees every operation of one thread, and the context that installs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from model.record.intervention import UNCHANGED, Intervention
from model.record.recording import CaptureError
from model.record.scopes import Scope
from model.trace.attention_map import AttentionKind, Site, known_kind
from model.trace.rounded_weights import Bits, require_bits
from model.watch.call_log import CallLog
from model.watch.call_sites import Places, Spot
from model.watch.editing import Edits
from model.watch.keeping import Keeping
from model.watch.lineage import Lineage
from model.watch.masks import Masks
from model.watch.operations import handler_of, unfollowed
from model.watch.sites import Watched

_PROXY = torch._C._TorchDispatchModeKey.PROXY
_WITHOUT_NUMBERS = (FakeTensor, FunctionalTensor)
_PLAIN = {Tensor, nn.Parameter, nn.Buffer}


class RecordingMode(TorchDispatchMode):
    """Passes every operation to its handler, as the handlers' `Recorder`."""

    # flex_attention is a higher-order operator and refuses to run under a mode without this.
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Compilation is off anyway; disabling it at every operation would take half of the time.
        return False

    def __init__(self, edits: Edits, n_heads: int | Mapping[str, int] | None, log: CallLog) -> None:
        super().__init__()
        self._n_heads = n_heads
        self.edits = edits
        self.lineage = Lineage()
        self.masks = Masks()
        self.places = Places()
        self.log = log

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if _is_traced(types):
            return func(*args, **(kwargs or {}))
        if types and not _PLAIN.issuperset(types):
            # A tensor subclass, such as a jagged tensor, unwraps itself and calls again.
            return NotImplemented
        kwargs = kwargs or {}
        handler = handler_of(func)
        # A backward pass that recomputes a checkpointed forward pass is no additional call.
        idle = _innermost.get() is not self or torch._C._current_graph_task_id() != -1
        if handler is None or idle:
            return func(*args, **kwargs)
        # The most operands of any operation that inspects them.
        for x in args[:3]:
            if isinstance(x, Tensor) and (x.is_nested or x.is_meta or x.layout != torch.strided):
                handler = unfollowed
                break
        before = self.log.n_events
        self.log.reads = reads = self.lineage.events((*args, *kwargs.values()))
        result = handler(self, func, args, kwargs)
        if events := reads | (1 << self.log.n_events) - (1 << before):
            self.lineage.add_events(result, events)
        return result

    def n_heads(self, spot: Spot) -> int | None:
        """The number of a module's heads according to the caller."""
        n_heads = self._n_heads
        return n_heads.get(spot.place.path) if isinstance(n_heads, Mapping) else n_heads

    def parts_of(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a composed operation so that its parts are seen one by one."""
        with self:
            return func(*args, **kwargs)


def _is_traced(types: Any) -> bool:
    """Whether torch writes down what runs, as for an export; its tensors then hold no numbers."""
    return torch._C._get_dispatch_mode(_PROXY) is not None or any(
        issubclass(each, _WITHOUT_NUMBERS) for each in types
    )


_innermost: Scope[RecordingMode] = Scope("hs.watching()")


@contextmanager
def watching(
    under: Intervention = UNCHANGED,
    *,
    weights: Mapping[Any, Any] | None = None,
    like: Watched | None = None,
    n_heads: int | Mapping[str, int] | None = None,
    kind: AttentionKind | str | Mapping[str, AttentionKind | str] | None = None,
    sites: Iterable[Site | str] | None = None,
    bits: Bits | None = None,
    progress: bool = False,
) -> Generator[Watched, None, None]:
    """Record the attention of every module that runs in this thread until the block ends.

    Other threads and asyncio tasks are not recorded, nor threads that a model starts itself; tasks
    that start within the block are. Inside another such block, the inner one records and the outer
    one does not. Compiled models run
    without their graphs meanwhile, in every thread: a graph compiled under a recording would stay
    broken after it. What was seen stays readable after the block, also when the block raised.
    Gradients flow as without it; what is recorded holds no graph.

    With an intervention, gates, means, patterns of weights and masks take effect where weights meet
    values, for every sentence of a batch and in every call of a site; gates of 1 change no bit. A
    mask takes the place of the model's own, padding included. There are no gradients then.

    For a long text, `bits` writes the weights of each layer to a temporary file as they come, so
    that no more than one layer is in memory; a trace of it reads them from there.

    Args:
        under: masks and heads, by the sites that `like` has.
        weights: to be used in place of those of whole sites, as {("decoder", 0): recorded};
            broadcastable to (batch, head, query, key).
        like: what watched the model before, as it is, and so knows its sites.
        n_heads: how many heads the modules have where the report says "heads or batch uncertain";
            of every module, or by the names of `named_modules`.
        kind: what attention is, where the report calls its kind uncertain or wrongly; likewise.
        sites: those to record, as `like` names them ("encoder.0"); None for all.
        bits: 8, 16 or 32 to keep weights and masks alone, in that many bits each
            (`Trace.precision` says what that means); None for everything, in memory.
        progress: whether a bar on standard error counts sites; with `like`, it says how large the
            file will be.

    Raises:
        TraceError: if there is no such kind, or no such number of bits.
        CaptureError: if weights do not fit on the disk, or `like` has no such site.
        CaptureError: if what is to be edited did not run, is hidden in a fused operation, or is
            wanted with gradients; if the block ends in another thread or task than it began in, or
            before one that began later. The message says what to do.
        HeadError, MaskError: if an edit does not fit the model.
    """
    if like is None and (under != UNCHANGED or weights or sites is not None):
        raise CaptureError(
            "What is to be edited or left out goes by sites; watch the model once as it is, and "
            "pass what that saw as watching(…, like=seen)."
        )
    known = {} if like is None else like.shapes(sites)
    keeping = None
    if bits is not None:
        require_bits(bits)
        keeping = Keeping(bits, known, shows=progress)
    log = CallLog(keeping, None if sites is None else frozenset(known))
    kinds = (
        {path: known_kind(each) for path, each in kind.items()}
        if isinstance(kind, Mapping)
        else (None if kind is None else known_kind(kind))
    )
    recorder = RecordingMode(
        Edits({}) if like is None else like.edits(under, weights or {}), n_heads, log
    )
    try:
        with _innermost.holding(recorder), _uncompiled(), _installed(recorder):
            yield Watched(recorder.log, like, kinds)
    finally:
        recorder.places.forget_run()
        if keeping is not None:
            keeping.close()
    recorder.edits.require_met()


@contextmanager
def _installed(recorder: RecordingMode) -> Generator[None, None, None]:
    """Put a mode on the thread's stack, and take it from wherever it stands then.

    Another asyncio task of the thread may have put its own on top meanwhile.
    """
    thread = threading.get_ident()
    recorder.__enter__()
    try:
        yield
    finally:
        above: list[TorchDispatchMode] = []
        # A mode that was left on another thread's stack does nothing there.
        while thread == threading.get_ident() and (mode := _get_current_dispatch_mode()):
            TorchDispatchMode.__exit__(mode, None, None, None)
            if mode is recorder:
                break
            above.append(mode)
        for mode in reversed(above):
            TorchDispatchMode.__enter__(mode)


class _Stance:
    """The compiler's stance, one per process: the first holder sets it, the last resets it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._set: Any = None

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._set = torch.compiler.set_stance("force_eager")
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._set.__exit__(None, None, None)


_STANCE = _Stance()


@contextmanager
def _uncompiled() -> Generator[None, None, None]:
    _STANCE.hold()
    try:
        yield
    finally:
        _STANCE.release()
