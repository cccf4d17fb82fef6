"""Compare: two sentences, with parts of one put into the other, two models, or two searches."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import (
    CONFIG,
    CheckpointError,
    language_pair,
    own_file,
    read_json,
    snapshots,
)
from model.checkpoints.shipped import checkpoint_name
from model.patching.causal_trace import streams, traced
from model.patching.results import CausalTrace, Patched
from model.record.patches import Side, Stream, side_of
from model.survey.nearest import matched as matched_places
from model.trace.attention_map import Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.browser.clicks import clicks, handle_clicks
from viz.browser.exchange import exchange, handle_moves
from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.paired import PairedTraces, matched
from viz.compare.parts import parts_of
from viz.compare.texts import runs_html
from viz.compare.tracing import TracedWord
from viz.compare.view import (
    KEYS,
    MOST_PATCHES,
    SHOWN,
    VERSUS,
    VIEW,
    CompareView,
    Patches,
    by_part,
    listed,
    part_name,
    read_patches,
    written_part,
)
from viz.compare.words import PatchedWords
from viz.draw import style
from viz.draw.labels import axis_texts, escape_markdown
from viz.pages.compare_searches import show_searches
from viz.registry.pages import SENTENCE
from viz.save.picture import Picture
from viz.service import session
from viz.service.jobs.removing import put_in, restore_tokens
from viz.service.jobs.running import read, record
from viz.service.model_menu import checkpoints, copies, readers
from viz.service.questions import OfModel
from viz.service.versions import snapshot_of, version_of
from viz.shell import address, opening, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, row, segments
from viz.shell.width import is_narrow, watch_width

HEADS, TRACING = KEYS("heads"), KEYS("tracing")
"""The keys of the charts that can be clicked."""

PUT_IN = KEYS("put-in")

NO_MODEL = "There is no second model here. Add a folder to the models, then reload the page."

NO_SECOND = "Type a second sentence, or choose a pair: two sentences that differ in one thing."

NO_HEADS = (
    "These two models share no kind of attention, so no head of one can be held beside one of the "
    "other."
)

MOST_TRACED = 60
"""With more tokens in a sentence, tracing would take minutes."""

PATCHES = VIEW.parameter("patched")
PAIR_HEAD = VIEW.parameter("pair_head")


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    bring_pair(question)
    view = address.read(CompareView)
    if not stage.is_on():
        with row(at="bottom"):
            segments("Compare", VERSUS, key=KEYS("versus"))
            if view.versus == "model" and models(question):
                choose_model(question)
    if view.versus == "search":
        show_searches(question)
    # A typed translation is of the first sentence alone, and in the first model's words.
    elif view.versus == "model":
        show_models(replace(question, target=""))
    else:
        show_sentences(replace(question, target=""), view)
    watch_width()


def bring_pair(question: OfModel) -> None:
    """Let the page open with the second sentence of a pair whose first one is asked."""
    second = dict(opening.pairs_for(question.checkpoint)).get(question.sentence)
    if second and address.is_plain() and not address.read(CompareView).other:
        opening.bring(other=second)


# ---- two sentences -------------------------------------------------------------------------------


def show_sentences(question: OfModel, view: CompareView) -> None:
    """Both sentences, and what parts of the second do in the first."""
    if not stage.is_on():
        choose_sentence(question, view)
        view = address.read(CompareView)
    other = view.other.strip()
    if not other:
        hint(NO_SECOND)
        return
    pair = paired(session.ask(question.record), session.ask(record(question.version, other)))
    model = session.translator(question.checkpoint)
    keep_known(view, model, pair)
    view = address.read(CompareView)
    asked = question.version, question.sentence, question.target, other
    patched = session.ask(put_in(*asked, _parts(view.patches)))
    names = part_names(view.patches, pair)
    if not stage.is_on():
        show_texts(patched, 0, 2)
        config = model.model.config
        layers: dict[Side, int] = {
            "encoder": config.n_encoder_layers,
            "decoder": config.n_decoder_layers,
        }
        exchange(
            parts_of(pair, view.patches, names, layers),
            key=PUT_IN,
            on_moves=partial(handle_moves, PUT_IN, toggle),
        )
        if names:
            show_texts(patched, 2, 3, names)
        with row(at="bottom"):
            segments("View", SHOWN, key=KEYS("shown"))
            if view.shown == "layers":
                choose_word(patched)
    if view.shown == "layers":
        show_layers(question, view, model, patched, names)
    else:
        show_heads(pair, view)
    if names and not stage.is_on():
        show_picture(PatchedWords(patched, view.patched), KEYS("words"))


def choose_sentence(question: OfModel, view: CompareView) -> None:
    """The second sentence: typed, chosen with its first, or the two exchanged."""
    with row(at="bottom"):
        # On a phone in a line of its own.
        width: Any = 340 if is_narrow() else "stretch"
        st.text_input("Second sentence", view.other, key=KEYS("other"), width=width)
        st.menu_button(
            "Pairs",
            opening.pairs_for(question.checkpoint),
            key=KEYS("pairs"),
            icon=":material/lightbulb:",
            format_func=lambda pair: f"{escape_markdown(pair[0])} · {escape_markdown(pair[1])}",
            on_click=take_pair,
        )
        st.button(
            "Swap",
            icon=":material/swap_vert:",
            key=KEYS("swap"),
            on_click=swap,
            disabled=not view.other.strip(),
        )


def take_pair() -> None:
    """Show the chosen pair."""
    first, second = st.session_state[KEYS("pairs")]
    address.change(sentence=first, other=second, target="", patched="", pair_head="", traced=0)


def swap() -> None:
    """Exchange both sentences."""
    address.change(
        sentence=address.read(CompareView).other,
        other=address.now(SENTENCE),
        target="",
        patched="",
    )


def show_texts(patched: Patched, since: int, until: int, names: Sequence[str] = ()) -> None:
    """Sentences with their translations: the first, the second, and the first with parts put in."""
    name = f"First sentence, with {listed(names)} from the second" if names else ""
    runs = [
        ("First sentence", patched.sentence, patched.text),
        ("Second sentence", patched.other, patched.other_text),
        (name, patched.sentence, patched.patched_text),
    ]
    st.html(runs_html(runs[:until], dark=is_dark(), since=since))


@functools.lru_cache(maxsize=8)
def paired(first: Trace, second: Trace) -> PairedTraces:
    """Both traces with their tokens aligned."""
    return PairedTraces(first, second)


def keep_known(view: CompareView, model: Translator, pair: PairedTraces) -> None:
    """Remove what neither the model nor the sentences have from the address, with a notice."""
    if view.head is not None and view.head not in pair.heads:
        address.note(
            "pair_head", "This model has no such head; the one that differs most is shown."
        )
        address.change(pair_head="")
    known = tuple(each for each in view.patches if is_known(each, model, pair))
    if len(known) < len(view.patches):
        address.note("patched", "The address puts in a part that is not there; it is left out.")
        address.change(patched=_written(known))


def is_known(patch: Any, model: Translator, pair: PairedTraces) -> bool:
    """Whether a part can be put in."""
    part, token = patch
    if not isinstance(part, Stream):
        return part in pair.heads
    config = model.model.config
    layers = config.n_encoder_layers if part.side == "encoder" else config.n_decoder_layers
    if isinstance(part.stage, int) and part.stage >= layers:
        return False
    if token is None:
        return True
    if side_of(part) == "encoder":
        return token in dict(pair.source)
    return token < len(pair.second.target)


def part_names(patches: Patches, pair: PairedTraces) -> list[str]:
    """What is put in, in words."""
    source, target = axis_texts(pair.first.source), axis_texts(pair.second.target)
    return [part_name(part, token, source, target) for part, token in patches]


def show_heads(pair: PairedTraces, view: CompareView, other_model: str = "") -> None:
    """All heads as tiles, and one large."""
    head = view.head or pair.most_moved
    tiles = HeadDifferences(pair, other_model, framed=head)
    large = HeadPair(pair, other_model, head)
    if stage.is_on():
        second = pair.second
        on_stage(
            tiles,
            HEADS,
            f"Second model: {other_model}"
            if pair.versus == "model"
            else f"Second sentence: {second.source_text} → {second.text}",
        )
        return
    show_picture(tiles, HEADS, after=" Click a tile to see the head large.", drawn=tiles)
    clicks(HEADS, on_clicks=partial(handle_clicks, HEADS, choose_head))
    show_picture(large, KEYS("head"))
    if pair.versus == "sentence":
        written = written_part(head)
        is_in = any(written_part(*each) == written for each in view.patches)
        st.button(
            "Take this head out again" if is_in else "Put this head into the first sentence",
            icon=":material/undo:" if is_in else ":material/move_down:",
            key=KEYS("put-head"),
            on_click=toggle,
            args=(written,),
        )


def choose_head(written: Any) -> None:
    """Show a clicked head large; `written` comes from a browser."""
    try:
        head = PAIR_HEAD.parse(written)
    except (TypeError, ValueError):
        return
    address.change(pair_head=head)


def toggle(written: Any) -> None:
    """Put a part in, or take it out again; `written` may come from a browser."""
    try:
        (patch,) = read_patches(PATCHES.parse(str(written)))
    except (TypeError, ValueError):
        return
    before = address.read(CompareView).patches
    after = tuple(each for each in before if each != patch)
    if len(after) == len(before) < MOST_PATCHES:
        after = (*before, patch)
    address.change(patched=_written(after))


def _written(patches: Patches) -> str:
    return "-".join(written_part(*each) for each in patches)


def _parts(patches: Patches) -> tuple[Any, ...]:
    return tuple(
        (part, None if places is None else tuple(places))
        for part, places in by_part(patches).items()
    )


def choose_word(patched: Patched) -> None:
    """The word whose probability is traced."""
    texts = axis_texts(patched.predictions)
    if address.read(CompareView).traced > len(texts):
        address.change(traced=0)
    names = {0: "The word that differs most"}
    names |= dict(enumerate(texts, start=1))
    menu("Word", names, key=KEYS("traced"), width=230)


def show_layers(
    question: OfModel,
    view: CompareView,
    model: Translator,
    patched: Patched,
    names: Sequence[str],
) -> None:
    """What each token's hidden states after each layer restore."""
    if max(len(patched.source), len(patched.predictions)) > MOST_TRACED:
        hint(f"Tracing takes sentences of up to {MOST_TRACED} tokens; shorten them.")
        return
    trace = causal_trace(question, view.other.strip(), model, patched)
    token = view.traced - 1 if 0 < view.traced <= len(trace.predictions) else None
    marked = tuple(
        (part.side, part.stage, place)
        for part, place in view.patches
        if isinstance(part, Stream) and place is not None
    )
    picture = TracedWord(trace, token, marked)
    if stage.is_on():
        words = range(len(trace.predictions) + 1)
        stage.offer("Up and down: word", down=stage.Step(KEYS("traced"), words, view.traced))
        on_stage(picture, TRACING, picture.brief)
        return
    show_picture(picture, TRACING, after=" Click a cell to put it in.", drawn=picture)
    clicks(TRACING, on_clicks=partial(handle_clicks, TRACING, toggle))


