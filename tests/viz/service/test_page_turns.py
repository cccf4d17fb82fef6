"""One page is built at a time, in the order in which they came."""

import threading
from collections.abc import Callable

import pytest

from viz.service.page_turns import Turns

LONG = 60.0


def start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not true():
        pause.wait(0.001)


def queue_up(turns: Turns, count: int, order: list[int]) -> list[threading.Thread]:
    """So many threads that wait for their turn, each begun when the last one waits."""
    threads = []
    for number in range(count):

        def work(number: int = number) -> None:
            with turns.turn():
                order.append(number)

        before = turns.n_waiting
        threads.append(start(work))
        until(lambda before=before: turns.n_waiting > before)
    return threads


def test_pages_are_built_in_the_order_in_which_they_came() -> None:
    turns, order = Turns(LONG), []
    with turns.turn():
        threads = queue_up(turns, 8, order)
        assert order == []
    for thread in threads:
        thread.join(LONG)
    assert order == list(range(8))


def test_a_part_within_a_page_belongs_to_its_turn() -> None:
    turns, order = Turns(LONG), []
    with turns.turn():
        with turns.turn():
            threads = queue_up(turns, 1, order)
        assert turns.n_waiting == 1
    threads[0].join(LONG)
    assert order == [0]


def test_who_waits_for_the_model_lets_others_in_and_comes_back_after_them() -> None:
    turns, order = Turns(LONG), []
    with turns.turn():
        threads = queue_up(turns, 2, order)
        with turns.pause():
            for thread in threads:
                thread.join(LONG)
        order.append(99)
        threads = queue_up(turns, 1, order)
        assert order == [0, 1, 99]
    threads[0].join(LONG)


def test_who_waits_for_the_model_outside_of_a_page_needs_no_turn() -> None:
    turns = Turns(LONG)

    def ask() -> None:
        with turns.pause():
            pass

    with turns.turn():
        thread = start(ask)
        thread.join(LONG)
        assert not thread.is_alive()


def test_a_page_that_fails_gives_its_turn_away() -> None:
    turns, order = Turns(LONG), []

    def fail() -> None:
        with turns.turn():
            queue_up(turns, 1, order)
            raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        fail()
    until(lambda: order == [0])


def test_a_page_that_takes_too_long_keeps_nobody_waiting() -> None:
    turns, order = Turns(1.0), []
    began, ended = threading.Event(), threading.Event()

    def take_long() -> None:
        with turns.turn():
            began.set()
            ended.wait(LONG)

    slow = start(take_long)
    assert began.wait(LONG)
    with turns.turn():
        ended.set()
        slow.join(LONG)
        # Its end takes nothing from whoever has the turn by now.
        threads = queue_up(turns, 1, order)
        assert order == []
    threads[0].join(LONG)
    assert order == [0]
