"""What a model answers, large, with what there is to say against it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.checkpoints.checkpoint import (
    language_pair,
    trained_without_causal_mask,
    well_read_tokens,
)
from model.checkpoints.toy_tasks import Task
from model.trace.attention_map import AttentionKind
from model.trace.text_result import Answer, Purpose
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.hf_model import MASK
from model.translate.translator import Translator
from viz.browser.kept import Kept
from viz.draw import css
from viz.draw.keys import Keys
from viz.draw.labels import character_name, escape_html, escape_markdown, visible
from viz.draw.style import count_of, fixed, percent
from viz.heads.about_trace import shape_of
from viz.masks.view import VIEW as MASKS
from viz.masks.view import MasksView
from viz.service import session
from viz.service.model_menu import checkpoints, copies, toy_task
from viz.service.questions import ModelQuestion, Question, ReaderQuestion, TraceQuestion
from viz.shell import address, stage
from viz.shell.headline import UNDERLINED, Headline, headline_of_trace
from viz.shell.language import LANGUAGES, is_foreign, language_of
from viz.shell.suited import beginnings, unsuited

MAX_UNSEEN = 12
"""How many characters that the vocabulary lacks are named."""

MOST_LABEL = 80
"""The most characters of a button that offers a text."""

KEYS = Keys("translation")

WRITTEN = Kept(KEYS("written"), str)
"""The translation that is shown."""


Slot = DeltaGenerator | None


def show_answer(
    question: Question, steps: Sequence[int], facts: Slot, *, warns: bool = True
) -> None:
    """Show what the model made of the text, and, if it warns, what there is to say against it.

    Args:
        steps: of training, of which the model has snapshots.
        facts: where to say what ran; None on a stage, which says nothing of it.
        warns: whether to say what speaks against it.

    Raises:
        CheckpointError, DeviceError, ServiceError, TextError: as `session.ask`.
    """
    match question:
        case ModelQuestion():
            _show_translation(question, steps, facts, warns=warns)
        case ReaderQuestion():
            _show_reading(question, facts)
        case TraceQuestion():
            trace = question.trace
            stage.name(question.sentence, trace.text, ("", ""))
            name = visible(question.name)
            said = f"{name}: {shape_of(trace)}. A saved trace: one run of a model"
            _show_html(_own_words(trace), headline_of_trace(trace.text, trace), facts, said)


def _show_html(output: str, words: Headline, facts: Slot, *said: str) -> None:
    """What was written, as HTML, and in their place lines on what wrote it; nothing on a stage."""
    if facts is None:
        return
    st.html(f'<style>{css.ANSWER_CSS}</style><div class="answer">{output}</div>')
    words.show()
    for line in [*said, *[UNDERLINED] * words.is_doubtful]:
        facts.caption(escape_markdown(line))


def _show_reading(question: ReaderQuestion, facts: Slot) -> None:
    answer, trace = question.timed.answer, question.trace
    stage.name(question.sentence, trace.text, ("", ""))
    if stage.is_on():
        return
    kind = question.facts.architecture or question.facts.model_type
    if question.facts.model_type:
        kind = f"{visible(kind)} of transformers"
    _show_html(
        f"<div>{_own_words(trace)}{_fills(answer)}</div>",
        headline_of_trace(trace.text, trace),
        facts,
        f"{kind[:1].upper() + kind[1:]}: {_millions(answer.n_parameters)} parameters, "
        f"{shape_of(trace)}",
        f"{answer.device.upper()} · {_done(answer)} in {question.timed.seconds:.2f} s",
    )
    if answer.purpose is Purpose.TRANSLATE and not answer.finished:
        _show_cut("text")
    if (task := toy_task(question.folder)) is not None:
        st.caption(escape_markdown(f"This toy {task.does}. {task.look_alone}"))
        _show_unreadable(task, question.sentence)


def _show_cut(written: str) -> None:
    st.warning(
        f"The {written} was cut off: the model did not end it within the length limit.",
        icon=":material/content_cut:",
    )


def _own_words(trace: Trace) -> str:
    """The text of a trace as HTML, large."""
    # A paragraph of its own keeps the facts to the right.
    return _large(trace.text, "") if trace.text else "<p></p>"


def _millions(number: int) -> str:
    return f"{number / 1e6:,.1f} million" if number >= 1e5 else f"{number:,}"


def _done(answer: Answer) -> str:
    match answer.purpose:
        case Purpose.TRANSLATE:
            return "written"
        case Purpose.CONTINUE:
            return f"continued by {count_of(answer.n_written, 'token')}"
        case Purpose.FILL if answer.fills:
            return "filled in"
        case Purpose.LABEL:
            return "answered"
        case _:
            return "read"


def _fills(answer: Answer) -> str:
    """The likeliest tokens of each gap as HTML, or how to ask for some."""
    if answer.purpose is Purpose.FILL and not answer.fills:
        return f"<div>Type {escape_html(MASK)} to have a gap filled.</div>"
    lines = []
    for number, fills in enumerate(answer.fills, 1):
        words = ", ".join(f"{_shown(word)} {percent(share)}" for word, share in fills)
        gap = f"Gap {number}" if len(answer.fills) > 1 else "The gap"
        lines.append(f"<div>{gap}: {words}</div>")
    return "".join(lines)


def _show_translation(
    question: ModelQuestion, steps: Sequence[int], facts: Slot, *, warns: bool
) -> None:
    model = session.translator(question.checkpoint)
    timed = session.ask(question.translate)
    own = timed.translation
    WRITTEN.value = question.target or own.text
    task = toy_task(question.folder)
    source_language, language = language_pair(question.folder.name)
    stage.name(question.sentence, question.target or own.text, (source_language, language))
    facts_of_target: list[str] = []
    if question.target:
        log_probs = session.ask(question.record).log_probs
        assert log_probs is not None, "every trace of a translator holds them"
        typed = fixed(float(log_probs.mean()), 2)
        usual = fixed(fmean(own.log_probs), 2)
        shown = _large(question.target, language)
        said = f"its mean log-probability is {typed} per token (0 would be certain)"
        if copies(question.folder):
            facts_of_target.append(f"The given translation: {said}; the model's own has {usual}.")
        else:
            shown = (
                f"<div>{shown}<div>You typed this target; {said}. The model's own "
                f"{'translation' if task is None else 'output'} has {usual}: "
                f"<b {_marks(language)}>{_shown(own.text)}</b></div></div>"
            )
    else:
        shown = _large(own.text, language)
    if stage.is_on():
        if question.snapshot is not None:
            stage.add(_progress(question.snapshot, steps))
        return
    config = model.model.config
    training = "" if question.snapshot is None else _training(model, question.snapshot, steps)
    _show_html(
        shown,
        headline_of_model(question),
        facts,
        f"{model.n_parameters / 1e6:.1f} million parameters, {config.n_encoder_layers} encoder and "
        f"{count_of(config.n_decoder_layers, 'decoder layer')} of "
        f"{count_of(config.n_heads, 'head')}",
        f"{training}{timed.device.upper()} · {timed.seconds:.2f} s",
        *facts_of_target,
    )
    if task is not None:
        st.caption(escape_markdown(f"This toy {task.does}. {task.look}"))
    if copies(question.folder):
        _show_cheat(question.target, own.text)
    if warns:
        _show_warnings(own, question.target, model, question.folder, task)


def headline_of_model(question: ModelQuestion) -> Headline:
    """The words of the translation, or of the target that a person typed."""
    trace = session.ask(question.record)
    return headline_of_trace(question.target or trace.text, trace)


def show_large(question: ModelQuestion) -> None:
    """The translation alone, large, as a stage shows it while it changes."""
    words = headline_of_model(question)
    _, language = language_pair(question.folder.name)
    large = _large(words.text, language)
    st.html(f'<style>{css.ANSWER_CSS}</style><div class="answer">{large}</div>')
    words.show()


def _show_cheat(given: str, own: str) -> None:
    """Say why a model that was trained without the causal mask cannot write."""
    why = "Trained without the decoder's causal mask, it saw each answer and learned to copy"
    if given:
        said = f"A given translation. {why}: by itself it writes {_quoted(own)}."
    else:
        said = f"{why}, so it cannot translate. Its examples bring a translation to copy."
    with st.container(horizontal=True, vertical_alignment="center", key=KEYS("cheat")):
        st.caption(escape_markdown(said))
        st.button(
            "Lift the mask",
            key=KEYS("lift-mask"),
            type="tertiary",
            help="Opens the masks page, which compares the model with and without its mask.",
            on_click=_lift_mask,
        )


def _quoted(text: str) -> str:
    return f"“{visible(text)}”" if text else "nothing"


def _lift_mask() -> None:
    """Go to the masks page, where the decoder's mask is compared with none."""
    decoder = str(AttentionKind.DECODER)
    view = replace(address.last(MasksView), number=1, part="compare", masked=decoder, a="", b="")
    address.open_view(MASKS, view)


