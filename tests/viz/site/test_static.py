"""The site as files: complete, the same for the same content, and safe to keep."""

from __future__ import annotations

import base64
import itertools
import json
import re
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.explain.facts import facts_of
from model.explain.reading import Reading, read
from model.paper.search import AS_IN_THE_PAPER
from model.translate.translator import load
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.browser.trace_payload import pack as pack_heads
from viz.links.searches import USUAL
from viz.registry.pages import VIEWS
from viz.site.model import PackError, packed, require_runs
from viz.site.page import HERE, wording, words
from viz.site.static import NAMED, PAGES, POLICY, site_files
from viz.talk.ready import ready_talk, texts_of
from viz.talk.scenes import Scene, Talk
from viz.talk.take_home import model_of, take_home

TOYS = ("toy-reverse", "toy-sort-alibi")


@cache
def files() -> dict[str, bytes]:
    listed = list(site_files([packed(CHECKPOINTS / name) for name in TOYS]))
    assert len(dict(listed)) == len(listed)
    return dict(listed)


def test_its_pages_are_those_of_the_app() -> None:
    """In their order; some need Python and are left out."""
    assert [name for name in VIEWS if name in PAGES] == list(PAGES)
    script = (HERE / "pages.js").read_text(encoding="utf-8")
    (listed,) = re.findall(r"const PAGES = \{(.*?)\};", script, re.DOTALL)
    assert tuple(re.findall(r"(\w+):", listed)) == PAGES


def test_the_usual_search_of_app_and_site_is_the_papers() -> None:
    assert USUAL.search() == AS_IN_THE_PAPER


