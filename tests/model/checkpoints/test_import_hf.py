"""Hugging Face folders of our Transformer, read without transformers and compared with it."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.__main__ import main
from model.checkpoints.checkpoint import language_pair, load_checkpoint, read_config
from model.checkpoints.export_hf import hugging_face_state
from model.checkpoints.generation import GENERATION
from model.checkpoints.import_hf import is_importable
from model.checkpoints.shipped import CheckpointError
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import next_likeliest, pair_of
from model.explain.attributing import attributions
from model.explain.attribution import METHODS
from model.explain.block_outputs import offer_on
from model.explain.head_ablation import effects_of
from model.paper.search import AS_IN_THE_PAPER, Rules, Search
from model.patching.patch import patch
from model.record.intervention import UNCHANGED, Intervention
from model.translate.text_models import is_reader
from model.translate.translator import Translator, load
from tests.kit.foreign_folders import save_foreign
from tests.kit.marian_folders import LANGUAGES, save_marian
from tests.kit.multilingual_folders import FAMILIES, save_family
from tests.kit.odd_texts import ODD, odd_texts
from tests.kit.tiny_checkpoint import PAIRS

pytestmark = pytest.mark.slow

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
VARIANTS: dict[str, dict[str, Any]] = {
    "swish": {},
    "in parts": {"shard": "40KB"},
    "several languages": {"languages": LANGUAGES},
    "two vocabularies": {"separate": True},
    "bpe": {"kind": "bpe"},
    "relu, unscaled": {"activation_function": "relu", "scale_embedding": False},
    "untied": {"tie_word_embeddings": False},
    "tc-big": {
        **{"d_model": 128, "encoder_attention_heads": 16, "decoder_attention_heads": 16},
        **{"encoder_layers": 6, "decoder_layers": 6, "activation_function": "relu"},
    },
}


class Opened:
    """A folder as we read it, and as transformers does; Marian's unless another family is named."""

    def __init__(self, folder: Path, family: str = "", **variant: Any) -> None:
        self.folder, self.family = folder, family
        self.theirs, self.tokenizer = (
            save_family(folder, family, **variant) if family else save_marian(folder, **variant)
        )
        # Their own attention is what can be asked for its weights.
        self.theirs.set_attn_implementation("eager")
        self.ours: Translator = load(folder, device="cpu")


@pytest.fixture(scope="module", params=[*VARIANTS, *FAMILIES])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    variant = VARIANTS.get(request.param, {"family": request.param})
    return Opened(tmp_path_factory.mktemp("opened") / "opus-mt-en-cs", **variant)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return Opened(tmp_path_factory.mktemp("trained") / "opus-mt-en-de", steps=150)


def random_ids(opened: Opened, length: int, seed: int) -> list[int]:
    # Of pieces: Marian's padding comes last, that of others first.
    ids = range(105, 150) if opened.family else range(2, opened.ours.model.config.pad_id)
    drawn = torch.randint(len(ids), (length,), generator=torch.manual_seed(seed)).tolist()
    return [ids[each] for each in drawn]


@pytest.mark.parametrize("length", [1, 7, 60, 200])
def test_logits_and_every_weight_are_theirs(opened, length):
    sources, targets = (random_ids(opened, length, seed) for seed in (1, 2))
    start, end = opened.ours.model.config.bos_id, opened.ours.model.config.eos_id
    (trace,) = opened.ours._record([""], [[*sources, end]], None, [[*targets, end]], [UNCHANGED])
    with torch.no_grad():
        output = opened.theirs(
            input_ids=torch.tensor([[*sources, end]]),
            decoder_input_ids=torch.tensor([[start, *targets]]),
            output_attentions=True,
        )
        ours = opened.ours.model(torch.tensor([[*sources, end]]), torch.tensor([[start, *targets]]))
    torch.testing.assert_close(ours, output.logits, atol=2e-5, rtol=1e-5)
    given = (output.encoder_attentions, output.decoder_attentions, output.cross_attentions)
    by_kind = dict(zip(("encoder", "decoder", "cross"), given, strict=True))
    assert len(trace.maps) == sum(map(len, given))
    for site, found in trace.maps.items():
        expected = by_kind[site.kind][site.layer][0].numpy()
        np.testing.assert_allclose(found.weights, expected, atol=2e-5, rtol=0, err_msg=str(site))


