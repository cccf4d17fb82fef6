"""Models of Hugging Face's from a folder: what they write, what is recorded, what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.__main__ import main
from model.checkpoints.shipped import CheckpointError
from model.paper.search import Search
from model.trace.trace import Trace
from model.translate.hf_folder import Purpose, is_foreign, load_foreign
from model.translate.hf_model import FILLS
from model.translate.sentences import TextError
from model.translate.translator import load
from tests.kit.foreign_folders import FAMILIES, save_foreign

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parents[3] / "checkpoints" / "en-de"
SENTENCE = "The cat sat on the mat."
CLEAR = "He has bought a new computer."
"""For shipped models; no other translation comes near, and Hugging Face's length penalty, another
than the paper's, finds the same."""
WRITERS = ("marian", "t5", "bart", "pegasus", "gpt2", "llama")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = tmp_path_factory.mktemp("foreign")
    return {family: (made / family, save_foreign(made / family, family)) for family in FAMILIES}


@pytest.fixture
def bert(tmp_path):
    save_foreign(tmp_path / "bert", "bert")
    return tmp_path / "bert"


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize("family", WRITERS)
def test_what_is_written_is_what_generate_gives_and_its_pass_is_the_models_own(folders, family):
    folder, theirs = folders[family]
    opened = load_foreign(folder, device="cpu")
    trace = opened.read("the cat sat on the mat").trace
    given = opened.tokenizer("the cat sat on the mat", return_tensors="pt")
    rows = torch.tensor([trace.target.ids])
    eager = type(theirs).from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        if opened.purpose is Purpose.TRANSLATE:
            output = eager(
                input_ids=given.input_ids, decoder_input_ids=rows, output_attentions=True
            )
            given_maps = {
                "encoder": output.encoder_attentions,
                "decoder": output.decoder_attentions,
                "cross": output.cross_attentions,
            }
        else:
            output = eager(input_ids=rows, output_attentions=True)
            given_maps = {"decoder": output.attentions}
    assert {str(site.kind) for site in trace.maps} == set(given_maps)
    for kind, layers in given_maps.items():
        assert trace.layers(kind) == tuple(range(len(layers)))
        for layer, weights in enumerate(layers):
            found = trace.attention(kind, layer).weights
            np.testing.assert_allclose(found, weights[0].numpy(), atol=1e-6)
    # Greedy: each row's likeliest token is the one that was written.
    assert output.logits[0].argmax(-1).tolist() == list(trace.predictions.ids)
    n_given = 1 if opened.purpose is Purpose.TRANSLATE else given.input_ids.shape[1]
    assert trace.predictions.ids[n_given - 1 : -1] == trace.target.ids[n_given:]
    log_probs = output.logits[0].log_softmax(-1)
    expected = log_probs[torch.arange(len(rows[0])), list(trace.predictions.ids)]
    np.testing.assert_allclose(trace.log_probs, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_gap_is_filled_with_the_likeliest_tokens(folders, family):
    folder, theirs = folders[family]
    opened = load_foreign(folder, device="cpu")
    answer = opened.read("the cat [MASK] on the [MASK]")
    mask = opened.tokenizer.mask_token
    ids = opened.tokenizer(f"the cat {mask} on the {mask}", return_tensors="pt").input_ids
    places = (ids[0] == opened.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    assert answer.trace.source.ids == tuple(ids[0].tolist())
    assert len(answer.fills) == len(places) == 2
    with torch.no_grad():
        rows = theirs(input_ids=ids).logits[0].softmax(-1)
    for place, fills in zip(places, answer.fills, strict=True):
        expected = rows[place].topk(FILLS).values.tolist()
        assert [share for _, share in fills] == pytest.approx(expected, abs=1e-6)
    assert {str(site.kind) for site in answer.trace.maps} == {"encoder"}


@pytest.mark.parametrize("family", ["bert", "bert-body"])
def test_a_text_without_a_gap_is_read_as_it_is(folders, family):
    answer = load_foreign(folders[family][0], device="cpu").read("the cat")
    assert not answer.fills
    assert not answer.trace.text
    assert answer.trace.source.tokens[:2] == ("[CLS]", "▁the")


def test_the_export_of_ours_gives_the_same_translation_and_weights(tmp_path):
    assert main(["export-hf", str(SHIPPED), str(tmp_path / "hf")]) == 0
    ours = load(SHIPPED, device="cpu")
    theirs = load_foreign(tmp_path / "hf", device="cpu").read(CLEAR).trace
    mine = ours.trace(CLEAR)
    assert theirs.text == mine.text == ours.translate(CLEAR, search=Search()).text
    assert (theirs.source, theirs.target) == (mine.source, mine.target)
    assert theirs.predictions == mine.predictions
    assert theirs.maps.keys() == mine.maps.keys()
    for site, expected in mine.maps.items():
        np.testing.assert_allclose(theirs.maps[site].weights, expected.weights, atol=1e-5)
    np.testing.assert_allclose(theirs.log_probs, mine.log_probs, atol=1e-4)


def test_the_documented_lines_give_a_saved_trace(tmp_path, monkeypatch, capsys):
    save_foreign(tmp_path / "models" / "opus-mt-en-de", "marian")
    page = (SHIPPED.parents[1] / "docs" / "your-own-model.md").read_text(encoding="utf-8")
    (lines,) = [
        each for each in re.findall(r"```python\n(.*?)```", page, re.S) if "load_reader" in each
    ]
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    assert Trace.load(tmp_path / "cat.npz").text in capsys.readouterr().out


def test_parts_of_weights_open_as_one_file_does(tmp_path, folders):
    save_foreign(tmp_path / "gpt2", "gpt2", shard="4KB")
    assert len(list((tmp_path / "gpt2").glob("model-*.safetensors"))) > 1
    parts = load_foreign(tmp_path / "gpt2", device="cpu").read("the cat")
    whole = load_foreign(folders["gpt2"][0], device="cpu").read("the cat")
    assert parts.trace.predictions == whole.trace.predictions


def test_a_pickle_is_refused_until_the_person_says_otherwise(bert, capsys):
    from safetensors.torch import load_file

    weights = bert / "model.safetensors"
    before = load_foreign(bert, device="cpu").read("the cat").trace
    torch.save(load_file(weights), bert / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"pickle.*unpickle of Headscope"):
        load_foreign(bert)
    assert main(["unpickle", str(bert)]) == 1
    assert "--trust-author" in capsys.readouterr().err
    assert not weights.exists()
    assert main(["unpickle", str(bert), "--trust-author"]) == 0
    after = load_foreign(bert, device="cpu").read("the cat").trace
    for site, each in before.maps.items():
        assert np.array_equal(each.weights, after.maps[site].weights)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1,000,000,000"),
        ({"vocab_size": 10**12}, "vocab_size is"),
        ({"hidden_size": 1 << 20, "intermediate_size": 1 << 20}, "parameters, but its weights"),
        ({"model_type": "nothing-known"}, "transformers cannot open"),
        ({"model_type": 5}, "must be names"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised"),
        ({"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine"}}, "transformers cannot"),
        (
            {"hidden_size": 32},
            r"do not fit its config\.json: .* is .*16, and by the configuration .*32; take both",
        ),
        ({"num_hidden_layers": 3}, "incomplete"),
    ],
)
def test_a_configuration_that_fits_nothing_is_refused_in_a_sentence(bert, values, words):
    change(bert / "config.json", **values)
    with pytest.raises(CheckpointError, match=words):
        load_foreign(bert, device="cpu")


