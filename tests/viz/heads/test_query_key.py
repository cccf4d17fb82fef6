import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.paper.attention import (
    AdditiveAttention,
    AttentionFunction,
    DotProductAttention,
    ScaledDotProductAttention,
    masked_softmax,
)
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from tests.kit.readings import cell_of
from viz.draw import style, themes
from viz.heads.arithmetic import arithmetic, equations
from viz.save.formats import ExportError
from viz.save.picture import Layout

TOKENS = Tokens(("<s>", "▁Katze", "▁sa", "ß", "▁<b>x</b>"), (2, 20, 21, 22, 23))
N_HEADS = 3


def alt_text(seen: AttentionMap, *cell: int) -> str:
    return cell_of(seen, *cell).alt


def caption(seen: AttentionMap, *cell: int) -> str:
    return cell_of(seen, *cell).caption


def more(seen: AttentionMap, *cell: int) -> str:
    return cell_of(seen, *cell).more


def query_key_figure(
    seen: AttentionMap,
    *cell: int,
    sides: bool = True,
    side_by_side: bool = False,
    dark: bool = False,
) -> go.Figure:
    return cell_of(seen, *cell, sides=sides).figure(Layout(narrow=not side_by_side, dark=dark))


def traces(figure: go.Figure) -> dict[str, go.Bar]:
    """The vectors and the bars, by their names without what is said of them."""
    return {each.name.partition(":")[0]: each for each in figure.data}


def many(count: int) -> Tokens:
    return Tokens(tuple(f"▁token{i}" for i in range(count)), tuple(range(count)))


def a_map(
    scoring: AttentionFunction | None = None,
    *,
    tokens: Tokens = TOKENS,
    d_k: int = 8,
    causal: bool = False,
    seed: int = 7,
) -> AttentionMap:
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, N_HEADS, len(tokens), d_k, generator=generator)
    scores = (scoring or ScaledDotProductAttention()).scores(q, k).detach()
    allowed = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    if causal:
        allowed = allowed.tril()
    return AttentionMap(
        Site(AttentionKind.DECODER if causal else AttentionKind.ENCODER, 2),
        weights=masked_softmax(scores, allowed)[0].numpy(),
        allowed=allowed.numpy(),
        queries=tokens,
        keys=tokens,
        scores=scores[0].numpy(),
        q=q[0].numpy(),
        k=k[0].numpy(),
    )


@given(
    d_k=st.integers(1, 128),
    count=st.integers(1, 30),
    seed=st.integers(0, 2**31),
    causal=st.booleans(),
    data=st.data(),
)
def test_the_numbers_lead_from_the_vectors_to_the_recorded_weight(
    d_k: int, count: int, seed: int, causal: bool, data: st.DataObject
) -> None:
    seen = a_map(tokens=many(count), d_k=d_k, seed=seed, causal=causal)
    query, key = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    head = data.draw(st.integers(0, N_HEADS - 1))
    numbers = arithmetic(seen, head, query, key)
    assert numbers.d_k == d_k
    assert numbers.dot == pytest.approx(numbers.gain + numbers.loss)
    assert numbers.is_scaled
    assert numbers.dot / math.sqrt(d_k) == pytest.approx(numbers.scaled, abs=1e-4)
    assert numbers.scaled == seen.scores[head, query, key]
    assert numbers.weight == seen.weights[head, query, key]
    assert numbers.complete
    row = seen.scores[head, query].astype(np.float64)[seen.allowed[query]]
    assert numbers.n_allowed == len(row)
    assert numbers.row_max == row.max()
    if numbers.allowed:
        powers = np.exp(row - row.max())
        share = math.exp(numbers.scaled - row.max()) / powers.sum()
        assert numbers.weight == pytest.approx(share, abs=1e-5)
        assert row[np.argsort(-row)][numbers.rank - 1] == numbers.scaled
    else:
        assert numbers.rank is None
        assert numbers.weight == 0


