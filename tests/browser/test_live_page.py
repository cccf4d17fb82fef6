"""A model in one HTML file: it translates offline, shows every picture, and runs changed."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headscope.__main__ import main
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.reading import HIDDEN_NOTE, PREDICTED_NOTE, Reading, read
from model.paper.search import Search
from model.record.intervention import Intervention, PositionEdit
from model.survey.over_texts import effects
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator, load
from tests.kit.readings import head_of
from viz.compare.view import VERSUS
from viz.corpus.view import SHOWN as CORPUS
from viz.decoding.certainty import hesitant
from viz.decoding.view import SECTIONS
from viz.effects.effect_map import EffectMap
from viz.effects.price import price
from viz.effects.view import AGAINST, MAPS
from viz.links.head_refs import written_heads
from viz.links.link_interventions import Changes
from viz.links.mask_edits import Edit
from viz.links.mask_edits import write as write_masks
from viz.links.searches import Settings
from viz.masks.view import PARTS as MASK_PARTS
from viz.positions.view import PARTS as POSITION_PARTS
from viz.registry.pages import AROUND, SHARED, VIEWS
from viz.save.picture import Layout
from viz.site.page import words
from viz.talk.scenes import Scene, Talk, write

SENTENCE = "d c b a a b"
HOSTILE = '"><script>alert(1)</script> a b {{payload}}'
SECONDS = 60_000
SAYS: dict[str, Any] = words()["en"]

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def toy() -> Translator:
    return load("toy-reverse", device="cpu")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("packed") / "toy.html"
    assert main(["pack", "--model", "toy-reverse", "--sentence", HOSTILE, "--out", str(file)]) == 0
    return file.read_text(encoding="utf-8")


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a document from disk in a browser without a network.

    Fails if it asks for anything but itself and its worker, or complains in the console.
    """
    requests: list[str] = []
    trouble: list[str] = []
    file = tmp_path / "live.html"
    with ExitStack() as stack:

        def open_document(text: str, *, script: str = "", at: str = "", **options: Any) -> Page:
            file.write_text(text, encoding="utf-8")
            context = browser.new_context(offline=True, locale="en-US", **options)
            stack.callback(context.close)
            if script:
                context.add_init_script(script)
            page = context.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
            page.goto(file.as_uri() + at)
            return page

        yield open_document
    asked = [url.partition("#")[0] for url in requests if not url.startswith("blob:")]
    assert [url for url in asked if url != file.as_uri()] == []
    assert trouble == []


def translate(page: Page, sentence: str) -> None:
    page.locator("#run:enabled").wait_for(timeout=SECONDS)
    page.get_by_label("Sentence").fill(sentence)
    page.get_by_role("button", name="Translate").click()
    page.locator(f"body[data-shown={json.dumps(sentence)}]").wait_for(timeout=SECONDS)


def note(page: Page, text: str) -> None:
    expect(page.locator(".outcome")).to_contain_text(text, timeout=SECONDS)


