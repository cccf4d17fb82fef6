"""The sentence bar: what is asked of which model, and what it answers, above every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.checkpoints.checkpoint import (
    CheckpointError,
    language_pair,
    snapshots,
    trained_without_causal_mask,
)
from model.explain.examples import Example
from model.serving.queue import ServiceError
from model.trace.attention_map import AttentionKind, TraceError
from model.trace.text_result import Answer, Purpose
from model.trace.translation import Translation
from model.training.toy_tasks import Task
from model.translate.devices import DeviceError
from model.translate.hf_folder import MASK
from model.translate.sentences import TextError
from model.translate.text_models import reader_facts
from model.translate.translator import Translator
from viz.draw import css
from viz.draw.labels import escape_html, escape_markdown, visible
from viz.draw.style import count_of, fixed, percent
from viz.heads.about_trace import input_text, shape_of
from viz.heads.view import HeadsView
from viz.links.parameters import Parameter, View, choice, write
from viz.masks.view import VIEW as MASKS
from viz.masks.view import MasksView
from viz.registry.pages import CHECKPOINT, HOME, SENTENCE, SHARED, STEP, TARGET, VIEWS
from viz.service import session
from viz.service.jobs import snapshot_of
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
from viz.shell import address, stage, uploaded_trace
from viz.shell.language import is_foreign

MAX_UNSEEN = 12
"""How many characters that the model never saw are named."""

LANGUAGES = {"de": "German", "en": "English", "fr": "French"}
"""What languages are called in the label of the sentence."""

TARGET_WIDTH, CHECKPOINT_WIDTH, STEP_WIDTH = 230, 285, 180
"""Pixels; the sentence takes what is left of the row."""

_ANSWERED, _OPENED = "_answered", "_opened"

_SUITED, _WRITTEN = "_suited", "_written"
"""The model for which the sentence was last looked at, and what is shown as its translation."""


def opened() -> session.Question | None:
    """What the last bar asked, also where its page could not show it."""
    question: session.Question | None = st.session_state.get(_OPENED)
    return question


def ask(view: View) -> session.Question | None:
    """Show the bar and the translation, and give what is asked; None if the page cannot show it.

    What is wrong then stands in the bar in a sentence. Where it is the text, pages go on showing
    the question before, dimmed, if it was asked of the same model; else they show nothing.

    Args:
        view: the page's, which may be one that nothing but a model can be shown on.
    """
    st.session_state[_OPENED] = None
    # Close together: what lies below has to fit on the same screen.
    with st.container(gap="xxsmall", key="asked"):
        question = st.session_state[_OPENED] = _show_bar()
        if question is None or not view.without_model:
            return question
        if question.trace is not None:
            _lead_to_heads(question, view)
            return None
        if not stage.is_on():
            _name_of_texts(question)
        return question


def _name_of_texts(question: session.Question) -> None:
    """Say what pages that are made for translations call a toy's texts."""
    if toy_task(question.folder) is not None:
        st.caption(
            "Below, what the toy reads is called the sentence, and what it writes the translation."
        )


def _lead_to_heads(question: session.Question, view: View) -> None:
    """Say that the page cannot show what is opened, and which one does."""
    name = escape_markdown(visible(question.checkpoint.name))
    if question.facts is None:
        why = (
            f"cannot be shown without a model to run, and {name} is a trace, which holds what a "
            "model did once"
        )
    elif question.facts.model_type:
        why = f"can be shown of Headscope's own models alone, and {name} is a Hugging Face folder"
    else:
        why = (
            f"can be shown only of a model with both an encoder and a decoder, and {name} is "
            f"{question.facts.architecture}"
        )
    st.info(f"{view.without_model} {why}; the heads page shows it.", icon=":material/info:")
    st.button(
        "Show its heads",
        key="show-heads",
        icon=VIEWS[HOME].icon,
        on_click=_show_heads,
    )


