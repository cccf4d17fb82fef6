"""The code of docs/your-own-model.md, run as a reader would, on tiny models made at random."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from tests.model.watch.test_families import FAMILIES, IDS, build
from viz.draw.labels import axis_texts
from viz.notebook import Explorer

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "your-own-model.md"
MODELS = {
    "AutoModelForMaskedLM": "BertModel",
    "AutoModelForCausalLM": "GPT2LMHeadModel",
    "AutoModelForSpeechSeq2Seq": "WhisperForConditionalGeneration",
}


class Words:
    """As much of a tokenizer, and of a processor of sound, as the page asks for.

    Tokens with even ids begin a word, those with odd ids continue one.
    """

    def __init__(self, begins: str, continues: str) -> None:
        self.marks = begins, continues

    def __call__(self, *_: Any, **__: Any) -> Any:
        return transformers.BatchEncoding({"input_ids": IDS[:1]})

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"{self.marks[each % 2]}t{each}" for each in ids]

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.convert_ids_to_tokens(ids))


BERT, GPT_2 = Words("", "##"), Words("Ġ", "")


def words_of(name: str) -> Words:
    return BERT if "bert" in name else GPT_2


def sound(*_: Any, **__: Any) -> Any:
    return SimpleNamespace(input_features=torch.linspace(-1, 1, 8 * 16).reshape(1, 8, 16))


def test_the_code_of_the_page_runs_and_gives_traces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, tiny in MODELS.items():
        (family,) = (each for each in FAMILIES if each.model == tiny)
        model = build(family, "sdpa")
        monkeypatch.setattr(getattr(transformers, name), "from_pretrained", lambda _, m=model: m)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", words_of)
    processor = type("Processor", (), {"__call__": staticmethod(sound), "tokenizer": GPT_2})()
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", lambda _: processor)
    first, *pieces = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(first.splitlines()) == 4
    # Folders have a test of their own.
    pieces = [piece for piece in pieces if "load_reader" not in piece]
    space: dict[str, Any] = {"sound": None}
    shown = []
    for piece in pieces:
        # What a cell of a notebook ends with is its output.
        exec(piece.replace("\nhs.show(", "\nshown = hs.show("), space)
        explorer = space.pop("shown", None)
        shown += [] if explorer is None else [(space["trace"], explorer)]
    assert all(isinstance(explorer, Explorer) for _, explorer in shown)
    assert [[str(site) for site in trace.maps] for trace, _ in shown] == [
        ["encoder.0", "encoder.1"],
        ["decoder.0", "decoder.1"],
        ["encoder.0", "encoder.1", "decoder.0", "decoder.1", "cross.0", "cross.1"],
        ["encoder.0", "encoder.1"],
    ]
    # Prompt and what was written but for its last token; and a sentence without its padding.
    assert len(shown[1][0].target) == len(IDS[0]) + 8 - 1
    assert shown[3][0].source.tokens == ("two", "words")
    assert len(space["seconds"]) == len(shown[2][0].target)
    # A long text is in the file that was written, and its size was said before.
    long, config = space["long"], space["model"].config
    assert [(str(site), each.bits) for site, each in long.maps.items()] == [("decoder.1", 8)]
    assert len(long.target) == config.n_positions
    said = capsys.readouterr()
    megabytes = 2 * config.n_head * config.n_positions**2 / 1e6
    assert f"{megabytes:.2f} MB\n{long.precision}" in said.out
    assert "1/1" in said.err
    # Words begin and continue as their vocabularies say.
    for tokens in (shown[0][0].source, shown[1][0].target, shown[2][0].target):
        assert axis_texts(tokens)[1:] == [f"{'…' * (each % 2)}t{each}" for each in tokens.ids[1:]]
    assert axis_texts(shown[3][0].source) == ["two", "words"]
