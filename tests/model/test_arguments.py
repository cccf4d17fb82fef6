"""Arguments of a wrong type are named in a sentence, and names that are nearly right are found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from model.arguments import checked, nearest
from model.record.mask_presets import PRESETS
from model.record.recording import Recording
from model.trace.trace import Trace
from model.translate.translator import Translator

SENTENCE = "The cat eats."
WRONG: tuple[Any, ...] = (
    None,
    3,
    2.5,
    True,
    b"x",
    ["a", "b"],
    ["a", None],
    {"a": 1},
    {1},
    object(),
)


@pytest.fixture(scope="module")
def given(translator: Translator) -> Mapping[str, Any]:
    """What each parameter of a public function may be given, by its name."""
    trace = translator.trace(SENTENCE)
    return {
        "translator": translator,
        "trace": trace,
        "text": SENTENCE,
        "sentence": SENTENCE,
        "other": "The dog sleeps.",
        "word": 0,
        "parts": {("encoder", 0): [0]},
        "reading": hs.Reading(),
        "values": trace.attention("cross", 0).weights,
        "kind": "cross",
        "layer": 0,
        "number": 0,
        "head": 0,
        "texts": [SENTENCE],
        "translation": translator.translate(SENTENCE),
        "checkpoint": "en-de",
        "directory": "en-de",
    }


def calls(translator: Translator, trace: Trace) -> dict[str, Callable[..., Any]]:
    """The public functions and methods that take what people have at hand."""
    of_translator = (
        *("translate", "candidates", "decode", "translate_batch", "trace", "trace_of"),
        *("trace_batch", "encode", "embedding_parts", "score_terms", "logit_lens", "prefix"),
    )
    functions = ("effects", "attributions", "contrast", "patch", "causal_trace", "read", "word_map")
    attention = trace.attention("cross", 0)
    return {
        **{name: getattr(translator, name) for name in of_translator},
        **{name: getattr(hs, name) for name in (*functions, "load", "load_reader")},
        "attention": trace.attention,
        "layers": trace.layers,
        "head": attention.head,
        "frame": attention.frame,
    }


def takes_lists(call: Callable[..., Any], parameter: str) -> bool:
    return "Sequence[str]" in str(inspect.signature(call).parameters[parameter].annotation)


def test_every_required_argument_is_named_when_its_type_is_wrong(
    translator: Translator, given: Mapping[str, Any]
) -> None:
    tried = 0
    for name, call in calls(translator, given["trace"]).items():
        required = [
            each.name
            for each in inspect.signature(call).parameters.values()
            if each.default is each.empty and each.kind is not each.VAR_KEYWORD
        ]
        for parameter in required:
            for wrong in WRONG:
                if parameter in {"word", "layer", "number", "head"} and wrong == 3:
                    continue
                if wrong == ["a", "b"] and takes_lists(call, parameter):
                    continue
                if parameter == "parts" and isinstance(wrong, list | dict | set | bytes):
                    # Iterables, whose parts have sentences of their own.
                    continue
                arguments = {each: given[each] for each in required} | {parameter: wrong}
                with pytest.raises(TypeError, match=f"^{parameter} must be ") as raised:
                    call(*arguments.values())
                assert str(raised.value).endswith("."), name
                tried += 1
    assert tried > 200


def seen() -> Any:
    with hs.watching() as watched:
        pass
    return watched


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda t: t.trace(None), "text must be a string or a list of strings, not None."),
        (lambda t: t.decode(["a", "b"]), "text must be a string, not a list; give one at a time."),
        (lambda t: t.translate_batch("abc"), "texts must be a list of strings, not 'abc'."),
        (
            lambda t: t.translate_batch(["a", None]),
            "texts must be a list of strings, not a list with None in it.",
        ),
        (lambda t: t.translate(["a", None]), "text must be a string or a list of strings, not a "
         "list with None in it."),
        (lambda t: t.translate(["a", ""]), "Text 2: The text is empty; type a sentence to "
         "translate."),
        (lambda t: t.trace([SENTENCE, ""]), "Text 2: The text is empty; type a sentence to "
         "translate."),
        (lambda t: hs.show([t.trace("a"), None]), "shown must be a list, not a list with None in "
         "it."),
        (lambda t: hs.show(t.trace("a"), titel="x"), "A trace takes no inputs; leave titel out."),
        (lambda t: t.trace("a").figure("cross", 1, 99), "There are the heads 0 to 3; there is no "
         "head 99."),
        (lambda t: t.position_table(side=[]), "side must be 'encoder' or 'decoder', not a list."),
        (lambda _: hs.head_rules(1, 2), "head_rules: too many positional arguments."),
        (lambda t: t.trace("a", target=3), "target must be a string, a list of strings or None, "
         "not 3."),
        (lambda t: t.trace("a", search=4), "search must be a Search or None, not 4."),
        (lambda t: hs.effects("en-de", "a"), "translator must be a Translator, not 'en-de'."),
        (lambda _: hs.load(None), "checkpoint must be a string or a path, not None."),
        (lambda _: hs.load("en-de", device=0), "device must be a string or a device, not 0."),
        (lambda _: hs.Trace.load(3), "file must be a string, a path or an open file, not 3."),
        (lambda _: hs.Search(sampling=3), "sampling must be a Sampling or None, not 3."),
        (lambda _: hs.Intervention(positions=3), "positions must be a PositionEdit, not 3."),
        (lambda _: hs.Intervention(source_order=3), "source_order must be a list, not 3."),
        (lambda _: hs.image("a", "png"), "figure must be a Figure, not 'a'."),
        (lambda _: seen().trace(["a"]), "sentence must be a whole number, not a list."),
        (lambda _: Recording().trace(["a"]), "sentence must be a whole number, not a list."),
        (lambda _: hs.show(3), "Give a trace, traces, weights, what watching saw, or a PyTorch "
         "model to call; 3 is none of these."),
        (lambda t: hs.show(t.translate(SENTENCE)), "A translation holds no attention; show "
         "translator.trace_of(translation) instead."),
        (lambda t: t.head_matrices("crss.1", 0), 'site must be a site such as ("cross", 2), not '
         "'crss.1'."),
        (lambda _: hs.Site("cross", "a"), "layer must be a whole number, not 'a'."),
        (lambda _: hs.Tokens("abc", (1, 2, 3)), "tokens must be a list, not 'abc'."),
        (lambda t: hs.figures.head_set(t, t.trace(SENTENCE), 3), "pair must be a Pair, not 3."),
    ],
)  # fmt: skip
def test_the_sentence_says_what_it_must_be_and_what_it_is(
    translator: Translator, ask: Callable[[Translator], Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as raised:
        ask(translator)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"keep": 5}, "keep must be a string, a path or None, not 5."),
        ({"workers": "x"}, "workers must be a whole number, not 'x'."),
        ({"workers": np.zeros(7)}, "workers must be a whole number, not an array of the "
         "shape (7,)."),
        ({"workers": -1}, "workers must be at least 1; it is -1."),
        ({"scheduler": "nope"}, "No scheduler answers at nope; give its address, such as "
         "tcp://10.0.0.1:8786."),
        ({"progres": True}, "There is no argument 'progres'. Did you mean progress? Choose one of "
         "translator, texts, measure, search, under, keep, workers, scheduler, progress."),
        ({"measure": lambda _: 5}, "measure must give a number for each of the 32 heads of a "
         "trace; it gave float64 (1,)."),
        ({"texts": ["a b", None]}, "texts must be a list of strings, not a list with None in it."),
        ({"texts": [SENTENCE, ""]}, "Text 2: The text is empty; type a sentence to translate."),
    ],
)  # fmt: skip
def test_arguments_of_functions_over_texts_are_refused_by_name(
    checkpoint_folder: Path, named: Mapping[str, Any], said: str
) -> None:
    given = {"translator": hs.load(checkpoint_folder), "texts": [SENTENCE], "measure": "entropy"}
    with pytest.raises((TypeError, ValueError)) as raised:
        hs.average(**given | dict(named))
    assert str(raised.value) == said


def test_arrays_and_columns_of_a_table_are_lists_too(translator: Translator) -> None:
    expected = translator.translate_batch([SENTENCE])
    (found,) = translator.translate_batch(np.array([SENTENCE]))  # type: ignore[arg-type]
    assert found.token_ids == expected[0].token_ids
    assert translator.trace(SENTENCE).attention("cross", np.int64(0)).n_heads == 4


def test_a_checked_function_keeps_its_name_and_its_errors() -> None:
    @checked
    def half(number: int = 2, *more: int, unknown: Nowhere = None, **named: int) -> float:  # type: ignore[name-defined]  # noqa: F821
        """Half of it."""
        return number / 2

    assert (half.__name__, half.__doc__, half(4, 5, unknown=half, a=1)) == (
        "half",
        "Half of it.",
        2,
    )
    assert half() == 1
    with pytest.raises(TypeError, match="multiple values"):
        half(1, 2, number=3)  # type: ignore[misc]
    with pytest.raises(TypeError, match="number must be a whole number, not 'a'"):
        half("a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "near"),
    [("en-dd", "en-de"), ("EN-DE", "en-de"), ("toy-revers", "toy-reverse"), ("endefr", "")],
)
def test_the_nearest_model_is_offered_with_all_there_are(name: str, near: str) -> None:
    with pytest.raises(ValueError, match="There is no checkpoint folder") as raised:
        hs.load(name)
    said = str(raised.value)
    assert (f"Did you mean {near}?" in said) == bool(near)
    assert "Headscope comes with de-en, en-de, " in said
    assert "a folder with a config.json" in said


def test_near_names_are_offered_wherever_a_name_is_looked_up(translator: Translator) -> None:
    with pytest.raises(KeyError, match=r"no preset 'causl'\. Did you mean causal\?"):
        PRESETS["causl"]
    assert PRESETS.get("causl") is None
    with pytest.raises(ValueError, match=r"kind 'encodr'; .* Did you mean encoder\?"):
        hs.Site("encodr", 0)  # type: ignore[arg-type]
    with pytest.raises(AttributeError) as raised:
        hs.laod  # noqa: B018
    # With these, Python's traceback asks after `load`.
    assert (raised.value.name, raised.value.obj) == ("laod", hs)
    assert nearest("nothing", ["encoder"]) == ""


def test_a_path_that_is_not_there_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"There is no checkpoint folder .*; name one with"):
        hs.load(tmp_path / "nothing")


@pytest.mark.parametrize("named", [("cross", 1), "cross.1", hs.Site("cross", 1)])  # type: ignore[arg-type]
def test_a_site_is_named_in_the_same_forms_everywhere(translator: Translator, named: Any) -> None:
    trace = translator.trace(SENTENCE)
    site = hs.Site(hs.AttentionKind.CROSS, 1)
    assert trace.maps[named] is trace.maps[site]
    assert [*trace.only(named).maps] == [site]
    assert hs.read(trace).maps[named].site == site
    losses = hs.effects(translator, SENTENCE).losses
    assert losses[named] is losses[site]
    found = hs.attributions(translator, SENTENCE)
    assert found.map("norms", named) is found.map("norms", site)
    assert hs.figures.OneHead(hs.read(trace), named, 0).title == site.head_name(0)
    assert translator.head_matrices(named, 0).w_q.shape[1]
    assert hs.Intervention(masks={named: PRESETS["causal"]}).masks.at(site) is not None
    for wrong in (("cross", 99), "cross.99"):
        with pytest.raises(KeyError, match=r"no site .*Choose one of encoder\.0, "):
            trace.maps[wrong]  # type: ignore[index]
    assert "cross.1" not in trace.maps
    assert trace.maps.get("cross.1") is None  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hs.checkpoint_folder("en-dd"),
        lambda: hs.read_survey("en-dd"),
        lambda: hs.read_sentences("en-dd"),
        lambda: hs.figures.read_alignment("en-dd"),
        lambda: hs.figures.read_growth("en-dd"),
        lambda: hs.figures.read_removal("en-dd", 8),
    ],
)
def test_a_model_that_is_not_there_is_an_error_wherever_a_folder_is_read(
    ask: Callable[[], Any],
) -> None:
    with pytest.raises(ValueError, match=r"Did you mean en-de.*Headscope comes with"):
        ask()


def test_a_name_of_a_model_does_where_a_folder_does() -> None:
    survey, index = hs.read_survey("en-de"), hs.read_sentences("en-de")
    assert survey is not None
    assert index is not None
    assert hs.checkpoint_folder("en-de").is_dir()
    with pytest.raises(ValueError, match=r"no measure 'previos'. Did you mean previous"):
        survey.ranked("previos")
    with pytest.raises(ValueError, match=r"no rule for encoder heads 'nope'\. Choose one of"):
        index.found("work*", "encoder.0.1", "nope")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A head and its rule are given together"):
        index.found("work*", None, "nope")


PUBLIC = [name for name in hs.__all__ if inspect.isfunction(getattr(hs, name))]


@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("wrong", [None, 3, "nope", [], {}, np.zeros(7), hs.Reading()], ids=repr)
def test_every_public_function_answers_every_kind_of_wrong_argument_with_a_sentence(
    name: str, wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = getattr(hs, name)
    required = [
        each.name
        for each in inspect.signature(call).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    if not required:
        pytest.skip("it needs no argument")
    with pytest.raises((TypeError, ValueError, OSError)) as raised:
        call(*[wrong for _ in required])
    said = str(raised.value)
    assert said.endswith(".") or isinstance(raised.value, OSError), said
    assert said[0].isupper() or said.startswith(str(tmp_path)) or said.split()[0] in required, said
    assert " object " not in said
