import json
import random
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CheckpointError
from model.explain.labels_file import save_labels
from model.record.intervention import UNCHANGED, Intervention, MaskScope
from model.record.mask_rules import MaskError
from model.serving.queue import RequestQueue
from model.serving.store import ResultStore
from model.trace.attention_map import AttentionKind, BoolArray
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator
from tests.kit.labels import tiny_survey
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from viz.service import batching, model_menu, session
from viz.service.job import Job
from viz.service.jobs.examples import average_heads, count_resting
from viz.service.jobs.running import translate
from viz.service.questions import ModelQuestion
from viz.service.results import Timed
from viz.service.versions import version_of

EXAMPLES = [
    {"source": source, "translation": translation, "shows": f"Number {number}."}
    for number, (source, translation) in enumerate(PAIRS)
]

SECONDS = 60


@pytest.fixture
def folder(checkpoints: Path) -> Path:
    return checkpoints / "en-de"


@pytest.fixture
def with_examples(folder: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(folder, tmp_path / "en-de")
    (copy / "examples.json").write_text(json.dumps(EXAMPLES), encoding="utf-8")
    return copy


def test_every_checkpoint_can_be_chosen_the_usual_one_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(model_menu.CHECKPOINTS_VARIABLE, str(tmp_path))
    for name in ("zz", "en-de", "aa", "empty"):
        (tmp_path / name).mkdir()
        if name != "empty":
            (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "file").write_text("")
    assert model_menu.checkpoints() == {name: tmp_path / name for name in ("en-de", "aa", "zz")}
    assert list(model_menu.checkpoints()) == ["en-de", "aa", "zz"]


def test_the_usual_checkpoint_counts_even_when_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(model_menu.CHECKPOINTS_VARIABLE, str(tmp_path))
    (tmp_path / "en-de").mkdir()
    assert list(model_menu.checkpoints()) == ["en-de"]


@pytest.mark.parametrize("name", [".", "nowhere"])
def test_a_folder_without_checkpoints_is_answered_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(model_menu.CHECKPOINTS_VARIABLE, str(tmp_path / name))
    with pytest.raises(CheckpointError, match="put a checkpoint folder"):
        model_menu.checkpoints()


def test_examples_are_read_from_beside_the_weights(with_examples: Path) -> None:
    found = session.examples(with_examples)
    assert [(each.source, each.translation) for each in found] == list(PAIRS)
    assert found[3].shows == "Number 3."


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"null",
        b"7",
        b'{"source": "a"}',
        b'["a"]',
        b'[{"source": "a", "translation": "b"}]',
        b'[{"source": "a", "translation": "b", "shows": 3}]',
        b'[{"source": " ", "translation": "b", "shows": "c"}]',
    ],
)
def test_missing_or_malformed_examples_are_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "examples.json").write_bytes(content)
    assert session.examples(tmp_path) == ()


