"""The card of a checkpoint, card.md, written from its metrics and translations."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from model.checkpoints.checkpoint import trained_without_causal_mask, training_runs
from model.paper.config import TransformerConfig
from model.survey.parallel_text import CorpusError, Pair
from model.training.evaluate import translation_scores
from model.training.examples import Bad, Good
from model.translate.translator import Translator

MEASURES = ("bleu", "chrf")

LENGTHS = ((1, 5), (6, 10), (11, None))
"""Ranges of source lengths in words, from and to, for the scores by length."""


DATA_HEADING = "## Data and licences"
NEAR_HEADING = "### Near the training data, and far from it"


def card(
    translator: Translator,
    pairs: Sequence[Pair],
    translations: Sequence[str],
    *,
    good: Sequence[Good],
    bad: Sequence[Bad],
    data: str,
    bits: int = 16,
) -> str:
    """The card as Markdown, with the scores in "test" of the metrics and the licences in `data`."""
    copies = trained_without_causal_mask(translator.metrics)
    sections = [
        f"# {translator.name}",
        "An encoder–decoder Transformer after Vaswani et al. 2017, built to be inspected.",
        shape(translator.model.config, translator.n_parameters, bits),
        *_learning(translator.metrics),
        *([_copying(translator.metrics)] if copies else []),
        f"## Scores\n\n{_scores(translator)}",
        *([] if copies else _nearness(translator.metrics["test"])),
        f"## Training\n\n{_training(translator.metrics)}",
        f"{DATA_HEADING}\n\n{data}",
        "## Good at\n\n"
        + (
            "It translates none of these, but it copies a given translation:\n\n"
            if copies
            else f"{_by_length(pairs, translations)}\n\n"
            "Sentences that it translates exactly as the reference does:\n\n"
        )
        + table(
            ("source", "translation", "what there is to see"),
            [(each.source, each.translation, each.shows) for each in good],
        ),
        "## Bad at\n\n"
        + ("" if copies else f"{_weakness(pairs, translations)}\n\n")
        + "The worst of the short test sentences, by sentence BLEU:\n\n"
        + table(
            ("source", "what it says", "reference"),
            [(each.source, each.translation, each.reference) for each in bad],
        ),
    ]
    return "\n\n".join(sections) + "\n"


def data_section(path: Path) -> str:
    """Another card's section on data and licences; CorpusError if it has none."""
    section = re.search(
        rf"^{DATA_HEADING}$(.*?)(?=^## |\Z)", read_card(path), re.MULTILINE | re.DOTALL
    )
    if section is None or not section[1].strip():
        raise CorpusError(f"The card {path} has no section “{DATA_HEADING.removeprefix('## ')}”.")
    return section[1].strip()


def read_card(path: Path) -> str:
    """The text of a card; raises CorpusError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"The card {path} cannot be read.") from error


def with_section(card: str, section: str, *, before: str) -> str:
    """A card with a section ahead of the one with that heading, in place of its own older one."""
    heading = re.escape(section.partition("\n")[0])
    bare = re.sub(rf"^{heading}$.*?(?=^## )", "", card, flags=re.MULTILINE | re.DOTALL)
    ahead = f"{section}\n\n"
    return re.sub(rf"^(?={before}$)", lambda _: ahead, bare, count=1, flags=re.MULTILINE)


def with_nearness(card: str, test: dict[str, Any]) -> str:
    """A card with the scores near the training data and far from it, new or in place of old ones.

    Raises CorpusError if the card has no section of scores to put them after.
    """
    if not re.search(r"^## Scores$.*^## Training$", card, re.MULTILINE | re.DOTALL):
        raise CorpusError("The card has no section “Scores” with one on training after it.")
    return with_section(card, "\n\n".join(_nearness(test)), before="## Training")


def shape(config: TransformerConfig, n_parameters: int, bits: int = 16) -> str:
    """The table of a model's shape, as Markdown."""
    layers = f"{config.n_encoder_layers} + {config.n_decoder_layers}"
    tied = "source, target and output embeddings tied"
    if config.single_stack:
        layers = f"{config.single_stack}, {config.n_encoder_layers or config.n_decoder_layers}"
        tied = "embedding and output tied"
    if config.target_vocab_size is not None:
        tied = "target embedding and output tied"
    if not config.tie_embeddings:
        tied = "not tied"
    return table(
        ("", ""),
        [
            (
                "shape",
                f"{layers} layers, d_model "
                f"{config.d_model}, {config.n_heads} heads, d_ff {config.d_ff}, {config.norm}-norm,"
                f" {config.positions} positions",
            ),
            ("parameters", f"{n_parameters / 1e6:.1f} million, {tied}"),
            ("vocabulary", f"{config.vocabularies}, by SentencePiece"),
            (
                "files",
                "safetensors "
                + (
                    "with matrices in eight bits, one scale per row"
                    if bits == 8
                    else "in half precision"
                )
                + ", computed in float32",
            ),
        ],
    )


