"""The decoding page: other words taken, undone, kept in the address, and forgotten in time."""

import re
from functools import partial
from html import unescape
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.paper.search import Sampling, Search
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp, go_to, lead, tell_state
from tests.kit.shown import captions, html, more, query, said
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.trace_payload import Decoded
from viz.draw import style
from viz.links.mask_edits import Edit, write
from viz.pages import decoding_beams
from viz.pages.decoding_beams import OWN_SEARCH
from viz.pages.decoding_certainty import ALL_GIVEN, HESITATED
from viz.pages.decoding_forced_words import NOT_AHEAD

SENTENCE, TRANSLATION = PAIRS[0]


@pytest.fixture
def open_decoding(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""
    return partial(open_app, page="decoding", sentence=SENTENCE)


def translations(app: AppTest) -> list[str]:
    """Before and after, what was removed left out; nothing where no word was taken."""
    shown = html(app).partition('<div class="change"')[2].partition("</section></div>")[0]
    kept = re.findall(r"<div>(.*?)</div>", re.sub(r"<del.*?</del>", "", shown))
    return [" ".join(unescape(re.sub("<[^>]*>", "", text)).split()) for text in kept]


def test_a_beginning_is_written_on_from_priced_kept_and_undone(
    open_decoding: OpenApp, model: Translator
) -> None:
    app = open_decoding()
    assert translations(app) == []
    app = app.text_input(key="decoding-beginning").set_value("Der Hund").run()
    forced = model.translate(SENTENCE, search=Search(prefix=model.prefix("Der Hund")))
    assert translations(app) == [TRANSLATION, forced.text]
    price = f"to {sum(forced.log_probs):.2f}".replace("-", "−")
    assert price in more(app)
    assert app.text_input(key="decoding-beginning").value == ""
    link = query(app, "taken")
    assert link == "0." + "-".join(map(str, model.prefix("Der Hund")))
    # A second word stacks upon the first, and each is undone alone.
    app = app.text_input(key="decoding-beginning").set_value("Eine").run()
    assert translations(app)[1].startswith("Eine ")
    app = app.button(key="decoding-taken-undo").click().run()
    assert (query(app, "taken"), translations(app)[1]) == (link, forced.text)
    again = open_decoding(taken=link)
    assert translations(again) == [TRANSLATION, forced.text]
    assert translations(app.button(key="decoding-taken-none").click().run()) == []
    # What was taken belongs to its sentence.
    other = again.text_input(key="sentence").set_value(PAIRS[2][0]).run()
    assert (query(other, "taken"), translations(other)) == ("", [])


def test_words_that_no_translation_holds_are_left_out_and_said(open_decoding: OpenApp) -> None:
    for taken in ("0.999999", "0.3-5"):
        app = open_decoding(taken=taken)
        assert re.search(r"forced words are \w+", said(app))
        assert translations(app) == []
        assert app.get("bidi_component")


def test_where_the_model_hesitated_another_word_is_one_click_away(
    open_decoding: OpenApp, model: Translator
) -> None:
    ids = model.prefix("Der Hund")
    # After a beginning that it never learned, it hesitates.
    app = open_decoding(section="certainty", taken="0." + "-".join(map(str, ids)))
    assert HESITATED in captions(app)
    others = [button for button in app.button if (button.key or "").startswith("decoding-other-")]
    step = int((others[0].key or "").split("-")[2])
    after = others[0].click().run()
    decoding = model.decode(SENTENCE, search=Search(prefix=ids))
    token_ids = decoding.translation.token_ids
    likeliest = [each for each in decoding.steps[step].likeliest.ids if each != token_ids[step]]
    wanted = model.translate(SENTENCE, search=Search(prefix=(*token_ids[:step], likeliest[0])))
    assert translations(after) == [TRANSLATION, wanted.text]
    assert query(after, "at") == str(step + 1)


def test_a_target_is_played_as_if_it_was_written(open_decoding: OpenApp, model: Translator) -> None:
    app = open_decoding(target="Der Hund isst.", section="certainty")
    forced = (*model.prefix("Der Hund isst."), model.model.config.eos_id)
    steps = model.decode(SENTENCE, search=Search(prefix=forced)).steps
    numbers = re.findall(r"<small>(.*?)</small>", html(app))
    assert len(numbers) == len(steps) == len(forced)
    assert ALL_GIVEN in captions(app)


def test_what_a_search_found_is_studied_on_every_page(
    open_decoding: OpenApp, model: Translator
) -> None:
    app = open_decoding(section="beams")
    decoding = model.decode(SENTENCE)
    second = model.tokenizer.decode(decoding.token_ids(decoding.ranked[1]))
    app = app.button(key="decoding-study-1").click().run()
    assert query(app, "target") == second
    assert [app.button(key=f"decoding-study-{rank}").disabled for rank in range(2)] == [False, True]
    # The tree stays that of the model's own search.
    assert OWN_SEARCH in captions(app)
    assert query(app.button(key="decoding-study-none").click().run(), "target") == ""


def click(app: AppTest, *clicks: Any) -> AppTest:
    """Does what the browser does when points of the tree are clicked."""
    return tell_state(app, "decoding-tree-clicks", {"clicks": clicks})


def test_a_click_on_a_diamond_of_the_tree_studies_it_once(
    open_decoding: OpenApp, model: Translator
) -> None:
    app = open_decoding(section="beams")
    decoding = model.decode(SENTENCE)
    second = decoding.ranked[1]
    on_the_way = next(at for at, node in enumerate(decoding.nodes) if node.rank is None)
    app = click(app, [1, on_the_way])
    assert query(app, "target") == ""
    app = click(app, [1, on_the_way], [2, decoding.nodes.index(second)])
    assert query(app, "target") == model.tokenizer.decode(decoding.token_ids(second))
    app = click(app, [3, decoding.nodes.index(decoding.ranked[0])])
    assert query(app, "target") == ""
    assert query(click(app, [2, decoding.nodes.index(second)]), "target") == ""


@pytest.mark.parametrize("told", [[], [-1], [10**6], ["1"], [None], [[1]], [1.5], [1, 2]])
def test_a_click_on_no_point_of_the_tree_leads_nowhere(
    open_decoding: OpenApp, told: list[Any]
) -> None:
    app = click(open_decoding(section="beams"), [1, *told], told, "nonsense")
    assert not app.exception
    assert query(app, "target") == ""


@pytest.mark.parametrize(("most", "has_attention"), [(10**6, True), (10, False)])
def test_the_branches_of_too_large_a_tree_come_without_their_attention(
    open_decoding: OpenApp, monkeypatch: pytest.MonkeyPatch, most: int, has_attention: bool
) -> None:
    monkeypatch.setattr(decoding_beams, "MOST_CELLS", most)
    app = open_decoding(section="beams")
    (found,) = [each.proto for each in app.get("bidi_component") if each.key == "decoding-branch"]
    assert (Decoded(found.bytes).header["cross"] is not None) is has_attention


def test_studying_keeps_the_words_taken_that_it_begins_with(
    open_decoding: OpenApp, model: Translator
) -> None:
    ids = model.prefix("Der Hund")
    taken = "0." + "-".join(map(str, ids))
    app = open_decoding(section="beams", taken=taken)
    decoding = model.decode(SENTENCE, search=Search(prefix=ids))
    found = model.tokenizer.decode(decoding.token_ids(decoding.ranked[1]))
    assert model.prefix(found)[: len(ids)] == ids
    app = app.button(key="decoding-study-1").click().run()
    # The tree stays the one that was clicked in.
    assert (query(app, "taken"), query(app, "target")) == (taken, found)
    assert app.button(key="decoding-study-1").disabled
    app = app.segmented_control(key="decoding-section").set_value("certainty").run()
    assert len(re.findall(r"<small>(.*?)</small>", html(app))) == len(model.prefix(found)) + 1
    assert "nothing changes" in more(app)
    app = app.segmented_control(key="decoding-section").set_value("beams").run()
    app = app.button(key="decoding-study-none").click().run()
    assert (query(app, "taken"), query(app, "target")) == (taken, "")
    other = app.text_input(key="target").set_value("Eine Katze").run()
    assert query(other, "taken") == ""


def test_a_target_too_long_to_be_written_is_refused_as_a_beginning(
    open_decoding: OpenApp, model: Translator
) -> None:
    target = " ".join(["Der"] * 58)
    assert len(model.prefix(target)) == 58
    app = open_decoding(target=target)
    (error,) = app.error
    assert "The beginning of the translation has 59 tokens" in error.value


def test_searches_are_set_and_compared(open_decoding: OpenApp, model: Translator) -> None:
    app = open_decoding(beam="3", section="beams")
    lead(app)
    app.button(key="decoding-to-compare").click().run()
    assert app.query_params["versus"] == "search"
    assert query(app, "beam") == "3"
    app = app.segmented_control(key="compare-how").set_value("sampling").run()
    app = app.select_slider(key="compare-temperature").set_value(250).run()
    app = app.select_slider(key="compare-second-beam").set_value(2).run()
    assert (query(app, "how"), query(app, "temperature")) == ("sampling", "250")
    assert query(app, "against").startswith("search-2-60-")
    sampling = Sampling(temperature=2.5, seed=1, n_samples=4)
    searches = (Search(beam=3, sampling=sampling), Search(beam=2))
    for search in searches:
        score = model.translate(SENTENCE, search=search).score
        assert f"score {score:.2f}".replace("-", "−") in html(app)
    assert "is ahead of" in captions(app)
    # Every sample that was drawn is listed.
    for node in model.decode(SENTENCE, search=searches[0]).ranked:
        assert f"log-probability {style.number(node.log_prob)}" in html(app)


def test_beams_of_every_width_are_listed(open_decoding: OpenApp) -> None:
    assert "1 is greedy" in captions(open_decoding(section="widths"))


def test_heads_are_switched_off_while_it_is_decoded(
    open_decoding: OpenApp, model: Translator
) -> None:
    app = open_decoding(section="beams", off="cross.9.9")
    assert "no cross head 9.9" in said(app)
    assert translations(app) == []
    chosen = ["cross.0.0", "encoder.0.1"]
    app = app.multiselect(key="decoding-heads-off").set_value(chosen).run()
    assert query(app, "off") == "cross.0.0-encoder.0.1"
    under = Intervention(heads={("cross", 0, 0): 0, ("encoder", 0, 1): 0})
    found = model.decode(SENTENCE, under=under)
    assert translations(app) == [TRANSLATION, found.translation.text]
    listed = html(app)
    for node in found.ranked:
        assert f"log-probability {style.number(node.log_prob)}" in listed
    app = open_decoding(section="layers", off=query(app, "off"))
    assert "without Cross 0.0 and Encoder 0.1" in app.get("plotly_chart")[0].proto.spec


def test_a_painted_mask_is_handed_over_holds_in_every_search_and_is_removed(
    open_app: OpenApp, open_decoding: OpenApp, model: Translator
) -> None:
    sentences = (SENTENCE, PAIRS[1][0])
    own = [model.translate(sentence) for sentence in sentences]
    padded = model.trace_batch(sentences, own).padded[0].attention("cross", 0).allowed.copy()
    n_source, n_target = len(own[0].source), len(own[0].tokens)
    padded[:, :2] = False
    masks = open_app()
    go_to(masks, "masks")
    painted = write([Edit(AttentionKind.CROSS, None, padded)])
    asked = {"part": "change", "masked": "cross", "edit": painted, "batch": sentences[1]}
    for name, value in ({"sentence": SENTENCE} | asked).items():
        masks.query_params[name] = value
    masks = masks.run()
    shown = translations(masks)
    app = masks.button(key="masks-decode-under").click().run()
    allowed = padded[:n_target, :n_source]
    assert query(app, "mask") == write([Edit(AttentionKind.CROSS, None, allowed)])
    under = Intervention(masks={"cross": allowed})
    found = model.translate(SENTENCE, under=under)
    assert translations(app) == shown == [TRANSLATION, found.text]
    assert "cross attention, all layers" in more(app)
    for beam in (1, 2):
        app = open_decoding(section="beams", mask=query(app, "mask"), beam=str(beam))
        searched = model.decode(SENTENCE, search=Search(beam=beam), under=under)
        for node in searched.ranked:
            assert f"log-probability {style.number(node.log_prob)}" in html(app)
    assert "under an edited mask" in app.get("plotly_chart")[0].proto.spec
    # It is of this sentence, whatever a link says.
    other = open_decoding(sentence=PAIRS[1][0] + " " + SENTENCE, mask=query(app, "mask"))
    assert f"for a source of {n_source} tokens" in said(other)
    assert translations(other) == []
    app = app.button(key="decoding-mask-none").click().run()
    assert (query(app, "mask"), translations(app)) == ("", [])


def test_what_a_mask_opens_ahead_is_said_to_have_no_part(open_decoding: OpenApp) -> None:
    for mask, is_said in ((np.ones((3, 3)), True), (np.tri(3), False)):
        edit = Edit(AttentionKind.DECODER, None, mask.astype(np.bool_))
        app = open_decoding(section="certainty", mask=write([edit]))
        assert (NOT_AHEAD in more(app)) is is_said


def test_the_tree_alone_stands_on_stage(open_decoding: OpenApp) -> None:
    app = open_decoding(section="beams", present="1", beam="2")
    (chart,) = app.get("plotly_chart")
    assert "Beam of 2, length penalty 0.6" in chart.proto.spec
    assert not [button for button in app.button if (button.key or "").startswith("decoding-study")]
