import dataclasses
from functools import partial
from typing import Any

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.navigation.page import StreamlitPage
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, StopException
from streamlit.testing.v1 import AppTest, local_script_runner

from model.trace.attention_map import AttentionKind
from tests.kit.apptest import run_with, widget_states
from viz.links import parameters
from viz.registry import pages
from viz.shell import address

PARAMETERS = (
    parameters.text("sentence", "The cat.", most=50),
    parameters.text("target", most=50),
    parameters.choice("attention", AttentionKind.CROSS, AttentionKind),
    parameters.integer("layer", 3, low=-2, high=11),
    parameters.flag("words"),
    parameters.flag("specials", True),
)
# What a browser can send: no lone surrogates.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=50)
LEGAL = st.fixed_dictionaries(
    {
        "sentence": TEXTS,
        "target": TEXTS,
        "attention": st.sampled_from(AttentionKind),
        "layer": st.integers(-2, 11),
        "words": st.booleans(),
        "specials": st.booleans(),
    }
)
DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}


@given(LEGAL)
def test_what_is_written_is_read_back(values: dict[str, Any]) -> None:
    assert parameters.parse(parameters.write(values, PARAMETERS), PARAMETERS) == (values, {})


@given(LEGAL)
def test_only_what_differs_from_the_defaults_stands_in_an_address(values: dict[str, Any]) -> None:
    written = parameters.write(values, PARAMETERS)
    assert set(written) == {name for name in values if values[name] != DEFAULTS[name]}


def test_the_defaults_need_no_address() -> None:
    assert parameters.write(DEFAULTS, PARAMETERS) == {}
    assert parameters.write({}, PARAMETERS) == {}
    assert parameters.parse({}, PARAMETERS) == (DEFAULTS, {})


def test_names_of_no_parameter_are_passed_over() -> None:
    assert parameters.parse({"utm_source": "x", "layers": "1"}, PARAMETERS) == (DEFAULTS, {})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        *(
            ("layer", text, "which is not a whole number from -2 to 11")
            for text in ("", "12", "-3", "1.5", "1e1", " 1", "+1", "1_0", "０", "٣", "9" * 5000)
        ),
        ("attention", "Cross", "which is none of encoder, decoder, cross, module"),
        ("words", "true", "which is not 0 or 1"),
        ("sentence", "x" * 51, "which has 51 characters, and at most 50 fit"),
    ],
)
def test_an_illegal_value_gives_way_to_the_default_and_is_named(
    name: str, text: str, said: str
) -> None:
    values, notices = parameters.parse(
        {name: text, "words" if name != "words" else "x": "1"}, PARAMETERS
    )
    assert values == DEFAULTS | ({"words": True} if name != "words" else {})
    assert len(notices) == 1
    assert notices[name].startswith(f"The address asks for {name} “{text[:40]}")
    assert said in notices[name]
    assert text[:41] not in notices[name] or len(text) <= 40


def test_control_characters_in_a_notice_are_made_visible() -> None:
    notice = parameters.parse({"layer": "\n\u202e\x00"}, PARAMETERS)[1]["layer"]
    assert "“␊⟨U+202E⟩␀”" in notice


def test_a_long_list_of_choices_is_cut_in_its_notice() -> None:
    notice = parameters.parse({"n": "x"}, [parameters.choice("n", 0, range(100))])[1]["n"]
    assert "which is none of 0, 1, 2, 3, 4, 5, 6, 7, …; shown instead: “0”." in notice


@pytest.mark.parametrize(
    ("name", "value"), [("sentence", "x" * 51), ("layer", 99), ("layer", None)]
)
def test_a_value_that_would_not_be_read_back_is_left_out(name: str, value: Any) -> None:
    assert parameters.write({name: value, "words": True}, PARAMETERS) == {"words": "1"}


def small_app() -> None:
    """A sentence bar with one field, and pages one and two with a parameter each."""
    import streamlit as st

    from viz.links import parameters
    from viz.shell import address

    page = st.session_state.get("page", "one")
    address.begin_run(
        page, [st.Page(lambda: None, title=each, url_path=each) for each in ("one", "two")]
    )
    address.open_address([parameters.text("sentence", "usual", most=20)])
    if page != "none":
        st.text_input("Sentence", key="sentence")
    own = "layer" if page == "one" else "size"
    address.open_address([parameters.integer(own, 3, low=0, high=5)])
    st.slider("Own", 0, 5, key=own)
    st.button("Anything else", key="else")
    st.button("Go", key="go", on_click=address.navigate, args=("two", {"size": "5"}))
    for there in ("4", "5"):
        query = {"sentence": f"scene {there}", "layer": there}
        # Streamlit looks for the callback when it is pressed.
        st.button(there, key=there, on_click=lambda q=query: address.navigate("one", q))
    address.show_notices()
    if st.session_state.get("cut"):
        st.stop()
    address.write_address()


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(small_app, default_timeout=30)


