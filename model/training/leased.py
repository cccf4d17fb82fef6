"""Checkpoint folders of what a lease brought back: `python -m model.training.leased --help`.

The parts that `model.training.lease` wrote are put together, and each model is scored on the CPU.
"""

import io
import json
import zipfile
from pathlib import Path

from model.checkpoints.shipped import CheckpointError
from model.survey.parallel_text import read_pairs
from model.training.command import Program, command
from model.training.evaluate import evaluate_checkpoint, reversed_columns
from model.training.lease import ARCHIVE, PART, PARTS, STUDENTS, TEACHER

FILES = ("config.json", "metrics.json", "model.safetensors", "tokenizer.model")


def joined(folder: Path, output: Path) -> list[Path]:
    """The checkpoint folders in the parts of a lease, written below `output` with its logs.

    Raises CheckpointError if a part is missing or damaged.
    """
    parts = [folder / f"{ARCHIVE}.{number}" for number in range(1, PARTS + 1)]
    content = b"".join(part.read_bytes() for part in parts if part.exists())
    if not content:
        raise CheckpointError(f"{folder} has no {ARCHIVE}.1; name the folder that came back.")
    folders = []
    output.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                if name.endswith((".log", ".jsonl", ".json")):
                    (output / Path(name).name).write_bytes(archive.read(name))
            for model in (*STUDENTS, TEACHER):
                if f"{model}.zip" not in archive.namelist():
                    continue
                (output / model).mkdir(exist_ok=True)
                with zipfile.ZipFile(io.BytesIO(archive.read(f"{model}.zip"))) as files:
                    for name in FILES:
                        (output / model / name).write_bytes(files.read(name))
                folders.append(output / model)
    except (zipfile.BadZipFile, KeyError) as error:
        raise CheckpointError(
            f"The parts in {folder} are incomplete or damaged; all but the last have "
            f"{PART:,} bytes."
        ) from error
    return folders


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument("folder", type=Path, help="what --out of the lease was")
    parser.add_argument("--output", type=Path, default=Path("runs/leased"), help="for the folders")
    parser.add_argument("--data", type=Path, help="en-de/ and en-fr/, to score on test-tatoeba.tsv")
    arguments = parser.parse(argv)
    for folder in joined(arguments.folder, arguments.output):
        if arguments.data is None:
            print(folder)
            continue
        pair = "en-fr" if folder.name == "en-fr" else "en-de"
        test = read_pairs(
            [arguments.data / pair / "test-tatoeba.tsv"], reverse=reversed_columns(folder)
        )
        _, scores = evaluate_checkpoint(folder, test, device="cpu", progress=True)
        print(json.dumps({"checkpoint": str(folder), **scores}))


if __name__ == "__main__":
    raise SystemExit(main())
