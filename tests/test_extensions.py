"""What CONTRIBUTING says of each addition: it takes the files named there, and all else follows.

A copy of the tree gets one of each kind, in those files alone; `tests/app/extended.py`, run within
the copy, asks for everything that should have come of it.
"""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

SECONDS = 240

Edit = Callable[[str], str]


def new(text: str) -> Edit:
    """A file that was not there."""
    return lambda before: before + text


def ahead(anchor: str, text: str) -> Edit:
    """A text ahead of another, which the file has once."""

    def edit(before: str) -> str:
        assert before.count(anchor) == 1, anchor
        return before.replace(anchor, text + anchor)

    return edit


def entered(registry: str, entry: str) -> Edit:
    """An entry at the end of a registry, whose first line is given."""

    def edit(before: str) -> str:
        start = before.index(f"\n{registry}")
        end = re.compile(r"\n *[)}\]]+\n").search(before, start)
        assert end, registry
        return f"{before[: end.start()]}\n{entry}{before[end.start() :]}"

    return edit


def both(*edits: Edit) -> Edit:
    """Several edits of one file."""

    def edit(before: str) -> str:
        for each in edits:
            before = each(before)
        return before

    return edit


ADDED: Mapping[str, Mapping[str, Edit]] = {
    "a positional encoding": {
        "model/paper/positions.py": both(
            ahead(
                "ENCODINGS: dict",
                "class HalvedEncoding(SinusoidalEncoding):\n"
                "    def formula(self, length: int) -> Tensor:\n"
                "        return super().formula(length) / 2\n\n\n",
            ),
            entered("ENCODINGS: dict", '    "halved": HalvedEncoding,'),
        )
    },
    "a scoring function": {
        "model/paper/attention.py": both(
            ahead(
                "SCORINGS: dict",
                "class HalvedAttention(ScaledDotProductAttention):\n"
                "    def scale(self, d_k: int) -> float:\n"
                "        return 0.5 / math.sqrt(d_k)\n\n\n",
            ),
            entered("SCORINGS: dict", '    "halved": HalvedAttention,'),
        )
    },
    "a mask preset": {
        "model/record/mask_presets.py": both(
            ahead(
                "_SELF = (",
                "def last_token(n_queries: int, n_keys: int) -> Tensor:\n"
                "    return everything(n_queries, n_keys) "
                "& (torch.arange(n_keys) == n_keys - 1)\n\n\n",
            ),
            entered(
                "PRESETS: dict",
                '        "last_token": Preset(\n'
                '            title="Last token",\n'
                '            description="Every query may look at the last key alone.",\n'
                "            kinds=_ANY,\n"
                "            build=last_token,\n"
                "        ),",
            ),
        )
    },
    "a head measure": {
        "model/explain/measures.py": ahead(
            '        Measure(\n            "diagonal",',
            "        Measure(\n"
            '            "widest",\n'
            '            "Largest weight",\n'
            '            "share",\n'
            '            "The largest weight of a head.",\n'
            "            EVERY,\n"
            "            lambda rows: rows.precise.max(axis=(1, 2)),\n"
            "        ),\n",
        )
    },
    "an attribution method": {
        "model/explain/attribution_methods.py": both(
            ahead(
                "CLASSES: dict",
                "class Evenly(AttributionMethod):\n"
                "    @classmethod\n"
                "    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:\n"
                "        maps = Weights.of(run, site, together=together)\n"
                "        return torch.ones_like(maps) / maps.shape[-1]\n\n\n",
            ),
            entered("CLASSES: dict", '    "evenly": Evenly,'),
        ),
        "model/explain/attribution.py": entered(
            "METHODS: Mapping",
            '        "evenly": Method(\n'
            '            title="Evenly",\n'
            '            unit="share",\n'
            '            paper="none",\n'
            '            leaves_out="Everything.",\n'
            "        ),",
        ),
    },
    "an adapter for a foreign attention module": {
        "model/record/taps.py": both(
            ahead(
                "ADAPTERS: dict",
                "class Doubled(nn.Module):\n"
                "    def __init__(self, inner: MultiHeadAttention) -> None:\n"
                "        super().__init__()\n"
                "        self.inner = inner\n\n"
                "    def forward(self, x: Tensor) -> Tensor:\n"
                "        return 2 * self.inner(x, x, None)[0]\n\n\n",
            ),
            entered(
                "ADAPTERS: dict",
                "    Doubled: lambda module, site: _batched_taps(module.inner, site),",
            ),
        )
    },
    "a picture": {
        "viz/heads/largest_weights.py": new(
            '"""The largest weight of each head of a site."""\n\n'
            "from __future__ import annotations\n\n"
            "from dataclasses import dataclass\n"
            "\n"
            "import plotly.graph_objects as go\n\n"
            "from model.trace.attention_map import AttentionMap\n"
            "from viz.save.notebook import Lines\n"
            "from viz.save.numbers import Axes, Numbers\n"
            "from viz.save.picture import Layout, Picture\n\n\n"
            "@dataclass(frozen=True, slots=True, eq=False)\n"
            "class LargestWeights(Picture):\n"
            "    own: AttentionMap\n\n"
            "    @property\n"
            "    def title(self) -> str:\n"
            '        return "Largest weights"\n\n'
            "    @property\n"
            "    def name(self) -> str:\n"
            '        return "largest"\n\n'
            "    @property\n"
            "    def alt(self) -> str:\n"
            '        return "Bars of the largest weight of each head."\n\n'
            "    @property\n"
            "    def caption(self) -> str:\n"
            '        return "Each bar is a head."\n\n'
            "    @property\n"
            "    def setup(self) -> Lines:\n"
            "        return [f\"own = trace.maps[hs.Site('{self.own.site.kind}', "
            '{self.own.site.layer})]"]\n\n'
            "    def figure(self, layout: Layout) -> go.Figure:\n"
            "        return go.Figure(go.Bar(y=self.own.weights.max(axis=(1, 2))))\n"
        ),
        "headscope/commands/pictures.py": both(
            ahead(
                "from viz.heads.matrices import",
                "from viz.heads.largest_weights import LargestWeights\n",
            ),
            new(
                '\n\n@exported(LargestWeights, "largest", "the largest weight of each head")\n'
                "def largest(request: Request) -> LargestWeights:\n"
                "    return LargestWeights(request.attention_map)\n"
            ),
        ),
        "docs/figures.md": ahead(
            "| `matrices` |", "| `largest` | `LargestWeights` | the largest weight of each head |\n"
        ),
        "headscope/figures.py": ahead(
            "from viz.heads.matrices import",
            "from viz.heads.largest_weights import LargestWeights as LargestWeights\n",
        ),
    },
    "a page": {
        "viz/lengths/view.py": new(
            '"""The declaration of the page of lengths."""\n\n'
            "from __future__ import annotations\n\n"
            "from dataclasses import dataclass\n\n"
            "from viz.links.parameters import View, flag, integer, kept, kept_in\n\n\n"
            "@dataclass(frozen=True, slots=True)\n"
            "class LengthsView:\n"
            '    share: int = kept(integer, 1, low=0, high=9, meaning="a number")\n'
            '    words: int = kept(integer, 2, low=0, high=9, meaning="another")\n'
            '    heads: bool = kept(flag, meaning="named as a page")\n\n\n'
            'VIEW = View("lengths", "Lengths", ":material/straighten:", kept_in(LengthsView))\n'
        ),
        "viz/registry/pages.py": both(
            ahead(
                "from viz.links.parameters import (",
                "from viz.lengths.view import VIEW as LENGTHS\n",
            ),
            lambda before: before.replace("POSITIONS, ABOUT)", "POSITIONS, LENGTHS, ABOUT)"),
        ),
        "viz/pages/lengths.py": new(
            '"""The page of lengths."""\n\n'
            "import streamlit as st\n\n"
            "from viz.lengths.view import VIEW, LengthsView\n"
            "from viz.shell import address\n\n\n"
            "def show(question: object) -> None:\n"
            '    st.slider("Share", 0, 9, key=VIEW.keys("share"))\n'
            '    st.slider("Words", 0, 9, key=VIEW.keys("words"))\n'
            '    st.checkbox("Heads", key=VIEW.keys("heads"))\n'
            "    st.markdown(repr(address.read(LengthsView)))\n"
        ),
        "docs/talk.md": new("The page of lengths.\n"),
        "docs/parameters.md": new("\n## Lengths\n\n<!-- parameters: lengths -->\n"),
    },
    "a question to ask the model": {
        "viz/service/jobs/running.py": new(
            "\n\n@of_model()\n"
            "def count_letters(model: Translator, sentence: str) -> int:\n"
            "    return len(model.translate(sentence).text)\n"
        ),
    },
    "a question for visitors": {
        "viz/inquiries/facts.py": new(
            '\n\n@inquiry("letters", "How many letters are there?")\n'
            "def letters(subject: Subject) -> Answer:\n"
            '    return Answer(f"It has {len(subject.own)} letters.", AboutView())\n'
        ),
        "viz/browser/inquiries/ways.json": ahead(
            '  "what-headscope": [', '  "letters": ["how many letters are written"],\n'
        ),
    },
    "a scene of the included talk": {
        "viz/talk/talks/attention-in-twelve-scenes.json": ahead(
            '    {\n      "title": "To learn what is enough, put something in"',
            '    {"title": "One more", "note": "A note.", "page": "masks", "view": {}},\n',
        )
    },
    "an act": {
        "viz/model_page/view.py": entered("ACTS = {", '    "still": "Nothing moves",'),
        "viz/pages/model_acts.py": both(
            lambda before: before.replace("import Act, n_changed", "import Act, Frame, n_changed"),
            new(
                '\n\n@an_act("still")\n'
                "def _still(question: ModelQuestion) -> Act:\n"
                "    trace = session.ask(question.record)\n"
                '    once = Frame("Once", ((trace.text, ""),), "It is written.")\n'
                '    return Act(act="still", caption="It stays.", read="", frames=(once,))\n'
            ),
        ),
    },
    "a checkpoint": {
        "checkpoints/toy-again/card.md": new("Another toy.\n"),
        "docs/models.md": ahead("| `toy-…`", "| `toy-again` | a toy | card |\n"),
    },
}
"""Each addition, as CONTRIBUTING calls it: what it does to which file."""