def test_ones_own_sentence_goes_through_every_picture(
    opened: Opened, text: str, toy: Translator
) -> None:
    page, trace = opened(text), toy.trace(SENTENCE)
    expect(page.get_by_label("Sentence")).to_have_value(HOSTILE)
    translate(page, SENTENCE)
    expect(page.locator(".model-view .written")).to_have_text(trace.text.replace(" ", " "))
    # From a block of the model to its heads, and to the other pages.
    page.locator(".block.cross").last.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Open in Heads").click()
    heading = page.locator(".heads-view h3.name")
    expect(heading).to_contain_text("Cross-attention, layer 0", timeout=SECONDS)
    sizes = head_of(trace.attention("cross", 0), 0).alt.partition("; the largest")[0]
    drawn = page.locator(".heads-view .model-view")
    expect(drawn).to_have_attribute("aria-label", re.compile(re.escape(sizes)), timeout=SECONDS)
    page.get_by_role("button", name="Switch off").first.click()
    without = Intervention(heads={("cross", 0, int((heading.text_content() or "")[-1])): 0})
    note(page, SAYS["without_heads"]["one"])
    note(page, toy.translate(SENTENCE, under=without).text)
    note(page, SAYS["usual_same"])
    assert "off=cross.0." in page.url
    page.get_by_role("button", name=SAYS["all_on"]).click()
    expect(page.locator(".outcome")).to_be_empty()
    # Read in another way, as the app reads it.
    page.get_by_role("button", name="Options").click()
    page.get_by_role("button", name="Special tokens").click()
    page.get_by_role("button", name="Name rows by prediction").click()
    without = read(trace, Reading(specials=False, predicted=True)).maps[Site("cross", 0)]
    sizes = head_of(without, 0).alt.partition("; the largest")[0]
    expect(drawn).to_have_attribute("aria-label", re.compile(re.escape(sizes)), timeout=SECONDS)
    caption = page.locator(".heads-view .right > .caption")
    expect(caption).to_contain_text(HIDDEN_NOTE, timeout=SECONDS)
    expect(caption).to_contain_text(PREDICTED_NOTE, timeout=SECONDS)
    assert "specials=0&predicted=1" in page.url

    page.get_by_role("link", name="Decoding").click()
    page.locator(".candidate").nth(1).click()
    ids = toy.decode(SENTENCE, search=Search()).steps[0].likeliest.ids[1]
    forced = toy.translate(SENTENCE, search=Search(prefix=(ids,))).text
    note(page, f"{SAYS['written']} {forced}")

    page.get_by_role("link", name="Effects").click()
    expect(page.locator(".listed li")).to_have_count(5, timeout=SECONDS)

    page.get_by_role("link", name="Masks").click()
    page.get_by_label("Mask", exact=True).select_option("first_token")
    note(page, SAYS["written"])

    page.get_by_role("link", name="Positions").click()
    page.get_by_label("Positions").select_option("0")
    lost = toy.translate(SENTENCE, under=Intervention(positions=PositionEdit(scale=0.0))).text
    note(page, f"{SAYS['written']} {lost}")
    expect(page.locator("#trouble")).to_be_empty()
    # Back, and a link as somebody else would open it.
    page.go_back()
    expect(page.locator(".outcome")).to_contain_text(SAYS["written"], timeout=SECONDS)


WRITES = """
window.written = [];
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  if (this.canvas.isConnected) window.written.push(text);
  return fillText.call(this, text, ...rest);
};
"""
"""Notes what pictures write on their canvases."""


def test_the_map_of_effects_writes_the_numbers_that_the_apps_writes(
    opened: Opened, text: str, toy: Translator
) -> None:
    page = opened(text, script=WRITES)
    translate(page, SENTENCE)
    page.get_by_role("link", name="Effects").click()
    expect(page.locator(".listed li")).to_have_count(5, timeout=SECONDS)
    figure = EffectMap(effects(toy, SENTENCE)).figure(Layout())
    numbers = {str(each) for trace in figure.data if trace.type == "scatter" for each in trace.text}
    assert numbers
    found = page.evaluate("[...new Set(window.written)]")
    assert {each for each in found if "." in each} == numbers


def test_a_wide_table_of_positions_leaves_out_whole_pairs_and_says_so(
    opened: Opened, tmp_path: Path
) -> None:
    file = tmp_path / "wide.html"
    model = ["--model", "en-de-cheating", "--sentence", "A cat."]
    assert main(["pack", *model, "--out", str(file)]) == 0
    page = opened(file.read_text(encoding="utf-8"), script=WRITES, at="#/positions")
    said = SAYS["one_pair_in"].format(name="Dimension", step=2)
    page.wait_for_function("said => window.written.includes(said)", arg=said, timeout=SECONDS)
    numbers = page.evaluate("window.written.filter(each => /^[0-9]+$/.test(each)).map(Number)")
    assert {*numbers} <= {each for each in range(128) if each // 2 % 2 == 0}
    assert {0, 1, 4, 5} <= {*numbers}


def test_one_file_remembers_nothing(opened: Opened, text: str) -> None:
    page = opened(text)
    translate(page, SENTENCE)
    page.get_by_text(SAYS["help"], exact=True).click()
    page.get_by_label(SAYS["language"]).select_option("fr")
    expect(page.locator("html[lang=fr]")).to_be_attached(timeout=SECONDS)
    assert page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]") == []
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(f"{address}#model")
    expect(page.locator("html[lang=en]")).to_be_attached(timeout=SECONDS)
    expect(page.get_by_label("Sentence")).to_have_value(HOSTILE)


