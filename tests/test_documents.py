"""The documents: links lead somewhere, files and commands they name exist, and tools agree."""

import inspect
import pkgutil
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import headscope as hs
import viz
from headscope.__main__ import COMMANDS, main
from headscope.commands.pictures import PICTURES
from model.explain.attribution import METHODS
from model.version import VERSION
from tests.test_layers import FLOOR, FLOORS
from viz.registry.pages import VIEWS
from viz.save.picture import Picture

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "model/training/*.md")
    for path in ROOT.glob(pattern)
)
FOLDERS = ("benchmarks", "checkpoints", "deploy", "docs", "headscope", "model", "tests", "viz")
TO_WRITE = {"benchmarks/results", "checkpoints/NAME", "viz/TOPIC/view.py", "viz/pages/TOPIC.py"}
TO_WRITE |= {"viz/browser/NAME/", "viz/browser/NAME.py"}
"""Paths that stand for what a reader writes."""

ANYWHERE = {"hs", "session", "Translator", "of", "show", "token_id", "allowed"}
"""Names of the whole house, or of what a reader writes."""

each_document = pytest.mark.parametrize("name", DOCUMENTS)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(name: str) -> set[str]:
    """The fragments that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text_of(name), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def commands(name: str) -> Iterator[list[str]]:
    """The commands of the shell blocks of a page, continued lines joined."""
    for block in re.findall(r"```(?:sh|shell)\n(.*?)```", text_of(name), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


@each_document
def test_links_lead_to_files_and_headings(name: str) -> None:
    page = text_of(name)
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", page)
    for link in filter(None, (inline or source for inline, source in links)):
        path, _, fragment = link.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), link
        if fragment:
            assert fragment in anchors(file.resolve().relative_to(ROOT).as_posix()), link


@each_document
def test_files_that_a_page_names_exist(name: str) -> None:
    code = re.sub(r"```.*?```", "", text_of(name), flags=re.DOTALL)
    for word in re.findall(r"`([\w./-]+)`", code):
        if word.partition("/")[0] in FOLDERS and "/" in word and word not in TO_WRITE:
            beside = (ROOT / name).parent / word
            assert (ROOT / word).exists() or beside.exists(), word


def is_defined(name: str, text: str) -> bool:
    """Whether a name is a function, a class, a constant, a field or a key there."""
    forms = (
        rf"\b(?:def|class|function|const|let) {name}\b",
        rf"^\s*{name}\b *[:=]",
        rf'"{name}"',
        rf"\b{name}\(",
    )
    return any(re.search(form, text, re.MULTILINE) for form in forms)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/how-it-works.md"])
def test_names_are_those_of_the_files_that_stand_beside_them(name: str) -> None:
    """A paragraph, or a step of a list, names a function and the file that has it."""
    page = re.sub(r"```.*?```|^\|.*$", "", text_of(name), flags=re.DOTALL | re.MULTILINE)
    every = [path for top in FOLDERS for path in (ROOT / top).rglob("*.*") if path.is_file()]
    for paragraph in re.split(r"\n\n|\n(?=\d+\. )", page):
        code = re.findall(r"`([^`]+)`", paragraph)
        paths = [
            path
            for word in code
            for path in (ROOT / word, *every)
            if re.search(r"\.(py|js|json|md|html)$", word)
            and path.as_posix().endswith(f"/{word}")
            and path.is_file()
        ]
        beside = "\n".join(path.read_text(encoding="utf-8") for path in paths)
        for word in code:
            called = re.fullmatch(r"([A-Za-z_]\w*)(\(.*\))?", word)
            if called and called[1] not in ANYWHERE:
                assert is_defined(called[1], beside), f"{word}: {paragraph[:60]}"


def test_every_room_is_in_the_list_and_on_its_floor() -> None:
    page = text_of("docs/how-it-works.md")
    listed = page.partition("```\n")[2].partition("```")[0]
    named = set(re.findall(r"(?<=[ \n])([\w]+)(?:/|\.py)(?= )", f"\n{listed}"))
    rooms = [room.removeprefix("model.").removeprefix("viz.") for floor in FLOORS for room in floor]
    assert set(rooms) <= named, set(rooms) - named
    wings = next(floor for floor in FLOORS if "viz.heads" in floor)
    said = [
        [word for word in re.split(r"[, ]+", floor) if word]
        for chain in re.findall(r"`([^`]+←[^`]+)`", page.replace("\n", " "))
        for floor in chain.split("←")
    ]
    wanted = [
        ["wings"]
        if floor == wings
        else [room.removeprefix("model.").removeprefix("viz.") for room in floor]
        for floor in FLOORS
    ]
    assert said == wanted


@each_document
def test_commands_exist_and_are_spelled_alike(name: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    for words in commands(name):
        words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
        if not words:
            continue
        if words[0] == "make":
            assert words[1] in targets, words
        if words[0] == "headscope" and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in COMMANDS, words
        if words[:2] == ["python", "-m"]:
            module = ROOT / words[2].replace(".", "/")
            assert words[2] in {"venv", "pip", "streamlit"} or (
                module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()
            ), words
    assert "python -m viz " not in text_of(name)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_options_that_pages_give_a_command_are_its_own(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*filter(None, [command]), "--help"])
    helped = capsys.readouterr().out
    for name in DOCUMENTS:
        for words in commands(name):
            if words[:1] != ["headscope"]:
                continue
            options = {word for word in words if word.startswith("--")}
            if (words[1:2] == [command]) if command else (set(words[1:2]) & options):
                assert all(option in helped for option in options), words


def test_the_guide_to_figures_names_them_all() -> None:
    table = text_of("docs/figures.md").partition("<!-- figures -->\n")[2].partition("\n\n")[0]
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]
    ]
    listed = {(name, kind) for name, kind, _ in rows}
    of_app = {
        name: kind
        for name, kind in vars(hs.figures).items()
        if isinstance(kind, type) and issubclass(kind, Picture)
    }
    named = {
        (name, each.kind.__name__ if each.kind.__name__ in of_app else "")
        for name, each in PICTURES.items()
    }
    assert named <= listed, named - listed
    others = {("", kind) for kind in of_app} - {("", kind) for _, kind in named}
    assert listed - named - {("", "in the app")} == others
    # What has a figure and Python is in hs.figures, and so in the table.
    for module in pkgutil.walk_packages(viz.__path__, "viz."):
        if f"viz.{module.name.split('.')[1]}" in FLOORS[FLOOR["viz.heads"]]:
            import_module(module.name)
    left = {
        kind.__name__
        for kind in kinds_of(Picture)
        # Another test's own pictures may be about.
        if kind.__module__.startswith("viz.")
        and kind.has("figure")
        and not inspect.isabstract(kind)
        and kind.__name__ not in of_app
    }
    assert left == {"RuleBesideHead"}


def kinds_of(kind: type[Picture]) -> Iterator[type[Picture]]:
    for each in kind.__subclasses__():
        yield each
        yield from kinds_of(each)


def test_the_guide_to_python_names_every_attribution_method() -> None:
    (listed,) = re.findall(r"The methods are (.*?)\.\n", text_of("docs/python.md"))
    assert re.findall(r"`(\w+)`", listed) == list(METHODS)


def test_guides_list_the_pages_of_the_menu_in_its_order() -> None:
    titles = [view.title for view in VIEWS.values()]
    listed = text_of("README.md").partition("## What it shows")[2].partition("\n## ")[0]
    assert re.findall(r"^- \*\*(\w+)\.\*\*", listed, re.MULTILINE) == titles
    listed = text_of("docs/explore.md").partition("## The pages")[2].partition("\n## ")[0]
    assert re.findall(r"^\*\*(\w+)\*\*", listed, re.MULTILINE) == titles


def test_the_version_is_that_of_the_citation_and_of_the_changelog() -> None:
    cited = re.search(
        r"^version: (.*)\ndate-released: (.*)$", text_of("CITATION.cff"), re.MULTILINE
    )
    assert cited is not None
    assert cited[1] == VERSION
    assert f"## [{cited[1]}] - {cited[2]}" in text_of("CHANGELOG.md")


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_hooks_before_a_commit_are_the_checks_of_make() -> None:
    entries = re.findall(r"^ +entry: (.+)$", text_of(".pre-commit-config.yaml"), re.MULTILINE)
    head, recipe = re.findall(r"^check: (.*?) ##.*\n((?:\t.*\n)+)", text_of("Makefile"), re.M)[0]
    wanted = [f"make {each}" for each in head.split() if "$" not in each]
    wanted += [line.strip().replace("$(PY)", ".venv/bin/python") for line in recipe.splitlines()]
    assert sorted(entries) == sorted(wanted)


def test_workflows_run_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    asked = set()
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        asked |= set(re.findall(r"run: make (\w+)", workflow.read_text(encoding="utf-8")))
    assert asked <= targets
    assert {"check", "quick", "test", "wheel"} <= asked
