"""What the engine in a page finds of a decoding beside Python: layers, terms, searches, acts."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.contrast.contrast import contrast_of
from model.contrast.head_sets import darkened, head_set
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import next_likeliest, pair_of
from model.explain.attributing import cross_attributions
from model.explain.block_outputs import block_outputs
from model.explain.examples import read_examples
from model.paper.search import Sampling, Search
from model.patching.causal_trace import causal_trace, streams
from model.patching.patch import SentencePair
from model.record.intervention import Intervention
from model.trace.head import Head
from model.translate.translator import Translator, load
from tests.kit.engine import ids_of, in_node, run, weights_of
from viz.acts.minds import RANDOM_ORDERS, close_words, divided, strongest_first
from viz.acts.swap import crossing, neighbours, swapped
from viz.compare.paired import PairedTraces, matched
from viz.decoding.tree import layout_tree
from viz.draw.word_diff import word_diff
from viz.model_page.view import ACTS
from viz.site.model import openings

pytestmark = pytest.mark.slow

NAMES = ("en-de", "toy-copy-pre-norm", "toy-dates-rotary", "toy-dates-relative-bias")
TOLERANCE = 1e-4
SEARCHES = (Search(), Search(beam=1), Search(beam=7, length_penalty=0), Search(beam=2))


@cache
def translator(name: str) -> Translator:
    return load(CHECKPOINTS / name, device="cpu")


def sentence_of(name: str) -> str:
    return read_examples(CHECKPOINTS / name)[0].source


def asked(search: Search) -> dict[str, Any]:
    options: dict[str, Any] = {"beam": search.beam, "alpha": search.length_penalty}
    if search.sampling is not None:
        seed, samples = search.sampling.seed, search.sampling.n_samples
        options["sampling"] = {"temperature": 1, "topK": 5, "topP": None}
        options["sampling"] |= {"seed": seed, "samples": samples}
    return options


@pytest.mark.parametrize("name", NAMES)
def test_each_layer_predicts_the_same(name: str) -> None:
    model, sentence = translator(name), sentence_of(name)
    heads = {("cross", 0, 0): 0}
    under = {"heads": [{"kind": "cross", "layer": 0, "head": 0, "gate": 0}]}
    trace = model.trace(sentence)
    ids = list(trace.predictions.ids)
    found = run(
        CHECKPOINTS / name,
        ("lens", [sentence, {"ids": ids}]),
        ("lens", [sentence, {"ids": ids, "under": under}]),
    )
    for layers, changed in zip(found, ({}, heads), strict=True):
        lens = model.logit_lens(trace, under=Intervention(heads=changed))
        got = [each["logProbs"] for each in layers]
        np.testing.assert_allclose(got, lens.log_probs, atol=TOLERANCE)
        best = [each["likeliest"] for each in layers]
        np.testing.assert_allclose(best, lens.likeliest_log_probs, atol=TOLERANCE)
        assert np.array_equal([each["ranks"] for each in layers], lens.ranks)
        for each, likeliest in zip(layers, lens.likeliest, strict=True):
            assert (each["ids"], each["tokens"]) == ([*likeliest.ids], [*likeliest.tokens])


@pytest.mark.parametrize("name", NAMES)
def test_the_terms_of_two_words_are_the_same(name: str) -> None:
    model, sentence = translator(name), sentence_of(name)
    trace = model.trace(sentence)
    for place in range(len(trace.predictions)):
        pair = pair_of(model, trace, place, next_likeliest(model, trace, place))
        terms = logit_terms(model, trace, pair)
        options = {"step": pair.step, "ids": [*trace.predictions.ids], "other": pair.ids[1]}
        (found,) = run(CHECKPOINTS / name, ("terms", [sentence, options]))
        for key in ("difference", "embedding", "biases"):
            assert found[key] == pytest.approx(getattr(terms, key), abs=TOLERANCE), key
        np.testing.assert_allclose(found["feedForward"], terms.feed_forward, atol=TOLERANCE)
        for kind in ("decoder", "cross"):
            for layer, each in zip(found[kind], getattr(terms, kind).values(), strict=True):
                np.testing.assert_allclose(layer, each, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_lead_without_each_head_is_the_same(name: str) -> None:
    """The site asks for the effects on the translation with either token in that place."""
    model, sentence = translator(name), sentence_of(name)
    trace = model.trace(sentence)
    pair = pair_of(model, trace, 2, next_likeliest(model, trace, 2))
    other = ids_of(trace)
    swapped = [*trace.predictions.ids]
    swapped[pair.step] = pair.ids[1]
    other["predictions"] = {"ids": swapped}
    one, two = run(CHECKPOINTS / name, ("effects", [ids_of(trace)]), ("effects", [other]))
    contrast = contrast_of(model, trace, pair)
    lead = contrast.log_probs[0] - contrast.log_probs[1]
    for own, its, without in zip(
        one["sites"], two["sites"], contrast.without.values(), strict=True
    ):
        losses = np.subtract(own["losses"], its["losses"]).reshape(len(without), -1)
        expected = lead - (without[:, 0] - without[:, 1])
        np.testing.assert_allclose(losses[:, pair.step], expected, atol=1e-3)


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize(
    "search", [*SEARCHES, Search(sampling=Sampling(seed=3, n_samples=4, top_k=5))], ids=str
)
def test_a_search_holds_the_same_hypotheses(name: str, search: Search) -> None:
    model, sentence = translator(name), sentence_of(name)
    decoding = model.decode(sentence, search=search)
    (found,) = run(CHECKPOINTS / name, ("tree", [sentence, {"search": asked(search)}]))
    known = {decoding.token_ids(node): place for place, node in enumerate(decoding.nodes)}
    looks = model.cross_attention(decoding)
    expected = np.concatenate([looks[site] for site in sorted(looks)])
    got = np.reshape(found["looks"], expected.shape)
    ids: list[tuple[int, ...]] = []
    for place, each in enumerate(found["nodes"]):
        before = () if each["parent"] is None else ids[each["parent"]]
        ids.append((*before, each["id"]))
        node = decoding.nodes[known[ids[-1]]]
        assert (each["token"], each["step"], each["fate"]) == (node.token, node.step, node.fate)
        # Several samples may be the same.
        assert each["rank"] == node.rank or search.sampling is not None
        assert each["logProb"] == pytest.approx(node.log_prob, abs=TOLERANCE)
        assert each["score"] == pytest.approx(node.score, abs=TOLERANCE)
        np.testing.assert_allclose(got[:, place], expected[:, known[ids[-1]]], atol=TOLERANCE)
    assert len(ids) == len(decoding.nodes)


@pytest.mark.parametrize("across", [880, 320])
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_tree_stands_where_the_app_has_it(search: Search, across: int) -> None:
    model, sentence = translator("en-de"), sentence_of("en-de")
    options = {"weights": weights_of(CHECKPOINTS / "en-de")}
    job = {"line": sentence, "search": asked(search), "across": across}
    found = in_node("tree", folder=str(CHECKPOINTS / "en-de"), options=options, **job)
    tree = layout_tree(model.decode(sentence, search=search), across)
    assert found["height"] == pytest.approx(tree.height)
    for place, point, edge, branch in zip(
        found["places"], tree.points, tree.edges, tree.branches, strict=True
    ):
        assert place["branch"] == branch
        assert place["point"] == pytest.approx(point)
        corners = [corner for line in place["lines"] for corner in line]
        np.testing.assert_allclose(corners, [corner for corner in edge if corner])


@pytest.mark.parametrize("matches", [False, True])
def test_two_runs_are_paired_as_the_app_pairs_them(matches: bool) -> None:
    """Heads with their partners, and what differs; two models by what their heads look at."""
    names = ("en-de", "en-fr") if matches else ("en-de", "en-de")
    texts = ["He has bought a new computer."] * 2
    if not matches:
        texts[1] = "She bought two “new” computers?"
    first, second = (translator(name).trace(text) for name, text in zip(names, texts, strict=True))
    runs = [
        {"folder": str(CHECKPOINTS / name), "options": {"weights": weights_of(CHECKPOINTS / name)}}
        | {"line": text}
        for name, text in zip(names, texts, strict=True)
    ]
    found = in_node("pair", runs=runs, matches=matches)
    partners = matched(first, second) if matches else {}
    pair = PairedTraces(first, second, "model" if matches else "sentence", partners)
    assert {each["one"]: each["other"] for each in found["pairs"]} == {
        str(head): str(Head(*other)) for head, other in pair.heads.items()
    }
    for each, head in zip(found["pairs"], pair.heads, strict=True):
        assert each["moved"] == pytest.approx(pair.moved[head], abs=TOLERANCE)
    assert found["most"] == str(pair.most_moved)
    assert [tuple(each) for each in found["words"]] == word_diff(first.text, second.text)


@pytest.mark.parametrize(
    "sentence", ["My sister lost his keys.", "He has bought a new computer.", "She can swim."]
)
def test_acts_are_made_alike(sentence: str) -> None:
    model, folder = translator("en-de"), CHECKPOINTS / "en-de"
    beside = list(neighbours(sentence, "en"))
    trace = model.trace(sentence)
    place, word = close_words(trace, block_outputs(model, trace))[0]
    pair = pair_of(model, trace, place, word)
    contrast = contrast_of(model, trace, pair)
    heads = strongest_first(head_set(model, trace, pair), contrast)
    log_probs = darkened(model, trace, pair, heads, RANDOM_ORDERS)
    causal, runs = (
        causal_trace(model, sentence, beside[0]),
        SentencePair(model, sentence, beside[0]),
    )
    tried = [
        (row, runs.patched({stage: (crossing(causal, row),)}))
        for row, stage in enumerate(each for each in streams(model.model) if each.side == "encoder")
    ]
    arriving = [each for each in tried if each[1].patched_text == runs.other_text]
    row, patched = (arriving or tried)[-1]
    width = model.model.config.d_model
    acts = {
        "minds": divided(trace, contrast, place, heads, log_probs),
        "swap": swapped(causal, patched, row, width, trace.provenance),
    }
    packed = {name: b64encode(act.pack(key=name)).decode() for name, act in acts.items()}
    template = b64encode(openings(model, folder, sentence)["model"]).decode()
    asked = {"folder": str(folder), "options": {"weights": weights_of(folder)}, "titles": ACTS}
    made = in_node("acts", line=sentence, other=beside[0], template=template, **asked, **packed)
    assert made["neighbours"] == beside
    for name in acts:
        own, given = made["own"][name], made["given"][name]
        for numbers in ("curve", "states"):
            assert (own[numbers] is None) == (given[numbers] is None)
            for key, value in (given[numbers] or {}).items():
                near = key in ("values", "others", "shares")
                wanted = pytest.approx(value, abs=TOLERANCE) if near else value
                assert own[numbers][key] == wanted, key
        assert own.keys() == given.keys()
        for frame in (*own["frames"], *given["frames"]):
            frame["off"].sort()
        apart = {key for key in own if key not in ("curve", "states") and own[key] != given[key]}
        assert apart <= {"kinds"}
        for one, other in zip(own["kinds"], given["kinds"], strict=True):
            # A weight between two steps may be rounded to either.
            weights = [np.array(each.pop("weights"), np.int16) for each in (one, other)]
            assert np.abs(weights[0] - weights[1]).max() <= 1
            assert one == other


@pytest.mark.parametrize("name", NAMES)
def test_a_lead_without_each_source_token_is_the_same(name: str) -> None:
    model, sentence = translator(name), sentence_of(name)
    trace = model.trace(sentence)
    step = len(trace.predictions) // 2
    pair = pair_of(model, trace, step, next_likeliest(model, trace, step))
    contrast = contrast_of(model, trace, pair)
    asked = {"step": pair.step, "ids": trace.predictions.ids, "other": pair.ids[1]}
    (leads,) = run(CHECKPOINTS / name, ("deleted", [sentence, asked]))
    own = np.array([contrast.log_probs, *contrast.deleted])
    np.testing.assert_allclose(leads, own[:, 0] - own[:, 1], atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_maps_of_the_source_are_the_same(name: str) -> None:
    model, sentence = translator(name), sentence_of(name)
    trace = model.trace(sentence)
    attributions = cross_attributions(model, trace)
    asked = [sentence, {"ids": trace.predictions.ids}]
    (found,) = run(CHECKPOINTS / name, ("attributed", asked))
    own = {method: attributions.map(method, None).together for method in ("weights", "norms")}
    for part, values in {"losses": attributions.deletion_losses, **own}.items():
        np.testing.assert_allclose(np.reshape(found[part], values.shape), values, atol=TOLERANCE)