def test_in_a_padded_batch_logits_are_theirs(opened):
    pad, start = opened.ours.model.config.pad_id, opened.ours.model.config.bos_id
    source, target = (
        torch.nn.utils.rnn.pad_sequence(
            [torch.tensor([*first, *random_ids(opened, n, n + 9)]) for n in (5, 2, 17)],
            batch_first=True,
            padding_value=pad,
        )
        for first in ((), (start,))
    )
    with torch.no_grad():
        expected = opened.theirs(
            input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=target
        ).logits
        found = opened.ours.model(source, target)
    real = target != pad
    real[:, 0] = True
    torch.testing.assert_close(found[real], expected[real], atol=2e-5, rtol=1e-5)


def test_ids_and_texts_are_those_of_their_tokenizer(opened):
    own, theirs = opened.ours.tokenizer, opened.tokenizer
    end = opened.ours.model.config.eos_id
    sentences = [text for pair in PAIRS for text in pair]
    if opened.family:
        texts = [*ODD, *odd_texts(), *sentences]
        if opened.family != "m2m":
            # In transformers 5.23, the others are not quite SentencePiece's: mBART's normalizes
            # nothing, and a space at the end of a text is a token.
            pieces = own._processor
            texts = [pieces.normalize(text).replace("▁", " ").strip() for text in texts]
        for text in texts:
            # Theirs take these for marks, and a code names a language here.
            if text.strip() and not text.lstrip().startswith(">>") and "<s>" not in text:
                before, after = own.around(text)
                found = [*before, *own.encode(text), end, *after]
                assert found == theirs(text).input_ids, text
    else:
        for text in (*ODD, *odd_texts(), *sentences):
            assert [*own.encode(text), 0] == theirs(text).input_ids, text
            assert [*own.target.encode(text), 0] == theirs(text_target=text).input_ids, text
    for _, german in PAIRS:
        ids = own.target.encode(german)
        found = own.target.decode([*own.opening(""), *ids, end])
        assert found == theirs.decode(ids, skip_special_tokens=True)


def test_marks_in_a_text_are_letters(opened):
    # Their tokenizer would end the text there.
    special = {opened.ours.model.config.pad_id, opened.ours.model.config.eos_id}
    assert not special & {*opened.ours.tokenizer.encode("a </s> b <pad>")}


SEARCHES: dict[str, dict[str, Any]] = {
    # As the folders of OPUS-MT have them.
    "opus": {"num_beams": 4, "renormalize_logits": True, "forced_eos_token_id": 0},
    "opus of 6": {"num_beams": 6, "early_stopping": None, "forced_eos_token_id": 0},
    "greedy": {"num_beams": 1, "forced_eos_token_id": 0, "max_length": 6},
    "full": {"num_beams": 4, "early_stopping": True, "length_penalty": 0.6},
    "never": {"num_beams": 3, "early_stopping": "never", "length_penalty": 2.0, "max_length": 20},
    "cut": {"num_beams": 4, "max_new_tokens": 5, "length_penalty": 0.0},
    "cut with an end": {"num_beams": 4, "max_length": 6, "forced_eos_token_id": 0},
    "barred": {"num_beams": 2, "renormalize_logits": True, "suppress_tokens": [5, 9, 14]},
}
TRAINED: dict[str, dict[str, Any]] = {
    "random": {},
    "trained": {"steps": 150},
    "two vocabularies": {"steps": 60, "separate": True},
    "tc-big": {"steps": 40, **VARIANTS["tc-big"]},
    **{name: {"steps": 50, "family": name} for name in FAMILIES},
}


@pytest.fixture(scope="module", params=TRAINED)
def searched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return Opened(tmp_path_factory.mktemp("searched") / "en-de", **TRAINED[request.param])


