"""The sentence bar: what is asked of which model, and what it answers, above every figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.checkpoints.checkpoint import language_pair, snapshots
from model.checkpoints.shipped import CheckpointError
from model.explain.examples import Example
from model.serving.queue import ServiceError
from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.text_models import reader_facts
from viz.browser.kept import Kept, nothing
from viz.draw import css
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown, visible
from viz.heads.about_trace import input_text
from viz.heads.standalone import drawable
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.parameters import Parameter, View, choice
from viz.registry.pages import CHECKPOINT, SENTENCE, STEP, TARGET
from viz.registry.sentences import USUAL
from viz.service import session
from viz.service.jobs.running import read
from viz.service.model_menu import (
    DROPPED,
    TRACE_SUFFIX,
    TRACES_VARIABLE,
    Kind,
    Openable,
    copies,
    description,
    openables,
    titles,
    toy_task,
)
from viz.service.questions import ModelQuestion, Question, ReaderQuestion, TraceQuestion
from viz.service.versions import snapshot_of, version_of
from viz.shell import address, inquiry_field, opening, stage, uploaded_trace
from viz.shell.answer import WRITTEN, offer_example, show_answer, thousands
from viz.shell.language import LANGUAGES, is_foreign

DIMMED = "The dimmed part below still shows the previous sentence"

TOYS_WORDS = "On this page, “sentence” means the toy's input and “translation” its output."

STEP_WIDTH, FIELD, MOST_FIELD = 180, 220, 560
"""Pixels: of the training's slider, and of the sentence at least, up to a long one."""

KEYS = Keys("bar")

_ANSWERED: Kept[tuple[Path | None, Question | None]] = Kept(KEYS("answered"), lambda: (None, None))
_OPENED: Kept[Question | None] = Kept(KEYS("opened"), nothing)
"""The question answered last, with its checkpoint; and what the last bar asked."""

_SUITED: Kept[Path | None] = Kept(KEYS("suited"), nothing)
"""The model for which the sentence was last checked."""

_FACTS: Kept[DeltaGenerator | None] = Kept(KEYS("facts"), nothing)
"""Where the model's menu says what ran; nowhere on a stage."""


EXAMPLES, TRACE = KEYS("examples"), KEYS("trace")


def opened() -> Question | None:
    """What the last bar asked, also where its page could not show it."""
    return _OPENED.value


def ask(view: View) -> Question | None:
    """Show the bar and the answer; give what is asked, or None if the page cannot show it.

    What is wrong then stands in the bar in a sentence. Where it is the text, pages go on showing
    the question before, dimmed, if it was asked of the same model; else they show nothing.

    Args:
        view: the page's, which may need a model to run.
    """
    _OPENED.value = None
    # The translation stands beside the sentence where both fit, else below it.
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=KEYS("asked")):
        question = _OPENED.value = _show_bar(view)
        if question is None or not view.without_model:
            return question
        if not isinstance(question, ModelQuestion):
            _lead_to_heads(question, view)
            return None
        if _FACTS.value is not None and toy_task(question.folder) is not None:
            _FACTS.value.caption(TOYS_WORDS)
        return question


def _lead_to_heads(question: ReaderQuestion | TraceQuestion, view: View) -> None:
    """Say that the page cannot show what is opened, and which one does."""
    if isinstance(question, TraceQuestion):
        why = "is a saved trace, without a model to run"
    elif question.facts.model_type:
        why = "is a Hugging Face model, and this page needs one of Headscope's own"
    else:
        why = f"is {question.facts.architecture}, and this page needs an encoder and a decoder"
    name = escape_markdown(visible(question.name))
    st.info(
        f"{view.without_model} cannot be shown here: {name} {why}. The heads page shows it.",
        icon=":material/info:",
    )
    st.button(
        "Show its heads",
        key=KEYS("show-heads"),
        icon=HEADS.icon,
        on_click=lambda: address.open_view(HEADS, address.last(HeadsView)),
    )


