"""Hostile input: what it is drawn from, what a case may take, and what a person may be told."""

import copy
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

PROFILE = "fuzz"
"""The profile of `make fuzz`; in every other one a test runs a sample."""

SAMPLE = 200
"""Elsewhere a test runs one of so many cases."""

MARKUP = "<xfuzz>"
"""Markup that no page has by itself."""

LINK = "[xfuzz](https://example.org)"
"""A link in Markdown, the same."""

FRAGMENTS = (
    *(MARKUP, LINK, "![xfuzz](https://example.org/x.png)", "<script>alert(1)</script>", "*a*"),
    *("$x$", ":material/home:", ":red[x]", "`", "\\", "&lt;", "{{}}", "%s", "{0}", "javascript:"),
    *("</s>", "<s>", "<pad>", "<unk>", "<0x0A>", "▁", "../..", "/etc/passwd", "C:\\", "~", "-"),
    *("\x00", "\n", "\r\n", "\t", "\u2028", "\u202e", "\u200b", "\ufeff", "\ud800", "\udcff"),
    *("e\u0301", "👩‍👩‍👧", "猫", "ß", "İ", "١", "½", "1e999", "nan", "-0", "0x10", "1_000", "٣"),
    *("The cat sat on the mat.", "The dog sleeps.", "a", "cat", " ", "'", '"', ",", ";", "=1+2"),
)


def cases(number: int) -> settings:
    """So many cases in `make fuzz`; elsewhere a sample."""
    is_whole = settings.get_current_profile_name() == PROFILE
    return settings(
        max_examples=number if is_whole else max(2, number // SAMPLE),
        deadline=None,
        # What is drawn is large on purpose, and fixtures that no case changes may be shared.
        suppress_health_check=list(HealthCheck),
    )


def texts(most: int = 6) -> st.SearchStrategy[str]:
    """Texts that a careless program would take for something else, some of them long."""
    parts = st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8), st.characters())
    joined = st.lists(parts, max_size=most).map("".join)
    repeated = st.builds(lambda part, n: part * n, st.sampled_from(FRAGMENTS), st.integers(0, 7000))
    return st.one_of(joined, joined, joined, repeated)


def numbers() -> st.SearchStrategy[Any]:
    """Numbers that a size, a place or a setting would rather not be."""
    usual = st.sampled_from([-1, 0, 1, 2, 3, 7, 64, 1.0, 2**31, 2**63, 10**30, -(10**30), 1e308])
    return st.one_of(usual, st.integers(), st.floats())


def json_values() -> st.SearchStrategy[Any]:
    """Anything that JSON holds."""
    leaves = st.one_of(st.none(), st.booleans(), numbers(), texts(3))
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(2), inner, max_size=4),
        max_leaves=8,
    )


@st.composite
def altered(draw: st.DrawFn, valid: Any) -> Any:
    """A JSON value in which one to three places hold something else, more, or nothing."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        inside = value
        while isinstance(inside, dict | list) and inside:
            places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            place = draw(st.sampled_from(places))
            if isinstance(inside[place], dict | list) and draw(st.booleans()):
                inside = inside[place]
                continue
            match draw(st.sampled_from(("other", "other", "more", "none"))):
                case "other":
                    inside[place] = draw(json_values())
                case "more" if isinstance(inside, dict):
                    inside[draw(texts(2))] = draw(json_values())
                case "more":
                    inside += [copy.deepcopy(inside[place])] * draw(st.integers(1, 300))
                case _:
                    del inside[place]
            break
    return value


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes with a part cut out, doubled, overwritten or put in, up to four times."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from((1, 1, 2, 8, 100, 10**9))))
        match draw(st.sampled_from(("cut", "double", "overwrite", "put in"))):
            case "cut":
                del data[start:end]
            case "double":
                data[end:end] = data[start:end][:10_000]
            case "overwrite":
                other = draw(st.binary(min_size=1, max_size=8))
                data[start : start + len(other)] = other
            case _:
                data[start:start] = draw(st.binary(min_size=1, max_size=8))
    return bytes(data)


@contextmanager
def limits(*, seconds: float, megabytes: int) -> Iterator[None]:
    """Fails where what is inside takes more processor time or memory than that.

    Args:
        seconds: of all threads together; a busy machine changes nothing. What waits for ever
            without working ends at the limit that every test has.
        megabytes: by which the process may grow beyond what it has held at any time before.
    """

    def stop(*_: object) -> None:
        raise AssertionError(f"more than {seconds} s of processor time")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as status:
        mapped = int(status.read().split()[0]) * resource.getpagesize()
    # So that an absurd size fails here and does not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 8 * megabytes * 2**20, hard))
    former = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    assert grown <= megabytes, f"{grown:.0f} MB of memory"


def require_sentence(said: object) -> None:
    """Fails where what a person is told is anything but one sentence of readable length."""
    text = str(said)
    assert text.strip(), "nothing is said"
    assert text.splitlines() == [text], text
    assert text.endswith((".", ". ")), text
    assert len(text) <= 700, text
    assert "Traceback" not in text, text
    # It can be printed and sent.
    text.encode()