@pytest.mark.parametrize("name", SEARCHES)
def test_translations_are_those_of_generate(searched, name):
    from transformers import GenerationConfig

    file = searched.folder / GENERATION
    kept = file.read_text()
    asked = dict(SEARCHES[name])
    if "forced_eos_token_id" in asked:
        asked["forced_eos_token_id"] = searched.ours.model.config.eos_id
    change(file, **asked)
    searched.theirs.generation_config = GenerationConfig.from_pretrained(searched.folder)
    ours = load(searched.folder, device="cpu")
    file.write_text(kept)
    assert ours.search != AS_IN_THE_PAPER
    for text, _ in PAIRS[:4]:
        given = searched.tokenizer(text, return_tensors="pt")
        ids = searched.theirs.generate(**given)[0, 1:].tolist()
        (found,) = ours.translate([text])
        if list(found.token_ids) != ids:
            # Rounding decides between two of one score.
            scores = {each.token_ids: each.score for each in ours.candidates(text)}
            assert scores[tuple(ids)] == pytest.approx(found.score, abs=1e-6), text


def test_what_the_search_of_a_folder_is_comes_with_it(tmp_path, capsys):
    save_marian(tmp_path / "hf", generation=SEARCHES["opus of 6"])
    rules = Rules(penalty="power", ends="present", forced_end=True, most=59)
    own = Search(beam=6, length_penalty=1.0, rules=rules)
    assert load(tmp_path / "hf").search == own
    assert main(["import-hf", str(tmp_path / "hf"), "--out", str(tmp_path / "new")]) == 0
    assert load(tmp_path / "new").search == own
    assert load("toy-copy-pre-norm").search == AS_IN_THE_PAPER
    for options in ([], ["--beam", "6"]):
        capsys.readouterr()
        assert main(["translate", "--model", str(tmp_path / "new"), *options, PAIRS[0][0]]) == 0
        assert load(tmp_path / "new").translate(PAIRS[0][0]).text in capsys.readouterr().out


def test_padding_has_its_name_although_it_is_the_start_token(trained):
    texts = [PAIRS[2][0], PAIRS[0][0]]
    batch = trained.ours.trace_batch(texts)
    lengths = zip(batch.padded, batch.source_lengths, batch.target_lengths, strict=True)
    for trace, n_source, n_target in lengths:
        assert set(trace.source.tokens[n_source:]) <= {"<pad>"}
        assert trace.target.tokens[0] == "<s>"
        for tokens in (trace.target, trace.predictions):
            assert set(tokens.tokens[n_target:]) <= {"<pad>"}
            assert "<pad>" not in tokens.tokens[:n_target]
    assert batch.padded[0].source.tokens[-1] == "<pad>"


def test_every_head_costs_what_it_costs_alone(opened):
    trace = opened.ours.trace(PAIRS[1][0], PAIRS[1][1])
    losses = effects_of(opened.ours, trace).losses
    for site in (opened.ours.sites[0], opened.ours.sites[-1]):
        under = Intervention(heads={(site, 1): 0})
        alone = opened.ours.trace(PAIRS[1][0], PAIRS[1][1], under=under)
        np.testing.assert_allclose(losses[site][1], trace.log_probs - alone.log_probs, atol=1e-4)


def test_attributions_are_made_of_it(trained):
    found = attributions(trained.ours, trained.ours.trace(PAIRS[1][0]))
    assert {each.method for each in found.maps} == {*METHODS}
    for each in found.maps:
        assert np.isfinite(each.together).all(), each.method
        assert np.abs(each.together).max() > 0, each.method
    # What deleting a token does, one by one.
    trace = trained.ours.trace(PAIRS[1][0])
    allowed = np.ones((len(trace.target), len(trace.source)), dtype=bool)
    allowed[:, 2] = False
    n = len(trace.source)
    own = np.ones((n, n), dtype=bool)
    own[:, 2] = False
    under = Intervention(masks={"cross": allowed, "encoder": own})
    without = trained.ours.trace(PAIRS[1][0], trace.text, under=under)
    losses = trace.log_probs - without.log_probs
    np.testing.assert_allclose(found.deletion_losses[:, 2], losses, atol=1e-4)


def test_the_other_sentences_encoder_gives_the_other_translation(trained):
    ours = trained.ours
    texts = [english for english, _ in PAIRS]
    one, other = next(
        pair
        for pair in itertools.combinations(texts, 2)
        if len({len(ours.tokenizer.encode(each)) for each in pair}) == 1
    )
    patched = patch(ours, one, other, [("encoder", "output")])
    assert patched.patched_text == patched.other_text != patched.text


