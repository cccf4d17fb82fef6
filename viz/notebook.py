"""Every head of a trace, or of one pass through a model, in the output of a notebook's cell.

hs.show(trace)                     HTML, which a saved notebook keeps
hs.show(my_model, input_ids)       any PyTorch module, called so and watched meanwhile
widget = hs.explore(trace)         the same as a widget: widget.selection is what is selected
"""

from __future__ import annotations

import html
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.brief import Brief
from model.trace.trace import Trace
from viz.heads.standalone import trace_page

if TYPE_CHECKING:
    from model.watch import Watched
    from viz.widget import ExplorerWidget


@dataclass(frozen=True, slots=True)
class Explorer(Brief):
    """The heads view, which a notebook draws when it is the last line of a cell.

    Attributes:
        page: the same as a complete HTML document, which asks nothing of any network.
        height: of the frame around it, in CSS pixels.
    """

    page: str
    height: int

    def _repr_html_(self) -> str:
        # A frame keeps styles and scripts of several pictures and of the notebook apart.
        return (
            f'<iframe title="Every attention head" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )


def show(
    shown: Trace | Watched | Callable[..., Any],
    /,
    *inputs: Any,
    title: str = "",
    picture: Any = None,
    dark: bool | None = None,
    height: int = 760,
    **named_inputs: Any,
) -> Explorer:
    """Every head, for the last line of a cell.

    Args:
        shown: a trace; what `headscope.watching` saw, whose first sentence is shown; or a PyTorch
            model, which is called with the inputs. Tokens are named by their positions, but for
            those of a trace that names them.
        inputs: of the model; only the first sentence of a batch is shown.
        title: what the picture is of; empty for the texts of the trace.
        picture: the image whose patches the model read, a PIL image or an array of its pixels: it
            is seen under a row of patches, which `hs.Tokens.grid` names.
        dark: None follows the reader's own choice of light or dark.
        height: of the frame, in CSS pixels.
        named_inputs: of the model as well.

    Raises:
        CaptureError: if no attention ran in the model, or some of it several times that no trace
            can join.
        TraceError: if the trace cannot be drawn, of viz.heads.standalone.trace_page.
        TypeError: if inputs are given with a trace.
    """
    trace, name = _trace_of(shown, inputs, named_inputs)
    return Explorer(trace_page(trace, title=title or name, picture=picture, dark=dark), height)


def explore(
    shown: Trace | Watched | Callable[..., Any],
    /,
    *inputs: Any,
    dark: bool | None = None,
    height: int = 760,
    **named_inputs: Any,
) -> ExplorerWidget:
    """Every head as a widget, whose `selection` Python reads, sets and observes.

    Args:
        shown: as for `show`.
        inputs: of the model; only the first sentence of a batch is shown.
        dark: None follows the notebook's own light or dark.
        height: CSS pixels down to which the large picture reaches, where the cell has width for it
            beside the overview.
        named_inputs: of the model as well.

    Raises:
        CaptureError, TraceError, TypeError: as `show`.
        ImportError: if anywidget, an optional extra, is not installed.
    """
    from viz.widget import ExplorerWidget

    trace, _ = _trace_of(shown, inputs, named_inputs)
    return ExplorerWidget(trace, dark=dark, height=height)


def _trace_of(
    shown: Trace | Watched | Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Trace, str]:
    """The trace, and the name of the model that was called for it; empty where none was."""
    if not isinstance(shown, Trace):
        # Slow to load, as it brings torch along, which a trace does not need.
        from model.watch import Watched, watching

        if not isinstance(shown, Watched):
            if not callable(shown):
                raise TypeError(
                    "Give a trace, what watching saw, or a PyTorch model to call; "
                    f"{reprlib.repr(shown)} is none of these."
                )
            with watching() as seen:
                shown(*inputs, **named)
            return seen.trace(), type(shown).__name__
    if inputs or named:
        raise TypeError("A trace takes no inputs; give it alone.")
    return (shown if isinstance(shown, Trace) else shown.trace()), ""
