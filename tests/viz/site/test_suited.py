"""The site warns of a sentence as the app does, in the reader's language."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.kit.engine import NODE
from tests.viz.browser.test_javascript import VIZ
from tests.viz.shell.test_language import EXAMPLES, FAMILIAR, FOREIGN
from tests.viz.shell.test_suited import SENTENCES, SUITED, UNSUITED
from viz.browser.files import joined
from viz.shell.suited import unsuited
from viz.site.page import words

SCRIPT = """
const read = ({ text, language }) => {
  const found = unsuited(text, language);
  const verdicts = { isForeign: isForeign(found.text, language), hasSeveral: hasSeveral(text) };
  return { says: found.says, ...verdicts };
};
process.stdout.write(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf-8")).map(read)));
"""


def found(texts: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the site finds in texts."""
    live = VIZ / "browser" / "live"
    script = "".join(joined(live / name) for name in ("suited.js", "language.js"))
    jobs = json.dumps([{"text": text, "language": language} for text, language in texts])
    run = subprocess.run(
        [NODE, "--input-type=commonjs", "--eval", script + SCRIPT],
        input=jobs,
        capture_output=True,
        encoding="utf-8",
    )
    assert not run.returncode, run.stderr[-500:]
    verdicts: list[dict[str, Any]] = json.loads(run.stdout)
    return verdicts


def said(texts: list[tuple[str, str]]) -> list[tuple[list[str], bool]]:
    """What the site writes of texts, and whether they are foreign to their language."""
    english = words()["en"]
    return [
        ([english[key].format(**values) for key, values in each["says"]], each["isForeign"])
        for each in found(texts)
    ]


def test_what_no_model_reads_is_said_in_the_words_of_the_app() -> None:
    texts = [text for text, *_ in UNSUITED] + SUITED
    for text, (says, _) in zip(texts, said([(text, "en") for text in texts]), strict=True):
        wrong = unsuited(text, "en")
        assert says == list(wrong.says if wrong else ()), text


def test_several_sentences_are_told_from_one_as_in_the_app() -> None:
    verdicts = found([(text, "en") for text in SENTENCES])
    assert [each["hasSeveral"] for each in verdicts] == [bool(each) for each in SENTENCES.values()]


# Letters that no model here has seen are refused before anybody guesses, and the site's small
# table learns too little from two words.
LATIN = [text for text in FOREIGN if max(text) < "\u0250" and len(text.split()) > 2]


@pytest.mark.parametrize(("texts", "foreign"), [(LATIN, True), (FAMILIAR, False)])
def test_another_language_is_told_from_the_models(texts: list[str], foreign: bool) -> None:
    verdicts = {
        text: each for text, (_, each) in zip(texts, said([(t, "en") for t in texts]), strict=True)
    }
    assert verdicts == dict.fromkeys(texts, foreign)


def test_no_shipped_example_is_warned_of() -> None:
    assert said(EXAMPLES) == [([], False)] * len(EXAMPLES)
