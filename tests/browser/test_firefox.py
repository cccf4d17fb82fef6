"""Firefox shows it all, and refuses nothing: the app, the notes, the file, and the site offline."""

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.__main__ import main
from model.paper.search import Search
from model.record.intervention import Intervention, PositionEdit
from model.translate.translator import Translator, load
from tests.kit.firefox import find_firefox, firefox
from tests.kit.heads_page import path_of
from tests.kit.running_app import AppServer
from tests.kit.static_host import hosted
from viz.heads.standalone import trace_page
from viz.links.searches import Settings
from viz.registry.pages import VIEWS
from viz.shell.share import SITE
from viz.site.page import words
from viz.site.static import PAGES
from viz.talk import scenes, talk_reader

SENTENCE = "d c b a a b"
CALM = """() => until(() => {
  const parts = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')];
  return at('[data-testid="stApp"][data-test-script-state="notRunning"]')
    && !at('[data-testid="stSkeleton"], [data-stale="true"]')
    && parts.every(({ shadowRoot: root }) => root?.childElementCount)
    && !parts.some(({ shadowRoot: root }) => root.querySelector("[aria-busy]"));
})"""
KEPT = "until(() => document.documentElement.dataset.kept)"
SAYS: dict[str, Any] = words()["en"]


def test_firefox_refuses_nothing_to_any_page_and_shows_the_notes(
    app_server: AppServer, model: Translator, tmp_path: Path
) -> None:
    command = find_firefox()
    if not command:
        pytest.skip("Firefox is not installed.")
    file = tmp_path / "heads.html"
    file.write_text(trace_page(model.trace("The cat sat.")), encoding="utf-8")
    url = app_server.url
    with firefox(command) as page:
        for name in VIEWS:
            page.open(f"{url}/{path_of(name)}")
            page.evaluate(f"({CALM})()")
            assert page.refused == [], name
        page.open(file.as_uri())
        page.evaluate('until(() => at("#drawing").shadowRoot.querySelector("[data-painted]"))')
        assert page.refused == []
        for name in PAGES:
            page.open(f"{url}/{SITE}/{path_of(name)}")
            page.evaluate(KEPT)
            page.evaluate("until(() => document.body.dataset.shown)")
            assert page.refused == [], name
        page.open(f"{url}/heads?present=1&scene=2")
        page.evaluate(f"({CALM})()")
        page.pop_up(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 's', bubbles: true }))"
        )
        talk = Path(scenes.__file__).with_name("talks") / "attention-in-twelve-scenes.json"
        scene = talk_reader.parse(talk.read_bytes()).scenes[1]
        page.evaluate(f'until(() => at("#title").textContent === {json.dumps(scene.title)})')
        assert page.evaluate('at("#note").textContent') == scene.note
        shown = "at('#headscope-ahead').contentDocument.querySelector('.st-key-picture')"
        page.evaluate(f"until(() => {shown} !== null)")
        assert page.refused == []
        assert page.evaluate('at("#headscope-ahead").contentWindow.refused') == []
    assert page.trouble == []


def test_firefox_shows_the_file_and_keeps_the_site(tmp_path: Path) -> None:
    command = find_firefox()
    if not command:
        pytest.skip("Firefox is not installed.")
    toy = load("toy-reverse", device="cpu")
    whole = toy.trace(SENTENCE)
    file = tmp_path / "toy.html"
    model = ("--model", "toy-reverse", "--sentence", SENTENCE)
    assert main(["pack", *model, "--out", str(file)]) == 0
    assert main(["site", *model[:2], "--out", str(tmp_path / "site")]) == 0
    with firefox(command) as page:
        page.open(file.as_uri())
        page.call("shown", SENTENCE)
        assert page.evaluate('inside(".written")[0].textContent').split() == whole.text.split()
        page.call("go", SAYS["page_heads"])
        page.evaluate('until(() => inside("canvas.space"))')
        assert page.evaluate('at("#translation").textContent') == whole.text
        page.evaluate('click(() => inside("button"), "Switch off")')
        off = page.evaluate("until(() => /off=(\\w+)\\.(\\d)\\.(\\d)/.exec(location.hash))")
        without = Intervention(heads={(off[1], int(off[2]), int(off[3])): 0})
        page.call("note", toy.translate(SENTENCE, under=without).text)
        page.evaluate('click(() => inside("button"), "Whole words")')
        page.evaluate('until(() => location.hash.includes("words=1"))')
        page.evaluate('until(() => inside(".caption")[0].textContent.includes("Whole words"))')
        page.call("go", SAYS["page_decoding"])
        page.evaluate('click(() => [...inside(".candidate")].slice(1))')
        ids = toy.decode(SENTENCE, search=Search()).steps[0].likeliest.ids[1]
        page.call("note", toy.translate(SENTENCE, search=Search(prefix=(ids,))).text)
        page.call("choose", "#menu-how", "sampling")
        forced = Settings("sampling").search((ids,))
        drawn = "\n".join(each.text for each in toy.candidates(SENTENCE, search=forced))
        # The search's own finds stand there until then.
        found = '[...document.querySelectorAll(".found li > button")]'
        listed = f'{found}.map((each) => each.textContent).join("\\n")'
        page.evaluate(f"until(() => {listed} === {json.dumps(drawn)})")
        page.call("go", SAYS["page_effects"])
        page.evaluate('until(() => document.querySelectorAll(".listed li")[4])')
        page.call("go", SAYS["page_masks"])
        page.call("choose", "#menu-edit", "first_token")
        page.call("note", SAYS["written"])
        page.resize(390, 844)
        page.call("go", SAYS["page_positions"])
        page.call("choose", "#menu-scale", "0")
        lost = Intervention(positions=PositionEdit(scale=0.0))
        page.call("note", toy.translate(SENTENCE, under=lost).text)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert {each.split(":")[0] for each in page.asked} <= {"file", "data", "blob"}
        assert page.refused == []
        query = f"?sentence={SENTENCE.replace(' ', '+')}"
        with hosted(tmp_path / "site") as site:
            page.open(f"{site}/heads/{query}")
            page.call("shown", SENTENCE)
            page.evaluate(KEPT)
            assert page.refused == []
        # The host is gone, as on a plane.
        page.open(f"{site}/decoding/{query}")
        page.call("shown", SENTENCE)
        page.evaluate('until(() => inside(".candidate"))')
        assert page.evaluate('at("#translation").textContent') == whole.text
    assert page.trouble == []
