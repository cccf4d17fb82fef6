"""Write how the heads of a model emerged in training: growth.json, and a part of its card.

python -m model.training.growth --run runs/childhood --checkpoint checkpoints/en-de-childhood
"""

from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import CARD, load_checkpoint, load_weights
from model.checkpoints.folder_files import read_tensors
from model.checkpoints.shipped import CheckpointError
from model.explain.examples import example_values, read_examples
from model.explain.growth import Growth, growth_of
from model.explain.growth_file import read_growth, write_growth
from model.files import write_whole
from model.paper.transformer import Transformer
from model.training.card import with_section
from model.training.command import Program, command
from model.training.snapshots import kept_snapshots
from model.translate.translator import Translator

HEADING = "## When heads emerged"


def grown(run: Path, checkpoint: Path) -> Growth:
    """The growth of heads over an exported checkpoint's examples, at each snapshot of its run.

    Raises CheckpointError if the run is unfinished or kept no snapshots, or the checkpoint has no
    examples.
    """
    finished = load_checkpoint(run / "averaged")
    examples = read_examples(checkpoint)
    if not examples:
        raise CheckpointError(f"{checkpoint} has no examples; export it with --card first.")
    learned = {}
    for step, file in tqdm(kept_snapshots(run).items(), unit="snapshot"):
        model = Transformer(finished.model.config)
        load_weights(model, read_tensors(file), file)
        learned[step] = example_values(Translator(model, finished.tokenizer), examples)
    return growth_of(learned)


def card_with(card: str, growth: Growth) -> str:
    """A card with the steps at which heads emerged, before its scores."""
    rows = [
        f"| {site.head_name(head)} | {label} | {since:,} |"
        for site, head, label, since in growth.lasting_labels()
    ]
    listed = "\n".join(["| head | final label | since step |", "| --- | --- | ---: |", *rows])
    part = (
        f"{HEADING}\n\nThe heads that end up with a label, and the step from which it holds "
        f"over the examples, measured at {len(growth.steps)} steps of the run. This folder keeps "
        "the weights of some of them; `growth.json` holds the measures of every head.\n\n"
        f"{listed if rows else 'No head ends up with a label.'}"
    )
    return with_section(card, part, before="## Scores")


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__)
    parser.add_argument("--run", type=Path, required=True, help="the folder of a training run")
    parser.add_argument("--checkpoint", type=Path, required=True, help="the exported model")
    arguments = parser.parse(argv)
    write_growth(arguments.checkpoint, grown(arguments.run, arguments.checkpoint))
    growth = read_growth(arguments.checkpoint)
    card = arguments.checkpoint / CARD
    if growth is not None and card.exists():
        write_whole(card, card_with(card.read_text(encoding="utf-8"), growth).encode())


if __name__ == "__main__":
    raise SystemExit(main())