def test_the_bias_is_part_of_what_logits_are_made_of(trained):
    model, text = trained.ours, PAIRS[1][0]
    trace = model.trace(text)
    pair = pair_of(model, trace, 2, next_likeliest(model, trace, 2))
    terms = logit_terms(model, trace, pair)
    assert terms.total == pytest.approx(terms.difference, abs=1e-4)
    offer = offer_on(model, trace.source.ids, trace.target.ids[:3])
    np.testing.assert_allclose(offer.rows @ offer.hidden, offer.logits, atol=1e-4)


def test_what_must_not_be_written_is_not(tmp_path):
    plain = Opened(tmp_path / "plain", steps=150)
    text = PAIRS[0][0]
    first = plain.ours.translate(text, search=Search(beam=1)).token_ids[0]
    pad = plain.ours.model.config.pad_id
    for name, words in (("bad_words_ids", [[pad], [first]]), ("suppress_tokens", [first])):
        settings = tmp_path / "plain" / "generation_config.json"
        kept = settings.read_text()
        settings.write_text(json.dumps(json.loads(kept) | {name: words}))
        barred = load(tmp_path / "plain", device="cpu")
        assert first in barred.model.config.barred
        assert barred.translate(text, search=Search(beam=1)).token_ids[0] != first
        settings.write_text(kept)


def test_a_text_begins_with_its_language(tmp_path):
    opened = Opened(tmp_path / "opus-mt-en-zlw", languages=LANGUAGES)
    assert opened.ours.tokenizer.languages == LANGUAGES
    trace = opened.ours.trace(">>slk<< The cat eats.")
    assert trace.source.tokens[:2] == (">>slk<<", "▁")
    # Without one, the first.
    plain = opened.ours.trace("The cat eats.")
    assert plain.source.tokens == (">>ces<<", *trace.source.tokens[1:])
    assert not load(CHECKPOINTS / "toy-copy-pre-norm").tokenizer.languages


@pytest.mark.parametrize(
    "name", ["en-de", "de-en", "en-fr", "en-de-learned", "en-de-childhood", "toy-copy-pre-norm"]
)
def test_what_we_export_comes_back_the_same(name, tmp_path, capsys):
    if name == "en-de-learned":
        assert main(["export-hf", name, str(tmp_path / name)]) == 1
        assert "positions learned" in capsys.readouterr().err
        return
    assert main(["export-hf", name, str(tmp_path / name)]) == 0
    ours, back = (load(each, device="cpu") for each in (CHECKPOINTS / name, tmp_path / name))
    mine, again = (hugging_face_state(each.model) for each in (ours, back))
    assert not again.pop("final_logits_bias").any()
    torch.testing.assert_close(again, mine, atol=0, rtol=0)
    examples = json.loads((CHECKPOINTS / name / "examples.json").read_bytes())
    for each in examples[:2]:
        one, other = (
            model.translate(each["source"], search=AS_IN_THE_PAPER) for model in (ours, back)
        )
        assert (one.token_ids, one.text) == (other.token_ids, other.text)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)


@pytest.mark.parametrize(
    "variant", ["swish", "two vocabularies", "several languages", "pegasus", "bart", "mbart", "m2m"]
)
def test_import_hf_writes_a_checkpoint_of_the_same_model(variant, tmp_path, capsys):
    opened = Opened(tmp_path / "hf", **VARIANTS.get(variant, {"family": variant}))
    assert main(["import-hf", str(opened.folder), "--out", str(tmp_path / "own")]) == 0
    assert not is_importable(tmp_path / "own")
    own = load(tmp_path / "own", device="cpu")
    assert own.model.config == opened.ours.model.config
    assert main(["export-hf", str(tmp_path / "own"), str(tmp_path / "again")]) == 1
    assert "it came from a Hugging Face folder" in capsys.readouterr().err
    assert own.tokenizer.languages == opened.ours.tokenizer.languages
    assert own.tokenizer.frame == opened.ours.tokenizer.frame
    text = "The cat sat on the mat."
    one, other = (each.translate(text) for each in (opened.ours, own))
    assert (one.token_ids, one.log_probs, one.text) == (
        other.token_ids,
        other.log_probs,
        other.text,
    )