def _show_bar(view: View) -> Question | None:
    try:
        entries = openables(uploaded_trace.name())
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        inquiry_field.begin()
        return None
    _open(list(entries))
    entry = entries[_checkpoint()]
    # Listed once, so that a file that comes or goes meanwhile changes nothing halfway.
    steps = snapshots(entry.path) if entry.kind is Kind.CHECKPOINT else ()
    _open_step(steps)
    checkpoint = snapshot_of(entry.path, _step()) if steps else entry.path
    opening.take_translation_back(entry.path)
    is_new = _SUITED.value != entry.path
    if entry.kind is Kind.CHECKPOINT or (entry.kind is Kind.READER and toy_task(entry.path)):
        _suit(entry.path)
    if entry.kind is Kind.CHECKPOINT:
        if is_new:
            opening.bring_translation(entry.path)
        opening.bring_sentence(view, checkpoint)
    # Before the fields, one of which shows its text.
    trace = _read_trace(entry) if entry.kind is Kind.TRACE else None
    _FACTS.value = None
    if stage.is_on():
        _offer_steps(steps)
        inquiry_field.begin()
    else:
        offers = opening.offers(view, checkpoint) if entry.kind is Kind.CHECKPOINT else ()
        text = input_text(trace) if isinstance(trace, Trace) else ""
        _show_fields(
            entries, entry, steps, text, partial(_offer_examples, entry.path, view, offers)
        )
    try:
        question = _question(entry, checkpoint, steps, trace)
        show_answer(question, steps, _FACTS.value)
    except (CheckpointError, DeviceError, TraceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    except TextError as error:
        st.warning(escape_markdown(str(error)), icon=":material/edit:")
        if entry.kind is Kind.CHECKPOINT and address.now(SENTENCE).strip():
            offer_example(entry.path)
        return _answered_before(checkpoint, steps)
    except ServiceError as error:
        session.show_refusal(error)
        return _answered_before(checkpoint, steps)
    _ANSWERED.value = checkpoint, question
    return question


def _checkpoint() -> str:
    """The name of what is open."""
    name = address.now(CHECKPOINT)
    assert name is not None, "_open chose one"
    return name


def _step() -> int:
    """The step of training that is shown, of a model with snapshots."""
    step = address.now(STEP)
    assert step is not None, "_open_step chose one"
    return step


def _read_trace(entry: Openable) -> Trace | TraceError:
    """A saved trace, or what is wrong with it."""
    try:
        return uploaded_trace.trace() if entry.is_dropped else session.saved_trace(entry.path)
    except TraceError as error:
        return error


def _question(
    entry: Openable, checkpoint: Path, steps: Sequence[int], trace: Trace | TraceError | None
) -> Question:
    """What the bar asks; of a model that reads a text, with its answer.

    Raises:
        TraceError: if that is what `trace` is.
        CheckpointError, DeviceError, ServiceError, TextError: as `session.ask`.
    """
    if isinstance(trace, TraceError):
        raise trace
    if trace is not None:
        return TraceQuestion(entry.path, input_text(trace), trace)
    sentence = address.now(SENTENCE)
    if entry.kind is Kind.CHECKPOINT:
        snapshot = steps.index(_step()) if steps else None
        return ModelQuestion(checkpoint, sentence, address.now(TARGET).strip(), snapshot)
    facts = reader_facts(checkpoint)
    timed = session.ask(read(version_of(checkpoint), sentence))
    try:
        drawable(timed.answer.trace)
    except TraceError as error:
        raise TextError(str(error)) from None
    return ReaderQuestion(checkpoint, sentence, facts, timed)


def _answered_before(checkpoint: Path, steps: Sequence[int]) -> Question | None:
    """Show again, dimmed, what the same model answered last; None if it answered nothing yet."""
    of, question = _ANSWERED.value
    if question is None or of != checkpoint:
        return None
    sentence = escape_markdown(" ".join(visible(question.sentence).split()))
    st.info(f"{DIMMED}: “{sentence}”", icon=":material/history:")
    st.html(css.STALE_STAGE_CSS if stage.is_on() else css.STALE_CSS)
    with st.container(gap="xxsmall", width="content", key=KEYS("before")):
        # A warning would seem to be about the text in the field.
        show_answer(question, steps, _FACTS.value, warns=False)
    return question


def _suit(folder: Path) -> None:
    """Give a newly chosen model a sentence that it can read; what a link asks for stays.

    The sentence before stays if it is of the new model's language or task. Else comes its
    translation, where the new model translates the other way; else the usual sentence, or an
    example.
    """
    before, _SUITED.value = _SUITED.value, folder
    if before == folder or (address.is_followed() and SENTENCE.name in address.query()):
        return
    sentence, task, pair = (
        address.now(SENTENCE),
        toy_task(folder),
        language_pair(folder.name),
    )
    left = toy_task(before) if before else None
    came = language_pair(before.name) if before else ("", "")
    # The letters of a toy may pass for a text of any language.
    of_toy = task is None and left is not None and left.can_read(sentence)
    if not of_toy and (reads(folder, sentence) or (pair[0] and pair[0] == came[0])):
        return
    written = WRITTEN.value
    if written and pair[0] and came == pair[::-1]:
        address.change(sentence=written, target="")
    elif task is None and reads(folder, SENTENCE.default):
        opening.bring(sentence=SENTENCE.default, target="")
    elif examples := session.examples(folder):
        opening.bring(sentence=examples[0].source, target="")
    elif pair[0] in USUAL:
        opening.bring(sentence=USUAL[pair[0]], target="")


def reads(folder: Path, sentence: str) -> bool:
    """Whether a sentence is of the task, or in the language, that a model has learned to read."""
    task = toy_task(folder)
    if task is not None:
        return task.can_read(sentence)
    return not is_foreign(sentence, language_pair(folder.name)[0])


# ---- the fields ----------------------------------------------------------------------------------


def _open(names: Sequence[str]) -> None:
    address.open_address(
        (
            SENTENCE,
            TARGET,
            # A name is looked up among the folders there are, and never made into a path.
            replace(choice(CHECKPOINT.name, names[0], names), parse=partial(_named, names=names)),
        )
    )
    # A folder may have gone since it was chosen.
    if _checkpoint() not in names:
        address.put(CHECKPOINT, names[0])


def _named(written: str, names: Sequence[str]) -> str:
    """The name itself, if there is something of that name to open."""
    if written == DROPPED and written not in names:
        raise ValueError(
            "and a dropped file opens only in the window it was dropped into; drop it again"
        )
    if written.endswith(TRACE_SUFFIX) and written not in names:
        raise ValueError(f"and no folder in {TRACES_VARIABLE} has a trace of that name")
    return choice(CHECKPOINT.name, names[0], names).parse(written)


def _open_step(steps: Sequence[int]) -> None:
    """Let the step of training that is shown be one of these; the last, unless asked otherwise."""
    address.open_address([_step_parameter(steps)])
    # Another model was chosen, or a snapshot has gone.
    if address.now(STEP) not in steps:
        address.put(STEP, steps[-1] if steps else None)


def _step_parameter(steps: Sequence[int]) -> Parameter[Any]:
    if steps:
        return choice(STEP.name, steps[-1], steps)

    def refuse(written: str) -> NoReturn:
        raise ValueError("and this model has no snapshots of its training")

    return replace(STEP, parse=refuse, write=lambda value: "")


def _show_fields(
    entries: Mapping[str, Openable],
    entry: Openable,
    steps: Sequence[int],
    trace_text: str,
    offer_examples: Callable[[], None],
) -> None:
    """The field of what is asked; at its end stand examples, the model, and Ask."""
    is_toy = entry.kind is not Kind.TRACE and toy_task(entry.path) is not None
    has_target = entry.kind is Kind.CHECKPOINT
    with st.container(
        horizontal=True, vertical_alignment="center", gap=None, wrap=False, key=KEYS("fields")
    ):
        if entry.kind is Kind.TRACE:
            st.session_state[TRACE] = trace_text
            st.text_input(
                "Text of the trace",
                address.value_of(TRACE),
                key=TRACE,
                disabled=True,
                label_visibility="collapsed",
                width=_width(trace_text),
            )
        else:
            label, what = "Text", "a text"
            if is_toy:
                label, what = "Input", "an input"
            elif has_target:
                language = LANGUAGES.get(language_pair(entry.path.name)[0], "")
                label = f"{language} sentence".strip().capitalize()
                what = "a sentence"
            st.text_input(
                label,
                address.now(SENTENCE),
                key=SENTENCE.widget,
                label_visibility="collapsed",
                placeholder=f"Type {what} and press Enter",
                width=_width(address.now(SENTENCE)),
            )
            offer_examples()
        with st.popover(
            escape_markdown(titles(entries)[_checkpoint()]),
            type="tertiary",
            icon=":material/tune:",
            # Another key is another menu, which is closed: what was opened is below it.
            key=KEYS("model", uploaded_trace.turn()),
        ):
            _offer_models(entries)
            if has_target:
                _offer_target(is_toy)
            uploaded_trace.offer()
            facts = st.container(gap="xxsmall")
        inquiry_field.begin()
    _FACTS.value = facts
    if len(steps) > 1:
        _offer_training(steps)


def _width(sentence: str) -> int:
    """The least width of the field in pixels, enough for a sentence of usual length."""
    return min(max(FIELD, 30 + 8 * len(visible(sentence))), MOST_FIELD)


def _offer_training(steps: Sequence[int]) -> None:
    st.select_slider(
        "Training step",
        steps,
        _step(),
        key=STEP.widget,
        format_func=thousands,
        help="Shows the weights after this many training steps; at 0 they are random.",
        width=STEP_WIDTH,
    )


def _offer_target(is_toy: bool) -> None:
    written = "output" if is_toy else "translation"
    st.text_input(
        "Target" if is_toy else "Target sentence",
        address.now(TARGET),
        key=TARGET.widget,
        placeholder=f"the model's own {written}",
        help=f"What would the attention be if the model had said this? Type any {written} and "
        "press Enter; leave it empty for the model's own.",
    )


def _offer_models(entries: Mapping[str, Openable]) -> None:
    """The menu of what can be opened."""
    name = _checkpoint()
    described = description(entries[name])
    st.selectbox(
        "Model",
        list(entries),
        list(entries).index(name),
        key=CHECKPOINT.widget,
        format_func=titles(entries).__getitem__,
        help=escape_markdown(f"{name}: {described}") if described else None,
    )


def _offer_examples(folder: Path, view: View, offers: Sequence[opening.Offer]) -> None:
    """The menu of sentences: first those for the page's own experiment."""
    shown = {each.source for _, each in offers}
    others = [each for each in session.examples(folder) if each.source not in shown]
    if examples := [*offers, *others]:
        st.menu_button(
            "Examples",
            examples,
            key=EXAMPLES,
            type="tertiary",
            icon=":material/format_list_bulleted:",
            format_func=_example_label,
            on_click=_take_example,
            # It cannot write them by itself.
            kwargs={"view": view, "given": copies(folder)},
        )


def _offer_steps(steps: Sequence[int]) -> None:
    """Let keys move through the training on a stage, where the bar is not shown."""
    if len(steps) > 1:
        step = stage.Step(STEP.widget, steps, _step())
        stage.offer("[ and ]: training step", training=step)


def _example_label(example: Example | opening.Offer) -> str:
    shown = example[1] if isinstance(example, tuple) else example
    return f"**{escape_markdown(shown.source)}** {escape_markdown(shown.shows)}"


def _take_example(*, view: View, given: bool) -> None:
    """Ask for an example, with its translation `given` as the target or without."""
    example: Example | opening.Offer | None = st.session_state[EXAMPLES]
    if isinstance(example, tuple):
        opening.take(view, example)
    elif example is not None:
        address.put(SENTENCE, example.source)
        address.put(TARGET, example.translation if given else "")
