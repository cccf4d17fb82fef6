"""Deeds that a browser tells of: each is done once, wherever a newer message ends the older run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from viz.browser.clicks import handle_clicks
from viz.browser.messages import handle_once, last_handled
from viz.browser.stage import handle_presses
from viz.shell import stage
from viz.shell.stage import Step
from viz.talk import on_every_page, own_talks
from viz.talk.scenes import Scene, Talk


class State(MutableMapping[str, Any]):
    """A session's state that ends a run at one of its uses, as Streamlit's does."""

    def __init__(self, **values: Any) -> None:
        self.values_of = values
        self.uses_left: int | None = None

    def _use(self) -> None:
        if self.uses_left is not None:
            if not self.uses_left:
                raise StopException
            self.uses_left -= 1

    def __getitem__(self, name: str) -> Any:
        self._use()
        return self.values_of[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._use()
        self.values_of[name] = value

    def __delitem__(self, name: str) -> None:
        self._use()
        del self.values_of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_of)

    def __len__(self) -> int:
        return len(self.values_of)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    made = State()
    monkeypatch.setattr(st, "session_state", made)
    return made


def cut(state: State, uses: int, run: Callable[[], None]) -> bool:
    """Whether a run was ended when it used the state for one time more than this."""
    state.uses_left = uses
    try:
        run()
    except StopException:
        return True
    finally:
        state.uses_left = None
    return False


@pytest.mark.parametrize(
    "told", [None, "p", 3, {}, [1], [[]], [["1", "p"]], [[True, "p"]], [[1.5, "p"]], [[None]]]
)
def test_what_is_no_deed_is_left_out(state: State, told: Any) -> None:
    done: list[Any] = []
    state["part"] = {"deeds": told}
    handle_once("part", "deeds", lambda *what: done.append(what))
    assert (done, last_handled("part")) == ([], 0)


def test_every_deed_is_done_once_and_in_order(state: State) -> None:
    done: list[Any] = []

    def hear(deeds: list[Any]) -> None:
        state["part"] = {"deeds": deeds}
        handle_once("part", "deeds", lambda *what: done.append(what))

    hear([[2, "a"], [1, "z"]])
    hear([[4, "c"], [2, "a"], [3]])
    assert done == [("z",), ("a",), (), ("c",)]
    assert (last_handled("part"), last_handled("another")) == (4, 0)


@pytest.mark.parametrize("what", [(), (1,), (None,), ("p", 2)])
def test_what_is_no_press_is_not_heard(state: State, what: tuple[Any, ...]) -> None:
    pressed: list[str] = []
    state["stage-keys"] = {"pressed": [[1, *what], [2, "p"]]}
    handle_presses(pressed.append)
    assert pressed == ["p"]


def test_a_press_counts_once_wherever_the_next_one_ends_its_run(state: State) -> None:
    parts = ["a", "b", "c", "d"]
    for uses in range(100):
        step = Step("part", parts, "a")
        state.values_of = {
            "part": "a",
            "stage-steps.kept": {"ArrowRight": (step, 1), "ArrowLeft": (step, -1)},
        }
        state["stage-keys"] = {"pressed": [[1, "ArrowRight"], [2, "ArrowRight"]]}
        was_cut = cut(state, uses, lambda: handle_presses(stage.press))
        state["stage-keys"] = {"pressed": [[1, "ArrowRight"], [2, "ArrowRight"], [3, "ArrowRight"]]}
        handle_presses(stage.press)
        assert (state["part"], last_handled("stage-keys")) == ("d", 3), uses
        if not was_cut:
            break
    assert uses > 5, "it was cut at no use"


def test_a_click_counts_once_wherever_the_next_one_ends_its_run(state: State) -> None:
    def switch(head: str) -> None:
        state["off"] = state["off"] ^ {head}

    for uses in range(100):
        state.values_of = {"off": frozenset()}
        state["map-clicks"] = {"clicks": [[1, "a"], [2, "b"]]}
        was_cut = cut(state, uses, lambda: handle_clicks("map", switch))
        state["map-clicks"] = {"clicks": [[1, "a"], [2, "b"], [3, "a"]]}
        handle_clicks("map", switch)
        assert state["off"] == {"b"}, uses
        if not was_cut:
            break
    assert uses > 5, "it was cut at no use"


def test_a_move_to_a_scene_counts_as_heard_only_when_it_is_made(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk("Talk", (Scene("One", "", "heads", {}), Scene("Two", "", "masks", {})))
    monkeypatch.setattr(own_talks, "ready_talk", lambda: talk)
    for uses in range(100):
        state.values_of = {"talk": "", "present": True, "read": False}
        state["talks-keys"] = {"go": [1, 2]}
        was_cut = cut(state, uses, on_every_page.go_on_message)
        went, asked = state.get("talks-went.kept", 0), state.get("address-target.kept")
        assert went in (0, 1)
        assert went <= (asked is not None), uses
        if not was_cut:
            break
    assert uses > 5, "it was cut at no use"
    assert state["address-target.kept"] == ("masks", {"scene": "2", "present": "1"})


def test_a_newer_run_waits_for_the_deed_of_the_older_one(state: State) -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def do(what: str) -> None:
        begun.set()
        go_on.wait(60)
        done.append(what)

    state["part"] = {"deeds": [[1, "a"]]}
    runs = [threading.Thread(target=handle_once, args=("part", "deeds", do)) for _ in range(2)]
    runs[0].start()
    assert begun.wait(60)
    runs[1].start()
    # However long it takes the second one to come so far.
    runs[1].join(0.2)
    go_on.set()
    for run in runs:
        run.join(60)
    assert done == ["a"]
