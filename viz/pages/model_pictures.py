"""What the first page can save: first of all the picture of the place that one is at."""

from __future__ import annotations

from collections.abc import Iterator

from model.trace.attention_map import AttentionKind
from viz.decoding.steps import OneStep
from viz.heads.every_head import EveryHead
from viz.heads.one_head import OneHead
from viz.heads.query_key import QueryKey
from viz.model_page.payload import Figure
from viz.model_page.picture import PlayedSentence, WalkedModel
from viz.model_page.place import Place
from viz.positions.table import Positions
from viz.save.picture import Picture
from viz.service import session
from viz.service.questions import ModelQuestion, Question


def pictures_at(place: Place, figure: Figure, question: Question) -> list[Picture]:
    """The pictures of a place, the closest first, then the model, played and walked through."""
    whole: list[Picture] = [PlayedSentence(figure), WalkedModel(figure)]
    return [*_close_up(place, figure, question), *whole]


def _close_up(place: Place, figure: Figure, question: Question) -> Iterator[Picture]:
    target = question.target if isinstance(question, ModelQuestion) else ""
    seen = figure.seen
    if place.site is not None:
        map = seen.maps[place.site]
        if place.at == "weight" and map.q is not None and map.k is not None:
            head, query, key = place.numbers
            yield QueryKey(seen, place.site, head, query, key, target=target)
        if place.numbers:
            yield OneHead(seen, place.site, place.numbers[0], target=target)
        yield EveryHead(seen, place.site.kind, target=target)
    elif place.at == "stack" and place.stack is not None:
        for kind in dict.fromkeys(site.kind for site in seen.maps):
            if kind.query_side == place.stack.query_side:
                yield EveryHead(seen, kind, target=target)
    elif not isinstance(question, ModelQuestion):
        return
    elif place.at == "positions" and place.stack is AttentionKind.ENCODER:
        model, trace = session.translator(question.checkpoint), figure.trace
        yield Positions(
            figure.positions[place.stack],
            model.positions.base,
            model.trained_positions(),
            question.sentence,
            trace.source,
        )
    elif place.at == "next" and not target:
        search = session.translator(question.checkpoint).search
        decoded = session.ask(question.decode(search))
        if place.step < len(decoded.decoding.steps):
            yield OneStep(decoded.decoding, decoded.trace, search, place.step)
