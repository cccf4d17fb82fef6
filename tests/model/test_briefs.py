"""What a value says of itself: what matters, in a line, and never its numbers."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from model.brief import Brief
from model.trace.array_values import ArrayValue
from model.translate.translator import Translator
from tests.kit.surveys import tiny_corpus_survey
from tests.kit.tiny_checkpoint import PAIRS

ROOT = Path(__file__).parents[2]
(HE, ER), (DOG, _), *_ = PAIRS


def arrays(kind: type) -> bool:
    """Whether a field of a class holds arrays, tensors or other values of this size."""
    types = [str(each.type) for each in kind.__dataclass_fields__.values()]  # type: ignore[attr-defined]
    # A function that gives arrays holds none.
    hints = " ".join(each for each in types if "Callable" not in each)
    large = ("Array", "ndarray", "Tensor", "AttentionMap", "Translation", "Trace]")
    return any(name in hints for name in large)


def test_every_value_with_arrays_in_it_is_brief() -> None:
    wrong = []
    for file in sorted((ROOT / "model").rglob("*.py")):
        if "__main__" in file.name or "training" in file.parts:
            continue
        module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
        for kind in vars(module).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.__name__
            is_public = is_own and not kind.__name__.startswith("_")
            if is_public and is_dataclass(kind) and arrays(kind):
                has_own = Path(kind.__repr__.__code__.co_filename).is_relative_to(ROOT)
                if not (issubclass(kind, Brief | ArrayValue) or has_own):
                    wrong.append(f"{module.__name__}.{kind.__name__}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def values(translator: Translator) -> Mapping[str, Any]:
    """What Python gives a person to look at, by a name."""
    trace = translator.trace(HE)
    encoder = trace.attention("encoder", 0)
    changed = hs.Intervention(
        masks={"decoder": hs.PRESETS["causal_window"].rule(width=2), ("cross", 1): np.eye(3) > 0},
        heads={("cross", 1, 3): 0, ("encoder", 0, 2): hs.MeanAblation.over([encoder], 2)},
    )
    model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    with hs.watching() as seen, torch.no_grad():
        model(torch.randn(1, 4, 8), torch.randn(1, 3, 8))
    hs.install_taps(model)
    with hs.recording() as recorded, torch.no_grad():
        model(torch.randn(1, 4, 8), torch.randn(1, 3, 8))
    read = hs.read(trace, hs.Reading(words=True))
    return {
        "translator": translator,
        "trace": trace,
        "attention": trace.attention("cross", 2),
        "head": trace.attention("cross", 2).head(1),
        "tokens": trace.source,
        "translation": translator.translate(HE, keep_distributions=True),
        "decoding": translator.decode(HE),
        "step": translator.decode(HE).steps[0],
        "lens": translator.logit_lens(trace),
        "parts": translator.embedding_parts(HE),
        "terms": translator.score_terms(HE),
        "matrices": translator.head_matrices(translator.sites[0], 0),
        "batch": translator.trace_batch([HE, DOG]),
        "effects": hs.effects(translator, HE),
        "attributions": hs.attributions(translator, HE, methods=["weights"]),
        "contrast": hs.contrast(translator, HE, 0, "Der"),
        "patch": hs.patch(translator, HE, HE, [("encoder", "output")]),
        "causal": hs.causal_trace(translator, HE, HE),
        "survey": tiny_corpus_survey(translator),
        "changed": changed,
        "masks": changed.masks,
        "heads": changed.heads,
        "mean": next(iter(changed.heads.values())),
        "preset": hs.PRESETS["causal"],
        "watched": seen,
        "report": seen.report(),
        "site": seen.sites[0],
        "call": seen.sites[0].calls[0],
        "recording": recorded,
        "read": read,
        "picture": hs.figures.OneHead(read, hs.Site("cross", 2), head=1),
        "shown": hs.show(trace),
    }


def test_a_repr_is_one_line_of_what_matters(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        said = repr(value)
        assert said == repr(value), name
        assert len(said) < 330, (name, said)
        assert " at 0x" not in said, (name, said)
        assert "array(" not in said, (name, said)
        assert "\n" not in said, (name, said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trace", f"Trace('{HE}' → '{ER}', encoder 0–1, decoder 0–2, cross 0–2, 4 heads each)"),
        ("attention", "AttentionMap(cross.2, 4 heads, {rows} queries × {columns} keys)"),
        ("head", "HeadAttention(cross.2.1, {rows} queries × {columns} keys)"),
        (
            "changed",
            "Intervention(masks={{decoder: Rule(causal_window, width=2), cross.1: bool (3, 3)}}, "
            "heads={{encoder.0.2: MeanAblation(mean=<12>), cross.1.3: Gate(factor=0.0)}})",
        ),
        ("watched", "Watched(encoder.0, decoder.0, cross.0)"),
        ("recording", "Recording(encoder.0, decoder.0, cross.0)"),
        ("preset", "Preset('Causal')"),
    ],
)
def test_what_matters(values: Mapping[str, Any], name: str, said: str) -> None:
    trace = values["trace"]
    sizes = {"rows": len(trace.target), "columns": len(trace.source)}
    assert repr(values[name]) == said.format(**sizes)


def test_a_translator_says_which_model_it_is_how_large_and_where(translator: Translator) -> None:
    count = f"{translator.n_parameters:,} parameters"
    assert repr(translator).startswith(f"Translator({translator.name!r}, 2 + 3 layers of 4 heads, ")
    assert repr(translator).endswith(f"{count}, cpu)")


def test_nothing_changed_is_nothing_said() -> None:
    assert repr(hs.Intervention()) == "Intervention()"
    assert repr(hs.Site("cross", 3)) == "Site('cross', 3)"


def test_equal_interventions_say_the_same() -> None:
    # Pages name what they show by its repr.
    one, other = (hs.Intervention(masks={"cross": np.eye(2) > 0}) for _ in range(2))
    assert repr(one) == repr(other)
