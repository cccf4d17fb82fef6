"""The declaration of the corpus page."""

from dataclasses import dataclass

from model.rules.weight_rules import RULES
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.corpus.quantities import QUANTITIES
from viz.links.head_refs import KINDS, heads_parameter
from viz.links.parameters import View, choice, flag, integer, kept, kept_in, pattern, text

SHOWN = {
    "all": "Every head",
    "head": "One head",
    "find": "Find",
    "draw": "Draw",
    "rules": "Rules",
}
"""The views of the page."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """The state of the corpus page."""

    over: str = kept(choice, "all", SHOWN, "what is shown")
    one: tuple[Head, ...] = kept(
        heads_parameter, "the head that is shown, as kind.layer.head; the first of several"
    )
    across: str = kept(choice, "previous", QUANTITIES, "for every head, the measure across")
    up: str = kept(choice, "effect", QUANTITIES, "for every head, the measure upwards")
    top: str = kept(choice, "across", ("across", "up"), "which of the two ranks the list")
    words: str = kept(text, most=200, meaning="to find sentences, words that they must have")
    does: str = kept(
        choice, "", ("", *RULES), "to find sentences, where the head `one` must look there"
    )
    follows: bool = kept(flag, meaning="for one head, translate with its rule in place")
    drawn_in: str = kept(
        choice, str(AttentionKind.ENCODER), [*map(str, KINDS)], "for a pattern, where"
    )
    drawn: str = kept(
        pattern,
        r"[0-9]{1,3}x[0-9]{1,3}\.[A-Za-z0-9_-]{0,4000}",
        "a drawn pattern as the page writes it",
        "for a pattern, the cells where a head should look",
    )
    ruled: int = kept(
        integer, 0, low=0, high=999, meaning="for rules, how many heads follow theirs"
    )


VIEW = View(
    "corpus",
    "Corpus",
    ":material/library_books:",
    kept_in(CorpusView),
    without_model="A survey of heads",
)

KEYS = VIEW.keys
