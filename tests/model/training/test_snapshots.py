"""What a model was like at each step: loss, scores and entropies."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from model.explain.facts import head_facts
from model.paper.tokenizer import BOS, EOS
from model.survey.parallel_text import Pair
from model.training.evaluate import translate_all, translation_scores
from model.training.snapshots import (
    mean_entropies,
    snapshot_scores,
    validation_loss,
)
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS, SNAPSHOTS, write_tiny_snapshots

pytestmark = pytest.mark.slow

PAIRED = [Pair(*pair) for pair in PAIRS]


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> list[Translator]:
    """The same model, snapshot by snapshot."""
    folder: Path = write_tiny_snapshots(tmp_path_factory.mktemp("checkpoints") / "childhood")
    return [load(folder, device="cpu", snapshot=place) for place in range(len(SNAPSHOTS))]


def test_mean_entropies_average_over_sentences_for_every_kind_layer_and_head(learning):
    translator = learning[-1]
    traces = [translator.trace(*pair) for pair in PAIRS[:3]]
    found = mean_entropies(iter(traces))
    config = translator.model.config
    layers = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers,
    }
    assert {kind: len(each) for kind, each in found.items()} == layers
    for kind, each in found.items():
        for layer, heads in enumerate(each):
            expected = np.mean(
                [head_facts(trace.attention(kind, layer))["entropy"] for trace in traces], axis=0
            )
            assert heads == pytest.approx(expected, abs=1e-4)
    assert json.loads(json.dumps(found)) == found


def test_the_loss_is_that_of_each_target_token_given_those_before_it(learning):
    translator = learning[1]
    losses = []
    for source, target in PAIRS:
        ids = translator.tokenizer.encode(target)
        with torch.inference_mode():
            logits = translator.model(
                torch.tensor([[*translator.tokenizer.encode(source), EOS]]),
                torch.tensor([[BOS, *ids]]),
            )
        losses += F.cross_entropy(logits[0], torch.tensor([*ids, EOS]), reduction="none").tolist()
    assert validation_loss(translator, PAIRED) == pytest.approx(np.mean(losses), abs=1e-4)


def test_a_snapshots_scores_are_those_of_greedy_decoding_of_the_first_pairs(learning):
    translator = learning[-1]
    found = snapshot_scores(translator, PAIRED, sentences=4)
    translations = translate_all(translator.model, translator.tokenizer, [s for s, _ in PAIRS[:4]])
    expected = translation_scores(translations, [target for _, target in PAIRS[:4]])
    assert found.keys() == {"loss", "bleu", "chrf", "entropy"}
    assert found["bleu"] == expected["bleu"] == 100
    assert found["chrf"] == expected["chrf"]
    assert found["loss"] == pytest.approx(validation_loss(translator, PAIRED), abs=1e-4)
    assert found["entropy"] == mean_entropies(translator.trace(*pair) for pair in PAIRS[:4])


def test_a_sentence_longer_than_the_model_takes_is_refused_by_name(learning):
    with pytest.raises(TextError, match="tokens"):
        snapshot_scores(learning[-1], [Pair("the cat " * 100, "die Katze")])