def _show_heads() -> None:
    """Go to the heads page, to the head that was seen last."""
    _, query = address.current()
    shared = {each.name: query[each.name] for each in SHARED if each.name in query}
    seen = asdict(address.last(HeadsView))
    address.navigate("", shared | write(seen, VIEWS[HOME].parameters))


def _show_bar() -> session.Question | None:
    try:
        found = openables(uploaded_trace.name())
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    _open(list(found))
    chosen = found[st.session_state["checkpoint"]]
    # Listed once, so that a file that comes or goes meanwhile changes nothing halfway.
    steps = snapshots(chosen.path) if chosen.kind is Kind.CHECKPOINT else ()
    _open_step(steps)
    if chosen.kind is Kind.TRACE:
        return _show_trace(found, chosen)
    folder = chosen.path
    if chosen.kind is Kind.READER:
        return _show_reader(found, folder)
    _suit(folder)
    if stage.is_on():
        _offer_steps(steps)
    else:
        with _row():
            _show_controls(found, folder, steps)
    question = _question(folder, steps)
    try:
        _answer(question, steps)
    except (CheckpointError, DeviceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    except TextError as error:
        st.warning(escape_markdown(str(error)), icon=":material/edit:")
        return _answered_before(question, steps)
    except ServiceError as error:
        session.show_refusal(error)
        return _answered_before(question, steps)
    st.session_state[_ANSWERED] = question
    return question


def _suit(folder: Path) -> None:
    """Ask of a newly chosen model what it can read; what a link asks for stays.

    That is what was asked of the model before, if it is of that language or task; the translation
    of it, where the new model leads the way back; else the usual sentence, or an example.
    """
    before: Path | None = st.session_state.get(_SUITED)
    st.session_state[_SUITED] = folder
    if before == folder or (address.is_followed() and SENTENCE.name in address.asked()):
        return
    sentence, task, pair = (
        st.session_state["sentence"],
        toy_task(folder),
        language_pair(folder.name),
    )
    left = toy_task(before) if before else None
    came = language_pair(before.name) if before else ("", "")
    # The letters of a toy may pass for a text of any language.
    of_toy = task is None and left is not None and left.can_read(sentence)
    if not of_toy and (reads(folder, sentence) or (pair[0] and pair[0] == came[0])):
        return
    written = st.session_state.get(_WRITTEN, "")
    if written and pair[0] and came == pair[::-1]:
        address.change(sentence=written, target="")
    elif task is None and reads(folder, SENTENCE.default):
        address.change(sentence=SENTENCE.default, target="")
    elif found := session.examples(folder):
        address.change(sentence=found[0].source, target="")


def reads(folder: Path, sentence: str) -> bool:
    """Whether a sentence is of the task, or in the language, that a model has learned to read."""
    task = toy_task(folder)
    if task is not None:
        return task.can_read(sentence)
    return not is_foreign(sentence, language_pair(folder.name)[0])


def _row() -> DeltaGenerator:
    return st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key="sentence-bar"
    )


def _show_trace(found: Mapping[str, Openable], chosen: Openable) -> session.Question | None:
    """The bar of a saved trace: its own text, which nobody can change."""
    try:
        trace = uploaded_trace.trace() if chosen.is_dropped else session.saved_trace(chosen.path)
    except TraceError as error:
        trace, refusal = None, str(error)
    sentence = input_text(trace) if trace is not None else ""
    if not stage.is_on():
        with _row():
            st.session_state["trace-text"] = sentence
            st.text_input(
                "Text of the trace",
                address.value_of("trace-text"),
                key="trace-text",
                disabled=True,
                icon=":material/format_quote:",
            )
            st.toggle("Model", key="sentence-unfold")
            with st.container(horizontal=True, gap="small", key="sentence-more"):
                _offer_models(found)
    if trace is None:
        st.error(escape_markdown(refusal), icon=":material/error:")
        return None
    stage.name(sentence, trace.text, ("", ""))
    if not stage.is_on():
        facts = f"{escape_html(visible(chosen.path.name))}: {escape_html(shape_of(trace))}"
        # A paragraph of its own keeps the facts to the right.
        output = _large(trace.text, "") if trace.text else "<p></p>"
        st.html(
            f"<style>{css.ANSWER_CSS}</style>"
            f'<div class="answer">{output}<p class="model">{facts}<br>'
            "A saved trace: what a model did once</p></div>"
        )
    return session.Question(chosen.path, sentence, trace=trace)


