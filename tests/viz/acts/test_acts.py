"""The three acts on the shipped model: what they show is computed again in another way."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image as Raster

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import checkpoint_folder
from model.contrast.contrast import contrast_of
from model.contrast.head_sets import darkened, head_set
from model.contrast.pairs import pair_of
from model.explain.block_outputs import block_outputs
from model.patching.causal_trace import causal_trace, streams
from model.patching.patch import patch
from model.record.head_edits import Gate
from model.record.intervention import Intervention
from model.trace.attention_map import FloatArray
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from viz.acts.act import Act, changed, n_changed
from viz.acts.grow import grown, sharp_heads
from viz.acts.minds import RANDOM_ORDERS, close_words, divided, strongest_first
from viz.acts.swap import crossing, neighbours, swapped
from viz.save.film import Slide

SENTENCE = "My sister lost his keys."
FIRST, SECOND = "He has bought a new computer.", "He has bought a new car."


@dataclass(frozen=True)
class Divided:
    act: Act
    place: int
    log_probs: FloatArray


@pytest.fixture(scope="module")
def model() -> Translator:
    return load(checkpoint_folder("en-de"), device="cpu")


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


@pytest.fixture(scope="module")
def minds(model: Translator, trace: Trace) -> Divided:
    place, other = close_words(trace, block_outputs(model, trace))[0]
    pair = pair_of(model, trace, place, other)
    found = head_set(model, trace, pair)
    assert found.decides
    contrast = contrast_of(model, trace, pair)
    heads = strongest_first(found, contrast)
    log_probs = darkened(model, trace, pair, heads, RANDOM_ORDERS)
    return Divided(divided(trace, contrast, place, heads, log_probs), place, log_probs)


@pytest.fixture(scope="module")
def swap(model: Translator) -> Act:
    found = causal_trace(model, FIRST, SECOND)
    rows = [each for each in streams(model.model) if each.side == "encoder"]
    row = 3
    runs = patch(model, FIRST, SECOND, {rows[row]: (crossing(found, row),)})
    return swapped(found, runs, row, model.model.config.d_model, found_in(model))


def found_in(model: Translator) -> object:
    return model.trace(FIRST).provenance


def text(act: Act, frame: int) -> str:
    return "".join(piece for piece, _ in act.frames[frame].written)


def test_heads_go_one_by_one_until_the_other_word_is_likelier(
    minds: Divided, model: Translator, trace: Trace
) -> None:
    act = minds.act
    for size, frame in enumerate(act.frames):
        assert len(frame.off) == size
        assert frame.off >= act.frames[max(0, size - 1)].off
        without = Intervention(heads=dict.fromkeys(frame.off, Gate(0)))
        forced = model.trace(SENTENCE, trace.text, under=without)
        assert forced.log_probs is not None
        own = float(forced.log_probs[minds.place])
        assert own == pytest.approx(float(minds.log_probs[0, size, 0]), abs=1e-3)
    assert act.curve is not None
    leads = np.asarray(act.curve.values)
    assert (leads[:-1] > 0).any()
    assert leads[-1] < 0
    # All orders begin with every head, and the strongest do more than chance.
    assert np.ptp(act.curve.others[:, 0]) < 1e-4
    assert leads[-1] < np.median(act.curve.others[:, -1])


def test_words_that_are_marked_change_where_the_other_is_ahead(minds: Divided) -> None:
    assert minds.act.curve is not None
    for frame, lead in zip(minds.act.frames, minds.act.curve.values, strict=True):
        marks = {mark for _, mark in frame.written}
        assert ("word" in marks, "other" in marks) == (lead > 0, lead <= 0)


def test_how_often_chance_does_the_same_is_counted(minds: Divided) -> None:
    assert minds.act.curve is not None
    ahead = sum(float(others[-1]) <= 0 for others in minds.act.curve.others)
    said = f"in {ahead or 'none'} of {RANDOM_ORDERS} tries"
    assert said in minds.act.frames[-1].said


def test_close_words_are_whole_words_that_the_model_did_not_write(
    model: Translator, trace: Trace
) -> None:
    blocks = block_outputs(model, trace)
    found = close_words(trace, blocks)
    ratios = []
    for place, other in found:
        shares = dict(zip(blocks.likeliest[place].tokens, blocks.probabilities[place], strict=True))
        own = trace.predictions.tokens[place]
        assert shares[f"▁{other}"] < shares[own]
        ratios.append(float(shares[f"▁{other}"] / shares[own]))
    assert ratios == sorted(ratios, reverse=True)


def test_one_state_brings_the_other_translation(swap: Act, model: Translator) -> None:
    assert text(swap, 0) == model.translate(FIRST).text
    assert text(swap, 1) == model.translate(SECOND).text == text(swap, 3)
    assert "and the translation is the second’s" in swap.frames[3].said
    assert swap.states is not None
    row, first, second = swap.states.at
    assert (swap.states.first[first], swap.states.second[second]) == ("computer", "car")
    assert swap.states.shares[row, first] == np.nanmax(swap.states.shares[row])


def test_what_a_state_does_not_bring_is_not_claimed(model: Translator) -> None:
    found = causal_trace(model, FIRST, SECOND)
    rows = [each for each in streams(model.model) if each.side == "encoder"]
    # The end of the sentence holds nothing of the car.
    runs = patch(model, FIRST, SECOND, {rows[0]: (len(found.source) - 1,)})
    assert runs.patched_text != runs.other_text
    act = swapped(found, runs, 0, 256, found_in(model))
    assert "the translation is the second’s" not in act.alt


@pytest.mark.parametrize(
    ("sentence", "language", "other"),
    [
        (FIRST, "en", SECOND),
        ("She is my sister.", "en", "He is my sister."),
        ("Der Hund ist gut.", "de", "Der Vogel ist gut."),
        ("I brotherly love.", "en", "I brotherly see."),
    ],
)
def test_neighbours_differ_in_one_word(sentence: str, language: str, other: str) -> None:
    found = list(neighbours(sentence, language))
    assert other in found
    for each in found:
        pairs = zip(sentence.split(), each.split(), strict=True)
        assert sum(one != two for one, two in pairs) == 1


def test_nouns_are_replaced_before_other_words() -> None:
    assert next(neighbours("He was tired after his walk with the dog.", "en")).endswith("cat.")


def test_a_language_without_a_list_has_no_neighbours() -> None:
    assert list(neighbours("Il a acheté un ordinateur.", "fr")) == []


def test_what_was_added_is_marked_and_the_text_stays_whole() -> None:
    written = changed("Der alte Mann", "Die Frau")
    assert "".join(piece for piece, _ in written) == "Die Frau"
    assert {mark for _, mark in written} == {"new"}
    assert n_changed("Der alte Mann", "Die Frau") == 2


def test_a_sentence_grows_up() -> None:
    folder = checkpoint_folder("en-de-childhood")
    steps = snapshots(folder)
    models = [load(folder, device="cpu", snapshot=number) for number in range(len(steps))]
    written = [each.translate("I love you.").text for each in models]
    traces = [each.trace("I love you.", written[-1]) for each in models]
    act = grown(steps, written, traces, "en-de-childhood")
    for place, frame in enumerate(act.frames):
        assert frame.name == f"Step {steps[place]:,}"
        settled = all(each == written[place] for each in written[place:])
        last = place == len(steps) - 1
        assert ("From here on" in frame.said) == (settled and not last and steps[place] > 0)
        least = [each.weights.max(axis=-1).mean(axis=-1) for each in traces[place].maps.values()]
        sure = sum(int((each >= 0.5).sum()) for each in least)
        assert sharp_heads(traces[place]) == sure
        assert f"{sure or 'none'} of" in frame.said.lower()


def test_a_film_moves(minds: Divided, swap: Act) -> None:
    for act in (minds.act, swap):
        shots = list(act.film().drawn([0.0, 0.5, 1.0], Slide()))
        assert len({_bytes(each) for each in shots}) == 3


def _bytes(image: Raster.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()
