"""A page with an imported model in it: eight bits, its own vocabularies, its bias."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load as weights_in

from headscope.__main__ import main
from model.checkpoints.checkpoint import TOKENIZER, load_checkpoint, load_weights
from model.checkpoints.eight_bits import dequantized
from model.checkpoints.folder_files import CONFIG, WEIGHTS
from model.explain.block_outputs import offer_on
from model.paper.search import Search
from model.record.intervention import UNCHANGED
from model.survey.survey_file import read_survey
from model.translate.sentences import TextError
from model.translate.translator import Translator
from tests.kit.engine import run
from tests.kit.marian_folders import LANGUAGES, save_marian
from tests.kit.multilingual_folders import save_family
from tests.kit.odd_texts import ODD, odd_texts
from tests.kit.tiny_checkpoint import PAIRS
from viz.site.model import packed

pytestmark = pytest.mark.slow

VARIANTS: dict[str, dict[str, Any]] = {
    "shared": {"steps": 150},
    "languages": {"languages": LANGUAGES},
    "two vocabularies": {"separate": True, "steps": 20},
    "untied": {"tie_word_embeddings": False, "kind": "bpe"},
    **{name: {"family": name, "steps": 20} for name in ("bart", "mbart", "m2m", "pegasus")},
}


class Page:
    """A folder, the files that a page has of it, and Python's model of the same weights."""

    def __init__(self, place: Path, variant: dict[str, Any]) -> None:
        self.hf, self.files = place / "opus-mt-en-cs", place / "page"
        save = save_family if "family" in variant else save_marian
        save(self.hf, **variant)
        page = packed(self.hf, sentence=PAIRS[0][0])
        self.files.mkdir()
        (self.files / CONFIG).write_text(json.dumps(page.card["config"]))
        (self.files / WEIGHTS).write_bytes(page.weights)
        (self.files / TOKENIZER).write_bytes(page.tokenizer)
        loaded = load_checkpoint(self.hf)
        load_weights(loaded.model, dequantized(weights_in(page.weights)), self.files)
        self.model = Translator(loaded.model, loaded.tokenizer)


@pytest.fixture(scope="module", params=VARIANTS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(tmp_path_factory.mktemp("page"), VARIANTS[request.param])


def source_ids(model: Translator, text: str) -> Any:
    """The ids that a model reads, or what is wrong with the text."""
    try:
        return model._source(text, UNCHANGED)[0].tolist()
    except TextError as error:
        return {"error": str(error)}


def test_texts_have_the_same_tokens(page: Page) -> None:
    codes = [">>fr<< The cat", ">>cs_CZ<< >>fr_XX<< A dog.", " >>en<<>>de<< The cat"]
    texts = [*ODD, *odd_texts(), *(english for english, _ in PAIRS), *codes]
    found = run(page.files, *(("sourceIds", [text]) for text in texts))
    for text, ids in zip(texts, found, strict=True):
        assert ids == source_ids(page.model, text), text


@pytest.mark.parametrize("beam", [1, 4])
def test_it_writes_and_attends_as_in_python(page: Page, beam: int) -> None:
    for text, _ in PAIRS[:3]:
        translation = page.model.translate(text, search=Search(beam=beam))
        trace = page.model.trace_of(translation)
        (found,) = run(page.files, ("trace", [text, {"search": {"beam": beam}}]))
        assert found["text"] == trace.text
        for side in ("source", "target", "predictions"):
            tokens = getattr(trace, side)
            assert found[side] == {"tokens": list(tokens.tokens), "ids": list(tokens.ids)}
        for attention, each in zip(trace.maps.values(), found["maps"], strict=True):
            weights = np.reshape(each["weights"], attention.weights.shape)
            np.testing.assert_allclose(weights, attention.weights, atol=1e-4)
        np.testing.assert_allclose(found["logProbs"], trace.log_probs, atol=1e-3)


def test_the_bias_is_part_of_what_comes_next(page: Page) -> None:
    trace = page.model.trace(PAIRS[0][0], search=Search(beam=1))
    ids = trace.predictions.ids
    (found,) = run(page.files, ("next", [PAIRS[0][0], {"step": 1, "ids": ids}]))
    offer = offer_on(page.model, trace.source.ids, trace.target.ids[:2])
    assert found["ids"] == list(offer.tokens.ids)
    np.testing.assert_allclose(found["logits"], offer.logits, atol=1e-3)
    rows = np.reshape(found["rows"], (-1, found["size"]))
    np.testing.assert_allclose(rows @ np.array(found["hidden"]), offer.logits, atol=1e-3)


@pytest.mark.parametrize("name", ["opus-mt-tr-en", "nllb-small"])
def test_every_command_takes_it(name: str, tmp_path: Path, capsys: Any) -> None:
    hf = tmp_path / name
    if name == "nllb-small":
        save_family(hf, "nllb", steps=20)
    else:
        save_marian(hf, separate=True, steps=20)
    # Neither has examples, and one name says no language.
    assert packed(hf).card["sentence"] == packed(hf).card["sentence"].strip() != ""
    data = tmp_path / "texts.tsv"
    data.write_text("".join(f"1\t{one} {two}\tx\n" for one, _ in PAIRS for two, _ in PAIRS))
    asked = ["survey", str(hf), "--data", str(data), "--sentences", "60", "--rules", "0"]
    assert main([*asked, "--output", str(tmp_path / "run")]) == 0
    survey = read_survey(hf)
    assert survey is not None
    assert survey.sample.sentences == 60
    for figure in ("head", "effects", "mask", "step", "positions"):
        out = tmp_path / f"{figure}.csv"
        text = [PAIRS[0][0], "--model", str(hf), "--figure", figure, "--out", str(out)]
        assert main(["export", *text]) == 0, capsys.readouterr().err
        assert out.stat().st_size
    assert main(["site", "--model", str(hf), "--out", str(tmp_path / "site")]) == 0
    assert list((tmp_path / "site").rglob(f"*{name}*"))


def test_pack_says_how_large_the_page_will_be(tmp_path: Path, capsys: Any) -> None:
    save_marian(tmp_path / "opus-mt-en-cs")
    out = tmp_path / "page.html"
    assert main(["pack", "--model", str(tmp_path / "opus-mt-en-cs"), "--out", str(out)]) == 0
    numbers = sum(
        each.numel() for each in load_checkpoint(tmp_path / "opus-mt-en-cs").model.parameters()
    )
    assert f"{numbers:,} weights in 8 bits" in capsys.readouterr().err
    assert out.stat().st_size > numbers
