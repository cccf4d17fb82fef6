"""A checkpoint small enough to make in seconds, which knows a few sentences by heart."""

import copy
import functools
import itertools
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from model.checkpoints.checkpoint import save_checkpoint, save_snapshots
from model.checkpoints.folder_files import write_json
from model.explain.ablation_results import ExamplesRemoval, Removal
from model.explain.alignment_error import ErrorRate
from model.explain.alignment_file import ALIGNMENT
from model.explain.alignment_table import DIGITS, AlignmentTable, Combination, Read
from model.explain.removal_file import save_removal
from model.paper.config import TransformerConfig
from model.paper.tokenizer import BOS, EOS, PAD, Tokenizer
from model.paper.transformer import Transformer

PAIRS = (
    ("He has bought a new computer.", "Er hat einen neuen Computer gekauft."),
    ("The dog sat on the mat.", "Der Hund saß auf der Matte."),
    ("The cat eats.", "Die Katze frisst."),
    ("The dog sleeps.", "Der Hund schläft."),
    ("A woman reads a book.", "Eine Frau liest ein Buch."),
    ("A man sees the dog.", "Ein Mann sieht den Hund."),
    ("The man eats.", "Der Mann isst."),
    ("The woman sees the cat.", "Die Frau sieht die Katze."),
    ("The cat sat on the mat.", "Die Katze saß auf der Matte."),
)
# Characters a test types must be in the vocabulary, or the model refuses them as never seen.
SPELLING = "a b c d e f g h i j k l m n o p q r s t u v w x y z < > = / ( ) \" ' ! ? & ; 0 1 2 3"
STEPS = 120


SNAPSHOTS = (0, 2, 20, 1120)
"""The last of them takes a thousands separator."""


def write_tiny_checkpoint(folder: Path, *, steps: int = STEPS, separate: bool = False) -> Path:
    """A checkpoint folder whose model translates PAIRS; with no steps it is untrained.

    `separate` gives source and target a vocabulary each.
    """
    model, tokenizer = _trained(steps, separate)
    save_checkpoint(folder, model, tokenizer, bits=32)
    return folder


def write_tiny_alignment(folder: Path) -> AlignmentTable:
    """Beside a checkpoint, made-up alignment errors of 3 layers of 4 heads."""
    rates = {
        Read(layer, head, later): ErrorRate(*(round(each, DIGITS) for each in shares))
        for layer in range(3)
        for head in (0, 1, 2, 3, None)
        for later in (False, True)
        for error in [(17 * layer + 5 * (4 if head is None else head) + 31 * later) / 100]
        for shares in [(error, 1 - error, 0.5, error / 2, (1 + error) / 2)]
    }
    best = rates[Read(0, 1, False)]
    table = AlignmentTable(
        gold="gold.tsv",
        n_pairs=7,
        diagonal=rates[Read(2, 3, True)],
        rates=rates,
        best=(
            Combination("head 0.1, output row", "weights", "row argmax", 24, best),
            Combination(
                *("head 0.0, output row + head 0.1, output row", "norms", "row ∩ column", 66),
                ErrorRate(0.01, 0.99, 0.98, 0.0, 0.02),
            ),
        ),
    )
    write_json(folder / ALIGNMENT, table.to_json())
    return table


def write_tiny_removal(folder: Path) -> ExamplesRemoval:
    """Beside a checkpoint of 32 heads, made-up curves of their removal over 3 examples."""
    log_prob = Removal((0, 32), np.array([-0.5, -9]), np.array([[-0.5, -9]]))
    chrf = Removal((0, 32), np.array([100, 1.0]), np.array([[100, 1.0]]))
    found = ExamplesRemoval(3, log_prob, chrf, "")
    save_removal(folder, found)
    return found


def write_tiny_snapshots(folder: Path) -> Path:
    """A checkpoint folder with SNAPSHOTS, the last of which translates PAIRS.

    The scores are made up, and the last is after fewer steps than it says: STEPS are enough.
    """
    models, tokenizer = _trained_in_steps()
    entropy = {"encoder": [[1.5] * 4] * 2, "decoder": [[1.0] * 4] * 3, "cross": [[2.0] * 4] * 3}
    scores = [
        {
            "step": step,
            "loss": 6.0 - place,
            "bleu": 30.25 * place,
            "chrf": 20.0 * place,
            "entropy": entropy,
        }
        for place, step in enumerate(SNAPSHOTS)
    ]
    save_snapshots(folder, models, tokenizer, metrics={"snapshots": scores})
    return folder


# Trained once, however many files ask for a folder of their own.
@functools.cache
def _trained(steps: int, separate: bool) -> tuple[Transformer, Tokenizer]:
    with torch.random.fork_rng(devices=[]):
        model, tokenizer = _untrained(separate)
        _learn(model, tokenizer, steps)
    return model, tokenizer


@functools.cache
def _trained_in_steps() -> tuple[dict[int, Transformer], Tokenizer]:
    models = {}
    with torch.random.fork_rng(devices=[]):
        model, tokenizer = _untrained()
        for before, step in itertools.pairwise((0, *SNAPSHOTS)):
            _learn(model, tokenizer, min(step - before, STEPS))
            models[step] = copy.deepcopy(model)
    return models, tokenizer


def _untrained(separate: bool = False) -> tuple[Transformer, Tokenizer]:
    # Thrice the first, so that each word that the app opens with is a token.
    sides = [list(side) for side in zip(*PAIRS[:1], *PAIRS[:1], *PAIRS, strict=True)]
    texts = sides if separate else [sum(zip(*sides, strict=True), ())]
    sizes = (370, 360) if separate else (411,)
    found = [
        Tokenizer.train([*text, SPELLING], vocab_size=size, model_type="bpe")
        for text, size in zip(texts, sizes, strict=True)
    ]
    tokenizer = Tokenizer(found[0].serialized, found[1]) if separate else found[0]
    torch.manual_seed(2017)
    model = Transformer(
        TransformerConfig(
            vocab_size=len(tokenizer),
            target_vocab_size=len(tokenizer.target) if separate else None,
            d_model=48,
            d_ff=96,
            n_heads=4,
            n_encoder_layers=2,
            n_decoder_layers=3,
            dropout=0.0,
            max_positions=64,
            norm="pre",
        )
    )
    return model, tokenizer


def _learn(model: Transformer, tokenizer: Tokenizer, steps: int) -> None:
    source = _padded([[*tokenizer.encode(english), EOS] for english, _ in PAIRS])
    target = _padded([[BOS, *tokenizer.target.encode(german), EOS] for _, german in PAIRS])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _padded(sentences: list[list[int]]) -> torch.Tensor:
    width = max(map(len, sentences))
    return torch.tensor([ids + [PAD] * (width - len(ids)) for ids in sentences])