def test_import_hf_refuses_what_it_cannot_write_or_read(checkpoint_folder, tmp_path, capsys):
    assert main(["import-hf", str(checkpoint_folder), "--out", str(tmp_path / "new")]) == 1
    assert "is no Hugging Face folder" in capsys.readouterr().err
    save_foreign(tmp_path / "bert", "bert")
    assert main(["import-hf", str(tmp_path / "bert"), "--out", str(tmp_path / "new")]) == 1
    assert "its class is bert" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    save_marian(tmp_path / "hf")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_bytes(b"mine")
    assert main(["import-hf", str(tmp_path / "hf"), "--out", str(tmp_path / "full")]) == 1
    assert "it is not empty; name a new folder" in capsys.readouterr().err
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["mine"]


def test_neither_transformers_nor_a_network_is_needed(tmp_path):
    save_marian(tmp_path / "hf")
    asked = (
        "import sys\n"
        "sys.modules['transformers'] = None\n"
        "from headscope.__main__ import main\n"
        f"sys.exit(main(['translate', '--model', {str(tmp_path / 'hf')!r}, 'The cat eats.']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model_type": "led"}, "its class is led, and only marian, pegasus, bart, mbart, m2m_100"),
        ({"architectures": ["MarianForCausalLM"]}, "MarianForCausalLM does not turn text into"),
        ({"decoder_ffn_dim": 96}, "encoder_ffn_dim is 48 and decoder_ffn_dim is 96"),
        ({"decoder_attention_heads": 2}, "encoder_attention_heads is 4 and decoder_attention"),
        ({"activation_function": "tanh"}, "its activation_function is tanh"),
    ],
    ids=str,
)
def test_another_model_is_recorded_from_outside_and_the_difference_said(tmp_path, values, said):
    save_marian(tmp_path / "hf")
    assert not is_reader(tmp_path / "hf")
    change(tmp_path / "hf" / "config.json", **values)
    assert is_reader(tmp_path / "hf")
    with pytest.raises(CheckpointError, match=said):
        load(tmp_path / "hf")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            "are a pickle .* unpickle",
        ),
        (lambda folder: (folder / "vocab.json").unlink(), r"lacks a readable .*vocab\.json"),
        (lambda folder: (folder / "target.spm").write_bytes(b"no"), "not a SentencePiece model"),
        (
            lambda folder: change(folder / "vocab.json", ox=10**6),
            r"gives the piece 'ox' no id below",
        ),
        (lambda folder: change(folder / "config.json", d_model=64), "do not fit its configuration"),
        (lambda folder: change(folder / "config.json", vocab_size="x"), "vocab_size"),
        (lambda folder: change(folder / "config.json", eos_token_id=[0, 1]), "not the id of"),
        (
            lambda folder: change(folder / "config.json", quantization_config={"bits": 4}),
            "are quantised",
        ),
    ],
    ids=range(8),
)
def test_a_damaged_folder_is_refused_in_a_sentence(
    tmp_path: Path, damage: Callable[[Path], Any], said: str
) -> None:
    save_marian(tmp_path / "hf")
    damage(tmp_path / "hf")
    with pytest.raises(CheckpointError, match=said):
        load(tmp_path / "hf")


def test_stored_positions_must_be_the_sinusoids(tmp_path):
    from safetensors.torch import load_file, save_file

    theirs, _ = save_marian(tmp_path / "hf")
    weights = tmp_path / "hf" / "model.safetensors"
    table = theirs.model.encoder.embed_positions.weight.detach()
    for rows in (table.half(), table + 0.1):
        name = "model.encoder.embed_positions.weight"
        save_file(load_file(weights) | {name: rows.contiguous()}, weights)
        if rows.dtype == torch.float16:
            assert load_checkpoint(tmp_path / "hf").model
        else:
            with pytest.raises(CheckpointError, match="positions other than the sinusoids"):
                load_checkpoint(tmp_path / "hf")


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("opus-mt-en-de", ("en", "de")),
        ("opus-mt-tc-big-en-tr", ("en", "tr")),
        ("opus-mt-en-ROMANCE", ("", "")),
        ("en-de-small", ("en", "de")),
    ],
)
def test_the_name_of_a_folder_gives_its_languages(name, pair):
    assert language_pair(name) == pair


def test_a_configuration_is_read_without_the_weights(tmp_path):
    save_marian(tmp_path / "hf")
    (tmp_path / "hf" / "model.safetensors").unlink()
    assert read_config(tmp_path / "hf").activation == "swish"
