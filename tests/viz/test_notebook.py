"""Traces of models of one text: in a notebook, as a page, and from the command line."""

import base64
import html
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from headscope.__main__ import main
from model.explain.reading import read
from model.record.recording import CaptureError
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens, TraceError
from model.trace.trace import Trace
from model.translate.text_models import load_reader
from tests.kit.running_app import ROOT
from tests.kit.signals import end_group, heed_interrupts
from tests.kit.trace_payload import Decoded
from viz.heads import standalone
from viz.heads.lines import HeadLines
from viz.heads.one_head import OneHead
from viz.notebook import show
from viz.save.picture import Layout
from viz.service.session import PROCESS_VARIABLE

WORDS = Tokens.unnamed(["The", "cat", "<b>", "down"])


def trace_of(
    kind: AttentionKind, *, sizes: tuple[int, ...] = (2, 2), scale: float = 1, **texts: str
) -> Trace:
    """A trace of one text: every row looks alike at all that it may look at.

    Args:
        kind: the only one that the trace has.
        sizes: how many heads each layer has.
        scale: of all weights, which are those of a softmax where it is 1.
        texts: of the trace.
    """
    n = len(WORDS)
    allowed = np.ones((n, n), dtype=bool)
    if kind is AttentionKind.DECODER:
        allowed = np.tril(allowed)
    weights = (scale * allowed / allowed.sum(-1, keepdims=True)).astype(np.float32)
    source, target = kind.axes(WORDS, WORDS, WORDS)
    is_decoder = kind is AttentionKind.DECODER
    return Trace(
        source=Tokens() if is_decoder else WORDS,
        target=WORDS if is_decoder else Tokens(),
        predictions=Tokens(),
        **{"text": "", "source_text": "", **texts},
        maps={
            Site(kind, layer): AttentionMap(
                Site(kind, layer),
                weights=np.stack([weights] * heads),
                allowed=allowed,
                queries=source,
                keys=target,
            )
            for layer, heads in enumerate(sizes)
        },
    )


def payload_of(page: str) -> Decoded:
    (packed,) = re.findall(r'id="payload">([^<]*)<', page)
    return Decoded(zlib.decompress(base64.b64decode(packed)))


@pytest.mark.parametrize(
    ("kind", "query", "caption"),
    [
        (AttentionKind.DECODER, "token just read", "has read so far"),
        (AttentionKind.ENCODER, "token", "among all of them"),
    ],
)
def test_a_model_of_one_text_has_no_source_and_no_target(
    kind: AttentionKind, query: str, caption: str
) -> None:
    seen = read(trace_of(kind))
    found = payload_of(standalone.trace_page(trace_of(kind))).header
    (shown,) = found["kinds"]
    assert (shown["queryTitle"], shown["keyTitle"]) == (f"Query: {query}", "Key: token looked at")
    assert (shown["queryNoun"], shown["keyNoun"]) == ("token", "token")
    assert caption in shown["caption"]
    assert not found["joint"]
    assert found["selection"]["attention"] == kind
    picture = OneHead(seen, Site(kind, 1), 1)
    lines = HeadLines(seen, Site(kind, 1), 1)
    axes = picture.figure(Layout()).layout
    words = [
        *(picture.alt, picture.caption, axes.xaxis.title.text, axes.yaxis.title.text),
        lines.figure(Layout()).to_json(),
    ]
    assert axes.yaxis.title.text == f"Query: {query}"
    assert "4 tokens by 4 tokens" in picture.alt
    assert not any(side in text for text in words for side in ("source", "target"))


def test_a_notebook_frames_the_page_of_a_trace() -> None:
    trace = trace_of(AttentionKind.DECODER, source_text='Say "a" & <b>')
    frame = show(trace, height=500)._repr_html_()
    assert re.fullmatch(r'<iframe [^<>]* srcdoc="[^"<>]*"></iframe>', frame)
    assert "height: 500px" in frame
    page = html.unescape(re.findall('srcdoc="([^"]*)"', frame)[0])
    assert page == standalone.trace_page(trace)
    (heading,) = re.findall(r'<h1 dir="auto">([^<]*)</h1>', page)
    assert html.unescape(heading) == 'Say "a" & <b>'
    seen = payload_of(page).weights("decoder")
    np.testing.assert_array_equal(seen, np.stack([each.weights for each in trace.maps.values()]))


