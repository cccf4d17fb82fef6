"""The link of every page: it reopens the view, and the link of that view is the same."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import OpenApp, component, go_to, trigger
from viz.draw.labels import escape_markdown
from viz.links import parameters as address_parameters
from viz.links.parameters import Parameter
from viz.masks.view import FURTHER
from viz.registry.pages import HOME
from viz.shell import share, share_panel, shown_views, speaker_view

PAGES = ("heads", "masks", "positions", "about")
PAGE = "http://localhost:8501/masks"

HOSTILE = (
    *(
        "The cat.",
        " ",
        "a+b & c=d#e%20f?g;h",
        "Straße, Öl",
        "🐈‍⬛ cat",
        "القط the قطة",
        "\u202ecat",
    ),
    *("<s>", "</script><script>alert(1)</script>", "../../etc", "line\nline", "\x00", "the cat "),
)
NUMBERS = st.integers(0, 40).map(str)
TEXTS = st.one_of(st.text(st.characters(codec="utf-8"), max_size=60), st.sampled_from(HOSTILE))

WRITTEN: dict[str, st.SearchStrategy[str]] = {
    "sentence": TEXTS,
    "target": TEXTS,
    "batch": TEXTS,
    "edit": TEXTS,
    "attention": st.sampled_from(["encoder", "decoder", "joint"]),
    "view": st.just("lines"),
    "cell": st.builds("{}.{}".format, NUMBERS, NUMBERS),
    "compare": st.lists(st.builds("{}.{}".format, NUMBERS, NUMBERS), min_size=1, max_size=8).map(
        "-".join
    ),
    "order": st.sampled_from(["entropy", "diagonal"]),
    "only": st.builds("{}.{}".format, st.sampled_from(["layer", "head"]), NUMBERS),
    "below": st.sampled_from(["numbers", "query-key"]),
    "part": st.sampled_from(["inside", "compare", "change"]),
    "masked": st.sampled_from(["encoder", "cross"]),
    "a": st.sampled_from(["1.decoder", "preset.window", "edited.cross"]),
    "b": st.sampled_from(["2.encoder", "preset.none"]),
    "topic": st.sampled_from(["likeness", "words", "without", "shuffle", "learned", "formula"]),
    "length": st.sampled_from(["limit", "beyond"]),
    "waves": st.lists(NUMBERS, min_size=1, max_size=8).map(".".join),
    "side": st.sampled_from(["encoder", "decoder"]),
    "show": st.just("words"),
    "off": st.sampled_from(["cross.1.0", "cross.1.0-encoder.0.3"]),
    "way": st.sampled_from(["uniform", "first"]),
    "shuffled": st.permutations(range(5)).map(lambda order: ".".join(map(str, order))),
}
"""What may stand in an address, by parameter; numbers and flags need no entry."""

PLAIN = tuple(map(str, (*range(-4, 41, 2), 1, 3, 101)))

VIEWS: dict[str, dict[str, str]] = {
    "heads": {
        "sentence": "The cät & the+dog #1 = 50 % 🐈.",
        "attention": "encoder",
        "layer": "1",
        "head": "1",
        "view": "lines",
        "compare": "0.0-1.1",
        "words": "1",
        "faint": "2",
        "below": "numbers",
    },
    "masks": {
        "sentence": "the cat .",
        "batch": "a dog sees\nthe القط",
        "part": "compare",
        "masked": "cross",
        "number": "2",
        "b": "preset.window",
    },
    "effects": {"token": "2", "off": "cross.1.0-encoder.0.3", "gate": "50"},
    "decoding": {"at": "2", "beam": "2", "penalty": "100"},
    "positions": {"topic": "without", "scale": "50", "shift": "-3", "side": "encoder"},
    "about": {},
}


def at(open_app: OpenApp, page: str, query: Mapping[str, str]) -> AppTest:
    """The app on a page as a link opens it, with the share panel open."""
    app = open_app()
    if page != "heads":
        go_to(app, page)
    for name, value in query.items():
        app.query_params[name] = value
    # In a browser the panel opens when the page stands.
    app.run()
    app.session_state["share-button"] = True
    return app.run()


def panel(app: AppTest) -> dict[str, Any]:
    """What the share panel shows."""
    (shown,) = [each.proto for each in app.get("bidi_component") if each.key == "share-copy"]
    return json.loads(shown.json)


def query_of(link: str) -> dict[str, str]:
    """The query of a link, as Streamlit reads it."""
    found = parse_qs(urlsplit(link).query, keep_blank_values=True)
    return {name: value for name, (value,) in found.items()}


def legal(parameter: Parameter[Any]) -> st.SearchStrategy[str]:
    """Texts that an address may hold for a parameter."""
    if parameter.name in WRITTEN:
        return WRITTEN[parameter.name]
    taken = [
        text
        for text in PLAIN
        if not address_parameters.parse({parameter.name: text}, [parameter])[1]
    ]
    return st.sampled_from([*taken, parameter.write(parameter.default)])


@pytest.fixture(scope="module", params=PAGES)
def parameters(
    request: pytest.FixtureRequest, checkpoints: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Parameter[Any], ...]:
    """Everything that a page keeps in its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_CHECKPOINTS", str(checkpoints))
        app = AppTest.from_file(request.config.rootpath / "app.py", default_timeout=120).run()
        if request.param != "heads":
            go_to(app, request.param).run()
        assert not app.exception, app.exception
        visit = app.session_state["address-visit.kept"]
    assert visit.page == ("" if request.param == "heads" else request.param)
    return tuple(visit.parameters.values())


