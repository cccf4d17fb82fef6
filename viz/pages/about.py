"""The About page: limits of the pictures, labels of heads, facts about the model."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, training_runs
from model.checkpoints.toy_tasks import task_of
from model.explain import labels
from model.explain.measures import MIN_TOKENS
from model.explain.reading import alignment_note
from model.trace.text_result import FolderFacts
from model.translate.devices import DeviceError
from model.translate.text_models import reader_facts
from model.translate.translator import Translator
from viz.about import glossary
from viz.draw.labels import escape_markdown, visible
from viz.draw.style import count_of, percent
from viz.heads.about_trace import contents_of, shape_of
from viz.registry.pages import CHECKPOINT
from viz.service import model_menu, session
from viz.service.jobs.examples import count_resting, find_later_rows
from viz.service.questions import OfModel, OfReader, OfTrace
from viz.shell import address, bar, stage
from viz.talk.welcome import glossary_text

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


Subject = OfModel | OfTrace | OtherModel


def introduction() -> str:
    """The introduction, with what is known about the open model."""
    rows = parking = ""
    with contextlib.suppress(CheckpointError, DeviceError):
        opened = subject()
        # Of another kind of model, and of a trace, there are no examples.
        if isinstance(opened, OfModel):
            rows = alignment_note(session.ask(find_later_rows(opened.version)))
            parking = parking_note(session.ask(count_resting(opened.version)))
    return INTRODUCTION.format(rows=rows, parking=parking)


def subject() -> Subject:
    """The open model or trace: the last question's, or that in the address, or the first model.

    Raises:
        CheckpointError: if there is no model, or its configuration is damaged.
    """
    question = bar.opened()
    if isinstance(question, OfReader):
        return OtherModel(question.folder, question.facts)
    if question is not None:
        return question
    # Names are looked up, and never made into a path.
    named = model_menu.openables().get(address.query().get(CHECKPOINT.name, ""))
    if named is None or named.kind is model_menu.Kind.TRACE:
        return OfModel(next(iter(model_menu.checkpoints().values())), "")
    if named.kind is model_menu.Kind.READER:
        return OtherModel(named.path, reader_facts(named.path))
    return OfModel(named.path, "")


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
    """The thresholds of `model.explain.labels` as Markdown, so that page and code agree."""
    rules = "\n".join(f"- *{rule.text}*: {rule.needs}" for rule in labels.RULES)
    return f"""
## How a head earns a label

