"""The parts of the effects page that hold maps against something: deletion, and alignments."""

import contextlib
from functools import partial
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import language_pair
from model.explain.attribution import METHODS
from model.trace.attention_map import AttentionKind, Site
from model.translate.sentences import TextError
from model.translate.translator import Translator
from viz.draw import style
from viz.draw.labels import escape_markdown, lower_first
from viz.effects.alignment_map import (
    NO_ALIGNMENT,
    NO_ALIGNMENT_OF_OTHERS,
    AlignmentMap,
    alignment_sentences,
    best_read,
)
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.ranking import MapRanking
from viz.effects.self_maps import SelfMap, no_truth, part_name
from viz.effects.view import EVERY, KEYS, MAPPED, written_part
from viz.pages.effects_asked import Asked
from viz.pages.effects_words import choose_token
from viz.save.picture import Picture
from viz.service import session
from viz.service.jobs.examples import find_later_rows
from viz.service.jobs.removing import attribute_self, measure_agreement
from viz.service.jobs.running import record
from viz.service.model_menu import toy_task
from viz.service.questions import ModelQuestion
from viz.shell import stage
from viz.shell.save_menu import show_picture
from viz.shell.widgets import brief, hint, menu, row
from viz.shell.width import is_narrow


def show_maps(asked: Asked) -> None:
    """An estimate and the truth, and a ranking of estimates; for self-attention, estimates only."""
    above = st.container()
    choose_map(asked)
    with above:
        if asked.view.kind is AttentionKind.CROSS:
            show_beside_truth(asked)
        else:
            show_picture(self_map_of(asked), KEYS("self-maps"))
            hint(no_truth(asked.view.kind))
    if asked.view.kind is AttentionKind.CROSS and asked.view.method != EVERY:
        st.subheader("Which map to believe", anchor=False)
        show_ranking(asked, maps_shown(asked))
    with st.expander("The methods, and what each leaves out", icon=":material/menu_book:"):
        st.markdown(
            "\n".join(
                f"- **{escape_markdown(each.title)}** ({escape_markdown(each.paper)}). Leaves out: "
                f"{escape_markdown(lower_first(each.leaves_out))}"
                for each in METHODS.values()
            )
        )


def choose_map(asked: Asked) -> None:
    """Which attention, which part of it, which method, and which target token."""
    view = asked.view
    methods = {name: each.title for name, each in METHODS.items()}
    if view.kind is AttentionKind.CROSS:
        methods[EVERY] = "None: rank them all"
    kinds = {str(kind): kind.full_name for kind in MAPPED}
    with row(at="bottom"):
        if view.has_token:
            choose_token(asked)
        menu("Attention", kinds, key=KEYS("mapped"), width=230)
        menu("Layer and head", parts_of(asked.model, view.kind), key=KEYS("layer_head"), width=230)
        label = "Estimate beside the truth" if EVERY in methods else "Method"
        menu(label, methods, key=KEYS("method"), width=300)


def show_beside_truth(asked: Asked) -> None:
    """An estimate and the truth, or the ranking of all estimates."""
    shown = maps_shown(asked)
    if asked.view.method == EVERY:
        show_ranking(asked, shown)
        return
    picture = MapBesideTruth(**shown, method=asked.view.method)
    show_picture(picture, KEYS("maps"))
    if asked.view.place is not None:
        st.markdown(escape_markdown(picture.token_sentence))


def self_map_of(asked: Asked, *, alone: bool = False) -> SelfMap:
    """The map of self-attention that the view shows."""
    question, view = asked.question, asked.view
    site, head = view.part
    assert site is not None
    # Of the other methods, nothing depends on it.
    token = view.place if METHODS[view.method].by_prediction else None
    maps = session.ask(attribute_self(question.record, site, token))
    return SelfMap(maps, question.sentence, question.target, head, view.place, view.method, alone)


def parts_of(model: Translator, kind: AttentionKind) -> dict[str, str]:
    """What a map of an attention can be of, as the address has it, and its name."""
    # Through the whole model, maps lead from the source to the target alone.
    parts: list[tuple[Site | None, int | None]] = [(None, None)] * (kind is AttentionKind.CROSS)
    for site in model.sites:
        if site.kind is kind:
            parts += [(site, head) for head in (None, *range(model.model.config.n_heads))]
    return {
        written_part(*part): f"{name[:1].upper()}{name[1:]}"
        for part in parts
        for name in [part_name(*part)]
    }


