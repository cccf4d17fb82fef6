"""Make a shippable checkpoint of a training run's weights: `python -m model.training.export`.

Half precision, fused projections and kernels for speed (the same function), and the scores on a
test set, measured on the shipped files themselves. With --snapshots, all snapshots of the run, each
with its scores.
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import (
    CARD,
    EXAMPLES,
    LABELS,
    METRICS,
    REMOVAL,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_snapshots,
    snapshots,
    trained_without_causal_mask,
    unique_state,
)
from model.checkpoints.folder_files import read_json, read_tensors, write_json
from model.checkpoints.layouts import fuse_qkv
from model.checkpoints.shipped import CheckpointError
from model.paper.transformer import Transformer
from model.survey.parallel_text import Pair, read_pairs
from model.training.card import card, data_section
from model.training.command import Program, command
from model.training.evaluate import evaluate_checkpoint, reversed_columns, translate_all
from model.training.examples import bad_examples, entries, given_examples, good_examples
from model.training.labels import SampleError, write_labels
from model.training.overlap import overlap_scores
from model.training.removal import write_removal
from model.training.snapshots import SENTENCES, kept_snapshots, snapshot_scores
from model.translate.translator import load


def fused(model: Transformer) -> Transformer:
    """A model of the same function with fused projections and torch's fused attention kernel.

    Heads in separate modules, and projections already fused, keep their layout.
    """
    config = model.config
    fuses = config.head_layout == "batched" and not config.fused_qkv
    changed = dataclasses.replace(config, fused_attention=True, fused_qkv=config.fused_qkv or fuses)
    result = Transformer(changed)
    state = unique_state(model)
    load_weights(result, fuse_qkv(state) if fuses else state, Path())
    return result.eval()


def export_snapshots(
    run: Path,
    output: Path,
    valid: Sequence[Pair],
    *,
    steps: Sequence[int] = (),
    sentences: int = SENTENCES,
) -> None:
    """Write a checkpoint folder of a finished run's snapshots, each with its scores on `valid`.

    With steps, only these and the last are kept; `sentences` of the pairs are translated.

    Raises:
        CheckpointError: if the run is unfinished, or has no snapshots, none of its last weights, or
            none of a step.
        TextError: if a sentence of the validation set is too long for the model.
    """
    files = kept_snapshots(run)
    if not (run / "averaged").is_dir():
        raise CheckpointError(f"The run {run} is not finished; give its command again to go on.")
    finished = load_checkpoint(run / "averaged")
    if finished.metrics["steps"] != max(files):
        raise CheckpointError(
            f"The run {run} ended at step {finished.metrics['steps']} and its last snapshot is of "
            f"step {max(files)}; train without patience, and to max_steps."
        )
    if missing := sorted(set(steps) - set(files)):
        raise CheckpointError(
            f"The run {run} kept no snapshot of step {missing[0]}; it has those of "
            f"{', '.join(map(str, files))}."
        )
    models = {}
    for step, file in files.items():
        if steps and step not in {*steps, max(files)}:
            continue
        model = Transformer(finished.model.config)
        load_weights(model, read_tensors(file), file)
        models[step] = fused(model)
    # These describe the averaged weights alone.
    metrics = {
        name: value
        for name, value in finished.metrics.items()
        if name not in ("averaged_steps", "valid")
    }
    save_snapshots(output, models, finished.tokenizer, metrics=metrics)
    scored = []
    for index, step in enumerate(tqdm(snapshots(output), unit="snapshot")):
        scores = snapshot_scores(
            load(output, device="cpu", snapshot=index), valid, sentences=sentences
        )
        scored.append({"step": step, **scores})
        tqdm.write(f"step {step}: loss {scores['loss']:.3f}, BLEU {scores['bleu']:.2f}")
    write_json(output / METRICS, {**metrics, "snapshots": scored})


def export_card(
    directory: Path,
    test: Sequence[Pair],
    translations: Sequence[str],
    *,
    more: Sequence[Pair] = (),
    data: str,
    orders: int = 20,
    bits: int = 16,
    surveyed: str = "",
    licence: str = "",
) -> None:
    """Write card.md, examples.json and labels.json of a scored checkpoint folder, and removal.json.

    removal.json needs good examples of the model's own. Labels are earned on `more`, or else on the
    test set, without the examples, under the name `surveyed`; an empty name leaves labels out.
    """
    translator = load(directory, device="cpu")
    bad = bad_examples(test, translations)
    copies = trained_without_causal_mask(translator.metrics)
    if copies:
        good = given_examples(test)
    else:
        further = translate_all(
            translator.model,
            translator.tokenizer,
            [pair.source for pair in more],
            beam=4,
            progress=True,
        )
        good = good_examples(translator, [*test, *more], [*translations, *further])
    listed = json.dumps(entries(good), indent=2, ensure_ascii=False)
    (directory / EXAMPLES).write_text(f"{listed}\n", encoding="utf-8")
    text = card(translator, test, translations, good=good, bad=bad, data=data, bits=bits)
    (directory / CARD).write_text(text, encoding="utf-8")
    # Removing heads from a model that cannot write shows nothing.
    if good and not copies:
        write_removal(directory, orders=orders, progress=True)
    if surveyed:
        try:
            write_labels(directory, more or test, data=surveyed, licence=licence, progress=True)
        except SampleError as error:
            print(f"No {LABELS}: {error}", file=sys.stderr)


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument(
        "--checkpoint",
        type=Path,
        required=True,
        help="RUN/best or RUN/averaged; with --snapshots the run's folder",
    )
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint folder to write")
    parser.add_argument("--test", type=Path, help="a .tsv file to score the result on")
    parser.files(
        "--data",
        "the training data; test sentences at most one word from them get their own scores",
    )
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument(
        "--bits",
        type=int,
        choices=(8, 16),
        default=16,
        help="bits of a stored weight: 16 is half precision; 8 stores matrices with a scale for "
        "each row (default 16)",
    )
    parser.add_argument(
        "--snapshots",
        action="store_true",
        help="export the run's snapshots, each scored on --valid",
    )
    parser.add_argument(
        "--steps",
        type=int,
        nargs="+",
        default=[],
        help="snapshots to export besides the last (default: all)",
    )
    parser.add_argument("--valid", type=Path, help="a .tsv file to score each snapshot on")
    parser.add_argument(
        "--card",
        type=Path,
        metavar="CARD",
        help=f"write {CARD} and {EXAMPLES} anew, with ten good and ten bad translations of --test, "
        f"{REMOVAL} and {LABELS}; data and licences are those of this other card, of a model "
        "trained on the same data",
    )
    parser.add_argument(
        "--orders",
        type=int,
        default=20,
        help=f"of {REMOVAL}: random orders in which heads are removed (default 20)",
    )
    parser.add_argument(
        "--licence",
        default="see Data and licences",
        help=f"of the sentences of --valid, or else --test, on which {LABELS} rests",
    )
    arguments = parser.parse(argv)
    if arguments.orders < 1:
        parser.error("--orders must be 1 or more")
    if arguments.snapshots and not arguments.valid:
        parser.error("--snapshots needs --valid, a file to score each of them on")
    if arguments.snapshots and arguments.bits != 16:
        parser.error("--bits is of a trained model's weights; --snapshots are in half precision")
    if arguments.data and not arguments.test:
        parser.error("--data needs --test, a file to compare with them")
    if arguments.card and not arguments.test:
        parser.error("--card needs --test, a file to find translations in")
    origin = arguments.checkpoint / "averaged" if arguments.snapshots else arguments.checkpoint
    reverse = reversed_columns(origin)
    test, valid, training = (
        read_pairs([path for path in paths if path], reverse=reverse)
        for paths in ([arguments.test], [arguments.valid], arguments.data)
    )
    data = data_section(arguments.card) if arguments.card else ""
    if arguments.snapshots:
        export_snapshots(arguments.checkpoint, arguments.output, valid, steps=arguments.steps)
    else:
        trained = load_checkpoint(arguments.checkpoint)
        save_checkpoint(
            arguments.output,
            fused(trained.model),
            trained.tokenizer,
            metrics=trained.metrics,
            bits=arguments.bits,
        )
    if test:
        translations, scores = evaluate_checkpoint(
            arguments.output, test, device="cpu", beam=arguments.beam, progress=True
        )
        scores |= {"data": arguments.test.name, "beam": arguments.beam}
        if training:
            scores |= overlap_scores(test, translations, training)
        metrics = read_json(arguments.output / METRICS)
        write_json(arguments.output / METRICS, {**metrics, "test": scores})
        print(f"BLEU {scores['bleu']}, chrF {scores['chrf']} ({scores['signature']})")
        if arguments.card:
            export_card(
                arguments.output,
                test,
                translations,
                more=valid,
                data=data,
                orders=arguments.orders,
                bits=arguments.bits,
                surveyed=(arguments.valid or arguments.test).name,
                licence=arguments.licence,
            )


if __name__ == "__main__":
    raise SystemExit(main())