def causal_trace(question: OfModel, other: str, model: Translator, patched: Patched) -> CausalTrace:
    """The trace of both sentences, computed stage by stage."""
    found = {}
    stages = streams(model.model)
    slot = st.empty()
    for number, stream in enumerate(stages):
        slot.progress(number / len(stages), "Putting in one token at a time…")
        asked = question.version, question.sentence, question.target, other
        found[stream] = session.ask(restore_tokens(*asked, stream))
    slot.empty()
    return traced(patched, session.ask(record(question.version, other)).target, found)


def on_stage(picture: Picture, key: str, words: str) -> None:
    """A picture alone, with words at the foot of the stage."""
    with stage.picture():
        stage.say(words)
        stage.show((picture, key), narrow=is_narrow())


# ---- two models ----------------------------------------------------------------------------------


def models(question: OfModel) -> dict[str, str]:
    """What the model can be compared with: other models, and its own snapshots, by name."""
    steps = snapshots(question.folder)
    shown = question.checkpoint
    own = {
        f"{question.folder.name}@{step}": f"{question.folder.name}, step {step:,}"
        for step in steps
        if snapshot_of(question.folder, step) != shown
    }
    others = {name: name for name in (*checkpoints(), *readers()) if name != question.folder.name}
    return own | others if steps else others | own