def _show_reader(found: Mapping[str, Openable], folder: Path) -> session.Question | None:
    """The bar of a model that reads one text: what is typed, and what it makes of it."""
    is_toy = toy_task(folder) is not None
    if is_toy:
        _suit(folder)
    if not stage.is_on():
        with _row():
            st.text_input(
                "Input" if is_toy else "Text",
                address.value_of("sentence"),
                key="sentence",
                icon=":material/toys:" if is_toy else ":material/edit:",
                placeholder=f"Type {'an input' if is_toy else 'a text'} and press Enter",
            )
            _offer_examples(folder)
            st.toggle("Model", key="sentence-unfold")
            with st.container(horizontal=True, gap="small", key="sentence-more"):
                _offer_models(found)
    question = session.Question(folder, st.session_state["sentence"])
    try:
        question = replace(question, facts=reader_facts(folder))
        question = _answer_reader(question)
    except (CheckpointError, DeviceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    except TextError as error:
        st.warning(escape_markdown(str(error)), icon=":material/edit:")
        return _answered_before(question, ())
    except ServiceError as error:
        session.show_refusal(error)
        return _answered_before(question, ())
    st.session_state[_ANSWERED] = question
    return question


def _answer_reader(question: session.Question) -> session.Question:
    """Show what a model made of the text that it read, and give the question with its trace.

    Raises:
        CheckpointError, ServiceError, TextError: as `session.answer`.
    """
    assert question.facts is not None
    timed = session.answer(question.checkpoint, question.sentence)
    answer, trace = timed.answer, timed.answer.trace
    stage.name(question.sentence, trace.text, ("", ""))
    if not stage.is_on():
        named = question.facts.architecture or question.facts.model_type
        kind = f"{visible(named)} of transformers" if question.facts.model_type else named
        facts = (
            f"{escape_html(kind[:1].upper() + kind[1:])}: {_millions(answer.n_parameters)} "
            f"parameters, {escape_html(shape_of(trace))}<br>"
            f"{answer.device.upper()} · {_done(answer)} in {timed.seconds:.2f} s"
        )
        # A paragraph of its own keeps the facts to the right.
        output = _large(trace.text, "") if trace.text else "<p></p>"
        st.html(
            f"<style>{css.ANSWER_CSS}</style>"
            f'<div class="answer"><div>{output}{_fills(answer)}</div>'
            f'<p class="model">{facts}</p></div>'
        )
        if answer.purpose is Purpose.TRANSLATE and not answer.finished:
            st.warning(
                "The text was cut: the model did not end it within the length it is allowed.",
                icon=":material/content_cut:",
            )
        if (task := toy_task(question.folder)) is not None:
            st.caption(escape_markdown(f"This toy {task.does}. {task.look_alone}"))
            _show_unreadable(task, question.sentence)
    return replace(question, trace=trace)


def _millions(number: int) -> str:
    return f"{number / 1e6:,.1f} million" if number >= 1e5 else f"{number:,}"


def _done(answer: Answer) -> str:
    match answer.purpose:
        case Purpose.TRANSLATE:
            return "written"
        case Purpose.CONTINUE:
            return f"{count_of(answer.n_written, 'token')} written on"
        case Purpose.FILL if answer.fills:
            return "filled in"
        case Purpose.LABEL:
            return "answered"
        case Purpose.FILL:
            return f"write {MASK} for a gap to be filled · read"
        case _:
            return "read"


def _fills(answer: Answer) -> str:
    """The likeliest tokens of each gap as HTML."""
    lines = []
    for number, fills in enumerate(answer.fills, 1):
        words = ", ".join(f"{_shown(word)} {percent(share)}" for word, share in fills)
        gap = f"Gap {number}" if len(answer.fills) > 1 else "The gap"
        lines.append(f"<div>{gap}: {words}</div>")
    return "".join(lines)


def _answered_before(refused: session.Question, steps: Sequence[int]) -> session.Question | None:
    """Show again, dimmed, what the same model answered last; None if it answered nothing yet."""
    before: session.Question | None = st.session_state.get(_ANSWERED)
    if before is None or before.checkpoint != refused.checkpoint:
        return None
    said = escape_markdown(" ".join(visible(before.sentence).split()))
    st.info(
        f"What is dimmed below belongs to the sentence before: “{said}”", icon=":material/history:"
    )
    st.html(css.STALE_STAGE_CSS if stage.is_on() else css.STALE_CSS)
    with st.container(gap="xxsmall", key="answered-before"):
        if before.facts is None:
            _answer(before, steps)
        else:
            _answer_reader(before)
    return before


def _question(folder: Path, steps: Sequence[int]) -> session.Question:
    sentence, target = st.session_state["sentence"], st.session_state["target"].strip()
    if not steps:
        return session.Question(folder, sentence, target)
    step = st.session_state["step"]
    return session.Question(snapshot_of(folder, step), sentence, target, steps.index(step))


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
    if st.session_state["checkpoint"] not in names:
        st.session_state["checkpoint"] = names[0]


def _named(written: str, names: Sequence[str]) -> str:
    """The name itself, if there is something of that name to open."""
    if written == DROPPED and written not in names:
        raise ValueError("and a dropped file is open where it was dropped alone; drop it again")
    if written.endswith(TRACE_SUFFIX) and written not in names:
        raise ValueError(f"and no folder in {TRACES_VARIABLE} holds a trace of that name")
    return choice(CHECKPOINT.name, names[0], names).parse(written)


def _open_step(steps: Sequence[int]) -> None:
    """Let the step of training that is shown be one of these; the last, unless asked otherwise."""
    address.open_address([_step_parameter(steps)])
    # Another model was chosen, or a snapshot has gone.
    if st.session_state["step"] not in steps:
        st.session_state["step"] = steps[-1] if steps else None


def _step_parameter(steps: Sequence[int]) -> Parameter[Any]:
    if steps:
        return choice(STEP.name, steps[-1], steps)

    def refuse(written: str) -> NoReturn:
        raise ValueError("and this model came without snapshots of its training")

    return replace(STEP, parse=refuse, write=lambda value: "")


def _offer_models(found: Mapping[str, Openable]) -> None:
    """The menu of what can be opened, and what opens a file that is not in it."""
    offered = list(found)
    chosen = address.value_of("checkpoint")
    described = description(found[chosen])
    st.selectbox(
        "Model",
        offered,
        offered.index(address.value_of("checkpoint")),
        key="checkpoint",
        format_func=titles(found).__getitem__,
        help=escape_markdown(f"{chosen}: {described}") if described else None,
        width=CHECKPOINT_WIDTH,
    )
    uploaded_trace.offer()


def _show_controls(found: Mapping[str, Openable], checkpoint: Path, steps: Sequence[int]) -> None:
    """The row of fields."""
    source_language, _ = language_pair(checkpoint.name)
    is_toy = toy_task(checkpoint) is not None
    sentence = f"{LANGUAGES.get(source_language, '')} sentence".strip().capitalize()
    st.text_input(
        "Input" if is_toy else sentence,
        address.value_of("sentence"),
        key="sentence",
        icon=":material/toys:" if is_toy else ":material/translate:",
        placeholder="Type an input and press Enter"
        if is_toy
        else "Type a sentence and press Enter",
    )
    _offer_examples(checkpoint)
    st.toggle(
        "Target and model",
        key="sentence-unfold",
    )
    with st.container(horizontal=True, gap="small", key="sentence-more"):
        st.text_input(
            "Target" if is_toy else "Target sentence",
            address.value_of("target"),
            key="target",
            placeholder=f"the model's own {'output' if is_toy else 'translation'}",
            help="What would the attention be if the model had said this? Type any "
            f"{'output' if is_toy else 'translation'} and press Enter; leave it empty for the "
            "model's own.",
            width=TARGET_WIDTH,
        )
        _offer_models(found)
        # A slider needs two ends.
        if len(steps) > 1:
            st.select_slider(
                "Training step",
                steps,
                address.value_of("step"),
                key="step",
                format_func=_thousands,
                help="The weights as they were after so many steps of training; at 0 they are "
                "random.",
                width=STEP_WIDTH,
            )


def _offer_examples(folder: Path) -> None:
    if examples := session.examples(folder):
        st.menu_button(
            "Examples",
            examples,
            key="example",
            icon=":material/format_list_bulleted:",
            format_func=_example_label,
            on_click=_take_example,
            # It cannot write them by itself.
            kwargs={"given": copies(folder)},
        )


def _offer_steps(steps: Sequence[int]) -> None:
    """Let keys move through the training on a stage, where the bar is not shown."""
    if len(steps) > 1:
        step = stage.Step("step", steps, st.session_state["step"])
        stage.offer("[ and ]: training step", training=step)


def _example_label(example: Example) -> str:
    return f"**{escape_markdown(example.source)}** {escape_markdown(example.shows)}"


def _take_example(*, given: bool) -> None:
    """Ask for an example, with its translation `given` as the target or without."""
    example: Example | None = st.session_state["example"]
    if example is not None:
        st.session_state["sentence"] = example.source
        st.session_state["target"] = example.translation if given else ""


def _answer(question: session.Question, steps: Sequence[int]) -> None:
    """Translate and show it, with what there is to say against it.

    Raises:
        CheckpointError, DeviceError, ServiceError, TextError: as `session.trace`.
    """
    model = session.translator(question.checkpoint)
    timed = session.translate(question.checkpoint, question.sentence)
    own = timed.translation
    st.session_state[_WRITTEN] = question.target or own.text
    task = toy_task(question.folder)
    source_language, language = language_pair(question.folder.name)
    stage.name(question.sentence, question.target or own.text, (source_language, language))
    if question.target:
        log_probs = session.trace(question.checkpoint, question.sentence, question.target).log_probs
        assert log_probs is not None, "every trace of a translator holds them"
        typed = fixed(float(log_probs.mean()), 2)
        usual = fixed(fmean(own.log_probs), 2)
        shown = (
            f"<div>{_large(question.target, language)}<div>You typed this target; its mean "
            f"log-probability is {typed} a token (0 would be certain). The model's own "
            f"{'translation' if task is None else 'output'} has {usual}: "
            f"<b {_marks(language)}>{_shown(own.text)}</b></div></div>"
        )
    else:
        shown = _large(own.text, language)
    if stage.is_on():
        if question.snapshot is not None:
            stage.add(_told(question.snapshot, steps))
        return
    config = model.model.config
    training = "" if question.snapshot is None else _training(model, question.snapshot, steps)
    facts = (
        f"{model.n_parameters / 1e6:.1f} million parameters in {config.n_encoder_layers} encoder "
        f"and {count_of(config.n_decoder_layers, 'decoder layer')} of "
        f"{count_of(config.n_heads, 'head')}<br>"
        f"{training}{timed.device.upper()} · "
        f"{'translated' if task is None else 'answered'} in {timed.seconds:.2f} s"
    )
    st.html(
        f"<style>{css.ANSWER_CSS}</style>"
        f'<div class="answer">{shown}<p class="model">{facts}</p></div>'
    )
    if task is not None:
        st.caption(escape_markdown(f"This toy {task.does}. {task.look}"))
    if copies(question.folder):
        _show_cheat()
    _show_warnings(own, question.target, model, source_language, task)


def _show_cheat() -> None:
    """What is to be known of a model that was trained without the causal mask."""
    told, offered = st.columns((6, 1), vertical_alignment="center")
    told.caption(
        "Trained without the decoder's causal mask, this model could see each answer, so it "
        "learned to copy and cannot translate. Its examples bring their "
        "translation as the target."
    )
    offered.button(
        "Lift the mask",
        key="lift-mask",
        width="stretch",
        help="Compares, on the masks page, what the model does with its mask and without one.",
        on_click=_lift_mask,
    )


def _lift_mask() -> None:
    """Go to the masks page, where the decoder's mask is compared with none."""
    _, query = address.current()
    shared = {each.name: query[each.name] for each in SHARED if each.name in query}
    decoder = str(AttentionKind.DECODER)
    shown = replace(address.last(MasksView), number=1, part="compare", masked=decoder, a="", b="")
    address.navigate(MASKS.name, shared | write(asdict(shown), MASKS.parameters))


def _training(model: Translator, snapshot: int, steps: Sequence[int]) -> str:
    """How far the training of a snapshot had come, for the line of facts."""
    step = steps[snapshot]
    told = _told(snapshot, steps)
    bleu = _recorded(model.metrics, step, "bleu")
    return f"{told} · " if bleu is None else f"{told}, BLEU {bleu:.1f} on validation sentences · "


def _told(snapshot: int, steps: Sequence[int]) -> str:
    return f"after {_thousands(steps[snapshot])} of {_thousands(steps[-1])} steps"


def _recorded(metrics: dict[str, Any], step: int, name: str) -> float | None:
    """What metrics.json, which anybody may have written, says of a snapshot; None for nothing."""
    listed = metrics.get("snapshots")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("step") == step:
            value = entry.get(name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return value if is_number else None
    return None


def _thousands(step: int) -> str:
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
            f"This toy reads {task.reads}, and nothing else. What it makes of another text, and "
            "where its heads look then, does not show what it has learned."
        ),
        icon=":material/toys:",
    )
    return True


