"""Keys of widgets and of the session: each has one owner, and none is written out."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from viz.registry.pages import AROUND, SHARED, VIEWS

ROOT = Path(__file__).parents[3]
FILES = [ROOT / "app.py", *sorted((ROOT / "viz").rglob("*.py"))]
TREES = {str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in FILES}

TAKE_KEYS = ("get", "pop", "setdefault")
OF_KEYS = ("clicks", "switches", "formula", "epoch_of", "edited", "dragged_order", "message_of")
"""Functions whose first argument is the key of something that is mounted elsewhere."""

WITHOUT_WIDGETS = ("viz/site/", "viz/widget.py")
"""What Streamlit does not run."""


def is_text(node: ast.expr, texts: frozenset[str]) -> bool:
    """Whether an expression is a text that is written out, there or in a constant."""
    return (
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        or (isinstance(node, ast.Name) and node.id in texts)
    )


@cache
def constants(tree: ast.Module) -> frozenset[str]:
    """The names of a module's own texts."""
    found = set()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str())):
                found.add(name)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = zip(names, values, strict=True)
                found |= {name.id for name, value in pairs if is_text(value, frozenset())}  # type: ignore[attr-defined]
    return frozenset(found)


def imported(tree: ast.Module) -> Iterator[str]:
    """The names of the texts that a module imports from others of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = TREES.get(f"{(node.module or '').replace('.', '/')}.py")
            known = constants(origin) if origin else ()
            yield from (each.asname or each.name for each in node.names if each.name in known)


def is_state(node: ast.expr) -> bool:
    return ast.unparse(node).endswith("session_state")


def used_as_keys(tree: ast.Module) -> Iterator[ast.expr]:
    """Every expression that is the key of a widget or of a session's value."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=state, slice=key) if is_state(state):
                yield key
            case ast.Call(func=ast.Attribute(value=state, attr=name), args=[key, *_]) if (
                name in TAKE_KEYS and is_state(state)
            ):
                yield key
            case ast.Compare(left=key, comparators=[state]) if is_state(state):
                yield key
            case ast.Call(func=ast.Name(id=name), args=[key, *_]) if name in OF_KEYS:
                yield key
            case ast.keyword(arg="key", value=key):
                yield key


@pytest.mark.parametrize("name", [n for n in TREES if not n.startswith(WITHOUT_WIDGETS)])
def test_no_key_is_written_out(name: str) -> None:
    tree = TREES[name]
    texts = constants(tree) | {*imported(tree)}
    bare = [ast.unparse(key) for key in used_as_keys(tree) if is_text(key, texts)]
    assert not bare, f"{name}: give these keys an owner"


def all_owners() -> list[str]:
    """The owners of keys: pages, panels, and parameters that all pages share."""
    owners = [*VIEWS]
    for tree in TREES.values():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="Keys"), args=[ast.Constant(value=str(owner))]):
                    owners.append(owner)
    return owners + [each.widget for each in (*SHARED, *AROUND)]


def test_no_two_owners_have_a_key_in_common() -> None:
    owners = all_owners()
    assert len(owners) == len(set(owners))
    for one, other in permutations(owners, 2):
        assert not one.startswith(f"{other}-")


def test_a_style_sheet_names_no_key_without_an_owner() -> None:
    sheets = "".join(file.read_text("utf-8") for file in (ROOT / "viz").rglob("*.css"))
    owners = "|".join(map(re.escape, all_owners()))
    named = set(re.findall(r"st-key-([\w-]*\w)", sheets))
    assert len(named) > 20
    assert [each for each in named if not re.fullmatch(rf"({owners})(-.+)?", each)] == []


@pytest.mark.parametrize("name", VIEWS)
def test_every_parameter_of_a_page_has_a_key_of_that_page(name: str) -> None:
    view = VIEWS[name]
    assert all(each.widget == view.keys(each.name) for each in view.parameters)