def open_at(app: AppTest, **query: str) -> AppTest:
    """A run as the browser starts one: with whatever its address is."""
    app.query_params = dict(query)
    app.run()
    assert not app.exception, app.exception
    return app


def shown(app: AppTest) -> tuple[str, int]:
    return app.text_input[0].value, app.slider[0].value


def go_back(app: AppTest, monkeypatch: pytest.MonkeyPatch, **query: str) -> AppTest:
    """The Back button, of which the browser says so."""
    flagged = partial(RerunData, is_history_navigation=True)
    with monkeypatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", flagged)
        return open_at(app, **query)


def go_to(app: AppTest, page: str) -> AppTest:
    """A click on a page's name, which brings its plain address."""
    app.session_state["page"] = page
    return open_at(app)


def test_a_link_opens_what_it_says_and_stays_as_it_is(app: AppTest) -> None:
    open_at(app, sentence="hello", layer="1", other="x")
    assert shown(app) == ("hello", 1)
    assert app.query_params == {"sentence": "hello", "layer": "1", "other": "x"}


def test_what_widgets_change_is_written_and_what_is_usual_again_is_taken_out(app: AppTest) -> None:
    open_at(app)
    app.text_input[0].set_value("hello").run()
    assert app.query_params == {"sentence": "hello"}
    app.slider[0].set_value(0).run()
    assert app.query_params == {"sentence": "hello", "layer": "0"}
    app.text_input[0].set_value("usual").run()
    assert app.query_params == {"layer": "0"}


def test_a_widget_wins_over_the_link_that_opened_the_app(app: AppTest) -> None:
    open_at(app, layer="1")
    app.slider[0].set_value(2).run()
    app.button[0].click().run()
    assert shown(app) == ("usual", 2)
    assert app.query_params == {"layer": "2"}


def test_an_illegal_value_is_named_until_something_changes(app: AppTest) -> None:
    open_at(app, layer="99")
    for _ in range(2):
        assert shown(app) == ("usual", 3)
        assert "layer “99”" in app.warning[0].value
        # A run that changes nothing, such as that of another width, or a click that only looks.
        app.button[0].click().run()
    app.text_input[0].set_value("hello").run()
    assert not app.warning
    assert shown(app) == ("hello", 3)
    assert app.query_params == {"sentence": "hello"}
    app.button[0].click().run()
    assert not app.warning


def test_several_notices_fold_into_one_list(app: AppTest) -> None:
    open_at(app, layer="99", sentence="x" * 30)
    assert not app.warning
    (folded,) = app.expander
    assert folded.label.startswith("2 parts of this address")
    assert not folded.proto.expanded
    assert ["sentence" in folded.markdown[0].value, "layer" in folded.markdown[1].value] == [
        True
    ] * 2


def test_an_address_is_cleaned_of_all_that_says_nothing(app: AppTest) -> None:
    open_at(app, layer="99", sentence="hello", other="x")
    app.button(key="address-clean").click().run()
    assert not app.warning
    assert app.query_params == {"sentence": "hello"}
    assert shown(app) == ("hello", 3)
    app.button[0].click().run()
    assert app.query_params == {"sentence": "hello"}


def test_what_is_shown_instead_may_be_said_in_words() -> None:
    layer = dataclasses.replace(PARAMETERS[3], instead="the first one is shown")
    notice = parameters.parse({"layer": "99"}, [layer])[1]["layer"]
    assert notice.endswith("to 11; the first one is shown.")


@pytest.mark.parametrize("leave", ["link", "page"])
def test_a_notice_stays_behind_with_its_address(app: AppTest, leave: str) -> None:
    open_at(app, layer="99")
    assert app.warning
    open_at(app, layer="2") if leave == "link" else go_to(app, "two")
    assert not app.warning


