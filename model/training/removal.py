"""Measure a model's translations of its examples while heads are removed one after another.

    python -m model.training.removal --checkpoint checkpoints/en-de

As in Michel et al. 2019, section 4, and Voita et al. 2019, section 6: the least important heads
go first, compared with random orders. Writes removal.json into the checkpoint folder; the export
does so too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import sacrebleu
import torch
from tqdm import tqdm

from model.checkpoints.checkpoint import EXAMPLES, REMOVAL
from model.checkpoints.shipped import CheckpointError
from model.explain.ablation_results import ExamplesRemoval, Removal
from model.explain.examples import read_examples
from model.explain.head_ablation import effects_of, removal_orders
from model.explain.removal_file import save_removal
from model.paper.decoding import greedy
from model.paper.log_probs import token_log_probs
from model.paper.tokenizer import PAD
from model.record.head_editing import editing_heads
from model.trace.attention_map import Tokens
from model.trace.head import Head
from model.training.batches import filled
from model.training.command import Program, command
from model.translate.translator import Translator, load


def examples_removal(
    translator: Translator,
    examples: Sequence[tuple[str, str]],
    *,
    steps: int = 12,
    orders: int = 20,
    seed: int = 0,
    progress: bool = False,
) -> ExamplesRemoval:
    """The quality of translations while heads are removed one after another.

    A head's importance is the loss of all translations together without that head alone. The model
    writes greedily, at most twice as many tokens as the longest translation: without most of its
    heads it would hardly stop. It is measured at 0 removed heads and `steps` more numbers of them.
    """
    traces = [translator.trace(*example) for example in examples]
    losses: dict[Head, float] = {}
    for trace in traces:
        for site, head, loss in effects_of(translator, trace).ranked():
            losses[Head(site, head)] = losses.get(Head(site, head), 0) + loss
    heads = sorted(losses, key=losses.__getitem__)
    counts, in_order = removal_orders(heads, steps, orders, seed)
    batch = _Batch(
        translator,
        [trace.source for trace in traces],
        [trace.target for trace in traces],
        [trace.predictions for trace in traces],
        [translation for _, translation in examples],
    )
    # Without any head and without all of them, every order is the same.
    known: dict[frozenset[Head], tuple[float, float]] = {}
    measured = []
    for order in tqdm(in_order, unit="order", disable=not progress):
        for count in counts:
            removed = frozenset(order[:count])
            if removed not in known:
                known[removed] = batch.left(dict.fromkeys(order[:count], 0))
            measured.append(known[removed])
    # (measure, order, count)
    left = np.array(measured, np.float32).reshape(orders + 1, len(counts), 2).transpose(2, 0, 1)
    log_prob, chrf = (Removal(tuple(counts), each[0], each[1:]) for each in left)
    return ExamplesRemoval(len(examples), log_prob, chrf, batch.signature)


class _Batch:
    """Sentences and their translations, padded to one length."""

    def __init__(
        self,
        translator: Translator,
        sources: Sequence[Tokens],
        targets: Sequence[Tokens],
        labels: Sequence[Tokens],
        references: Sequence[str],
    ) -> None:
        self._translator, self._references = translator, references
        self._source, self._target, self._labels = (
            filled([each.ids for each in side]).to(translator.device)
            for side in (sources, targets, labels)
        )
        self._counted = self._labels != PAD
        self._chrf = sacrebleu.CHRF()
        self._chrf.corpus_score(references, [references])
        self.signature = str(self._chrf.get_signature())

    @torch.inference_mode()
    def left(self, edits: Mapping[Head, int]) -> tuple[float, float]:
        """The mean log-probability of a target token with some heads edited, then chrF."""
        model, tokenizer = self._translator.model, self._translator.tokenizer
        with editing_heads(edits):
            logits = model.output(model.hidden(self._source, self._target))
            written = greedy(model, self._source, max_length=2 * self._labels.shape[1])
        log_probs = token_log_probs(logits, self._labels)
        texts = [tokenizer.target.decode(each.token_ids) for each in written]
        return (
            float(log_probs[self._counted].mean()),
            self._chrf.corpus_score(texts, [self._references]).score,
        )


def write_removal(directory: Path, *, orders: int = 20, progress: bool = False) -> None:
    """Write removal.json of a checkpoint folder, measured on its examples.json.

    Raises CheckpointError if it has no examples, and TextError if the model cannot read one.
    """
    examples = [(each.source, each.translation) for each in read_examples(directory)]
    if not examples:
        raise CheckpointError(
            f"{directory / EXAMPLES} has no examples; export the model with --card."
        )
    translator = load(directory, device="cpu")
    save_removal(
        directory, examples_removal(translator, examples, orders=orders, progress=progress)
    )


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument("--checkpoint", type=Path, required=True, help=f"gets a {REMOVAL}")
    parser.add_argument("--orders", type=int, default=20, help="random orders (default 20)")
    arguments = parser.parse(argv)
    if arguments.orders < 1:
        parser.error("--orders must be 1 or more")
    write_removal(arguments.checkpoint, orders=arguments.orders, progress=True)


if __name__ == "__main__":
    raise SystemExit(main())