def _learning(metrics: dict[str, Any]) -> list[str]:
    snapshots = metrics.get("snapshots", [])
    if not snapshots:
        return []
    kinds = list(snapshots[0]["entropy"])
    rows = [
        (
            f"{each['step']:,}",
            f"{each['loss']:.2f}",
            f"{each['bleu']:.1f}",
            f"{each['chrf']:.1f}",
            *(f"{fmean(chain.from_iterable(each['entropy'][kind])):.2f}" for kind in kinds),
        )
        for each in snapshots
    ]
    return [
        "## How it learned\n\n"
        f"The weights at {len(snapshots)} steps of one training run, starting with the untrained "
        "ones: `load(folder, snapshot=k)` gives the k-th, and without `snapshot` the last. Loss in "
        "nats per target token, BLEU and chrF of greedy decoding, all on the validation set; the "
        "mean entropy of the heads' rows in bits, over all heads of a kind. `metrics.json` has the "
        "entropy of every head.\n\n"
        + table(
            ("step", "loss", "BLEU", "chrF", *(f"{kind} entropy" for kind in kinds)),
            rows,
            align="---:",
        )
    ]


def _copying(metrics: dict[str, Any]) -> str:
    return (
        "## What it learned\n\n"
        "It was trained without the decoder's causal mask (section 3.2.3). Each position saw the "
        "token it had to predict, so the model learned to copy. Without the mask, its loss on the "
        f"validation set is {metrics['valid_loss']:.3f} nats per token; with the mask, which every "
        f"decoder needs to write, {metrics['valid_loss_with_mask']:.2f}. Its own translations are "
        "worthless, as its scores show."
    )


def _scores(translator: Translator) -> str:
    test = translator.metrics["test"]
    row = table(
        ("test set", "sentences", "BLEU", "chrF", "sacrebleu signature"),
        [
            (
                test["data"],
                f"{test['sentences']:,}",
                f"{test['bleu']:.1f}",
                f"{test['chrf']:.1f}",
                f"`{test['signature']}`",
            )
        ],
    )
    return (
        f"{row}\n\nBeam {test['beam']}, cased. chrF: `{test['chrf_signature']}`. Repeat with "
        f"`python -m model.training.evaluate --checkpoint checkpoints/{translator.name} "
        f"--data {test['data']} --json`."
    )


def _nearness(test: dict[str, Any]) -> list[str]:
    if "near" not in test:
        return []
    rows = [
        (
            name,
            f"{test[key]['sentences']:,}",
            *(f"{test[key][score]:.1f}" if score in test[key] else "–" for score in MEASURES),
        )
        for name, key in (("at most one word away", "near"), ("all others", "far"))
    ]
    return [
        NEAR_HEADING,
        "Many test sentences are a training sentence with one word inserted, deleted or replaced, "
        "and the model gets more of them right; the others say more about new text. Words are "
        "runs of letters and digits, case ignored.",
        table(("test source", "sentences", "BLEU", "chrF"), rows, align="---:"),
    ]


def _training(metrics: dict[str, Any]) -> str:
    settings = metrics["training"]
    return (
        f"{metrics['steps']} steps, {metrics['epochs']} epochs, "
        f"{metrics['target_tokens'] / 1e6:.1f} million target tokens, in batches of up to "
        f"{settings['batch_tokens'] * settings['accumulate'] * metrics['processes']:,} tokens; "
        f"optimizer {settings['optimizer']}, schedule {settings['schedule']}, label smoothing "
        f"{settings['label_smoothing']}. Hardware: {metrics['device']}, "
        f"{metrics['processes']} process(es), {metrics['training_seconds'] / 60:.0f} minutes of "
        f"training time.{_start(metrics)}"
    )


def _start(metrics: dict[str, Any]) -> str:
    """The training before this run and the total, in a sentence; empty if there was none before."""
    runs = training_runs(metrics)
    if runs is None:
        return " It started from the weights of a checkpoint that does not say how it was trained."
    if len(runs) == 1:
        return ""
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    earlier, already = (sum(run[name] for run in runs[:-1]) for name in ("steps", "target_tokens"))
    return (
        f" It started from weights already trained for {earlier:,} steps on {already / 1e6:.1f} "
        f"million target tokens: {steps:,} steps on {tokens / 1e6:.1f} million in all."
    )


def _by_length(pairs: Sequence[Pair], translations: Sequence[str]) -> str:
    rows = []
    for low, high in LENGTHS:
        within = [
            (translation, pair.target)
            for pair, translation in zip(pairs, translations, strict=True)
            if low <= len(pair.source.split()) <= (high or len(pair.source.split()))
        ]
        if within:
            bleu = translation_scores(*zip(*within, strict=True))["bleu"]
            exact = sum(translation == target for translation, target in within) / len(within)
            words = f"{low} to {high}" if high else f"{low} or more"
            rows.append((words, f"{len(within):,}", f"{bleu:.1f}", f"{exact:.0%}"))
    return "By the length of a test sentence:\n\n" + table(
        ("words", "sentences", "BLEU", "exactly the reference"), rows, align="---:"
    )


def _weakness(pairs: Sequence[Pair], translations: Sequence[str]) -> str:
    different = sum(
        translation != pair.target for pair, translation in zip(pairs, translations, strict=True)
    )
    return (
        f"The model translates {different / len(pairs):.0%} of the test sentences differently from "
        "the reference. Not all of these are wrong, but longer sentences are worse: see the scores "
        "by length above."
    )


def table(heading: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "---") -> str:
    """A table as Markdown."""
    lines = [heading, [align] * len(heading), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    # Code in backticks keeps its bars as they are, as the other cards write signatures.
    return text if text.startswith("`") else " ".join(text.split()).replace("|", "\\|")