{survey_note()}A head earns a label on {labels.MIN_SENTENCES} sentences, none of them among the
model's examples. The mean over these sentences and at least {labels.MIN_PASSING:.0%} of the single
sentences must reach the threshold. The label should hold for new sentences too, so the lower end of
each {labels.CONFIDENCE:.0%} interval counts (Wilson's interval for the share of sentences). A
sentence counts only if it has at least {MIN_TOKENS} tokens and chance alone would give a head less
weight. A head gets the first label that fits:

{rules}

A head without a label shows its strongest tendency, with a number. On a single sentence, a head may
behave differently. A token's source is determined without attention weights: it is the source token
whose deletion makes this token least likely. “Beyond chance” subtracts the average over all other
orders of the head's rows.

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
        if isinstance(opened, OfTrace):
            return ""
        checkpoint = opened.checkpoint if isinstance(opened, OfModel) else opened.folder
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


def model_facts(model: Translator) -> str:
    """A checkpoint's shape and, as far as recorded, its training and scores, as Markdown."""
    config, task = model.model.config, task_of(model.metrics)
    lines = [
        f"{escape_markdown(model.name)}: {model.n_parameters / 1e6:.1f} million parameters, "
        f"{config.n_encoder_layers} encoder and "
        f"{count_of(config.n_decoder_layers, 'decoder layer')} of "
        f"{count_of(config.n_heads, 'head')}, model width {config.d_model}, "
        f"{'a vocabulary' if config.target_vocab_size is None else 'vocabularies'} of "
        f"{config.vocabularies}, at most {config.max_positions} tokens a sentence."
    ]
    lines += _training(model.metrics)
    tested = model.metrics.get("test")
    if task is not None:
        lines.append(f"A toy: it {task.does}. It reads {task.reads}.")
    if isinstance(tested, dict):
        exact, sentences = (number(tested.get(name)) for name in ("exact", "sentences"))
        if exact is not None and sentences is not None:
            lines.append(
                f"On {sentences:,.0f} inputs that training never saw, {percent(exact, 1)} of the "
                "outputs are exactly right. Details: card.md in the model's folder."
            )
        bleu, chrf, sentences = (number(tested.get(name)) for name in ("bleu", "chrf", "sentences"))
        if bleu is not None and chrf is not None and sentences is not None:
            lines.append(
                f"BLEU {bleu:.1f} and chrF {chrf:.1f} on {sentences:,.0f} test sentences"
                + (f" ({escape_markdown(tested['data'])})" if text_in(tested, "data") else "")
                + ". Details: card.md in the model's folder."
            )
        lines += _nearness(tested)
    return "\n".join(f"- {line}" for line in lines)


def _training(metrics: Mapping[str, Any]) -> list[str]:
    """The length of its training over all runs; empty if one of them has no record."""
    runs = training_runs(metrics) or []
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    if not steps or not tokens:
        return []
    earlier = sum(run["steps"] for run in runs[:-1])
    including = f", including {earlier:,} steps of earlier training" if earlier else ""
    return [f"Trained for {steps:,} steps on {tokens / 1e6:.1f} million target tokens{including}."]


def _nearness(tested: dict[str, Any]) -> list[str]:
    """BLEU on test sentences that are nearly in the training data, and on the others."""
    parts = [tested.get(name) for name in ("near", "far")]
    (near, near_bleu), (far, far_bleu) = (
        [
            number(part.get(name)) if isinstance(part, dict) else None
            for name in ("sentences", "bleu")
        ]
        for part in parts
    )
    if near is None or near_bleu is None or far is None or far_bleu is None:
        return []
    return [
        f"{near:,.0f} of them differ from a training sentence by at most one word added, removed "
        f"or replaced: BLEU is {near_bleu:.1f} on these and {far_bleu:.1f} on the other "
        f"{far:,.0f}, a better estimate for new text."
    ]


def number(value: Any) -> float | None:
    """The number, or None if it is none; files may have been written by anybody."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def text_in(record: dict[str, Any], name: str) -> bool:
    return isinstance(record.get(name), str)


def folder_facts(name: str, facts: FolderFacts) -> str:
    """The facts in the folder of a Hugging Face model, or of half a Transformer, as Markdown."""
    held = facts.architecture
    if facts.model_type:
        named = escape_markdown(visible(facts.architecture or "a model"))
        family = escape_markdown(visible(facts.model_type))
        held = f"a Hugging Face folder with {named} ({family})"
    lines = [
        "## The model",
        "",
        f"{escape_markdown(visible(name))} is {held}. Its configuration says:",
        "",
    ]
    sizes = [f"- {escape_markdown(visible(size))}: {number:,}" for size, number in facts.sizes]
    return "\n".join([*lines, *(sizes or ["- no sizes"])])


def show_model() -> None:
    """The model, or the trace, that is open."""
    try:
        match subject():
            case OtherModel(folder, facts):
                st.markdown(folder_facts(folder.name, facts))
            case OfTrace() as opened:
                named = escape_markdown(visible(opened.name))
                lines = [f"{named}: {shape_of(opened.trace)}.", *contents_of(opened.trace)]
                st.markdown("\n".join(["## The trace", "", *(f"- {line}" for line in lines)]))
            case OfModel(folder=folder):
                st.markdown(f"## The model\n\n{model_facts(session.translator(folder))}")
    except (CheckpointError, DeviceError) as error:
        st.markdown("## The model")
        st.error(escape_markdown(str(error)), icon=":material/error:")


def show() -> None:
    """The whole page."""
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
