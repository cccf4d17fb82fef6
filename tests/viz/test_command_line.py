"""The command line: every picture in every kind of file, and what is refused."""

import base64
import io
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pypdf
import pytest

from headscope.__main__ import main
from headscope.commands import request
from headscope.commands.export import KINDS
from headscope.commands.pictures import PICTURES
from model.checkpoints.checkpoint import REMOVAL
from model.explain.alignment_file import ALIGNMENT
from model.explain.attributing import self_attributions
from model.explain.reading import Reading, read
from model.paper.search import Search
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from tests.kit.full_disk import full_disk
from tests.kit.tiny_checkpoint import write_tiny_checkpoint, write_tiny_snapshots
from tests.kit.trace_payload import Decoded
from viz.save import browser, metadata, saving
from viz.save.film import RATES
from viz.save.picture import Layout, Picture

ROOT = Path(__file__).parents[2]
SENTENCE, DOG = "The cat sat on the mat.", "The dog sat on the mat."

pytestmark = pytest.mark.slow

FIGURES = [name for name, picture in PICTURES.items() if picture.kind.has("figure")]
FILMED = [name for name, picture in PICTURES.items() if picture.kind.has("film")]

Run = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `export` in this process; gives (status, the file or b"", standard error)."""

    def run_command(*arguments: str, out: str = "out.csv", text: str = SENTENCE) -> Any:
        file = tmp_path / out
        given = ["--checkpoint", str(folder), "--out", str(file)]
        if {"differences", "pair", "tracing", "patched"} & {*arguments} and not (
            {"--other", "--other-model"} & {*arguments}
        ):
            given += ["--other", DOG]
        status = main(["export", text, *given, *arguments])
        output = capsys.readouterr()
        assert output.out == ""
        return status, file.read_bytes() if file.is_file() else b"", output.err

    return run_command


def test_the_command_of_the_readme_writes_one_head(chromium: None, run: Run) -> None:
    status, file, error = run(*("--figure", "heads", "--layer", "2", "--head", "3"), out="head.pdf")
    assert (status, error) == (0, "")
    text = pypdf.PdfReader(io.BytesIO(file)).pages[0].extract_text()
    assert "Cross-attention, layer 2, head 3" in text


def test_figures_are_of_what_the_search_finds(run: Run, translator: Translator) -> None:
    search = Search(prefix=translator.prefix("Der Hund"), beam=2)
    expected = translator.translate(SENTENCE, search=search)
    assert expected.text.startswith("Der Hund")
    asked = ("--prefix", "Der Hund", "--beam", "2")
    assert run(*asked) == run("--target", expected.text)
    assert run(*asked) != run()
    status, _, error = run("--top-p", "3")
    assert (status, error) == (1, "top_p must lie above 0 and at most 1; it is 3.0.\n")


@pytest.mark.parametrize("name", FIGURES)
def test_every_picture_can_be_printed(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the browser is given; that it draws is tested with one picture.
    monkeypatch.setattr(browser.BROWSER, "draw", lambda figure, *size: figure.to_json().encode())
    monkeypatch.setattr(metadata, "svg", lambda file, about: file)
    status, file, error = run("--figure", name, out="out.svg")
    assert (status, error) == (0, "")
    drawn = json.loads(file)
    assert drawn["data"]
    # Nothing but a lack of room, which is said, takes a label off an axis.
    axes = [each for name, each in drawn["layout"].items() if re.match(r"[xy]axis", name)]
    named = [each for each in axes if re.search(r"[^\W\d_]", "".join(each.get("ticktext") or ""))]
    assert all(each.get("ticklabeloverflow") == "allow" for each in named)


def test_it_runs_as_a_module_and_reads_standard_input(folder: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "headscope", "export", "-", "--checkpoint", str(folder)),
            *("--out", str(tmp_path / "head.json")),
        ],
        input=SENTENCE,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))["layer"] == 0


def test_the_heads_view_opens_with_the_head_that_was_asked_for(run: Run) -> None:
    arguments = ("--figure", "heads", "--attention", "encoder", "--layer", "1", "--head", "3")
    status, file, error = run(*arguments, out="heads.html")
    assert (status, error) == (0, "")
    found = re.search(rb'id="payload">([^<]+)<', file)
    assert found is not None
    selection = Decoded(zlib.decompress(base64.b64decode(found[1]))).header["selection"]
    assert selection | {"attention": "encoder", "layer": "1", "head": "3"} == selection


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_numbers_in_every_format(run: Run, name: str) -> None:
    for suffix in ("csv", "json", "npz"):
        status, file, error = run("--figure", name, out=f"{name}.{suffix}")
        assert (status, error) == (0, "")
        assert file
    with np.load(io.BytesIO(file), allow_pickle=False) as arrays:
        assert any(array.dtype.kind == "f" or name == "mask" for array in arrays.values())


@pytest.mark.parametrize("name", FIGURES)
def test_the_python_of_every_figure_makes_the_same_figure(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[go.Figure] = []
    draw = PICTURES[name].kind.figure

    def drawing(picture: Any, layout: Layout) -> go.Figure:
        drawn.append(draw(picture, layout))
        return drawn[-1]

    monkeypatch.setattr(PICTURES[name].kind, "figure", drawing)
    more = {
        **dict.fromkeys(("head", "heads"), ("--words",)),
        "waves": ("--dimensions", "4", "8"),
        "circle": ("--dimensions", "4"),
    }
    status, code, _ = run("--figure", name, "--dark", *more.get(name, ()), out="cell.py")
    assert status == 0
    *lines, last = code.decode().strip().splitlines()
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    assert eval(last, space).to_json() == drawn[0].to_json()


def test_two_models_are_compared_and_a_snapshot_is_one_of_them(run: Run, tmp_path: Path) -> None:
    other = write_tiny_checkpoint(tmp_path / "other", steps=0)
    pair = ("--figure", "pair", "--attention", "cross", "--layer", "1", "--head", "2")
    status, code, error = run(*pair, "--other-model", str(other), out="cell.py")
    assert (status, error) == (0, "")
    assert f"hs.figures.trace_by('{other}', '{SENTENCE}')" in code.decode()
    grown = write_tiny_snapshots(tmp_path / "grown")
    first, last = (run(*pair, "--other-model", f"{grown}@{each}")[1] for each in ("0", "1"))
    assert first
    assert last not in (b"", first)


def test_how_the_trace_is_read_is_how_it_is_written(run: Run, trace: Trace) -> None:
    _, file, _ = run("--words", "--no-specials", "--renormalise", "--layer", "1", out="a.json")
    seen = read(trace, Reading(words=True, specials=False, renormalise=True))
    found = seen.maps[Site(AttentionKind.CROSS, 1)]
    content = json.loads(file)
    assert content["axes"]["key"]["tokens"] == list(found.keys)
    weights = np.array(content["arrays"]["weight"]["values"], dtype=np.float32)
    np.testing.assert_array_equal(weights, found.weights[0])


@pytest.mark.parametrize(
    ("name", "figure", "command"),
    [
        (ALIGNMENT, "alignment", "benchmarks.alignment"),
        (REMOVAL, "examples", "model.training.removal"),
    ],
)
def test_a_model_without_what_a_figure_shows_says_how_it_is_measured(
    run: Run, folder: Path, name: str, figure: str, command: str
) -> None:
    kept = (folder / name).read_bytes()
    (folder / name).unlink()
    try:
        status, file, error = run("--figure", figure)
    finally:
        (folder / name).write_bytes(kept)
    assert (status, file) == (1, b"")
    assert command in error


def test_maps_of_self_attention_are_those_of_the_model(run: Run, translator: Translator) -> None:
    site = Site(AttentionKind.DECODER, 1)
    arguments = ("--attention", "decoder", "--layer", "1", "--head", "2", "--method", "norms")
    _, file, error = run("--figure", "maps", *arguments, out="a.json")
    assert error == ""
    expected = self_attributions(translator, SENTENCE, site).map("norms").heads[2]
    estimate = np.array(json.loads(file)["arrays"]["estimate"]["values"], dtype=np.float32)
    np.testing.assert_array_equal(estimate, expected)


def test_a_target_of_ones_own_is_what_is_drawn(run: Run) -> None:
    _, file, _ = run("--target", "Der Hund schläft.", out="a.csv")
    assert "Hund" in file.decode("utf-8-sig")


@pytest.mark.parametrize(
    ("arguments", "out", "sentence"),
    [
        (["--layer", "9"], "a.csv", "choose one of 0, 1, 2"),
        (["--head", "9"], "a.csv", "there is no head 9"),
        (["--head", "-1"], "a.csv", "there is no head -1"),
        (["--figure", "heads", "--layer", "9"], "a.html", "no layer 9"),
        (["--figure", "mask", "--layer", "9"], "a.csv", "no layer 9"),
        (["--figure", "query-key", "--query", "99"], "a.svg", "there is no query 99"),
        (["--figure", "query-key", "--words"], "a.svg", "read token by token"),
        (["--figure", "waves", "--dimensions", "999"], "a.svg", "no dimension 999"),
        (["--figure", "circle", "--position", "9999"], "a.svg", "9999"),
        (["--figure", "effects", "--token", "0"], "a.csv", "no target token 0"),
        (["--figure", "effects", "--token", "99"], "a.csv", "no target token 99"),
        (["--figure", "step", "--token", "0"], "a.csv", "no target token 0"),
        (["--figure", "step", "--token", "99"], "a.csv", "no target token 99"),
        (["--figure", "tracing", "--other", " "], "a.csv", "name the second with --other"),
        (["--figure", "tracing", "--token", "99"], "a.csv", "no target token 99"),
        (["--figure", "patched", "--patched", "x"], "a.csv", "that is not parts such as"),
        (["--figure", "patched", "--patched", "encoder.9"], "a.csv", "no such part"),
        (["--figure", "pair", "--layer", "9"], "a.csv", "choose another head"),
        (["--figure", "pair", "--other-model", "/none"], "a.csv", "/none"),
        (["--figure", "maps", "--head", "1"], "a.csv", "A head needs its layer"),
        (["--figure", "maps", "--layer", "9"], "a.csv", "no map of weights for cross.9"),
        (["--figure", "ranking", "--layer", "1", "--head", "9"], "a.csv", "there is no head 9"),
        (["--figure", "maps", "--attention", "encoder"], "a.csv", "add --layer"),
        (["--figure", "ranking", "--attention", "decoder"], "a.csv", "are target tokens"),
        (["--device", "toaster"], "a.csv", "unknown"),
        ([], "a.docx", "end it in one of .png"),
        ([], "a", "end it in one of .png"),
        ([], "no/such/folder.csv", "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_status_one(
    run: Run, arguments: list[str], out: str, sentence: str
) -> None:
    status, file, error = run(*arguments, out=out)
    assert (status, file) == (1, b"")
    assert sentence in error
    assert error.count("\n") == 1
    assert error.endswith(".\n")


@pytest.mark.parametrize("text", ["", "猫猫"])
def test_a_sentence_the_model_cannot_read_is_refused_in_a_sentence(run: Run, text: str) -> None:
    status, _, error = run(text=text)
    assert status == 1
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["export"],
        ["export", "a"],
        ["export", "a", "--out", "b.csv", "--scale", "7"],
        ["export", "a", "--out", "b.csv", "--figure", "pie"],
    ],
)
def test_wrong_usage_is_status_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    capsys.readouterr()


def test_help_names_every_figure_and_every_kind_of_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["export", "--help"])
    assert left.value.code == 0
    output = capsys.readouterr().out
    for word in (
        *PICTURES,
        *KINDS,
        ".png",
        ".svg",
        ".pdf",
        ".csv",
        ".json",
        ".npz",
        *(".gif", ".webm", ".mp4"),
        ".html",
        ".py",
    ):
        assert word in output


@pytest.mark.parametrize("name", FILMED)
def test_every_film_is_offered_with_its_ground_and_its_model(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    made: list[tuple[str, dict[str, Any]]] = []

    def film(picture: Picture, format: str, **options: Any) -> bytes:
        made.append((picture.title, options))
        assert picture.film().plan(RATES["gif"])
        return b"GIF"

    monkeypatch.setattr(saving, "film", film)
    monkeypatch.setattr(request, "snapshots", lambda _: (1,))
    monkeypatch.setattr(request, "load", lambda folder, **_: load(folder, device="cpu"))
    status, file, _ = run("--figure", name, "--dark", out="out.gif")
    assert (status, file) == (0, b"GIF")
    [(title, options)] = made
    assert title
    assert (options["dark"], options["model"]) == (True, folder.name)


def test_a_film_of_what_does_not_move_is_refused_with_what_there_is(run: Run) -> None:
    status, file, error = run("--figure", "mask", out="out.mp4")
    assert (status, file) == (1, b"")
    assert "cannot be written as .mp4; choose one of .png" in error


def test_a_childhood_needs_snapshots(run: Run) -> None:
    status, _, error = run("--figure", "childhood", out="out.gif")
    assert status == 1
    assert "came without snapshots" in error


def test_on_a_full_disk_an_older_file_stays_and_one_sentence_says_so(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "out.csv").write_bytes(b"old")
    with full_disk(room=100):
        status, file, error = run("--figure", "head")
    assert (status, file) == (1, b"old")
    assert error == f"'{tmp_path / 'out.csv'}' cannot be written: File too large.\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_the_python_of_every_figure_fits_our_own_hints(run: Run, tmp_path: Path) -> None:
    for name in FIGURES:
        status, _, error = run("--figure", name, out=f"made_by_{name.replace('-', '_')}.py")
        assert (status, error) == (0, "")
    # As somebody's own files, without this project's settings.
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
