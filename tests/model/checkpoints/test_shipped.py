"""What every shipped checkpoint promises: it loads, it translates its examples, its maps add up."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import snapshot_file, snapshots, training_runs
from model.checkpoints.folder_files import read_json
from model.explain.removal_file import read_removal
from model.paper.tokenizer import BOS, EOS
from model.record.recording import recording
from model.trace.attention_map import AttentionKind, Site
from model.training.snapshots import mean_entropies
from model.translate.translator import Translator, load
from tests.kit.packing import needs_rows_apart
from tests.kit.tiny_checkpoint import PAIRS, SNAPSHOTS, write_tiny_snapshots

pytestmark = pytest.mark.slow

TINY = "tiny-childhood"
"""Made up while testing, so that snapshots are held to their promises where none are shipped."""

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
FOLDERS = sorted(
    folder.parent
    for folder in CHECKPOINTS.glob("??-??*/config.json")
    if folder.parent.name != "en-de-cheating"
)
"""Of translators; what toys promise is in test_toys.py, and the twin that cannot write in
test_cheating.py."""
SENTENCE = "She told me that she had never seen such a beautiful garden."


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def folder(request) -> Path:
    return request.param


@pytest.fixture(scope="module")
def shipped(folder) -> Translator:
    return load(folder, device="cpu")


def examples(folder: Path) -> list[dict[str, str]]:
    return json.loads((folder / "examples.json").read_text(encoding="utf-8"))


def test_at_least_one_checkpoint_is_shipped():
    assert "en-de" in [folder.name for folder in FOLDERS]


def test_the_card_counts_all_training_behind_the_weights(folder):
    runs = training_runs(read_json(folder / "metrics.json"))
    tokens = sum(run["target_tokens"] for run in runs)
    assert f"{tokens / 1e6:.1f} million" in (folder / "card.md").read_text("utf-8")


def test_the_shipped_model_counts_the_part_under_its_first_vocabulary():
    runs = training_runs(read_json(CHECKPOINTS / "en-de" / "metrics.json"))
    steps = [6500, 8900, 500, 135, 1400, 480, 2400, 1500, 2000, 1600, 1200, 600, 758]
    assert [run["steps"] for run in runs] == steps
    assert sum(run["target_tokens"] for run in runs) == 144_606_907


def test_files_are_small_enough_for_a_code_host(folder):
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    assert max(sizes) < 50_000_000
    assert sum(sizes) < (60_000_000 if snapshots(folder) else 120_000_000)


def test_what_is_left_of_the_examples_without_heads_comes_with_the_model(folder, shipped):
    n_heads = len(shipped.sites) * shipped.model.config.n_heads
    found = read_removal(folder, n_heads)
    assert found.sentences == len(examples(folder))
    traces = [shipped.trace(each["source"], each["translation"]) for each in examples(folder)]
    mean = np.concatenate([trace.log_probs for trace in traces]).mean()
    for curves in (found.log_prob, found.chrf):
        assert len(curves.at_random) == 20
    assert found.log_prob.least_first[0] == pytest.approx(mean, abs=1e-3)


def test_every_example_is_translated_exactly_as_promised(folder, shipped):
    promised = {each["source"]: each["translation"] for each in examples(folder)}
    found = {source: shipped.translate(source).text for source in promised}
    assert found == promised
    assert all(each["shows"] for each in examples(folder))


@needs_rows_apart
def test_examples_are_translated_alike_to_the_bit_in_one_batch_and_alone(
    folder, shipped, monkeypatch
):
    sources = [each["source"] for each in examples(folder)]
    # Of half the length too, so that few have equals to be batched with.
    sources += [source[: len(source) // 2].strip() for source in sources]
    alone = [shipped.translate(source) for source in sources]
    # The first batch is translated one by one as well.
    shipped.translate_batch(sources[:2])
    monkeypatch.setattr(shipped, "translate", None)
    for own, found in zip(alone, shipped.translate_batch(sources), strict=True):
        assert (found.token_ids, found.log_probs) == (own.token_ids, own.log_probs)
        assert found.score == own.score


def test_ten_good_examples_and_ten_bad_ones_come_with_the_card(folder):
    assert len(examples(folder)) >= 10
    _, _, bad = (folder / "card.md").read_text(encoding="utf-8").partition("## Bad at")
    rows = [line for line in bad.splitlines() if line.startswith("|")]
    assert len(rows) - len(("heading", "rule")) >= 10


def test_the_metrics_hold_a_score_that_can_be_repeated(shipped):
    test = shipped.metrics["test"]
    # A model made for its snapshots is a tiny one.
    assert test["bleu"] >= (15 if "snapshots" in shipped.metrics else 28)
    assert test["beam"] == 4
    assert "case:mixed" in test["signature"]
    assert "tok:13a" in test["signature"]
    assert test["sentences"] == 3000


def test_what_training_nearly_held_is_scored_apart_and_comes_out_better(folder, shipped):
    test = shipped.metrics["test"]
    near, far = test["near"], test["far"]
    assert near["sentences"] + far["sentences"] == test["sentences"]
    assert near["bleu"] > test["bleu"] > far["bleu"]
    card = (folder / "card.md").read_text(encoding="utf-8")
    for name, part in (("at most one word away", near), ("all others", far)):
        assert (
            f"| {name} | {part['sentences']:,} | {part['bleu']:.1f} | {part['chrf']:.1f} |" in card
        )


def test_the_card_names_data_licences_scores_and_weaknesses(folder, shipped):
    card = (folder / "card.md").read_text(encoding="utf-8")
    for word in ("CC BY 2.0 FR", "sacrebleu", "Bad at", "hardware", str(shipped.metrics["steps"])):
        assert word.lower() in card.lower().replace(",", ""), word
    assert f"{shipped.metrics['test']['bleu']:.1f}" in card


def test_weights_are_those_of_softmax_over_the_recorded_scores(shipped):
    trace = shipped.trace(SENTENCE)
    config = shipped.model.config
    assert len(trace.maps) == config.n_encoder_layers + 2 * config.n_decoder_layers
    for seen in trace.maps.values():
        scores = np.where(seen.allowed, seen.scores, -np.inf)
        shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
        np.testing.assert_allclose(
            seen.weights, shifted / shifted.sum(axis=-1, keepdims=True), atol=1e-6
        )
        rebuilt = seen.q @ seen.k.swapaxes(-2, -1) / np.sqrt(seen.q.shape[-1])
        np.testing.assert_allclose(seen.scores, rebuilt, atol=1e-3, rtol=1e-4)


def test_the_heads_parts_add_up_to_each_modules_output(shipped):
    encoder, decoder = shipped.model.encoder.layers, shipped.model.decoder.layers
    modules = {
        **{Site(AttentionKind.ENCODER, i): each.self_attention for i, each in enumerate(encoder)},
        **{Site(AttentionKind.DECODER, i): each.self_attention for i, each in enumerate(decoder)},
        **{Site(AttentionKind.CROSS, i): each.cross_attention for i, each in enumerate(decoder)},
    }
    outputs = {}

    def keep(site):
        return lambda module, inputs, output: outputs.update({site: output[0]})

    handles = [module.register_forward_hook(keep(site)) for site, module in modules.items()]
    try:
        trace = shipped.trace(SENTENCE)
    finally:
        for handle in handles:
            handle.remove()
    assert set(outputs) == set(trace.maps)
    for site, seen in trace.maps.items():
        heads = torch.from_numpy(seen.weights @ seen.v)[None]
        with torch.inference_mode():
            total = modules[site].head_parts(heads).sum(dim=1) + modules[site].w_o.bias
        torch.testing.assert_close(total, outputs[site], atol=1e-4, rtol=1e-4)


def test_recording_changes_no_more_than_rounding(shipped):
    translation = shipped.translate(SENTENCE)
    source = torch.tensor([translation.source.ids])
    target = torch.tensor([[shipped.model.config.bos_id, *translation.token_ids[:-1]]])
    with torch.inference_mode():
        plain = shipped.model(source, target)
        with recording():
            recorded = shipped.model(source, target)
    torch.testing.assert_close(recorded, plain, atol=1e-5 * float(plain.abs().max()), rtol=1e-5)


def test_the_recorded_pass_equals_step_by_step_decoding(shipped):
    translation = shipped.translate(SENTENCE)
    trace = shipped.trace_of(translation)
    np.testing.assert_allclose(trace.log_probs, translation.log_probs, atol=1e-3)


def test_a_source_of_512_tokens_is_recorded_in_what_its_matrices_take(shipped):
    words = SENTENCE.replace(".", " .").split() * 60
    count = len(words)
    while len(shipped.tokenizer.encode(" ".join(words[:count]))) + 1 > shipped.max_tokens:
        count -= 1
    text = " ".join(words[:count])
    source = len(shipped.tokenizer.encode(text)) + 1
    assert source > shipped.max_tokens - 4
    target_text = "Die Katze saß auf der Matte."
    trace = shipped.trace(text, target=target_text)
    config = shipped.model.config
    target = len(trace.target)
    cells = config.n_encoder_layers * source**2 + config.n_decoder_layers * (
        target**2 + target * source
    )
    # Two float32 matrices a head, one boolean mask a site, and the vectors of every token.
    matrices = cells * (2 * 4 * config.n_heads + 1)
    tokens = config.n_encoder_layers * 3 * source + config.n_decoder_layers * (
        3 * target + target + 2 * source
    )
    vectors = tokens * config.n_heads * config.key_width * 4
    assert trace.nbytes <= 1.05 * (matrices + vectors)
    np.testing.assert_allclose(trace.attention("encoder", 0).weights.sum(axis=-1), 1, atol=1e-4)


# ---- snapshots ---------------------------------------------------------------------------------


@pytest.fixture(
    scope="module", params=[TINY, *(folder.name for folder in FOLDERS if snapshots(folder))]
)
def learning(request, tmp_path_factory) -> Path:
    """A checkpoint folder with snapshots."""
    if request.param == TINY:
        return write_tiny_snapshots(tmp_path_factory.mktemp("checkpoints") / TINY)
    return CHECKPOINTS / request.param


@pytest.fixture(scope="module")
def grown(learning) -> list[Translator]:
    """Its model, snapshot by snapshot."""
    return [load(learning, device="cpu", snapshot=k) for k in range(len(snapshots(learning)))]


def sentence_of(folder: Path) -> str:
    return PAIRS[0][0] if folder.name == TINY else SENTENCE


def test_snapshots_begin_untrained_and_grow_further_and_further_apart(learning):
    steps = snapshots(learning)
    assert steps[0] == 0
    gaps = np.diff(steps)
    assert (gaps > 0).all()
    assert (np.diff(gaps) > 0).mean() >= 0.8


def test_the_model_itself_is_stored_once(learning):
    assert not [*learning.glob("*.safetensors")]
    last = load(learning, device="cpu", snapshot=-1).model.state_dict()
    for name, value in load(learning, device="cpu").model.state_dict().items():
        assert torch.equal(last[name], value), name


def test_every_snapshot_differs_from_the_one_before(grown):
    for before, after in itertools.pairwise(grown):
        assert not torch.equal(
            before.model.source_embedding.weight, after.model.source_embedding.weight
        )


def test_every_snapshot_has_its_line_in_the_metrics(learning):
    listed = read_json(learning / "metrics.json")["snapshots"]
    assert [each["step"] for each in listed] == list(snapshots(learning))
    for each in listed:
        assert each["loss"] > 0
        assert 0 <= each["bleu"] <= 100
        assert 0 <= each["chrf"] <= 100
    assert listed[-1]["loss"] < listed[0]["loss"]
    assert listed[-1]["bleu"] > listed[0]["bleu"]


def test_the_metrics_hold_the_entropy_of_every_head_of_every_snapshot(learning, grown):
    listed = read_json(learning / "metrics.json")["snapshots"]
    for translator, each in zip(grown, listed, strict=True):
        config = translator.model.config
        shapes = {kind: np.shape(layers) for kind, layers in each["entropy"].items()}
        assert shapes == {
            "encoder": (config.n_encoder_layers, config.n_heads),
            "decoder": (config.n_decoder_layers, config.n_heads),
            "cross": (config.n_decoder_layers, config.n_heads),
        }
        for layers in each["entropy"].values():
            assert (np.array(layers) >= 0).all()
            assert (np.array(layers) < np.log2(config.max_positions)).all()


def test_in_every_snapshot_rows_of_weights_sum_to_one_and_forbidden_ones_are_zero(learning, grown):
    for translator in grown:
        trace = translator.trace(sentence_of(learning), target="Eine Frau liest ein Buch.")
        assert len(trace.maps) == len(translator.sites)
        for seen in trace.maps.values():
            np.testing.assert_allclose(seen.weights.sum(axis=-1), 1, atol=1e-5)
            assert not seen.weights[:, ~seen.allowed].any()
        for layers in mean_entropies([trace]).values():
            assert np.isfinite(layers).all()


def test_in_every_snapshot_recording_changes_no_more_than_rounding(learning, grown):
    for translator in grown:
        encode = translator.tokenizer.encode
        source = torch.tensor([[*encode(sentence_of(learning)), EOS]])
        target = torch.tensor([[BOS, *encode("Eine Frau liest ein Buch.")]])
        with torch.inference_mode():
            plain = translator.model(source, target)
            with recording():
                recorded = translator.model(source, target)
        torch.testing.assert_close(recorded, plain, atol=1e-5 * float(plain.abs().max()), rtol=1e-5)


def test_every_snapshot_translates_and_ends_within_its_length(learning, grown):
    for translator in grown:
        translation = translator.translate(sentence_of(learning))
        assert len(translation.token_ids) <= translator.max_tokens
        assert np.isfinite(translation.log_probs).all()


def test_the_made_up_checkpoint_knows_its_sentences_at_last_and_none_at_first(tmp_path):
    folder = write_tiny_snapshots(tmp_path / TINY)
    assert snapshot_file(folder, SNAPSHOTS[-1]).exists()
    # Where the last bits of a product differ, so small a training may miss one of them.
    for k, known in ((0, {0}), (-1, {len(PAIRS) - 1, len(PAIRS)})):
        translator = load(folder, device="cpu", snapshot=k)
        found = [translator.translate(source).text == target for source, target in PAIRS]
        assert sum(found) in known
