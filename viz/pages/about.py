"""The About page: limits of the pictures, labels of heads, facts about the model."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.explain.label_rules import CONFIDENCE, MIN_PASSING, MIN_SENTENCES, RULES
from model.explain.measures import MIN_TOKENS
from model.explain.reading import alignment_note
from model.trace.text_result import FolderFacts
from model.translate.devices import DeviceError
from model.translate.text_models import reader_facts
from viz.about import glossary
from viz.draw.labels import escape_markdown, visible
from viz.draw.style import count_of
from viz.heads.about_trace import contents_of, shape_of
from viz.pages.about_model import folder_facts, model_facts
from viz.registry.pages import CHECKPOINT
from viz.service import model_menu, session
from viz.service.jobs.examples import count_resting, find_later_rows
from viz.service.questions import ModelQuestion, ReaderQuestion, TraceQuestion
from viz.shell import address, bar, stage
from viz.talk.help import glossary_text

READING_WIDTH = 820
"""Pixels: about ninety letters, the longest line that is easy to read."""

INTRODUCTION = """
# What the pictures can and cannot tell

**What a weight is.** A head compares a query, one token, with every key it may look at. The softmax
turns these scores into weights from 0 to 1 that add up to 1 in each row. The head passes on the
average of the keys' values under these weights (Vaswani et al. 2017, section 3.2).

**Why it is not an explanation.** A weight says where a head looks, not why the model wrote a word.
A large weight on a short value vector moves little (Kobayashi et al. 2020), and what a head passes
on still goes through projections, residual connections and the layers above. In recurrent networks
with attention, quite different weights can lead to the same prediction (Jain and Wallace 2019);
whether weights can still explain depends on what you expect of an explanation (Wiegreffe and Pinter
2019). And many heads of a Transformer can be removed with little loss (Voita et al. 2019, Michel et
al. 2019), so a striking head may not matter.

## Where readers go wrong

- **Names of rows.** A decoder row is named by the token just read; what it predicts is the next
  one. Chen et al. (2020) found that a target word aligns best with its source one row later than
  expected: after it has been fed back in. {rows}
- **Choice of a layer.** Which layer aligns source and target best differs from model to model, and
  it need not be the last. A picture chosen because it looks right shows what you were looking for.
- **Parking.** Much of BERT's weight rests on the token that separates its texts, apparently when a
  head has nothing to do (Clark et al. 2019, section 3.2). {parking} Such weight does not make these
  tokens important.
- **Averages over heads.** Heads of one layer do different things; their mean shows none of them.
- **Hatched cells** are forbidden: a decoder row may not look at later tokens. A pale cell could
  have had weight but has almost none, which is a finding; a hatched cell is not.
- **Whole words** add up the weights of their tokens' columns and average their tokens' rows (Clark
  et al. 2019, section 4.1). The tokens of one word may differ considerably.
- **Hidden special tokens.** Without their columns, rows add up to less than 1. Dividing each row by
  its sum makes rows comparable, but inflates rows with little weight left.
- **Alignments.** Lines between words are weights, not a dictionary: a strong line can join words
  that are not translations of each other, and a correct pair can have none.
"""

REFERENCES = {
    "Chen, Sun, Chen, Liu and Zhang 2020. Accurate word alignment induction from neural machine "
    "translation.": "2004.14837",
    "Clark, Khandelwal, Levy and Manning 2019. What does BERT look at? An analysis of BERT's "
    "attention.": "1906.04341",
    "Jain and Wallace 2019. Attention is not explanation.": "1902.10186",
    "Kobayashi, Kuribayashi, Yokoi and Inui 2020. Attention is not only a weight: analyzing "
    "transformers with vector norms.": "2004.10102",
    "Michel, Levy and Neubig 2019. Are sixteen heads really better than one?": "1905.10650",
    "Vaswani et al. 2017. Attention is all you need.": "1706.03762",
    "Voita, Talbot, Moiseev, Sennrich and Titov 2019. Analyzing multi-head self-attention: "
    "specialized heads do the heavy lifting, the rest can be pruned.": "1905.09418",
    "Wiegreffe and Pinter 2019. Attention is not not explanation.": "1908.04626",
}
"""Titles and their arXiv numbers, in alphabetical order."""


class OtherModel(NamedTuple):
    """The folder of a model that is none of ours, and what it says of the model."""

    folder: Path
    facts: FolderFacts


Subject = ModelQuestion | TraceQuestion | OtherModel


def introduction() -> str:
    """The introduction, with what is known about the open model."""
    rows = parking = ""
    with contextlib.suppress(CheckpointError, DeviceError):
        opened = subject()
        # Of another kind of model, and of a trace, there are no examples.
        if isinstance(opened, ModelQuestion):
            rows = alignment_note(session.ask(find_later_rows(opened.version)))
            parking = parking_note(session.ask(count_resting(opened.version)))
    return INTRODUCTION.format(rows=rows, parking=parking)


def subject() -> Subject:
    """The open model or trace: the last question's, or that in the address, or the first model.

    Raises:
        CheckpointError: if there is no model, or its configuration is damaged.
    """
    question = bar.opened()
    if isinstance(question, ReaderQuestion):
        return OtherModel(question.folder, question.facts)
    if question is not None:
        return question
    # Names are looked up, and never made into a path.
    named = model_menu.openables().get(address.query().get(CHECKPOINT.name, ""))
    if named is None or named.kind is model_menu.Kind.TRACE:
        return ModelQuestion(next(iter(model_menu.checkpoints().values())), "")
    if named.kind is model_menu.Kind.READER:
        return OtherModel(named.path, reader_facts(named.path))
    return ModelQuestion(named.path, "")


def parking_note(counts: Mapping[str, tuple[int, int]]) -> str:
    """The number of heads that rest on tokens of little meaning; empty without counts."""
    names = {"end": "`</s>`", "start": "`<s>`", "punctuation": "punctuation"}
    parts = [
        f"{names[key]} in {resting or 'none'} of {count_of(judged, 'head')}"
        for key in names
        for resting, judged in [counts.get(key, (0, 0))]
        if judged
    ]
    if not parts:
        return ""
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
    return f"On this model's examples, more than half of the weight is on {listed}."


def label_rules() -> str:
    """The thresholds of `model.explain.label_rules` as Markdown, so that page and code agree."""
    rules = "\n".join(f"- *{rule.text}*: {rule.needs}" for rule in RULES)
    return f"""
