"""Translates a 24-token sentence and collects all attention: ours against Hugging Face's Marian.

    python -m benchmarks.peers

MarianMTModel gets our shape and random weights; its search is held to as many tokens as ours
gives, so that both do the same work. It is timed in two ways: with attentions collected while it
generates, as its documentation shows, and with our own method, generate first and collect in one
teacher-forced pass afterwards.
"""

import dataclasses
import statistics
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, MarianMTModel

from benchmarks._measure import interleaved, parser, ratio, report, row
from model.checkpoints.export_hf import hugging_face_config
from model.translate.devices import resolve_device
from model.translate.translator import Translator, load

TOKENS = 24
SENTENCE = (
    "She had forgotten where she had put the keys to the old house, so we waited outside in the "
    "rain until her brother came home from work and let us in at last"
)


def _sentence(translator: Translator) -> str:
    """The start of a sentence that is exactly 24 tokens long, end token included."""
    words = SENTENCE.split()
    for count in range(1, len(words)):
        text = " ".join(words[:count]) + "."
        if len(translator.tokenizer.encode(text)) + 1 >= TOKENS:
            return text
    raise SystemExit("The sentence is too short for this vocabulary.")


def _marian(translator: Translator) -> MarianMTModel:
    # Marian has the norm after each sub-layer, at the same cost.
    config = dataclasses.replace(translator.model.config, norm="post")
    torch.manual_seed(1)
    model = AutoModelForSeq2SeqLM.from_config(
        AutoConfig.for_model(**hugging_face_config(config), attn_implementation="eager")
    )
    return model.eval().to(translator.device)


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = parser(__doc__ or "")
    options.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de"))
    arguments = options.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    device = resolve_device(arguments.device)
    translator = load(arguments.checkpoint, device=str(device))
    marian = _marian(translator)
    text = _sentence(translator)
    translation = translator.translate(text)
    source = torch.tensor([translation.source.ids], device=device)
    length = len(translation.token_ids)
    settings = {
        "num_beams": 4,
        "min_new_tokens": length,
        "max_new_tokens": length,
        "do_sample": False,
        "attention_mask": torch.ones_like(source),
    }

    def ours() -> int:
        trace = translator.trace(text)
        return len(trace.maps)

    @torch.inference_mode()
    def marian_while_generating() -> int:
        result = marian.generate(
            source, output_attentions=True, return_dict_in_generate=True, **settings
        )
        return len(result.cross_attentions)

    @torch.inference_mode()
    def marian_afterwards() -> int:
        generated = marian.generate(source, **settings)
        result = marian(
            input_ids=source, decoder_input_ids=generated[:, :-1], output_attentions=True
        )
        return len(result.cross_attentions)

    seconds = interleaved(
        {
            "ours": ours,
            "while": marian_while_generating,
            "afterwards": marian_afterwards,
            "translate": lambda: translator.translate(text),
        },
        arguments.runs,
        device,
    )
    rows = [
        row("Marian: generate with output_attentions", seconds["while"]),
        row("Marian: generate, then one pass with output_attentions", seconds["afterwards"]),
        row("ours: translate and trace", seconds["ours"]),
        row("ours: translate alone", seconds["translate"]),
    ]
    faster = {name: 1 / ratio(seconds, "ours", name) for name in ("while", "afterwards")}
    for each, name in zip(rows, faster, strict=False):
        each["ours_is_faster"] = round(faster[name], 2)
        each["note"] = f"ours is {faster[name]:.2f} times as fast"
    report(
        "peers",
        rows,
        device,
        checkpoint=arguments.checkpoint.name,
        source_tokens=len(translation.source),
        target_tokens=length,
        our_median_ms=round(1000 * statistics.median(seconds["ours"]), 2),
    )
    print(f"{len(translation.source)} source tokens, {length} target tokens, beam 4, {device}")


if __name__ == "__main__":
    main()