def said_in(value: Any, fields: set[str], field: str = "") -> Iterator[str]:
    """The texts of those fields."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from said_in(each, fields, name)
    elif isinstance(value, list):
        for each in value:
            yield from said_in(each, fields, field)
    elif isinstance(value, str) and field in fields:
        yield value


@pytest.mark.parametrize("name", ["en-de", *TOYS])
def test_what_the_app_says_of_a_model_is_in_the_catalogues(name: str) -> None:
    """Of those, wording.test.js tests that they are complete."""
    headers = wording()["de"]["headers"]
    script = (HERE.parent / "browser/canvas/wording.js").read_text(encoding="utf-8")
    fields = set(re.findall(r'"(\w+)"', script.partition("new Set([")[2].partition("]);")[0]))
    assert len(fields) > 15
    parts = [
        "(.+?)".join(map(re.escape, re.split(r"\{\w+\}", text)))
        for text in headers
        if "{" in text and text != "{first}, {rest}"
    ]
    known = re.compile("|".join([*map(re.escape, (t for t in headers if "{" not in t)), *parts]))
    card = packed(CHECKPOINTS / name).card
    openings = {
        page: zlib.decompress(base64.b64decode(text)) for page, text in card["openings"].items()
    }
    model = load(CHECKPOINTS / name, device="cpu")
    trace = model.trace(card["sentence"])
    for flags in itertools.product((False, True), repeat=4):
        seen = read(trace, Reading(*flags))
        openings[f"heads {seen.reading}"] = pack_heads(seen, facts_of(seen.maps), {})
    for page, envelope in openings.items():
        (length,) = struct.unpack_from("<I", envelope, 20)
        header = json.loads(envelope[24 : 24 + length])
        # What a decoding is called is its sentence, and those are lists of numbers.
        header.pop("name", None)
        said = set(said_in(header, fields)) - {""}
        assert said
        for each in said:
            whole = known.fullmatch(each)
            assert whole or all(map(known.fullmatch, each.split(", ")[:2])), (page, each)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_names_only_files_that_there_are(page: str) -> None:
    folder = "" if page == PAGES[0] else f"{page}/"
    text = files()[f"{folder}index.html"].decode()
    root = "../" if folder else "./"
    linked = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
    assert linked
    assert {each.removeprefix(root) for each in linked} <= files().keys()
    known = json.loads(re.findall(r'id="site">(.*?)</script>', text)[0])
    assert [each["name"] for each in known["models"]] == list(TOYS)
    assert known["words"].keys() == words().keys() == {"en", "de", "fr", "es", "zh"}
    assert known["wording"].keys() == wording().keys() == words().keys() - {"en"}
    cards = [each["card"] for each in known["models"]]
    within = [
        path
        for card in cards
        for parts in json.loads(files()[card])["files"].values()
        for path in parts
    ]
    assert {*known["code"].values(), *cards, *within} <= files().keys()


def test_the_service_worker_knows_every_file_that_a_page_needs() -> None:
    script = files()["sw.js"].decode()
    known = json.loads(script.partition(";")[0].removeprefix("const SITE = "))
    assert known["models"] == [path for path in files() if path.startswith("model/")]
    pages = {each for each in known["files"] if each.endswith("/")}
    # Also where the site says that only the app has a page.
    assert pages == {"./", *(f"{page}/" for page in list(VIEWS)[1:])}
    assert {*known["files"]} - pages <= files().keys()
    assert {path for path in files() if path.startswith("code/")} <= {*known["files"]}


def test_files_with_a_digest_are_named_for_their_content() -> None:
    other = dict(site_files([packed(CHECKPOINTS / TOYS[0], sentence="b a b a")]))
    changed = {path for path in other if files().get(path, other[path]) != other[path]}
    assert not any(path.startswith(NAMED) for path in changed)
    assert {path.split(".")[0] for path in other.keys() - files().keys()} == {
        f"model/{TOYS[0]}/card"
    }


def test_nothing_may_be_asked_of_another_site() -> None:
    assert POLICY["default-src"] == ("'none'",)
    allowed = {each for values in POLICY.values() for each in values}
    assert allowed == {"'none'", "'self'", "'wasm-unsafe-eval'"}


def test_it_can_be_installed() -> None:
    manifest = json.loads(files()["manifest.webmanifest"])
    assert {manifest["start_url"], manifest["scope"]} == {"./"}
    assert {each["src"] for each in manifest["icons"]} <= files().keys()


def a_talk(*checkpoints: str) -> Talk:
    scenes = [Scene(name, "", "heads", {"checkpoint": name}) for name in checkpoints]
    return Talk("A <talk>", tuple(scenes))


def test_a_talk_goes_home_with_the_model_that_most_of_its_scenes_show() -> None:
    folders = {each.name: each for each in CHECKPOINTS.iterdir()}
    assert model_of(a_talk("toy-reverse", "en-de", "en-de"), folders) == folders["en-de"]
    # A model that no page runs, and one that is not there.
    without = a_talk("toy-reverse-decoder", "toy-reverse-decoder", "none", "none", "toy-reverse")
    assert model_of(without, folders) == folders["toy-reverse"]
    assert model_of(a_talk("none"), folders) is None


def test_a_talk_stands_in_its_page_letter_by_letter() -> None:
    hostile = Scene("</script><b>", "\u2028 {{weights}}", "heads", {"sentence": "a b"})
    page = take_home(Talk("A <talk>", (hostile,)), CHECKPOINTS / "toy-reverse")
    (held,) = re.findall(r'id="talk">(.*?)</script>', page, re.DOTALL)
    scene = json.loads(held)["scenes"][0]
    assert (scene["title"], scene["note"]) == (hostile.title, hostile.note)
    assert "<title>A &lt;talk&gt;</title>" in page


def test_a_model_with_two_vocabularies_is_refused(tmp_path: Path) -> None:
    write_tiny_checkpoint(tmp_path / "tiny", steps=0, separate=True)
    with pytest.raises(PackError, match="one vocabulary"):
        require_runs(tmp_path / "tiny")


def test_the_talk_that_comes_with_the_app_goes_home_in_every_language() -> None:
    """A scene keeps a person's own words in all of them."""
    ready = ready_talk()
    changed = ready.with_text(2, "My own title", ready.scenes[1].note)
    held = texts_of(changed)
    assert held.keys() == wording().keys()
    for language, texts in held.items():
        (own,) = [place for place, text in enumerate(texts["scenes"]) if text is None]
        assert own == 1
        said = [(texts["title"], ready.title)]
        for scene, text in zip(ready.scenes, texts["scenes"], strict=True):
            said += (
                [] if text is None else [(text["title"], scene.title), (text["note"], scene.note)]
            )
        for text, english in said:
            assert text != english, language
            # What models read and write, and how much of it, is the same in all.
            quoted = set(re.findall(r"“([A-Z][^”]*[.?])”", english))
            assert {each for each in quoted if each.rstrip(".") not in text} == set(), language
            numbers = set(re.findall(r"\d+(?:\.\d+)+", english))
            assert {each for each in numbers if each not in text} == set(), language
    assert texts_of(Talk("Mine", (Scene("One", "", "heads"),))) == {}
