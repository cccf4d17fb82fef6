"""Every head of a trace, or of one pass through a model, in the output of a notebook's cell.

hs.show(trace)                     HTML, which a saved notebook keeps
hs.show(weights, tokens)           plain arrays of attention weights
hs.show(my_model, input_ids)       any PyTorch module, called so and watched meanwhile
widget = hs.explore(trace)         the same as a widget: widget.selection is what is selected
"""

from __future__ import annotations

import html
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.arguments import require
from model.brief import Brief
from model.trace.attention_map import AttentionMap
from model.trace.provenance import note_on_models
from model.trace.trace import Trace
from model.trace.translation import Translation
from viz.browser.files import joined
from viz.heads.standalone import trace_page

if TYPE_CHECKING:
    from viz.widget import ExplorerWidget


@dataclass(frozen=True, slots=True)
class Explorer(Brief):
    """The heads view, which a notebook draws when it is the last line of a cell.

    Attributes:
        page: the same as a complete HTML document, which asks nothing of any network.
        height: of the frame around it, in CSS pixels.
        others: pages that stand below it.
        note: a sentence above them where they are of several models.
    """

    page: str
    height: int
    others: tuple[str, ...] = ()
    note: str = ""

    def _repr_html_(self) -> str:
        # A frame keeps styles and scripts of several pictures and of the notebook apart.
        note = [f"<p>{html.escape(self.note)}</p>"] if self.note else []
        return "\n".join([*note, *map(self._frame, (self.page, *self.others))])

    def _frame(self, page: str) -> str:
        return (
            f'<iframe title="Every attention head" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'onload="{html.escape(joined(Path(__file__).with_suffix(".js")))}" '
            f'srcdoc="{html.escape(page)}"></iframe>'
        )


def show(
    shown: Any,
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
        shown: a trace, or several, one below the other; an answer of `load_reader(…).read`; what
            `headscope.watching` saw, whose first sentence is shown; weights, as of `Trace.of`; or a
            PyTorch model, which is called with the inputs. Tokens are named by their positions,
            but for those of a trace that names them.
        inputs: the tokens of weights, and those of the target; or what the model is called with,
            of which only the first sentence of a batch is shown.
        title: what the picture is of; empty for the texts of the trace.
        picture: the image whose patches the model read, a PIL image or an array of its pixels: it
            is seen under a row of patches, which `hs.Tokens.grid` names.
        dark: None follows the reader's own choice of light or dark.
        height: of the frame, in CSS pixels.
        named_inputs: of the model as well; of weights, `Trace.of`'s.

    Raises:
        CaptureError: if no attention ran in the model, or some of it several times that no trace
            can join.
        TraceError: if the trace cannot be drawn, of viz.heads.standalone.trace_page.
        TypeError: if inputs are given with a trace.
    """
    traces, name = _traces_of(shown, inputs, named_inputs)
    pages = [trace_page(trace, title=title or name, picture=picture, dark=dark) for trace in traces]
    note = note_on_models(trace.provenance for trace in traces)
    return Explorer(pages[0], height, tuple(pages[1:]), note)


def explore(
    shown: Any,
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

    (trace, *others), _ = _traces_of(shown, inputs, named_inputs)
    if others:
        raise TypeError("A widget explores one trace; give one at a time.")

    def still() -> str:
        return Explorer(trace_page(trace, dark=dark), height)._repr_html_()

    return ExplorerWidget(trace, dark=dark, height=height, still=still)


def _traces_of(
    shown: Any, inputs: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Trace], str]:
    """The traces, and the name of the model that was called for it; empty where none was."""
    if isinstance(shown, list | tuple) and any(isinstance(x, Trace) for x in shown):
        require("shown", shown, Sequence[Trace])
        traces = list(shown)
    elif isinstance(shown, Trace):
        traces = [shown]
    elif isinstance(shown, Translation):
        raise TypeError(
            "A translation holds no attention; show translator.trace_of(translation) instead."
        )
    elif isinstance(shown, AttentionMap | list | tuple | Mapping) or hasattr(shown, "__array__"):
        return [Trace.of(shown, *inputs, **named)], ""
    elif isinstance(own := getattr(shown, "trace", None), Trace):
        # Of a model that reads a text.
        traces = [own]
    else:
        # Slow to load, as it brings torch along, which a trace does not need.
        from model.watch import Watched, watching

        if not isinstance(shown, Watched):
            if not callable(shown) or isinstance(shown, type):
                raise TypeError(
                    "Give a trace, traces, weights, what watching saw, or a PyTorch model to call; "
                    f"{reprlib.repr(shown)} is none of these."
                )
            with watching() as seen:
                shown(*inputs, **named)
            return [seen.trace()], type(shown).__name__
        traces = [shown.trace()]
    if inputs or named:
        raise TypeError(f"A trace takes no inputs; leave {', '.join(named) or 'them'} out.")
    return traces, ""
