"""What the documents say of measurements is what benchmarks/results/ holds."""

import json
import re
from pathlib import Path

import numpy as np

import headscope as hs
from model.translate.translator import load
from viz.registry.pages import VIEWS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def test_the_comparison_with_marian_is_the_one_that_was_measured() -> None:
    peers = json.loads((RESULTS / "peers-cpu.json").read_text())
    for row in peers["rows"][:2]:
        faster = f"{row['ours_is_faster']:.2f} times as fast"
        assert f"| {row['median_ms']:.0f} ms | {faster} |" in PAGE
    assert f"`translator.trace(text)` | {peers['our_median_ms']:.0f} ms |" in PAGE


def test_layers_read_one_row_later_lie_where_the_page_says() -> None:
    found = json.loads((RESULTS / "alignment-en-de-cpu.json").read_text())["rows"]
    wanted = {f"layer {layer}, one row later" for layer in (1, 2, 3)}
    by_row = [row for row in found if row["rule"] == "row argmax"]
    errors = [row["error"] for row in by_row if row["what"] in wanted]
    said = f"By row argmax, the layers 1 to 3 are at {min(errors)} to {max(errors)} one row later."
    assert said in " ".join(PAGE.split())


def test_the_guide_to_talks_names_every_page_that_a_scene_can_show() -> None:
    guide = (ROOT / "docs" / "talk.md").read_text(encoding="utf-8")
    sentence = guide[guide.index("\nA page is ") :].partition(", and a view")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(VIEWS)


def test_a_scene_says_how_much_of_its_weight_a_head_puts_on_what_comes_later() -> None:
    talk = json.loads((ROOT / "viz/talk/talks/attention-in-twelve-scenes.json").read_text("utf-8"))
    scene = talk["scenes"][4]
    trace = load(ROOT / "checkpoints" / "en-de", device="cpu").trace(scene["view"]["sentence"])
    weights = trace.attention("encoder", 1).weights[5]
    later = np.triu(weights, 1).sum(axis=1).mean()
    assert f"with {100 * later:.0f} percent of its weight" in scene["note"]


def test_the_guide_counts_the_heads_that_keep_a_word_ahead() -> None:
    guide = " ".join((ROOT / "docs" / "explore.md").read_text(encoding="utf-8").split())
    sentence, counted, word, other = re.findall(
        r'In "([^"]+)" (\d+) of 96 heads keep "(\w+)" ahead of "(\w+)"', guide
    )[0]
    translator = load(ROOT / "checkpoints" / "en-de", device="cpu")
    trace = translator.trace(sentence)
    assert word in trace.text
    step = hs.contrast(translator, sentence, word, other).step
    pair = hs.figures.pair_of(translator, trace, step, other)
    assert len(hs.figures.head_set(translator, trace, pair).heads) == int(counted)
