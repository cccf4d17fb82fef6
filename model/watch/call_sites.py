"""Where in a model an operation runs: its module, and the line of Python, from the call stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import FrameType

import torch
from torch import nn

_MODULE_CALL = nn.Module._call_impl.__code__
_VMAP = torch._functorch.vmap._flat_vmap.__code__
_NOT_A_MODELS = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (torch.__file__, __file__)
)
_N_HEADS = ("num_heads", "n_heads", "nhead", "n_head", "num_attention_heads", "heads", "h")
"""What the number of heads is called in modules that fold heads into the batch."""
_PASSED = (nn.Softmax, nn.Dropout, nn.Identity)
"""A step inside an attention, and no module that one would name it by."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something ran.

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
    """A place, with what tells its calls from those of other places.

    Attributes:
        place: what people are told.
        key: equal for calls of one place; None where a compiled module hides its lines, and so
            every call counts as a place.
        module: the innermost module.
        n_heads: how many heads that module says it has.
        run: which call of a whole model this is part of, from 1; None where no module runs.
        stacked: whether it runs under `torch.vmap`.
    """

    place: Place
    key: Hashable
    module: nn.Module | None
    n_heads: int | None
    run: int | None = None
    stacked: bool = False


@dataclass(slots=True)
class Places:
    """Names of the modules of every model that ran."""

    _names: dict[int, str] = field(default_factory=dict)
    # A module that has gone would give its id to another.
    _roots: list[nn.Module] = field(default_factory=list)
    # Of the model that was called last; one that has gone would be taken for the next.
    _run: FrameType | None = None
    _n_runs: int = 0
    _parameters: set[int] = field(default_factory=set)

    def here(self) -> Spot:
        """Where the running operation was called from."""
        modules: list[nn.Module] = []
        inside: list[tuple[str, int]] = []
        nearest: tuple[str, int] | None = None
        stacked = False
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
            frame = frame.f_back
        file, number = nearest or ("", 0)
        if not modules:
            return Spot(Place("", "", file, number), tuple(inside), None, None, None, stacked)
        if outermost is not None and id(modules[-1]) not in self._names:
            self._name(outermost, modules[-1])
        if outermost is not self._run:
            self._run = outermost
            self._n_runs += 1
        innermost = modules[0]
        place = Place(self._names.get(id(innermost), ""), type(innermost).__name__, file, number)
        hidden = isinstance(innermost, torch.jit.ScriptModule)
        key = None if hidden else (id(innermost), tuple(inside))
        return Spot(place, key, innermost, _heads_of(modules[:2]), self._n_runs, stacked)

    def is_parameter(self, storage: int | None) -> bool:
        """Whether a storage of that address is a parameter of a model that ran."""
        return storage in self._parameters

    def forget_run(self) -> None:
        """Let go of the call that ran last, and of its arguments."""
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
                if each is not None and not torch._C._functorch.is_functorch_wrapped_tensor(each):
                    self._parameters.add(each.untyped_storage()._cdata)


def _heads_of(modules: list[nn.Module]) -> int | None:
    for module in modules:
        for name in _N_HEADS:
            value = getattr(module, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
