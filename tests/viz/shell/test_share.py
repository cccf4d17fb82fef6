import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import zxingcpp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from viz.shell.share import (
    FINE,
    QUIET_ZONE,
    SITE_VARIABLE,
    Code,
    is_local,
    link,
    qr_code,
    site_of,
    with_host,
)

PAGE = "https://example.org/talk/masks"
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
# What a browser can send: no lone surrogates.
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.sampled_from(
        [
            "",
            " ",
            "a b",
            "a+b",
            "a%20b",
            "?&=#;/",
            "Straße",
            "🐈‍⬛",
            "القط",
            "\u202e",
            "\n",
            "a.",
            "a ",
        ]
    ),
)
QUERIES = st.dictionaries(NAMES, TEXTS, max_size=8)
LARGEST = 2953


def read(written: str) -> dict[str, str]:
    """The query of a link, as Streamlit reads it."""
    found = parse_qs(urlsplit(written).query, keep_blank_values=True)
    assert all(len(values) == 1 for values in found.values())
    return {name: value for name, (value,) in found.items()}


def drawn(code: Code, pixels: int = 4) -> NDArray[np.uint8]:
    """The picture of a code, as an SVG of its path would be: dark on light."""
    picture = np.full((code.size, code.size), 255, dtype=np.uint8)
    parts = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", code.path)
    assert "".join(f"M{x} {y}h{right}v1h-{left}z" for x, y, right, left in parts) == code.path
    for x, y, right, left in parts:
        assert right == left
        picture[int(y), int(x) : int(x) + int(right)] = 0
    return picture.repeat(pixels, axis=0).repeat(pixels, axis=1)


def scanned(code: Code) -> str:
    (found,) = zxingcpp.read_barcodes(drawn(code), formats=zxingcpp.BarcodeFormat.QRCode)
    return found.text


@given(QUERIES)
def test_what_a_link_says_is_read_back(query: dict[str, str]) -> None:
    written = link(PAGE, query)
    assert read(written) == query
    assert link(PAGE, read(written)) == written


@given(QUERIES)
def test_a_link_survives_being_pasted_into_a_message(query: dict[str, str]) -> None:
    written = link(PAGE, query)
    # Nothing at which software that finds links in text would stop.
    assert re.fullmatch(r"[A-Za-z0-9%+=&?:/._~-]+", written)
    assert re.fullmatch(r"[A-Za-z0-9=]", written[-1])
    assert urlsplit(written).fragment == ""


@pytest.mark.parametrize("text", ["The cat sat.", "The cat ", "a-", "a_", "a~"])
def test_the_last_character_is_part_of_the_link(text: str) -> None:
    assert read(link(PAGE, {"sentence": text})) == {"sentence": text}
    assert re.search("%[0-9A-F]{2}$", link(PAGE, {"sentence": text}))


def test_without_a_query_the_link_is_the_page() -> None:
    assert link(PAGE, {}) == PAGE
    assert link("http://localhost:8501", {}) == "http://localhost:8501/"
    assert link("http://localhost:8501", {"a": "1"}) == "http://localhost:8501/?a=1"


@given(QUERIES)
@settings(max_examples=40)
def test_a_phone_reads_the_link_off_its_code(query: dict[str, str]) -> None:
    written = link(PAGE, query)
    assert scanned(qr_code(written)) == written


@pytest.mark.parametrize("length", [1, 17, 18, 100, 1000, LARGEST])
def test_a_code_can_be_as_long_as_codes_get(length: int) -> None:
    assert scanned(qr_code("a" * length)) == "a" * length


@pytest.mark.parametrize("length", [LARGEST + 1, 40_000])
def test_a_longer_link_is_refused_in_a_sentence(length: int) -> None:
    with pytest.raises(
        ValueError, match=rf"^This link has {length:,} characters, more than the 2,953 .* copy it"
    ):
        qr_code("a" * length)


@given(st.text("abc%&=", min_size=1, max_size=900))
@settings(max_examples=30)
def test_the_zone_around_a_code_is_light_and_wide_enough(text: str) -> None:
    code = qr_code(text)
    picture = drawn(code, 1)
    inside = picture[QUIET_ZONE:-QUIET_ZONE, QUIET_ZONE:-QUIET_ZONE]
    assert (picture == 0).sum() == (inside == 0).sum()
    # The finder patterns touch three corners.
    assert (inside[[0, 0, -1], [0, -1, 0]] == 0).all()


def test_codes_of_long_links_are_called_fine() -> None:
    sizes = [qr_code("a" * length) for length in (50, 300, 600, LARGEST)]
    assert [code.is_fine for code in sizes] == [code.size - 2 * QUIET_ZONE > FINE for code in sizes]
    assert not sizes[0].is_fine
    assert sizes[-1].is_fine


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://localhost:8501/",
            "http://LOCALHOST/",
            "http://app.localhost/",
            "http://127.0.0.1",
        ),
        *("http://127.1.2.3:80/masks", "http://[::1]:8501/", "http://0.0.0.0:8501/"),
    ],
)
def test_addresses_of_the_own_machine_are_told_apart(url: str) -> None:
    assert is_local(url)


@pytest.mark.parametrize(
    "url",
    [
        *("http://192.168.1.20:8501/", "https://example.org/localhost", "http://localhost.org/"),
        *("http://[fe80::1]/", "https://xn--mller-kva.de", "", "/masks"),
    ],
)
def test_other_addresses_are_not_taken_for_the_own_machine(url: str) -> None:
    assert not is_local(url)


@pytest.mark.parametrize(
    ("url", "host", "expected"),
    [
        ("http://localhost:8501/masks", "192.168.1.20", "http://192.168.1.20:8501/masks"),
        ("https://localhost/base/", "10.0.0.7", "https://10.0.0.7/base/"),
        ("http://[::1]:8501/", "fd00::7", "http://[fd00::7]:8501/"),
    ],
)
def test_another_host_keeps_port_and_path(url: str, host: str, expected: str) -> None:
    assert with_host(url, host) == expected


@pytest.mark.parametrize(
    ("url", "page", "expected"),
    [
        ("http://10.0.0.7:8501/", "", "http://10.0.0.7:8501/site/"),
        ("http://10.0.0.7:8501", "", "http://10.0.0.7:8501/site/"),
        ("http://10.0.0.7:8501/heads", "heads", "http://10.0.0.7:8501/site/heads/"),
        ("https://x.org/heads/masks", "masks", "https://x.org/heads/site/masks/"),
    ],
)
def test_a_phone_finds_the_same_page_on_the_site(
    url: str, page: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SITE_VARIABLE, raising=False)
    assert site_of(url, page) == expected
    monkeypatch.setenv(SITE_VARIABLE, "https://pages.example.org/headscope")
    assert site_of(url, page) == f"https://pages.example.org/headscope/{page and f'{page}/'}"