def test_scores_that_are_not_scaled_are_said_not_to_be() -> None:
    seen = a_map(DotProductAttention())
    numbers = arithmetic(seen, 0, 1, 2)
    assert (numbers.is_scaled, numbers.divisor) == (False, 1)
    assert numbers.dot == pytest.approx(numbers.scaled, abs=1e-5)
    assert "not scaled" in alt_text(seen, 0, 1, 2)
    assert "not scaled" in caption(seen, 0, 1, 2)
    figure = query_key_figure(seen, 0, 1, 2)
    assert "Not scaled" in figure.layout.annotations[2].text


def test_scores_that_are_no_products_are_refused() -> None:
    torch.manual_seed(3)
    seen = a_map(AdditiveAttention(N_HEADS, 8))
    for ask in (arithmetic, query_key_figure, alt_text, caption):
        with pytest.raises(ExportError, match="not plain dot products"):
            ask(seen, 0, 1, 2)


@pytest.mark.parametrize("lacking", ["q", "k", "scores"])
def test_a_head_whose_vectors_are_not_known_is_refused(lacking: str) -> None:
    seen = replace(a_map(), **{lacking: None})
    for ask in (arithmetic, query_key_figure, alt_text, caption):
        with pytest.raises(ExportError, match="no product to show"):
            ask(seen, 0, 1, 2)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ((3, 0, 0), "heads 0 to 2; there is no head 3"),
        ((-1, 0, 0), "there is no head -1"),
        ((0, 5, 0), "query axis has the positions 0 to 4; there is no query 5"),
        ((0, -1, 0), "there is no query -1"),
        ((0, 0, 5), "key axis has the positions 0 to 4; there is no key 5"),
        ((0, 0, -1), "there is no key -1"),
    ],
)
def test_a_cell_that_is_not_there_is_refused(cell: tuple[int, int, int], message: str) -> None:
    for ask in (arithmetic, query_key_figure, alt_text, caption):
        with pytest.raises(IndexError, match=message):
            ask(a_map(), *cell)


def test_an_axis_without_tokens_has_no_cell() -> None:
    seen = a_map()
    empty = AttentionMap(
        seen.site,
        weights=seen.weights[:, :0],
        allowed=seen.allowed[:0],
        queries=TOKENS[:0],
        keys=TOKENS,
    )
    with pytest.raises(IndexError, match="query axis has no positions"):
        query_key_figure(empty, 0, 0, 0)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("side_by_side", [False, True])
def test_the_picture_shows_exactly_the_recorded_numbers(side_by_side: bool, dark: bool) -> None:
    seen = a_map()
    figure = query_key_figure(seen, 1, 3, 2, side_by_side=side_by_side, dark=dark)
    drawn = traces(figure)
    assert np.array_equal(drawn["vectors"].z, [seen.q[1, 3], seen.k[1, 2]])
    assert np.array_equal(drawn["products"].y, seen.q[1, 3] * seen.k[1, 2])
    assert np.array_equal(drawn["scores"].y, seen.scores[1, 3])
    assert np.array_equal(drawn["weights"].y, seen.weights[1, 3])


def test_headings_say_the_arithmetic_with_the_cells_own_numbers() -> None:
    seen = a_map()
    numbers = arithmetic(seen, 1, 3, 2)
    dot, scaled, weight = map(style.number, (numbers.dot, numbers.scaled, numbers.weight))
    _, added, divided, softmax = (
        note.text for note in query_key_figure(seen, 1, 3, 2).layout.annotations
    )
    gain, loss = style.number(numbers.gain), style.number(-numbers.loss)
    assert re.search(f"q · k = {gain} − {loss} [=≈] {dot}", added)
    assert f"{dot} ÷ √8 = {scaled}, rank {numbers.rank} of 5" in divided
    assert f"e<sup>{scaled}</sup> ÷ sum over 5 keys = {weight}" in softmax


