"""Alignment errors as a checkpoint keeps them."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.explain.alignment_error import AlignmentError
from model.explain.alignment_file import ALIGNMENT, read_alignment
from model.explain.alignment_table import AlignmentTable, Read
from tests.kit.tiny_checkpoint import write_tiny_alignment

SHIPPED = Path(__file__).parents[3] / "checkpoints"


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    table = write_tiny_alignment(tmp_path)
    found = read_alignment(tmp_path)
    assert found == table
    assert [read.name for read in table.reads()][:5] == [
        *(f"head 0.{head}, output row" for head in range(4)),
        "layer 0, output row",
    ]
    assert Read(2, 3, True).name == "head 2.3, one row later"


def drop_a_head(data: dict[str, Any]) -> None:
    data["rates"] = [each for each in data["rates"] if (each["layer"], each["head"]) != (1, 2)]


@pytest.mark.parametrize(
    "damage",
    [
        drop_a_head,
        lambda data: data.pop("gold"),
        lambda data: data["diagonal"].update(error=1.5),
        lambda data: data["diagonal"].update(error=float("nan")),
        lambda data: data["rates"][0].update(layer="0"),
        lambda data: data["rates"][0].update(head=-1),
        lambda data: data.update(best=[]),
        lambda data: data["best"][0].update(heads=["head"]),
    ],
)
def test_a_table_that_is_malformed_is_none(
    tmp_path: Path, damage: Callable[[dict[str, Any]], Any]
) -> None:
    data = copy.deepcopy(write_tiny_alignment(tmp_path).to_json())
    damage(data)
    with pytest.raises(AlignmentError, match="alignment errors is"):
        AlignmentTable.from_json(data)
    (tmp_path / ALIGNMENT).write_text(json.dumps(data), encoding="utf-8")
    assert read_alignment(tmp_path) is None


def test_a_checkpoint_without_a_table_has_none(tmp_path: Path) -> None:
    assert read_alignment(tmp_path) is None


@pytest.mark.parametrize("name", ["en-de", "en-de-learned"])
def test_shipped_models_keep_the_errors_of_all_their_heads(name: str) -> None:
    table = read_alignment(SHIPPED / name)
    assert table is not None
    config = json.loads((SHIPPED / name / "config.json").read_text(encoding="utf-8"))
    assert table.n_heads == config["n_heads"]
    assert len(table.rates) == 2 * config["n_decoder_layers"] * (config["n_heads"] + 1)
    assert (table.gold, table.n_pairs) == ("en-de.tsv", 100)
    assert round(100 * table.diagonal.error, 1) == 53.8
