from pathlib import Path

import pytest

from viz.browser.files import joined


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "numbers.json").write_text('{ "MOST": 8 }\n')
    (tmp_path / "one.js").write_text(
        'import numbers from "./numbers.json" with { type: "json" };\n\n'
        "export const [LOW, HIGH] = [1, numbers.MOST];\n"
    )
    (tmp_path / "two.js").write_text(
        'import { LOW } from "./one.js";\n\n/** One.\n * @type {() => Promise<number>} */\n'
        "export async function two() {\n  // Low.\n  return /** @type {number} */ (LOW);\n}\n"
        "/** @type {number[]} */ ([LOW]).push(1);\n/** The end. */\n"
    )
    (tmp_path / "all.js").write_text(
        "// Everything.\n\nimport {\n  HIGH,\n  LOW,\n} from "
        '"./one.js";\nimport { two } from "./two.js";\n\nexport default [HIGH, LOW, two];\n'
    )
    return tmp_path


def test_each_module_stands_once_before_what_imports_it(folder: Path) -> None:
    text = joined(folder / "all.js")
    assert " ".join(text.split()) == (
        'const numbers = {"MOST":8}; const [LOW, HIGH] = [1, numbers.MOST]; '
        "async function two() { return (LOW); } ([LOW]).push(1); "
        "export default [HIGH, LOW, two];"
    )


def test_a_style_sheet_stands_after_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "base.css").write_text("a { color: red }\n")
    (tmp_path / "more.css").write_text('@import "./base.css";\n\na { color: blue }\n')
    assert joined(tmp_path / "more.css") == "a { color: red }\n\n\na { color: blue }\n"


@pytest.mark.parametrize("second", ["function HIGH() {}", "let [LOW, OTHER] = [1, 2];"])
def test_two_modules_that_define_one_name_are_refused(folder: Path, second: str) -> None:
    (folder / "two.js").write_text(f"export {second}\nexport const two = 2;\n")
    with pytest.raises(ValueError, match=r"two\.js and one\.js both define (HIGH|LOW), and one"):
        joined(folder / "all.js")


@pytest.mark.parametrize(
    "line",
    [
        'import { LOW as low } from "./one.js";',
        'import all from "./numbers.json" with { type: "json" };',
        'import everything from "./one.js";',
        'import * as one from "./one.js";',
        'import "./one.js";',
        'import { one } from "a-package";',
        "export { two };",
        "export default 2;",
    ],
)
def test_what_cannot_be_joined_is_refused_by_its_line(folder: Path, line: str) -> None:
    (folder / "two.js").write_text(f"{line}\nconst two = 2;\n")
    with pytest.raises(ValueError, match=r"^two\.js .*") as refused:
        joined(folder / "all.js")
    assert line in str(refused.value)
