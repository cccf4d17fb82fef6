"""What the pictures can and cannot tell, how heads earn labels, and which model this is."""

import contextlib
from collections.abc import Mapping
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, training_runs
from model.explain import labels
from model.explain.measures import MIN_TOKENS
from model.explain.reading import alignment_note
from model.trace.text_result import FolderFacts
from model.training.toy_tasks import task_of
from model.translate.devices import DeviceError
from model.translate.text_models import reader_facts
from model.translate.translator import Translator
from viz.about import glossary
from viz.draw.labels import escape_markdown, visible
from viz.draw.style import count_of, percent
from viz.heads.about_trace import contents_of, shape_of
from viz.registry.pages import CHECKPOINT
from viz.service import model_menu, session
from viz.shell import address, bar, stage
from viz.talk.welcome import glossary_text

READING_WIDTH = 820
"""Pixels: about ninety letters, as long as a line may be and still be read with ease."""

INTRODUCTION = """
# What the pictures can and cannot tell

**What a weight is.** A head compares a query, one token, with every key it may look at. The softmax
turns these scores into weights from 0 to 1 that add up to 1 in each row, and the head passes on the
average of the keys' values under these weights (Vaswani et al. 2017, section 3.2).

**Why it is not an explanation.** A weight says where a head looks, not why the model wrote a word.
A large weight on a short value vector moves little (Kobayashi et al. 2020), and what a head passes
on still goes through projections, residual connections and the layers above. In recurrent networks
with attention, quite different weights can lead to the same prediction (Jain and Wallace 2019);
whether that makes weights no explanation depends on what one asks of an explanation (Wiegreffe and
Pinter 2019). And in Transformers many heads can be removed with little loss (Voita et al. 2019,
Michel et al. 2019), so a striking picture need not matter.

## Where readers go wrong

- **Names of rows.** A decoder row is named by the token just read; what it predicts is the next
  one. Chen et al. (2020) found a target word best aligned with its source one row later than
  expected, when it has been fed back in. {rows}
- **Choice of a layer.** Which layer aligns source and target best differs from model to model, and
  it need not be the last. A picture chosen because it looks right shows what was looked for.
- **Parking.** Much of BERT's weight is on the token that separates its texts, it seems where a head
  has nothing to do (Clark et al. 2019, section 3.2). {parking} Such weight does not make these
  tokens matter.
- **Averages over heads.** Heads of one layer do different things; their mean shows none of them.
- **Hatched cells.** They are forbidden: a decoder row may not look at tokens still to come. A pale
  cell could have had weight and has almost none, which is a finding; a hatched one is not.
- **Whole words.** The weights of a word's keys are added, and the rows of its queries averaged
  (Clark et al. 2019, section 4.1). Single tokens may differ a good deal within a word.
- **Hidden special tokens.** With their columns gone, rows add up to less than 1. Dividing by what
  is left makes rows comparable, and blows up rows that had little left.
- **Alignments.** Lines between words are weights, not a dictionary: a strong one can join words
  that do not translate each other, and a right pair can have none.
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
"""Titles and their numbers on arXiv, by alphabet."""


def introduction() -> str:
    """The introduction, with what holds of the model that is open.

    What is not known of it is not said.
    """
    rows = parking = ""
    with contextlib.suppress(CheckpointError, DeviceError):
        question = subject()
        # Of another kind of model, and of a trace, there are no examples.
        if question.facts is None and question.trace is None:
            rows = alignment_note(session.read_later(question.checkpoint))
            parking = parking_note(session.resting(question.checkpoint))
    return INTRODUCTION.format(rows=rows, parking=parking)


def subject() -> session.Question:
    """What was asked last, or else the model in the address, or the one that the app opens with.

    Raises:
        CheckpointError: if there is no model, or its configuration is damaged.
    """
    question = bar.opened()
    if question is not None:
        return question
    # Names are looked up, and never made into a path.
    found = model_menu.openables()
    named = found.get(address.asked().get(CHECKPOINT.name, ""))
    if named is None or named.kind is model_menu.Kind.TRACE:
        return session.Question(next(iter(model_menu.checkpoints().values())), "")
    is_reader = named.kind is model_menu.Kind.READER
    return session.Question(named.path, "", facts=reader_facts(named.path) if is_reader else None)


def parking_note(counts: Mapping[str, tuple[int, int]]) -> str:
    """How many heads of a model rest on a token that means little; `counts` of `measures.resting`.

    Empty where no head could be told.
    """
    names = {"end": "`</s>`", "start": "`<s>`", "punctuation": "punctuation"}
    parts = [
        f"{names[key]} in {most} of {count_of(told, 'head')}"
        for key in names
        for most, told in [counts.get(key, (0, 0))]
        if told
    ]
    if not parts:
        return ""
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
    return f"Here, over this model's examples, more than half of the weight is on {listed}."


def label_rules() -> str:
    """The thresholds of `model.explain.labels` as Markdown, so that page and code cannot differ."""
    rules = "\n".join(f"- *{rule.text}*: {rule.needs}" for rule in labels.RULES)
    return f"""
## How a head earns a label