def choose_model(question: OfModel) -> None:
    """The second model."""
    names = models(question)
    wanted = address.read(CompareView).other_model
    if wanted not in names:
        if wanted:
            address.note("other_model", "There is no such second model; another one is shown.")
        address.change(other_model=usual_model(question, names))
    menu("Second model", names, key=KEYS("other_model"), width=300)


def usual_model(question: OfModel, names: dict[str, str]) -> str:
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


def show_models(question: OfModel) -> None:
    """The same sentence in both models, each head beside the one that looks most alike."""
    name = address.read(CompareView).other_model
    names = models(question)
    if not names:
        hint(NO_MODEL)
        return
    if name not in names:
        name = usual_model(question, names)
    first = session.ask(question.record)
    second = of_other(question, name)
    pair = by_surveys(question, name, first, second) or matched_pair(first, second)
    if not pair.heads:
        hint(NO_HEADS)
        return
    view = address.read(CompareView)
    if view.head is not None and view.head not in pair.heads:
        address.change(pair_head="")
        view = address.read(CompareView)
    if not stage.is_on():
        runs = [
            (question.name, first.source_text, first.text),
            (names[name], second.source_text, second.text),
        ]
        st.html(runs_html(runs, dark=is_dark()))
        st.markdown(alike_words(pair))
    show_heads(pair, view, by_name(name))
    if not stage.is_on():
        show_labels(question, name, pair, view.head or pair.most_moved)


def of_other(question: OfModel, name: str) -> Trace:
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


def by_surveys(question: OfModel, name: str, first: Trace, second: Trace) -> PairedTraces | None:
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


def show_labels(question: OfModel, name: str, pair: PairedTraces, head: Head) -> None:
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