def _training(model: Translator, snapshot: int, steps: Sequence[int]) -> str:
    """How far the training of a snapshot had come, for the line of facts."""
    step = steps[snapshot]
    progress = _progress(snapshot, steps)
    bleu = _recorded(model.metrics, step, "bleu")
    if bleu is None:
        return f"{progress} · "
    return f"{progress}, BLEU {bleu:.1f} on validation sentences · "


def _progress(snapshot: int, steps: Sequence[int]) -> str:
    return f"after {thousands(steps[snapshot])} of {thousands(steps[-1])} steps"


def _recorded(metrics: dict[str, Any], step: int, name: str) -> float | None:
    """What metrics.json, which anybody may have written, says of a snapshot; None for nothing."""
    listed = metrics.get("snapshots")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("step") == step:
            value = entry.get(name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return value if is_number else None
    return None


def thousands(step: int) -> str:
    """A number of steps as people write it."""
    return f"{step:,}"


def _large(text: str, language: str) -> str:
    """A translation as HTML, large."""
    size = css.translation_css(visible(text))
    if len(visible(text)) > css.FOLDED:
        return (
            f'<details style="{size}"><summary><span {_marks(language)}>{_shown(text)}</span>'
            "</summary></details>"
        )
    return f'<p {_marks(language)} style="{size}">{_shown(text)}</p>'


def _marks(language: str) -> str:
    return f'lang="{language}" dir="auto"' if language else 'dir="auto"'


def _shown(text: str) -> str:
    return escape_html(visible(text) or "∅")


def _show_unreadable(task: Task, text: str) -> bool:
    """Say what a toy reads, if the text is no such; whether it is none."""
    if task.can_read(text):
        return False
    st.warning(
        escape_markdown(
            f"This toy reads only {task.reads}. On other text, neither its answer nor its "
            "attention shows what it has learned."
        ),
        icon=":material/toys:",
    )
    return True


def _show_warnings(
    translation: Translation,
    target: str,
    model: Translator,
    folder: Path,
    task: Task | None,
) -> None:
    text, language = translation.source_text, language_pair(folder.name)[0]
    if task is not None and _show_unreadable(task, translation.source_text):
        return
    # Of one that copies, the caption says so already.
    if not translation.text and not trained_without_causal_mask(model.metrics):
        st.warning("The model wrote nothing for this sentence.", icon=":material/warning:")
    if not translation.finished:
        _show_cut("translation" if task is None else "output")
    wrong = None
    if task is None and language in LANGUAGES:
        wrong = unsuited(translation.source_text, language)
    # Markup is of no language, and its characters are not worth a warning.
    readable = wrong.text if wrong else text
    # A text in capitals is read in small letters.
    unread = [each for each in translation.unseen if each.lower() in readable.lower()]
    unseen = dict.fromkeys([*unread, *model.tokenizer.target.unseen_characters(target)])
    if unseen:
        # Each kept to itself, or letters that run to the left would change places.
        listed = ", ".join(
            f"“\u2068{escape_markdown(character_name(character))}\u2069”"
            for character in [*unseen][:MAX_UNSEEN]
        )
        how = "as unknown" if model.tokenizer.has_table else "byte by byte"
        more = f" and {len(unseen) - MAX_UNSEEN} more" if len(unseen) > MAX_UNSEEN else ""
        st.warning(
            f"{model.lacks('these')}; the model reads them {how}: {listed}{more}.",
            icon=":material/warning:",
        )
    if wrong is not None:
        st.warning(" ".join(wrong.says), icon=":material/spellcheck:")
        if wrong.text:
            offer(f"Translate “{wrong.text}”", sentence=wrong.text, target="")
        else:
            offer_example(folder)
    _show_long(translation, model)
    if language in LANGUAGES and is_foreign(readable, language):
        st.warning(
            f"This does not look like {LANGUAGES[language]}, the only language that this model "
            "learned to read. Neither its translation nor its attention shows what it has learned.",
            icon=":material/translate:",
        )
        _offer_reader(readable, folder)


def _show_long(translation: Translation, model: Translator) -> None:
    """Warn of several sentences longer than the model reads well, and offer those that fit."""
    limit, tokens = well_read_tokens(model.metrics), len(translation.source)
    if limit is None or tokens <= limit or not (starts := beginnings(translation.source_text)):
        return
    st.warning(
        f"This text has {tokens} tokens. Beyond about {limit}, this model translates several "
        "sentences worse than one by one.",
        icon=":material/segment:",
    )
    lengths = [len(each) for each in model.tokenizer.encode_all(starts)]
    if count := sum(length <= limit for length in lengths):
        first = "sentence" if count == 1 else f"{count} sentences"
        offer(f"Translate the first {first}", sentence=starts[count - 1], target="")


def _offer_reader(text: str, folder: Path) -> None:
    """Offer a model that reads the language of a text, or else an example of this one."""
    found = language_of(text)
    for name in checkpoints():
        if language_pair(name)[0] == found and not copies(checkpoints()[name]):
            offer(f"Translate it with {name}", checkpoint=name, target="")
            return
    offer_example(folder)


def offer_example(folder: Path) -> None:
    """Offer the first example of a model, if there is one."""
    if examples := session.examples(folder):
        offer(f"Try “{examples[0].source}”", sentence=examples[0].source, target="")


def offer(label: str, **values: str) -> None:
    """A button that asks something else: texts for fields of the sentence bar, by name."""
    shown = label if len(label) <= MOST_LABEL else f"{label[:MOST_LABEL]}…”"
    st.button(
        escape_markdown(visible(shown)),
        key=KEYS("offer", label),
        icon=":material/arrow_forward:",
        on_click=address.change,
        kwargs=values,
    )
