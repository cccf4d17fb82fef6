"""A model with a vocabulary for each side, in the app."""

from pathlib import Path

import pytest

from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import html, plain, warnings
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    write_tiny_checkpoint(made / "en-de", separate=True)
    return made


def test_each_side_is_cut_by_its_own_vocabulary(open_app: OpenApp, folder: Path) -> None:
    english, german = PAIRS[3]
    app = open_app(folder=folder, sentence=english, target=PAIRS[1][1])
    (prepared,) = app.session_state["heads-prepared.kept"]
    trace = prepared.trace
    assert PAIRS[1][1] in html(app)
    assert german in html(app)
    assert len(trace.target.tokens) == len(trace.predictions.tokens)
    # An umlaut is in the target's vocabulary alone.
    assert not warnings(app.text_input(key="target").set_value("Der Hund schläft.").run())
    app = app.text_input(key="sentence").set_value("The dog schläft.").run()
    assert "vocabulary for this side lacks these characters; the model" in warnings(app)[0]
    assert "reads them byte by byte: “ä”" in warnings(app)[0]


@pytest.mark.parametrize("page", ["effects", "decoding", "masks", "positions"])
def test_every_page_opens(open_app: OpenApp, folder: Path, page: str) -> None:
    app = open_app(folder=folder, sentence=PAIRS[0][0])
    app = go_to(app, page).run()
    assert not app.error
    assert PAIRS[0][1] in html(app)


def test_the_page_about_tells_of_both(open_app: OpenApp, folder: Path) -> None:
    app = open_app(folder=folder, sentence=PAIRS[0][0])
    app = go_to(app, "about").run()
    said = plain(" ".join(each.value for each in app.markdown))
    assert "vocabularies of 370 source and 360 target pieces, at most 64 tokens" in said