def test_a_copy_that_a_browser_saved_of_the_open_page_says_so(opened: Opened, text: str) -> None:
    page = opened(text)
    translate(page, SENTENCE)
    copy = opened(page.content())
    expect(copy.locator("#old")).to_have_text(SAYS["saved_copy"], timeout=SECONDS)
    expect(copy.locator("#view")).to_be_hidden()
    assert copy.get_by_role("button").count() == 0


def test_a_link_opens_what_it_says_on_a_phone(opened: Opened, text: str, toy: Translator) -> None:
    at = "#/heads?sentence=a+b+c&attention=encoder&layer=0&head=1&lang=de"
    page = opened(text, at=at, viewport={"width": 390, "height": 844})
    expect(page.locator("#translation")).to_have_text(toy.translate("a b c").text, timeout=SECONDS)
    heading = page.locator(".heads-view h3.name")
    expect(heading).to_contain_text("Schicht 0, Kopf 1", timeout=SECONDS)
    expect(page.get_by_role("button", name=words()["de"]["translate"])).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # Another's translation is read as the address gives it, and said to be no work of the model.
    given = opened(text, at="#/heads?sentence=a+b+c&target=a+b")
    expect(given.locator("#translation")).to_have_text("a b", timeout=SECONDS)
    expect(given.locator(".heads-view .model-view").first).to_be_visible(timeout=SECONDS)
    # What switched off heads cost it and the model's own translation, as in the app.
    off = tuple((Site(AttentionKind.CROSS, 0), head) for head in (1, 2, 3))
    for target, key in (("", "usual_less"), ("a b", "given_more")):
        traces = [
            toy.trace_batch(["a b c"], [target or toy.translate("a b c")], under=each.under)
            for each in (Changes(), Changes(off=off))
        ]
        before, after = (each.traces[0].log_probs for each in traces)
        assert before is not None
        assert after is not None
        factor = price(before, after).partition(" ")[0]
        query = urlencode({"sentence": "a b c", "target": target, "off": written_heads(off)})
        given.evaluate(f"location.hash = '#/heads?{query}'")
        note(given, SAYS[key].format(factor=factor))
    given.get_by_role("link", name=SAYS["page_decoding"]).click()
    expect(given.locator(".candidate").first).to_be_visible(timeout=SECONDS)
    # It leaves nothing to search for.
    expect(given.locator(".token.written")).to_contain_text("given")
    given.get_by_role("button", name=SAYS["own_translation"]).click()
    expect(given.locator("#translation")).to_have_text(toy.translate("a b c").text)
    # Heads switched off and masks, as the app spells them; then a mask of another sentence.
    first = np.zeros((9, 4), bool)
    first[:, 0] = True
    masks = write_masks(
        [
            Edit(AttentionKind.CROSS, None, first),
            Edit(AttentionKind.DECODER, (0,), np.ones((9, 9), bool)),
        ]
    )
    changes = Changes(masks, off=((Site(AttentionKind.ENCODER, 0), 1),))
    at = f"off={written_heads(changes.off)}&mask={masks}&heads=cross.0.1"
    given.evaluate(f"location.hash = '#/decoding?sentence=a+b+c&{at}'")
    note(given, toy.translate("a b c", under=changes.under).text)
    note(given, SAYS["not_ahead"])
    expect(given.locator(".row-name").first).to_have_text("Cross-attention, layer 0, head 1")
    given.get_by_role("button", name=SAYS["own_masks"]).click()
    alone = Changes(off=changes.off)
    expect(given.locator(".outcome")).not_to_contain_text(SAYS["not_ahead"], timeout=SECONDS)
    note(given, toy.translate("a b c", under=alone.under).text)
    given.evaluate(f"location.hash = '#/decoding?sentence=a+b&mask={masks}'")
    note(given, SAYS["mask_unfit"])
    # How sure the model was, and another word where it hesitated.
    unsure = Changes(off=off)
    decoded = toy.decode("a b c", under=unsure.under)
    given.evaluate(
        f"location.hash = '#/decoding?sentence=a+b+c&section=certainty&off={written_heads(off)}'"
    )
    shares = given.locator(".certainty small")
    expect(shares).to_have_count(len(decoded.steps), timeout=SECONDS)
    for step, written in zip(decoded.steps, shares.all_text_contents(), strict=True):
        assert float(written.strip("<% ")) == pytest.approx(100 * step.probability, abs=0.51)
    expect(given.locator(".part")).to_be_hidden()
    place = hesitant(decoded.steps)[0]
    likeliest = decoded.steps[place].likeliest.ids
    other = next(each for each in likeliest if each != decoded.translation.token_ids[place])
    given.locator(".others button").first.click()
    taken = (*decoded.translation.token_ids[:place], other)
    forced = toy.translate("a b c", under=unsure.under, search=Search(prefix=taken)).text
    note(given, f"{SAYS['written']} {forced}")
    assert "section=certainty" in given.url
    # The same samples as in the app, and others.
    drawn = Settings("sampling", temperature=200, top_k=9, top_p=95, seed=9999, samples=3)
    query = "how=sampling&temperature=200&top_k=9&top_p=95&seed=9999&samples=3"
    given.evaluate(f"location.hash = '#/decoding?sentence=a+b+c&{query}'")
    for settings in (drawn, replace(drawn, seed=0)):
        found = [each.text for each in toy.candidates("a b c", search=settings.search())]
        expect(given.locator(".found li > button")).to_have_text(found, timeout=SECONDS)
        given.get_by_role("button", name=f"seed {settings.seed}").click()
    # What cannot be translated is said, and the page goes on.
    translate_again = page.locator("#sentence")
    translate_again.fill("漢字")
    translate_again.press("Enter")
    expect(page.locator("#trouble")).to_contain_text("alle diese Zeichen", timeout=SECONDS)
    expect(page.locator(".part")).to_be_hidden()
    translate_again.fill(SENTENCE)
    translate_again.press("Enter")
    expect(page.locator("#translation")).to_have_text(toy.translate(SENTENCE).text, timeout=SECONDS)
    expect(page.locator("#trouble")).to_be_empty()
    expect(page.locator(".part")).to_be_visible()