class Elements(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


ADDRESSES = {"src", "href", "srcset", "action", "formaction", "poster", "data", "xlink:href"}


def test_a_cell_that_is_saved_as_html_asks_for_nothing_outside() -> None:
    text = "<img src=https://example.org/a.png> url(https://example.org)"
    cell = show(trace_of(AttentionKind.DECODER, source_text=text))._repr_html_()
    ((frame, attributes),) = Elements(f"<div>{cell}</div>").found[1:]
    assert (frame, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert not ADDRESSES & attributes.keys()
    page = attributes["srcdoc"]
    assert page is not None
    elements = Elements(page).found
    for tag, own in elements:
        assert tag not in ("base", "iframe", "object", "embed", "img")
        for name in ADDRESSES & own.keys():
            assert (own[name] or "").startswith(("data:", "#")), (tag, own)
    policies = [own["content"] for tag, own in elements if "http-equiv" in own]
    # What is not allowed below, a browser that is online does not ask for either.
    (policy,) = policies
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";") if rule.strip())
    assert rules["default-src"] == "'none'"
    allowed = {word for values in rules.values() for word in values.split()}
    assert all(word.startswith("'") or word in ("data:", "blob:") for word in allowed)


def test_a_notebook_calls_a_model_and_watches_it() -> None:
    torch.manual_seed(0)
    model = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    _, expected = model(x, x, x, average_attn_weights=False)
    page = show(model, x, x, value=x).page
    assert '<h1 dir="auto">MultiheadAttention</h1>' in page
    found = payload_of(page).weights("encoder")[0]
    np.testing.assert_allclose(found, expected[0].detach().numpy(), atol=1e-6)
    with pytest.raises(CaptureError, match="No attention ran"):
        show(nn.Linear(2, 2), torch.ones(1, 2))
    with pytest.raises(TypeError, match="takes no inputs"):
        show(trace_of(AttentionKind.ENCODER), x)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": ()}, "holds no attention"),
        ({"sizes": (1, 2)}, "layers of encoder self-attention differ in heads or tokens"),
        ({"scale": 0.5}, "add up to 1"),
        ({"scale": np.nan}, "contain NaN"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        standalone.trace_page(trace_of(AttentionKind.ENCODER, **changes))


def test_a_trace_too_large_for_a_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "MOST_WEIGHTS", 63)
    trace = trace_of(AttentionKind.ENCODER)
    with pytest.raises(TraceError, match=r"holds 64 weights.*takes up to 63") as refused:
        standalone.trace_page(trace)
    monkeypatch.setattr(standalone, "MOST_WEIGHTS", 64)
    # What it proposes works.
    assert standalone.trace_page(
        eval(f"trace.{str(refused.value).split('trace.')[1].split(',')[0]}")
    )


