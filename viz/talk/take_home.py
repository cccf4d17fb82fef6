"""A talk in one HTML file, with the model that its scenes show."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from model.checkpoints.shipped import CheckpointError
from viz.service.model_menu import DEFAULT_CHECKPOINT
from viz.site.keys import spelled
from viz.site.model import PackError, packed, require_runs
from viz.site.page import live_page
from viz.talk.ready import texts_of
from viz.talk.scenes import Talk, write


def model_of(talk: Talk, folders: Mapping[str, Path]) -> Path | None:
    """The folder of the model that most scenes show and a page can run; None if there is none."""
    names = Counter(scene.view.get("checkpoint", DEFAULT_CHECKPOINT) for scene in talk.scenes)
    return next(
        (folders[name] for name, _ in names.most_common() if _runs(folders.get(name))), None
    )


def _runs(folder: Path | None) -> bool:
    if folder is None:
        return False
    try:
        require_runs(folder)
    except (CheckpointError, PackError):
        return False
    return True


def take_home(talk: Talk | None, folder: Path, *, sentence: str = "") -> str:
    """A page that runs a model offline, as a complete HTML document.

    Args:
        talk: that it opens with; None for the model alone.
        sentence: that it opens with; empty for the first one of the talk or of the model.

    Raises:
        CheckpointError: if the folder is no checkpoint.
        PackError: if no page runs such a model.
        TextError: if the sentence cannot be translated.
    """
    if talk is None or not talk.scenes:
        model = packed(folder, sentence=sentence)
        return live_page(model, title=f"Every attention head of {model.name}")
    first = sentence or talk.scenes[0].view.get("sentence", "")
    scenes = tuple(replace(each, view=spelled(each.page, each.view)) for each in talk.scenes)
    at_home = {**json.loads(write(replace(talk, scenes=scenes))), "texts": texts_of(talk)}
    return live_page(packed(folder, sentence=first), title=talk.title, talk=at_home)