## How a head earns a label

{survey_note()}A head earns a label on {MIN_SENTENCES} sentences, none of them among the
model's examples. The mean over these sentences and at least {MIN_PASSING:.0%} of the single
sentences must reach the threshold. The label should hold for new sentences too, so the lower end of
each {CONFIDENCE:.0%} interval counts (Wilson's interval for the share of sentences). A
sentence counts only if it has at least {MIN_TOKENS} tokens and chance alone would give a head less
weight. A head gets the first label that fits:

{rules}

A head without a label shows a rule of up to three terms that was fitted to it, with how often the
rule names the strongest key in sentences that it never saw; without a rule, it shows its strongest
tendency, with a number. On a single sentence, a head may behave differently. A token's source is
determined without attention weights: it is the source token whose deletion makes this token least
likely. “Beyond chance” subtracts the average over all other orders of the head's rows.

## Which head opens

Each kind of attention opens with its most informative head. Heads whose label pairs tokens come
before heads that rest on one position. Among them, or among all heads if none has such a label, it
is the head with most weight beyond chance on its tokens' sources. In self-attention, and without
known sources, it is the head whose rows say most about the token they look at: the one with the
largest mutual information of row and token. Both values are means over the sentences that the
labels come from; without labels, the sentence shown decides.
"""


def survey_note() -> str:
    """The measurements behind the open model's labels, in one sentence; empty without labels."""
    with contextlib.suppress(CheckpointError, DeviceError):
        opened = subject()
        if isinstance(opened, TraceQuestion):
            return ""
        checkpoint = opened.checkpoint if isinstance(opened, ModelQuestion) else opened.folder
        survey = session.survey(checkpoint)
        if survey is not None:
            sample, count = survey.sample, len(survey.earned)
            return (
                f"{count or 'None'} of the {survey.n_heads} heads of "
                f"{escape_markdown(visible(opened.folder.name))} "
                f"{'earns' if count <= 1 else 'earn'} a label, measured on "
                f"{sample.sentences:,} sentences ({escape_markdown(visible(sample.data))}; "
                f"licence: {escape_markdown(visible(sample.licence))}).\n\n"
            )
    return ""


def show_model() -> None:
    """The model, or the trace, that is open."""
    try:
        match subject():
            case OtherModel(folder, facts):
                st.markdown(folder_facts(folder.name, facts))
            case TraceQuestion() as opened:
                named = escape_markdown(visible(opened.name))
                lines = [f"{named}: {shape_of(opened.trace)}.", *contents_of(opened.trace)]
                st.markdown("\n".join(["## The trace", "", *(f"- {line}" for line in lines)]))
            case ModelQuestion(folder=folder):
                st.markdown(f"## The model\n\n{model_facts(session.translator(folder))}")
    except (CheckpointError, DeviceError) as error:
        st.markdown("## The model")
        st.error(escape_markdown(str(error)), icon=":material/error:")


def show() -> None:
    if stage.is_on():
        stage.say("What the pictures can and cannot tell")
        stage.offer("Up and down: scroll", scrolls=True)
        text = st.container(key=stage.TEXT)
    else:
        text = st.container(width=READING_WIDTH)
    with text:
        st.markdown(introduction())
        st.markdown(label_rules())
        st.markdown(f"## {glossary.TITLE}\n\n{glossary_text()}")
        show_model()
        st.markdown(
            "## References\n\n"
            + "\n".join(
                f"- {title} [arXiv:{paper}](https://arxiv.org/abs/{paper})"
                for title, paper in REFERENCES.items()
            )
        )
