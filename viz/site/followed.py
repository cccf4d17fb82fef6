"""What phones that follow a speaker are shown without a model: answers that an engine would give.

A phone opens with the page alone, takes these answers for its engine's (followed.js), and loads the
model once its owner asks something else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from model.explain.block_outputs import block_outputs
from model.explain.head_ablation import effects_of
from model.paper.search import Search
from model.record.head_edits import Gate
from model.record.intervention import Intervention
from model.record.patches import Side
from model.trace.attention_map import AttentionMap, FloatArray, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.browser.envelope import seal
from viz.browser.trace_payload import VECTORS
from viz.model_page.payload import packed_positions

SHORT = 24_000
"""So many weights are sent with all their digits that a picture names; of more, each is a byte, so
that a change of the stage sends each phone some 60 kB for 21 words."""

_DIGITS = 12
"""Binary ones."""

SIDES: tuple[Side, Side] = ("encoder", "decoder")


def followed(
    model: Translator,
    sentence: str,
    target: str = "",
    *,
    off: Sequence[Head] = (),
    head: Head | None = None,
    effects: bool = False,
) -> bytes:
    """The "followed" of payloads.json.

    Args:
        model: the one that the site opens with.
        sentence: what is translated.
        target: a translation that is given; empty for the model's own.
        off: heads that are switched off.
        head: whose vectors are shown.
        effects: whether the loss without each head is shown.

    Raises:
        TextError: if the sentence cannot be translated.
        HeadError: if the model has no such head.
    """
    own = model.decode(sentence)
    trace = model.trace(sentence, target) if target else model.trace_of(own.translation)
    forced = Search(prefix=trace.predictions.ids)
    steps = (model.decode(sentence, search=forced) if target else own).steps
    blocks = block_outputs(model, trace)
    assert blocks.normalizers is not None, "they are known wherever a model runs"
    under = Intervention(heads=dict.fromkeys(off, Gate(0)))
    priced = None
    if off and target:
        priced = model.trace(sentence, target, under=under)
    elif off:
        priced = model.trace_of(own.translation, under=under)
    is_short = sum(each.weights.size for each in trace.maps.values()) <= SHORT
    return seal(
        {
            "payload": "followed",
            "sentence": sentence,
            "target": target or None,
            "off": [[str(each.site.kind), each.site.layer, each.number] for each in off],
            "own": own.translation.text,
            "without": model.translate(sentence, under=under).text if off else None,
            "forced": None if priced is None else priced.log_probs,
            "effects": _effects(model, trace) if effects else None,
            "unseen": list(own.translation.unseen),
            "text": trace.text,
            "source": _pieces(trace.source),
            "read": _pieces(trace.target),
            "predictions": _pieces(trace.predictions),
            "logProbs": trace.log_probs,
            "steps": [
                {
                    **_pieces(step.likeliest),
                    "probabilities": np.array(step.probabilities, np.float32),
                    "rank": step.rank,
                    "normalizers": normalizers,
                }
                for step, normalizers in zip(steps, blocks.normalizers, strict=True)
            ],
            "maps": [_map(each, head, is_short) for each in trace.maps.values()],
            "added": {str(kind): list(layers) for kind, layers in blocks.added.items()},
            "positions": {
                kind: _positions(model, kind, len(tokens))
                for kind, tokens in zip(SIDES, (trace.source, trace.target), strict=True)
            },
        }
    )


def _pieces(tokens: Tokens) -> dict[str, Any]:
    return {"tokens": list(tokens.tokens), "ids": list(tokens.ids)}


def _rounded(numbers: FloatArray) -> FloatArray:
    """Numbers with fewer digits, so that the others, all 0, take no room once compressed."""
    dropped = 23 - _DIGITS
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    return (bits + np.uint32(1 << (dropped - 1)) >> dropped << dropped).view(np.float32)


def _map(seen: AttentionMap, head: Head | None, is_short: bool) -> dict[str, Any]:
    site = seen.site
    shown = head.number if head is not None and head.site == site else None
    return {
        "kind": str(site.kind),
        "layer": site.layer,
        "heads": seen.n_heads,
        "queries": len(seen.queries),
        "keys": len(seen.keys),
        **_weights(seen, is_short),
        "allowed": seen.allowed,
        "head": shown,
        **{
            name: None if shown is None else _rounded(getattr(seen, name)[shown])
            for name in VECTORS
        },
    }


def _weights(seen: AttentionMap, is_short: bool) -> dict[str, Any]:
    if is_short:
        return {"weights": _rounded(seen.weights), "scales": None}
    steps, scales = zip(*seen.in_steps(), strict=True)
    return {"weights": list(steps), "scales": list(scales)}


def _positions(model: Translator, side: Side, length: int) -> Mapping[str, Any] | None:
    if not model.positions.is_added:
        return None
    return packed_positions(model.position_table(length, side=side))


def _effects(model: Translator, trace: Trace) -> list[dict[str, Any]]:
    found = effects_of(model, trace)
    return [
        {
            "kind": str(site.kind),
            "layer": site.layer,
            "heads": len(losses),
            "losses": _rounded(losses),
        }
        for site, losses in found.losses.items()
    ]
