"""Translate English sentences of other corpora: `python -m model.training.round_trip --help`.

Corpora of other language pairs have English sentences too. One model translates them, another
translates back, and a pair is kept if the result is near the original sentence (round-trip
filtering, as in Hoang et al. 2018 and Ng et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.paper.linear import pack_linears
from model.training.command import Program, command
from model.training.corpus import Pair, key, keys_in, read_pairs
from model.training.evaluate import translate_all

SOURCE = "round-trip"
"""The first column of the pairs."""

LEAST_CHRF = 80.0
"""Of the sentence translated back, against the original."""

CHUNK = 256
"""Sentences translated before their pairs are written."""

WORDS = range(3, 21)
"""Words of the sentences that are translated."""


def new_sentences(pairs: Sequence[Pair], known: set[str]) -> list[str]:
    """The distinct sources of three to twenty words with an unknown key, in order."""
    excluded = set(known)
    sentences = []
    for source, _ in pairs:
        if len(source.split()) in WORDS and key(source) not in excluded:
            excluded.add(key(source))
            sentences.append(source)
    return sentences


def agreeing(
    sentences: Sequence[str],
    forward: Checkpoint,
    backward: Checkpoint,
    *,
    beam: int = 4,
    least_chrf: float = LEAST_CHRF,
) -> Iterator[Pair]:
    """Pairs of a sentence and its translation that translates back to the sentence.

    The chrF of the sentence translated back, 0 to 100, is at least `least_chrf`; both searches have
    the beam. Raises DecodingError if that is out of range.
    """
    translations = translate_all(forward.model, forward.tokenizer, sentences, beam=beam)
    back = translate_all(backward.model, backward.tokenizer, translations, beam=beam)
    for sentence, translation, returned in zip(sentences, translations, back, strict=True):
        near = sacrebleu.sentence_chrf(returned, [sentence]).score >= least_chrf
        if near and translation.strip() and key(translation) != key(sentence):
            yield Pair(sentence, translation)


def _parser() -> Program:
    parser = Program(__spec__, __doc__)
    parser.add_argument("--forward", type=Path, required=True, help="such as checkpoints/en-de")
    parser.add_argument("--backward", type=Path, required=True, help="such as checkpoints/de-en")
    parser.add_argument(
        "--data", nargs="+", type=Path, required=True, help="files whose column before the last "
        "holds the sentences"
    )  # fmt: skip
    parser.add_argument("--output", type=Path, required=True, help="a .tsv file to write")
    parser.files("--held-out", "files of sentences to leave out, training files included")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--least-chrf", type=float, default=LEAST_CHRF)
    parser.add_argument("--limit", type=int, help="the most sentences to translate")
    return parser


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    arguments = _parser().parse(argv)
    n_agreeing = 0
    known = keys_in(arguments.held_out)
    sentences = new_sentences(read_pairs(arguments.data), known)[: arguments.limit]
    forward, backward = (
        load_checkpoint(folder) for folder in (arguments.forward, arguments.backward)
    )
    for checkpoint in (forward, backward):
        pack_linears(checkpoint.model)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", encoding="utf-8") as file:
        for start in tqdm(range(0, len(sentences), CHUNK), unit="chunk"):
            for pair in agreeing(
                sentences[start : start + CHUNK],
                forward,
                backward,
                beam=arguments.beam,
                least_chrf=arguments.least_chrf,
            ):
                if key(pair.target) not in known:
                    file.write(f"{SOURCE}\tB\t{pair.source}\t{pair.target}\n")
                    n_agreeing += 1
            file.flush()
    print(f"{n_agreeing:,} of {len(sentences):,} sentences kept in {arguments.output}")


if __name__ == "__main__":
    raise SystemExit(main())
