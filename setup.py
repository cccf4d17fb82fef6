"""The build of the wheel: model/, viz/ and app.py below one package, `headscope`.

In a checkout the three stand at the top. Installed like that, they would be hidden by whatever a
person's own folder calls model.py, so their imports of each other are rewritten here.
"""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
IMPORT = re.compile(r"^(\s*)from (model|viz)((?:\.\w+)*) import ", re.MULTILINE)
UNSUPPORTED = re.compile(r"^\s*import (?:model|viz)\b.*$", re.MULTILINE)
CHECKPOINTS = ("en-de", "toy-*")
"""The checkpoints in the wheel; others are opened by path."""
CHECKS = (".test.js", ".d.ts")
"""Tests of scripts, and types that only checks read."""
LABORATORY = Path("model", "training")
"""Training stays in the checkout."""


class Build(build_py):
    """Adds the folders beside the package to it."""

    def run(self) -> None:
        """Build from scratch: leftovers of an earlier build would end up in the wheel."""
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        package = Path(self.build_lib, "headscope")
        found = [ROOT / "app.py", ROOT / ".streamlit" / "config.toml"]
        for name in ("headscope", "model", "viz", *(f"checkpoints/{each}" for each in CHECKPOINTS)):
            found += [file for folder in ROOT.glob(name) for file in folder.rglob("*")]
        for file in found:
            if not file.is_file() or "__pycache__" in file.parts or file.name.endswith(CHECKS):
                continue
            inside = file.relative_to(ROOT)
            if inside.is_relative_to(LABORATORY):
                continue
            written = package / (
                inside.relative_to("headscope") if inside.parts[0] == "headscope" else inside
            )
            written.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".py":
                written.write_text(below_headscope(file), encoding="utf-8")
            else:
                shutil.copyfile(file, written)


def below_headscope(file: Path) -> str:
    """A module's text, with its imports moved below the package."""
    text = file.read_text(encoding="utf-8")
    if unsupported := UNSUPPORTED.search(text):
        raise ValueError(f"{file}: write `from … import …` instead of {unsupported[0]!r}")
    return IMPORT.sub(r"\1from headscope.\2\3 import ", text)


def dependencies() -> list[str]:
    """The requirements, as minimum versions, so that they install beside other packages."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.partition("#")[0].strip() for line in lines]
    # The server uses parts of Streamlit that change between versions.
    return [pin if pin.startswith("streamlit") else pin.replace("==", ">=") for pin in pins if pin]


setup(
    packages=["headscope"],
    package_dir={"": "."},
    cmdclass={"build_py": Build},
    install_requires=dependencies(),
)
