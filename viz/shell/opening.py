"""Pages open on something to see: a sentence for their experiment, and a state that shows it.

What a person typed, chose or was linked to stays as it is.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import language_pair
from model.explain.experiments import Experiment, Kind
from viz.acts.swap import neighbours
from viz.browser.kept import Kept, nothing
from viz.compare.view import PAIRS
from viz.compare.view import VIEW as COMPARE
from viz.decoding.view import VIEW as DECODING
from viz.draw.keys import Keys
from viz.effects.view import VIEW as EFFECTS
from viz.heads.view import VIEW as HEADS
from viz.links.head_refs import read_heads
from viz.links.parameters import View
from viz.masks.view import VIEW as MASKS
from viz.positions.view import VIEW as POSITIONS
from viz.registry.pages import CHECKPOINT, SENTENCE, TARGET
from viz.service import session
from viz.service.model_menu import copies, toy_task
from viz.service.questions import ModelQuestion
from viz.service.versions import folder_of
from viz.shell import address

OFFERED: Mapping[str, tuple[Kind, ...]] = {
    HEADS.name: ("head",),
    EFFECTS.name: ("head", "words"),
    COMPARE.name: ("search",),
    DECODING.name: ("search",),
    MASKS.name: ("mask",),
    POSITIONS.name: ("remove", "shuffle"),
}
"""The experiments of each page."""

OPENING: Mapping[str, Kind] = {
    HEADS.name: "head",
    EFFECTS.name: "head",
    MASKS.name: "mask",
}
"""The one that a page's first sentence shows; the others show theirs with any."""

_KEYS = Keys("opening")
_BROUGHT: Kept[dict[str, Any]] = Kept(_KEYS("brought"), dict)
_GIVEN: Kept[tuple[Path, str, str] | None] = Kept(_KEYS("given"), nothing)
"""A model that cannot write, with the sentence and the translation that it was given."""
_SEEN: Kept[set[str]] = Kept(_KEYS("seen"), set)

Offer = tuple[Kind, Experiment]


def is_first(name: str) -> bool:
    """Whether a part of a page is shown for the first time, and no link asked for it."""
    seen = _SEEN.value
    if name in seen:
        return False
    seen.add(name)
    return address.is_plain() or not address.is_followed()


def bring(**values: Any) -> None:
    """Give parameters of a page the values that it opens with."""
    address.bring(**values)
    _BROUGHT.value.update(values)


def is_brought(**values: Any) -> bool:
    """Whether parameters still have the values that a page opened with."""
    return values.items() <= _BROUGHT.value.items()


def offers(view: View, checkpoint: Path) -> tuple[Offer, ...]:
    """The experiments of a page for a model, each with its kind."""
    listed = session.experiments(checkpoint)
    return tuple(
        (kind, each) for kind in OFFERED.get(view.name, ()) for each in listed.get(kind, ())
    )


def bring_sentence(view: View, checkpoint: Path) -> None:
    """Let a page open with a sentence that shows something, unless a person brings their own.

    Call it before the sentence's field. The next page keeps the sentence if that shows something
    there too.
    """
    before = _BROUGHT.value.get(SENTENCE.name)
    if not address.is_plain() or address.now(TARGET):
        return
    if address.now(SENTENCE) not in (SENTENCE.default, before):
        return
    sources = _sources(view, checkpoint)
    if sources and address.now(SENTENCE) not in sources:
        bring(sentence=sources[0])


def bring_translation(folder: Path) -> None:
    """Let a model that only copies, newly chosen, open with an example and its translation.

    What a person typed or was linked to stays. Call it before the fields.
    """
    asked = {*address.query()} - {CHECKPOINT.name} if address.is_followed() else set()
    if address.now(TARGET) or asked or not copies(folder):
        return
    examples = {each.source: each.translation for each in session.examples(folder)}
    sentence = address.now(SENTENCE)
    if sentence == SENTENCE.default and sentence not in examples:
        sentence = next(iter(examples), sentence)
    if sentence in examples:
        bring(sentence=sentence, target=examples[sentence])
        _GIVEN.value = folder, sentence, examples[sentence]


def take_translation_back(folder: Path) -> None:
    """Without its sentence or its model, a brought translation goes. Call it before the fields."""
    given = _GIVEN.value
    if given is None or given == (folder, address.now(SENTENCE), address.now(TARGET)):
        return
    _GIVEN.value = None
    if address.now(TARGET) == given[-1]:
        bring(target="")


def _sources(view: View, checkpoint: Path) -> list[str]:
    """The sentences that a page may open with."""
    if view.name == COMPARE.name:
        return [first for first, _ in pairs_for(checkpoint)]
    kind = OPENING.get(view.name)
    return (
        []
        if kind is None
        else [each.source for each in session.experiments(checkpoint).get(kind, ())]
    )


def own_pairs(question: ModelQuestion) -> list[tuple[str, str]]:
    """The sentence that is asked, paired with each that has one of its words exchanged."""
    language = language_pair(question.folder.name)[0] or "en"
    return [(question.sentence, each) for each in neighbours(question.sentence, language)]


def pairs_for(checkpoint: Path) -> list[tuple[str, str]]:
    """Pairs of sentences that a model can read and that differ in one thing."""
    folder = folder_of(checkpoint)
    if toy_task(folder) is None and language_pair(folder.name)[0] in ("en", ""):
        return list(PAIRS)
    sources = [each.source for each in session.examples(checkpoint)]
    return list(itertools.pairwise(sources))[:5]


def take(view: View, offer: Offer) -> None:
    """Show an experiment; call it in a callback."""
    _, experiment = offer
    address.change(sentence=experiment.source, target="", **_state(view, offer))


def _state(view: View, offer: Offer) -> dict[str, Any]:
    """The parameters of a page that show an experiment."""
    kind, experiment = offer
    match kind:
        case "head" if view.name == HEADS.name:
            ((site, number),) = off = read_heads(experiment.setting)
            place = {"attention": str(site.kind), "layer": site.layer, "head": number}
            return {**place, "off": off, "compare": "", "cell": "", "only": ""}
        case "head":
            return {
                "off": read_heads(experiment.setting),
                "way": "gate",
                "gate": 0,
                "show": "probability",
                "instead": "",
            }
        case "words":
            token, _, other = experiment.setting.partition(".")
            return {"off": (), "show": "probability", "token": int(token), "instead": other}
        case "mask":
            shown = {"part": "compare", "masked": "decoder", "number": 1}
            return {**shown, "a": "1.decoder", "b": "preset.none"}
        case "remove":
            return {"topic": "without", "scale": 0, "shift": 0, "reverse": False}
        case "shuffle":
            return {"topic": "shuffle", "shuffled": experiment.setting}
        case "search" if view.name == DECODING.name:
            return {"section": "widths", "how": "search", "taken": ""}
        case "search":
            return {"versus": "search", "how": "search", "against": "", "taken": ""}