def test_labels_are_those_of_the_file_and_cover_every_head(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "en-de")
    save_labels(copy, tiny_survey())
    labels = session.labels(copy)
    assert labels.keys() == session.translator(copy).trace(*PAIRS[0]).maps.keys()
    assert {len(heads) for heads in labels.values()} == {4}
    (copy / "labels.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"labels\.json is damaged"):
        session.labels(copy)


def test_examples_alone_give_no_labels(with_examples: Path) -> None:
    assert session.labels(with_examples) == {}


def test_an_example_that_the_model_cannot_take_is_passed_over(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "en-de")
    long = {"source": "cat " * 100, "translation": "Katze", "shows": "Too long."}
    (copy / "examples.json").write_text(json.dumps([long, *EXAMPLES]), encoding="utf-8")
    sites = session.translator(copy).trace(*PAIRS[0]).maps.keys()
    assert session.ask(average_heads(version_of(copy))).keys() == sites


def until_all_wait(people: int) -> None:
    """Holds a computation up until so many people wait for it."""
    (request,) = session.request_queue()._running
    deadline = time.monotonic() + SECONDS
    while len(request.people) < people:
        assert time.monotonic() < deadline, f"{len(request.people)} of {people} wait"
        time.sleep(0.01)


def test_the_model_runs_once_for_two_threads_that_ask_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence, target = "The cat eats.", "Der Hund frisst."
    runs: list[str] = []
    record = Translator.trace

    def slow_trace(model: Translator, *arguments: Any) -> Trace:
        runs.append(threading.current_thread().name)
        until_all_wait(8)
        return record(model, *arguments)

    session.translator(folder)
    monkeypatch.setattr(Translator, "trace", slow_trace)
    with ThreadPoolExecutor(8) as pool:
        record_job = ModelQuestion(folder, sentence, target).record
        traces = list(pool.map(lambda _: session.ask(record_job), range(8)))
    assert len(runs) == 1
    assert all(each is traces[0] for each in traces)
    assert traces[0].text == target


@pytest.mark.parametrize(
    ("sentence", "target", "said"),
    [
        ("a" * 5001, "", r"The text is too long: its first \d+ characters fill the 64 tokens"),
        ("a" * 5001, "b", r"The text is too long: its first \d+ characters fill the 64 tokens"),
        ("The cat eats.", "b" * 5001, r"The target is too long: its first \d+ characters fill"),
        ("The cat eats.", "  ", "The target is empty"),
        ("The cat eats.", "Katze " * 100, r"The target is too long: its first \d+ characters fill"),
        ("", "", "The text is empty"),
    ],
)
def test_a_text_that_cannot_be_traced_is_refused_in_a_sentence(
    folder: Path, sentence: str, target: str, said: str
) -> None:
    with pytest.raises(TextError, match=said):
        session.ask(ModelQuestion(folder, sentence, target).record)


# ---- batches and edited masks -------------------------------------------------------------------

BATCH = ("The cat eats.", "The dog sat on the mat.")


def masked(place: MaskScope, allowed: BoolArray) -> list[Intervention]:
    """A mask for the first sentence of BATCH, and nothing for the second."""
    return [Intervention(masks={place: allowed}), UNCHANGED]


def asked(folder: Path, number: int = 0, target: str = "") -> ModelQuestion:
    """Sentence `number` of BATCH."""
    return ModelQuestion(folder, BATCH[0], target, further=BATCH[1:], number=number)


def own_mask(folder: Path, kind: AttentionKind, number: int = 0) -> BoolArray:
    """The model's own mask of a sentence of BATCH."""
    return session.ask(asked(folder).record_batch).padded[number].attention(kind, 0).allowed


def test_a_batch_is_what_the_translator_records_of_its_own_translations(folder: Path) -> None:
    found = session.ask(asked(folder).record_batch)
    model = session.translator(folder)
    made = model.trace_batch(BATCH, [model.translate(sentence).text for sentence in BATCH])
    assert found.n_source == made.source_lengths
    assert found.n_target == made.target_lengths
    for one, other in zip(found.padded, made.padded, strict=True):
        assert one.source == other.source
        assert one.target == other.target
        for site, seen in one.maps.items():
            assert np.array_equal(seen.weights, other.maps[site].weights)


def test_a_batch_and_its_outcomes_read_the_tokens_that_the_model_wrote(tmp_path: Path) -> None:
    # Untrained, it writes bytes that are no text, up to its limit.
    folder = write_tiny_checkpoint(tmp_path / "en-de", steps=0)
    model = session.translator(folder)
    own = [session.ask(ModelQuestion(folder, sentence).translate).translation for sentence in BATCH]
    assert not any(each.finished for each in own)
    assert all(tuple(model.tokenizer.encode(each.text)) != each.token_ids for each in own)
    found = session.ask(asked(folder).record_batch)
    assert found.n_target == tuple(len(each.token_ids) for each in own)
    closed = found.padded[0].attention("cross", 0).allowed.copy()
    closed[:, 1] = False
    edited = session.run(asked(folder), masked(AttentionKind.CROSS, closed)[0])
    for number, trace in ((0, found.padded[0]), (1, found.padded[1]), (0, edited.forced)):
        n_target = found.n_target[number]
        assert trace.predictions.ids[:n_target] == own[number].token_ids
        assert trace.text == own[number].text
    for number, each in enumerate(own):
        log_probs = found.padded[number].log_probs
        assert log_probs is not None
        np.testing.assert_allclose(log_probs[: len(each.token_ids)], each.log_probs, atol=1e-4)


def test_a_batch_reads_a_given_target_for_its_first_sentence_alone(folder: Path) -> None:
    target = "Der Hund frisst."
    found = session.ask(asked(folder, target=target).record_batch)
    usual = session.ask(asked(folder).record_batch)
    assert [trace.text for trace in found.padded] == [target, usual.padded[1].text]


def test_batches_and_outcomes_are_made_once_however_many_ask(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ModelQuestion(
        folder, "The man eats.", further=("The woman sees the cat.",), number=1
    )
    runs: list[str] = []
    record = Translator.trace_batch

    def slow(model: Translator, *arguments: Any, **settings: Any) -> Any:
        runs.append(threading.current_thread().name)
        until_all_wait(6)
        return record(model, *arguments, **settings)

    session.translator(folder)
    monkeypatch.setattr(Translator, "trace_batch", slow)
    with ThreadPoolExecutor(6) as pool:
        batches = list(pool.map(lambda _: session.ask(question.record_batch), range(6)))
    assert len(runs) == 1
    assert all(each is batches[0] for each in batches)
    allowed = batches[0].padded[1].attention("decoder", 0).allowed.copy()
    allowed[2, 0] = False
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(
            pool.map(
                # An equal intervention, and not the same object.
                lambda _: session.run(question, Intervention(masks={"decoder": allowed})),
                range(6),
            )
        )
    assert len(runs) == 2
    assert all(each is outcomes[0] for each in outcomes)


def test_without_edits_the_outcome_is_the_batch_and_the_models_own_translation(
    folder: Path,
) -> None:
    found = session.run(asked(folder, 1))
    assert found.forced is session.ask(asked(folder).record_batch).padded[1]
    assert found.free is session.ask(ModelQuestion(folder, BATCH[1]).record)


@pytest.mark.parametrize(
    "kind", [AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS]
)
def test_an_outcome_is_what_the_translator_gives_under_the_same_mask(
    folder: Path, kind: AttentionKind
) -> None:
    model = session.translator(folder)
    allowed = own_mask(folder, kind).copy()
    allowed[:, 1] = False
    found = session.run(asked(folder), masked((kind, 1), allowed)[0])
    targets = [model.translate(sentence).text for sentence in BATCH]
    forced = model.trace_batch(BATCH, targets, under=masked((kind, 1), allowed)).padded[0]
    for site, seen in forced.maps.items():
        assert np.array_equal(found.forced.maps[site].weights, seen.weights)
    n_source = session.ask(asked(folder).record_batch).n_source[0]
    rows = n_source if kind is AttentionKind.ENCODER else None
    columns = None if kind is AttentionKind.DECODER else n_source
    free = model.trace(BATCH[0], under=masked((kind, 1), allowed[:rows, :columns])[0])
    assert found.free.text == free.text
    assert len(found.free.source) == n_source


def test_an_outcome_that_reads_padding_is_decoded_beside_the_padding(folder: Path) -> None:
    everything = np.ones_like(own_mask(folder, AttentionKind.CROSS))
    found = session.run(asked(folder), masked(AttentionKind.CROSS, everything)[0])
    n_source = session.ask(asked(folder).record_batch).n_source[0]
    seen = found.forced.attention("cross", 0).weights
    assert seen[..., n_source:].any()
    model = session.translator(folder)
    free = model.trace_batch(BATCH, under=masked("cross", everything)).traces[0]
    assert found.free.text == free.text


def test_maps_of_a_long_sentence_are_made_in_parts_that_say_how_far_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = PAIRS[2][0]
    shares: list[float] = []
    at_once = session.attributions(ModelQuestion(folder, sentence).record, shares.append)
    assert not shares
    monkeypatch.setattr(session, "AT_ONCE_CELLS", 1)
    monkeypatch.setattr(session, "DELETED_TOGETHER", 2)
    in_parts = session.attributions(ModelQuestion(folder, sentence).record, shares.append)
    assert shares == sorted(set(shares))
    assert shares[0] == 0
    assert 0.9 < shares[-1] < 1
    np.testing.assert_allclose(in_parts.deletion_losses, at_once.deletion_losses, atol=2e-5)
    for each in at_once.maps:
        found = in_parts.map(each.method, each.site)
        np.testing.assert_allclose(found.together, each.together, atol=2e-5)


def test_one_sentences_edit_leaves_the_others_of_its_batch_alone(folder: Path) -> None:
    allowed = np.zeros_like(own_mask(folder, AttentionKind.CROSS))
    session.run(asked(folder), masked(AttentionKind.CROSS, allowed)[0])
    assert session.run(asked(folder, 1)).free.text == (
        session.ask(ModelQuestion(folder, BATCH[1]).translate).translation.text
    )
    assert session.ask(asked(folder).record_batch).padded[0].attention("cross", 0).weights.any()


def test_a_mask_that_does_not_fit_the_batch_is_refused_in_a_sentence(folder: Path) -> None:
    wrong = masked(AttentionKind.DECODER, np.ones((2, 2), dtype=np.bool_))[0]
    with pytest.raises(MaskError):
        session.run(asked(folder), wrong)


def test_outcomes_count_towards_what_all_traces_may_hold(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = session.ask(asked(folder).record_batch)
    store = ResultStore(10, 10, one.nbytes + 1)
    monkeypatch.setattr(session, "request_queue", lambda: RequestQueue(batching.compute, store))
    assert session.ask(asked(folder).record_batch).nbytes == one.nbytes
    for place in range(4):
        allowed = own_mask(folder, AttentionKind.DECODER).copy()
        allowed[2, 0], allowed[3, 0], allowed[place + 2, 1] = False, False, False
        found = session.run(asked(folder), masked(AttentionKind.DECODER, allowed)[0])
        assert found.nbytes == found.forced.nbytes + found.free.nbytes
        assert store.nbytes <= max(one.nbytes + 1, found.nbytes)


@pytest.mark.parametrize("sentences", [("The cat eats.", ""), ("", "The cat eats.")])
def test_a_batch_with_an_empty_sentence_is_refused_in_a_sentence(
    folder: Path, sentences: tuple[str, ...]
) -> None:
    with pytest.raises(TextError, match="The text is empty"):
        session.ask(ModelQuestion(folder, sentences[0], further=sentences[1:]).record_batch)


# ---- what is computed together ------------------------------------------------------------------


def translations(folder: Path, *sentences: str) -> list[Job[Timed]]:
    version = version_of(folder)
    return [translate(version, sentence) for sentence in sentences]


def test_sentences_are_computed_together_and_one_that_is_refused_leaves_the_others(
    folder: Path,
) -> None:
    sentences = "The cat eats.", "", "The man eats."
    asked = translations(folder, *sentences)
    outcomes = dict(batching.compute(asked))
    assert isinstance(outcomes[1], TextError)
    model = session.translator(folder)
    for place in (0, 2):
        timed = outcomes[place][asked[place]]
        assert timed.translation.text == model.translate(sentences[place]).text
        # Its trace comes along.
        (recorded,) = (value for value in outcomes[place].values() if isinstance(value, Trace))
        assert recorded.source_text == sentences[place]


def test_what_is_long_or_of_another_model_or_kind_is_not_computed_along(
    folder: Path, with_examples: Path
) -> None:
    one, other, long = translations(folder, "The cat eats.", "The man eats.", "cat " * 90)
    (elsewhere,) = translations(with_examples, "The man eats.")
    assert batching.fit_together(one, other)
    for job in (long, elsewhere, count_resting(one.version)):
        assert not batching.fit_together(one, job)
        assert not batching.fit_together(job, one)


def test_people_at_once_see_what_they_asked_for_themselves(folder: Path) -> None:
    words = [word for source, _ in PAIRS for word in source.rstrip(".").split()]

    def person(number: int) -> None:
        draw = random.Random(number)
        for _ in range(5):
            sentence = " ".join(draw.choices(words, k=draw.randint(1, 4)))
            trace = session.ask(ModelQuestion(folder, sentence).record)
            assert trace.source_text == sentence
            assert (
                trace.text
                == session.ask(ModelQuestion(folder, sentence).translate).translation.text
            )
            closed = np.ones((1, len(trace.source)), dtype=np.bool_)
            closed[:, 0] = False
            rows = np.repeat(closed, len(trace.source), axis=0)
            edited = session.run(
                ModelQuestion(folder, sentence), Intervention(masks={"encoder": rows})
            )
            assert edited.free.source_text == sentence
            assert not edited.forced.attention("encoder", 0).weights[..., 0].any()

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(person, range(12)))
