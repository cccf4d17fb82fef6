"""Grow up in ten seconds: a sentence through every snapshot of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.trace.trace import Trace
from viz.acts.act import Act, Frame, changed
from viz.draw.style import count_of

_HALF = 0.5


def grown(steps: Sequence[int], written: Sequence[str], traces: Sequence[Trace], model: str) -> Act:
    """The act.

    Args:
        steps: of the training, at which there are snapshots, ascending.
        written: what each snapshot writes.
        traces: of each snapshot, reading the finished model's translation, so that all heads are
            of one shape.
        model: its name.
    """
    frames, before = [], ""
    for place, (step, text) in enumerate(zip(steps, written, strict=True)):
        frames.append(
            Frame(
                f"Step {step:,}",
                changed(before, text) if place else ((text, ""),),
                _said(step, traces[place], set(written[place:]) == {text}, place == len(steps) - 1),
                trace=place,
            )
        )
        before = text
    return Act(
        act="grow",
        caption=f"Every square is a head of {model}, on this sentence; above, what it writes by "
        "then. At every step, heads read the finished model’s translation.",
        read=traces[-1].source_text,
        frames=tuple(frames),
        traces=tuple(traces),
        known=traces[-1].provenance,
    )


def _said(step: int, trace: Trace, is_settled: bool, is_last: bool) -> str:
    sure, n_heads = sharp_heads(trace), len(trace.heads)
    looks = "looks" if sure == 1 else "look"
    of = f"{sure or 'None'} of {count_of(n_heads, 'head')} {looks} mostly at one token."
    if step == 0:
        return f"Before any training, all weights of the model are random. {of}"
    if is_last:
        return f"The training is over. {of}"
    end = " From here on, it writes this." if is_settled else ""
    return f"After {count_of(step, 'step')}: {of[0].lower()}{of[1:]}{end}"


def sharp_heads(trace: Trace) -> int:
    """How many heads give half of a row's weight or more to one token, in the mean over rows."""
    return sum(
        int(np.count_nonzero(each.weights.max(axis=2).mean(axis=1) >= _HALF))
        for each in trace.maps.values()
    )
