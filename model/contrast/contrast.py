"""One word against another: what their probabilities depend on.

Removing a head changes both probabilities. What speaks for the word that was written is what
changes their ratio (Yin and Neubig 2022, "Interpreting Language Models with Contrastive
Explanations", section 3).
"""

import numpy as np
import torch

from model.contrast.pairs import Pair, pair_of, set_passes_of
from model.contrast.passes import Judged, SetPasses
from model.contrast.results import Contrast
from model.explain.deletion import without_tokens
from model.trace.trace import Trace
from model.trace.word_grouping import words
from model.translate.sentences import TextError
from model.translate.translator import Translator


def contrast(
    translator: Translator, sentence: str, word: int | str, other: str, target: str | None = None
) -> Contrast:
    """Why a translation has one word and not another: the probabilities of both.

    For each step alike, the decoder reads the translation up to there; heads are removed one at a
    time, and source tokens hidden one at a time. After Yin and Neubig 2022.

    Args:
        word: a word of the translation, or the place of one of its tokens, from 0.
        other: one of the ten likeliest tokens in that place, or any word, which then stands in
            place of the whole word. Words of several tokens are judged at the first token in which
            they differ.
        target: a translation; None lets the model translate.

    Returns:
        A `Contrast`: log-probabilities in natural logarithms, (2,) for word and other with
        everything, (head, 2) by site without each head, (source, 2) without each source token.

    Raises:
        TextError: if the translation has no such word, or as `Translator.trace` and `pair_of`.
        IndexError: if there is no such place.
    """
    trace = translator.trace(sentence, target)
    place = word_place(translator, trace, word) if isinstance(word, str) else word
    return contrast_of(translator, trace, pair_of(translator, trace, place, other))


def word_place(translator: Translator, trace: Trace, word: str) -> int:
    """The place of a word's first token in a translation; TextError if it has no such word."""
    predictions, tokenizer = trace.predictions, translator.tokenizer.target
    for each in words(predictions):
        if tokenizer.decode(predictions.ids[each]).strip() == word.strip():
            return each.start
    raise TextError(f"The translation “{trace.text}” has no word “{word}”; choose one of its own.")


@torch.inference_mode()
def contrast_of(translator: Translator, trace: Trace, pair: Pair) -> Contrast:
    """The probabilities of a pair, for the translation of a trace without an intervention."""
    passes = set_passes_of(translator, trace, pair)
    n_heads = translator.model.config.n_heads
    every = torch.ones(1, len(passes.heads), dtype=torch.bool)
    alone = ~torch.eye(len(passes.heads), dtype=torch.bool)
    judged = passes.judge_kept(torch.cat([every, alone]).to(translator.device))
    log_probs, *without = judged.log_probs[:, :2]
    by_site = np.reshape(without, (-1, n_heads, 2)).astype(np.float32)
    likeliest = np.reshape(judged.likeliest[1:], (-1, n_heads)).tolist()
    deleted = _deleted(translator, trace, passes)
    return Contrast(
        source_text=trace.source_text,
        text=trace.text,
        source=trace.source,
        predictions=trace.predictions,
        step=pair.step,
        word=pair.word,
        other=pair.other,
        pieces=translator.target_tokens(pair.ids),
        log_probs=log_probs,
        without=dict(zip(translator.sites, by_site, strict=True)),
        deleted=deleted.log_probs[:, :2],
        likeliest=dict(
            zip(translator.sites, map(translator.target_tokens, likeliest), strict=True)
        ),
        likeliest_deleted=translator.target_tokens(deleted.likeliest.tolist()),
        provenance=trace.provenance,
    )


def _deleted(translator: Translator, trace: Trace, passes: SetPasses) -> Judged:
    columns = range(len(trace.source))
    logits = [
        each[:, -1].clone()
        for each in without_tokens(translator, passes.source, passes.target, columns)
    ]
    # The first row has every token.
    return passes.judge_logits(torch.cat(logits)[1:])