SEARCH_KEYS = ("how", "beam", "penalty", "temperature", "top_k", "top_p", "seed", "samples")


def asked_for(page: str, key: str) -> tuple[dict[str, str], str]:
    """A query, and another value of a key of a page beside it."""
    few = np.tril(np.ones((7, 7), bool), -1) | np.eye(7, k=3, dtype=bool)
    few[:, 0] = True
    mask = write_masks([Edit(AttentionKind.CROSS, None, few)])
    sampling = {"how": "sampling", "temperature": "200"}
    beside = {
        "top_k": sampling,
        "top_p": sampling,
        "seed": sampling,
        "samples": sampling,
        "temperature": {"how": "sampling"},
        "renormalise": {"specials": "0"},
        "way": {"off": "cross.0.1"},
        "gate": {"off": "cross.0.1"},
        "target": {"sentence": "a b"},
        "side": {"scale": "0"},
        "edit": {"masked": "cross"},
        "method": {"show": "maps"},
    }
    values = {
        **{"sentence": "a b a", "target": "c c", "checkpoint": "en-xx", "step": "3"},
        **{"present": "1", "scene": "2", "talk": "0123abcd", "read": "1", "asked": "see-future"},
        **{"moment": "3", "play": "1", "place": "cross.0.5", "walk": "2", "act": "minds"},
        **{"attention": "encoder", "layer": "1", "head": "2"},
        **{"view": "lines", "cell": "1.2", "compare": "0.0-0.1", "order": "entropy", "faint": "2"},
        **{"range": "0-1.0-1", "only": "head.1", "words": "1", "specials": "0"},
        **{"renormalise": "1", "predicted": "1"},
        **{"fuller": "1", "ruled": "head", "best": "3"},
        **{"below": "matrices", "grown": "same", "off": "cross.0.1", "show": "maps", "token": "2"},
        **{"instead": "a", "decide": "keep", "method": "norms", "mapped": "encoder", "gate": "50"},
        **{"layer_head": "0.1", "examples": "1", "curve": "chrf", "way": "mean", "at": "3"},
        **{"section": "beams", "heads": "cross.0.2", "how": "sampling", "beam": "1", "seed": "7"},
        **{"penalty": "0", "temperature": "200", "top_k": "2", "top_p": "50", "samples": "2"},
        **{"against": "search-1-60-100-0-100-1-4", "taken": "0.5", "mask": mask, "number": "2"},
        **{
            "batch": "a b c d",
            "part": "inside",
            "of": "decoder",
            "masked": "encoder",
            "a": "1.causal",
            "edit": mask,
        },
        **{"b": "preset.window", "topic": "likeness", "length": "limit", "waves": "0.4"},
        **{"pair": "3", "cosine": "0", "scale": "0", "shift": "2", "reverse": "1"},
        **{
            "side": "encoder",
            "shuffled": "2.1.0.3.4.5",
            "d_model": "64",
            "rows": "9",
            "base": "20",
        },
    }
    if page == "corpus":
        return {}, values.get(key, "1")
    if page == "compare":
        searches = {"versus": "search"} if key in ("against", *SEARCH_KEYS) else {"other": "b c a"}
        of_pair = {"versus": "search", "other": "b a c d", "shown": "layers", "traced": "1"}
        of_pair |= {"pair_head": "cross.0.1", "patched": "cross.0.1", "other_model": "en-xx"}
        of_pair |= {"against": "search-2-60-100-0-100-1-4"}
        return searches | beside.get(key, {}), (values | of_pair)[key]
    return beside.get(key, {}), values[key]


