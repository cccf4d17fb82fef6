"""Average weights of one or several runs: `python -m model.training.average --help`.

The mean of weights from several steps of a training often translates better than any of them
(Vaswani et al. 2017, section 6.1; Izmailov et al. 2018 average over several decays of the learning
rate). A run writes the mean of its own last validated weights to averaged/; this command averages
weights of any run.
"""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from model.checkpoints.checkpoint import load_checkpoint, load_weights, save_checkpoint
from model.checkpoints.folder_files import read_tensors
from model.checkpoints.shipped import CheckpointError
from model.survey.parallel_text import read_pairs
from model.training.command import Program, command
from model.training.evaluate import reversed_columns, translate_all, translation_scores

_OF_THE_WEIGHTS = ("step", "valid_loss", "valid", "averaged_steps")


def mean_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in safetensors files, by name, in float32.

    Raises CheckpointError if a file cannot be read, or its names or shapes are not the first one's.
    """
    total: dict[str, Tensor] = {}
    for file in files:
        state = read_tensors(file)
        if total and {n: v.shape for n, v in state.items()} != {
            n: v.shape for n, v in total.items()
        }:
            raise CheckpointError(f"The weights in {file} are of another shape than in {files[0]}.")
        for name, value in state.items():
            total[name] = total[name] + value.float() if name in total else value.float()
    return {name: value / len(files) for name, value in total.items()}


def step_of(file: Path) -> int:
    """The step in the name of a file of weights/; CheckpointError if it has none."""
    step = file.stem.removeprefix("step-")
    if not step.isdecimal():
        raise CheckpointError(
            f"{file} is not a file of a run's weights/, whose names give their step."
        )
    return int(step)


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument(
        "--checkpoint",
        type=Path,
        required=True,
        help="RUN/averaged of the longest run, which gives shape, tokenizer and metrics",
    )
    parser.add_argument(
        "--weights", type=Path, nargs="+", required=True, help="RUN/weights/step-….safetensors"
    )
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint folder to write")
    parser.add_argument("--valid", type=Path, help="a .tsv file to score the mean on")
    arguments = parser.parse(argv)
    files = sorted(arguments.weights, key=step_of)
    last = load_checkpoint(arguments.checkpoint)
    load_weights(last.model, mean_weights(files), files[0])
    metrics = {n: value for n, value in last.metrics.items() if n not in _OF_THE_WEIGHTS}
    metrics["averaged_steps"] = [step_of(file) for file in files]
    if arguments.valid:
        pairs = read_pairs([arguments.valid], reverse=reversed_columns(arguments.checkpoint))
        translations = translate_all(
            last.model, last.tokenizer, [pair.source for pair in pairs], progress=True
        )
        scores = translation_scores(translations, [pair.target for pair in pairs])
        metrics["valid"] = scores
        print(f"BLEU {scores['bleu']}, chrF {scores['chrf']}, greedy ({scores['signature']})")
    save_checkpoint(arguments.output, last.model, last.tokenizer, metrics=metrics, bits=32)


if __name__ == "__main__":
    raise SystemExit(main())
