"""Locates an operation in a model: its module and line of Python, from the call stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import FrameType

import torch
from torch import Tensor, nn
from torch._functorch import eager_transforms
from torch.autograd import forward_ad

_MODULE_CALL = nn.Module._call_impl.__code__
_VMAP = torch._functorch.vmap._flat_vmap.__code__
_DERIVATIVES = tuple(
    each.__code__
    for each in (eager_transforms.grad_and_value_impl, eager_transforms._vjp_with_argnums)
)
_NOT_A_MODELS = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (torch.__file__, __file__)
)
_N_HEADS = ("num_heads", "n_heads", "nhead", "n_head", "num_attention_heads", "heads", "h")
"""Attribute names for the number of heads in modules that fold heads into the batch."""
_PASSED = (nn.Softmax, nn.Dropout, nn.Identity)
"""Modules that are a step inside an attention, unsuitable for its name."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """The place where an operation ran.

    Attributes:
        path: of the innermost module, as `named_modules` names it; "" for the model itself or
            where no module ran.
        module: the class of that module; "" where none ran.
        file: of the innermost line of Python that is not torch's.
        line: its number, from 1.
    """

    path: str
    module: str
    file: str
    line: int

    def __str__(self) -> str:
        named = f"{self.path or 'the model itself'} ({self.module})" if self.module else "no module"
        return f"{named}, {os.path.basename(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place, with the data that distinguishes its calls from those of other places.

    Attributes:
        place: for the report.
        key: equal for calls of one place; None where a compiled module hides its lines, and so
            every call counts as a place.
        module: the innermost module.
        n_heads: the number of heads according to that module.
        run: the call of a whole model that this is part of, from 1; None if no module runs.
        stacked: whether it runs under `torch.vmap`.
        differentiated: whether it runs under `torch.func.grad`, `jvp` or the like.
    """

    place: CallSite
    key: Hashable
    module: nn.Module | None
    n_heads: int | None
    run: int | None = None
    stacked: bool = False
    differentiated: bool = False


@dataclass(slots=True)
class Places:
    """The module names of every model that ran."""

    _names: dict[int, str] = field(default_factory=dict)
    # A freed module's id could be reused by another.
    _roots: list[nn.Module] = field(default_factory=list)
    # Of the model called last; a freed model could be mistaken for the next.
    _run: FrameType | None = None
    _n_runs: int = 0
    _parameters: set[int] = field(default_factory=set)

    def here(self) -> Spot:
        """The place that called the running operation."""
        modules: list[nn.Module] = []
        inside: list[tuple[str, int]] = []
        nearest: tuple[str, int] | None = None
        stacked = False
        differentiated = forward_ad._current_level >= 0
        frame: FrameType | None = sys._getframe(1)
        outermost: FrameType | None = None
        while frame is not None:
            code = frame.f_code
            if code is _MODULE_CALL:
                outermost = frame
                module = frame.f_locals["self"]
                if modules or not isinstance(module, _PASSED):
                    modules.append(module)
            elif not code.co_filename.startswith(_NOT_A_MODELS):
                line = code.co_filename, frame.f_lineno
                nearest = nearest or line
                if not modules:
                    inside.append(line)
            elif code is _VMAP:
                stacked = True
            elif code in _DERIVATIVES:
                differentiated = True
            frame = frame.f_back
        file, number = nearest or ("", 0)
        if not modules:
            place = CallSite("", "", file, number)
            return Spot(place, tuple(inside), None, None, None, stacked, differentiated)
        if outermost is not None and id(modules[-1]) not in self._names:
            self._name(outermost, modules[-1])
        if outermost is not self._run:
            self._run = outermost
            self._n_runs += 1
        innermost = modules[0]
        place = CallSite(self._names.get(id(innermost), ""), type(innermost).__name__, file, number)
        hidden = isinstance(innermost, torch.jit.ScriptModule)
        key = None if hidden else (id(innermost), tuple(inside))
        n_heads = _heads_of(modules[:2])
        return Spot(place, key, innermost, n_heads, self._n_runs, stacked, differentiated)

    def is_parameter(self, storage: int | None) -> bool:
        """Whether a storage of that address is a parameter of a model that ran."""
        return storage in self._parameters

    def forget_run(self) -> None:
        """Release the last call and its arguments."""
        self._run = None

    def _name(self, outermost: FrameType, root: nn.Module) -> None:
        # A method such as `generate` calls parts of a model that is itself not being called.
        frame = outermost.f_back
        while frame is not None:
            if frame.f_code.co_varnames[:1] == ("self",):
                owner = frame.f_locals.get("self")
                if isinstance(owner, nn.Module) and root in owner.modules():
                    root = owner
            frame = frame.f_back
        self._roots.append(root)
        for name, module in root.named_modules():
            self._names[id(module)] = name
            for each in module._parameters.values():
                if each is not None:
                    self._parameters.add(storage_of(each))


def storage_of(x: Tensor) -> int:
    """The address of a tensor's storage; of one that torch.func wrapped, that of what is inside."""
    while torch._C._functorch.is_functorch_wrapped_tensor(x):
        x = torch._C._functorch.get_unwrapped(x)
    address: int = x.untyped_storage()._cdata
    return address


def _heads_of(modules: list[nn.Module]) -> int | None:
    for module in modules:
        for name in _N_HEADS:
            value = getattr(module, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
