"""The keys of the app's links, as the site knows them: it has not all of the app's pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz.links.parameters import Parameter
from viz.registry.pages import AROUND, SHARED, VIEWS

SPELLED = {"masks": ("part", "batch"), "positions": ("topic", "length")}
"""Keys by page whose default is another picture than what the site's own page opens with."""

Keys = dict[str, str | None]


def known_keys() -> dict[str, Keys]:
    """Each page's keys with their defaults; None where these depend on the model.

    Those that belong to no view stand under the empty name.
    """
    pages = {
        view.name: _defaults((*view.parameters, *(SHARED if view.asks else ())))
        for view in VIEWS.values()
    }
    return {"": _defaults(AROUND), **pages}


def spelled(page: str, view: Mapping[str, str]) -> dict[str, str]:
    """A view of the app as the site's address has it, which shows the same or says that it cannot.

    Args:
        page: one of VIEWS.
        view: its query, without defaults.
    """
    defaults = _defaults(VIEWS[page].parameters)
    return {name: defaults[name] or "" for name in SPELLED.get(page, ())} | dict(view)


def _defaults(parameters: tuple[Parameter[Any], ...]) -> Keys:
    return {
        name: _default(each) for each in parameters for name in filter(None, (each.name, each.was))
    }


def _default(parameter: Parameter[Any]) -> str | None:
    if parameter.default is None:
        return None
    text = parameter.write(parameter.default)
    try:
        parameter.parse(text)
    except ValueError:
        # A layer or a head that the model decides on.
        return None
    return text
