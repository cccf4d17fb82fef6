"""Every head of a trace as a widget of a notebook, whose selection Python reads and sets.

import headscope as hs
widget = hs.explore(trace)          the last line of a cell draws it
widget.selection                    Selection(kind='cross', layer=2, head=5, cell=None)
widget.selection = "cross", 1, 3
widget.observe(callback, "selection")
"""

from __future__ import annotations

import json
import operator
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from model.explain.facts import facts_of
from model.explain.reading import ReadTrace, read
from model.trace.attention_map import Site
from model.trace.trace import Trace
from viz.browser.files import joined
from viz.browser.trace_payload import JOINT, is_joint
from viz.heads.standalone import figure_of_trace, in_one_page, opening
from viz.model_page.payload import pack
from viz.save.document import theme_variables

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ImportError(
        "The widget needs anywidget, an optional extra: pip install anywidget. Without it, "
        "show(trace) draws the same heads."
    ) from error

_HERE = Path(__file__)

_FORM = (
    'A selection is a kind of attention, a layer and a head, such as ("cross", 1, 3), and where a '
    'cell is chosen its query and key, such as ("cross", 1, 3, (0, 2)); this is {value}.'
)


class Selection(NamedTuple):
    """What is selected.

    Attributes:
        kind: "encoder", "decoder" or "cross"; "module" for a module whose role is not known;
            "joint" for the picture of the first three in one.
        layer: its number in the trace.
        head: counted from 0.
        cell: the query and the key of the chosen weight, counted from 0; None without one. In the
            picture of three kinds, both count the source tokens first and then the target tokens;
            once it is opened, such a weight is selected as one of its own kind.
    """

    kind: str
    layer: int
    head: int
    cell: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Picture:
    """What can be selected in one kind of attention."""

    name: str
    layers: tuple[int, ...]
    n_heads: int
    n_queries: int
    n_keys: int


class _Selected(traitlets.TraitType[Selection, Any]):
    """A `Selection` that the trace has, given as one, as a tuple or as a mapping."""

    def validate(self, obj: Any, value: Any) -> Selection:
        checked: Selection = obj.checked(value)
        return checked


class ExplorerWidget(anywidget.AnyWidget):
    """Every head of one trace, for the last line of a cell.

    Attributes:
        selection: what is selected, a `Selection`. Set it to select something else; any observer
            of it is called after a click as well. A value that the trace does not have raises
            traitlets.TraitError, which says what it has.
    """

    _esm = (
        "const STYLE = "
        + json.dumps(
            "".join(
                f'.frame[data-theme="{name}"] {{ {variables} }}\n'
                for name, variables in theme_variables().items()
            )
            + joined(_HERE.with_suffix(".css"))
        )
        + f";\n{joined(_HERE.with_suffix('.js'))}"
    )

    selection = _Selected().tag(sync=True, to_json=lambda value, _: value._asdict())
    _payload = traitlets.Bytes().tag(sync=True)
    _height = traitlets.Int().tag(sync=True)
    _dark = traitlets.Bool(allow_none=True).tag(sync=True)
    _still = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        trace: Trace,
        *,
        height: int = 760,
        dark: bool | None = None,
        still: Callable[[], str] = str,
    ) -> None:
        """Lay out a trace.

        Args:
            trace: with the kinds of attention that its model has.
            height: CSS pixels down to which the large picture reaches, where the cell has width for
                it beside the overview.
            dark: None follows the notebook's own light or dark.
            still: makes the HTML that a saved notebook shows without a kernel.

        Raises:
            TraceError: if the trace cannot be drawn, of viz.heads.standalone.in_one_page.
        """
        seen = read(in_one_page(trace))
        facts = facts_of(seen.maps)
        first = opening(seen, facts, {})
        self._pictures = _pictures(seen)
        kind = first["attention"]
        super().__init__(
            selection=Selection(
                kind, self._pictures[kind].layers[int(first["layer"])], int(first["head"])
            ),
            _payload=pack(figure_of_trace(trace, seen, facts, {}), key="", selection=first),
            _height=height,
            _dark=dark,
            _still=uuid4().hex,
        )
        self._draw_still = still

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # A saved notebook shows the page where no kernel draws the widget, which removes it.
        html = f'<div data-still="{self._still}">{self._draw_still()}</div>'
        display({"text/html": html, "text/plain": repr(self)}, raw=True)
        data, metadata = self._repr_mimebundle_() or ({}, {})
        display(data, metadata=metadata, raw=True)

    def checked(self, value: Any) -> Selection:
        """A selection that the trace has.

        Args:
            value: a `Selection`, a tuple of its values or a mapping with them by name.

        Raises:
            TraitError: if it is none, or the trace has no such head or cell.
        """
        try:
            given = Selection(**value) if isinstance(value, Mapping) else Selection(*value)
            layer, head = operator.index(given.layer), operator.index(given.head)
            cell = None if given.cell is None else tuple(map(operator.index, given.cell))
            is_formed = isinstance(given.kind, str) and (cell is None or len(cell) == 2)
        except TypeError:
            is_formed = False
        if not is_formed:
            raise traitlets.TraitError(_FORM.format(value=reprlib.repr(value)))
        picture = self._pictures.get(given.kind)
        if picture is None:
            known = ", ".join(self._pictures)
            raise traitlets.TraitError(
                f"This trace has no attention of the kind {reprlib.repr(given.kind)}; it has "
                f"{known}."
            )
        if layer not in picture.layers:
            layers = ", ".join(map(str, picture.layers))
            raise traitlets.TraitError(
                f"{picture.name} has no layer {layer} in this trace; it has {layers}."
            )
        _require_within("head", head, picture.n_heads, picture.name)
        if cell is not None:
            _require_within("query", cell[0], picture.n_queries, picture.name)
            _require_within("key", cell[1], picture.n_keys, picture.name)
            return Selection(str(given.kind), layer, head, (cell[0], cell[1]))
        return Selection(str(given.kind), layer, head)


def _require_within(noun: str, number: int, count: int, name: str) -> None:
    if not 0 <= number < count:
        raise traitlets.TraitError(
            f"{name} has no {noun} {number} in this trace; "
            f"{'the only one is 0' if count == 1 else f'they are 0 to {count - 1}'}."
        )


def _pictures(seen: ReadTrace) -> dict[str, _Picture]:
    """What can be selected, by the name of the kind of attention."""
    found: dict[str, _Picture] = {}
    for kind in dict.fromkeys(site.kind for site in seen.maps):
        layers = tuple(site.layer for site in seen.maps if site.kind is kind)
        first = seen.maps[Site(kind, layers[0])]
        n_heads, n_queries, n_keys = first.weights.shape
        found[str(kind)] = _Picture(kind.full_name, layers, n_heads, n_queries, n_keys)
    if is_joint(seen):
        parts = [found[kind] for kind in ("encoder", "decoder", "cross")]
        n_tokens = found["encoder"].n_keys + found["decoder"].n_keys
        found[JOINT] = _Picture(
            "The picture of all three kinds",
            max((part.layers for part in parts[:2]), key=len),
            max(part.n_heads for part in parts),
            n_tokens,
            n_tokens,
        )
    return found
