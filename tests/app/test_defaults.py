"""What widgets and components begin with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

VIZ = Path(__file__).parents[2] / "viz"

KEEPS_A_VALUE = {
    *("checkbox", "multiselect", "number_input", "pills", "radio", "segmented_control"),
    *("select_slider", "selectbox", "slider", "text_area", "text_input", "toggle"),
}
SET_BY_THE_READER_ALONE = {
    "f'{key}-what'",
    "'sentence-unfold'",
    "_choice_key(number)",
    "f'talk-{of}-title'",
    "f'talk-{of}-note'",
    "'talk-draft-into'",
    "'preset-causal'",
}
"""Keys under which no script sets a value, so that the widget's own default is the first one."""


def widgets() -> Iterator[tuple[str, ast.Call, str]]:
    """Where each widget with a value stands, its call, and its key as it is written."""
    for path in sorted(VIZ.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in KEEPS_A_VALUE and ast.unparse(node.func.value) == "st":
                keys = [ast.unparse(each.value) for each in node.keywords if each.arg == "key"]
                yield f"{path.relative_to(VIZ)}:{node.lineno}", node, (keys or [""])[0]


def begins_with_it(call: ast.Call, key: str) -> bool:
    """Whether the default is what the session holds under that key, or the view that was read."""
    field = re.escape(key.strip("'"))
    held = rf"\bview\.{field}\b|\baddress\.value_of\({re.escape(key)}\)"
    return re.search(held, ast.unparse(call)) is not None


def test_a_widget_whose_value_the_script_sets_has_it_as_its_default_too() -> None:
    found = list(widgets())
    assert found, "no widget found, so nothing was checked"
    lacking = [
        f"{place} {key}"
        for place, call, key in found
        if key not in SET_BY_THE_READER_ALONE and not begins_with_it(call, key)
    ]
    assert not lacking, "\n".join(lacking)


def test_a_component_is_busy_until_its_script_has_come() -> None:
    mounted = 0
    for path in sorted(VIZ.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        count = text.count("components.v2.component(")
        # Whoever waits for a page asks for this; the script takes it away.
        assert text.count('aria-busy="true"') == count, path.name
        mounted += count
    assert mounted