WHAT_IS_SHOWN = """async (at) => {
  const site = globalThis.headscopeSite;
  history.replaceState(null, "", at);
  Object.assign(site, site.address.read());
  const text = site.query.sentence || site.card.sentence;
  if (text !== site.text) site.give(text);
  await site.show();
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame().then(frame).then(frame);
  const all = (root) => [...root.querySelectorAll("*")].flatMap((each) => [
    each.localName === "canvas" && each.width ? each.toDataURL() : "",
    each.value ?? "",
    each.checkVisibility() && [...each.childNodes].map(({ data }) => data ?? "").join(""),
    each.getAttribute("aria-pressed") ?? "",
    ...(each.shadowRoot ? all(each.shadowRoot) : []),
  ]);
  const said = [site.missing.textContent, site.unused.textContent].join(" ");
  return [JSON.stringify(all(document.body)), said, site.at.view.childElementCount];
}"""


def test_each_key_of_a_link_is_honoured_or_named(opened: Opened, text: str) -> None:
    page = opened(text)
    page.locator("html[data-engine=ready]").wait_for(timeout=SECONDS)

    known: dict[str, tuple[str, str, int]] = {}

    def shown(name: str, query: dict[str, str]) -> tuple[str, str, int]:
        at = f"#/{name}?{urlencode({'sentence': SENTENCE, **query})}"
        if at not in known:
            known[at] = tuple(page.evaluate(WHAT_IS_SHOWN, at))
        return known[at]

    neither = []
    for name, view in VIEWS.items():
        for each in (*view.parameters, *(SHARED if view.asks else ()), *AROUND):
            if each.name == "kiosk":
                # It begins after a while: test_site.py tells how.
                continue
            beside, value = asked_for(name, each.name)
            before, said, _ = shown(name, beside)
            after, told, pictures = shown(name, {**beside, each.name: value})
            if each.name == "checkpoint":
                is_named = not pictures and told.strip() == SAYS["needs_model"].format(name=value)
            elif name == "corpus" and SAYS["no_survey"] in after:
                # test_site_corpus.py has a model with one.
                is_named = True
            else:
                is_named = f"{each.name}={value[:40]}" in told
            if not (is_named or (pictures and told == said and after != before)):
                neither.append(f"{name}?{each.name}={value}")
    assert neither == []
    # What is compared changes with what a link says, and not by itself.
    for name in ("heads", "effects", "decoding", "masks", "positions", "about"):
        assert shown(name, {"nothing": "1"}) == shown(name, {}), name