def _show_warnings(
    translation: Translation, target: str, model: Translator, language: str, task: Task | None
) -> None:
    if task is not None and _show_unreadable(task, translation.source_text):
        return
    # One that copies is said to write nothing already.
    if not translation.text and not trained_without_causal_mask(model.metrics):
        st.warning("The model gave no words for this sentence.", icon=":material/warning:")
    if not translation.finished:
        written = "translation" if task is None else "output"
        st.warning(
            f"The {written} was cut: the model did not end it within the length it is allowed.",
            icon=":material/content_cut:",
        )
    unseen = dict.fromkeys([*translation.unseen, *model.tokenizer.target.unseen_characters(target)])
    if unseen:
        # Each kept to itself, or letters that run to the left would change places.
        listed = ", ".join(
            f"“\u2068{escape_markdown(character)}\u2069”" for character in [*unseen][:MAX_UNSEEN]
        )
        more = f" and {len(unseen) - MAX_UNSEEN} more" if len(unseen) > MAX_UNSEEN else ""
        st.warning(
            f"{model.never_saw('these')} and reads them byte by byte: {listed}{more}.",
            icon=":material/warning:",
        )
    if language in LANGUAGES and is_foreign(translation.source_text, language):
        st.warning(
            f"This does not look like {LANGUAGES[language]}, the one language that this model "
            "learned to read. It writes something all the same, but neither that nor where its "
            "heads look shows what it has learned.",
            icon=":material/translate:",
        )