def test_more_than_the_free_memory_is_refused_before_it_is_taken(bert, monkeypatch):
    monkeypatch.setattr("model.translate.hf_folder.free_bytes", lambda: 1000)
    with pytest.raises(CheckpointError, match="GiB are free"):
        load_foreign(bert, device="cpu")


def test_damaged_weights_links_out_and_no_numbers_are_refused(bert, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = bert / "model.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(good[:-100])
    with pytest.raises(CheckpointError, match="damaged"):
        load_foreign(bert)
    weights.write_bytes(good)
    state = load_file(weights)
    next(iter(state.values())).fill_(float("nan"))
    save_file(state, weights, metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match="NaN or infinity"):
        load_foreign(bert)
    weights.unlink()
    with pytest.raises(CheckpointError, match="lacks"):
        load_foreign(bert)
    (tmp_path / "elsewhere").write_bytes(good)
    weights.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="link out of its folder"):
        load_foreign(bert)


def test_code_that_comes_with_a_folder_never_runs(bert):
    mark = bert / "ran"
    (bert / "mine.py").write_text(f"open({str(mark)!r}, 'w')")
    change(bert / "config.json", auto_map={"AutoModelForMaskedLM": "mine.Mine"})
    change(bert / "tokenizer_config.json", auto_map={"AutoTokenizer": ["mine.Mine", None]})
    assert load_foreign(bert, device="cpu").read("the cat").trace.maps
    assert not mark.exists()


def test_without_transformers_a_sentence_says_what_to_install(bert, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(CheckpointError, match="pip install transformers"):
        load_foreign(bert)


@pytest.mark.parametrize("family", ["marian", "gpt2", "bert", "roberta"])
def test_texts_that_cannot_be_read_are_refused_and_odd_ones_are_not(folders, family):
    opened = load_foreign(folders[family][0], device="cpu")
    for text in ("", " \n"):
        with pytest.raises(TextError, match="empty"):
            opened.read(text)
    with pytest.raises(TextError, match="shorten"):
        opened.read("cat " * 80)
    lengths = [len(opened.tokenizer("cat " * n).input_ids) for n in range(80)]
    longest = max(n for n, length in enumerate(lengths) if length <= 62)
    for text in "cat " * longest, "\ud800 cat", "a\x00cat", "猫 cat </s> <pad>":
        assert opened.read(text).trace.maps


def test_only_folders_of_theirs_are_theirs(folders, tmp_path):
    assert is_foreign(folders["bert"][0])
    assert not is_foreign(SHIPPED)
    assert not is_foreign(tmp_path)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_gpu_sees_what_the_cpu_sees(folders, family):
    on_gpu = load_foreign(folders[family][0], device="cuda").read("the cat sat").trace
    on_cpu = load_foreign(folders[family][0], device="cpu").read("the cat sat").trace
    assert on_gpu.source == on_cpu.source
    for site, each in on_cpu.maps.items():
        if each.queries == on_gpu.maps[site].queries:
            np.testing.assert_allclose(on_gpu.maps[site].weights, each.weights, atol=1e-4)


def test_a_folder_without_tokenizer_or_attention_is_refused_at_load(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"]}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(
        CheckpointError, match=r"lacks its tokenizer's files, such as tokenizer\.js"
    ):
        load_foreign(tmp_path)
    (tmp_path / "config.json").write_text(
        '{"model_type": "mamba", "architectures": ["MambaModel"]}'
    )
    with pytest.raises(CheckpointError, match=r"config\.json is of the family mamba, which has no"):
        load_foreign(tmp_path)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "vit", "image_size": 224}, "the family vit, which reads images or sound"),
        ({"model_type": "led", "vocab_size": 40}, "the family led, which reads a text in windows"),
    ],
)
def test_folders_whose_models_read_no_whole_text_are_refused_by_name(tmp_path, config, words):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Some"], **config}))
    with pytest.raises(CheckpointError, match=rf"config\.json is of {words}"):
        load_foreign(tmp_path)