def test_an_equation_holds_as_it_is_printed_or_says_that_it_does_not() -> None:
    generator = np.random.default_rng(7)
    numbers = arithmetic(a_map(), 1, 3, 2)
    told, quotients = [], []
    for size in (0.01, 1, 100):
        for _ in range(300):
            gain, loss = size * generator.random(), -size * generator.random()
            dot = gain + loss
            scaled = dot / math.sqrt(32)
            printed = equations(
                replace(
                    numbers,
                    **{"gain": gain, "loss": loss, "dot": dot, "d_k": 32},
                    **{"divisor": math.sqrt(32), "scaled": scaled},
                )
            )
            one, other, equals, total = re.fullmatch(
                r"(\S+) − (\S+) ([=≈]) (\S+)", printed.sum_
            ).groups()
            assert (equals == "=") == (read_number(one) - read_number(other) == read_number(total))
            told.append(equals)
            assert total == printed.dot
            found = style.number(float(read_number(total)) / math.sqrt(32))
            holds = "=" if found == style.number(scaled) else "≈"
            assert printed.quotient == f"{total} ÷ √32 {holds} {style.number(scaled)}"
            quotients.append(holds)
    assert set(told) == {"=", "≈"}
    # More digits nearly always help; a sum between two numbers that are printed alike is rare.
    assert quotients.count("≈") < 0.02 * len(quotients)


def test_a_small_sum_has_the_digits_that_its_quotient_needs() -> None:
    numbers = replace(
        arithmetic(a_map(), 1, 3, 2),
        **{"gain": 5.0254, "loss": -5.0, "dot": 0.0254, "scaled": 0.0254 / 32**0.5},
        **{"d_k": 32, "divisor": 32**0.5},
    )
    printed = equations(numbers)
    # Of two digits, 0.03, the quotient would be 0.0053.
    assert (printed.sum_, printed.quotient) == (
        "5.0254 − 5.0000 = 0.0254",
        "0.0254 ÷ √32 = 0.0045",
    )


def test_a_score_that_is_not_quite_the_quotient_says_so() -> None:
    numbers = replace(arithmetic(a_map(), 1, 3, 2), dot=3.0, divisor=8**0.5, d_k=8, scaled=1.07)
    assert equations(numbers).quotient == "3.00 ÷ √8 ≈ 1.07"


def read_number(printed: str) -> Decimal:
    return Decimal(printed.replace("−", "-"))


def test_colours_of_the_vectors_are_symmetric_round_0() -> None:
    for dark in (False, True):
        vectors = query_key_figure(a_map(), 0, 1, 2, dark=dark).data[0]
        assert vectors.zmax == -vectors.zmin == np.abs(vectors.z).max()
        assert [color for _, color in vectors.colorscale] == list(themes.page(dark).signed)
        assert vectors.colorbar.title.text == "value"
        assert list(vectors.colorbar.tickvals) == [vectors.zmin, 0, vectors.zmax]


def test_vectors_of_zeros_still_have_a_scale() -> None:
    seen = a_map()
    zero = replace(seen, q=seen.q * 0, scores=seen.scores * 0)
    vectors = query_key_figure(zero, 0, 1, 2).data[0]
    assert vectors.zmax > vectors.zmin


def test_products_are_coloured_by_their_sign() -> None:
    products = traces(query_key_figure(a_map(), 0, 1, 2))["products"]
    for value, color in zip(products.y, products.marker.color, strict=True):
        assert color == (themes.LIGHT.negative if value < 0 else themes.LIGHT.positive)


@pytest.mark.parametrize("side_by_side", [False, True])
def test_dimensions_move_together_and_so_do_keys(side_by_side: bool) -> None:
    figure = query_key_figure(a_map(), 0, 1, 2, side_by_side=side_by_side)

    def axis(name: str) -> go.layout.XAxis:
        return figure.layout[traces(figure)[name].xaxis.replace("x", "xaxis")]

    assert traces(figure)["vectors"].xaxis == axis("products").matches
    assert traces(figure)["weights"].xaxis == axis("scores").matches


