"""Minus signs, zeros, percentages and counts on every page, of two models."""

from dataclasses import replace
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from model.paper.transformer import Transformer
from tests.kit.apptest import OpenApp, go_to
from tests.kit.number_style import FAULTS, faults, texts
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

PARTS = {
    "heads": ("below", ["facts", "numbers", "query-key", "matrices"]),
    "effects": ("show", ["probability", "removal"]),
    "decoding": ("section", ["steps", "certainty", "beams", "widths", "layers"]),
    "compare": ("versus", ["search"]),
    "masks": ("part", ["see", "inside", "compare", "change"]),
    "positions": (
        "topic",
        ["table", "likeness", "words", "without", "shuffle", "learned", "formula"],
    ),
    "about": ("part", [""]),
}
"""Of each page, the parameter that chooses what it shows, and its values."""

MORE = {"cell": "0.0", "off": "encoder.0.0", "scale": "0", "shuffled": "1.0.2"}


@pytest.fixture(scope="module")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one checkpoint that has one of everything."""
    folder = tmp_path_factory.mktemp("smallest")
    tiny = load_checkpoint(write_tiny_checkpoint(folder / "en-de", steps=0))
    one = replace(tiny.model.config, n_encoder_layers=1, n_decoder_layers=1, n_heads=1)
    save_checkpoint(folder / "en-de", Transformer(one), tiny.tokenizer, bits=32)
    return folder


@pytest.mark.parametrize("page", PARTS)
@pytest.mark.parametrize("model", ["usual", "smallest"])
def test_numbers_are_written_as_in_english(
    open_app: OpenApp, checkpoints: Path, smallest: Path, page: str, model: str
) -> None:
    name, values = PARTS[page]
    found = []
    for value in values:
        sentence = {"sentence": "The cat eats."}
        folder = checkpoints if model == "usual" else smallest
        app = open_app(folder=folder, **sentence, **MORE, **{name: value})
        if page != "heads":
            go_to(app, page)
            for key, text in (sentence | MORE | {name: value}).items():
                app.query_params[key] = text
            app.run()
        found += [f"{name}={value}: {fault}" for text in texts(app) for fault in faults(text)]
        # Menus show their options as they are: escaped for Markdown, a full stop would be "\\.".
        options = [each for menu in (*app.selectbox, *app.multiselect) for each in menu.options]
        found += [f"{name}={value}: {each}" for each in options if "\\" in each]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("from −0.00 to 1", "a negative zero"),
        ("a loss of -0", "a negative zero"),
        ("it is -3", "a hyphen for a minus"),
        ("68 % of it", "a space before a percent sign"),
        ("1 layers of 8 heads", "a plural of one"),
        ("and 1 decoder layers", "a plural of one"),
    ],
)
def test_each_fault_is_found(text: str, wrong: str) -> None:
    assert any(fault.startswith(wrong) for fault in faults(text)), FAULTS[wrong]


def test_right_numbers_are_no_faults() -> None:
    right = "1 layer of 1 head, 21 heads, 0.1 tokens, −0.05, en-de-2, 3-5, 68%, layers 0 to 1"
    assert not faults(right)
