"""What answers say of the model and of the app is so."""

import json
import math
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.attribution import METHODS
from model.numbers import percent
from model.trace.attention_map import AttentionKind
from viz.heads.one_head import OneHead
from viz.inquiries.inquiry import Answer, Subject
from viz.inquiries.registry import find
from viz.links.searches import USUAL
from viz.model_page.picture import PlayedSentence
from viz.save.formats import FILMS, FORMAT_NAMES
from viz.service.questions import ModelQuestion
from viz.talk.ready import READY
from viz.talk.scene_panel import SAVE_VIEW

ROOT = Path(__file__).resolve().parents[3]
SUBJECT = Subject(ModelQuestion(CHECKPOINTS / "en-de", "He has bought a new computer."))


pytestmark = pytest.mark.usefixtures("no_process")


def answer(asked: str, subject: Subject = SUBJECT) -> Answer:
    found = find(asked, subject)
    assert found is not None
    inquiry, about = found
    return inquiry.answer(about)


def test_pictures_are_saved_in_the_formats_that_are_named() -> None:
    trace = SUBJECT.trace
    picture = OneHead(hs.read(trace, hs.Reading()), next(iter(trace.maps)), head=0)
    names = {FORMAT_NAMES[each] for each in picture.formats}
    said = answer("how-save").sentence
    assert names == {name for name in FORMAT_NAMES.values() if name in said}
    assert {"HTML", "Python"} <= names
    said = answer("how-film").sentence
    assert all(FORMAT_NAMES[each] in said for each in FILMS)
    assert answer("how-film").page.name == "model"
    assert hasattr(PlayedSentence, "film")


def test_what_python_is_told_to_do_is_there() -> None:
    assert "hs.load('en-de').trace(" in answer("how-python").sentence
    assert {"load", "show", "watching"} <= set(dir(hs))
    command = re.search(r"python -m ([\w.]+\w)", answer("how-train").sentence)
    assert command is not None
    assert find_spec(command[1]) is not None
    assert (ROOT / "model" / "training" / "README.md").exists()


def test_talks_and_scenes_are_called_so() -> None:
    title = json.loads(READY.read_text(encoding="utf-8"))["title"]
    for key in ("how-talk", "how-learn"):
        assert f"“{title}”" in answer(key).sentence
    assert SAVE_VIEW in answer("how-talk").sentence


def test_facts_are_those_of_the_model() -> None:
    config = SUBJECT.model.model.config
    assert answer("how-many-layers").sentence == "4 encoder layers and 4 decoder layers."
    assert (config.n_encoder_layers, config.n_decoder_layers, config.n_heads) == (4, 4, 8)
    assert answer("how-many-heads").sentence.startswith("96 heads: 8 in each of 4 encoder layers")
    assert 8 * 4 + (8 + 8) * 4 == 96
    assert f"{config.max_positions} tokens" in answer("how-long-can").sentence
    assert f"{config.d_model} numbers" in answer("what-embedding").sentence
    assert f"{config.d_ff} units" in answer("what-feed-forward").sentence
    assert f"{config.vocab_size:,} pieces" in answer("what-vocabulary").sentence
    assert f"read {len(SUBJECT.trace.source)} tokens" in answer("what-token").sentence
    assert f"{len(METHODS)} methods" in answer("what-attribution").sentence
    assert f"the {USUAL.beam} best" in answer("what-beam").sentence
    assert "MIT" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "English to French" in answer("languages").sentence


def test_numbers_that_terms_are_explained_with_are_right() -> None:
    said = answer("what-log-probability").sentence
    assert "−0.7 about one half, −2.3 a tenth" in said
    assert math.exp(-0.7) == pytest.approx(0.5, abs=0.01)
    assert math.exp(-2.3) == pytest.approx(0.1, abs=0.01)
    for count, bits in ((1, 0), (2, 1), (4, 2)):
        share = np.full(count, 1 / count)
        assert -(share * np.log2(share)).sum() == bits
    for attention in SUBJECT.trace.maps.values():
        assert attention.weights.sum(axis=-1) == pytest.approx(1, abs=1e-4)
        forbidden = ~np.broadcast_to(attention.allowed, attention.weights.shape)
        assert not attention.weights[forbidden].any()


def test_a_named_word_is_what_is_told_of() -> None:
    trace = SUBJECT.trace
    log_probs = trace.log_probs
    assert log_probs is not None
    assert percent(math.exp(float(log_probs[5]))) in answer("sure-of.6").sentence
    assert "“gekauft”" in answer("sure-of.6").sentence
    maps = [each for site, each in trace.maps.items() if site.kind is AttentionKind.CROSS]
    found = answer("looked-at.3")
    shares = {
        (each.site.layer, head): float(each.weights[head, :, 2].mean())
        for each in maps
        for head in range(each.n_heads)
    }
    best = max(shares, key=lambda each: shares[each])
    assert (found.view.layer, found.view.head) == best
    assert f"{percent(shares[best])} of its weight goes to “bought”" in found.sentence
    row = np.mean([each.weights[head, 5] for each in maps for head in range(each.n_heads)], axis=0)
    assert (
        f"“{trace.source.tokens[int(row.argmax())].removeprefix('▁')}”"
        in answer("looks-at.6").sentence
    )
    # “bought” is what “gekauft” translates.
    assert answer("became.3").sentence.startswith("“gekauft” depends on it most")
    assert answer("hidden-word.3").sentence.startswith("With “bought” hidden")
    assert "“einen” 0.6" in answer("why-not.3.ein").sentence


def test_the_reason_for_a_mistake_names_the_least_certain_word() -> None:
    log_probs = SUBJECT.trace.log_probs
    assert log_probs is not None
    least = SUBJECT.predicted[int(np.argmin(log_probs[:-1]))]
    assert f"least sure of “{least}”" in answer("why-wrong").sentence


def test_what_a_query_is_stands_close_up_in_the_model() -> None:
    """At the weight whose arithmetic another answer tells."""
    shown, told = answer("what-query").view, answer("computed").view
    cell = [told.attention, told.layer, told.head, told.cell]
    assert shown.place == ".".join(map(str, cell))