def test_a_saved_trace_opens_as_a_page_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = trace_of(AttentionKind.DECODER)
    trace.save(tmp_path / "mine.npz")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["open", str(tmp_path / "mine.npz"), "--page"]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert opened == [file.as_uri()]
    expected = standalone.trace_page(trace, title="mine.npz")
    assert file.read_text(encoding="utf-8") == expected
    out = tmp_path / "page.html"
    assert main(["open", str(tmp_path / "mine.npz"), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == expected
    assert len(opened) == 1


@pytest.mark.slow
def test_a_saved_trace_opens_in_the_app_which_ends_with_ctrl_c(tmp_path: Path) -> None:
    trace_of(AttentionKind.DECODER).save(tmp_path / "my trace.npz")
    with subprocess.Popen(
        [sys.executable, "-m", "headscope", "open", str(tmp_path / "my trace.npz")],
        cwd=ROOT,
        # A browser that opens nothing.
        env={**os.environ, "BROWSER": "true", PROCESS_VARIABLE: "0"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            (url,) = re.findall(
                r"^my trace.npz is open at (\S+); press Ctrl\+C here to end it.$", said
            )
            assert url.endswith("/?checkpoint=my+trace.npz")
            with urllib.request.urlopen(url) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert process.stdout.read() == ""
        finally:
            end_group(process.pid)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)


def test_a_path_that_no_list_of_paths_can_hold_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"a{os.pathsep}b.npz"
    trace_of(AttentionKind.DECODER).save(file)
    assert main(["open", str(file)]) == 1
    assert "open a trace with --page" in capsys.readouterr().err


@pytest.mark.parametrize("option", [[], ["--page"]])
@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"PK", "no saved trace")],
)
def test_a_file_that_is_no_trace_does_not_open(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    message: str,
    option: list[str],
) -> None:
    file = tmp_path / "mine.npz"
    if content is not None:
        file.write_bytes(content)
    assert main(["open", str(file), *option]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "as_given",
    [
        np.asarray,
        torch.tensor,
        # As of transformers: a tensor (sentence, head, query, key) a layer.
        lambda weights: tuple(torch.tensor(layer)[None] for layer in weights),
        list,
    ],
)
def test_plain_weights_are_shown_with_their_tokens(as_given: Any) -> None:
    trace = trace_of(AttentionKind.DECODER)
    weights = np.stack([each.weights for each in trace.maps.values()])
    given = as_given(weights)
    found = Trace.of(given, list(WORDS))
    assert [*found.maps] == [*trace.maps]
    assert found.target.tokens == WORDS.tokens
    assert len(found.source) == 0
    np.testing.assert_array_equal(found.attention("decoder", 1).allowed, np.tri(4, dtype=bool))
    seen = payload_of(show(given, list(WORDS)).page).weights("decoder")
    np.testing.assert_array_equal(seen, weights)


def test_weights_of_two_texts_are_a_trace_with_both() -> None:
    cross = torch.full((2, 3, 4), 0.25, dtype=torch.bfloat16)
    found = Trace.of({"encoder": np.full((1, 2, 4, 4), 0.25), "cross": cross}, [*"abcd"], [*"xyz"])
    assert (found.source.tokens, found.target.tokens) == (tuple("abcd"), tuple("xyz"))
    assert [str(site) for site in found.maps] == ["encoder.0", "cross.0"]
    assert [str(site) for site in Trace.of(cross).maps] == ["cross.0"]
    assert Trace.of(found.attention("cross", 0)).maps.keys() == {Site(AttentionKind.CROSS, 0)}


@pytest.mark.parametrize(
    ("weights", "tokens", "message"),
    [
        (np.ones((2, 2, 2, 2, 2)), None, "2 sentences in a batch"),
        (np.ones(3), None, r"an array of the shape \(3,\) is none of these"),
        ([], None, "no weights of any layer"),
        ("a", None, "a str is none of these"),
        ([np.ones((1, 2, 2)), np.ones((1, 3, 3))], None, "differ in their numbers"),
        (np.ones((2, 2)), ["a"], "have 2 source tokens, and 1 are named"),
        ({"encoder": np.ones((2, 2)), "cross": np.ones((2, 3))}, None, "differ in the number"),
    ],
)
def test_arrays_that_are_no_weights_are_refused_in_a_sentence(
    weights: Any, tokens: Any, message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        Trace.of(weights, tokens)


def test_several_traces_stand_below_each_other_and_an_answer_shows_its_own() -> None:
    traces = [trace_of(kind) for kind in (AttentionKind.DECODER, AttentionKind.ENCODER)]
    assert show(traces)._repr_html_() == "\n".join(show(each)._repr_html_() for each in traces)
    answer = load_reader("toy-reverse-decoder").read("c a b")
    assert show(answer).page == show(answer.trace).page
