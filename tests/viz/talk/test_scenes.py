"""Talks as files: what is read back, what is refused, and which field the refusal names."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from viz.registry import pages
from viz.talk import scenes, talk_reader
from viz.talk.scenes import Scene, Talk, TalkError

FILE = {
    "format": "headscope-talk",
    "version": 1,
    "title": "Mine",
    "scenes": [
        {"title": "One", "note": "", "page": "heads", "view": {"layer": "1", "head": "3"}},
        {"title": "Two", "note": "Say\nthis.", "page": "about", "view": {}},
    ],
}

texts = some.text(some.characters(exclude_categories=["Cs"]), max_size=40)
lines = texts.filter(lambda text: text.strip() and text.splitlines() == [text])


@some.composite
def scenes_of_any_page(draw: some.DrawFn) -> Scene:
    page = draw(some.sampled_from(sorted(pages.VIEWS)))
    names = sorted(pages.names(page))
    view = (
        some.dictionaries(some.sampled_from(names), texts, max_size=4) if names else some.just({})
    )
    return Scene(draw(lines), draw(texts), page, draw(view))


talks = some.builds(Talk, lines, some.lists(scenes_of_any_page(), max_size=4).map(tuple))


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file above with a change."""
    told = json.loads(json.dumps(FILE))
    change(told)
    return json.dumps(told).encode()


def refusal(data: bytes) -> str:
    with pytest.raises(TalkError) as caught:
        talk_reader.parse(data)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


def set_in_view(value: Any) -> bytes:
    return changed(lambda told: told["scenes"][0]["view"].update(layer=value))


# ---- what is read --------------------------------------------------------------------------------


@given(talks)
def test_a_talk_that_was_written_is_read_back_as_it_was(talk: Talk) -> None:
    assert talk_reader.parse(scenes.write(talk).encode()) == talk


def test_a_page_of_an_older_talk_is_read_by_its_present_name() -> None:
    old = changed(lambda told: told["scenes"][0].update(page="door", view={"moment": "3"}))
    assert talk_reader.parse(old).scenes[0] == Scene("One", "", pages.HOME, {"moment": "3"})


def test_a_file_is_read_into_its_scenes() -> None:
    talk = talk_reader.parse(json.dumps(FILE).encode())
    assert talk.title == "Mine"
    assert talk.scenes[0] == Scene("One", "", "heads", {"layer": "1", "head": "3"})
    assert talk.scenes[1].note == "Say\nthis."


def test_the_order_of_fields_and_a_byte_order_mark_do_not_matter() -> None:
    backwards = dict(reversed(FILE.items()))
    written = b"\xef\xbb\xbf" + json.dumps(backwards).encode()
    assert talk_reader.parse(written) == talk_reader.parse(json.dumps(FILE).encode())


@pytest.mark.parametrize(("told", "read"), [(3, "3"), (True, "1"), (False, "0"), ("3", "3")])
def test_numbers_and_truths_written_by_hand_count_as_text_in_a_view(told: Any, read: str) -> None:
    assert talk_reader.parse(set_in_view(told)).scenes[0].view["layer"] == read


def test_a_talk_of_an_older_version_opens_the_same_views() -> None:
    older = {"colored": "maps", "whose": "1.2"}
    data = changed(lambda told: told["scenes"][0].update(page="effects", view=older))
    assert talk_reader.parse(data).scenes[0].view == {"show": "maps", "layer_head": "1.2"}


def test_two_searches_of_an_older_talk_are_compared_on_their_own_page() -> None:
    older = {"sentence": "A man.", "section": "compare", "beam": "2", "at": "3"}
    data = changed(lambda told: told["scenes"][0].update(page="decoding", view=older))
    scene = talk_reader.parse(data).scenes[0]
    assert scene.page == "compare"
    assert scene.view == {"sentence": "A man.", "versus": "search", "beam": "2"}


def test_a_talk_may_have_no_scenes_yet() -> None:
    assert talk_reader.parse(changed(lambda told: told["scenes"].clear())).scenes == ()


