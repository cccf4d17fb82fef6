"""A checkpoint in Hugging Face's format, as transformers loads it from the folder alone."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from headscope.__main__ import main
from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint, save_snapshots
from model.checkpoints.export_hf import ExportError, hugging_face_state
from model.paper.config import TransformerConfig
from model.paper.search import Rules, Search
from model.paper.tokenizer import BOS, EOS, UNK
from model.paper.transformer import Transformer
from model.translate.translator import Translator, load
from model.watch import watching
from tests.kit.full_disk import full_disk
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.torch_twins import hugging_face_twin, scatter

SHIPPED = Path(__file__).parents[3] / "checkpoints" / "en-de"
SENTENCES = {
    "shipped": [each["source"] for each in json.loads((SHIPPED / "examples.json").read_bytes())],
    "tiny": [english for english, _ in PAIRS],
}
HOSTILE = (
    "",
    "  two  spaces ",
    "</s>",
    "<s> and <unk><pad>",
    "猫 and 😀",
    "ﬁne ½ Ⅷ e\u0301",
    "▁under▁score <0x41>",
    "don't; ~!",
    "A" * 300,
)
REWRITTEN = ("“Hi” – he said… it’s »so«", "a\tb\nc", "\u2028a", "so\xadft\u200b \x07\ufeff")


class Exported:
    """A checkpoint, and what transformers loads of its export."""

    def __init__(self, name: str, checkpoint: Path, folder: Path) -> None:
        # Seconds, which only the worker that comes here shall pay.
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        assert main(["export-hf", str(checkpoint), str(folder)]) == 0
        self.sentences = SENTENCES[name][:3]
        self.ours: Translator = load(checkpoint, device="cpu")
        # Their own attention is what can be asked for its weights.
        self.theirs: Any = AutoModelForSeq2SeqLM.from_pretrained(
            folder, attn_implementation="eager", local_files_only=True
        )
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def translate(self, text: str, **settings: Any) -> str:
        ids = self.theirs.generate(**self.tokenizer(text, return_tensors="pt"), **settings)
        return str(self.tokenizer.decode(ids[0], skip_special_tokens=True))


@pytest.fixture(scope="module", params=["shipped", "tiny"])
def exported(
    request: pytest.FixtureRequest,
    checkpoint_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Exported:
    checkpoint = SHIPPED if request.param == "shipped" else checkpoint_folder
    return Exported(request.param, checkpoint, tmp_path_factory.mktemp("export") / "hf")


@pytest.mark.slow
def test_any_text_has_the_same_ids_as_it_is_read(exported):
    own, theirs = exported.ours.tokenizer, exported.tokenizer
    for text in (*exported.sentences, *HOSTILE):
        assert theirs(text).input_ids == [*own.encode(text), EOS], text
    for text in REWRITTEN:
        expected = [*own.encode(text), EOS]
        assert theirs(text).input_ids != expected, text
        assert theirs(own.read_as(text)).input_ids == expected, text
    # What they take for the code of a language.
    assert theirs(">>de<< cat").input_ids[0] == UNK


@pytest.mark.slow
def test_ids_are_the_same_text(exported):
    own, theirs = exported.ours.tokenizer, exported.tokenizer
    for text in (*exported.sentences, "猫 and 😀, 3.5 %  !"):
        ids = own.encode(text)
        assert theirs.decode([BOS, *ids, EOS], skip_special_tokens=True) == own.decode(ids)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_without_length_penalty_translations_are_the_same(exported, beam):
    search = Search(beam=beam, length_penalty=0)
    for text in exported.sentences:
        found = exported.translate(
            text, num_beams=beam, length_penalty=0.0, early_stopping="never" if beam > 1 else False
        )
        assert found == exported.ours.translate(text, search=search).text


@pytest.mark.slow
def test_to_its_end_generate_is_our_search_with_their_length_penalty(exported):
    search = Search(rules=Rules(penalty="power"))
    for text in exported.sentences:
        found = exported.translate(text, early_stopping="never")
        assert found == exported.ours.translate(text, search=search).text


@pytest.mark.slow
def test_log_probabilities_and_every_weight_are_the_same(exported):
    for text in exported.sentences:
        trace = exported.ours.trace(text)
        with torch.no_grad():
            output = exported.theirs(
                **exported.tokenizer(text, return_tensors="pt"),
                decoder_input_ids=torch.tensor([trace.target.ids]),
                output_attentions=True,
            )
        said = output.logits[0].log_softmax(dim=-1)
        log_probs = said.gather(1, torch.tensor(trace.predictions.ids)[:, None])[:, 0]
        np.testing.assert_allclose(log_probs, trace.log_probs, atol=1e-4, rtol=0)
        attentions = {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
        assert sum(map(len, attentions.values())) == len(trace.maps)
        for site, seen in trace.maps.items():
            weights = attentions[site.kind][site.layer][0]
            np.testing.assert_allclose(weights, seen.weights, atol=1e-5, rtol=0, err_msg=str(site))


@pytest.mark.slow
def test_watched_it_gives_the_trace_that_ours_gives(exported):
    trace = exported.ours.trace(exported.sentences[0])
    with torch.no_grad(), watching() as seen:
        exported.theirs(
            input_ids=torch.tensor([trace.source.ids]),
            decoder_input_ids=torch.tensor([trace.target.ids]),
        )
    found = seen.trace(source=trace.source, target=trace.target)
    assert found.maps.keys() == trace.maps.keys()
    for site, expected in trace.maps.items():
        np.testing.assert_allclose(found.maps[site].weights, expected.weights, atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [
        {"norm": "post"},
        {"norm": "pre", "head_layout": "per_head"},
        {"norm": "pre", "fused_qkv": True, "attention_bias": False},
        {"norm": "post", "activation": "gelu", "scale_embeddings": False},
        {"norm": "pre", "n_encoder_layers": 1, "n_decoder_layers": 3, "max_positions": 9},
    ],
    ids=str,
)
def test_every_variant_that_is_not_refused_gives_the_same_logits(
    build: Callable[..., Transformer], variant: dict[str, Any]
) -> None:
    ours = build(**variant)
    torch.manual_seed(7)
    scatter(ours)
    source = torch.tensor([[5, 6, 7, 8, EOS], [20, 9, EOS, 0, 0]])
    target = torch.tensor([[BOS, 31, 11, 12], [BOS, 14, 38, 17]])
    theirs = hugging_face_twin(ours)
    with torch.no_grad():
        expected = ours(source, target)
        found = theirs(
            input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=target
        )
    torch.testing.assert_close(found.logits, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(
    ("variant", "difference"),
    [
        ({"positions": "learned"}, "positions learned, .* have sinusoidal"),
        ({"positions": "rotary"}, "positions rotary, .* have sinusoidal"),
        ({"scoring": "additive"}, "scoring additive, .* have scaled_dot_product"),
        ({"scoring": "dot_product"}, "scoring dot_product, .* have scaled_dot_product"),
        ({"tie_embeddings": False}, "tie_embeddings False, .* have True"),
        ({"layer_norm_eps": 1e-6}, "layer_norm_eps 1e-06, .* have 1e-05"),
        ({"d_k": 6}, "d_k times n_heads 24, .* have 32"),
        ({"d_v": 16}, "d_v times n_heads 64, .* have 32"),
        ({"n_heads": 3, "d_k": 10, "d_v": 10}, "d_k times n_heads 30, .* have 32"),
    ],
    ids=str,
)
def test_an_architecture_that_differs_is_refused_by_what_differs(build, variant, difference):
    with pytest.raises(ExportError, match=rf"^This checkpoint cannot .* it has {difference}\.$"):
        hugging_face_state(build(**variant))


def test_a_checkpoint_that_cannot_be_exported_makes_no_folder(checkpoint_folder, tmp_path, capsys):
    tokenizer = load_checkpoint(checkpoint_folder).tokenizer
    config = TransformerConfig(
        **{"vocab_size": len(tokenizer), "d_model": 8, "d_ff": 8, "n_heads": 2},
        **{"n_encoder_layers": 1, "n_decoder_layers": 1, "positions": "learned"},
    )
    save_checkpoint(tmp_path / "learned", Transformer(config), tokenizer)
    assert main(["export-hf", str(tmp_path / "learned"), str(tmp_path / "hf")]) == 1
    assert "positions learned" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["learned"]


def test_a_folder_that_holds_anything_is_left_alone(checkpoint_folder, tmp_path, capsys):
    (tmp_path / "mine").write_bytes(b"mine")
    assert main(["export-hf", str(checkpoint_folder), str(tmp_path)]) == 1
    said = f"'{tmp_path}' cannot be written: it is not empty; name a new folder.\n"
    assert capsys.readouterr().err == said
    assert os.listdir(tmp_path) == ["mine"]


def test_on_a_full_disk_nothing_is_exported(checkpoint_folder, tmp_path, capsys):
    with full_disk():
        assert main(["export-hf", str(checkpoint_folder), str(tmp_path / "hf")]) == 1
    assert capsys.readouterr().err.endswith(
        "model.safetensors' cannot be written: File too large.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_is_exported_as_it_was(build, checkpoint_folder, tmp_path):
    tokenizer = load_checkpoint(checkpoint_folder).tokenizer
    models = {step: build(vocab_size=len(tokenizer)) for step in (0, 9)}
    scatter(models[9])
    save_snapshots(tmp_path / "both", models, tokenizer)
    for snapshot in (0, -1):
        folder = tmp_path / str(snapshot)
        asked = ["export-hf", str(tmp_path / "both"), str(folder), f"--snapshot={snapshot}"]
        assert main(asked) == 0
        expected = load_checkpoint(tmp_path / "both", snapshot=snapshot).model
        found = load_file(folder / "model.safetensors")
        torch.testing.assert_close(found, hugging_face_state(expected), atol=0, rtol=0)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("en-no-tiny", {"pipeline_tag": "translation", "language": ["en", "no"]}),
        ("mine", {}),
    ],
)
def test_the_card_becomes_a_readme_that_says_what_is_known(
    checkpoint_folder, tmp_path, name, known
):
    from huggingface_hub import ModelCard

    folder = tmp_path / name
    shutil.copytree(checkpoint_folder, folder)
    assert main(["export-hf", str(folder), str(tmp_path / "plain")]) == 0
    assert not (tmp_path / "plain" / "README.md").exists()
    card = "# A card\n\n[`small`](../../configs/small.toml), [paper](https://arxiv.org/abs/1706.03762)\n"
    (folder / "card.md").write_text(card, encoding="utf-8")
    assert main(["export-hf", str(folder), str(tmp_path / "hf")]) == 0
    found = ModelCard.load(tmp_path / "hf" / "README.md")
    assert found.data.to_dict() == {"library_name": "transformers"} | known
    assert found.text.endswith(
        "weights in float32. Commands below are for the checkpoint itself.\n\n# A card\n\n"
        "`small`, [paper](https://arxiv.org/abs/1706.03762)\n"
    )
