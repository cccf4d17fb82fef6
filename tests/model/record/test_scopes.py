"""Whose attention a block records where asyncio tasks and generators share a thread."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import nn

import headscope as hs
from model.record.head_editing import editing_heads
from model.record.mask_editing import editing
from model.record.patching import patching, recording_activations
from model.record.position_editing import editing_positions
from model.record.recording import CaptureError, Recording
from model.record.scopes import Scope


@pytest.fixture(scope="module")
def model() -> nn.Module:
    made = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    hs.install_taps(made)
    return made


@pytest.fixture(params=[hs.watching, hs.recording])
def block(request) -> Callable[[], AbstractContextManager[Any]]:
    return request.param


def run(model: nn.Module, length: int) -> None:
    with torch.no_grad():
        model(torch.ones(1, length, 8))


def lengths(seen: Any) -> list[int]:
    """The numbers of tokens of all calls."""
    if isinstance(seen, Recording):
        return [call.n_keys for site in seen.sites for call in seen.calls(site)]
    return [call.n_keys for site in seen.sites for call in site.calls]


@pytest.fixture(autouse=True)
def _nothing_is_left(model) -> Generator[None, None, None]:
    # torch keeps this for the whole process; threads that recorded in another test may have set it.
    before = torch.utils._python_dispatch.is_in_torch_dispatch_mode()
    yield
    assert torch._C._len_torch_dispatch_stack() == 0
    assert torch.utils._python_dispatch.is_in_torch_dispatch_mode() == before
    assert torch._dynamo.eval_frame._stance.stance == "default"
    with hs.recording() as recorded, hs.watching() as seen:
        run(model, 2)
    assert (lengths(recorded), lengths(seen)) == ([2], [2])


def test_tasks_of_one_thread_each_record_their_own(model, block):
    async def recorded(length: int, barrier: asyncio.Barrier, entered: int) -> list[int]:
        # In turn: each enters, runs and leaves while others are inside.
        for _ in range(entered):
            await barrier.wait()
        with block() as seen:
            for _ in range(3):
                await barrier.wait()
                run(model, length)
        for _ in range(2 - entered):
            await barrier.wait()
        return lengths(seen)

    async def unrecorded(barrier: asyncio.Barrier) -> None:
        for _ in range(5):
            await barrier.wait()
            run(model, 7)

    async def all_of_them() -> list[Any]:
        barrier = asyncio.Barrier(4)
        return await asyncio.gather(
            *(recorded(3 + each, barrier, each) for each in range(3)), unrecorded(barrier)
        )

    assert asyncio.run(all_of_them()) == [[3] * 3, [4] * 3, [5] * 3, None]


def test_a_task_started_in_a_block_is_in_it_until_it_ends(model, block):
    async def child(at: asyncio.Event, length: int) -> None:
        await at.wait()
        run(model, length)

    async def parent() -> Any:
        now, later = asyncio.Event(), asyncio.Event()
        with block() as seen:
            outlives = asyncio.create_task(child(later, 4))
            within = asyncio.create_task(child(now, 3))
            now.set()
            await within
        later.set()
        await outlives
        return seen

    assert lengths(asyncio.run(parent())) == [3]


def test_a_block_left_by_another_task_is_refused(model, block):
    async def entering(blocks: AbstractContextManager[Any]) -> None:
        blocks.__enter__()

    async def leaving(blocks: AbstractContextManager[Any]) -> None:
        run(model, 3)
        with pytest.raises(CaptureError, match="left by another thread or asyncio task than the"):
            blocks.__exit__(None, None, None)

    async def both() -> None:
        blocks = block()
        await asyncio.create_task(entering(blocks))
        await asyncio.create_task(leaving(blocks))

    asyncio.run(both())


@pytest.mark.parametrize("drawn", [0, 1])
def test_generators_advanced_in_turn_are_refused(model, block, drawn):
    def passes(length: int) -> Generator[Any, None, None]:
        with block() as seen:
            for _ in range(drawn + 1):
                yield seen
                run(model, length)

    first, second = passes(3), passes(4)
    for _ in range(drawn + 1):
        next(first), next(second)
    for each in (first, second):
        with pytest.raises(CaptureError, match="overlapped in one thread"):
            next(each)


def test_generators_left_half_way_leave_nothing_behind(model, block):
    def half() -> Generator[None, None, None]:
        with block():
            yield

    first, second = half(), half()
    next(first), next(second)
    first.close()
    second.close()


@pytest.mark.parametrize(
    "block",
    [
        lambda: editing({}),
        lambda: editing_heads({}),
        lambda: patching([]),
        recording_activations,
        lambda: editing_positions(hs.PositionEdit()),
    ],
)
def test_blocks_that_edit_are_of_one_task_too(block):
    first, second = block(), block()
    first.__enter__(), second.__enter__()
    for each in (first, second):
        with pytest.raises(CaptureError, match="overlapped in one thread"):
            each.__exit__(None, None, None)


def test_an_error_of_the_block_comes_before_one_about_its_end():
    scope: Scope[int] = Scope("a block")
    first, second = scope.holding(1), scope.holding(2)
    first.__enter__(), second.__enter__()
    assert first.__exit__(ValueError, ValueError("its own"), None) is False
    assert scope.get() == 2
    second.__exit__(ValueError, ValueError("its own"), None)
    assert scope.get() is None


def test_a_block_left_in_another_thread_is_refused():
    refused: list[str] = []
    blocks = hs.recording()

    def leave() -> None:
        try:
            blocks.__exit__(None, None, None)
        except CaptureError as error:
            refused.append(str(error))

    blocks.__enter__()
    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert "another thread" in refused[0]