def test_markup_in_a_title_is_kept_letter_by_letter() -> None:
    title = "<script>alert(1)</script> **bold** $x$"
    data = changed(lambda told: told["scenes"][0].update(title=title))
    assert talk_reader.parse(data).scenes[0].title == title


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda told: told.update(format="other"), "format must be"),
        (lambda told: told.pop("format"), "it is missing"),
        (lambda told: told.update(version=2), "version must be 1"),
        (lambda told: told.update(version=True), "version must be 1"),
        (lambda told: told.update(colour="red"), "colour is unknown"),
        (lambda told: told.pop("title"), "title is missing"),
        (lambda told: told.update(title=3), "title must be text in quotes; it is a number"),
        (lambda told: told.update(title=" "), "title must not be empty"),
        (lambda told: told.update(title="a\nb"), "title must be one line"),
        (lambda told: told.update(title="x" * 201), "title has 201 characters; at most 200"),
        (lambda told: told.pop("scenes"), "scenes is missing"),
        (lambda told: told.update(scenes={}), "scenes must be a list"),
        (lambda told: told.update(scenes=FILE["scenes"] * 51), "scenes has 102 entries"),
        (lambda told: told["scenes"].insert(1, "x"), "scenes[1] must be a scene in braces"),
        (lambda told: told["scenes"][1].pop("note"), "scenes[1].note is missing"),
        (lambda told: told["scenes"][1].update(note=None), "scenes[1].note must be text"),
        (lambda told: told["scenes"][1].update(note="x" * 5001), "scenes[1].note has 5,001"),
        (lambda told: told["scenes"][1].update(page="home"), "scenes[1].page must be one of"),
        (lambda told: told["scenes"][1].update(more=1), "scenes[1].more is unknown"),
        (lambda told: told["scenes"][0].update(view=[]), "scenes[0].view must be an object"),
        (
            lambda told: told["scenes"][0]["view"].update(topic="table"),
            "scenes[0].view.topic is unknown: the page heads takes",
        ),
        (
            lambda told: told["scenes"][1]["view"].update(layer="1"),
            "scenes[1].view.layer is unknown: the page about takes nothing there",
        ),
        (lambda told: told["scenes"][0]["view"].update(present="1"), "view.present is unknown"),
    ],
)
def test_the_wrong_field_is_named_by_its_path(
    change: Callable[[dict[str, Any]], None], named: str
) -> None:
    assert named in refusal(changed(change))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (1.5, "a number"), (["1"], "a list"), ({"a": "1"}, "an object")],
)
def test_a_value_of_a_view_must_be_text_or_nearly(value: Any, kind: str) -> None:
    said = refusal(set_in_view(value))
    assert said.startswith("scenes[0].view.layer must be text")
    assert said.endswith(f"it is {kind}.")


def test_the_first_of_several_wrong_fields_is_named() -> None:
    def break_twice(told: dict[str, Any]) -> None:
        told["scenes"][0]["view"]["colour"] = "red"
        told["scenes"][1]["title"] = 7

    assert refusal(changed(break_twice)).startswith("scenes[0].view.colour")


def test_a_field_that_stands_twice_is_refused() -> None:
    written = json.dumps(FILE).replace('"layer": "1"', '"layer": "1", "layer": "2"')
    assert "“layer” appears twice" in refusal(written.encode())


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_number_for_is_refused(constant: str) -> None:
    assert constant in refusal(f'{{"format": {constant}}}'.encode())


@pytest.mark.parametrize("depth", [2_000, 400_000])
def test_a_file_nested_ever_deeper_is_refused(depth: int) -> None:
    refusal(b'{"format": ' + b"[" * depth + b"]" * depth + b"}")
    refusal(b"[" * depth)


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    assert "number that is too long" in refusal(b'{"version": ' + b"9" * 6_000 + b"}")


@pytest.mark.parametrize("data", [b"", b"{", b"not json", b'{"format": "headscope-talk",}'])
def test_what_is_no_json_is_refused_with_its_place(data: bytes) -> None:
    assert "line 1, column" in refusal(data)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", "ü".encode("latin-1"), b"\x89PNG\r\n"])
def test_what_is_no_utf_8_is_refused(data: bytes) -> None:
    assert "UTF-8" in refusal(data)


