"""Every inquiry, asked of every model in the menu: what is offered has an answer and a page."""

import math
import re
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import CHECKPOINTS
from model.trace.array_values import field_values
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.text_models import is_reader, reader_facts
from tests.kit.foreign_folders import save_foreign
from tests.kit.traces import DECODER_WORDS, ENCODER_WORDS, entries, packed
from viz.inquiries import how_to, terms
from viz.inquiries.inquiry import Subject, share_of
from viz.inquiries.registry import FIRST, INQUIRIES, offered
from viz.links.parameters import parse, write
from viz.registry.pages import ASKED, VIEWS
from viz.service import session
from viz.service.jobs.running import read
from viz.service.questions import ModelQuestion, ReaderQuestion, TraceQuestion
from viz.service.versions import snapshot_of, version_of

SHIPPED = sorted(path.parent for path in CHECKPOINTS.glob("*/config.json"))
OURS = [folder for folder in SHIPPED if not is_reader(folder)]
HALVES = [folder for folder in SHIPPED if is_reader(folder)]

OF_WEIGHTS = {"head-entropy", "twins", "most-looked-at", "how-long", "which-model"}
"""What can be asked of every trace with two tokens."""


pytestmark = pytest.mark.usefixtures("no_process")


def of_ours(folder: Path) -> ModelQuestion:
    """The shortest example of a model, in its last snapshot where it has some."""
    examples = session.examples(folder)
    sentence = min((each.source for each in examples), key=len)
    if steps := snapshots(folder):
        return ModelQuestion(snapshot_of(folder, steps[-1]), sentence, "", len(steps) - 1)
    return ModelQuestion(folder, sentence)


def of_reader(folder: Path, text: str) -> ReaderQuestion:
    timed = session.ask(read(version_of(folder), text))
    return ReaderQuestion(folder, text, reader_facts(folder), timed)


def answers(subject: Subject) -> dict[str, str]:
    """The sentence of every answer, whose pages and addresses are checked on the way."""
    found = {}
    for inquiry in offered(subject):
        assert "{" not in inquiry.text_for(subject)
        answer = inquiry.answer(subject)
        assert answer.page is VIEWS[answer.page.name]
        values = field_values(answer.view)
        query = write(values, answer.page.parameters)
        read, notices = parse(query, answer.page.parameters)
        assert not notices, inquiry.key
        # What the address cannot hold would be lost on the way.
        assert read == {each.name: each.default for each in answer.page.parameters} | values
        assert re.search(r"[.!?…][”]?$", answer.sentence), answer.sentence
        assert "nan" not in answer.sentence
        assert "\n" not in answer.sentence
        found[inquiry.key] = answer.sentence
    return found


def test_there_are_thirty_and_more_and_addresses_can_name_them() -> None:
    assert len(INQUIRIES) >= 30
    assert list(INQUIRIES)[: len(FIRST)] == list(FIRST)
    assert len({each.text for each in INQUIRIES.values()}) == len(INQUIRIES)
    for key in INQUIRIES:
        assert ASKED.parse(key) == key


@pytest.mark.slow
@pytest.mark.parametrize("folder", OURS, ids=lambda folder: folder.name)
def test_whatever_is_offered_of_a_whole_model_has_an_answer(folder: Path) -> None:
    subject = Subject(of_ours(folder))
    found = answers(subject)
    assert found.keys() >= OF_WEIGHTS | {"matters-most", "no-positions", "beam"}
    # A model that writes nothing has no later token to see.
    assert ("see-future" in found) == (len(subject.trace.target) > 2)
    assert len(found) >= 30
    # A number, unless nothing changed, there is nothing to count, or it says what something is.
    said = {each.key for each in (*terms.inquiry.listed, *how_to.inquiry.listed)} | {
        "privacy",
        "licence",
        "languages",
    }
    plain = [key for key in found.keys() - said if not re.search(r"\d", found[key])]
    assert all(
        re.search(r"stays the same|writes|None|Nowhere|No: ", found[key]) for key in plain
    ), plain
    table = subject.model.positions.is_added
    assert ("what-positions" in found) == table
    assert ("aligned" in found) == (folder / "alignment.json").exists()
    assert ("heads-came" in found) == (folder / "growth.json").exists()


@pytest.mark.parametrize("folder", HALVES, ids=lambda folder: folder.name)
def test_half_a_model_is_asked_only_of_its_weights(folder: Path) -> None:
    examples = session.examples(folder)
    found = answers(Subject(of_reader(folder, examples[0].source)))
    assert found.keys() >= OF_WEIGHTS
    assert not found.keys() & {"source", "matters-most", "see-future", "hardest", "beam"}
    assert ("head-next" in found) == folder.name.endswith("encoder")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kinds"),
    [("gpt2", {"decoder"}), ("bert", {"encoder"}), ("bart", {"encoder", "decoder", "cross"})],
)
def test_another_library_s_model_is_asked_of_its_weights(
    tmp_path: Path, family: str, kinds: set[str]
) -> None:
    save_foreign(tmp_path / family, family)
    subject = Subject(of_reader(tmp_path / family, "the cat sat on the mat ."))
    found = answers(subject)
    assert found.keys() >= OF_WEIGHTS
    assert not found.keys() & {"matters-most", "see-future", "how-good"}
    for sentence in found.values():
        named = {
            str(kind) for kind in AttentionKind if sentence.startswith(f"{kind.full_name}, layer")
        }
        assert named <= kinds


@pytest.mark.parametrize(
    ("kind", "words"), [("decoder", DECODER_WORDS), ("encoder", ENCODER_WORDS)]
)
def test_a_saved_trace_is_asked_of_its_weights(tmp_path: Path, kind: str, words: list[str]) -> None:
    path = tmp_path / "mine.npz"
    path.write_bytes(packed(entries(words, kind)))
    found = answers(Subject(TraceQuestion(path, " ".join(words), Trace.load(path))))
    assert found.keys() >= OF_WEIGHTS
    assert not found.keys() & {"computed", "matters-most", "hardest", "what-heads-do", "source"}


def test_every_probability_is_told_without_certainty() -> None:
    assert share_of(0.42) == "42%"
    assert share_of(0.9999) == "more than 99%"
    assert share_of(1 / 840) == "1 in 840"
    assert share_of(math.exp(-80)) == "less than 1 in a billion"
