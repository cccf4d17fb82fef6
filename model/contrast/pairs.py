"""The two words of a contrast: where they stand in a translation, and which tokens are judged."""

from dataclasses import dataclass

import torch

from model.contrast.passes import Means, SetPasses
from model.contrast.results import Rivals
from model.paper.log_probs import unsayable
from model.trace.token_schemes import WORD_START, special
from model.trace.trace import Trace
from model.trace.translation import LIKELIEST
from model.trace.word_grouping import words
from model.translate.sentences import TextError
from model.translate.translator import Translator


@dataclass(frozen=True, slots=True)
class Pair:
    """A word of a translation with another one.

    Attributes:
        step: of the first token in which they differ, from 0.
    """

    step: int
    ids: tuple[int, int]
    word: str
    other: str


def spelled(piece: str) -> str:
    """A token without the mark of a word's start."""
    return piece.removeprefix(WORD_START) or piece


@torch.inference_mode()
def rivals(translator: Translator, trace: Trace, place: int) -> Rivals:
    """The ten likeliest tokens in one place of a trace's translation."""
    source, target, _ = translator.trace_ids(trace)
    hidden = translator.model.hidden(source, target[:, : place + 1])
    logits = translator.model.output(hidden[:, -1])[0].float()
    sayable = logits.log_softmax(dim=-1) + unsayable(translator.model.config, translator.device)
    best = sayable.topk(min(LIKELIEST, len(sayable)))
    return Rivals(
        tokens=translator.target_tokens(best.indices.tolist()),
        probabilities=best.values.exp().cpu().numpy(),
    )


def least_certain(trace: Trace) -> int:
    """The place of the word of which the model was least sure; special tokens count for none."""
    assert trace.log_probs is not None, "every trace of a translator holds them"
    places = [n for n, token in enumerate(trace.predictions) if not special(token)]
    log_probs = trace.log_probs
    return min(places, key=lambda place: float(log_probs[place]), default=0)


def next_likeliest(translator: Translator, trace: Trace, place: int) -> str:
    """How the likeliest token besides a translation's own is spelled."""
    found = rivals(translator, trace, place).tokens
    own = trace.predictions.ids[place]
    return next(
        spelled(piece) for piece, token in zip(found.tokens, found.ids, strict=True) if token != own
    )


def pair_of(translator: Translator, trace: Trace, place: int, other: str) -> Pair:
    """The pair of a target token, or of the word around it, with another word.

    If the other is how one of the ten likeliest tokens there is spelled, it is that token. Any
    other text is cut into tokens and stands in place of the whole word; the pair is judged at the
    first token in which the two then differ.

    Raises:
        IndexError: if there is no such place.
        TextError: if the other word is empty, too long, of unseen characters, or the same.
    """
    predictions = trace.predictions
    if not 0 <= place < len(predictions):
        raise IndexError(
            f"There is no target token {place}; choose one from 0 to {len(predictions) - 1}."
        )
    other = other.strip()
    if not other:
        raise TextError("The other word is empty; type one, or choose one of the ten likeliest.")
    own = predictions.ids[place]
    likeliest = rivals(translator, trace, place).tokens
    for piece, token in zip(likeliest.tokens, likeliest.ids, strict=True):
        if token != own and other in (piece, spelled(piece)):
            return Pair(place, (own, token), spelled(predictions.tokens[place]), spelled(piece))
    whole = next(each for each in words(predictions) if each.start <= place < each.stop)
    if translator.tokenizer.target.unseen_characters(other):
        raise TextError(f"{translator.lacks('some of these')}; choose another word.")
    typed = translator.target_ids(other)
    rest = predictions.ids[whole.stop :]
    beside = zip(predictions.ids[whole.start :], (*typed, *rest), strict=False)
    for offset, (one, another) in enumerate(beside):
        if one != another:
            # The end of the text decodes to nothing.
            word = translator.tokenizer.target.decode(predictions.ids[whole])
            word = word or spelled(predictions.tokens[place])
            return Pair(whole.start + offset, (one, another), word, other)
    raise TextError(f"“{other}” is what the translation has there; choose another word.")


def set_passes_of(
    translator: Translator, trace: Trace, pair: Pair, means: Means | None = None
) -> SetPasses:
    """The same, with sets of heads replaced by their means or by 0."""
    source, target, _ = translator.trace_ids(trace)
    target = target[:, : pair.step + 1]
    return SetPasses(translator.model, source, target, pair.ids, translator.sites, means)
