"""Translate English sentences of other corpora: `python -m model.training.noisy_channel --help`.

Corpora of other language pairs have English sentences too. One model's beam search writes several
translations of each; a model of the way back says how likely the sentence is given each. Both
choose together, as a noisy channel (Yee et al. 2019, section 2.2, without a language model), and a
pair stays if the sentence is likely enough on the way back.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.paper.beam_search import beam_search
from model.paper.linear import pack_linears
from model.paper.log_probs import token_log_probs
from model.paper.tokenizer import BOS, EOS, PAD
from model.survey.parallel_text import Pair, key, keys_in, read_pairs
from model.training.batches import padded
from model.training.command import Program, command, part

SOURCE = "noisy-channel"
"""The first column of the pairs."""

WEIGHT = 0.25
"""Of the way back in the choice among translations; the best of 0 to 3 on dev.tsv."""

LEAST = -1.0
"""Sum of the mean log-probabilities, in nats, of a token on either way; two thirds of the choices
on dev.tsv reach it."""

CHUNK = 64
"""Sentences translated before their pairs are written."""

WORDS = range(3, 21)
"""Words of the sentences that are translated."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A translation with the mean log-probabilities, in nats, of a token on either way."""

    text: str
    there: float
    back: float

    def score(self, weight: float) -> float:
        """The sum of both, the way back weighted."""
        return self.there + weight * self.back


def new_sentences(pairs: Sequence[Pair], known: set[str]) -> list[str]:
    """The distinct sources of three to twenty words with an unknown key, in order."""
    excluded = set(known)
    sentences = []
    for source, _ in pairs:
        if len(source.split()) in WORDS and key(source) not in excluded:
            excluded.add(key(source))
            sentences.append(source)
    return sentences


def candidates(
    sentences: Sequence[str], forward: Checkpoint, backward: Checkpoint, *, beam: int
) -> list[list[Candidate]]:
    """For each sentence, the distinct finished hypotheses of a beam search, best first.

    Raises DecodingError if the beam is out of range.
    """
    encoded = forward.tokenizer.encode_all(sentences)
    beams = beam_search(forward.model, padded(encoded), beam=beam)
    found: list[dict[str, float]] = []
    for hypotheses in beams:
        texts: dict[str, float] = {}
        for each in hypotheses:
            text = forward.tokenizer.target.decode(each.token_ids).strip()
            if each.finished and text:
                texts.setdefault(text, math.fsum(each.log_probs) / len(each.log_probs))
        found.append(texts)
    asked = [
        (text, sentence)
        for sentence, texts in zip(sentences, found, strict=True)
        for text in texts
    ]  # fmt: skip
    back = iter(mean_log_probs(asked, backward))
    return [
        [Candidate(text, there, next(back)) for text, there in texts.items()] for texts in found
    ]


@torch.inference_mode()
def mean_log_probs(pairs: Sequence[tuple[str, str]], checkpoint: Checkpoint) -> list[float]:
    """The mean log-probability of a target's token, end token included, for each pair."""
    if not pairs:
        return []
    sources, targets = (
        checkpoint.tokenizer.encode_all([pair[0] for pair in pairs]),
        checkpoint.tokenizer.target.encode_all([pair[1] for pair in pairs]),
    )
    labels = padded(targets)
    inputs = torch.cat((torch.full_like(labels[:, :1], BOS), labels[:, :-1]), dim=1)
    inputs[inputs == EOS] = PAD
    found = token_log_probs(checkpoint.model(padded(sources), inputs), labels)
    real = labels != PAD
    return ((found * real).sum(1) / real.sum(1)).tolist()


def agreed(
    sentences: Sequence[str],
    forward: Checkpoint,
    backward: Checkpoint,
    *,
    beam: int = 4,
    weight: float = WEIGHT,
    least: float = LEAST,
) -> Iterator[Pair]:
    """Pairs of a sentence and the translation that both models choose.

    Left out where the two mean log-probabilities of the choice sum to less than `least`, or where
    it copies the sentence. Raises DecodingError if the beam is out of range.
    """
    choices = candidates(sentences, forward, backward, beam=beam)
    for sentence, texts in zip(sentences, choices, strict=True):
        best = max(texts, key=lambda each: each.score(weight), default=None)
        if best and best.score(1) >= least and key(best.text) != key(sentence):
            yield Pair(sentence, best.text)


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
    parser.add_argument("--weight", type=float, default=WEIGHT, help="of the way back")
    parser.add_argument("--least", type=float, default=LEAST, help="sum of mean log-probabilities")
    parser.add_argument("--limit", type=int, help="the most sentences to translate")
    parser.add_argument("--part", type=part, default=(1, 1), help="such as 1/2: this half alone")
    return parser


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    arguments = _parser().parse(argv)
    n_agreed = 0
    number, parts = arguments.part
    known = keys_in(arguments.held_out)
    sentences = new_sentences(read_pairs(arguments.data), known)[: arguments.limit]
    sentences = sorted(sentences[number - 1 :: parts], key=len)
    forward, backward = (
        load_checkpoint(folder) for folder in (arguments.forward, arguments.backward)
    )
    for checkpoint in (forward, backward):
        pack_linears(checkpoint.model)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", encoding="utf-8") as file:
        for start in tqdm(range(0, len(sentences), CHUNK), unit="chunk"):
            for pair in agreed(
                sentences[start : start + CHUNK],
                forward,
                backward,
                beam=arguments.beam,
                weight=arguments.weight,
                least=arguments.least,
            ):
                if key(pair.target) not in known:
                    file.write(f"{SOURCE}\tB\t{pair.source}\t{pair.target}\n")
                    n_agreed += 1
            file.flush()
    print(f"{n_agreed:,} of {len(sentences):,} sentences kept in {arguments.output}")


if __name__ == "__main__":
    raise SystemExit(main())