def test_the_key_that_is_looked_at_stands_out_and_keeps_its_label() -> None:
    figure = query_key_figure(a_map(tokens=many(101)), 0, 1, 37)
    for name in ("scores", "weights"):
        colors = traces(figure)[name].marker.color
        assert [at for at, color in enumerate(colors) if color == themes.LIGHT.accent] == [37]
    axis = figure.layout.xaxis4
    assert len(axis.tickvals) <= 17
    assert axis.ticktext[axis.tickvals.index(37)] == "<b>token37</b>"
    assert sum(label.startswith("<b>") for label in axis.ticktext) == 1
    assert min(np.diff(axis.tickvals)) >= style.label_step(101, 16)
    for shape in figure.layout.shapes:
        assert (shape.x0, shape.x1) == (36.5, 37.5)


def test_forbidden_keys_are_hatched_and_do_not_look_like_zeros() -> None:
    seen = a_map(causal=True)
    figure = query_key_figure(seen, 0, 2, 1)
    drawn = traces(figure)
    scores, forbidden = drawn["scores"], drawn["not allowed"]
    assert list(scores.marker.pattern.shape) == ["", "", "", "/", "/"]
    assert list(forbidden.x) == [3, 4]
    assert list(forbidden.y) == [1, 1]
    assert list(forbidden.marker.pattern.shape) == ["/", "/"]
    assert forbidden.showlegend
    assert "not allowed" in forbidden.hovertemplate
    assert [each.name for each in figure.data if each.showlegend] == [forbidden.name]
    assert "keys are not allowed" in more(seen, 0, 2, 1)
    assert "Hatched" not in more(seen, 0, 4, 1)


def test_a_cell_that_is_not_allowed_says_so() -> None:
    seen = a_map(causal=True)
    figure = query_key_figure(seen, 0, 1, 3)
    assert "not allowed" in figure.layout.annotations[2].text
    assert figure.layout.annotations[3].text.endswith("not allowed, so the weight is 0")
    assert alt_text(seen, 0, 1, 3).endswith("not allowed; the weight is 0.")


def test_a_row_that_may_attend_to_nothing_has_neither_largest_score_nor_rank() -> None:
    seen = a_map()
    closed = replace(seen, allowed=seen.allowed & False, weights=seen.weights * 0)
    numbers = arithmetic(closed, 0, 1, 2)
    assert (numbers.n_allowed, numbers.row_max, numbers.rank) == (0, None, None)
    assert numbers.complete
    assert len(traces(query_key_figure(closed, 0, 1, 2))["not allowed"].x) == 5


def test_a_weight_that_is_not_the_softmax_of_what_is_shown_is_not_explained_by_it() -> None:
    seen = a_map()
    hidden = AttentionMap(
        seen.site,
        weights=seen.weights[..., 1:],
        allowed=seen.allowed[..., 1:],
        queries=TOKENS,
        keys=TOKENS[1:],
        scores=seen.scores[..., 1:],
        q=seen.q,
        k=seen.k[:, 1:],
    )
    assert not arithmetic(hidden, 0, 1, 2).complete
    heading = query_key_figure(hidden, 0, 1, 2).layout.annotations[3].text
    assert "÷" not in heading
    assert "parts that are not shown" in heading
    renormalised = replace(
        hidden, weights=hidden.weights / hidden.weights.sum(axis=-1, keepdims=True)
    )
    assert arithmetic(renormalised, 0, 1, 2).complete


def test_heads_with_masks_of_their_own_are_read_by_their_own() -> None:
    seen = a_map()
    allowed = np.ones((N_HEADS, 5, 5), dtype=bool)
    allowed[1, :, 4] = False
    weights = np.where(allowed, seen.weights, 0)
    own = replace(seen, allowed=allowed, weights=weights / weights.sum(axis=-1, keepdims=True))
    assert arithmetic(own, 0, 1, 4).allowed
    assert not arithmetic(own, 1, 1, 4).allowed