def test_going_back_shows_what_was_shown_there_and_writes_nothing(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_at(app)
    app.slider[0].set_value(0).run()
    app.text_input[0].set_value("hello").run()
    go_back(app, monkeypatch, layer="0")
    assert shown(app) == ("usual", 0)
    go_back(app, monkeypatch)
    assert shown(app) == ("usual", 3)
    assert app.query_params == {}
    go_back(app, monkeypatch, sentence="hello", layer="0")
    assert shown(app) == ("hello", 0)


def test_a_click_before_the_browser_shows_the_last_address_is_not_taken_for_back(
    app: AppTest,
) -> None:
    open_at(app)
    app.slider[0].set_value(0).run()
    app.query_params = {}
    app.text_input[0].set_value("hello").run()
    assert shown(app) == ("hello", 0)
    assert app.query_params == {"sentence": "hello", "layer": "0"}


def test_messages_of_a_browser_that_has_not_heard_of_the_address_are_not_taken_for_back(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_at(app)
    app.slider[0].set_value(0).run()
    app.query_params = {}
    app.text_input[0].set_value("hello").run()
    # Such as what the page says of its width: more than one, and nothing new in them.
    for late in ({}, {"layer": "0"}, {"layer": "0"}):
        assert shown(open_at(app, **late)) == ("hello", 0)
    go_back(app, monkeypatch, layer="0")
    assert shown(app) == ("usual", 0)


def test_once_the_browser_says_the_address_an_older_one_leads_back(app: AppTest) -> None:
    """A browser that is connected anew does not say that it went back."""
    open_at(app)
    app.slider[0].set_value(0).run()
    app.button(key="else").click().run()
    assert shown(open_at(app)) == ("usual", 3)


def test_a_run_that_is_cut_short_by_a_browser_that_has_not_heard_of_it_leads_on(
    app: AppTest,
) -> None:
    open_at(app, layer="1")
    before = unheard(app)
    app.session_state["cut"] = True
    open_at(app, layer="2", sentence="hello")
    app.session_state["cut"] = False
    say_late(app, before, layer="2", sentence="hello")
    assert shown(app) == ("hello", 2)
    assert app.query_params == {"layer": "2", "sentence": "hello"}


def unheard(app: AppTest) -> WidgetStates:
    """What the browser goes on sending until it has heard of the next run; here of a button."""
    states = widget_states(app)
    states.widgets.add(id=app.button(key="else").id, trigger_value=True)
    return states


def say_late(app: AppTest, states: WidgetStates, **query: str) -> None:
    """A message of a browser that shows an older run and its query."""
    written = dict(app.query_params)
    app.query_params = dict(query)
    run_with(app, states)
    assert not app.exception, app.exception
    if app.query_params == query:
        # Nothing was written since, and what was before comes to the browser all the same.
        app.query_params = written


def test_a_view_is_led_to_wherever_a_late_message_ends_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uses_left: int | None = None

    def use(runner: ScriptRunner) -> None:
        nonlocal uses_left
        # At a script's end Streamlit itself ends none.
        if uses_left is not None and runner._execing:
            uses_left -= 1
            if uses_left < 0:
                uses_left = None
                raise StopException

    monkeypatch.setattr(ScriptRunner, "_maybe_handle_execution_control_request", use)
    navigate = address.navigate
    for uses in range(1000):

        def led(page: str, query: dict[str, str], uses: int = uses) -> None:
            nonlocal uses_left
            navigate(page, query)
            uses_left = uses

        monkeypatch.setattr(address, "navigate", led)
        app = open_at(AppTest.from_function(small_app, default_timeout=30), layer="1")
        before = unheard(app)
        app.button(key="5").click().run()
        was_cut, uses_left = uses_left is None, None
        say_late(app, before, layer="1")
        assert shown(app) == ("scene 5", 5), uses
        assert app.query_params == {"sentence": "scene 5", "layer": "5"}, uses
        if not was_cut:
            break
    assert uses > 30, "it was cut at no use"


@pytest.mark.parametrize("finds", ["the first view", "a view between"])
def test_views_that_were_never_finished_leave_nothing_behind(app: AppTest, finds: str) -> None:
    app.session_state["cut"] = True
    open_at(app, layer="1")
    first = unheard(app)
    app.button(key="4").click().run()
    between = unheard(app)
    app.button(key="5").click().run()
    app.session_state["cut"] = False
    if finds == "the first view":
        say_late(app, first, layer="1")
    else:
        say_late(app, between, sentence="scene 4", layer="4")
    assert shown(app) == ("scene 5", 5)
    assert app.query_params == {"sentence": "scene 5", "layer": "5"}


def test_a_browser_that_knows_the_query_and_not_its_page_is_led_to_it(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_at(app, layer="1")
    asked = []

    def switch(page: StreamlitPage, query_params: dict[str, str]) -> None:
        asked.append((page.url_path, query_params))
        streamlit.stop()

    monkeypatch.setattr(streamlit, "switch_page", switch)
    app.button(key="go").click().run()
    app.session_state["page"] = "two"
    open_at(app, layer="1")
    app.session_state["page"] = "one"
    open_at(app, size="5")
    assert asked == 2 * [("two", {"size": "5"})]
    # A browser that went back says so, and may find the same query there.
    go_back(app, monkeypatch, size="5")
    assert len(asked) == 2


def test_what_a_person_changes_while_an_address_is_followed_stays(app: AppTest) -> None:
    open_at(app, layer="1")
    app.session_state["cut"] = True
    open_at(app, layer="2", sentence="hello")
    app.session_state["cut"] = False
    app.slider[0].set_value(4).run()
    assert shown(app) == ("hello", 4)


def test_another_page_takes_the_sentence_along_and_not_the_values_of_this_one(
    app: AppTest,
) -> None:
    open_at(app, sentence="hello", layer="1")
    go_to(app, "two")
    assert shown(app) == ("hello", 3)
    assert app.query_params == {"sentence": "hello"}
    app.slider[0].set_value(5).run()
    assert app.query_params == {"sentence": "hello", "size": "5"}


def test_what_was_chosen_on_a_page_is_there_when_it_is_come_back_to(app: AppTest) -> None:
    open_at(app, layer="1")
    go_to(app, "two")
    app.text_input[0].set_value("changed").run()
    go_to(app, "one")
    assert shown(app) == ("changed", 1)
    assert app.query_params == {"sentence": "changed", "layer": "1"}


def test_a_sentence_outlives_a_page_that_does_not_show_it(app: AppTest) -> None:
    open_at(app, sentence="hello")
    go_to(app, "none")
    go_to(app, "one")
    assert shown(app) == ("hello", 3)


def test_going_back_to_another_page_opens_the_address_it_had(app: AppTest) -> None:
    open_at(app, layer="1")
    go_to(app, "two")
    app.text_input[0].set_value("changed").run()
    app.session_state["page"] = "one"
    open_at(app, layer="1")
    assert shown(app) == ("usual", 1)


def test_going_back_to_the_plain_address_of_a_page_shows_what_it_was_come_to_with(
    app: AppTest,
) -> None:
    open_at(app, sentence="hello", layer="1")
    go_to(app, "two")
    app.text_input[0].set_value("changed").run()
    open_at(app, sentence="hello")
    open_at(app)
    assert shown(app) == ("hello", 3)
    # Written again, this would be an entry that Back can never get past.
    assert app.query_params == {}


def test_what_a_page_sends_before_it_is_left_does_not_keep_anybody_there(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def switch(page: StreamlitPage, query_params: dict[str, str]) -> None:
        # Overtaken: what the browser sent from the old page is run instead of the new one.
        asked.append((page.url_path, query_params))
        streamlit.stop()

    monkeypatch.setattr(streamlit, "switch_page", switch)
    open_at(app)
    app.button(key="go").click().run()
    open_at(app)
    assert asked == 2 * [("two", {"size": "5"})]
    app.session_state["page"] = "two"
    open_at(app, size="5")
    assert shown(app) == ("usual", 5)
    # And from there Back leads back.
    app.session_state["page"] = "one"
    open_at(app, layer="4")
    assert shown(app) == ("usual", 4)
    assert len(asked) == 2


def test_a_text_too_long_for_a_link_stays_on_the_page(app: AppTest) -> None:
    open_at(app, layer="1")
    app.text_input[0].set_value("x" * 30).run()
    app.button[0].click().run()
    assert shown(app) == ("x" * 30, 1)
    assert app.query_params == {"layer": "1"}


def test_a_switch_of_the_page_before_is_no_text_of_this_one(monkeypatch):
    words = pages.VIEWS["corpus"].parameter("words")
    visit = address._Visit("corpus", {}, parameters={"words": words})
    monkeypatch.setattr(address.st, "session_state", {"heads-words": True})
    assert visit.values() == {"words": ""}


def test_a_widget_that_streamlit_forgot_meanwhile_begins_with_what_was_kept_of_it(monkeypatch):
    below = pages.VIEWS["heads"].parameter("below")
    visit = address._Visit("heads", {}, parameters={"below": below}, kept={below.key: "numbers"})
    monkeypatch.setattr(address, "_visit", lambda: visit)
    monkeypatch.setattr(address.st, "session_state", {})
    assert address.value_of(below.widget) == "numbers"
    address.st.session_state[below.widget] = "facts"
    assert address.value_of(below.widget) == "facts"