def test_a_talk_is_read_and_shown_on_stage(opened: Opened, tmp_path: Path) -> None:
    note = " ".join(["What <b>it</b> shows to whoever looks at it."] * 12)
    at = {"sentence": "a b c d", "attention": "encoder", "layer": "0", "cell": "4.1"}
    scenes = (
        Scene("First", note, "heads", at),
        Scene("Second", "", "heads", {"checkpoint": "en-de", "sentence": "He came."}),
        Scene("Third", "The last", "decoding", {"checkpoint": "toy-reverse", "sentence": "c b"}),
    )
    file = tmp_path / "talk.json"
    file.write_text(write(Talk("A talk", scenes)), encoding="utf-8")
    out = tmp_path / "home.html"
    assert main(["pack", str(file), "--model", "toy-reverse", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    german = opened(text, at="#/?lang=de")
    expect(german.get_by_text(words()["de"]["one_language"])).to_be_visible(timeout=SECONDS)
    page = opened(text, viewport={"width": 1280, "height": 500})
    expect(page.locator(".reader h2")).to_have_text("First", timeout=SECONDS)
    expect(page.locator(".reader .note")).to_have_text(note)
    expect(page.get_by_text(SAYS["one_language"])).to_be_hidden()
    # The note stands below the cell that it speaks of.
    page.wait_for_function(
        """() => {
        const roots = [...document.querySelectorAll('.part')].map((part) => part.shadowRoot);
        const find = (name) => roots.map((root) => root?.querySelector(name)).find(Boolean);
        const [cell, text] = [find('.cell.picked'), find('.reader')];
        if (!cell || !text) return false;
        const [{ top, bottom }, below] = [cell, text].map((each) => each.getBoundingClientRect());
        return top > 0 && bottom < below.top;
        }""",
        timeout=SECONDS,
    )
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text(SAYS["needs_model"].format(name="en-de"))).to_be_visible()
    expect(page.locator("#sentence")).to_have_value("He came.")
    expect(page.locator("#view > *, #translation:not(:empty)")).to_have_count(0)
    page.keyboard.press("n")
    expect(page.locator(".candidate").first).to_be_visible(timeout=SECONDS)
    expect(page.locator("#sentence")).to_have_value("c b")
    page.get_by_role("button", name=SAYS["on_stage"]).click()
    expect(page.locator("h2.scene")).to_contain_text("Third")
    expect(page.locator(".reader h2")).to_be_hidden()
    page.keyboard.press("1")
    expect(page.locator("h2.scene")).to_contain_text("First")
    page.keyboard.press("Escape")
    expect(page.locator(".reader h2")).to_have_text("First")


def test_a_scene_at_home_is_the_scene_of_the_stage_or_says_that_it_needs_the_app(
    opened: Opened, tmp_path: Path, toy: Translator
) -> None:
    few = np.ones((7, 7), bool)
    few[:, 1:3] = False
    mask = write_masks([Edit(AttentionKind.CROSS, None, few)])
    order = (1, 2, 0, 3, 4, 5)
    changed = (
        Changes(mask).under,
        Intervention(heads={("cross", 0, 1): 0}),
        Intervention(source_order=order),
        Intervention(source_order=order, positions=PositionEdit(scale=0)),
    )
    masked, without, ordered, bare = (toy.translate(SENTENCE, under=each).text for each in changed)
    at_home: dict[tuple[str, str], tuple[str, ...]] = {
        **{(name, ""): () for name in ("effects", "decoding", "positions")},
        ("model", ""): (),
        ("heads", ""): (),
        ("effects", "show=probability"): (),
        ("effects", "off=cross.0.1"): (without, SAYS["heads_stay"]),
        ("decoding", "section=steps"): (),
        **{("decoding", f"section={each}"): () for each in SECTIONS},
        **{("corpus", query): () for query in ("", "over=all", "over=head", "over=find")},
        ("compare", ""): (),
        ("compare", "versus=sentence"): (),
        ("compare", "versus=search"): (),
        **{("effects", f"show={each}"): () for each in ("tokens", "set", "sum", "maps")},
        ("masks", f"part=change&batch=&masked=cross&edit={mask}"): (masked,),
        ("positions", "topic=table"): (),
        ("positions", "topic=without"): (),
        ("positions", "topic=shuffle"): (),
        ("positions", "topic=shuffle&shuffled=1.2.0.3.4.5"): (ordered, bare),
    }
    options = [
        *(("corpus", f"over={each}") for each in CORPUS),
        *(("compare", f"versus={each}") for each in VERSUS),
        *(("effects", f"show={each}") for each in {**MAPS, **AGAINST}),
        *(("decoding", f"section={each}") for each in SECTIONS),
        *(("masks", f"part={each}") for each in MASK_PARTS),
        *(("positions", f"topic={each}") for each in POSITION_PARTS),
    ]
    views = list(dict.fromkeys([*at_home, *((name, "") for name in VIEWS), *options]))
    scenes = [
        Scene(
            f"{name} {query}",
            "",
            name,
            {
                **({"sentence": SENTENCE} if VIEWS[name].asks else {}),
                **dict(parse_qsl(query, True)),
            },
        )
        for name, query in views
    ]
    file, out = tmp_path / "talk.json", tmp_path / "home.html"
    file.write_text(write(Talk("All", tuple(scenes))), encoding="utf-8")
    assert main(["pack", str(file), "--model", "toy-reverse", "--out", str(out)]) == 0
    page = opened(out.read_text(encoding="utf-8"))
    page.locator("html[data-engine=ready]").wait_for(timeout=SECONDS)
    for number, view in enumerate(views, 1):
        page.evaluate("([number]) => headscopeSite.player.show(number, 'present')", [number])
        expect(page.locator("h2.scene")).to_contain_text(f"{number} of {len(views)}")
        lacks = page.locator(".lacks:not(:empty)")
        if view in at_home:
            expect(lacks).to_have_count(0)
            expect(page.locator("#view > section")).to_be_visible()
            for said in at_home[view]:
                expect(page.locator("#view .outcome")).to_contain_text(said, timeout=SECONDS)
        else:
            expect(lacks).to_have_text(re.compile("^Only the app can show this: "))
            expect(page.locator("#view > *, #translation:not(:empty)")).to_have_count(0)


def test_a_policy_without_webassembly_leaves_plain_javascript(
    opened: Opened, text: str, toy: Translator
) -> None:
    page = opened(text.replace(" 'wasm-unsafe-eval'", ""), at="#/heads")
    translate(page, SENTENCE)
    expect(page.locator("#translation")).to_have_text(toy.translate(SENTENCE).text)


def test_an_old_browser_is_told_so(opened: Opened, text: str) -> None:
    page = opened(text, script="delete window.DecompressionStream")
    expect(page.locator("#old")).to_contain_text("from 2023 or later", timeout=SECONDS)


def test_the_files_are_small(text: str, tmp_path: Path) -> None:
    assert len(text.encode()) <= 3e6
    assert main(["pack", "--out", str(tmp_path / "en-de.html")]) == 0
    assert (tmp_path / "en-de.html").stat().st_size <= 16.5e6


def test_models_that_no_page_runs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "refused.html"
    folder = CHECKPOINTS / "toy-reverse-decoder"
    assert main(["pack", "--model", str(folder), "--out", str(out)]) == 1
    assert "takes an encoder and a decoder" in capsys.readouterr().err
    assert not out.exists()
