"""Two models on one sentence: the part of the comparing page that varies the model."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import language_pair, snapshots
from model.checkpoints.folder_files import CONFIG, own_file, read_json
from model.checkpoints.shipped import CheckpointError, checkpoint_name
from model.survey.nearest import matched as matched_places
from model.trace.attention_map import Site
from model.trace.head import Head
from model.trace.trace import Trace
from viz.compare.paired import PairedTraces, matched
from viz.compare.view import KEYS, CompareView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.pages.compare_heads import WRITTEN, heads_on_stage, show_heads
from viz.service import session
from viz.service.jobs.running import read, record
from viz.service.model_menu import checkpoints, copies, readers
from viz.service.questions import ModelQuestion
from viz.service.versions import snapshot_of, version_of
from viz.shell import address
from viz.shell.widgets import hint, menu

NO_MODEL = "There is no second model here. Add a folder to the models, then reload the page."


NO_HEADS = (
    "These two models share no kind of attention, so no head of one can be held beside one of the "
    "other."
)


def models(question: ModelQuestion) -> dict[str, str]:
    steps = snapshots(question.folder)
    shown = question.checkpoint
    own = {
        f"{question.folder.name}@{step}": f"{question.folder.name}, step {step:,}"
        for step in steps
        if snapshot_of(question.folder, step) != shown
    }
    others = {name: name for name in (*checkpoints(), *readers()) if name != question.folder.name}
    return own | others if steps else others | own


def choose_model(question: ModelQuestion) -> None:
    names = models(question)
    if not names:
        return
    wanted = address.read(CompareView).other_model
    if wanted not in names:
        if wanted:
            address.note("other_model", "There is no such second model; another one is shown.")
        address.change(other_model=usual_model(question, names))
    menu("Second model", names, key=KEYS("other_model"), hides_label=True, width=330)


def usual_model(question: ModelQuestion, names: dict[str, str]) -> str:
    """The model to begin with: for the same languages, of as many heads, and one that can write."""
    known = checkpoints()

    def unlike(name: str) -> tuple[bool, bool, bool]:
        if name not in known:
            return True, True, True
        folder = known[name]
        languages = language_pair(name) != language_pair(question.folder.name)
        return languages, copies(folder), shape_of(folder) != shape_of(question.folder)

    return min(names, key=unlike)


def shape_of(folder: Path) -> list[Any]:
    """How many layers and heads a checkpoint has, without loading it."""
    try:
        config = read_json(own_file(folder, CONFIG))
    except CheckpointError:
        return []
    return [config.get(name) for name in ("n_heads", "n_encoder_layers", "n_decoder_layers")]


def show_models(question: ModelQuestion) -> None:
    """The same sentence in both models, each head beside the one that looks most alike."""
    found = pair_of(question)
    if found is None:
        return
    name, pair = found
    view = address.read(CompareView)
    show_heads(
        pair,
        view,
        lines=[(WRITTEN, pair.first.text, pair.second.text)],
        names=(question.name, models(question)[name]),
        other_model=by_name(name),
    )
    st.markdown(alike_words(pair))
    show_labels(question, name, pair, view.head or pair.most_moved)


def show_models_on_stage(question: ModelQuestion) -> None:
    """How every head of one model differs from its partner in the other."""
    found = pair_of(question)
    if found is not None:
        heads_on_stage(found[1], address.read(CompareView), by_name(found[0]))


def pair_of(question: ModelQuestion) -> tuple[str, PairedTraces] | None:
    """The second model and both runs; None, with the reason shown, if there is no such pair."""
    # A typed translation is in the first model's words.
    question = replace(question, target="")
    name = address.read(CompareView).other_model
    names = models(question)
    if not names:
        hint(NO_MODEL)
        return None
    if name not in names:
        name = usual_model(question, names)
    first = session.ask(question.record)
    second = of_other(question, name)
    pair = by_surveys(question, name, first, second) or matched_pair(first, second)
    if not pair.heads:
        hint(NO_HEADS)
        return None
    view = address.read(CompareView)
    if view.head is not None and view.head not in pair.heads:
        address.change(pair_head="")
    return name, pair


def of_other(question: ModelQuestion, name: str) -> Trace:
    """What the second model does on the sentence."""
    folder, _, step = name.partition("@")
    if folder in readers():
        return session.ask(read(version_of(readers()[folder]), question.sentence)).answer.trace
    path = checkpoints()[folder]
    checkpoint = snapshot_of(path, int(step)) if step else path
    return session.ask(record(version_of(checkpoint), question.sentence))


def by_name(name: str) -> str:
    """The second model as a notebook reads it, with a snapshot by its number."""
    folder, _, step = name.partition("@")
    path = readers().get(folder) or checkpoints()[folder]
    number = f"@{snapshots(path).index(int(step))}" if step else ""
    return f"{checkpoint_name(path)}{number}"


@functools.lru_cache(maxsize=8)
def matched_pair(first: Trace, second: Trace) -> PairedTraces:
    """Both traces, with every head's partner."""
    return PairedTraces(first, second, "model", matched(first, second))


def by_surveys(
    question: ModelQuestion, name: str, first: Trace, second: Trace
) -> PairedTraces | None:
    """The same with the partners that surveys of both models found; None without two of them."""
    other = checkpoints().get(name)
    surveys = [session.corpus_survey(each) for each in (question.checkpoint, other) if each]
    if len(surveys) < 2 or None in surveys:
        return None
    one, two = (each.probes for each in surveys if each is not None)
    partners = matched_places(one, two)
    names = question.model_name, by_name(name)
    return PairedTraces(first, second, "model", partners, names) if partners else None


def alike_words(pair: PairedTraces, most: float = 0.1) -> str:
    """How many heads have a partner that looks at nearly the same tokens: all but `most`."""
    alike, count = sum(share < most for share in pair.moved.values()), len(pair.heads)
    return (
        f"On this sentence, {alike or 'none'} of {style.count_of(count, 'pair')} of heads "
        f"{'agrees' if alike < 2 else 'agree'} on more than {style.percent(1 - most)} of the "
        "weight."
    )


def show_labels(question: ModelQuestion, name: str, pair: PairedTraces, head: Head) -> None:
    """What surveys found that both heads do on many sentences, where there are surveys."""
    folder, _, step = name.partition("@")
    known = checkpoints()
    lines = []
    partner = pair.heads[head]
    for title, checkpoint, shown in (
        (question.name, question.checkpoint, head),
        (name, None if step else known.get(folder), partner),
    ):
        if checkpoint is not None and (text := label_of(checkpoint, *shown)):
            named = f"{title}, {Head(*shown).short_name}: {text}"
            lines.append(escape_markdown(named))
    if lines:
        st.markdown("On many sentences:\n" + "\n".join(f"- {each}" for each in lines))


def label_of(checkpoint: Any, site: Site, head: int) -> str:
    """What a survey found that a head does; empty where there is none."""
    labels = session.labels(checkpoint).get(site, ())
    label = labels[head] if head < len(labels) else None
    return label.text if label else ""
