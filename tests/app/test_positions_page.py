import base64
import json
import re
import shutil
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest
from torch import nn

from model.checkpoints.checkpoint import METRICS, is_single_stack, load_checkpoint, save_checkpoint
from model.checkpoints.folder_files import CONFIG, read_json
from model.explain.position_measures import by_offset, formula_table, likeness
from model.paper.config import TransformerConfig
from model.paper.tokenizer import EOS, Tokenizer
from model.paper.transformer import Transformer
from model.record.intervention import Intervention, PositionEdit
from model.translate.translator import Translator, load
from tests.kit.apptest import OpenApp, component, tell_state
from tests.kit.shown import captions, headings, more, plain, query, said
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.trace_payload import Decoded
from viz.draw.labels import axis_texts
from viz.pages.positions_changed import ORIGINAL
from viz.positions.neighbours import neighbour_heads
from viz.positions.score_terms import term_shares
from viz.positions.similarity import ByOffset, Similarity

SHIPPED = Path(__file__).parents[2] / "checkpoints"
SENTENCE = PAIRS[0][0]
LIMIT, D_MODEL = 64, 48
"""Of the tiny checkpoint."""

TOPICS = {
    "table": ["encoding", "chosen-waves", "circle", "pair-waves"],
    "likeness": ["likeness", "by-offset"],
    "words": ["word-sum", "terms"],
    "without": ["neighbours"],
    "shuffle": [],
    "formula": ["formula", "formula-waves"],
    "learned": [],
}
"""The figures of each."""

LEGAL = {
    "topic": ["likeness", "words", "without", "shuffle", "learned", "formula"],
    "length": ["limit", "beyond"],
    "waves": ["0", "0.1.47", "3.2.1"],
    "pair": ["0", "23"],
    "at": ["0", "63"],
    "cosine": ["0"],
    "scale": ["0", "50", "99"],
    "shift": ["-16", "3", "16"],
    "reverse": ["1"],
    "side": ["encoder", "decoder"],
    "shuffled": ["1.0.2.3.4.5"],
    "d_model": ["2", "512"],
    "rows": ["2", "1024"],
    "base": ["2", "100000"],
}
HOME = {
    **dict.fromkeys(("pair", "at", "length", "waves"), "table"),
    "cosine": "likeness",
    **dict.fromkeys(("scale", "shift", "reverse", "side"), "without"),
    "shuffled": "shuffle",
    **dict.fromkeys(("d_model", "rows", "base"), "formula"),
}
"""The topic that shows each parameter."""


