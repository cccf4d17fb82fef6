"""The tree of a decoding: where its hypotheses stand, and what is said of them."""

from pathlib import Path

import pytest

from model.paper.search import Sampling, Search
from model.trace.translation import Decoding
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.decoding.search_tree import SearchTree
from viz.decoding.tree import hypothesis_text, layout_tree, without_pruned
from viz.draw import style
from viz.draw.constants import CONSTANTS
from viz.links.searches import search_name
from viz.save.picture import Layout

SENTENCE = "The woman sees the dog on the mat."
SAMPLES = Search(sampling=Sampling(n_samples=3, seed=1))


@pytest.fixture(scope="module", params=[4, 8, 1, "samples", "prefix"])
def search(request: pytest.FixtureRequest, translator: Translator) -> Search:
    if request.param == "samples":
        return SAMPLES
    if request.param == "prefix":
        return Search(beam=3, prefix=translator.prefix("Der Mann"))
    return Search(beam=request.param)


@pytest.fixture(scope="module")
def decoding(translator: Translator, search: Search) -> Decoding:
    return translator.decode(SENTENCE, search=search)


@pytest.mark.parametrize("across", [10_000, 320])
def test_hypotheses_stand_apart_and_read_from_left_to_right(
    decoding: Decoding, across: float
) -> None:
    tree = layout_tree(decoding, across)
    assert len(set(tree.points)) == len(decoding.nodes) == len(tree.edges)
    for place, node in enumerate(decoding.nodes):
        (x, y), edge = tree.points[place], tree.edges[place]
        assert edge[-1] == (x, y)
        assert 0 < x <= across
        assert 0 <= y <= tree.height - 1 + 1e-6
        if node.parent is not None:
            assert edge[0] == tree.points[node.parent]
            before = tree.points[node.parent]
            # The next line begins at the left again, further down.
            assert x > before[0] if None not in edge else y > before[1]


def test_the_translation_has_a_row_of_its_own_on_top(decoding: Decoding) -> None:
    tree = layout_tree(decoding, 10_000)
    top = [place for place, (_, y) in enumerate(tree.points) if y == 0]
    ids = decoding.translation.token_ids
    assert tuple(decoding.nodes[place].token_id for place in top) == ids
    assert {tree.branches[place] for place in top} == {"translation"}
    assert hypothesis_text(decoding, top[-1]) == decoding.translation.text


def test_branches_say_what_became_of_them(decoding: Decoding) -> None:
    tree = layout_tree(decoding)
    for place, node in enumerate(decoding.nodes):
        fates = {node.fate for node in _after(decoding, place)}
        assert (tree.branches[place] == "pruned") == (fates <= {"pruned", "continued"})
    found = without_pruned(decoding)
    assert [node.log_prob for node in found.ranked] == [node.log_prob for node in decoding.ranked]
    assert [found.token_ids(node) for node in found.ranked] == [
        decoding.token_ids(node) for node in decoding.ranked
    ]
    assert {*layout_tree(found).branches} <= {"translation", "found"}


def _after(decoding: Decoding, place: int) -> list:
    own = [decoding.nodes[place]]
    for child, node in enumerate(decoding.nodes):
        if node.parent == place:
            own += _after(decoding, child)
    return own


def test_a_tree_comes_back_and_holds_its_numbers(
    folder: Path, decoding: Decoding, search: Search
) -> None:
    picture = SearchTree(decoding, search)
    require_same(picture, folder, LAYOUTS[:1])
    assert values(picture, "log_prob").tolist() == [node.log_prob for node in decoding.nodes]
    assert decoding.translation.text in picture.alt
    points = picture.figure(Layout()).data[-1]
    assert [each[0] for each in points.customdata] == list(range(len(decoding.nodes)))


def test_the_ring_around_a_dot_leaves_its_texts_and_the_next_branch_free(
    decoding: Decoding, search: Search
) -> None:
    figure = SearchTree(decoding, search).figure(Layout())
    tree = layout_tree(decoding)
    # The ring and half of its stroke.
    reach = CONSTANTS["RING"] + 1.25
    dots = sorted(x for x, _ in tree.points)
    for side in ("top right", "bottom right"):
        texts = [
            each
            for each in figure.data
            if each.mode == "text" and each.textposition == side and each.name != "start"
        ]
        starts = sorted(x for each in texts for x in each.x)
        assert all(start - dot >= reach for start, dot in zip(starts, dots, strict=True))
    for place, node in enumerate(decoding.nodes):
        edge = tree.edges[place]
        if node.parent is not None and None not in edge:
            _, bend, _ = edge
            number = style.number(decoding.nodes[node.parent].log_prob)
            # A digit of 12 pixels is about 6.5 wide.
            assert bend[0] >= tree.points[node.parent][0] + reach + 6.5 * len(number)


def test_what_is_said_holds_for_the_search(translator: Translator) -> None:
    said = {
        search: SearchTree(translator.decode(SENTENCE, search=search), search).caption
        for search in (Search(), Search(beam=1), SAMPLES, Search(prefix=translator.prefix("Der")))
    }
    pruned = ["pale branches" in caption for caption in said.values()]
    assert pruned == [True, False, False, True]
    assert ["Dotted" in caption for caption in said.values()] == [False] * 3 + [True]


@pytest.mark.parametrize(
    ("search", "name"),
    [
        (Search(), "Beam of 4, length penalty 0.6"),
        (Search(beam=1, length_penalty=0), "Greedy decoding, length penalty 0"),
        (Search(sampling=Sampling()), "One sample, temperature 1, length penalty 0.6"),
        (
            Search(sampling=Sampling(n_samples=3, top_k=5, top_p=0.9, seed=7)),
            "3 samples, temperature 1, top-k 5, top-p 0.9, seed 7, length penalty 0.6",
        ),
    ],
    ids=str,
)
def test_a_search_is_named_with_its_settings(search: Search, name: str) -> None:
    assert search_name(search) == name
