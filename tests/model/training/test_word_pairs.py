"""Words that a model could have written otherwise."""

from pathlib import Path

import pytest

from model.explain.experiments import Experiment, read_experiments, save_experiments
from model.training import word_pairs
from model.training.word_pairs import chosen, experiment, main, pairs_in
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


@pytest.fixture(autouse=True)
def _everything_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows nine sentences by heart is too sure of them."""
    monkeypatch.setattr(word_pairs, "LEAST", 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoints") / "en-de")


@pytest.fixture(scope="module")
def model(folder: Path) -> Translator:
    return load(folder, device="cpu")


def test_both_words_are_of_one_paradigm_and_the_first_is_the_model_s_own(
    model: Translator,
) -> None:
    traces = [model.trace(english) for english, _ in PAIRS]
    found = [each for trace in traces for each in pairs_in(model, trace)]
    assert found
    for each in found:
        words = {each.pair.word.lower(), each.pair.other.lower()}
        groups = word_pairs.PARADIGMS[each.kind]
        assert any(words <= set(group.split()) for group in groups)
        assert each.pair.ids[0] == each.trace.predictions.ids[each.pair.step]
        assert each.word > each.other
    listed = chosen(found, 3)
    assert len({each.trace.source_text for each in listed}) == len(listed) <= 3


def test_what_is_saved_names_the_place_and_the_other_word(model: Translator) -> None:
    for english, _ in PAIRS:
        for each in pairs_in(model, model.trace(english)):
            saved = experiment(model, each)
            place, _, other = saved.setting.partition(".")
            assert other == each.pair.other
            assert each.trace.predictions.ids[int(place) - 1] == each.pair.ids[0]
            assert saved.shows.startswith(f"Why “{each.pair.word}” (")
            return


def test_the_command_keeps_what_was_saved_before(folder: Path, tmp_path: Path) -> None:
    before = Experiment("A.", "It shows.", 1.5, "cross.0.1")
    save_experiments(folder, {"head": [before]})
    data = tmp_path / "dev.tsv"
    data.write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS), encoding="utf-8")
    assert not main(["--checkpoint", str(folder), "--data", str(data), "--count", "9"])
    found = read_experiments(folder)
    assert found["head"] == (before,)
    assert all(each.shows.startswith("Why “") for each in found.get("words", ()))
