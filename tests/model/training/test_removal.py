"""What is left of examples while heads are removed, against the plain definition, and its file."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch

from model.checkpoints.shipped import CheckpointError
from model.explain.ablation_results import ExamplesRemoval
from model.explain.removal_file import read_removal, save_removal
from model.paper.decoding import greedy
from model.record.head_editing import editing_heads
from model.record.intervention import Intervention
from model.survey.over_texts import effects
from model.training.removal import examples_removal
from model.training.removal import main as removal
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

EXAMPLES = PAIRS[:3]


@pytest.fixture(scope="module")
def found(translator: Translator) -> ExamplesRemoval:
    return examples_removal(translator, EXAMPLES, steps=3, orders=2, seed=5)


def test_what_is_left_is_scored_sentence_by_sentence(
    translator: Translator, found: ExamplesRemoval
) -> None:
    heads = [(site, head) for site in translator.sites for head in range(4)]
    lost = dict.fromkeys(heads, 0.0)
    for example in EXAMPLES:
        for site, losses in effects(translator, *example).of().items():
            for head, loss in enumerate(losses):
                lost[site, head] += float(loss)
    order = sorted(heads, key=lost.__getitem__)
    assert found.sentences == 3
    assert found.log_prob.removed == found.chrf.removed == (0, 11, 21, 32)
    traces = [translator.trace(*each) for each in EXAMPLES]
    most = 2 * max(len(each.predictions) for each in traces)
    for place, count in enumerate(found.log_prob.removed):
        under = Intervention(heads=dict.fromkeys(order[:count], 0))
        log_probs = [translator.trace(*each, under=under).log_probs for each in EXAMPLES]
        expected = np.concatenate([each for each in log_probs if each is not None]).mean()
        assert found.log_prob.least_first[place] == pytest.approx(expected, abs=1e-5)
        texts = []
        for trace in traces:
            with editing_heads(under.heads):
                source = torch.tensor([trace.source.ids])
                (written,) = greedy(translator.model, source, max_length=most)
            texts.append(translator.tokenizer.decode(written.token_ids))
        chrf = sacrebleu.CHRF().corpus_score(texts, [[target for _, target in EXAMPLES]]).score
        assert found.chrf.least_first[place] == pytest.approx(chrf, abs=1e-3)


def test_random_orders_begin_and_end_like_the_others_and_go_their_own_way(
    translator: Translator, found: ExamplesRemoval
) -> None:
    for each in (found.log_prob, found.chrf):
        assert each.at_random.shape == (2, 4)
        np.testing.assert_array_equal(each.at_random[:, 0], each.least_first[0])
        np.testing.assert_array_equal(each.at_random[:, -1], each.least_first[-1])
    assert not np.array_equal(*found.log_prob.at_random)
    again = examples_removal(translator, EXAMPLES, steps=3, orders=2, seed=5)
    np.testing.assert_array_equal(again.log_prob.at_random, found.log_prob.at_random)


def test_the_file_comes_back_and_is_of_one_model(found: ExamplesRemoval, tmp_path: Path) -> None:
    assert read_removal(tmp_path, 32) is None
    save_removal(tmp_path, found)
    again = read_removal(tmp_path, 32)
    assert again is not None
    assert (again.sentences, again.chrf_signature) == (found.sentences, found.chrf_signature)
    for one, other in ((found.log_prob, again.log_prob), (found.chrf, again.chrf)):
        assert one.removed == other.removed
        np.testing.assert_allclose(other.least_first, one.least_first, atol=1e-4)
        np.testing.assert_allclose(other.at_random, one.at_random, atol=1e-4)
    with pytest.raises(CheckpointError, match=r"another model.*48 heads.*training\.removal"):
        read_removal(tmp_path, 48)


DAMAGES: list[dict[str, Any]] = [
    {"removed": [0, 11, 11, 32]},
    {"removed": [0, 21, 11, 32]},
    {"removed": [0, 11, 32]},
    {"removed": [0.0, 11, 21, 32]},
    {"removed": []},
    {"removed": None},
    {"sentences": 0},
    {"sentences": True},
    {"chrf_signature": 7},
    {"chrf": []},
    {"chrf": {"least_first": [1, 2, 3, 101], "at_random": [[1, 2, 3, 4]]}},
    {"chrf": {"least_first": [1, 2, 3, 4], "at_random": []}},
    {"chrf": {"least_first": [1, 2, 3, 4], "at_random": [[1, 2, 3]]}},
    {"chrf": {"least_first": [1, 2, 3, 4], "at_random": [[1, 2, 3, 4], [1]]}},
    {"log_prob": {"least_first": [-1, -2, -3, 0.5], "at_random": [[-1, -2, -3, -4]]}},
    {"log_prob": {"least_first": [-1, -2, -3, float("nan")], "at_random": [[-1, -2, -3, -4]]}},
    {"log_prob": {"least_first": ["a", -2, -3, -4], "at_random": [[-1, -2, -3, -4]]}},
    {"log_prob": {"least_first": [-(10**400), -2, -3, -4], "at_random": [[-1, -2, -3, -4]]}},
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage)[:60])
def test_a_damaged_file_is_named_in_a_sentence(
    found: ExamplesRemoval, tmp_path: Path, damage: dict[str, Any]
) -> None:
    save_removal(tmp_path, found)
    path = tmp_path / "removal.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | damage), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"removal\.json is damaged"):
        read_removal(tmp_path, 32)


def test_the_command_writes_the_file_of_a_checkpoint_with_examples(
    checkpoint_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(checkpoint_folder, folder)
    command = ["--checkpoint", str(folder), "--orders", "1", "--threads", "1"]
    (folder / "examples.json").write_text('[{"source": 1}]', encoding="utf-8")
    assert removal(command) == 1
    assert "examples.json has no examples" in capsys.readouterr().err
    listed = [{"source": one, "translation": other, "shows": "."} for one, other in EXAMPLES]
    (folder / "examples.json").write_text(json.dumps(listed), encoding="utf-8")
    assert removal(command) == 0
    found = read_removal(folder, 32)
    assert found is not None
    assert len(found.chrf.at_random) == 1
    assert found.chrf.least_first[0] == 100