{survey_note()}A label is earned on {labels.MIN_SENTENCES} sentences that are none of the model's
examples. The mean over these sentences must reach the threshold, and so must
{labels.MIN_PASSING:.0%} of the sentences one by one. Both must hold for new sentences too, so the
lower end of each {labels.CONFIDENCE:.0%} interval counts (Wilson's interval for the share of
sentences). A sentence counts where it can tell: it has {MIN_TOKENS} tokens or more, and chance
alone would not give a head as much weight. The first label that fits is given:

{rules}

A head may earn none; it has a line with a number instead. On a single sentence the head may do
otherwise. The source of a token is found without any weight: it is the source token without which
the model finds this token least likely. Beyond chance means less what the head's rows would give in
any other order, on average.

## Which head opens

Each kind of attention opens with the head that says most. Heads whose label says which tokens
belong together come before those that rest on one place. Among them, or among all where no head has
such a label, it is the one with the most weight on its tokens' sources beyond chance; in
self-attention, and where no source is known, the one whose rows tell most about the token they look
at: the largest mutual information of row and token. Both are means over the sentences of the
labels; a model without labels is judged by the sentence shown.
"""


def survey_note() -> str:
    """What the labels of the open model rest on, in one sentence; empty where it has none."""
    with contextlib.suppress(CheckpointError, DeviceError):
        question = subject()
        if question.trace is None or question.facts is not None:
            found = session.survey(question.checkpoint)
            if found is not None:
                sample = found.sample
                count = len(found.earned)
                return (
                    f"{count or 'None'} of the {found.n_heads} heads of "
                    f"{escape_markdown(visible(question.folder.name))} "
                    f"{'earns' if count <= 1 else 'earn'} a label, measured on "
                    f"{sample.sentences:,} sentences ({escape_markdown(visible(sample.data))}; "
                    f"licence: {escape_markdown(visible(sample.licence))}).\n\n"
                )
    return ""


def model_facts(model: Translator) -> str:
    """What is known of a checkpoint: its shape and, as far as recorded, its training and scores."""
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
                f"{percent(exact, 1)} of {sentences:,.0f} inputs that training never saw come out "
                "exactly right. More is in card.md, beside its weights."
            )
        bleu, chrf, sentences = (number(tested.get(name)) for name in ("bleu", "chrf", "sentences"))
        if bleu is not None and chrf is not None and sentences is not None:
            lines.append(
                f"BLEU {bleu:.1f} and chrF {chrf:.1f} on {sentences:,.0f} test sentences"
                + (f" ({escape_markdown(tested['data'])})" if text_in(tested, "data") else "")
                + ". More is in card.md, beside its weights."
            )
        lines += _nearness(tested)
    return "\n".join(f"- {line}" for line in lines)


def _training(metrics: Mapping[str, Any]) -> list[str]:
    """How long it was trained, over all runs; nothing where one of them does not say."""
    runs = training_runs(metrics) or []
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    if not steps or not tokens:
        return []
    earlier = sum(run["steps"] for run in runs[:-1])
    including = f", including {earlier:,} steps of earlier training" if earlier else ""
    return [f"Trained for {steps:,} steps on {tokens / 1e6:.1f} million target tokens{including}."]


def _nearness(tested: dict[str, Any]) -> list[str]:
    """How much better the test sentences come out that training nearly held."""
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
        f"{near:,.0f} of them differ from a training sentence by at most one word, put in, left "
        f"out or replaced: BLEU is {near_bleu:.1f} on these and {far_bleu:.1f} on the other "
        f"{far:,.0f}, which tell more of how it does on a new text."
    ]


def number(value: Any) -> float | None:
    """A number from a file that anybody may have written, or None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def text_in(record: dict[str, Any], name: str) -> bool:
    return isinstance(record.get(name), str)


def folder_facts(name: str, facts: FolderFacts) -> str:
    """What the folder of a model of Hugging Face's, or of half a Transformer, says, as Markdown."""
    held = facts.architecture
    if facts.model_type:
        named = escape_markdown(visible(facts.architecture or "a model"))
        family = escape_markdown(visible(facts.model_type))
        held = f"a Hugging Face folder with {named} of the family {family}"
    lines = [
        "## The model",
        "",
        f"{escape_markdown(visible(name))} is {held}. Its configuration says:",
        "",
    ]
    sizes = [f"- {escape_markdown(visible(size))}: {number:,}" for size, number in facts.sizes]
    return "\n".join([*lines, *(sizes or ["- nothing of its sizes"])])


def show_model() -> None:
    """The model, or the trace, that is open."""
    try:
        question = subject()
        if question.facts is not None:
            st.markdown(folder_facts(question.checkpoint.name, question.facts))
        elif question.trace is not None:
            named = escape_markdown(visible(question.checkpoint.name))
            lines = [f"{named}: {shape_of(question.trace)}.", *contents_of(question.trace)]
            st.markdown("\n".join(["## The trace", "", *(f"- {line}" for line in lines)]))
        else:
            st.markdown(f"## The model\n\n{model_facts(session.translator(question.folder))}")
    except (CheckpointError, DeviceError) as error:
        st.markdown("## The model")
        st.error(escape_markdown(str(error)), icon=":material/error:")


def show() -> None:
    """The whole page."""
    if stage.is_on():
        stage.say("What the pictures can and cannot tell")
        stage.offer("Up and down: scroll", scrolls=True)
        text = st.container(key="stage-text")
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