def maps_shown(asked: Asked) -> dict[str, Any]:
    """The arguments shared by both pictures of maps."""
    question, view = asked.question, asked.view
    site, head = view.part
    slot = st.empty()
    found = session.attributions(question.record, partial(slot.progress, text="Making the maps…"))
    slot.empty()
    is_later = site is not None and session.ask(find_later_rows(question.version)).get(site.layer)
    return {
        "attributions": found,
        "sentence": question.sentence,
        "target": question.target,
        "site": site,
        "head": head,
        "later": bool(is_later),
        "token": view.place,
    }


def ranking_of(asked: Asked, shown: dict[str, Any]) -> MapRanking:
    """How well every method agrees with the truth, over the examples too if that is asked for."""
    question, view = asked.question, asked.view
    examples = session.examples(question.checkpoint) if view.examples else ()
    held = []
    slot = st.empty()
    for number, example in enumerate(examples, start=1):
        slot.progress(number / len(examples), f"Example {number} of {len(examples)}…")
        recording = record(question.version, example.source, example.translation)
        # An example that is too long for this model is skipped.
        with contextlib.suppress(TextError):
            held.append(session.ask(measure_agreement(recording)))
    slot.empty()
    pairs = [(each.source, each.translation) for each in examples]
    marked = "" if view.method == EVERY else view.method
    return MapRanking(**shown, marked=marked, pairs=pairs, examples=held)


def show_ranking(asked: Asked, shown: dict[str, Any]) -> None:
    """The methods in their order, and the best of them in words."""
    slot = st.container()
    examples = session.examples(asked.question.checkpoint)
    if examples:
        st.toggle(
            f"Also on this model’s {len(examples)} examples",
            asked.view.examples,
            key=KEYS("examples"),
            help="Deletes every source token of every example in turn; takes up to a minute.",
        )
    with slot:
        picture = ranking_of(asked, shown)
        show_picture(picture, KEYS("ranking"))
        brief([*map(escape_markdown, picture.sentences)], KEYS("ranking"))


def show_maps_on_stage(asked: Asked) -> None:
    """An estimate beside the truth, or all of them ranked; one after another by a key."""
    view = asked.view
    if view.has_token:
        stage.offer(
            "Up and down: target token",
            down=stage.Step(KEYS("token"), range(len(asked.token_names)), view.token),
        )
    has_truth = view.kind is AttentionKind.CROSS
    methods = [EVERY, *METHODS] if has_truth else list(METHODS)
    stage.offer(
        "Left and right: estimate" if has_truth else "Left and right: method",
        across=stage.Step(KEYS("method"), methods, view.method, cycles=True),
    )
    # Two maps one below the other have no room on a narrow stage.
    narrow = is_narrow()
    if not has_truth:
        picture: Picture = self_map_of(asked, alone=narrow)
        stage.say(picture.title)
    else:
        shown = maps_shown(asked)
        picture = ranking = ranking_of(asked, shown)
        if view.method == EVERY:
            stage.say(ranking.brief)
        else:
            of = next(each for each in ranking.scores if each.method == view.method)
            stage.say(
                f"{METHODS[view.method].title} of {part_name(*view.part)}: rank correlation "
                f"{style.number(of.correlation)}"
            )
            picture = MapBesideTruth(**shown, method=view.method, alone=narrow)
    with stage.picture():
        stage.show((picture, KEYS("maps")), narrow=narrow)


def alignment_of(question: ModelQuestion, *, numbered: bool = True) -> AlignmentMap | None:
    """How far the model's heads are from hand-made alignments; None where nothing is kept."""
    table = session.alignment(question.checkpoint)
    if table is None:
        return None
    return AlignmentMap(table, question.model_name, numbered)


def _why_no_alignment(question: ModelQuestion) -> str:
    # A name may say nothing of languages.
    is_other = set(language_pair(question.folder.name)) not in ({"en", "de"}, {""})
    other = is_other or toy_task(question.folder) is not None
    return NO_ALIGNMENT_OF_OTHERS if other else NO_ALIGNMENT


def show_alignment(asked: Asked) -> None:
    """The alignment error of every head, and in words what is nearest to the gold set."""
    question = asked.question
    picture = alignment_of(question)
    if picture is None:
        hint(_why_no_alignment(question))
        return
    show_picture(picture, KEYS("alignment"), fills=True)
    brief([*map(escape_markdown, alignment_sentences(picture.table))], KEYS("alignment"))


def show_alignment_on_stage(asked: Asked) -> None:
    question = asked.question
    # Numbers on coloured cells are too faint for the back row.
    picture = alignment_of(question, numbered=False)
    with stage.picture():
        if picture is None:
            hint(_why_no_alignment(question))
            return
        read = best_read(picture.table)
        stage.say(f"Fewest errors: {read.name}, {style.percent(picture.table.rates[read].error)}")
        stage.show((picture, KEYS("alignment")), narrow=is_narrow())
