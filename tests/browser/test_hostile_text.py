"""Whatever is typed is data: it never acts as markup, and the page answers it in a sentence."""

import re

import pytest
from playwright.sync_api import expect

from model.explain.reading import read
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator
from tests.kit.heads_page import SENTENCE, HeadsPage, wrong_cells
from viz.draw.labels import axis_texts, visible
from viz.links.parameters import MOST_CHARACTERS

PASTE = "The cat sat on the mat. " * 417
HOSTILE = {
    "special token": "<s>",
    "special tokens in a sentence": "The </s> cat <pad> sat.",
    "bold": "<b>x</b>",
    "emphasis": "*a*",
    "maths": "$x$",
    "colour": ":red[x]",
    "shortcode": ":cat: :material/home: ->",
    "link": "[the cat](javascript:alert(1)) www.a.b",
    "image": "<img src=x onerror=alert(1)>",
    "script": "<script>alert(1)</script>",
    "template": "{{x}} ${alert(1)} %s \\u003cb\\u003e",
    "quotes": "\"quotes' & &amp; &#60;",
    "emoji": "The 🐈 cat 👩‍👩‍👧 sat.",
    "right to left": "The القطة sat \u202e on the mat.",
    "combining marks": "The c\u0301a\u0308t\u0301\u0302\u0303 \u0301 sat.",
    "control characters": "The\x07 cat\x1b[31m sat\x7f.",
    "invisible characters": "The\u200b cat\ufeff\u00ad sat.",
    "long word": "a" * 90,
    "long paste": PASTE,
    "empty": "",
    "spaces": "   ",
    "unusual spaces": "\u00a0\u3000",
}
ISOLATES = "[\u2060\u2068\u2069]*"
TARGETS = ("<s>", "<b>x</b>", "*a* $x$ :red[x]", "<img src=x onerror=alert(1)>", "&amp; \u202e 🐈")

# Elements that no text of ours makes, wherever they would stand, shadow roots included.
MADE_OF_TEXT = """() => {
  const found = [];
  const look = root => {
    const made = root.querySelectorAll(
      'img[src="x"], [onerror], script:not([src]), .katex, .stMarkdownColoredText, ' +
      'a[href*="javascript"], a[href*="www.a.b"]'
    );
    found.push(...[...made].filter(node => node.closest("body")).map(node => node.outerHTML));
    for (const node of root.querySelectorAll("*")) if (node.shadowRoot) look(node.shadowRoot);
  };
  look(document);
  const texts = document.querySelectorAll(
    'p[lang="de"], [data-testid="stAlert"] p, .facts > div > :last-child'
  );
  for (const text of texts) {
    for (const node of text.querySelectorAll(":not(span)")) found.push(node.outerHTML);
  }
  const inside = window.headsView()?.querySelectorAll(":is(.tooltip, .tip) :not(div, span)") ?? [];
  found.push(...[...inside].map(node => node.outerHTML));
  return found;
}"""


def what_acts_as_markup(heads: HeadsPage) -> list[str]:
    found: list[str] = heads.page.evaluate(MADE_OF_TEXT)
    return found


@pytest.fixture
def opened(heads: HeadsPage) -> HeadsPage:
    """The page with a sentence that it could answer, this one or that of the test before."""
    asked = {"attention": "encoder", "layer": "0", "head": "1"}
    if not (heads.root.count() and asked.items() <= heads.query.items()):
        heads.walk(sentence=SENTENCE, **asked)
        heads.settle()
    return heads


def asked_of(model: Translator, text: str) -> Trace | str:
    """What the page must show: the heads of a text, or why there are none."""
    try:
        if len(text) > MOST_CHARACTERS:
            model.require_room(text[:MOST_CHARACTERS])
            return f"The text has {len(text):,} characters"
        return model.trace(text)
    except TextError as error:
        return str(error)


def plain(text: str) -> str:
    return re.sub(ISOLATES, "", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_sentence_of_any_text_gives_heads_or_one_clear_sentence(
    opened: HeadsPage, model: Translator, name: str
) -> None:
    text = HOSTILE[name]
    before = opened.root.get_attribute("data-payload")
    expected = asked_of(model, text)
    opened.type("sentence", text)
    if isinstance(expected, Trace):
        opened.wait_for_payload_other_than(before)
        opened.settle()
        expect(opened.translation).to_have_count(1)
        shown = opened.translation.inner_text()
        assert " ".join(shown.split()) == " ".join((visible(expected.text) or "∅").split())
        # The tokens of the sentence, wherever they are shown.
        queries, keys = opened.named_axes()
        kind, _, _ = opened.selected
        found = expected.attention(kind, 0)
        assert [" ".join(each.split()) for each in queries] == axis_texts(found.queries)
        assert [" ".join(each.split()) for each in keys] == axis_texts(found.keys)
        opened.point_at(opened.frame(), 0, 0)
        assert what_acts_as_markup(opened) == []
        if len(queries) < 40:
            assert wrong_cells(opened, read(expected)) == []
    else:
        # A sentence before may have as many, so that only their words tell them apart.
        said = re.compile(ISOLATES.join(re.escape(each) for each in plain(expected)))
        expect(opened.alerts.first).to_contain_text(said, use_inner_text=True)
        expect(opened.alerts).to_have_count(2)
        assert what_acts_as_markup(opened) == []
        # The picture of the sentence before is still there.
        assert opened.root.get_attribute("data-payload") == before
        opened.type("sentence", SENTENCE)
        expect(opened.alerts).to_have_count(0)
        opened.settle()
        expect(opened.translation).to_have_text(model.trace(SENTENCE).text)


@pytest.mark.parametrize("text", TARGETS)
def test_a_target_of_any_text_is_read_letter_by_letter(
    heads: HeadsPage, model: Translator, text: str
) -> None:
    heads.walk(sentence=SENTENCE, attention="decoder", layer="0", head="1")
    heads.settle()
    before = heads.root.get_attribute("data-payload")
    heads.type("target", text)
    heads.wait_for_payload_other_than(before)
    heads.settle()
    trace = model.trace(SENTENCE, text)
    assert plain(heads.translation.first.inner_text()) == plain(visible(text))
    assert heads.named_axes() == (axis_texts(trace.target), axis_texts(trace.target))
    assert what_acts_as_markup(heads) == []
    assert wrong_cells(heads, read(trace)) == []


@pytest.mark.parametrize("section", ["numbers", "query-key"])
def test_hostile_tokens_stay_text_in_every_section(
    heads: HeadsPage, model: Translator, section: str
) -> None:
    text = "<b>x</b> *a* $x$ :red[x] <img src=x onerror=alert(1)> &amp;"
    heads.walk(sentence=text, target=text, attention="cross", below=section, cell="1.1")
    heads.settle()
    # The characters are those of the target too, which has to stay as it is.
    expect(heads.alerts).to_have_text(
        [re.compile("lacks these characters"), re.compile("contains markup")]
    )
    if section != "numbers":
        expect(heads.chart).to_be_visible()
        labels = heads.chart.locator(":is(.xtick, .ytick, .gtitle) text")
        expect(labels.first).to_be_visible()
        assert heads.chart.locator("a, img, b, i").count() == 0
    assert what_acts_as_markup(heads) == []


def test_a_hostile_address_is_read_as_text(heads: HeadsPage, model: Translator) -> None:
    text = "<img src=x onerror=alert(1)> *a*"
    heads.open(sentence=text, attention="encoder", layer="0", head="1")
    assert heads.field("sentence").input_value() == text
    assert what_acts_as_markup(heads) == []
    assert wrong_cells(heads, read(model.trace(text))) == []