def test_link_to_view_to_link_is_the_identity_on_every_page(
    parameters: tuple[Parameter[Any], ...],
) -> None:
    known = {parameter.name: parameter for parameter in parameters}

    def require_identity(query: dict[str, str]) -> None:
        values, _ = address_parameters.parse(query, parameters)
        link = share.link(PAGE, address_parameters.write(values, parameters))
        again, notices = address_parameters.parse(query_of(link), parameters)
        assert not notices
        assert again == values
        assert share.link(PAGE, address_parameters.write(again, parameters)) == link

    given(st.fixed_dictionaries({}, optional={n: legal(p) for n, p in known.items()}))(
        require_identity
    )()
    # Each of them away from its default; those of models' snapshots have no choice.
    for name in known.keys() - {"checkpoint", "step"} - fixed(parameters):
        require_identity({name: moved(known[name])})


def moved(parameter: Parameter[Any]) -> str:
    """A text that an address may hold for a parameter, other than its default."""
    return find(legal(parameter), lambda text: parameter.parse(text) != parameter.default)


def fixed(parameters: tuple[Parameter[Any], ...]) -> set[str]:
    """Parameters of which neither a number nor a flag nor an entry here is legal."""
    return {
        parameter.name
        for parameter in parameters
        if parameter.name not in WRITTEN
        and all(address_parameters.parse({parameter.name: text}, [parameter])[1] for text in PLAIN)
    }


@pytest.mark.parametrize("page", PAGES)
def test_a_link_opened_anew_gives_the_same_link(open_app: OpenApp, page: str) -> None:
    link = panel(at(open_app, page, VIEWS[page]))["link"]
    assert query_of(link).items() >= VIEWS[page].items()
    assert panel(at(open_app, page, query_of(link)))["link"] == link


def test_the_panel_is_made_only_when_it_is_open(open_app: OpenApp) -> None:
    app = open_app()
    assert not [each for each in app.get("bidi_component") if each.key == "share-copy"]


