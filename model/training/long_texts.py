"""Score a checkpoint on texts of several sentences: `python -m model.training.long_texts --help`.

A model that learned from single sentences leaves out more and more of a text. How far it reads well
goes into the checkpoint's metrics.json, by which the app warns of longer texts, and into card.md.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CARD, METRICS, load_checkpoint
from model.checkpoints.folder_files import read_json, write_json
from model.paper.linear import pack_linears
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.survey.parallel_text import Pair, read_pairs
from model.training.card import read_card, table, with_section
from model.training.command import Program, command
from model.training.evaluate import reversed_columns, translate_all, translation_scores

HEADING = "## Texts of several sentences"
SENTENCES = (1, 2, 3, 4, 5, 6, 8, 12)
"""How many sentences the scored texts have."""

SHARE = 0.9
"""A text is well read while BLEU is at least this share of that of single sentences."""

MOST_PAIRS = 480


def joined(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Texts of `count` consecutive pairs each; what remains is left out."""
    groups = [pairs[start : start + count] for start in range(0, len(pairs) - count + 1, count)]
    return [
        Pair(" ".join(pair.source for pair in group), " ".join(pair.target for pair in group))
        for group in groups
    ]


def scores_by_length(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair], *, beam: int = 4
) -> list[dict[str, Any]]:
    """For texts of so many "sentences", their mean source "tokens", with end token, and "bleu"."""
    rows = []
    for count in SENTENCES:
        texts = joined(pairs, count)
        if not texts:
            break
        sources = [text.source for text in texts]
        translations = translate_all(model, tokenizer, sources, beam=beam, progress=True)
        scores = translation_scores(translations, [text.target for text in texts])
        tokens = sum(map(len, tokenizer.encode_all(sources))) / len(texts)
        rows.append({"sentences": count, "tokens": round(tokens), "bleu": scores["bleu"]})
    return rows


def longest_well_read(rows: Sequence[dict[str, Any]]) -> int | None:
    """The tokens of the longest texts that, like all shorter ones, are well read; None for all."""
    least = SHARE * rows[0]["bleu"]
    for shorter, longer in pairwise(rows):
        if longer["bleu"] < least:
            tokens: int = shorter["tokens"]
            return tokens
    return None


def section(rows: Sequence[dict[str, Any]]) -> str:
    """The part of a card, as Markdown."""
    listed = [(str(row["sentences"]), str(row["tokens"]), f"{row['bleu']:.1f}") for row in rows]
    return (
        f"{HEADING}\n\nConsecutive test sentences joined to one text, which the model translates "
        f"at once:\n\n{table(('sentences', 'source tokens', 'BLEU'), listed)}"
    )


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True, help="a .tsv file")
    arguments = parser.parse(argv)
    metrics = read_json(arguments.checkpoint / METRICS)
    card = read_card(arguments.checkpoint / CARD)
    reverse = reversed_columns(arguments.checkpoint)
    pairs = read_pairs([arguments.test], reverse=reverse)[:MOST_PAIRS]
    checkpoint = load_checkpoint(arguments.checkpoint)
    pack_linears(checkpoint.model)
    rows = scores_by_length(checkpoint.model, checkpoint.tokenizer, pairs)
    texts = {"data": arguments.test.name, "well_read": longest_well_read(rows), "scores": rows}
    card = with_section(card, section(rows), before="## Good at")
    write_json(arguments.checkpoint / METRICS, {**metrics, "texts": texts})
    (arguments.checkpoint / CARD).write_text(card, encoding="utf-8")
    print(section(rows), f"\nwell read up to {texts['well_read']} tokens")


if __name__ == "__main__":
    raise SystemExit(main())
