"""Models of many languages: tokens that name them around every text."""

import pytest

from headscope.__main__ import main
from model.checkpoints.generation import GENERATION
from model.checkpoints.import_vocabulary import FRAME
from model.checkpoints.shipped import CheckpointError
from model.paper.search import Search
from model.record.intervention import Intervention
from model.translate.sentences import TextError
from model.translate.translator import load
from tests.kit.multilingual_folders import save_family
from tests.model.checkpoints.test_import_hf import Opened, change

pytestmark = pytest.mark.slow

BOTH = {
    "mbart-50": ("cs_CZ", "fr_XX"),
    "m2m": ("cs", "fr"),
    "nllb": ("ces_Latn", "fra_Latn"),
    "nllb, first": ("ces_Latn", "fra_Latn"),
}


@pytest.mark.parametrize("family", BOTH)
def test_a_text_names_its_language_and_the_one_to_write(family, tmp_path):
    opened = Opened(tmp_path / "many", family, steps=30)
    reads, writes = BOTH[family]
    text, named = "The cat eats.", f">>{reads}<< >>{writes}<< The cat eats."
    opened.tokenizer.src_lang = reads
    given = opened.tokenizer(text, return_tensors="pt")
    token = f"__{writes}__" if family == "m2m" else writes
    first = opened.tokenizer.convert_tokens_to_ids(token)
    ids = opened.theirs.generate(**given, forced_bos_token_id=first)[0, 1:].tolist()
    found = opened.ours.translate(named)
    assert list(found.source.ids) == given.input_ids[0].tolist()
    assert found.tokens[0] == token
    assert list(found.token_ids) == ids
    # What it is given costs nothing.
    length = len(ids) ** opened.ours.search.length_penalty
    assert found.score == pytest.approx(sum(found.log_probs[1:]) / length, abs=1e-5)
    assert opened.ours.decode(named).steps[0].forced
    # Texts of a batch may name languages of their own, and one code is of the one to write.
    alone = [opened.ours.translate(each) for each in (named, text, f">>{writes}<< {text}")]
    together = opened.ours.translate_batch([each.source_text for each in alone], exact=False)
    assert [each.token_ids for each in together] == [each.token_ids for each in alone]
    assert alone[2].source.ids == alone[1].source.ids
    assert alone[2].token_ids[0] == found.token_ids[0] != alone[1].token_ids[0]
    batch = opened.ours.trace_batch([named, text])
    assert [trace.target.ids[1] for trace in batch.traces] == [first, alone[1].token_ids[0]]
    # A given translation, and one that begins as another does, have the language once.
    written = opened.ours.trace(named, "Die Katze")
    assert (written.predictions.ids[0], written.text) == (first, "Die Katze")
    begun = opened.ours.translate(named, search=Search(beam=1, prefix=written.predictions.ids[:2]))
    assert begun.token_ids[:2] == written.predictions.ids[:2]
    with pytest.raises(TextError, match="has no language xyz; name one"):
        opened.ours.translate(f">>xyz<< {text}")


def test_mbart_names_the_language_that_it_reads_last(tmp_path):
    opened = Opened(tmp_path / "mbart", "mbart")
    trace = opened.ours.trace(">>cs_CZ<< The cat eats.")
    assert trace.source.tokens[-2:] == ("</s>", "cs_CZ")
    # The start token is the language to write, which a folder fixes.
    assert trace.target.tokens[0] == "de_DE"
    assert opened.ours.trace("The cat eats.").source.tokens[-1] == "en_XX"
    edited = Intervention(source_order=[*range(len(trace.source) - 3, -1, -1)])
    turned = opened.ours.trace(">>cs_CZ<< The cat eats.", under=edited)
    assert turned.source.tokens[-2:] == ("</s>", "cs_CZ")
    assert turned.source.tokens[:2] == trace.source.tokens[-3:-5:-1]


@pytest.mark.parametrize(
    ("family", "changes", "said"),
    [
        ("bart", {"tokenizer_class": "BartTokenizer"}, "BartTokenizer, which has no SentencePiece"),
        ("m2m", {"tgt_lang": "xx"}, "has no language xx"),
        ("pegasus", {"offset": 10**6}, "unk_id lies outside"),
    ],
)
def test_a_tokenizer_that_is_not_read_is_said(tmp_path, family, changes, said):
    save_family(tmp_path / "hf", family)
    change(tmp_path / "hf" / "tokenizer_config.json", **changes)
    change(tmp_path / "hf" / GENERATION, forced_bos_token_id=None)
    with pytest.raises(CheckpointError, match=said):
        load(tmp_path / "hf")


def test_languages_that_a_model_learned_later_have_their_own_ids(tmp_path):
    save_family(tmp_path / "hf", "nllb")
    added = {"130": {"content": "tyv_Cyrl", "special": True}, "0": {"content": "<s>"}}
    change(tmp_path / "hf" / "tokenizer_config.json", added_tokens_decoder=added)
    assert load(tmp_path / "hf").translate(">>tyv_Cyrl<< The cat eats.").token_ids[0] == 130


@pytest.mark.parametrize(
    "damage",
    [{"reads": "xx"}, {"languages": [1]}, {"languages": {"en": 10**6}}, {"first": -1}, {"more": 1}],
    ids=str,
)
def test_a_damaged_frame_is_refused_in_a_sentence(tmp_path, damage):
    save_family(tmp_path / "hf", "nllb")
    assert main(["import-hf", str(tmp_path / "hf"), "--out", str(tmp_path / "own")]) == 0
    change(tmp_path / "own" / FRAME, **damage)
    with pytest.raises(CheckpointError, match="is damaged: it names unknown languages"):
        load(tmp_path / "own")
