"""An imported model of OPUS-MT's usual size: opening, memory, translating, effects, a page.

    python -m benchmarks.imported

Makes a Marian folder of 74 million random weights (12 layers, 58,101 pieces). Measures the seconds
in which a new process opens it, and the memory of that process beyond the weights once; translating
and tracing a sentence of 20 tokens beside `generate` of transformers alone; the effects of all 144
heads; and the page that `headscope pack` makes of it, run by Node.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from benchmarks._measure import interleaved, parser, ratio, report, row
from model.checkpoints.checkpoint import TOKENIZER
from model.checkpoints.folder_files import CONFIG, WEIGHTS
from model.explain.head_ablation import effects_of
from model.translate.translator import load
from tests.kit.engine import run
from tests.kit.marian_folders import pieces_of
from tests.kit.tiny_checkpoint import PAIRS
from viz.site.model import packed

PIECES, TOKENS = 58_101, 20
LIMITS = {"open_s": 3, "memory_beyond_weights_mb": 400, "times_transformers": 1.5, "effects_s": 10}

OPENED = """
import resource, sys, time
import headscope as hs
hs.load
began = time.perf_counter()
model = hs.load(sys.argv[1], device="cpu")
seconds = time.perf_counter() - began
model.trace(sys.argv[2])
usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
pages = int(open("/proc/self/statm").read().split()[1])
print(seconds, pages * resource.getpagesize() / 2**20, usage)
"""


def make(folder: Path) -> Any:
    """Write the folder; transformers' model that is in it."""
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir()
    pieces = pieces_of([text for pair in PAIRS for text in pair])
    processor = sentencepiece.SentencePieceProcessor(model_proto=pieces)
    table = {"</s>": 0, "<unk>": 1}
    for i in range(2, len(processor)):
        table.setdefault(processor.id_to_piece(i), len(table))
    while len(table) < PIECES - 1:
        table[f"▁word{len(table)}"] = len(table)
    pad = table["<pad>"] = PIECES - 1
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(pieces)
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    sizes = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}
    ids = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    config = MarianConfig(
        vocab_size=PIECES,
        d_model=512,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        **{f"{side}_{what}": sizes[what] for side in ("encoder", "decoder") for what in sizes},
        **ids,
    )
    torch.manual_seed(3)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.ndim > 1:
                each.add_(0.03 * torch.randn_like(each))
    settings = {"num_beams": 4, "max_length": TOKENS + 1, "renormalize_logits": True}
    model.generation_config.update(**settings, **ids, bad_words_ids=[[pad]], forced_eos_token_id=0)
    model.save_pretrained(folder)
    return model


def opened(folder: Path, text: str) -> list[float]:
    """Seconds, resident and peak megabytes of a new process that opens a model and traces."""
    asked = [sys.executable, "-c", OPENED, str(folder), text]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return [*map(float, done.stdout.split())]


def unpacked(folder: Path, text: str) -> tuple[Path, int]:
    """The files that a page holds, beside the folder, and their bytes."""
    page, place = packed(folder, sentence=text), folder.parent / "page"
    place.mkdir()
    (place / CONFIG).write_text(json.dumps(page.card["config"]))
    (place / WEIGHTS).write_bytes(page.weights)
    (place / TOKENIZER).write_bytes(page.tokenizer)
    return place, len(page.weights) + len(page.tokenizer)


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = parser(__doc__)
    options.set_defaults(runs=5, device="cpu")
    given = options.parse_args(argv)
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "opus-mt-en-xx"
        theirs = make(folder)
        ours = load(folder, device="cpu")
        text = PAIRS[1][0]
        while len(ours.tokenizer.encode(text)) < TOKENS - 1:
            text += " a"
        processes = [opened(folder, text) for _ in range(3)]
        weights = (folder / "model.safetensors").stat().st_size / 2**20
        source = torch.tensor([[*ours.tokenizer.encode(text), 0]])
        seconds = interleaved(
            {
                "translate and trace": lambda: ours.trace(text),
                "transformers, translate": lambda: theirs.generate(source),
            },
            given.runs,
            torch.device("cpu"),
        )
        trace = ours.trace(text)
        assert list(trace.predictions.ids) == theirs.generate(source)[0, 1:].tolist()
        seconds["all 144 effects"] = []
        for _ in range(3):
            began = time.perf_counter()
            effects_of(ours, trace)
            seconds["all 144 effects"].append(time.perf_counter() - began)
        place, size = unpacked(folder, text)
        ids = {"ids": list(trace.predictions.ids)}
        run(place, ("trace", [text, ids]))
        for name, call in (
            ("page: trace", ("trace", [text, ids])),
            ("page: translate, greedily", ("translate", [text, {"search": {"beam": 1}}])),
        ):
            began = time.perf_counter()
            run(place, call)
            seconds[name] = [time.perf_counter() - began]
    found = {
        "open_s": statistics.median(each[0] for each in processes),
        "memory_beyond_weights_mb": max(each[1] for each in processes) - weights,
        "peak_beyond_weights_mb": max(each[2] for each in processes) - weights,
        "times_transformers": ratio(seconds, "translate and trace", "transformers, translate"),
        "effects_s": statistics.median(seconds["all 144 effects"]),
        "page_mb": size / 1e6,
    }
    rows = [row(name, each) for name, each in seconds.items()]
    report("imported", rows, torch.device("cpu"), **found)
    for name, number in found.items():
        limit = f" (at most {LIMITS[name]})" if name in LIMITS else ""
        print(f"{name}: {number:.2f}{limit}")


if __name__ == "__main__":
    main()
