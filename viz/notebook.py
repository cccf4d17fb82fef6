"""Every head of a trace, or of one pass through a model, in the output of a notebook's cell.

hs.show(trace)
hs.show(my_model, input_ids)       any PyTorch module, called so and watched meanwhile
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model.trace import Trace
from viz.heads.standalone import trace_page


@dataclass(frozen=True, slots=True)
class Explorer:
    """The heads view, which a notebook draws when it is the last line of a cell.

    Attributes:
        page: the same as a complete HTML document, which asks nothing of any network.
        height: of the frame around it, in CSS pixels.
    """

    page: str
    height: int

    def _repr_html_(self) -> str:
        # A frame keeps styles and scripts of several explorers and of the notebook apart.
        return (
            f'<iframe title="Every attention head" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )


def show(
    shown: Trace | Callable[..., Any],
    /,
    *inputs: Any,
    title: str = "",
    dark: bool | None = None,
    height: int = 760,
    **named_inputs: Any,
) -> Explorer:
    """Every head, for the last line of a cell.

    Args:
        shown: a trace; or a PyTorch model, which is called with the inputs. Its tokens are named by
            their positions then; `headscope.watching` makes a trace that names them.
        inputs: of the model; only the first sentence of a batch is shown.
        title: what the picture is of; empty for the texts of the trace.
        dark: None follows the reader's own choice of light or dark.
        height: of the frame, in CSS pixels.
        named_inputs: of the model as well.

    Raises:
        CaptureError: if no attention ran in the model, or some of it several times that no trace
            can join.
        TraceError: if the trace cannot be drawn, of viz.heads.standalone.trace_page.
        TypeError: if inputs are given with a trace.
    """
    if isinstance(shown, Trace):
        if inputs or named_inputs:
            raise TypeError("A trace takes no inputs; show(trace) is enough.")
        trace = shown
    else:
        # Slow to load, as it brings torch along, which a trace does not need.
        from model.watch import watching

        with watching() as seen:
            shown(*inputs, **named_inputs)
        trace = seen.trace()
        title = title or type(shown).__name__
    return Explorer(trace_page(trace, title=title, dark=dark), height)