@pytest.fixture
def in_a_network(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address by which others reach this machine."""
    monkeypatch.setattr(share_panel, "own_address", lambda: "192.0.2.7")
    return "192.0.2.7"


@pytest.fixture(params=["", "0.0.0.0", "::"])
def open_to_all(request: pytest.FixtureRequest) -> Iterator[None]:
    """A server that listens to every network."""
    before = config.get_option("server.address")
    config.set_option("server.address", request.param)
    yield
    config.set_option("server.address", before)


needs_code = pytest.mark.usefixtures("open_to_all", "in_a_network")


@needs_code
def test_a_long_link_has_a_code_and_is_said_to_be_fine(open_app: OpenApp) -> None:
    shown = panel(at(open_app, "heads", {"sentence": "the cat " * 100}))
    assert shown["code"]["size"] > share.FINE
    assert share_panel.FINE_CODE in shown["notes"]


def kept_by_window(app: AppTest) -> str | None:
    """What the speaker's window is told to keep until it is closed."""
    return json.loads(component(app, "talks-keys").json)["followed"]  # type: ignore[no-any-return]


def test_phones_follow_what_is_shown_until_that_is_switched_off(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At once, and not beside the page.
    monkeypatch.setattr(speaker_view._ANSWERING, "submit", lambda act, *given: act(*given))
    app = at(open_app, "heads", {"sentence": "the cat", "layer": "1", "scene": "2"})
    app.toggle(key="share-site").set_value(True).run()
    assert "follow" not in query_of(panel(app)["link"])
    app.toggle(key="share-follow").set_value(True).run()
    link = panel(app)["link"]
    assert urlsplit(link).path == "/site/heads/"
    code = query_of(link)["follow"]

    def shown() -> dict[str, Any]:
        speaker = shown_views.VIEWS.of(code)
        assert speaker is not None
        view = dict(json.loads(speaker.view))
        assert bool(speaker.found) == bool(view["found"])
        if speaker.found:
            whole = json.loads(gzip.decompress(speaker.whole))
            assert zlib.decompress(base64.b64decode(whole.pop("answers"))) == speaker.found
            assert whole == view
        return view

    assert shown()["page"] == "heads"
    assert shown()["query"].items() >= {"sentence": "the cat", "layer": "1"}.items()
    assert "scene" not in shown()["query"]
    app.text_input(key="sentence").set_value("a dog sees").run()
    assert shown()["query"]["sentence"] == "a dog sees"
    # Where in the model one is, and the stop of the walk.
    within = {"place": "cross.0.1", "walk": "3"}
    app.query_params.update(within)
    go_to(app, HOME).run()
    assert shown()["query"].items() >= within.items()
    # What the site's own pages open with is another picture.
    spelled = {"masks": {"part": "see", "batch": FURTHER}, "positions": {"topic": "table"}}
    for page in ("masks", "positions", "about", "corpus", "heads"):
        app.query_params.clear()
        go_to(app, page).run()
        assert shown()["page"] == page
        assert shown()["query"].items() >= spelled.get(page, {}).items()
    app.session_state["share-button"] = True
    app.run()
    app.toggle(key="share-site").set_value(True).run()
    assert query_of(panel(app)["link"])["follow"] == query_of(link)["follow"]
    # Another session in the same window, as after a reload or another start of the server, goes on.
    secret = kept_by_window(app)
    shown_views.VIEWS.drop(query_of(link)["follow"])
    again = trigger(at(open_app, "heads", {"sentence": "a bird"}), "talks-keys", "followed", secret)
    assert shown()["query"]["sentence"] == "a bird"
    assert again.toggle(key="share-follow").value
    assert query_of(panel(again)["link"])["follow"] == query_of(link)["follow"]
    # A copy of the window does not speak in its place, and says so.
    copy = trigger(at(open_app, "heads", {"sentence": "no"}), "talks-keys", "followed", secret)
    assert shown()["query"]["sentence"] == "a bird"
    assert escape_markdown(speaker_view.ELSEWHERE) in [each.value for each in copy.warning]
    again.toggle(key="share-follow").set_value(False).run()
    assert shown_views.VIEWS.of(code) is None
    assert kept_by_window(again) == ""
    assert "follow" not in query_of(panel(again)["link"])


def test_on_this_machine_alone_the_panel_says_how_to_let_others_in(open_app: OpenApp) -> None:
    shown = panel(at(open_app, "heads", {}))
    assert shown["notes"] == [share_panel.HERE_ALONE]
    assert shown["code"] is None, "no phone could open it"
    assert "make run ADDRESS=0.0.0.0" in share_panel.HERE_ALONE


@needs_code
def test_where_others_are_let_in_the_link_has_the_address_they_know(
    open_app: OpenApp, in_a_network: str
) -> None:
    shown = panel(at(open_app, "heads", {}))
    assert urlsplit(shown["link"]).hostname == in_a_network
    assert shown["notes"] == [share_panel.SAME_NETWORK]
    assert shown["code"]


@pytest.mark.usefixtures("open_to_all")
def test_without_a_network_no_code_is_drawn(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_panel, "own_address", lambda: None)
    shown = panel(at(open_app, "heads", {}))
    assert urlsplit(shown["link"]).hostname == "localhost"
    assert shown["notes"] == [share_panel.NO_NETWORK]
    assert shown["code"] is None


def test_a_site_elsewhere_opens_on_phones_wherever_this_server_is(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(share.SITE_VARIABLE, "https://example.org/headscope")
    app = at(open_app, "heads", {})
    app.toggle(key="share-site").set_value(True).run()
    shown = panel(app)
    assert shown["link"].startswith("https://example.org/headscope/heads/?")
    assert shown["notes"] == [share_panel.PHONE_NOTE]
    assert shown["code"]


def test_the_own_address_is_one_of_this_machine_in_a_network_or_none() -> None:
    own = share_panel.own_address()
    assert own is None or not share.is_local(f"http://{own}/")
