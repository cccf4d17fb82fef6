"""Where the picture of the model asks for what it does not hold, and about what."""

from __future__ import annotations

ADDRESS = "ask"
"""Below which the server answers the picture's questions (viz/server/asking.py)."""


def asks(
    model: str, sentence: str, *, target: str = "", snapshot: int | None = None
) -> dict[str, str | int | None]:
    """What the browser needs to ask about a sentence in a model (model_view/asking.js).

    Args:
        model: the name of its checkpoint.
        sentence: the source.
        target: a translation to look at; empty for the model's own.
        snapshot: which of the checkpoint's snapshots, counted from 0; None for the trained model.
    """
    return {
        # Relative to the page, which may stand below a path of a proxy.
        "url": ADDRESS,
        "model": model,
        "snapshot": snapshot,
        "sentence": sentence,
        "target": target,
    }
