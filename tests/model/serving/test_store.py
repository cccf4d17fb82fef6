import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from model.serving.store import ResultStore


@dataclass
class Large:
    nbytes: int


def test_large_results_push_the_oldest_out() -> None:
    store = ResultStore(10, 10, 2000)
    for number in range(4):
        store.keep({number: Large(10)})
    first = store.find(0)
    store.keep({"large": Large(1000)})
    assert len(store) == 5
    assert store.find("large")
    store.keep({"larger": Large(1000)})
    assert len(store) == 2
    assert store.nbytes <= 2000
    assert first is not None
    assert store.find(0) is None
    assert store.find("large")


def test_what_was_asked_for_last_is_kept_longest() -> None:
    for value in ("small", Large(3)):
        store = ResultStore(2, 2, 10**9)
        store.keep({"first": value})
        store.keep({"second": value})
        assert store.find("first") is value
        store.keep({"third": value})
        assert store.find("first") is value
        assert store.find("second") is None


def test_a_result_larger_than_the_bound_is_kept_alone() -> None:
    store = ResultStore(10, 10, 1)
    store.keep({"a": Large(2)})
    large = Large(50)
    store.keep({"b": large})
    assert len(store) == 1
    assert store.find("b") is large


def test_a_result_that_replaces_another_counts_once() -> None:
    store = ResultStore(10, 10, 100)
    store.keep({"same": Large(60)})
    store.keep({"same": Large(30)})
    assert (len(store), store.nbytes) == (1, 30)


def test_small_results_and_large_ones_do_not_push_each_other_out() -> None:
    store = ResultStore(2, 1, 10)
    store.keep({"small": "a"})
    for number in range(5):
        store.keep({number: Large(9)})
    assert store.find("small") == "a"
    store.keep({"b": "b", "c": "c"})
    assert store.find(4)


def test_nothing_grows_however_much_is_kept_and_found_at_once() -> None:
    store = ResultStore(20, 20, 50_000)
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for each in range(200):
            store.keep({each * number % 70: Large(each * 30), ("small", each): "a"})
            store.find(each % 7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(store) <= 40
    assert store.nbytes <= 50_000
