"""Sentences found by words and by what heads do, against the maps of traces."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from headscope.__main__ import main
from model.checkpoints.shipped import CheckpointError, checkpoint_folder
from model.rules.weight_rules import Lexicon
from model.survey.corpus_survey import KEYS
from model.survey.indexing import indexed
from model.survey.part import MOSTLY, counted
from model.survey.sentence_index import FOUND_BY, Does, SentenceIndex
from model.survey.survey_file import FORMAT, SURVEY, read_sentences, read_survey, save_survey
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.translate.translator import Translator
from tests.kit.surveys import damage_survey, tiny_corpus_survey
from tests.kit.tiny_checkpoint import PAIRS

TEXTS = [source for source, _ in PAIRS]
ENCODER, CROSS = Site(AttentionKind.ENCODER, 0), Site(AttentionKind.CROSS, 0)


@pytest.fixture(scope="module")
def lexicon(translator: Translator) -> Lexicon:
    traces = [translator.trace(text) for text in TEXTS]
    return Lexicon.learned([(trace.source.tokens, trace.predictions.tokens) for trace in traces])


@pytest.fixture(scope="module")
def index(translator: Translator, lexicon: Lexicon) -> SentenceIndex:
    return indexed(counted(translator, TEXTS, lambda _: False), lexicon)


def _level(attention: AttentionMap, head: int, offset: int) -> Does:
    """How far a head looks at a distance, row by row."""
    n_queries, n_keys = attention.weights.shape[1:]
    looked, possible = 0, 0
    for query in range(n_queries):
        key = query + offset
        if 0 <= key < n_keys and attention.keys.tokens[key] in ("<s>", "</s>"):
            continue
        if (
            0 <= key < n_keys
            and attention.allowed[query, key]
            and attention.allowed[query].sum() > 1
        ):
            possible += 1
            looked += bool(attention.weights[head, query, key] > MOSTLY)
    if not looked:
        return Does.NEVER
    return Does.MOSTLY if 2 * looked >= possible else Does.SOMEWHERE


@pytest.mark.parametrize(
    ("kind", "rule", "offset"),
    [
        (AttentionKind.ENCODER, "two_after", 2),
        (AttentionKind.ENCODER, "previous", -1),
        (AttentionKind.DECODER, "same", 0),
        (AttentionKind.DECODER, "two_before", -2),
    ],
)
def test_what_a_head_does_is_what_its_maps_show(
    translator: Translator, index: SentenceIndex, kind: AttentionKind, rule: str, offset: int
) -> None:
    row, seen = FOUND_BY[kind].index(rule), set()
    for number, text in enumerate(TEXTS):
        for site, attention in translator.trace(text).maps.items():
            if site.kind is kind:
                for head in range(attention.n_heads):
                    level = _level(attention, head, offset)
                    seen.add(level)
                    assert index.does[site, head][row, number] == level
    assert seen - {Does.NEVER}


def test_a_row_of_cross_attention_follows_the_likeliest_source(
    translator: Translator, index: SentenceIndex, lexicon: Lexicon
) -> None:
    row = FOUND_BY[AttentionKind.CROSS].index("aligned")
    for number, text in enumerate(TEXTS):
        attention = translator.trace(text).maps[CROSS]
        likely = lexicon.aligned(attention.queries.tokens, attention.keys.tokens)
        likely[:, -1] = 0
        best = (likely > 0) & (likely == likely.max(axis=1, keepdims=True))
        for head in range(attention.n_heads):
            looked = ((attention.weights[head] > MOSTLY) & best).any(axis=1).sum()
            mostly = 2 * looked >= best.any(axis=1).sum()
            expected = Does.NEVER if not looked else Does.MOSTLY if mostly else Does.SOMEWHERE
            assert index.does[CROSS, head][row, number] == expected


def test_sentences_are_found_by_words_and_by_what_a_head_does(index: SentenceIndex) -> None:
    def texts(*asked: object) -> list[str]:
        return [TEXTS[number] for number, _ in index.found(*asked)]  # type: ignore[arg-type]

    assert texts("DOG the") == [
        # The only one of eight tokens, and then one of each beginning.
        "The dog sat on the mat.",
        "The dog sleeps.",
        "A man sees the dog.",
    ]
    assert texts("slee*") == ["The dog sleeps."]
    assert texts("slee") == texts("do.") == texts("(") == []
    assert len(texts("")) == len(TEXTS)
    found = index.found("dog", (ENCODER, 1), "previous")
    levels = index.does[ENCODER, 1][FOUND_BY[AttentionKind.ENCODER].index("previous")]
    assert [level for _, level in found] == sorted((level for _, level in found), reverse=True)
    assert {number for number, _ in found} == {
        number for number, text in enumerate(TEXTS) if "dog" in text and levels[number]
    }
    with pytest.raises(KeyError):
        index.found("", (Site(AttentionKind.ENCODER, 9), 0), "previous")


def test_words_are_found_as_they_are_written() -> None:
    index = SentenceIndex(("Die Straße ist lang.", "Er heißt Tom."), {})
    assert [number for number, _ in index.found("straße")] == [0]
    assert [number for number, _ in index.found("HEIß*")] == [1]


def test_sentences_worth_reading_come_first_and_of_each_beginning_one() -> None:
    sources = (
        "Tom left.",
        "Tom said that he would not come today.",
        "Tom asked me what I was doing there.",
        "I have never seen such a large dog.",
        f"{'very ' * 20}long.",
        "Tom told us that he had been ill.",
        "She doesn't know what she wants from him.",
    )
    found = [number for number, _ in SentenceIndex(sources, {}).found()]
    assert found == [1, 3, 6, 2, 5, 0, 4]
    # What a head does goes before.
    does = np.zeros((len(FOUND_BY[AttentionKind.ENCODER]), len(sources)), np.uint8)
    does[0, [0, 1, 4]] = Does.MOSTLY, Does.SOMEWHERE, Does.MOSTLY
    index = SentenceIndex(sources, {(ENCODER, 0): does})
    rule = FOUND_BY[AttentionKind.ENCODER][0]
    assert [number for number, _ in index.found("", (ENCODER, 0), rule)] == [0, 4, 1]


def test_the_index_survives_the_file_and_damage_is_refused(
    tmp_path: Path, translator: Translator, index: SentenceIndex
) -> None:
    assert read_sentences(tmp_path) is None
    survey = tiny_corpus_survey(translator)
    save_survey(tmp_path, survey)
    assert read_sentences(tmp_path) is None
    save_survey(tmp_path, survey, index)
    found = read_sentences(tmp_path)
    assert found is not None
    assert found.sources == index.sources
    assert all(np.array_equal(found.does[place], each) for place, each in index.does.items())
    fewer = SentenceIndex(index.sources[:-8], index.does)
    save_survey(tmp_path, survey, fewer)
    with pytest.raises(CheckpointError, match="damaged"):
        read_sentences(tmp_path)
    content = (tmp_path / SURVEY).read_bytes()
    (tmp_path / SURVEY).write_bytes(content[:-30])
    with pytest.raises(CheckpointError, match="damaged"):
        read_sentences(tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_rules_of_the_index_go_by_their_names(
    tmp_path: Path, translator: Translator, index: SentenceIndex, named: bool
) -> None:
    kind, head = AttentionKind.ENCODER, (ENCODER, 1)
    if named:
        # A version that finds by one rule more and one less, in another order.
        rules = {**FOUND_BY, kind: ("later", *FOUND_BY[kind][:0:-1])}
        does = {
            place: each[::-1] if place[0].kind is kind else each
            for place, each in index.does.items()
        }
        index = replace(index, does=does, rules=rules)
    save_survey(tmp_path, tiny_corpus_survey(translator), index)
    if not named:
        damage_survey(tmp_path, lambda content: [content.pop(n) for n in ("found_by", "format")])
    found = read_sentences(tmp_path)
    assert found is not None
    assert found.found_by(kind) == FOUND_BY[kind][named:]
    assert found.rules == index.rules
    assert found.found("", head, "same") == index.found("", head, "same") != []


def test_a_file_of_a_newer_version_is_said_to_be_one(
    tmp_path: Path, translator: Translator, index: SentenceIndex
) -> None:
    save_survey(tmp_path, tiny_corpus_survey(translator), index)
    damage_survey(tmp_path, lambda content: content.update(format=FORMAT + 1))
    for read in (read_survey, read_sentences):
        with pytest.raises(CheckpointError, match=r"by a newer Headscope\. Update this one"):
            read(tmp_path)


@pytest.mark.parametrize("name", ["de-en", "en-de", "en-de-childhood", "en-de-learned", "en-fr"])
def test_shipped_surveys_name_their_columns_and_rules(name: str) -> None:
    with ZipFile(checkpoint_folder(name) / SURVEY) as archive:
        content = json.loads(archive.read("survey.json"))
    assert (content["format"], content["columns"]["probes"]) == (FORMAT, list(KEYS))
    assert content["found_by"] == {str(kind): [*rules] for kind, rules in FOUND_BY.items()}


def test_the_command_finds_sentences_and_heads(capsys: pytest.CaptureFixture[str]) -> None:
    head = (Site(AttentionKind.ENCODER, 0), 5)
    index = read_sentences(checkpoint_folder("en-de"))
    assert index is not None
    expected = index.found("the", head, "two_after")
    asked = ["find", "the", "--head", "encoder.0.5", "--looks", "two_after", "--most", "2"]
    assert main(asked) == 0
    *lines, count = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{level.name.lower()}\t{index.sources[number]}" for number, level in expected[:2]
    ]
    assert count == f"{len(expected):,} of {len(index.sources):,} sentences"
    assert main(["find", "--by", "previous", "--most", "3"]) == 0
    heads = capsys.readouterr().out.splitlines()
    means = [float(line.split("\t")[1]) for line in heads]
    assert len(means) == 3
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--looks", "previous"], "--head and --looks are used together"),
        (["--head", "encoder.0.5"], "--head and --looks are used together"),
        (
            ["--head", "encoder.0.99", "--looks", "previous"],
            "no head 'encoder.0.99'. Choose one of encoder.0.",
        ),
        (["work*", "--by", "previous"], "does not use words"),
        (["--most", "-3"], "-3 is too small"),
        (["--looks", "aligned", "--head", "decoder.0.0"], "no rule for decoder heads 'aligned'"),
        (["--head", "left"], "such as encoder.0.5"),
        (["--model", "toy-reverse"], "has no survey"),
    ],
)
def test_what_cannot_be_found_by_is_said_in_a_sentence(
    asked: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        assert main(["find", *asked]) == 1
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]
    assert "Traceback" not in error
