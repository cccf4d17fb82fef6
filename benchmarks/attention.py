"""Compares the model with torch's, recording and watching with neither, the cache with none.

    python -m benchmarks.attention

Needs the shipped checkpoint for its shape and for decoding real sentences.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks._measure import interleaved, parser, ratio, report, row
from model.paper.beam_search import beam_search
from model.paper.config import TransformerConfig
from model.paper.decoding import Hypothesis, greedy
from model.paper.decoding_cache import DecodingState
from model.paper.encoding import sinusoidal_table
from model.paper.linear import pack_linears
from model.paper.masks import causal_allowed
from model.paper.transformer import Transformer
from model.record.recording import recording
from model.training.batches import padded
from model.translate.devices import resolve_device
from model.translate.translator import Translator, load
from model.watch import watching

SENTENCE = "She had forgotten where she had put the keys, so we waited in front of the house."


class TorchTransformer(nn.Module):
    """nn.Transformer of our shape, with the embeddings and the output projection around it."""

    positions: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_encoder_layers,
            config.n_decoder_layers,
            config.d_ff,
            config.dropout,
            config.activation,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.register_buffer("positions", sinusoidal_table(config.max_positions, config.d_model))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        forbidden = ~causal_allowed(target.shape[1], target.device)[0, 0]
        return self.output(
            self.transformer(
                self._embed(source),
                self._embed(target),
                tgt_mask=forbidden,
                src_key_padding_mask=source == self.config.pad_id,
                tgt_key_padding_mask=target == self.config.pad_id,
                memory_key_padding_mask=source == self.config.pad_id,
                tgt_is_causal=True,
            )
        )

    def _embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * math.sqrt(self.config.d_model)
        return scaled + self.positions[: ids.shape[1]]


class WholePrefix(DecodingState):
    """A decoding without a cache: it keeps only the tokens and the encoder's output."""

    def __init__(self, memory: Tensor) -> None:
        super().__init__([], [])
        self.memory = memory
        self.prefix = torch.empty(memory.shape[0], 0, dtype=torch.long, device=memory.device)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        self.prefix = self.prefix[rows]
        if sentences is not None:
            self.memory = self.memory[sentences]


class WithoutCache(Transformer):
    """The same model, recomputing all earlier positions at every step."""

    def start(self, *sources: Tensor) -> DecodingState:
        (source,) = sources
        return WholePrefix(self.encode(source))

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        assert isinstance(state, WholePrefix)
        state.prefix = torch.cat([state.prefix, tokens[:, None]], dim=1)
        beams = state.prefix.shape[0] // state.memory.shape[0]
        x = self.decoder(
            self.embed(self.target_embedding, state.prefix),
            state.memory.repeat_interleave(beams, dim=0),
            causal_allowed(state.prefix.shape[1], tokens.device),
            None,
        )
        logits: Tensor = self.output(x[:, -1])
        return logits


Decode = Callable[[Transformer, Tensor], list[Hypothesis]]


def _best_of_four(model: Transformer, source: Tensor) -> list[Hypothesis]:
    return [each[0] for each in beam_search(model, source, beam=4)]


@torch.inference_mode()
def _forward_rows(
    translator: Translator, runs: int, batch: int, length: int
) -> list[dict[str, Any]]:
    device, config = translator.device, translator.model.config
    torch.manual_seed(1)
    theirs = TorchTransformer(config).to(device).eval()
    unpacked = Transformer(config).to(device).eval()
    source = torch.randint(4, config.vocab_size, (batch, length), device=device)
    target = torch.randint(4, config.vocab_size, (batch, length), device=device)

    def record() -> None:
        with recording():
            translator.model(source, target)

    def watch() -> None:
        with watching():
            translator.model(source, target)

    seconds = interleaved(
        {
            "ours": lambda: translator.model(source, target),
            "unpacked": lambda: unpacked(source, target),
            "recording": record,
            "watching": watch,
            "theirs": lambda: theirs(source, target),
        },
        runs,
        device,
    )
    shape = f"{batch} × {length} tokens"
    return [
        row(f"forward, {shape}: nn.Transformer", seconds["theirs"]),
        row(
            f"forward, {shape}: ours",
            seconds["ours"],
            ratio_to_torch=round(ratio(seconds, "ours", "theirs"), 3),
            note=f"{ratio(seconds, 'ours', 'theirs'):.2f} of nn.Transformer",
        ),
        row(
            f"forward, {shape}: ours, weights not packed",
            seconds["unpacked"],
            ratio_to_torch=round(ratio(seconds, "unpacked", "theirs"), 3),
            note=f"{ratio(seconds, 'unpacked', 'theirs'):.2f} of nn.Transformer",
        ),
        row(
            f"forward, {shape}: ours, recording",
            seconds["recording"],
            ratio_to_not_recording=round(ratio(seconds, "recording", "ours"), 3),
            note=f"{ratio(seconds, 'recording', 'ours'):.2f} of not recording",
        ),
        row(
            f"forward, {shape}: ours, watched",
            seconds["watching"],
            ratio_to_not_recording=round(ratio(seconds, "watching", "ours"), 3),
            ratio_to_recording=round(ratio(seconds, "watching", "recording"), 3),
            note=f"{ratio(seconds, 'watching', 'ours'):.2f} of not recording, "
            f"{ratio(seconds, 'watching', 'recording'):.2f} of recording",
        ),
    ]


def _decoding_rows(translator: Translator, runs: int) -> list[dict[str, Any]]:
    device = translator.device
    uncached = WithoutCache(translator.model.config)
    uncached.load_state_dict(translator.model.state_dict())
    uncached.eval().to(device)
    source = padded([translator.tokenizer.encode(SENTENCE)], device)
    pack_linears(uncached)
    rows: list[dict[str, Any]] = []
    methods: dict[str, Decode] = {"greedy": greedy, "beam 4": _best_of_four}
    for name, decode in methods.items():
        with_cache, without = decode(translator.model, source), decode(uncached, source)
        assert with_cache[0].token_ids == without[0].token_ids
        seconds = interleaved(
            {
                "cache": partial(decode, translator.model, source),
                "none": partial(decode, uncached, source),
            },
            runs,
            device,
        )
        tokens = len(with_cache[0].token_ids)
        saved = ratio(seconds, "none", "cache")
        rows += [
            row(f"{name}, {tokens} tokens, without cache", seconds["none"]),
            row(
                f"{name}, {tokens} tokens, with cache",
                seconds["cache"],
                speed_up=round(saved, 2),
                note=f"{saved:.2f} times as fast",
            ),
        ]
    return rows


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options: argparse.ArgumentParser = parser(__doc__ or "")
    options.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de"))
    arguments = options.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    device = resolve_device(arguments.device)
    translator = load(arguments.checkpoint, device=str(device))
    rows = _forward_rows(translator, arguments.runs, 1, 12)
    rows += _forward_rows(translator, arguments.runs, 1, 24)
    rows += _forward_rows(translator, arguments.runs, 32, 24)
    rows += _forward_rows(translator, max(5, arguments.runs // 3), 1, 512)
    rows += _decoding_rows(translator, arguments.runs)
    report("attention", rows, device, checkpoint=arguments.checkpoint.name)


if __name__ == "__main__":
    main()
