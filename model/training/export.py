"""Make a shippable checkpoint of a training run's weights: `python -m model.training.export`.

Half precision, fused projections and kernels for speed (the same function), and the scores on a
test set, measured on the very files that are shipped.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import torch

from model.attention import fuse_qkv
from model.checkpoint import (
    METRICS,
    CheckpointError,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    unique_state,
    write_json,
)
from model.training.corpus import CorpusError, read_pairs
from model.training.evaluate import evaluate_checkpoint
from model.transformer import Transformer


def fused(model: Transformer) -> Transformer:
    """The same function with fused projections and torch's fused attention kernel.

    A model whose heads lie apart, or whose projections are fused already, keeps its layout.
    """
    config = model.config
    fuses = config.head_layout == "batched" and not config.fused_qkv
    changed = dataclasses.replace(config, fused_attention=True, fused_qkv=config.fused_qkv or fuses)
    result = Transformer(changed)
    state = unique_state(model)
    load_weights(result, fuse_qkv(state) if fuses else state, Path())
    return result.eval()


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.export", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--checkpoint", type=Path, required=True, help="RUN/best or RUN/averaged")
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint folder to write")
    parser.add_argument("--test", type=Path, help="a .tsv file to score the result on")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default 2)")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    try:
        pairs = read_pairs([arguments.test]) if arguments.test else []
        trained = load_checkpoint(arguments.checkpoint)
        save_checkpoint(
            arguments.output, fused(trained.model), trained.tokenizer, metrics=trained.metrics
        )
        if pairs:
            _, scores = evaluate_checkpoint(
                arguments.output, pairs, device="cpu", beam=arguments.beam, progress=True
            )
            scores |= {"data": arguments.test.name, "beam": arguments.beam}
            write_json(arguments.output / METRICS, {**trained.metrics, "test": scores})
            print(f"BLEU {scores['bleu']}, chrF {scores['chrf']} ({scores['signature']})")
    except (CheckpointError, CorpusError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
