"""The widget on Python's side: the bytes it sends, its selection, and what it refuses."""

import ast
import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import comm
import numpy as np
import pytest
import torch
import traitlets
from comm.base_comm import BaseComm
from torch import nn

from model.trace.attention_map import TraceError
from model.watch import watching
from tests.kit.trace_payload import Decoded
from tests.viz.browser.test_trace_payload import a_trace
from tests.viz.test_notebook import payload_of
from viz.heads.standalone import trace_page
from viz.notebook import Explorer, explore
from viz.widget import ExplorerWidget, Selection

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "notebooks.md"


class FakeComm(BaseComm):
    """A front end that notes every message, and sends what a test gives it."""

    def __init__(self, **options: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        super().__init__(**options)

    def publish_msg(self, msg_type: str, **message: Any) -> None:
        self.messages.append({"type": msg_type, **message})

    def tell(self, **state: Any) -> None:
        data = {"method": "update", "state": state, "buffer_paths": []}
        self.handle_msg({"content": {"data": data}, "buffers": []})

    def told(self) -> list[Any]:
        """Every selection that the front end was told, the first one left out."""
        updates = [each["data"] for each in self.messages if each["type"] == "comm_msg"]
        return [each["state"]["selection"] for each in updates if each["method"] == "update"]


@pytest.fixture
def widget(monkeypatch: pytest.MonkeyPatch) -> ExplorerWidget:
    monkeypatch.setattr(comm, "create_comm", FakeComm)
    return explore(a_trace())


def test_the_bytes_are_those_of_the_file_and_travel_as_they_are(widget: ExplorerWidget) -> None:
    ours, files = Decoded(widget._payload), payload_of(trace_page(a_trace()))
    assert ours.body == files.body
    assert ours.sent | {"key": files.sent["key"]} == files.sent
    opened = widget.comm.messages[0]
    assert opened["type"] == "comm_open"
    assert opened["data"]["buffer_paths"] == [["_payload"]]
    assert bytes(opened["buffers"][0]) == widget._payload
    assert "_payload" not in opened["data"]["state"]


def test_a_click_is_selected_in_python_and_observers_hear_it(widget: ExplorerWidget) -> None:
    heard: list[Selection] = []
    widget.observe(lambda change: heard.append(change["new"]), "selection")
    widget.comm.tell(selection={"kind": "encoder", "layer": 1, "head": 2, "cell": [0, 2]})
    expected = Selection("encoder", 1, 2, (0, 2))
    assert (widget.selection, heard) == (expected, [expected])
    weights = a_trace().attention(widget.selection.kind, widget.selection.layer).weights
    assert weights[widget.selection.head, 0, 2] > 0


def test_python_tells_the_browser_what_it_selects(widget: ExplorerWidget) -> None:
    widget.selection = "decoder", np.int64(1), np.int64(0)
    assert widget.selection == Selection("decoder", 1, 0)
    widget.selection = {"kind": "joint", "layer": 0, "head": 1, "cell": (6, 0)}
    assert widget.comm.told() == [
        {"kind": "decoder", "layer": 1, "head": 0, "cell": None},
        {"kind": "joint", "layer": 0, "head": 1, "cell": (6, 0)},
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (("heads", 0, 0), "no attention of the kind 'heads'; it has encoder, decoder, cross"),
        (("cross", 2, 0), "Cross-attention has no layer 2 in this trace; it has 0, 1."),
        (("cross", 0, 3), "Cross-attention has no head 3 in this trace; they are 0 to 2."),
        (("cross", 0, -1), "no head -1"),
        (("cross", 0, 0, (4, 0)), "no query 4"),
        (("cross", 0, 0, (0, 3)), "no key 3"),
        (("joint", 0, 0, (7, 0)), "no query 7 in this trace; they are 0 to 6"),
        *(
            (value, 'A selection is a kind of attention, a layer and a head, such as ("cross", 1')
            for value in (
                *("cross", None, 3, (), ("cross", 0), ("cross", 0.5, 0), (1, 1, 1), {"head": 1}),
                *(("cross", 0, 0, 5), ("cross", 0, 0, (1, 2, 3)), ["x" * 10**6] * 3),
            )
        ),
    ],
)
def test_what_the_trace_does_not_have_is_refused_in_a_sentence(
    widget: ExplorerWidget, value: Any, message: str
) -> None:
    before = widget.selection
    with pytest.raises(traitlets.TraitError, match=re.escape(message)) as refused:
        widget.selection = value
    assert len(str(refused.value)) < 300
    assert widget.selection == before
    assert widget.comm.told() == []


def test_layers_have_the_numbers_of_the_trace() -> None:
    trace = a_trace(layers=3)
    for site in [site for site in trace.maps if site.layer == 0]:
        trace = type(trace)(
            **{name: getattr(trace, name) for name in ("source", "target", "predictions")},
            text="",
            source_text="",
            maps={each: found for each, found in trace.maps.items() if each != site},
        )
    widget = explore(trace)
    assert widget.selection.layer in (1, 2)
    with pytest.raises(traitlets.TraitError, match="no layer 0 in this trace; it has 1, 2"):
        widget.selection = "cross", 0, 0


def test_what_was_watched_is_explored() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    with watching() as seen:
        model(x, x, x)
    assert Decoded(explore(seen)._payload).shape("encoder") == (1, 2, 3, 3)
    assert explore(model, x, x, value=x).selection.kind == "encoder"
    with pytest.raises(TypeError, match="takes no inputs"):
        explore(seen, x)


def test_a_trace_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(TraceError, match="holds no attention"):
        explore(a_trace(layers=0))


@pytest.mark.slow
def test_without_anywidget_a_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "from tests.viz.browser.test_trace_payload import a_trace\n"
        "import headscope as hs\n"
        "hs.show(a_trace())\n"
        "hs.explore(a_trace())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: The widget needs anywidget, an optional extra: pip install anywidget. "
        "Without it, show(trace) draws the same heads."
    )


def test_a_saved_notebook_has_a_page_beside_the_widget(
    widget: ExplorerWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(
        "IPython.display.display", lambda data, *, raw, metadata=None: shown.append(data)
    )
    widget._ipython_display_()
    still, live = shown
    assert trace_page(a_trace()) == html.unescape(
        re.findall('srcdoc="([^"]*)"', still["text/html"])[0]
    )
    # By this the widget finds and removes it.
    assert f'<div data-still="{widget.get_state()["_still"]}">' in still["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in live


def test_the_code_of_the_page_runs() -> None:
    space: dict[str, Any] = {"trace": a_trace(layers=4)}
    pieces = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(pieces) > 3
    shown = []
    for piece in pieces:
        lines = ast.parse(piece)
        last = lines.body.pop() if isinstance(lines.body[-1], ast.Expr) else None
        exec(compile(lines, str(PAGE), "exec"), space)
        if isinstance(last, ast.Expr):
            # What a cell of a notebook ends with is its output.
            shown.append(eval(compile(ast.Expression(last.value), str(PAGE), "eval"), space))
    for kind in (Explorer, ExplorerWidget):
        assert any(isinstance(each, kind) for each in shown)
    assert space["widget"].selection[:3] == ("cross", 1, 2)