@pytest.fixture
def open_positions(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""
    return partial(open_app, page="positions")


@pytest.fixture(scope="module")
def with_learned(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a model with learned positions as well."""
    folder = tmp_path_factory.mktemp("both")
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    write_learned(folder / "en-de-learned", checkpoints / "en-de")
    return folder


def write_learned(folder: Path, other: Path, positions: str = "learned") -> None:
    """An untrained model with learned, or other, positions and the vocabulary of another."""
    tokenizer = Tokenizer.load(other / "tokenizer.model")
    config = TransformerConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        d_ff=32,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_positions=40,
        positions=positions,
    )
    save_checkpoint(folder, Transformer(config), tokenizer, bits=32)


def chart(app: AppTest, key: str) -> Any:
    shown = [each.proto for each in app.get("plotly_chart")]
    (found,) = [
        each for each in shown if re.fullmatch(rf"\$\$ID-[0-9a-f]+-positions-{key}", each.id)
    ]
    return found


def spec(app: AppTest, key: str) -> Any:
    return json.loads(chart(app, key).spec)


def array(values: Any) -> NDArray[Any]:
    """Numbers as Plotly writes them: a list, or bytes with their type and shape."""
    if not isinstance(values, dict):
        return np.array(values)
    found = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    shape = values.get("shape")
    return found.reshape([int(size) for size in shape.split(",")]) if shape else found


def title(app: AppTest, key: str) -> str:
    text: str = spec(app, key)["layout"]["title"]["text"]
    return text


def translations(app: AppTest) -> list[tuple[str, str]]:
    """Every pair of translations, the removed words of the second left out."""
    found = []
    for shown in app.get("html"):
        if 'class="change"' not in shown.proto.body:
            continue
        before, after = re.findall(r"<div>(.*?)</div>", shown.proto.body, re.DOTALL)
        kept = re.sub(r"<del.*?</del>", "", after, flags=re.DOTALL)
        texts = [unescape(re.sub("<[^>]*>", "", text)) for text in (before, kept)]
        found.append((texts[0], " ".join(texts[1].split())))
    return found


def choose(app: AppTest, key: str, value: str) -> AppTest:
    group: Any
    (group,) = [each for each in app.get("button_group") if each.key == f"positions-{key}"]
    chosen: AppTest = group.set_value(value).run()
    return chosen


def choose_topic(app: AppTest, topic: str) -> AppTest:
    """Choose a part by its tab, and beside the tabs where it is not the first of its own."""
    first = {"shuffle": "without", "learned": "formula"}.get(topic, topic)
    if query(app, "topic") not in (first, topic):
        choose(app, "topic", first)
    return choose(app, "topic-within" if first != topic else "topic", topic)


def drag(app: AppTest, *places: Any, turn: int = 1) -> AppTest:
    return tell_state(
        app, "positions-word-order", {"order": {"places": list(places), "turn": turn}}
    )


def button(app: AppTest, label: str) -> Any:
    """The button of that name, which stands among those of every page."""
    (found,) = [each for each in app.button if each.label == label]
    return found


def words(app: AppTest) -> dict[str, Any]:
    """What the words in a row are told."""
    sent: dict[str, Any] = json.loads(component(app, "positions-word-order").json)
    return sent


# ---- every topic -------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_shows_its_figures_each_with_words(open_positions: OpenApp, topic: str) -> None:
    app = open_positions(topic=topic)
    shown = [each.proto for each in app.get("plotly_chart")]
    assert len(shown) == len(TOPICS[topic])
    for key in TOPICS[topic]:
        assert len(chart(app, key).alt) > 40
    assert len(app.caption) >= len(shown)
    assert not app.warning or topic == "formula"
    assert not app.error


def test_a_topic_is_chosen_and_written_into_the_address(open_positions: OpenApp) -> None:
    app = open_positions()
    for topic in (*TOPICS, "table"):
        choose_topic(app, topic)
        assert app.query_params.get("topic") == (None if topic == "table" else topic)


# ---- the address -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in LEGAL.items() for value in values]
)
def test_every_legal_value_of_the_address_is_kept_as_it_is(
    open_positions: OpenApp, name: str, value: str
) -> None:
    asked = {name: value}
    if (home := HOME.get(name, "table")) != "table":
        asked["topic"] = home
    if name == "reverse":
        # Only the encoder's positions can be reversed.
        asked["side"] = "encoder"
    app = open_positions(**asked)
    assert not [warning for warning in app.warning if "address" in warning.value]
    assert not app.error
    assert {name: query(app, name) for name in asked} == asked


def test_what_a_table_does_not_have_is_brought_to_its_last(open_positions: OpenApp) -> None:
    app = open_positions(pair="4095", at="4095", waves="0.0.1.2000")
    assert app.slider(key="positions-pair").value == D_MODEL // 2 - 1
    assert app.slider(key="positions-at").value == LIMIT - 1
    assert app.multiselect(key="positions-wave-choice").value == [0, 1]
    assert f"Pair {D_MODEL // 2 - 1} at position {LIMIT - 1}" in title(app, "circle")


def test_a_notice_survives_the_run_that_another_width_causes(open_positions: OpenApp) -> None:
    app = open_positions(scale="x", topic="likeness")
    tell_state(app, "width", {"abreast": 2})
    assert "The address asks for scale “x”" in said(app)
    app.toggle(key="positions-cosine").set_value(False).run()
    assert "The address asks for" not in said(app)


# ---- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "positions"), [("sentence", None), ("limit", LIMIT), ("beyond", 2 * LIMIT)]
)
def test_the_plotted_table_is_the_models_own(
    open_positions: OpenApp, model: Translator, length: str, positions: int | None
) -> None:
    app = open_positions(length=length)
    tokens = model.translate(SENTENCE).source
    table = model.position_table(positions or len(tokens))
    heatmap = spec(app, "encoding")["data"][0]
    assert np.array_equal(array(heatmap["z"]), table)
    labels = spec(app, "encoding")["layout"]["yaxis"].get("ticktext")
    if length == "sentence":
        assert [unescape(label) for label in labels] == axis_texts(tokens)
    else:
        assert labels is None


ONE_OF_EACH = {
    read_json(found).get("positions"): found.parent.name
    for found in sorted(SHIPPED.glob(f"*/{CONFIG}"), reverse=True)
    # Half a Transformer has no such page.
    if not is_single_stack(found.parent)
}


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_a_shipped_checkpoint_of_each_encoding_plots_its_own_table(
    open_positions: OpenApp, name: str
) -> None:
    own = load(SHIPPED / name, device="cpu")
    app = open_positions(folder=SHIPPED, checkpoint=name, length="limit")
    if not own.positions.is_added:
        assert "adds no positions to its embeddings" in said(app)
        return
    table = own.position_table()
    assert np.array_equal(array(spec(app, "encoding")["data"][0]["z"]), table)
    for key, cosine in (("likeness", "1"), ("likeness", "0")):
        app = open_positions(folder=SHIPPED, checkpoint=name, topic="likeness", cosine=cosine)
        trained = table[: own.trained_positions()]
        alike = likeness(trained, cosine=cosine == "1").astype(np.float32)
        assert np.array_equal(array(spec(app, key)["data"][0]["z"]), alike)
    if own.model.config.positions == "sinusoidal":
        norms = np.linalg.norm(table.astype(np.float64), axis=1)
        assert norms == pytest.approx(np.sqrt(table.shape[1] / 2), rel=1e-6)
        likenesses = by_offset(table)
        assert (likenesses.high - likenesses.low).max() < 1e-4


def test_the_chosen_dimensions_are_drawn_with_their_wavelengths(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions()
    app.multiselect(key="positions-wave-choice").set_value([3, 40]).run()
    assert query(app, "waves") == "3.40"
    lines = spec(app, "chosen-waves")["data"]
    assert [line["name"].partition(" (")[0] for line in lines] == ["dimension 3", "dimension 40"]
    table = model.position_table()
    for line, dimension in zip(lines, (3, 40), strict=True):
        assert np.array_equal(array(line["y"]), table[: len(array(line["y"])), dimension])
        assert "wavelength" in line["name"]
    assert any("2π · 10,000^(2i / 48)" in plain(each.value) for each in app.markdown)
    app.multiselect(key="positions-wave-choice").set_value([]).run()
    assert len(spec(app, "chosen-waves")["data"]) == 4
    assert app.query_params == {}


def test_waves_around_a_position_far_out_are_shown_around_it(
    open_positions: OpenApp, tmp_path: Path, checkpoints: Path
) -> None:
    shutil.copytree(checkpoints / "en-de", tmp_path / "en-de")
    rename_limit(tmp_path / "en-de", 300)
    for at, ends in (("0", [0, 64]), ("150", [118, 182]), ("299", [235, 299])):
        app = open_positions(folder=tmp_path, at=at)
        assert spec(app, "pair-waves")["layout"]["xaxis"]["range"] == ends


def rename_limit(folder: Path, limit: int) -> None:
    """Gives a sinusoidal model more positions, whose table is no parameter."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps(config | {"max_positions": limit}), encoding="utf-8")


# ---- likeness and words ------------------------------------------------------------------------


@pytest.mark.parametrize("cosine", [True, False])
def test_likeness_is_that_of_the_models_table(
    open_positions: OpenApp, model: Translator, cosine: bool
) -> None:
    app = open_positions(topic="likeness")
    app.toggle(key="positions-cosine").set_value(cosine).run()
    table = model.position_table()
    shown = array(spec(app, "likeness")["data"][0]["z"])
    assert np.array_equal(shown, likeness(table, cosine=cosine).astype(np.float32))
    curve = spec(app, "by-offset")["data"][-1]
    assert np.allclose(array(curve["y"]), by_offset(table, cosine=cosine).mean)
    assert query(app, "cosine") == ("" if cosine else "0")
    # What was measured is printed.
    behind_more = " ".join(plain(each.value) for each in app.markdown)
    for picture in (Similarity(table, cosine), ByOffset(table, cosine)):
        assert picture.caption in captions(app)
        assert picture.more in behind_more
    assert "wherever it starts, up to rounding." in behind_more


def test_the_four_heatmaps_are_what_the_encoder_reads(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="words")
    parts = model.embedding_parts(SENTENCE)
    panels = Decoded(component(app, "positions-parts").bytes).header["panels"]
    shown = [panel["values"].reshape(parts.word.shape) for panel in panels]
    for drawn, wanted in zip(
        shown, (parts.word, parts.scaled, parts.position, parts.sum), strict=True
    ):
        assert np.array_equal(drawn, wanted)
    assert np.array_equal(shown[2], model.position_table(len(parts.tokens)))


def test_a_word_its_position_and_their_sum_are_drawn_to_one_scale(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="words", at="4095")
    parts = model.embedding_parts(SENTENCE)
    last = len(parts.tokens) - 1
    assert app.selectbox(key="positions-at").value == last
    app.selectbox(key="positions-at").set_value(1).run()
    assert query(app, "at") == "1"
    figure = spec(app, "word-sum")
    rows = [parts.scaled[1], parts.position[1], parts.sum[1]]
    for trace, row in zip(figure["data"], rows, strict=True):
        assert np.array_equal(array(trace["y"]), row)
    scales = {
        tuple(axis["range"]) for name, axis in figure["layout"].items() if name[:5] == "yaxis"
    }
    ((low, high),) = scales
    assert high == -low == pytest.approx(1.05 * max(np.abs(row).max() for row in rows))


def test_the_wave_below_the_table_is_a_column_of_it(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(length="limit")
    sent = Decoded(component(app, "positions-encoding-wave").bytes).header
    table = model.position_table()
    assert sent["chart"] == "positions-encoding"
    assert np.array_equal(sent["values"].reshape(table.shape), table)
    assert sent["words"] == axis_texts(model.translate(SENTENCE).source)
    assert len(sent["names"]) == table.shape[1]
    assert sent["names"][1].startswith(" (cos), wavelength 6.28")


def test_the_shares_of_the_scores_are_those_of_every_head(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="words")
    found = model.score_terms(SENTENCE)
    assert np.allclose(sum(found.terms.values()), found.scores, atol=1e-4)
    shares = term_shares(found.terms)
    bars = spec(app, "terms")["data"]
    assert len(bars) == len(shares) == 5
    for bar, share in zip(bars, shares.values(), strict=True):
        assert np.allclose(array(bar["y"]), 100 * share)


# ---- taking positions away ---------------------------------------------------------------------


def test_at_rest_nothing_changes(open_positions: OpenApp, model: Translator) -> None:
    app = open_positions(topic="without")
    own = model.translate(SENTENCE).text
    assert headings(app) == ["The translation stays the same"]
    assert translations(app) == [(own, own)]
    before, after = (array(bar["x"]) for bar in spec(app, "neighbours")["data"])
    assert np.array_equal(before, after)


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": 0},
        {"scale": 30, "side": "decoder"},
        {"shift": 5, "side": "encoder"},
        {"shift": -3},
        {"reverse": True},
        {"reverse": True, "scale": 50, "shift": 2},
    ],
)
def test_an_edit_shows_the_translation_and_the_heads_that_the_model_then_has(
    open_positions: OpenApp, model: Translator, changes: dict[str, Any]
) -> None:
    app = open_positions(topic="without")
    for name in ("scale", "shift"):
        if name in changes:
            app.slider(key=f"positions-{name}").set_value(changes[name]).run()
    if "side" in changes:
        choose(app, "side", changes["side"])
    if "reverse" in changes:
        app.toggle(key="positions-reverse").set_value(True).run()
        changes = changes | {"side": "encoder"}
    edit = PositionEdit(**{**changes, "scale": changes.get("scale", 100) / 100})
    under = Intervention(positions=edit)
    own, moved = model.translate(SENTENCE), model.translate(SENTENCE, under=under)
    assert translations(app) == [(own.text, moved.text)]
    verb = "stays the same" if own.text == moved.text else "changes"
    assert headings(app) == [f"The translation {verb}"]
    heads = neighbour_heads(model.trace_of(own), model.trace_of(own, under=under))
    _, bars = spec(app, "neighbours")["data"]
    assert array(bars["x"]) == pytest.approx([100 * head.after for head in heads], rel=1e-4)
    assert {name: query(app, name) for name in changes} == {
        name: "1" if value is True else str(value) for name, value in changes.items()
    }


def test_without_positions_the_shipped_models_heads_look_less_at_neighbours(
    open_positions: OpenApp,
) -> None:
    app = open_positions(folder=SHIPPED, topic="without", scale="0")
    before, after = (array(bar["x"]) for bar in spec(app, "neighbours")["data"])
    assert before.max() > 50
    assert after.mean() < 0.7 * before.mean()
    assert "half" in captions(app)


def test_a_shift_beyond_the_limit_is_refused_in_a_sentence(
    open_positions: OpenApp, tmp_path: Path, checkpoints: Path
) -> None:
    shutil.copytree(checkpoints / "en-de", tmp_path / "en-de")
    rename_limit(tmp_path / "en-de", 20)
    app = open_positions(folder=tmp_path, topic="without", shift="16")
    assert "shift by less" in said(app)
    assert not app.get("plotly_chart")
    app.slider(key="positions-shift").set_value(1).run()
    assert not said(app)
    assert chart(app, "neighbours")


def test_a_reversed_encoding_is_the_encoders_alone(open_positions: OpenApp) -> None:
    app = open_positions(topic="without", reverse="1", side="both")
    assert app.session_state["positions-side"] == "encoder"
    assert not said(app)
    app.toggle(key="positions-reverse").set_value(False).run()
    choose(app, "side", "both")
    assert query(app, "reverse") == query(app, "side") == ""


def test_a_translation_of_no_words_is_shown_as_none(
    open_positions: OpenApp, tmp_path: Path, checkpoints: Path
) -> None:
    folder = tmp_path / "en-de"
    shutil.copytree(checkpoints / "en-de", folder)
    make_silent(folder)
    app = open_positions(folder=tmp_path, topic="without", scale="0")
    assert translations(app) == [("(nothing written)", "(nothing written)")]
    assert chart(app, "neighbours")


def make_silent(folder: Path) -> None:
    """Lets a model end every translation before its first word."""
    found = load_checkpoint(folder)
    with torch.no_grad():
        # Whatever the decoder read, it says what lies nearest to the end alone.
        output, norm = found.model.output, cast("nn.LayerNorm", found.model.decoder.final_norm)
        norm.weight.zero_()
        norm.bias.copy_(100 * torch.linalg.pinv(output.weight)[:, EOS])
    save_checkpoint(folder, found.model, found.tokenizer, bits=32)


# ---- another order -----------------------------------------------------------------------------


def test_in_their_own_order_the_words_wait_to_be_moved(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="shuffle")
    tokens = model.translate(SENTENCE).source
    assert words(app)["texts"] == axis_texts(tokens)[:-1]
    assert words(app)["order"] == list(range(len(tokens) - 1))
    assert "Drag a token" in captions(app)
    assert app.button[-1].disabled


def test_a_dragged_order_is_what_the_model_reads_with_positions_and_without(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="shuffle")
    count = len(words(app)["texts"])
    order = [2, 0, 1, *range(3, count)]
    drag(app, *order)
    assert query(app, "shuffled") == ".".join(map(str, order))
    assert words(app)["order"] == order
    expected = []
    for scale, bar in zip((1, 0), spec(app, "distances")["data"], strict=True):
        edit = PositionEdit(scale=scale)
        one, other = (Intervention(positions=edit, source_order=each) for each in (None, order))
        before = model.translate(SENTENCE, under=one).text
        after = model.translate(SENTENCE, under=other).text
        expected.append((before, after))
        usual = model.encode(SENTENCE, under=one)
        moved = model.encode(SENTENCE, under=other)
        distances = np.linalg.norm(moved - usual[[*order, count]], axis=-1)
        assert array(bar["y"]) == pytest.approx(distances, abs=1e-5)
        # What the page is for: without positions, rows change places and nothing else.
        assert (distances.max() < 1e-4) == (scale == 0)
    assert translations(app) == expected
    assert expected[1][0] == expected[1][1]
    assert headings(app)[1] == "Without positions, it stays the same"
    assert "Without positions, every row stays the same, up to rounding." in captions(app)


def test_the_words_of_another_sentence_are_dragged_by_their_own_number(
    open_positions: OpenApp,
) -> None:
    app = open_positions(topic="shuffle")
    before = len(words(app)["texts"])
    app.text_input(key="sentence").set_value(f"{SENTENCE} {SENTENCE}").run()
    count = len(words(app)["texts"])
    assert count > before
    order = [1, 0, *range(2, count)]
    drag(app, *order)
    assert words(app)["order"] == order


def test_an_order_that_no_words_stand_in_is_not_taken_over(open_positions: OpenApp) -> None:
    app = open_positions(topic="shuffle")
    count = len(words(app)["texts"])
    usual = list(range(count))
    for places in (
        usual[:-1],
        [0] * count,
        [*usual[:-1], "x"],
        [*usual[:-1], 1.5],
        [True, *usual[2:], 0],
        [*usual[1:], -1],
    ):
        drag(app, *places)
        assert query(app, "shuffled") == ""
        assert words(app)["order"] == usual
    tell_state(app, "positions-word-order", {"order": "2.0.1"})
    assert query(app, "shuffled") == ""


def test_chance_gives_another_order_each_time_and_a_button_the_first(
    open_positions: OpenApp,
) -> None:
    app = open_positions(topic="shuffle")
    usual = words(app)["order"]
    seen = usual
    for _ in range(3):
        button(app, "Shuffle").click().run()
        assert words(app)["order"] != seen
        seen = words(app)["order"]
        assert sorted(seen) == usual
        assert query(app, "shuffled") == ".".join(map(str, seen))
    button(app, ORIGINAL).click().run()
    assert words(app)["order"] == usual
    assert query(app, "shuffled") == ""


def test_words_dragged_back_leave_the_address(open_positions: OpenApp) -> None:
    app = open_positions(topic="shuffle")
    count = len(words(app)["texts"])
    drag(app, *reversed(range(count)))
    assert query(app, "shuffled")
    drag(app, *range(count), turn=2)
    assert query(app, "shuffled") == ""
    assert words(app)["turn"] == 2


def test_an_order_for_another_sentence_is_said_and_not_used(open_positions: OpenApp) -> None:
    app = open_positions(topic="shuffle", shuffled="2.0.1")
    count = len(words(app)["texts"])
    assert f"this sentence's {count} tokens" in said(app)
    assert words(app)["order"] == list(range(count))
    button(app, "Shuffle").click().run()
    assert not said(app)


def test_one_token_alone_cannot_be_shuffled(open_positions: OpenApp, model: Translator) -> None:
    sentence = next(
        letter for letter in "abcdeio" if len(model.translate(letter).source.tokens) == 2
    )
    app = open_positions(topic="shuffle", sentence=sentence)
    assert button(app, "Shuffle").disabled
    assert button(app, ORIGINAL).disabled


# ---- learned positions and the formula ---------------------------------------------------------


def test_without_a_learned_checkpoint_the_page_says_how_to_have_one(
    open_positions: OpenApp,
) -> None:
    app = open_positions(topic="learned")
    assert "--set model.positions=learned" in said(app)
    assert not app.get("plotly_chart")


@pytest.mark.parametrize("chosen", ["en-de", "en-de-learned"])
def test_learned_and_sinusoidal_positions_stand_beside_each_other(
    open_positions: OpenApp, with_learned: Path, chosen: str
) -> None:
    app = open_positions(folder=with_learned, topic="learned", checkpoint=chosen)
    for name, kind in (("en-de", "sinusoidal"), ("en-de-learned", "learned")):
        table = load(with_learned / name, device="cpu").position_table()
        assert np.array_equal(array(spec(app, f"encoding-{kind}")["data"][0]["z"]), table)
        assert chart(app, f"likeness-{kind}")
        assert chart(app, f"by-offset-{kind}")
    assert sorted(headings(app)) == ["en-de-learned: learned", "en-de: sinusoidal"]
    assert headings(app)[0].startswith(f"{chosen}:")


def test_learned_positions_alone_say_what_is_missing(
    open_positions: OpenApp, with_learned: Path, tmp_path: Path
) -> None:
    shutil.copytree(with_learned / "en-de-learned", tmp_path / "alone")
    app = open_positions(folder=tmp_path, topic="learned")
    assert "no checkpoint with sinusoidal positions" in said(app)


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("present", ["0", "1"])
def test_a_model_that_turns_queries_and_keys_is_named_so_and_shows_no_table(
    open_positions: OpenApp, checkpoints: Path, tmp_path: Path, topic: str, present: str
) -> None:
    write_learned(tmp_path / "en-de-rotary", checkpoints / "en-de", "rotary")
    app = open_positions(folder=tmp_path, topic=topic, present=present)
    assert app.session_state["positions-topic"] == (
        topic if topic in ("without", "shuffle", "formula") else "without"
    )
    for claim in ("sine", "cosine", "added", "learned in training"):
        assert topic == "formula" or claim not in captions(app)
    if present == "0":
        assert "rotary positions" in said(app)


def test_a_shift_of_rotary_positions_changes_no_translation(
    open_positions: OpenApp, checkpoints: Path, tmp_path: Path
) -> None:
    write_learned(tmp_path / "en-de-rotary", checkpoints / "en-de", "rotary")
    app = open_positions(folder=tmp_path, topic="without", shift="5", side="encoder")
    assert "The translation stays the same" in headings(app)


def test_learned_positions_end_at_their_limit(open_positions: OpenApp, with_learned: Path) -> None:
    asked = {"folder": with_learned, "checkpoint": "en-de-learned"}
    assert "choose at most 40" in said(open_positions(**asked, length="beyond"))
    app = open_positions(**asked, length="limit")
    assert not said(app).count("choose")
    assert not any("wavelength of dimensions" in each.value for each in app.markdown)
    assert "is not recorded" in more(app)


def test_rows_that_training_never_reached_are_marked_in_the_table_and_left_out_elsewhere(
    open_positions: OpenApp, with_learned: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(with_learned, tmp_path / "told")
    metrics = json.dumps({"longest": {"source": 12, "target": 9}})
    (folder / "en-de-learned" / METRICS).write_text(metrics, encoding="utf-8")
    table = load(folder / "en-de-learned", device="cpu").position_table()
    asked = {"folder": folder, "checkpoint": "en-de-learned", "length": "limit", "at": "30"}
    app = open_positions(**asked)
    assert np.array_equal(array(spec(app, "encoding")["data"][0]["z"]), table)
    assert spec(app, "encoding")["layout"]["shapes"][0]["y0"] == 11.5
    assert "Below the line, rows 12 to 39 are random" in captions(app)
    assert app.slider(key="positions-at").max == 11
    assert len(array(spec(app, "chosen-waves")["data"][0]["y"])) == 12
    choose(app, "topic", "likeness")
    shown = array(spec(app, "likeness")["data"][0]["z"])
    np.testing.assert_allclose(shown, likeness(table[:12], cosine=True), atol=1e-6)
    assert more(app).count("Left out: rows 12 to 39") == 2
    assert "is no rotation" in more(app)
    choose_topic(app, "learned")
    assert spec(app, "encoding-learned")["layout"]["shapes"][0]["y0"] == 11.5
    assert "shapes" not in spec(app, "encoding-sinusoidal")["layout"]
    assert array(spec(app, "likeness-learned")["data"][0]["z"]).shape == (12, 12)
    assert more(app).count("Left out") == 2


def test_a_damaged_neighbour_is_passed_over(
    open_positions: OpenApp, tmp_path: Path, checkpoints: Path
) -> None:
    shutil.copytree(checkpoints / "en-de", tmp_path / "en-de")
    for name, text in (("a", "{"), ("b", "[]"), ("c", "\x00\xff")):
        (tmp_path / name).mkdir()
        (tmp_path / name / CONFIG).write_bytes(text.encode("latin-1"))
    app = open_positions(folder=tmp_path, topic="learned")
    assert "There is no checkpoint with learned positions" in said(app)
    assert not app.error


def test_the_formula_is_drawn_for_any_sizes_and_said_to_be_no_model(
    open_positions: OpenApp,
) -> None:
    app = open_positions(topic="formula")
    for name, value in (("d_model", 32), ("rows", 20), ("base", 100)):
        app.slider(key=f"positions-{name}").set_value(value).run()
    assert np.array_equal(array(spec(app, "formula")["data"][0]["z"]), formula_table(32, 20, 100.0))
    assert "not the model" in captions(app)
    assert "not the model" in title(app, "formula")
    assert {name: query(app, name) for name in ("d_model", "rows", "base")} == {
        "d_model": "32",
        "rows": "20",
        "base": "100",
    }


def test_an_odd_width_of_the_formula_is_brought_to_an_even_one(open_positions: OpenApp) -> None:
    app = open_positions(topic="formula", d_model="7")
    assert app.slider(key="positions-d_model").value == 6
    assert array(spec(app, "formula")["data"][0]["z"]).shape == (128, 6)


# ---- narrow and wide ---------------------------------------------------------------------------


def is_narrow(app: AppTest, key: str) -> bool:
    """Whether a figure has lines below its title in place of axis titles."""
    layout = spec(app, key)["layout"]
    return not layout["xaxis"].get("title", {}).get("text")


@pytest.mark.parametrize(("abreast", "single", "beside"), [(0, True, True), (1, False, True)])
def test_figures_are_laid_out_for_the_width_that_the_browser_tells(
    open_positions: OpenApp, abreast: int, single: bool, beside: bool
) -> None:
    app = open_positions()
    tell_state(app, "width", {"abreast": abreast})
    assert is_narrow(app, "encoding") == is_narrow(app, "chosen-waves") == single
    assert is_narrow(app, "circle") == is_narrow(app, "pair-waves") == beside
    choose_topic(app, "shuffle")
    (group,) = [each for each in app.get("button_group") if each.key == "positions-topic-within"]
    assert ("Shuffle the words" in str(group.proto)) != single


def test_a_wide_page_has_room_for_two_figures_of_full_size(open_positions: OpenApp) -> None:
    app = open_positions(topic="likeness")
    assert is_narrow(app, "likeness")
    tell_state(app, "width", {"abreast": 2})
    assert not is_narrow(app, "likeness")
    choose(app, "topic", "words")
    assert not is_narrow(app, "terms")


@pytest.mark.parametrize("told", ["2", -1, None, 1.5, True, [1]])
def test_a_width_that_is_none_changes_nothing(open_positions: OpenApp, told: Any) -> None:
    app = open_positions()
    tell_state(app, "width", {"abreast": told})
    assert not is_narrow(app, "encoding")
    assert is_narrow(app, "circle")


# ---- what is asked -----------------------------------------------------------------------------


def test_the_next_sentence_keeps_the_topic_and_its_settings(
    open_positions: OpenApp, model: Translator
) -> None:
    app = open_positions(topic="without", scale="0")
    app.text_input(key="sentence").set_value(PAIRS[2][0]).run()
    assert (query(app, "topic"), query(app, "scale")) == ("without", "0")
    edited = model.translate(PAIRS[2][0], under=Intervention(positions=PositionEdit(scale=0))).text
    assert translations(app) == [(model.translate(PAIRS[2][0]).text, edited)]