def test_tokens_are_escaped_wherever_they_are_written() -> None:
    figure = query_key_figure(a_map(), 0, 4, 0)
    subtitle = figure.layout.title.subtitle.text
    assert "<b>&lt;b&gt;x&lt;/b&gt;</b> (position 4)" in subtitle
    assert "<b>&lt;s&gt;</b> (position 0)" in subtitle
    assert figure.layout.xaxis4.ticktext[0] == "<b>&lt;s&gt;</b>"
    assert traces(figure)["weights"].customdata[4] == "&lt;b&gt;x&lt;/b&gt; (4)"
    assert "<b>x" not in figure.to_json().replace("\\u003c", "<")


@pytest.mark.parametrize(("sides", "noun"), [(True, "source token"), (False, "token")])
def test_keys_are_of_a_side_only_where_there_are_two(sides: bool, noun: str) -> None:
    figure = query_key_figure(a_map(), 0, 1, 2, sides=sides)
    assert figure.layout.xaxis4.title.text == f"Key: {noun} looked at"


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize(("count", "d_k"), [(1, 1), (2, 3), (20, 64), (512, 128)])
def test_parts_and_headings_never_overlap(count: int, d_k: int, side_by_side: bool) -> None:
    layout = query_key_figure(
        a_map(tokens=many(count), d_k=d_k), 0, 0, count - 1, side_by_side=side_by_side
    ).layout
    plot = layout.height - layout.margin.t - layout.margin.b
    axes = [layout.yaxis, layout.yaxis2, layout.yaxis3, layout.yaxis4]
    groups = [axes[::2], axes[1::2]] if side_by_side else [axes]
    for group in groups:
        for above, below in pairwise(group):
            assert (above.domain[0] - below.domain[1]) * plot >= 60
    assert layout.margin.t - style.TITLE_HEIGHT - 3 * style.LINE_HEIGHT >= 60
    if side_by_side:
        assert layout.xaxis.domain[1] < layout.xaxis2.domain[0]
    assert len(layout.xaxis.tickvals) <= 9
    assert list(layout.xaxis.range) == [-0.5, d_k - 0.5]


def test_every_font_can_be_read_from_the_back_row() -> None:
    def sizes(node: object) -> list[int]:
        if isinstance(node, dict):
            own = [node["size"]] if "size" in node and ("color" in node or len(node) == 1) else []
            return own + [size for part in node.values() for size in sizes(part)]
        if isinstance(node, list):
            return [size for part in node for size in sizes(part)]
        return []

    spec = json.loads(query_key_figure(a_map(tokens=many(40)), 0, 1, 2).to_json())
    found = sizes(spec["layout"])
    assert len(found) > 10
    assert min(found) >= 14


def test_the_alternative_text_tells_the_whole_way() -> None:
    seen = a_map()
    numbers = arithmetic(seen, 1, 1, 2)
    dot, scaled, weight = map(style.number, (numbers.dot, numbers.scaled, numbers.weight))
    assert alt_text(seen, 1, 1, 2) == (
        "Encoder self-attention, layer 2, head 1, query Katze and key sa: q · k over 8 dimensions "
        f"is {dot}, divided by √8 it is the score {scaled}, rank {numbers.rank} of 5; "
        f"the weight is {weight}."
    )


def test_the_caption_is_one_line() -> None:
    assert "\n" not in caption(a_map(), 0, 1, 2)
    assert "divided by √8" in caption(a_map(), 0, 1, 2)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (1, "1.00"),
        (-3.14159, "−3.14"),
        (0.01, "0.01"),
        (0.00734, "0.0073"),
        (-0.00001234, "−1.2e−05"),
        (123456.7, "123456.70"),
        (2.5e9, "2.5e+09"),
    ],
)
def test_numbers_are_written_with_the_digits_that_count(value: float, written: str) -> None:
    assert style.number(value) == written