@pytest.mark.parametrize("data", [b"[]", b"3", b"null", b'"talk"'])
def test_a_file_must_hold_an_object(data: bytes) -> None:
    assert "one object in braces" in refusal(data)


def test_fifty_megabytes_are_refused_before_they_are_read() -> None:
    # Brackets, which would take a parser minutes or its stack.
    assert refusal(b"[" * 50_000_000).startswith("The file has 50,000,000 bytes")


def test_half_a_character_is_refused() -> None:
    data = changed(lambda told: None).replace(b'"Mine"', b'"\\ud800"')
    assert refusal(data).startswith("title holds half a character")


@given(some.binary(max_size=200))
def test_any_bytes_are_a_talk_or_refused_in_a_sentence(data: bytes) -> None:
    refusal(data)


def test_a_hostile_name_is_quoted_shortly() -> None:
    said = refusal(changed(lambda told: told.update({"<img src=x>" * 50: 1})))
    assert len(said) < 200


# ---- changes -------------------------------------------------------------------------------------


def titles(talk: Talk) -> str:
    return "".join(scene.title for scene in talk.scenes)


@pytest.fixture
def abc() -> Talk:
    return Talk("T", tuple(Scene(title, "", "heads") for title in "abc"))


@pytest.mark.parametrize(
    ("number", "to", "after"), [(1, 3, "bca"), (3, 1, "cab"), (2, 2, "abc"), (1, 2, "bac")]
)
def test_a_scene_moves_to_its_place(abc: Talk, number: int, to: int, after: str) -> None:
    assert titles(abc.moved(number, to)) == after
    assert titles(abc) == "abc"


def test_scenes_are_added_and_taken_out(abc: Talk) -> None:
    assert titles(abc.added(Scene("d", "", "about"))) == "abcd"
    assert titles(abc.without(1)) == "bc"
    assert titles(abc.without(3)) == "ab"


def test_a_scene_gets_another_title_and_note_and_keeps_its_view(abc: Talk) -> None:
    old = replace(abc.scenes[1], view={"layer": "2"})
    talk = abc.with_scene(2, old).with_text(2, "x", "said")
    assert titles(talk) == "axc"
    assert talk.scenes[1].note == "said"
    assert talk.scenes[1].view == {"layer": "2"}


def test_numbers_count_from_one(abc: Talk) -> None:
    first = abc.scene(1)
    assert first is not None
    assert first.title == "a"
    assert abc.scene(0) is abc.scene(4) is abc.scene(-1) is None


def test_a_talk_that_could_not_be_opened_again_is_not_kept(abc: Talk) -> None:
    with pytest.raises(TalkError, match="must not be empty"):
        talk_reader.checked(abc.with_text(1, "", ""))
    assert talk_reader.checked(abc) == abc


def test_a_title_that_is_taken_gets_a_number_and_still_fits() -> None:
    assert scenes.apart("a", {"b"}) == "a"
    assert scenes.apart("a", {"a", "a (2)"}) == "a (3)"
    longest = "x" * scenes.MAX_TITLE
    assert scenes.apart(longest, {longest}) == "x" * (scenes.MAX_TITLE - 4) + " (2)"


def test_talks_are_the_same_by_their_scenes_and_title(abc: Talk) -> None:
    assert scenes.is_same(abc, replace(abc, title="T (2)"))
    assert not scenes.is_same(abc, replace(abc, title="U"))
    assert not scenes.is_same(abc, abc.without(1))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Attention in twelve scenes", "attention-in-twelve-scenes.json"),
        ("../../etc/passwd", "etc-passwd.json"),
        ("Über Köpfe", "uber-kopfe.json"),
        ("你好", "talk.json"),
    ],
)
def test_a_file_is_named_after_its_talk(title: str, name: str) -> None:
    assert scenes.file_name(Talk(title)) == name


def test_the_guide_to_talks_shows_a_talk_that_opens() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "talk.md").read_text(encoding="utf-8")
    examples = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    (talk,) = [
        talk_reader.parse(each.encode()) for each in examples if f'"{scenes.FORMAT}"' in each
    ]
    assert talk.scenes[0].view["layer"] == "1"