NAMED = {
    "TOPIC": "lengths",
    "NAME": "toy-again",
    "its wing of `viz/`": "`viz/heads/largest_weights.py`",
    "its module in `viz/service/jobs/`": "`viz/service/jobs/running.py`",
    "its module in `viz/inquiries/`": "`viz/inquiries/facts.py`",
}
"""What stands in CONTRIBUTING for a name that is free."""


def paragraphs() -> dict[str, str]:
    """What CONTRIBUTING says of each addition."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## How to add …\n\n(.*?)\n## ", text, re.DOTALL)
    return dict(re.findall(r"^\*\*(.*?)\.\*\* (.*?)(?=\n\n|\Z)", section, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What is wrong after all additions, by the name of the check; empty where it is right."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("headscope", "model", "viz", "docs", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "pyproject.toml", "requirements.txt", ".streamlit"):
        (tree / name).symlink_to(ROOT / name)
    for shipped in (ROOT / "checkpoints").iterdir():
        (tree / "checkpoints").mkdir(exist_ok=True)
        (tree / "checkpoints" / shipped.name).symlink_to(shipped)
    shutil.copytree(ROOT / "checkpoints" / "toy-reverse", tree / "checkpoints" / "toy-again")
    for edits in ADDED.values():
        for name, edit in edits.items():
            file = tree / name
            file.parent.mkdir(exist_ok=True)
            before = file.read_text(encoding="utf-8") if file.exists() else ""
            file.write_text(edit(before), encoding="utf-8")
    report = tree / "report.xml"
    for command in (
        ["viz.registry.pages", "docs/parameters.md"],
        ["pytest", "-q", "-n0", f"--junitxml={report}", "tests/app/extended.py"],
    ):
        subprocess.run([sys.executable, "-m", *command], cwd=tree, timeout=SECONDS, check=False)
    return {
        case.get("name", ""): "".join(each.text or "" for each in case)
        for case in ElementTree.parse(report).iter("testcase")
    }


@pytest.mark.parametrize("addition", ADDED)
def test_an_addition_takes_the_files_that_are_named(addition: str) -> None:
    paragraph = paragraphs()[addition]
    for placeholder, name in NAMED.items():
        paragraph = paragraph.replace(placeholder, name)
    for file in ADDED[addition]:
        assert f"`{file}`" in paragraph or f"{Path(file).parent}`" in paragraph, file


@pytest.mark.slow
@pytest.mark.parametrize("addition", ADDED)
def test_all_that_should_follow_from_an_addition_does(
    addition: str, followed: Mapping[str, str]
) -> None:
    name = f"test_{addition.replace(' ', '_')}"
    assert not followed[name], followed[name]
