"""Train a Transformer: `python -m model.training.train --data FILE… --output DIR`.

One process on a CPU or a GPU; many through `torchrun`. Given again, the same command resumes a
killed run from its last saved state; the run ends with the weights it would have had.
"""

import argparse
import dataclasses
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from model.checkpoints.checkpoint import (
    TARGET_TOKENIZER,
    TOKENIZER,
    load_checkpoint,
    load_weights,
    longest_trained,
    read_tokenizer,
    save_tokenizer,
    training_runs,
    unique_state,
)
from model.checkpoints.folder_files import write_json
from model.files import unwritten
from model.paper.config import TransformerConfig
from model.paper.transformer import Transformer
from model.survey.parallel_text import read_pairs
from model.training.command import Program, command
from model.training.mixture import read_weights
from model.training.settings import SettingsError, load_settings
from model.training.starting_point import (
    carried_over,
    config_to_go_on,
    make_tokenizer,
    require_sides,
)
from model.training.trainer import Trainer
from model.translate.devices import resolve_device


def _parser() -> Program:
    parser = Program(__spec__, __doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help=".tsv or .tsv.xz files")
    parser.add_argument("--valid", type=Path, required=True, help="a .tsv file to validate on")
    parser.add_argument("--output", type=Path, required=True, help="the run's folder")
    parser.add_argument("--config", default="small", help="a named configuration or a .toml file")
    parser.add_argument(
        # torchrun would take --start for its own --start-method.
        "--checkpoint",
        type=Path,
        help="a checkpoint to start from, of that shape or with more layers, with its tokenizer",
    )
    parser.add_argument(
        "--new-vocabulary",
        action="store_true",
        help="train with a new vocabulary, not the checkpoint's; each piece starts as the mean of "
        "the old pieces that spell it",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="TABLE.FIELD=VALUE",
        help="change the configuration, such as training.max_steps=100",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    return parser


def _device(name: str) -> torch.device:
    device = resolve_device(name)
    if device.type == "cuda":
        # torchrun gives each process of a machine its own GPU.
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", device.index or 0)))
        torch.cuda.set_device(device)
    return device


def train(arguments: argparse.Namespace) -> None:
    """Run one process of a training, as the command line describes it."""
    device = _device(arguments.device)
    model_fields, settings = load_settings(arguments.config, arguments.set)
    if "vocab_size" in model_fields:
        raise SettingsError("vocab_size belongs in [training]; the model takes the tokenizer's.")
    if "target_vocab_size" in model_fields:
        raise SettingsError(
            "target_vocab_size is the tokenizer's; give training.separate_vocabularies=true."
        )
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    first = not dist.is_initialized() or dist.get_rank() == 0
    pairs, valid = (
        read_pairs(paths, reverse=settings.reverse) for paths in (arguments.data, [arguments.valid])
    )
    sources = read_weights(arguments.data, settings.weights) if settings.weights else None
    arguments.output.mkdir(parents=True, exist_ok=True)
    start = load_checkpoint(arguments.checkpoint) if arguments.checkpoint else None
    vocabulary = start.tokenizer if start is not None else None
    if vocabulary is not None:
        require_sides(vocabulary, settings, arguments)
    # An earlier start of this run may have made it.
    if first and not (arguments.output / TOKENIZER).exists():
        if vocabulary is None or arguments.new_vocabulary:
            vocabulary = make_tokenizer(settings, pairs)
        save_tokenizer(arguments.output, vocabulary)
    if dist.is_initialized():
        dist.barrier()
    separate = (arguments.output / TARGET_TOKENIZER).exists()
    tokenizer = read_tokenizer(arguments.output, separate=separate)
    sizes = {
        "vocab_size": len(tokenizer),
        "target_vocab_size": len(tokenizer.target) if separate else None,
    }
    config = TransformerConfig.from_dict({**model_fields, **sizes})
    if start is not None:
        config = config_to_go_on(config, start, arguments.checkpoint)
    if first:
        run = {"model": config.to_dict(), "training": dataclasses.asdict(settings)}
        write_json(arguments.output / "run.json", run)
    torch.manual_seed(settings.seed)
    model = Transformer(config)
    if start is not None:
        weights = unique_state(start.model)
        if arguments.new_vocabulary:
            weights = carried_over(weights, start.tokenizer, tokenizer)
        first_layers = {
            name: weight for name, weight in weights.items() if name in model.state_dict()
        }
        load_weights(model, first_layers, arguments.checkpoint)
    trainer = Trainer(
        arguments.output, model, tokenizer, settings, pairs, valid, device, weights=sources
    )
    if start is not None:
        # Positions trained before stay trained.
        trainer.progress.longest = longest_trained(start.metrics)
        trainer.progress.started_from = training_runs(start.metrics)
    if first:
        size = sum(parameter.numel() for parameter in trainer.model.parameters())
        print(
            f"{size / 1e6:.1f} million parameters, {len(pairs):,} pairs, "
            f"{trainer.world} process(es) on {device.type}",
            flush=True,
        )
    trainer.run()


@command
def main(argv: list[str] | None) -> int:
    """The command line."""
    arguments = _parser().parse(argv)
    try:
        train(arguments)
    except OSError as error:
        print(
            f"{unwritten(error).removesuffix('.')}; the same command goes on from the last saved "
            "state.",
            file=sys.stderr,
        )
        return 1
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
